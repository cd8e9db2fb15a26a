"""An estimated AUC, with what it was estimated from and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["AUCEstimate"]


@dataclass(frozen=True)
class AUCEstimate:
    """The AUC of what an estimator learns, as held-out items see it.

    Parameters
    ----------
    auc : float
        The estimate.
    interval : tuple of float
        Its lower and upper end.
    confidence : float
        How often such intervals are meant to hold the AUC of the model trained on all items.
    what_varies : str
        What the interval's variation is over, and what it leaves out.
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
    >>> print(AUCEstimate(0.75, (0.5, 0.9), 0.95, "the items scored", "leave_pair_out", 100, 10, 10, (0, 1)))
    AUC 0.750, 95% interval [0.500, 0.900] (leave_pair_out, 100 pairs of 10 positive and 10 negative items; varies: the
    items scored)
    """

    auc: float
    interval: tuple[float, float]
    confidence: float
    what_varies: str
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
            f"AUC {self.auc:.3f}, {100 * self.confidence:.4g}% interval [{low:.3f}, {high:.3f}] ({self.method}, "
            f"{self.n_pairs} pairs of {self.n_positive} positive and {self.n_negative} negative items; "
            f"varies: {self.what_varies})"
        )
        return " ".join([line, *(f"Warning: {text}." for text in self.warnings)])

    def __repr__(self) -> str:
        return f"<AUCEstimate {self}>"
