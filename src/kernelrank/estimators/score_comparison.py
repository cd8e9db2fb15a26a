"""Comparison of two items: the difference of their scores and its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from kernelrank.base.arrays import Float, Index
from kernelrank.base.results import Estimates, Result
from kernelrank.errors import InvalidInputError

__all__ = ["ScoreComparison", "matched_rows"]

SHOWN = 20
"""How many comparisons are drawn."""

NORMAL = float(ndtri(0.975))
"""Standard deviations from the middle to the ends of a 95% interval."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreComparison(Result):
    """The items of two lists compared one by one.

    Parameters
    ----------
    difference : ndarray, shape (k,)
        The score of each first item minus that of the second.
    std : ndarray, shape (k,)
        The standard deviation of the difference.
    probability : ndarray, shape (k,)
        The probability that the first item ranks above the second.
    basis : str
        What the standard deviation and the probability rest on.

    Examples
    --------
    >>> print(ScoreComparison.normal(np.array([1.0, 0.0]), np.array([0.5, 0.5]), "posterior of the preferences"))
    2 comparisons, probabilities from 0.500 to 0.977 (posterior of the preferences)
    """

    difference: Float
    std: Float
    probability: Float
    basis: str

    @classmethod
    def normal(cls, difference: Float, std: Float, basis: str) -> Self:
        """Make a comparison from normally distributed differences, with their standard deviations.

        A difference whose standard deviation is zero has the probability 1, 0, or a half if it is zero as well.
        """
        certain = (np.sign(difference) + 1.0) / 2.0
        probability = np.where(std > 0, ndtr(difference / np.where(std > 0, std, 1.0)), certain)
        return cls(difference, std, probability, basis)

    def __str__(self) -> str:
        low, high = float(self.probability.min(initial=1.0)), float(self.probability.max(initial=0.0))
        if len(self.probability) == 1:
            found = f"difference {self.difference[0]:.4g} ± {self.std[0]:.4g}, probability {high:.3f}"
        else:
            found = f"{len(self.probability):,} comparisons, probabilities from {low:.3f} to {high:.3f}"
        return f"{found} ({self.basis})"

    def _facts(self) -> list[tuple[str, str]]:
        rows = [("compared", f"{len(self.difference):,}"), ("computed from", self.basis)]
        shown = zip(self.difference[:10], self.std[:10], self.probability[:10], strict=True)
        rows += [
            (f"comparison {number}", f"{difference:.4g} ± {std:.4g}, probability {probability:.3f}")
            for number, (difference, std, probability) in enumerate(shown)
        ]
        left = len(self.difference) - 10
        return [*rows, ("not shown", f"{left:,}")] if left > 0 else rows

    def _chart(self) -> Estimates:
        ends = zip(self.difference[:SHOWN].tolist(), (NORMAL * self.std[:SHOWN]).tolist(), strict=True)
        rows = [(f"comparison {n}", middle, middle - half, middle + half) for n, (middle, half) in enumerate(ends)]
        return Estimates(rows, "difference of the scores, with 95% intervals", 0.0)

    def _columns(self) -> dict[str, Any]:
        return {"difference": self.difference, "std": self.std, "probability": self.probability}


def matched_rows(n_first: int, n_second: int) -> tuple[Index, Index]:
    """Return which rows of two lists are compared: row by row, or one row with all of the other list.

    Parameters
    ----------
    n_first, n_second : int
        How many rows the lists have.

    Returns
    -------
    tuple of ndarray of int64, each of shape (k,)

    Examples
    --------
    >>> matched_rows(1, 3)
    (array([0, 0, 0]), array([0, 1, 2]))
    """
    if n_first != n_second and 1 not in (n_first, n_second):
        raise InvalidInputError(
            "Expected as many rows in X_a as in X_b, or one row on one side: "
            f"X_a has {n_first} rows, X_b has {n_second}."
        )
    count = n_second if n_first == 1 else n_first
    rows = np.arange(count, dtype=np.int64)
    alone = np.zeros(count, dtype=np.int64)
    return (rows if n_first == count else alone), (rows if n_second == count else alone)
