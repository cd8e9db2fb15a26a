"""What GreedyRankRLS and GreedyRLS share: the search for features, the coefficients, and scikit-learn's selector."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Index, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import mapped
from kernelrank.comparisons import ScoredComparisons
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, KernelLearner, check_alphas, keep_parameters, whole_or_not_at_all
from kernelrank.estimators.tasks import Ranker, Regressor
from kernelrank.features import ExplicitFeatures
from kernelrank.selection.search import (
    CRITERIA,
    Criterion,
    FallingError,
    GreedySearch,
    SelectionStep,
    column_units,
    required_units,
)
from kernelrank.selection.states import SelectionProblem
from kernelrank.solvers.precision import check_finite, check_range

CriterionName: TypeAlias = Criterion | Literal["auto"]


class GreedySelector(SelectorMixin, KernelLearner):
    """A linear model with few features, chosen one by one by exact cross-validation."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"}), "array-like"],
        "criterion": [StrOptions({"auto", *CRITERIA})],
        "floating": ["boolean"],
        "feature_groups": ["array-like", None],
        "required_features": ["array-like", None],
        "dtype": [StrOptions({"float64", "float32"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    selects_features: ClassVar[bool] = True
    criterion: CriterionName
    _without_queries: ClassVar[Criterion] = "leave_pair_out"
    """What "auto" holds out of a single query."""

    # A linear model of all items is what every kernel learner can be.
    kernel = "linear"
    gamma = None
    degree = 3.0
    coef0 = 1.0
    kernel_params = None
    basis = None
    random_state = None

    def __init__(
        self,
        n_features_to_select: int | str = "auto",
        *,
        alpha: float | str | Sequence[float] = 1.0,
        criterion: CriterionName = "auto",
        floating: bool = False,
        feature_groups: Any = None,
        required_features: Any = None,
        dtype: str = "float64",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @abstractmethod
    def _problem(self, X: Matrix, graph: ScoredComparisons, queries: Queries, criterion: Criterion) -> SelectionProblem:
        """Make the problem that features are selected for."""

    def _criterion(self, queries: Queries) -> Criterion:
        """Return what is held out; raise an error if that is impossible."""
        if self.criterion == "auto":
            return "leave_query_out" if len(queries) > 1 else self._without_queries
        if self.criterion == "leave_query_out" and len(queries) < 2:
            raise InvalidInputError(
                "Expected at least two queries for criterion='leave_query_out'; got one. Pass qid, or use "
                f"criterion={self._without_queries!r}."
            )
        return self.criterion

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Select features and fit to scored items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features)
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores. Several outputs share their features: the criterion is the sum over outputs.
        qid : sequence, shape (m,), optional
            The query of each item, one query unless given. `GreedyRLS` only holds out queries together.
        sample_weight : array-like, shape (m,), optional
            Item weights. `GreedyRankRLS` weighs the pair (i, j) by ``w_i w_j``. With pairs held out, unequal weights
            take k times as long unless ``query_weight="items"``, because the problem without a pair depends on its
            weights.

        Returns
        -------
        self
        """
        X, y, qid = self._check_items(mapped(X), reset=True), mapped(y), mapped(qid)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        check_range(ExplicitFeatures(X), (graph for _, graph in graphs))
        queries = Queries.from_labels(qid, X.shape[0])
        criterion = self._criterion(queries)
        problem = self._problem(X, graphs[0][1], queries, criterion)
        progress = FitProgress(self, X, y)
        units = column_units(self.feature_groups, X.shape[1])
        search = GreedySearch(
            problem,
            criterion,
            self._alphas(problem),
            units=units,
            floating=self.floating,
            n_threads=effective_n_jobs(self.n_jobs),
        )
        names = getattr(self, "feature_names_in_", None)
        steps = self._search(search, required_units(self.required_features, units, names), progress)
        progress.done()
        self.path_ = [_as_dict(step, units, one_output=one_output) for step in steps]
        return self._keep_last(steps, criterion, graphs, one_output=one_output)

    def _alphas(self, problem: SelectionProblem) -> list[float]:
        """Return the alphas that are chosen from at each step; one if it is given."""
        if isinstance(self.alpha, str):
            scale = problem.mean_square() or 1.0
            # Beside the mean squared length of the columns, the powers of two that alpha="auto" chooses from.
            return [scale * 2.0**exponent for exponent in range(-12, 5, 2)]
        return check_alphas(self.alpha)

    def _search(self, search: GreedySearch, required: Sequence[int], progress: FitProgress) -> Sequence[SelectionStep]:
        """Run the search to the requested number of features, and show its progress."""
        n_units, tell = self._n_units(len(search.units), len(required)), progress.step
        found: list[SelectionStep] = []
        free = max(0, len(required) - 1)  # the step from which on the search may stop
        falling = FallingError(search.kind, len(search.units)) if self.n_features_to_select == "auto" else None
        with closing(track(search.steps(n_units, required), None, "selecting", noun="steps")) as steps:
            for number, step in enumerate(steps):
                found.append(step)
                stopped = tell is not None and tell(number, step.criterion)
                if falling is not None and number >= free:
                    stopped = falling.has_stopped(step) or stopped
                if stopped:
                    break
        return found if falling is None else found[: free + falling.n_steps]

    def _n_units(self, available: int, n_required: int) -> int:
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            return available
        if not max(1, n_required) <= wanted <= available:
            noun = "features of X" if self.feature_groups is None else "groups of features"
            raise InvalidInputError(
                f"Expected n_features_to_select from {max(1, n_required)}, the number of required features, to "
                f"{available}, the number of {noun}; got {wanted}. Choose another number, or 'auto'."
            )
        return int(wanted)

    def _keep_last(
        self, steps: Sequence[SelectionStep], criterion: Criterion, graphs: Sequence[OutputGraph], *, one_output: bool
    ) -> Self:
        size = len(steps[-1].units)
        last = min((step for step in steps if len(step.units) == size), key=lambda step: step.criterion)
        coefficients = np.zeros((self.n_features_in_, last.coefficients.shape[1]))
        coefficients[last.columns] = last.coefficients
        check_finite(coefficients)
        self.coef_ = coefficients[:, 0] if one_output else np.ascontiguousarray(coefficients.T)
        self.selected_ = last.columns
        self.criterion_ = criterion
        self.alpha_ = last.alpha
        self.solver_ = "greedy"
        self.n_iter_ = len(steps)
        graph = graphs[0][1]
        self.n_queries_, self.n_idle_queries_, self.n_pairs_ = graph.n_queries, graph.n_idle_queries, graph.n_pairs
        self._keep_scores(graphs)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask


def _as_dict(step: SelectionStep, units: Sequence[Index], *, one_output: bool) -> dict[str, Any]:
    """Return a step as users see it."""
    shown: dict[str, Any] = {
        "feature": int(units[step.unit][0]),
        "added": step.added,
        "criterion": step.criterion,
        "standard_error": step.standard_error,
        "alpha": step.alpha,
        "columns": step.columns,
        "coefficients": step.coefficients[:, 0] if one_output else step.coefficients,
    }
    if step.pair_accuracy is not None:
        shown["pair_accuracy"] = step.pair_accuracy
    return shown


# Greedy rank RLS ------------------------------------------------------------------------------------------------------
#
# GreedyRankRLS: a linear ranker with few features.


class GreedyRankRLS(GreedySelector, Ranker):
    """Linear RankRLS on a few features, selected greedily by exact cross-validation.

    Starts without features. Each step adds the feature that gives the lowest held-out error: for every candidate
    feature, every query, or every pair of items, is held out in turn, exactly. The model equals `RankRLS`
    on the selected features. It is an estimator and a scikit-learn selector.

    Parameters
    ----------
    n_features_to_select : int or "auto", default="auto"
        How many features to select; how many groups, if there are `feature_groups`. "auto" stops when the held-out
        error stops falling: at the last step that lowers it by more than the standard error of the difference times the
        normal quantile ``1 - 1/n``, because it is the best of n features. Five steps in a row without such a fall end
        the search.
    alpha : float, sequence of float or "auto", default=1.0
        The regularisation strength, as in `RankRLS`. Of several values, each step takes the one with the lowest
        held-out error of the features selected so far, and selects the next feature with it; the first feature is
        selected together with its alpha. "auto" is nine powers of four times the mean squared length of the centred
        columns.
    criterion : {"auto", "leave_query_out", "leave_pair_out"}, default="auto"
        What is held out: each query, or each pair of items of one query. "auto" holds out queries if there are several,
        else pairs. The criterion is the sum of the squared errors of the held-out differences, weighted as in training.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight, as in `RankRLS`.
    floating : bool, default=False
        Whether features may be removed again: after each step, as long as the error without one of them is lower than
        that of the best set of this size so far [PNK94]_.
    feature_groups : sequence, shape (n_features,), optional
        Labels of the features. Features with the same label, such as the dummies of a category, are selected together.
    required_features : sequence of int or str, optional
        Numbers or names of features that are selected first, in this order, and never removed.
    dtype : {"float64", "float32"}, default="float64"
        The precision of the arrays that are as large as X.
    n_jobs : int, optional
        How many threads share the features; one unless given, all processors for -1.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    selected_ : ndarray of int64, shape (k,)
        The selected columns, in the order of their selection.
    path_ : list of dict
        One entry for each step: the "feature" (of a group, the first) and whether it was "added", the "criterion" and
        its "standard_error", "alpha", the selected "columns" and their "coefficients". If pairs were held out, also
        "pair_accuracy", the share of held-out pairs in the right order; for two classes that is the AUC.
    coef_ : ndarray, shape (n_features,) or (n_outputs, n_features)
        Weights of all features: zero for those that were not selected.
    criterion_ : str
        What was held out.
    alpha_ : float
        The alpha of the last step.
    n_queries_, n_idle_queries_, n_pairs_, n_features_in_, feature_names_in_
        As in `RankRLS`.

    Notes
    -----
    Time O(k m n) for k of n features with queries held out, whatever their sizes; memory two arrays of the size of X.
    With pairs held out, time O(k n) times the number of pairs, and m² numbers in addition to one array of the size of
    X. A floating search keeps one array more. Each alpha that is tried costs O(m k²) a step, and a change of alpha
    O(k m n). A group of b columns costs O(m b²) a step. A sparse X is made dense block by block, and needs the same
    arrays.

    Scale the columns first, because a large column needs a small coefficient. If errors agree to ten
    digits, the column with the lowest number is taken. The criterion is the lowest of many, so it is optimistic:
    evaluate the selection on other data.

    References
    ----------
    .. [PNK94] Pudil, Novovičová and Kittler (1994). Floating search methods in feature selection. Pattern Recognition
       Letters 15(11).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS
    >>> X = np.random.default_rng(0).standard_normal((60, 10))
    >>> y = X[:, 7] - 2 * X[:, 3]
    >>> model = GreedyRankRLS(2).fit(X, y, qid=np.repeat(range(6), 10))
    >>> model.selected_
    array([3, 7])
    >>> model.transform(X).shape
    (60, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedySelector._parameter_constraints,
        "criterion": [StrOptions({"auto", "leave_query_out", "leave_pair_out"})],
        "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    }

    def __init__(
        self,
        n_features_to_select: int | str = "auto",
        *,
        alpha: float | str | Sequence[float] = 1.0,
        criterion: CriterionName = "auto",
        query_weight: QueryWeight = "pairs",
        floating: bool = False,
        feature_groups: Any = None,
        required_features: Any = None,
        dtype: str = "float64",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    def _problem(self, X: Matrix, graph: ScoredComparisons, queries: Queries, criterion: Criterion) -> SelectionProblem:  # noqa: ARG002
        return SelectionProblem.of(X, graph, queries, self.query_weight, self.dtype)


# Greedy RLS -----------------------------------------------------------------------------------------------------------
#
# GreedyRLS: a linear regression with few features.


class GreedyRLS(GreedySelector, Regressor):
    """Linear RLS on a few features, selected greedily by exact leave-one-out.

    As `GreedyRankRLS`, but each item is compared with its own score, and the model is that of `RLS`, without an
    intercept, on the selected features.

    Parameters
    ----------
    n_features_to_select : int or "auto", default="auto"
        How many features to select, as in `GreedyRankRLS`.
    alpha : float, sequence of float or "auto", default=1.0
        The regularisation strength, as in `RLS`, or several to choose from, as in `GreedyRankRLS`.
    criterion : {"auto", "leave_one_out", "leave_query_out", "leave_pair_out"}, default="auto"
        What is held out: each item, each query, or each pair of items. "auto" holds out queries if qid is given, else
        items. The criterion is the weighted sum of the squared held-out errors, for pairs those of differences.
    floating, feature_groups, required_features, dtype, n_jobs
        As in `GreedyRankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    selected_, path_, coef_, criterion_, alpha_
        As in `GreedyRankRLS`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Time O(k m n) for k of n features; memory one array of the size of X, two with queries held out. With pairs held out
    as in `GreedyRankRLS`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRLS
    >>> X = np.random.default_rng(0).standard_normal((60, 10))
    >>> GreedyRLS(2).fit(X, X[:, 7] - 2 * X[:, 3]).selected_
    array([3, 7])
    """

    _without_queries: ClassVar[Criterion] = "leave_one_out"

    def _problem(self, X: Matrix, graph: ScoredComparisons, queries: Queries, criterion: Criterion) -> SelectionProblem:
        if criterion != "leave_query_out":
            queries = Queries(np.zeros(queries.n_items, dtype=np.int64), queries.labels[:1])
        return SelectionProblem.of(X, graph, queries, None, self.dtype)
