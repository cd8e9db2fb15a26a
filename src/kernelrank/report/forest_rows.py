"""The rows of a forest plot: estimates with their intervals, each at its place on a common axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from kernelrank.metrics import Interval
from kernelrank.model_selection import AUCComparison, AUCEstimate

__all__ = ["ComparedAUCs", "Forest", "ForestRow"]


@dataclass(frozen=True)
class ForestRow:
    """One row of a forest plot: an estimate with its interval.

    Parameters
    ----------
    name : str
    value : float
    interval : Interval
    places : tuple of float
        The positions of the lower end, the value and the upper end on the axis, from 0 to 1.
    """

    name: str
    value: float
    interval: Interval
    places: tuple[float, float, float]


@dataclass(frozen=True)
class Forest:
    """The rows of a forest plot that share one axis.

    Parameters
    ----------
    rows : list of ForestRow
    start, end : float
        The ends of the axis.
    reference : float
        What means no effect: half for an AUC, zero for a difference.
    """

    rows: list[ForestRow]
    start: float
    end: float
    reference: float

    @property
    def reference_place(self) -> float:
        """The position of the reference on the axis."""
        return (self.reference - self.start) / (self.end - self.start)

    @classmethod
    def of_aucs(cls, estimates: Sequence[tuple[str, AUCEstimate]]) -> Forest:
        """Put AUCs on an axis that ends at 1.

        Examples
        --------
        >>> estimate = AUCEstimate(0.75, Interval(0.55, 0.9, 0.95, ""), "leave_pair_out", 100, 10, 10, (0, 1))
        >>> forest = Forest.of_aucs([("genes", estimate)])
        >>> forest.start, forest.rows[0].places[1], forest.reference_place
        (0.5, 0.5, 0.0)
        """
        lowest = min((estimate.interval.low for _, estimate in estimates), default=0.5)
        start = min(0.5, floor(10 * lowest) / 10)
        values = [(name, estimate.auc, estimate.interval) for name, estimate in estimates]
        return cls._on_axis(values, start, 1.0, 0.5)

    @classmethod
    def of_values(cls, values: Sequence[tuple[str, float, Interval]], reference: float | None) -> Forest:
        """Put values on an axis that holds them all and the reference, in tenths.

        Examples
        --------
        >>> forest = Forest.of_values([("hinge", 0.75, Interval(0.62, 0.81, 0.95, ""))], 0.55)
        >>> forest.start, forest.end, forest.reference
        (0.5, 0.9, 0.55)
        """
        ends = [end for _, _, interval in values for end in interval]
        lowest, highest = min(ends), max(ends)
        mark = lowest if reference is None else reference
        return cls._on_axis(values, floor(10 * min(lowest, mark)) / 10, ceil(10 * max(highest, mark)) / 10, mark)

    @classmethod
    def of_differences(cls, values: Sequence[tuple[str, float, Interval]]) -> Forest:
        """Put differences on an axis with zero in its middle."""
        largest = max(abs(end) for _, value, interval in values for end in (value, *interval))
        bound = max(0.1, ceil(10 * largest) / 10)
        return cls._on_axis(values, -bound, bound, 0.0)

    @classmethod
    def of_difference(cls, name: str, value: float, interval: Interval) -> Forest:
        """Put a difference on an axis with zero in its middle."""
        return cls.of_differences([(name, value, interval)])

    @classmethod
    def of_scores(cls, names: Sequence[str], scores: Sequence[float], intervals: Sequence[Interval]) -> Forest:
        """Put scores on an axis from the lowest to the highest end in tenths, with zero, the mean, on it.

        Examples
        --------
        >>> forest = Forest.of_scores(["tea"], [0.5], [Interval(-0.22, 1.22, 0.95, "")])
        >>> forest.start, forest.end, forest.reference
        (-0.3, 1.3, 0.0)
        """
        start = min((floor(10 * interval.low) / 10 for interval in intervals), default=-0.5)
        end = max((ceil(10 * interval.high) / 10 for interval in intervals), default=0.5)
        rows = list(zip(names, scores, intervals, strict=True))
        return cls._on_axis(rows, min(start, 0.0), max(end, 0.5), 0.0)

    @classmethod
    def _on_axis(
        cls, values: Sequence[tuple[str, float, Interval]], start: float, end: float, reference: float
    ) -> Forest:
        def place(value: float) -> float:
            return min(1.0, max(0.0, (value - start) / (end - start)))

        rows = [
            ForestRow(name, value, interval, (place(interval.low), place(value), place(interval.high)))
            for name, value, interval in values
        ]
        return cls(rows, start, end, reference)


@dataclass(frozen=True)
class ComparedAUCs:
    """Two AUCs on the same items and their difference, as a page shows them.

    Parameters
    ----------
    aucs, difference : Forest
    pvalue : float
        Of no difference.
    """

    aucs: Forest
    difference: Forest
    pvalue: float

    @classmethod
    def of(cls, names: tuple[str, str], comparison: AUCComparison) -> ComparedAUCs:
        """Read what `compare_auc` returns."""
        first, second = names
        return cls(
            Forest.of_aucs([(first, comparison.first), (second, comparison.second)]),
            Forest.of_difference(f"{first} − {second}", comparison.difference, comparison.interval),
            comparison.pvalue,
        )
