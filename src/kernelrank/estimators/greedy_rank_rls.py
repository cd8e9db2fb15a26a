"""GreedyRankRLS: a linear ranker with few features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from kernelrank.base.arrays import Matrix
from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredComparisons
from kernelrank.comparisons.scored import QUERY_WEIGHTS, QueryWeight
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.tasks import Ranker
from kernelrank.selection import SelectionProblem
from kernelrank.selection.estimators import CriterionName, GreedySelector
from kernelrank.selection.search import Criterion

__all__ = ["GreedyRankRLS"]


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
        super().__init__(
            n_features_to_select,
            alpha=alpha,
            criterion=criterion,
            floating=floating,
            feature_groups=feature_groups,
            required_features=required_features,
            dtype=dtype,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.query_weight: QueryWeight = query_weight

    def _criterion(self, queries: Queries) -> Criterion:
        if self.criterion == "auto":
            return "leave_query_out" if len(queries) > 1 else "leave_pair_out"
        if self.criterion == "leave_query_out" and len(queries) < 2:
            raise InvalidInputError(
                "Expected at least two queries for criterion='leave_query_out'; got one. Pass qid, or use "
                "criterion='leave_pair_out'."
            )
        return self.criterion

    def _problem(self, X: Matrix, graph: ScoredComparisons, queries: Queries, criterion: Criterion) -> SelectionProblem:  # noqa: ARG002
        return SelectionProblem.of_scores(X, graph.scores, queries, graph.weight, self.query_weight, dtype=self.dtype)
