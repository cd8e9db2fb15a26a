"""A measured value: one number per query, their mean, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.metrics.interval import Interval, bootstrap_interval
from kernelrank.metrics.items import FloatArray

__all__ = ["MeasureResult"]


@dataclass(frozen=True, eq=False)
class MeasureResult:
    """A measure of some predictions, query by query.

    Parameters
    ----------
    label : str
        The measure with its cutoff and rules, as it should be printed.
    values : ndarray of float64, shape (n_measured,)
        One value per measured query, in the order of the queries' first items.
    queries : ndarray, shape (n_measured,)
        The labels of the measured queries.
    left_out : ndarray, shape (n_left_out,)
        The labels of the queries that cannot be measured: one item, all ties, or nothing relevant.

    Examples
    --------
    >>> from kernelrank.metrics import NDCG
    >>> result = NDCG(k=10)([2, 0, 1, 0, 0], [3, 2, 1, 1, 2], qid=["a", "a", "a", "b", "b"])
    >>> print(result)
    nDCG@10 (gain exponential, ties averaged, empty queries left out) = 0.9639 over 1 query, 1 left out
    >>> result.left_out
    array(['b'], dtype=object)
    """

    label: str
    values: FloatArray
    queries: NDArray[Any]
    left_out: NDArray[Any]

    @property
    def mean(self) -> float:
        """The average over the measured queries, each counting the same."""
        return float(np.mean(self.values))

    @property
    def n_left_out(self) -> int:
        """How many queries could not be measured."""
        return len(self.left_out)

    def interval(
        self,
        confidence: float = 0.95,
        *,
        n_resamples: int = 2000,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> Interval:
        """Give a bootstrap interval of the mean; see `bootstrap_interval`."""
        return bootstrap_interval(self, confidence=confidence, n_resamples=n_resamples, random_state=random_state)

    def __float__(self) -> float:
        return self.mean

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        noun = "query" if len(self) == 1 else "queries"
        return f"{self.label} = {self.mean:.4f} over {len(self)} {noun}, {self.n_left_out} left out"

    def __repr__(self) -> str:
        return f"<MeasureResult {self}>"
