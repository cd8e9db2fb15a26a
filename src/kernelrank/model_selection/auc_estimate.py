"""An estimated AUC, with its interval and how it was estimated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelrank.base.results import Estimates, Result
from kernelrank.metrics.interval import Interval

__all__ = ["AUCEstimate"]


@dataclass(frozen=True, repr=False)
class AUCEstimate(Result):
    """The estimated AUC of an estimator on new data, with its interval.

    Parameters
    ----------
    auc : float
        The estimate.
    interval : Interval
        Its ends, how often such intervals are meant to hold the AUC, and what it allows for.
    method : str
        How items were held out.
    n_pairs, n_positive, n_negative : int
        How many pairs of a positive and a negative item were compared, and how many items there are.
    classes : tuple
        The negative and the positive class.
    warnings : tuple of str, default=()
        What to know before the number is quoted.

    Examples
    --------
    >>> interval = Interval(0.5, 0.9, 0.95, "allows for other items being scored")
    >>> print(AUCEstimate(0.75, interval, "leave_pair_out", 100, 10, 10, (0, 1)))
    AUC 0.750, 95% interval [0.500, 0.900] (leave_pair_out, 100 pairs of 10 positive and 10 negative items; the interval
    allows for other items being scored)
    """

    auc: float
    interval: Interval
    method: str
    n_pairs: int
    n_positive: int
    n_negative: int
    classes: tuple[Any, Any]
    warnings: tuple[str, ...] = field(default=())

    def __float__(self) -> float:
        return self.auc

    def __str__(self) -> str:
        low, high = self.interval
        line = (
            f"AUC {self.auc:.3f}, {100 * self.interval.level:.4g}% interval [{low:.3f}, {high:.3f}] ({self.method}, "
            f"{self.n_pairs} pairs of {self.n_positive} positive and {self.n_negative} negative items; "
            f"the interval {self.interval.method})"
        )
        return " ".join([line, *(f"Warning: {text}." for text in self.warnings)])

    def _facts(self) -> list[tuple[str, str]]:
        negative, positive = self.classes
        return [
            ("AUC", f"{self.auc:.3f}"),
            self.interval._fact(),
            ("about the interval", self.interval.method),
            ("held out", f"{self.method.replace('_', '-')}, {self.n_pairs:,} pairs"),
            ("positive class", f"{positive}: {self.n_positive:,} items"),
            ("negative class", f"{negative}: {self.n_negative:,} items"),
            *(("warning", text) for text in self.warnings),
        ]

    def _chart(self) -> Estimates:
        return Estimates([(self.method.replace("_", "-"), self.auc, *self.interval)], "AUC", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {
            "auc": [self.auc],
            **self.interval._columns(),
            "method": [self.method],
            "n_pairs": [self.n_pairs],
            "n_positive": [self.n_positive],
            "n_negative": [self.n_negative],
        }
