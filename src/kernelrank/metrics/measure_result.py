"""A measured value: one number per query, their mean, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.metrics.auc_interval import Components, score_interval
from kernelrank.metrics.interval import FIXED, Interval, bootstrap_interval, check_confidence
from kernelrank.metrics.judged_items import FloatArray
from kernelrank.result import Result

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
        n_resamples: int = 2000,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> Interval:
        """Return an interval of the mean.

        For several queries it is that of `bootstrap_interval`, which allows for other queries. For the AUC of one query
        without weights it uses DeLong's variance in an interval of score type, without resampling, and allows for other
        items.
        Both take the predictions as given.

        Parameters
        ----------
        confidence : float, default=0.95
            Between 0 and 1.
        n_resamples, random_state
            As in `bootstrap_interval`.

        Returns
        -------
        Interval

        Examples
        --------
        >>> from kernelrank.metrics import AUC
        >>> print(AUC()([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]).interval())
        95% interval [0.2646, 0.9938] (DeLong's variance over 3 and 3 items; the predictions do not vary)
        """
        if len(self) == 1 and self.components is not None:
            check_confidence(confidence)
            sizes = len(self.components.positive), len(self.components.negative)
            variance, degrees = self.components.variance()
            low, high = score_interval(self.mean, variance, confidence, *sizes, degrees)
            how = f"DeLong's variance over {sizes[0]} and {sizes[1]} items"
            return Interval(low, high, confidence, f"{how}; {FIXED}")
        return bootstrap_interval(self, confidence=confidence, n_resamples=n_resamples, random_state=random_state)

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
