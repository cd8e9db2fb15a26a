"""The search for alpha, and for kernel parameters, by an exact hold-out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid, StratifiedKFold, check_cv

from kernelrank.base.arrays import Float, Index, Matrix, RandomStateLike
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets, Queries, event_times
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import StrOptions, fit_context
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner, check_alphas, whole_or_not_at_all
from kernelrank.exact_cv import DifferingPairs
from kernelrank.kernels import KERNEL_NAMES, GammaLike, Kernel, KernelLike, MetricLike, metric_root
from kernelrank.metrics import Concordance, Measure, PairwiseAccuracy, get_measure
from kernelrank.metrics.pairs import AUC, Disagreement, MagnitudePreservingError
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, edge_of, grid_for, is_auto
from kernelrank.model_selection.refits import HELD_OUT_BASIS, HoldoutData
from kernelrank.solvers.precision import one_warning, overflow_is_checked

# Holdout plan ---------------------------------------------------------------------------------------------------------
#
# The plan of a search: which items are held out together when alpha is chosen, and how their scores are measured.

PAIR_BYTES = 2**28
"""Held-out differences of all pairs are computed for as many alphas at a time as fit into this memory."""

ItemLoss = Callable[[Float, Float], Float]
"""From true and held-out scores to one loss for each item."""

CV_NAMES = ("auto", "leave_pair_out", "leave_query_out", "leave_one_out")


@dataclass(frozen=True)
class HoldoutPlan:
    """The sets that are held out."""

    name: str
    sets: ItemSets | None
    tests: list[Index] | None = None

    @classmethod
    def of(
        cls,
        cv: Any,
        X: Any,
        y: Any,
        queries: Queries | None,
        *,
        default: str | int,
        classes: bool = False,
        random_state: RandomStateLike = 0,
    ) -> HoldoutPlan:
        """Read the argument `cv` of a search.

        Shapes: X (m, n), y (m,) or (m, outputs).
        """
        m = X.shape[0]
        if isinstance(cv, str) and cv == "auto":
            queries = None if queries is None or len(queries) < 2 else queries  # one query cannot be held out
            cv = default if queries is None else "leave_query_out"
            cv = min(cv, m) if isinstance(cv, int) else cv
        if isinstance(cv, str):
            return cls._named(cv, m, queries)
        if isinstance(cv, Integral):
            cv = _folds(int(cv), m, queries, classes=classes, random_state=random_state)
        return cls._split(check_cv(cv), X, y, None if queries is None else queries.codes, m)

    @classmethod
    def _named(cls, name: str, m: int, queries: Queries | None) -> HoldoutPlan:
        if name == "leave_one_out":
            return cls(name, ItemSets.singles(m))
        if name == "leave_pair_out":
            if queries is not None and len(queries) > 1:
                raise InvalidInputError(
                    "cv='leave_pair_out' is for data without queries; qid has several queries. Use cv='leave_query_out'"
                )
            return cls(name, None)
        if queries is None or len(queries) < 2:
            raise InvalidInputError(
                "cv='leave_query_out' holds out one query at a time: expected qid with at least two queries. Pass "
                "qid to fit, or use cv='leave_pair_out' or a number of folds."
            )
        return cls(name, ItemSets.of_queries(queries))

    @classmethod
    def _split(cls, splitter: Any, X: Any, y: Any, codes: Index | None, m: int) -> HoldoutPlan:
        """Hold out whatever a fold does not train on, and score what it tests."""
        held, tests, start = [], [], 0
        for number, (train, test) in enumerate(splitter.split(X, y, codes)):
            mask = np.ones(m, dtype=bool)
            mask[train] = False
            if not np.all(mask[test]) or len(test) == 0:
                raise InvalidInputError(f"split {number} of cv has an empty test set, or tests items that it trains on")
            held.append(np.flatnonzero(mask))
            tests.append(start + np.searchsorted(held[-1], test).astype(np.int64))
            start += len(held[-1])
        return cls("folds", ItemSets.of(held, m), tests)

    def item_scores(self, scores: Float, m: int) -> Float:
        """Put held-out scores (total, ...) into the order of the items: means where items were scored more than once.

        Items that were never scored have NaN.
        """
        assert self.sets is not None
        places = np.arange(len(scores)) if self.tests is None else np.concatenate(self.tests)
        items = self.sets.items[places]
        total, count = np.zeros((m, *scores.shape[1:])), np.bincount(items, minlength=m).astype(np.float64)
        np.add.at(total, items, scores[places])
        with np.errstate(invalid="ignore"):
            means: Float = total / count.reshape(-1, *([1] * (scores.ndim - 1)))
        return means


def _folds(n_folds: int, m: int, queries: Queries | None, *, classes: bool, random_state: RandomStateLike) -> Any:
    available = m if queries is None else len(queries)
    if not 2 <= n_folds <= available:
        noun = "items" if queries is None else "queries"
        raise InvalidInputError(f"Expected cv between 2 and {available}, the number of {noun}; got {n_folds}.")
    if queries is not None:
        return GroupKFold(n_folds)
    return (StratifiedKFold if classes else KFold)(n_folds, shuffle=True, random_state=random_state)


def read_scoring(scoring: Any, *, censored: bool = False) -> Measure | Callable[..., float]:
    """Read the argument `scoring`: the name of a measure, a measure, or a function of y_true, y_score and qid.

    Of censored times the pairwise accuracy is the concordance index.
    """
    if isinstance(scoring, (str, Measure)):
        measure = get_measure(scoring)
        if not censored or measure.takes_event:
            return measure
        if type(measure) is not PairwiseAccuracy:
            raise InvalidInputError(
                f"Expected scoring='concordance' with censored times; got {measure.name}, which needs the score of "
                "every item."
            )
        return Concordance()
    if callable(scoring):
        function: Callable[..., float] = scoring
        return function
    raise InvalidInputError(
        f"scoring must be the name of a measure or a function of (y_true, y_score, qid), got {scoring!r}"
    )


class HoldoutScoring:
    """Measures held-out scores of one output at a time; higher is better.

    Shapes: truth (m, outputs), event (m,).

    truth: True scores; NaN where there is none.
    """

    def __init__(
        self,
        plan: HoldoutPlan,
        scoring: Measure | Callable[..., float] | None,
        truth: Float,
        queries: Queries | None,
        loss: ItemLoss | None = None,
        *,
        joint: bool = False,
        event: NDArray[np.bool_] | None = None,
        entry: Float | None = None,
    ) -> None:
        if plan.name == "leave_pair_out" and event is not None:
            raise InvalidInputError(
                "Expected folds of items or strata with censored times; got cv='leave_pair_out'. Use a number of "
                "folds, such as cv=10, or qid with cv='leave_query_out'."
            )
        if plan.name == "leave_pair_out" and not (
            isinstance(scoring, (PairwiseAccuracy, AUC, MagnitudePreservingError)) or scoring == Disagreement()
        ):
            raise InvalidInputError(
                "cv='leave_pair_out' predicts the order of pairs, so scoring must be 'pairwise_accuracy', 'auc', "
                "'disagreement' or 'magnitude_preserving_error'. For other measures use a number of folds"
            )
        self.plan, self.scoring, self.truth, self.queries, self.loss = plan, scoring, truth, queries, loss

        self.joint = joint and scoring is None
        self.event, self.entry = event, entry

    def outputs(self) -> list[int | slice]:
        """Return what is measured: each output by itself, or all together."""
        return [slice(None)] if self.joint else list(range(self.truth.shape[1]))

    def pairs_left_out(self, data: HoldoutData, alphas: Float) -> Float:
        """Return the values of all pairs, each by the model trained without both items, shape (outputs, alphas)."""
        if isinstance(self.scoring, MagnitudePreservingError):
            return -_magnitude_errors(data, alphas)
        accuracy = np.asarray(data.pairs(None, alphas, differences=False).accuracy)
        return accuracy - 1.0 if isinstance(self.scoring, Disagreement) else accuracy

    def values(self, scores: Float, output: int | slice) -> Float:
        """Return the values of an output, shape (alphas, folds, queries or items), from its scores (total, alphas).

        The scores of all outputs together are (total, outputs, alphas).
        """
        assert self.plan.sets is not None
        items = self.plan.sets.items
        if self._looks_at_pairs():
            values = query_accuracies(self.truth[items, output], scores, self.plan.sets.bounds)
            if np.isnan(values).all():
                raise NothingToCompareError("no query has two items with different scores")
            return values
        tests = [slice(None)] if self.plan.tests is None else self.plan.tests
        return np.concatenate([self._judge(items[test], scores[test], output) for test in tests], axis=1)

    def _looks_at_pairs(self) -> bool:
        """Whether the pairs of small queries are counted one by one, for all alphas together."""
        if self.plan.name != "leave_query_out" or not isinstance(self.scoring, PairwiseAccuracy):
            return False
        assert self.plan.sets is not None
        sizes = self.plan.sets.sizes
        # Up to 100 partners of an item, looking at every pair is faster than sorting once for each column.
        return float((sizes**2).sum()) <= 100.0 * float(sizes.sum())

    def _judge(self, items: Index, scores: Float, output: int | slice) -> Float:
        """Return the values of queries or items, or their mean if there are folds, shape (alphas, values)."""
        truth = self.truth[items, output]
        scored = ~np.isnan(truth if truth.ndim == 1 else truth[:, 0])
        if not scored.all():
            items, truth, scores = items[scored], truth[scored], scores[scored]
        codes = None if self.queries is None else self.queries.codes[items]
        if self.event is not None:
            entry = None if self.entry is None else self.entry[items]
            truth = event_times(truth, self.event[items], entry=entry)
        columns = np.moveaxis(scores, -1, 0)
        if isinstance(self.scoring, Measure):
            sign = 1.0 if self.scoring.higher_is_better else -1.0
            return sign * self._measured(self.scoring, truth, columns, codes)
        if self.scoring is not None:
            return np.array([[float(self.scoring(truth, np.ascontiguousarray(own), codes))] for own in columns])
        assert self.loss is not None
        values = np.array([-self.loss(truth, np.ascontiguousarray(own)) for own in columns])
        return values if self.plan.tests is None else _row_means(values)

    def _measured(self, measure: Measure, truth: Float, columns: Float, codes: Index | None) -> Float:
        """Measure the columns of scores (alphas, items), many at a time: each has queries of its own."""
        at_once = 1 if measure.pools_queries else max(1, 2**17 // max(len(truth), 1))
        labels, query = (None, 0) if codes is None else np.unique(codes, return_inverse=True)
        n_queries = 1 if labels is None else len(labels)
        rows = []
        for start in range(0, len(columns), at_once):
            block = np.ascontiguousarray(columns[start : start + at_once])
            own = np.arange(len(block))[:, None] * n_queries + np.broadcast_to(query, block.shape)
            try:
                result = measure(np.tile(truth, len(block)), block.ravel(), qid=own.ravel())
            except (InvalidInputError, NothingToCompareError) as error:
                if isinstance(error, NothingToCompareError) and self.plan.tests is not None:
                    rows.append(np.full((len(block), 1), np.nan))
                    continue
                for column in block:
                    measure(truth, column, qid=codes)  # raises the error in the words of one column
                raise
            values = np.full(own.shape[0] * n_queries, np.nan)
            values[np.asarray(result.queries, dtype=np.int64)] = result.values
            by_column = values.reshape(len(block), n_queries)
            if self.plan.tests is not None:
                by_column = _row_means(by_column) if len(block) > 1 else np.array([[result.mean]])
            rows.append(by_column)
        table = np.concatenate(rows)
        return table if self.plan.tests is not None else table[:, ~np.isnan(table).all(axis=0)]


def _row_means(values: Float) -> Float:
    """Return the means of the numbers in each row, shape (rows, 1); NaN for a row without one."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Float = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / known.sum(axis=1, keepdims=True)
    return means


def _magnitude_errors(data: HoldoutData, alphas: Float) -> Float:
    """Return the mean squared error of the differences of all held-out pairs, shape (outputs, alphas).

    Tied true scores are pairs as well ([PABS08]_, equations 12 and 13). O(m²) memory for some alphas at a time.
    """
    scored = np.flatnonzero(~np.isnan(data.truth).all(axis=1))
    if len(scored) < 2:
        raise NothingToCompareError("there are fewer than two items with a score")
    every = DifferingPairs(scored, np.arange(1, len(scored) + 1))
    at_once = max(1, PAIR_BYTES // (8 * data.n_outputs * every.n_pairs))
    errors = np.empty((data.n_outputs, len(alphas)))
    for start in range(0, len(alphas), at_once):
        part = slice(start, start + at_once)
        held = data.pairs(every, alphas[part])
        with np.errstate(over="ignore"):
            squares = (held.difference - np.asarray(held.truth)[..., None]) ** 2  # (pairs, outputs, alphas)
            errors[:, part] = np.nanmean(squares, axis=0)
    if not np.all(np.isfinite(errors)):
        raise InvalidInputError("the scoring measure overflows: divide y by a constant")
    return errors


def query_accuracies(truth: Float, scores: Float, bounds: Index) -> Float:
    """Return the share of the pairs of each query that each column of scores has in the right order.

    O(n Σ q²) time for queries of q items.

    Shapes: truth (m,), scores (m, n), bounds (n_queries + 1,); returns (n, n_queries).

    truth: True scores, the items of a query together; NaN where there is none.
    Returns: A tied prediction counts a half; NaN for a query without two different true scores.
    """
    n = scores.shape[1]
    values = np.full((n, len(bounds) - 1), np.nan)
    _count_pairs(truth, np.ascontiguousarray(scores), bounds, values, np.empty(n))
    return values


@compiled
def _count_pairs(truth: Float, scores: Float, bounds: Index, values: Float, right: Float) -> None:
    """Fill in the values of `query_accuracies`; `right` is room for one count for each column of scores."""
    n = scores.shape[1]
    for query in range(len(bounds) - 1):
        for c in range(n):
            right[c] = 0.0
        count = 0
        for i in range(bounds[query], bounds[query + 1]):
            for j in range(bounds[query], i):
                low, high = (j, i) if truth[i] > truth[j] else (i, j)
                if not truth[high] > truth[low]:
                    continue
                count += 1
                for c in range(n):
                    right[c] += (scores[high, c] > scores[low, c]) + 0.5 * (scores[high, c] == scores[low, c])
        if count > 0:
            for c in range(n):
                values[c, query] = right[c] / count


# Alpha search ---------------------------------------------------------------------------------------------------------

KernelGrid: TypeAlias = dict[str, Sequence[Any]] | Sequence[dict[str, Sequence[Any]]] | None
"""Kernel parameters with the values to try, as scikit-learn's `ParameterGrid` takes them; None for those given."""

KERNEL_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "kernel_params")


class AlphaSearch(KernelLearner):
    """What `RankRLSCV`, `RLSCV` and `RLSClassifierCV` share: plain learners are held out from, and the best is fitted.

    A subclass is a `Ranker`, a `Regressor` or a `Classifier` too, which says what is compared and how it is predicted.
    It names the plain learner, and what ``cv="auto"`` means without queries.
    """

    _plain: ClassVar[type[KernelLearner]]
    _without_queries: ClassVar[str]

    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": [StrOptions({AUTO}), "array-like"],
        "cv": [StrOptions(set(CV_NAMES)), "cv_object"],
        "scoring": [str, callable, None],
        "alpha_per_target": ["boolean"],
        "kernel": [StrOptions({*KERNEL_NAMES, AUTO}), callable],
        "kernel_grid": [dict, list, None],
        "held_out_basis": [StrOptions(set(HELD_OUT_BASIS))],
    }

    alpha_per_target: bool = False

    def __init__(
        self,
        alphas: Any = AUTO,
        *,
        cv: Any = "auto",
        scoring: Any = None,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        metric: MetricLike = None,
        basis: int | Sequence[int] | None = None,
        alpha_per_target: bool = False,
        kernel_grid: KernelGrid = None,
        held_out_basis: str = "remove",
        solver: str = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        missing: str = "error",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.metric = metric
        self.basis = basis
        self.alpha_per_target = alpha_per_target
        self.kernel_grid = kernel_grid
        self.held_out_basis = held_out_basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose alpha by cross-validation, and fit with it.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : array-like, shape (m,) or (m, n_outputs)
            Their scores, or for a classifier their classes.
        qid : sequence, shape (m,), optional
            The query of each item. `RLSCV` and `RLSClassifierCV` use it for `cv` only.
        sample_weight : array-like, shape (m,), optional
            Item weights, for training; all held-out items count the same.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        graphs, one_output = self._compare(X, y, qid, sample_weight)
        self._search(X, y, qid, graphs, one_output=one_output)
        return self._fit(X, graphs, self._progress(X, y), one_output=one_output, alpha=self.alpha_)

    @one_warning("held-out scores")
    def _search(self, X: Matrix, y: Any, qid: Any, graphs: list[OutputGraph], *, one_output: bool) -> None:
        """Hold out for every kernel, and keep the best candidate."""
        every = Queries.from_labels(qid, X.shape[0])
        queries = None if qid is None else every
        classes = is_classifier(self)
        seed = 0 if self.random_state is None else self.random_state
        event, entry = graphs[0][1].event, graphs[0][1].entry
        plan = HoldoutPlan.of(
            self.cv,
            X,
            y,
            queries,
            # Leaving out a pair of censored times has no shortcut.
            default=self._without_queries if event is None else 10,
            classes=classes,
            random_state=seed,
        )
        scoring = None if self.scoring is None else read_scoring(self.scoring, censored=event is not None)
        settings = self._settings(X)
        given = self._given_alphas(len(settings))
        distances: dict[str, Float] | None = {} if len(settings) > 1 else None
        weight = np.max([cast(Any, graph).weight for _, graph in graphs], axis=0)  # zero where no output has a score
        unlabelled = self._unlabelled(every, weight)
        candidates = Candidates(settings, per_target=self.alpha_per_target)
        learners = []
        shown = settings if len(settings) == 1 else track(settings, len(settings), "searching", noun="kernels")
        for number, setting in enumerate(shown):
            data = HoldoutData.of(
                self._learner(setting),
                X,
                graphs,
                one_output=one_output,
                held_out_basis=self.held_out_basis,
                keep_spectra=given is None,
                distances=distances,
            )
            judge = HoldoutScoring(
                plan, scoring, data.truth, queries, self._loss(), joint=classes, event=event, entry=entry
            )
            grid = AlphaGrid.of(AUTO, data.features, unlabelled) if given is None else AlphaGrid.given(given[number])
            candidates.search(grid, partial(measure, plan, judge, data))
            learners.append(data.learner)
            del data, judge  # the decomposition of one kernel at a time
        self._keep_search(X, candidates, learners)
        held_out = candidates.held_out
        scores = None if held_out is None else plan.item_scores(held_out, X.shape[0])
        self.holdout_scores_ = scores[:, 0] if one_output and scores is not None else scores
        candidates.warn_at_edge(gammas=self._chooses_kernel)

    def _keep_search(self, X: Matrix, candidates: Candidates, learners: list[KernelLearner]) -> None:
        """Store what was found with the learners of all candidates."""
        self.alpha_: Any = candidates.alpha
        self.alphas_ = candidates.alphas
        self.best_score_ = candidates.score
        self.best_params_ = {"alpha": self.alpha_, **candidates.setting}
        self.kernel_ = learners[candidates.number]._kernel_of_parameters().copied().fixed(X)
        self.cv_results_ = candidates.table()

    def _settled(self, X: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fix the grid too: the whole range of each kernel, so that nothing is left to extend."""
        settled = super()._settled(X, qid=qid, sample_weight=sample_weight)
        if self._chooses_kernel:
            learner = clone(self)
            chosen = [
                {name: [value] for name, value in one.items()}
                for one in learner._settings(learner._check_items(X, reset=True))
            ]
            settled.set_params(kernel="linear", metric=np.square(learner.kernel_.fixed_root), kernel_grid=chosen)
        settings = settled._settings()
        rules = any(isinstance(setting.get("gamma"), str) for setting in settings)
        if not rules and not is_auto(self.alphas):
            return settled
        X = clone(self)._check_items(X, reset=True)
        learners = [settled._learner(setting)._settled(X) for setting in settings]
        if rules:
            fixed = [
                {**setting, "gamma": learner.gamma} if "gamma" in setting else setting
                for setting, learner in zip(settings, learners, strict=True)
            ]
            settled.set_params(kernel_grid=[{name: [value] for name, value in one.items()} for one in fixed])
        if is_auto(self.alphas):
            options = {"qid": qid, "sample_weight": sample_weight, "whole": True}
            grids = [grid_for(learner, X, AUTO, **options).alphas for learner in learners]
            settled.set_params(alphas=np.array(grids) if settled.kernel_grid is not None else grids[0])
        return settled

    def _given_alphas(self, n_settings: int) -> list[list[float]] | None:
        """Return the alphas of each setting of the kernel, or None where they are to be chosen from the items."""
        if is_auto(self.alphas):
            return None
        if not isinstance(self.alphas, np.ndarray) or self.alphas.ndim != 2:
            return [check_alphas(self.alphas)] * n_settings
        if len(self.alphas) != n_settings:
            raise InvalidInputError(
                f"alphas has {len(self.alphas)} rows, and kernel_grid {n_settings} candidates: give one row for each"
            )
        return [check_alphas(row) for row in self.alphas]

    def _loss(self) -> ItemLoss | None:
        """Return what ``scoring=None`` stands for."""
        return None

    @property
    def _chooses_kernel(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == AUTO

    def _kernel_of_parameters(self) -> Kernel:
        """Return the kernel; where it is to be chosen, what all candidates have in common."""
        if not self._chooses_kernel:
            return super()._kernel_of_parameters()
        return Kernel("linear", root=metric_root("variance" if self.metric is None else self.metric))

    def _settings(self, X: Matrix | None = None) -> list[dict[str, Any]]:
        """List the kernel parameters to try; those of ``kernel="auto"`` for X, whose metric was fixed before."""
        settings = [{}] if self.kernel_grid is None else list(ParameterGrid(self.kernel_grid))
        if self._chooses_kernel:
            if self.gamma is not None or (
                self.kernel_grid is not None and any("kernel" not in one for one in settings)
            ):
                raise InvalidInputError(
                    "kernel='auto' has candidates of its own: leave gamma out, and name the kernel in each entry of "
                    "kernel_grid, such as {'kernel': ['poly'], 'degree': [2]}, which is tried as well"
                )
            assert X is not None
            own = auto_settings(self.kernel_, X, 0 if self.random_state is None else self.random_state)
            settings = [*own, *(one for one in settings if one)]
        for setting in settings:
            for name in setting:
                if name not in KERNEL_PARAMETERS:
                    raise InvalidInputError(
                        f"kernel_grid has {name!r}, which is not a kernel parameter; "
                        f"these are {', '.join(KERNEL_PARAMETERS)}"
                    )
        return settings

    def _learner(self, setting: dict[str, Any]) -> KernelLearner:
        """Return the plain learner with one setting of its kernel."""
        names = set(self._plain().get_params()) - {"alpha", "verbose"}
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name in names}
        if self._chooses_kernel and self.metric is None:
            parameters["metric"] = "variance"
        return self._plain(**{**parameters, **setting})


GAMMAS = (1 / 9, 1 / 3, 1.0, 3.0, 9.0)
"""What ``kernel="auto"`` multiplies the median rule by."""


def auto_settings(kernel: Kernel, X: Matrix, random_state: RandomStateLike) -> list[dict[str, Any]]:
    """Return the candidates of ``kernel="auto"``, from items and their metric, without labels."""
    settings: list[dict[str, Any]] = [{"kernel": "linear"}]
    for name in ("rbf", "laplacian"):
        median = replace(kernel, metric=name, gamma="median").fixed(X, random_state).gamma
        assert isinstance(median, float)
        settings += [{"kernel": name, "gamma": median * factor} for factor in GAMMAS]
    return settings


# Candidates -----------------------------------------------------------------------------------------------------------
#
# The candidates of a search: every kernel and alpha with its hold-out score.


@dataclass(frozen=True)
class Measured:
    """Hold-out scores of one kernel.

    Shapes: mean, deviation (outputs, alphas), splits (folds, outputs, alphas), scores (total, outputs, alphas).

    mean, deviation: Over queries, items or folds; the deviation over pairs, which overlap, is NaN.
    """

    mean: Float
    deviation: Float
    splits: Float | None
    scores: Float | None

    @classmethod
    def joined(cls, parts: Sequence[Measured], order: Index) -> Measured:
        """Concatenate the alphas of several parts, sorted."""
        if len(parts) == 1:
            return parts[0]

        def join(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if values[0] is None else np.concatenate(values, axis=-1)[..., order]

        return cls(join("mean"), join("deviation"), join("splits"), join("scores"))


def measure(plan: HoldoutPlan, judge: HoldoutScoring, data: HoldoutData, alphas: Float) -> Measured:
    """Hold out once for all alphas and measure each."""
    if plan.sets is None:
        values = judge.pairs_left_out(data, alphas)
        return Measured(values, np.full(values.shape, np.nan), None, None)
    return judged(plan, judge, data.scores(plan.sets, alphas))


def judged(plan: HoldoutPlan, judge: HoldoutScoring, scores: Float) -> Measured:
    """Measure the scores of held-out items, shape (total, outputs, alphas)."""
    with overflow_is_checked():
        values = [judge.values(scores[:, k], k) for k in judge.outputs()]  # each (alphas, folds or queries)
    mean = np.stack([_mean(part) for part in values])
    deviation = np.stack([np.nanstd(part, axis=1) for part in values])
    splits = None if plan.tests is None else np.stack(values).transpose(2, 0, 1)
    return Measured(mean, deviation, splits, scores)


def _mean(values: Float) -> Float:
    """Average the values that there are: a fold without anything to compare has none."""
    if np.isnan(values).all(axis=1).any():
        raise NothingToCompareError("no fold of cv has two items to compare")
    means = np.asarray(np.nanmean(values, axis=1))
    if not np.all(np.isfinite(means)):
        raise InvalidInputError("the scoring measure overflows: divide y by a constant")
    return means


def first_of_best(values: Float) -> Index:
    """Return the place of the first of the highest values, along the last axis, of which rounding decides none."""
    best = values.max(axis=-1, keepdims=True)
    equal = np.isnan(values) | (values == best) | (values >= best - 1e-10 * np.abs(best))
    return np.asarray(equal.argmax(axis=-1))


class Candidates:
    """All candidates tried, the best one, and its held-out scores; those of the others are not kept."""

    def __init__(self, settings: list[dict[str, Any]], *, per_target: bool) -> None:
        self.settings, self.per_target = settings, per_target
        self.grids: list[AlphaGrid] = []
        self.measured: list[Measured] = []
        self.number = -1
        self.score = -np.inf
        self.held_out: Float | None = None
        self.places: Index = np.zeros(1, dtype=np.int64)

    def search(self, grid: AlphaGrid, measure: Callable[[Float], Measured]) -> None:
        """Measure the alphas of the next kernel; the first of equal candidates stays the best."""
        parts: list[Measured] = []
        tried: list[Float] = []

        def values(alphas: Float) -> Float:
            parts.append(measure(alphas))
            tried.append(alphas)
            return self._rows(parts[-1])

        grid = grid.explored(values)
        self.add(grid, Measured.joined(parts, np.argsort(np.concatenate(tried), kind="stable")))

    def add(self, grid: AlphaGrid, found: Measured) -> None:
        """Take the next kernel, whose alphas are measured already."""
        rows = self._rows(found)
        places = first_of_best(rows)
        score = float(rows[np.arange(len(rows)), places].mean())
        if score > self.score and first_of_best(np.array([self.score, score])) == 1:
            self.number, self.score, self.places = len(self.measured), score, places
            if found.scores is not None:
                outputs = np.arange(found.scores.shape[1])
                self.held_out = found.scores[:, outputs, np.broadcast_to(places, outputs.shape)]
        self.grids.append(grid)
        self.measured.append(Measured(found.mean, found.deviation, found.splits, None))

    def _rows(self, found: Measured) -> Float:
        """Return the values that alpha is chosen by, one row for each alpha to choose."""
        return found.mean if self.per_target else found.mean.mean(axis=0, keepdims=True)

    @property
    def alpha(self) -> float | Float:
        """The best alpha, or one for each output."""
        chosen = self.grids[self.number].alphas[self.places]
        return chosen if self.per_target and len(chosen) > 1 else float(chosen[0])

    @property
    def alphas(self) -> Float:
        """The alphas that were tried with the best kernel, in ascending order."""
        return np.unique(self.grids[self.number].alphas)

    @property
    def setting(self) -> dict[str, Any]:
        """The best kernel parameters."""
        return self.settings[self.number]

    @cached_property
    def _mean(self) -> Float:
        return np.concatenate([found.mean.mean(axis=0) for found in self.measured])

    def table(self) -> dict[str, Any]:
        """Return all candidates with their scores as `GridSearchCV` does; a parameter that one lacks is None."""
        params = [
            {"alpha": float(alpha), **setting}
            for setting, grid in zip(self.settings, self.grids, strict=True)
            for alpha in grid.alphas
        ]
        table: dict[str, Any] = {"params": params}
        for name in sorted({name for candidate in params for name in candidate}):
            values = np.empty(len(params), dtype=object)
            values[:] = [candidate.get(name) for candidate in params]
            table[f"param_{name}"] = values.astype(np.float64) if name == "alpha" else values
        first = self.measured[0].splits
        for fold in range(0 if first is None else len(first)):
            parts = [found.splits[fold].mean(axis=0) for found in self.measured if found.splits is not None]
            table[f"split{fold}_test_score"] = np.concatenate(parts)
        table["mean_test_score"] = self._mean
        table["std_test_score"] = np.concatenate([found.deviation.mean(axis=0) for found in self.measured])
        table["rank_test_score"] = (1 + (self._mean[:, None] < self._mean).sum(axis=1)).astype(np.int32)
        if len(self.measured[0].mean) > 1:
            table["mean_test_score_of_targets"] = np.concatenate([found.mean.T for found in self.measured])
        return table

    def warn_at_edge(self, *, gammas: bool = False) -> None:
        """Warn if the best alpha lies at the edge of its grid, or else the best gamma at that of its kernel."""
        if self.grids[self.number].warn_at_edge(self._rows(self.measured[self.number]), stacklevel=6) or not gammas:
            return
        name, best = self.setting["kernel"], self.setting.get("gamma")
        tried = {
            one["gamma"]: float(self._rows(found).max(axis=1).mean())
            for one, found in zip(self.settings, self.measured, strict=True)
            if one["kernel"] == name and isinstance(best, float) and isinstance(one.get("gamma"), float)
        }
        edge = edge_of(np.array(list(tried)), np.array(list(tried.values()))) if tried else 0
        if edge:
            warnings.warn(
                f"the best gamma, {best:g}, is the {'smallest' if edge < 0 else 'largest'} that was tried with the "
                f"kernel {name}: try {'smaller' if edge < 0 else 'larger'} ones with this kernel alone (kernel_grid in "
                "Python, --kernels and --gammas in the command)",
                EdgeOfGridWarning,
                stacklevel=6,
            )
