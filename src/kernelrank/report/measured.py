"""The scores that a report measures: of a test set, or of training items by models that did not see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import safe_indexing
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Interval, Measure, MeasureResult, get_measure
from kernelrank.model_selection import QueryKFold, leave_query_out
from kernelrank.model_selection.auc_comparison import tournament_scores
from kernelrank.model_selection.holdout import holdout, takes_shortcut
from kernelrank.model_selection.search import AlphaSearch
from kernelrank.report.explanations import scores_of
from kernelrank.report.pictures import describe_holdout

TOURNAMENT_ITEMS = 2000
"""Up to this many items of one ranking every pair is held out; their differences take 16 MB then."""

FOLDS = 5


@dataclass(frozen=True, eq=False)
class MeasuredItems:
    """Items with true and predicted scores.

    Shapes: X (m, n), y (m,), scores (m,), qid (m,), ids (m,).
    """

    X: Any
    y: Float
    scores: Float
    qid: Labels | None
    ids: Labels | None
    how: str
    chose_alpha: bool = False
    folds: bool = False

    @classmethod
    def of_test(cls, model: BaseEstimator, X: Any, y: Float, qid: Labels | None, ids: Labels | None) -> MeasuredItems:
        """Score a test set."""
        return cls(X, y, scores_of(model, X), qid, ids, "a test set that training has not seen")

    @classmethod
    def held_out(
        cls,
        model: BaseEstimator,
        X: Any,
        y: Float,
        target: ArrayLike,
        qid: Labels | None,
        ids: Labels | None,
        *,
        given: ArrayLike | None = None,
        random_state: RandomStateLike = 0,
    ) -> MeasuredItems:
        """Score the training items by models that did not see them.

        Shapes: y (m,), target (m,), given (m,).

        given: Held-out scores that are known already; NaN where there is none.
        """
        several = qid is not None and len(Queries.from_labels(qid, len(y))) > 1
        if given is not None:
            scores, how = _check_given(given, len(y)), "training items, by held-out scores that were given"
            # The scores of the search itself may be what is given.
            known = getattr(model, "holdout_scores_", None)
            chose = known is not None and np.array_equal(scores, known, equal_nan=True)
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        plain = _plain(model)
        chose = plain is not model
        known = getattr(model, "holdout_scores_", None)
        if several and known is not None:
            how = f"training items, scored by models that did not see them ({describe_holdout(model, queries=True)})"
            return cls(X, y, known, qid, ids, how, chose_alpha=True)
        exact = takes_shortcut(plain)
        if several and exact:
            how = "training items, each query scored by the model trained without it (leave-query-out, exact)"
            return cls(X, y, leave_query_out(plain, X, target, qid), qid, ids, how, chose_alpha=chose)
        if not several and exact and len(y) <= TOURNAMENT_ITEMS:
            how = (
                "training items, each pair ordered by the model trained without both; the score of an item is its "
                "number of wins (leave-pair-out, exact)"
            )
            return cls(X, y, tournament_scores(plain, X, target), None, ids, how, chose_alpha=chose)
        sets = _folds(len(y), qid if several else None, random_state)
        scores = np.full(len(y), np.nan)
        # Routing carries the queries to the last step of a pipeline.
        with sklearn.config_context(enable_metadata_routing=True):
            held = holdout(plain, X, target, sets, qid=qid if several else None)
        for items, part in zip(sets, held, strict=True):
            scores[items] = part
        if several:
            how = f"training items, each of {len(sets)} folds of queries scored by the model trained without it"
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        folds = np.empty(len(y), dtype=np.int64)
        for number, items in enumerate(sets, start=1):
            folds[items] = number
        how = f"training items; each of {len(sets)} folds scored by a model trained without it, and measured by itself"
        return cls(X, y, scores, folds, ids, how, chose_alpha=chose, folds=True)

    def scored(self) -> MeasuredItems:
        """Keep the items that have a true and a predicted score."""
        kept = np.flatnonzero(~(np.isnan(self.y) | np.isnan(self.scores)))
        if len(kept) == len(self.y):
            return self
        if len(kept) == 0:
            raise InvalidInputError("no item has both a true and a held-out score: there is nothing to measure")
        return replace(
            self,
            X=safe_indexing(self.X, kept),
            y=self.y[kept],
            scores=self.scores[kept],
            qid=_taken(self.qid, kept),
            ids=_taken(self.ids, kept),
        )


def _taken(labels: Labels | None, kept: Index) -> list[Any] | None:
    if labels is None:
        return None
    every = list(labels)  # a column of a data frame is read by place, whatever its index says
    return [every[number] for number in kept.tolist()]


def _check_given(given: ArrayLike, n_items: int) -> Float:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (n_items,):
        raise InvalidInputError(f"held_out has shape {scores.shape}, but there are {n_items} items")
    return scores


def _plain(model: BaseEstimator) -> BaseEstimator:
    """Return the learner that a search found, without the search."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if not isinstance(model, AlphaSearch):
        return model
    setting = {name: value for name, value in model.best_params_.items() if name != "alpha"}
    return model._learner(setting).set_params(alpha=float(model.alpha_), gamma=model.gamma_)


def _folds(n_items: int, qid: Labels | None, random_state: RandomStateLike) -> list[Index]:
    """Cut queries, or the shuffled items of one ranking, into folds."""
    none = np.zeros((n_items, 1))
    if qid is None:
        return [test for _, test in KFold(FOLDS, shuffle=True, random_state=random_state).split(none)]
    queries = Queries.from_labels(qid, n_items)
    return [test for _, test in QueryKFold(min(FOLDS, len(queries))).split(none, groups=queries.codes)]


# Measured values ------------------------------------------------------------------------------------------------------
#
# The rows of a table of measures: value, interval, and what was left out.


@dataclass(frozen=True, eq=False)
class MeasuredValue:
    """A measure with its value, or with the reason why it could not be computed."""

    measure: Measure
    result: MeasureResult | None
    interval: Interval | None
    problem: str = ""

    @property
    def rules(self) -> str:
        """The conventions that the number depends on."""
        return ", ".join(self.measure.rules)


def measure_all(
    items: MeasuredItems, measures: Sequence[str | Measure], random_state: RandomStateLike
) -> list[MeasuredValue]:
    """Compute several measures; one that does not apply gives its reason instead of a value."""
    values = []
    # "AUC" and "auc" are the same measure.
    for measure in dict.fromkeys(get_measure(name) for name in measures):
        try:
            result = measure(items.y, items.scores, qid=items.qid)
        except InvalidInputError as error:
            values.append(MeasuredValue(measure, None, None, str(error)))
            continue
        interval = result.interval(random_state=random_state) if result.has_interval else None
        values.append(MeasuredValue(measure, result, interval))
    return values


# Baselines ------------------------------------------------------------------------------------------------------------
#
# Simple baselines: the random order, and the single feature that ranks best.

MOST_FEATURES = 200
"""Beyond this many columns none is tried by itself: the best of so many would say little."""


@dataclass(frozen=True, eq=False)
class BestColumn:
    """The single column that ranks best, in either direction.

    Shapes: scores (m,).
    """

    name: str
    value: float
    scores: Float

    @classmethod
    def of(
        cls, X: Any, value: Callable[[Float], float], names: Labels | None, *, rising: bool = True
    ) -> BestColumn | None:
        """Try every column in both directions; None if there are too many, or none of finite numbers.

        Shapes: X (m, n_features).
        """
        if not hasattr(X, "shape") or X.shape[1] > MOST_FEATURES:
            return None
        known = list(getattr(X, "columns", ()) if names is None else names)
        if names is None and not (known and all(isinstance(name, str) for name in known)):
            known = [f"x{number}" for number in range(X.shape[1])]  # as the table of weights calls them
        best: BestColumn | None = None
        for column, name in enumerate(known):
            try:
                scores = _column(X, column)
            except (TypeError, ValueError):
                continue  # words, which a pipeline turns into numbers
            if not np.all(np.isfinite(scores)):
                continue
            for sign, one in (("", scores), ("\N{MINUS SIGN}", -scores)):
                found = cls(f"{sign}{name}", value(one), one)
                if best is None or (found.value > best.value if rising else found.value < best.value):
                    best = found
        return best


@dataclass(frozen=True)
class Baselines:
    """What simple rankings reach by the same measures."""

    rows: list[tuple[str, float, float, float]]
    feature: str | None

    @classmethod
    def of(cls, items: MeasuredItems, values: Sequence[MeasuredValue], names: Labels | None) -> Baselines:
        """Measure the baselines on the items of the model. Time O(n_features m log m)."""
        measured = [(value.measure, value.result.mean) for value in values if value.result is not None]
        if not measured:
            return cls([], None)
        first = measured[0][0]
        found = BestColumn.of(
            items.X, lambda scores: _value(first, items, scores), names, rising=first.higher_is_better
        )
        rows = [
            (
                measure.name,
                mean,
                np.nan if found is None else _value(measure, items, found.scores),
                random_order(measure, items.y, items.qid),
            )
            for measure, mean in measured
        ]
        return cls(rows, None if found is None else found.name)


def random_order(measure: Measure, y: Float, qid: Labels | None) -> float:
    """Return the expected value of a random order: that of equal scores, with ties averaged."""
    fair: Any = measure
    if getattr(measure, "ties", "average") != "average":
        fair = replace(fair, ties="average")
    return float(fair(y, np.zeros(len(y)), qid=qid).mean)


def _column(X: Any, number: int) -> Float:
    if is_sparse(X):
        return np.asarray(X[:, [number]].todense(), dtype=np.float64).ravel()
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, number], dtype=np.float64)
    return np.asarray(X[:, number], dtype=np.float64)


def _value(measure: Measure, items: MeasuredItems, scores: Float) -> float:
    return float(measure(items.y, scores, qid=items.qid).mean)


# Data summary ---------------------------------------------------------------------------------------------------------
#
# A summary of the data: how many queries, items, levels and ties there are, and what is left out.

FEW_LEVELS = 10
"""Up to this many levels are counted one by one."""


@dataclass(frozen=True)
class DataSummary:
    """Counts of a set of scored items."""

    name: str
    n_items: int
    n_queries: int
    n_features: int
    query_sizes: tuple[float, float, float]
    n_levels: int
    level_counts: list[tuple[float, int]] | None
    level_range: tuple[float, float]
    n_pairs: int
    n_tied: int
    n_unscored: int
    single_item: list[Any]
    single_level: list[Any]

    @classmethod
    def of(cls, name: str, shape: tuple[int, int], y: Float, qid: Labels | None) -> DataSummary:
        """Count: O(m log m) time, O(m) memory.

        Shapes: y (m,), qid (m,).

        y: True scores; NaN for an item without one.
        """
        queries = Queries.from_labels(qid, len(y))
        scored = ~np.isnan(y)
        levels, level = np.unique(y[scored], return_inverse=True)
        codes = queries.codes[scored]
        sizes = np.bincount(codes, minlength=len(queries))
        # A cell is a level inside a query: the pairs of a cell are tied.
        cells, members = np.unique(codes * max(1, len(levels)) + level, return_counts=True)
        kinds = np.bincount(cells // max(1, len(levels)), minlength=len(queries))
        few = len(levels) <= FEW_LEVELS
        counts = list(zip(levels.tolist(), np.bincount(level).tolist(), strict=True)) if few else None
        named = queries.labels.tolist()
        return cls(
            name=name,
            n_items=shape[0],
            n_queries=len(queries),
            n_features=shape[1],
            query_sizes=(float(queries.sizes.min()), float(np.median(queries.sizes)), float(queries.sizes.max())),
            n_levels=len(levels),
            level_counts=counts,
            level_range=(float(levels[0]), float(levels[-1])) if len(levels) else (np.nan, np.nan),
            n_pairs=_pairs(sizes),
            n_tied=_pairs(members),
            n_unscored=int((~scored).sum()),
            single_item=[named[q] for q in np.flatnonzero(sizes < 2).tolist()],
            single_level=[named[q] for q in np.flatnonzero((sizes >= 2) & (kinds == 1)).tolist()],
        )

    @property
    def n_without_pairs(self) -> int:
        """How many queries have nothing to compare."""
        return len(self.single_item) + len(self.single_level)


def _pairs(sizes: Index) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
