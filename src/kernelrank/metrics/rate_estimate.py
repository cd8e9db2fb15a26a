"""A share between 0 and 1 that was estimated from two classes of items, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelrank.base.results import Estimates, Result
from kernelrank.metrics.intervals import Interval

__all__ = ["RateEstimate"]


@dataclass(frozen=True, repr=False)
class RateEstimate(Result):
    """A share between 0 and 1, such as a sensitivity or a partial AUC.

    Parameters
    ----------
    label : str
        A description, such as "sensitivity at specificity 0.9".
    value : float
    interval : Interval
    n_positive, n_negative : int
        How many items of each class there are.

    Examples
    --------
    >>> interval = Interval(0.6, 0.9, 0.95, "items resampled 2,000 times")
    >>> print(RateEstimate("sensitivity at specificity 0.9", 0.8, interval, 20, 30))
    sensitivity at specificity 0.9: 0.8000, 95% interval [0.6000, 0.9000] (items resampled 2,000 times; 20 positive and
    30 negative items)
    """

    label: str
    value: float
    interval: Interval
    n_positive: int
    n_negative: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.label}: {self.value:.4f}, {100 * self.interval.level:.4g}% interval [{low:.4f}, {high:.4f}] "
            f"({self.interval.method}; {self.n_positive} positive and {self.n_negative} negative items)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            (self.label, f"{self.value:.3f}"),
            self.interval._fact(),
            ("about the interval", self.interval.method),
            ("items", f"{self.n_positive:,} positive, {self.n_negative:,} negative"),
        ]

    def _chart(self) -> Estimates:
        items = f"{self.n_positive:,} positive, {self.n_negative:,} negative"
        return Estimates([(items, self.value, *self.interval)], self.label)

    def _columns(self) -> dict[str, Any]:
        return {
            "label": [self.label],
            "value": [self.value],
            **self.interval._columns(),
            "n_positive": [self.n_positive],
            "n_negative": [self.n_negative],
        }
