"""The plan of a search: which items are held out together when alpha is chosen, and how their scores are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, check_cv

from kernelrank.base.arrays import Float, Index, RandomStateLike
from kernelrank.base.compiled import CompilingPays, compiled
from kernelrank.base.labels import ItemSets, Queries, event_times
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics import Concordance, Measure, PairwiseAccuracy, get_measure
from kernelrank.metrics.pair_measures import AUC

__all__ = [
    "CENSORED_FOLDS",
    "CV_NAMES",
    "HoldoutPlan",
    "HoldoutScoring",
    "ItemLoss",
    "query_accuracies",
    "read_scoring",
]

CENSORED_FOLDS = 10
"""How many folds of items "auto" makes of censored times without strata: leaving out a pair has no shortcut there."""

SMALL_QUERY = 100
"""Up to this mean number of partners of an item, looking at every pair is faster than sorting once for each column."""

MEASURED_ITEMS = 2**17
"""The largest number of items in one call of a measure: the items of a fold, once for each alpha."""

COMPILED = CompilingPays(at_once=4_000_000, in_all=20_000_000, loaded=10)
"""Whether the loop compares so many pairs of held-out scores; else NumPy does, with the same result."""

ItemLoss = Callable[[Float, Float], Float]
"""From true and held-out scores to one loss for each item."""

CV_NAMES = ("auto", "leave_pair_out", "leave_query_out", "leave_one_out")


@dataclass(frozen=True)
class HoldoutPlan:
    """The sets that are held out.

    Parameters
    ----------
    name : {"leave_pair_out", "leave_query_out", "leave_one_out", "folds"}
    sets : ItemSets or None
        None for pairs, which are not listed.
    tests : list of ndarray, or None
        For folds, where in ``sets.items`` the scored items of each fold lie; None if all are scored together.

    Examples
    --------
    >>> HoldoutPlan.of("auto", np.zeros((4, 1)), np.zeros(4), None, default="leave_one_out").name
    'leave_one_out'
    """

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

        Parameters
        ----------
        cv : {"auto", "leave_pair_out", "leave_query_out", "leave_one_out"}, int, splitter or iterable of splits
        X : array-like, shape (m, n)
        y : array-like, shape (m,) or (m, outputs)
        queries : Queries or None
        default : str or int
            What "auto" stands for without queries, or with one; a number of folds, at most as many as there are items.
        classes : bool, default=False
            Whether y holds classes, which a number of folds keeps in proportion.
        random_state : int or RandomState, default=0
            Shuffles the items into a number of folds.

        Returns
        -------
        HoldoutPlan
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

    Parameters
    ----------
    plan : HoldoutPlan
    scoring : Measure, callable or None
        None stands for `loss`.
    truth : ndarray, shape (m, outputs)
        True scores; NaN where there is none.
    queries : Queries or None
    loss : callable, optional
        A loss for each item, averaged over all items.
    joint : bool, default=False
        Whether the loss is of all outputs together, as that of classes, and not of each.
    event : ndarray of bool, shape (m,), optional
        Which true scores are times of an event, where others are censored.
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
    ) -> None:
        if plan.name == "leave_pair_out" and event is not None:
            raise InvalidInputError(
                "Expected folds of items or strata with censored times; got cv='leave_pair_out'. Use a number of "
                "folds, such as cv=10, or qid with cv='leave_query_out'."
            )
        if plan.name == "leave_pair_out" and not isinstance(scoring, (PairwiseAccuracy, AUC)):
            raise InvalidInputError(
                "cv='leave_pair_out' predicts the order of pairs, so scoring must be 'pairwise_accuracy' or "
                "'auc'. For other measures use a number of folds"
            )
        self.plan, self.scoring, self.truth, self.queries, self.loss = plan, scoring, truth, queries, loss

        self.joint = joint and scoring is None
        self.event = event

    def outputs(self) -> list[int | slice]:
        """Return what is measured: each output by itself, or all together."""
        return [slice(None)] if self.joint else list(range(self.truth.shape[1]))

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
        return float((sizes**2).sum()) <= SMALL_QUERY * float(sizes.sum())

    def _judge(self, items: Index, scores: Float, output: int | slice) -> Float:
        """Return the values of queries or items, or their mean if there are folds, shape (alphas, values)."""
        truth = self.truth[items, output]
        scored = ~np.isnan(truth if truth.ndim == 1 else truth[:, 0])
        if not scored.all():
            items, truth, scores = items[scored], truth[scored], scores[scored]
        codes = None if self.queries is None else self.queries.codes[items]
        if self.event is not None:
            truth = event_times(truth, self.event[items])
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
        at_once = 1 if measure.pools_queries else max(1, MEASURED_ITEMS // max(len(truth), 1))
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


def query_accuracies(truth: Float, scores: Float, bounds: Index) -> Float:
    """Return the share of the pairs of each query that each column of scores has in the right order.

    Parameters
    ----------
    truth : ndarray, shape (m,)
        True scores, the items of a query together; NaN where there is none.
    scores : ndarray, shape (m, n)
    bounds : ndarray of int64, shape (n_queries + 1,)
        Where each query begins.

    Returns
    -------
    ndarray, shape (n, n_queries)
        A tied prediction counts a half; NaN for a query without two different true scores.

    Notes
    -----
    O(n Σ q²) time for queries of q items.
    """
    n = scores.shape[1]
    values = np.full((n, len(bounds) - 1), np.nan)
    sizes = np.diff(bounds)
    if COMPILED(n * int(sizes @ sizes) // 2):
        _count_pairs(truth, np.ascontiguousarray(scores), bounds, values, np.empty(n))
        return values
    # Each item with those that follow it in its query; pairs of one query stand together.
    item, following = np.arange(len(truth)), np.repeat(bounds[1:], sizes) - np.arange(1, len(truth) + 1)
    first = np.repeat(item, following)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(following) - following, following)
    first, second = np.where(truth[first] > truth[second], (first, second), (second, first))
    differ = truth[first] > truth[second]
    higher, lower = scores[first[differ]], scores[second[differ]]
    right = (higher > lower) + 0.5 * (higher == lower)
    count = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[first[differ]], minlength=len(sizes))
    known = count > 0
    if known.any():
        starts = (np.cumsum(count) - count)[known]
        values[:, known] = (np.add.reduceat(right, starts, axis=0) / count[known, None]).T
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
