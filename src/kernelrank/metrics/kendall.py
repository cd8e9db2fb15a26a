r"""Kendall's tau_b: concordant minus discordant pairs, corrected for ties on both sides.

.. math:: \tau_b = \frac{C - D}{\sqrt{P S}} = \frac{P - T - 2 D}{\sqrt{P S}}

with P the pairs whose true scores differ, S those whose predictions differ, T those of P whose predictions
tie [Kni66]. The root is taken of each factor: P S does not fit into 64 bits for a query of 10⁵ items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.measure_result import MeasureResult
from kernelrank.metrics.pairs import PairCounts, why_no_pair

__all__ = ["KendallTau", "kendall_tau"]


@dataclass(frozen=True)
class KendallTau(Measure):
    """Kendall's tau_b of each query; 1 is perfect, 0 is chance, -1 is reversed.

    A query with one item, or whose true scores are all tied, is left out and counted. A query whose
    predictions are all tied has the value 0 (SciPy returns NaN; leaving the query out would allow a model to
    choose which queries it is measured on).

    O(m log m) time, O(m) memory.

    Examples
    --------
    >>> print(KendallTau()([1, 2, 3, 3], [0.1, 0.3, 0.2, 0.4]))
    Kendall tau_b (a query of tied predictions counts 0) = 0.5477 over 1 query, 0 left out
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    @property
    def name(self) -> str:
        """The name; `get_measure` reads it."""
        return "Kendall tau_b"

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return ("a query of tied predictions counts 0",)

    def _values(self, items: JudgedItems) -> FloatArray:
        counts = PairCounts.of(items)
        difference = counts.ordered - counts.tied - 2 * counts.discordant
        scale = np.sqrt(counts.ordered) * np.sqrt(counts.separated)
        values = np.where(counts.ordered > 0, 0.0, np.nan)
        np.divide(difference, scale, out=values, where=scale > 0)
        return np.clip(values, -1.0, 1.0)

    def _why_nothing(self, items: JudgedItems) -> str:
        return why_no_pair(items)


def kendall_tau(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: Labels | None = None, per_query: bool = False
) -> float | MeasureResult:
    """Return the mean tau_b per query; see `KendallTau`.

    O(m log m) time, O(m) memory.

    Parameters
    ----------
    y_true, y_score, qid, per_query
        As in `pairwise_accuracy`.

    Returns
    -------
    float or MeasureResult

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [3, 2, 1])
    -1.0
    """
    measure = KendallTau()
    return measure(y_true, y_score, qid=qid) if per_query else measure.average(y_true, y_score, qid=qid)
