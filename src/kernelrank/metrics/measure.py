"""The measure: a value such as nDCG@10, called on true and predicted scores."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.intervals import UNBOUNDED
from kernelrank.metrics.judged_items import FloatArray, JudgedItems, read_items
from kernelrank.metrics.measure_result import MeasureResult

__all__ = ["Measure", "check_cutoff", "check_option"]


@dataclass(frozen=True)
class Measure(ABC):
    """What all measures share: the call, the checks, the label.

    A measure holds its options and nothing else, so two measures with the same options are equal and can be
    keys of a dict. Calling one costs O(m log m) time (one sort of the items and sweeps over them) and O(m)
    memory unless its own docstring says otherwise.

    Examples
    --------
    >>> from kernelrank.metrics import AUC, NDCG
    >>> NDCG(k=10) == NDCG(k=10)
    True
    >>> AUC()([0, 0, 1], [0.1, 0.4, 0.3]).mean
    0.5
    """

    higher_is_better: ClassVar[bool] = True
    takes_weight: ClassVar[bool] = False
    takes_event: ClassVar[bool] = False
    """Whether true scores may be censored times."""
    pools_queries: ClassVar[bool] = False
    """Whether the pairs of all queries count together, so that the mean is not that of the queries."""
    by_order: ClassVar[bool] = True
    """Whether the value depends on nothing but the order of the predicted scores in a query."""
    bounds: ClassVar[tuple[float, float]] = UNBOUNDED
    """The lowest and the highest value that a query can have; an interval never leaves them."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""

    @property
    @abstractmethod
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""

    @property
    def label(self) -> str:
        """The name of the measure with its conventions."""
        return f"{self.name} ({', '.join(self.rules)})"

    @abstractmethod
    def _values(self, items: JudgedItems) -> FloatArray:
        """One value per query, NaN for a query that cannot be measured."""

    @abstractmethod
    def _why_nothing(self, items: JudgedItems) -> str:
        """Return why no query can be measured."""

    def __call__(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> MeasureResult:
        """Measure each query.

        Parameters
        ----------
        y_true : array-like, shape (m,)
            True scores, larger is better.
        y_score : array-like, shape (m,)
            Predicted scores, larger is ranked higher.
        qid : sequence, shape (m,), or None
            Query labels, of any hashable type and in any order; None puts all items into one query.
        sample_weight : array-like, shape (m,), or None
            Item weights, where the measure takes them.

        Returns
        -------
        MeasureResult

        Raises
        ------
        InvalidInputError
            Scores that are not finite, lengths that differ, weights for a measure without them.
        NothingToCompareError
            No query can be measured.
        """
        outputs = self._read(y_true, y_score, qid, sample_weight)
        if len(outputs) > 1:
            raise InvalidInputError(
                f"y_true has {len(outputs)} outputs: measure one column at a time, or call average()"
            )
        return self._measure(outputs[0])

    def average(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        qid: Labels | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Measure and average: over the measured queries, and over the outputs if there are several."""
        outputs = self._read(y_true, y_score, qid, sample_weight)
        if len(outputs) == 1:
            return self._measure(outputs[0]).mean
        means = []
        for number, items in enumerate(outputs):
            try:
                means.append(self._measure(items).mean)
            except NothingToCompareError as error:
                raise NothingToCompareError(f"output {number}: {error}") from None
        return float(np.mean(means))

    def _read(
        self, y_true: ArrayLike, y_score: ArrayLike, qid: Labels | None, sample_weight: ArrayLike | None
    ) -> list[JudgedItems]:
        if sample_weight is not None and not self.takes_weight:
            raise InvalidInputError(f"{self.name} does not support sample_weight")
        return read_items(y_true, y_score, qid, sample_weight)

    def _measure(self, items: JudgedItems) -> MeasureResult:
        values = self._values(items)
        unmeasured = np.isnan(values)
        if unmeasured.all():
            raise NothingToCompareError(f"{self.name} cannot be measured: {self._why_nothing(items)}")
        labels = items.queries.labels
        known = values[~unmeasured], labels[~unmeasured], labels[unmeasured]
        return MeasureResult(self.label, *known, bounds=self.bounds)

    def __str__(self) -> str:
        return self.name


def check_option(name: str, value: object, known: Sequence[str]) -> None:
    """Raise an error for an option that is not one of the known words."""
    if value not in known:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def check_cutoff(k: object, *, required: bool = False) -> None:
    """Raise an error for a cutoff that is not a whole number of at least 1."""
    if k is None and not required:
        return
    if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
        raise InvalidInputError(f"the cutoff k must be a whole number of at least 1, got {k!r}")
