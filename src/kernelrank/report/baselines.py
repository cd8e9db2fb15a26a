"""Simple baselines: the random order, and the single feature that ranks best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelrank.argument_types import Labels
from kernelrank.arrays import Float, is_sparse
from kernelrank.metrics import Measure
from kernelrank.report.measured_items import MeasuredItems
from kernelrank.report.measured_values import MeasuredValue

__all__ = ["Baselines", "random_order"]

MOST_FEATURES = 200
"""Beyond this many columns none is tried by itself: the best of so many would say little."""


@dataclass(frozen=True)
class Baselines:
    """What simple rankings reach by the same measures.

    Parameters
    ----------
    rows : list of tuple
        The name of a measure, the value of the model, of the best single feature and of the random order.
    feature : str or None
        The single feature, with a minus sign if low values rank high; None if none was tried.
    """

    rows: list[tuple[str, float, float, float]]
    feature: str | None

    @classmethod
    def of(cls, items: MeasuredItems, values: Sequence[MeasuredValue], names: Labels | None) -> Baselines:
        """Measure the baselines on the items of the model. Time O(n_features m log m).

        Parameters
        ----------
        items : MeasuredItems
        values : sequence of MeasuredValue
            Of the model.
        names : sequence of str, optional
            The names of the columns.
        """
        measured = [(value.measure, value.result.mean) for value in values if value.result is not None]
        if not measured:
            return cls([], None)
        found = _best_feature(items, measured[0][0])
        rows = [
            (
                measure.name,
                mean,
                np.nan if found is None else _value(measure, items, found[1]),
                random_order(measure, items.y, items.qid),
            )
            for measure, mean in measured
        ]
        if found is None:
            return cls(rows, None)
        column, scores = found
        known = list(getattr(items.X, "columns", ()) if names is None else names)
        if names is None and not (known and all(isinstance(name, str) for name in known)):
            known = [f"x{number}" for number in range(items.X.shape[1])]  # as the table of weights calls them
        name = str(known[column])
        return cls(rows, name if np.array_equal(scores, _column(items.X, column)) else f"\u2212{name}")


def random_order(measure: Measure, y: Float, qid: Labels | None) -> float:
    """Return the expected value of a random order: that of equal scores, with ties averaged.

    Examples
    --------
    >>> from kernelrank.metrics import get_measure
    >>> random_order(get_measure("pairwise_accuracy"), np.array([0.0, 1.0, 2.0]), None)
    0.5
    """
    fair: Any = measure
    if getattr(measure, "ties", "average") != "average":
        fair = replace(fair, ties="average")
    return float(fair(y, np.zeros(len(y)), qid=qid).mean)


def _best_feature(items: MeasuredItems, measure: Measure) -> tuple[int, Float] | None:
    """Return the column that ranks best in either direction, and its scores; None if there are too many."""
    if not hasattr(items.X, "shape") or items.X.shape[1] > MOST_FEATURES:
        return None
    tried: list[tuple[float, int, Float]] = []
    for column in range(items.X.shape[1]):
        try:
            scores = _column(items.X, column)
        except (TypeError, ValueError):
            continue  # words, which a pipeline turns into numbers
        if np.all(np.isfinite(scores)):
            sign = 1.0 if measure.higher_is_better else -1.0
            tried += [(sign * _value(measure, items, one), column, one) for one in (scores, -scores)]
    if not tried:
        return None
    _, column, scores = max(tried, key=lambda one: one[0])
    return column, scores


def _column(X: Any, number: int) -> Float:
    if is_sparse(X):
        return np.asarray(X[:, [number]].todense(), dtype=np.float64).ravel()
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, number], dtype=np.float64)
    return np.asarray(X[:, number], dtype=np.float64)


def _value(measure: Measure, items: MeasuredItems, scores: Float) -> float:
    return float(measure(items.y, scores, qid=items.qid).mean)
