"""A measured value: one number per query, their mean, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.results import Result
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.intervals import FIXED, UNBOUNDED, Interval, bootstrap_interval, check_confidence, mean_interval
from kernelrank.metrics.judged_items import FloatArray
from kernelrank.metrics.roc import Components, score_interval

__all__ = ["MeasureResult"]


@dataclass(frozen=True, eq=False, repr=False)
class MeasureResult(Result):
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
    components : Components, optional
        The win rates of the items, where this is the AUC of one query: what its interval is made of.
    bounds : (float, float)
        The lowest and the highest value that the measure can have, for the interval; infinite if unknown.

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
    components: Components | None = None
    bounds: tuple[float, float] = UNBOUNDED

    @property
    def mean(self) -> float:
        """The average over the measured queries, each counting the same."""
        return float(np.mean(self.values))

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval: over two queries at least, or of the AUC of one query."""
        return len(self) > 1 or self.components is not None

    @property
    def n_left_out(self) -> int:
        """How many queries could not be measured."""
        return len(self.left_out)

    def interval(
        self,
        confidence: float = 0.95,
        *,
        method: str = "skewness",
        n_resamples: int = 2000,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> Interval:
        """Return an interval of the mean.

        For several queries it allows for other queries. For the AUC of one query without weights it uses DeLong's
        variance in an interval of score type and allows for other items. Both take the predictions as given, and stay
        within the range of the measure.

        Parameters
        ----------
        confidence : float, default=0.95
            Between 0 and 1.
        method : {"skewness", "bootstrap"}, default="skewness"
            For several queries: Student's interval, corrected for the skewness and the range of the values, O(n) time;
            or `bootstrap_interval`, the percentiles of resampled means, which is narrower and covers less.
        n_resamples, random_state
            For the bootstrap.

        Returns
        -------
        Interval

        Notes
        -----
        `benchmarks/intervals_over_queries_cover.py` measures how often 95 % intervals hold the true mean over queries,
        for all named measures.

        Examples
        --------
        >>> from kernelrank.metrics import AUC
        >>> print(AUC()([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]).interval())
        95% interval [0.2646, 0.9938] (DeLong's variance over 3 and 3 items; the predictions do not vary)
        """
        if method not in ("skewness", "bootstrap"):
            raise InvalidInputError(f"Expected method='skewness' or 'bootstrap'; got {method!r}.")
        check_confidence(confidence)
        if len(self) == 1 and self.components is not None:
            sizes = len(self.components.positive), len(self.components.negative)
            variance, degrees = self.components.variance()
            low, high = score_interval(self.mean, variance, confidence, *sizes, degrees)
            how = f"DeLong's variance over {sizes[0]} and {sizes[1]} items"
            return Interval(low, high, confidence, f"{how}; {FIXED}")
        if method == "bootstrap":
            return bootstrap_interval(self, confidence=confidence, n_resamples=n_resamples, random_state=random_state)
        if len(self) < 2:
            raise InvalidInputError("an interval over queries needs at least two measured queries, got one")
        how = f"{len(self)} queries, corrected for skewness; {FIXED}"
        return mean_interval(self.values, confidence, how, self.bounds)

    def __float__(self) -> float:
        return self.mean

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        noun = "query" if len(self) == 1 else "queries"
        return f"{self.label} = {self.mean:.4f} over {len(self)} {noun}, {self.n_left_out} left out"

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("measure", self.label), ("mean", f"{self.mean:.4f}")]
        if len(self) > 1:
            facts.append(("lowest to highest query", f"{self.values.min():.4f} to {self.values.max():.4f}"))
        return [*facts, ("queries measured", f"{len(self):,}"), ("queries left out", f"{self.n_left_out:,}")]

    def _columns(self) -> dict[str, Any]:
        return {"query": self.queries, "value": self.values}
