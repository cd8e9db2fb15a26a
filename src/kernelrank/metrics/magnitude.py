r"""Magnitudes: how far predicted differences of scores are from the true ones.

With :math:`d_i = y_i - f_i`, the mean over the pairs of a query with n items is twice the variance of d,

.. math:: \frac{2}{n(n - 1)} \sum_{i < j} \bigl((y_i - y_j) - (f_i - f_j)\bigr)^2
   = \frac{2}{n - 1} \sum_i (d_i - \bar d)^2,

the loss that RankRLS minimises [CMR07], divided by the number of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.measure_result import MeasureResult

__all__ = ["MagnitudePreservingError", "magnitude_preserving_error"]


@dataclass(frozen=True)
class MagnitudePreservingError(Measure):
    """The mean squared error of predicted differences, over all pairs of a query; 0 is perfect.

    Pairs with tied true scores count like all others: their difference should be 0. Queries of one item are left out
    and counted. A constant added to the scores of a query changes nothing; another scale does.

    O(m) time and memory.

    Examples
    --------
    >>> print(MagnitudePreservingError()([3, 1, 1], [2, 1, 0]))
    magnitude-preserving error (all pairs of a query, tied true scores too) = 0.6667 over 1 query, 0 left out
    """

    higher_is_better: ClassVar[bool] = False
    by_order: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "magnitude-preserving error"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("all pairs of a query", "tied true scores too")

    def _values(self, items: JudgedItems) -> FloatArray:
        codes, n = items.queries.codes, items.queries.sizes
        with np.errstate(over="ignore", invalid="ignore"):
            d = items.y - items.score
            mean = np.bincount(codes, weights=d) / n
            values = 2 * np.bincount(codes, weights=(d - mean[codes]) ** 2) / np.maximum(n - 1, 1)
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"{self.name}: the squared differences are too large for double precision; scale y_true and y_score"
            )
        return np.where(n > 1, values, np.nan)

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"each of the queries ({len(items.queries)}) has one item only"


def magnitude_preserving_error(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: Labels | None = None, per_query: bool = False
) -> float | MeasureResult:
    """Return the mean squared error of predicted differences; see `MagnitudePreservingError`.

    O(m) time and memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> magnitude_preserving_error([1, 2, 3], [11, 12, 14])
    0.666...
    """
    measure = MagnitudePreservingError()
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)
