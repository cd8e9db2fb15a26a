"""Simple baselines: the random order, and the single feature that ranks best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Labels, is_sparse
from kernelrank.metrics import Measure
from kernelrank.report.measured import MeasuredItems
from kernelrank.report.measured_values import MeasuredValue

__all__ = ["Baselines", "BestColumn", "random_order"]

MOST_FEATURES = 200
"""Beyond this many columns none is tried by itself: the best of so many would say little."""


@dataclass(frozen=True, eq=False)
class BestColumn:
    """The single column that ranks best, in either direction.

    Parameters
    ----------
    name : str
        With a minus sign if low values rank high.
    value : float
        What it reaches on the items that it was chosen on.
    scores : ndarray, shape (m,)
    """

    name: str
    value: float
    scores: Float

    @classmethod
    def of(
        cls, X: Any, value: Callable[[Float], float], names: Labels | None, *, rising: bool = True
    ) -> BestColumn | None:
        """Try every column in both directions; None if there are too many, or none of finite numbers.

        Parameters
        ----------
        X : matrix or data frame, shape (m, n_features)
        value : callable
            Measures scores of shape (m,).
        names : sequence of str, optional
            The names of the columns.
        rising : bool, default=True
            Whether higher values are better.

        Examples
        --------
        >>> X = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
        >>> found = BestColumn.of(X, lambda scores: float(scores[1] - scores[0]), ["a", "b"])
        >>> found.name, found.value
        ('−a', 1.0)
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


def _column(X: Any, number: int) -> Float:
    if is_sparse(X):
        return np.asarray(X[:, [number]].todense(), dtype=np.float64).ravel()
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, number], dtype=np.float64)
    return np.asarray(X[:, number], dtype=np.float64)


def _value(measure: Measure, items: MeasuredItems, scores: Float) -> float:
    return float(measure(items.y, scores, qid=items.qid).mean)
