"""Relevance: which items count as relevant, and which value a query without relevant items has."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.measure import Measure, check_option

__all__ = ["BinaryRelevance", "EmptyRule", "RelevanceMeasure"]

EmptyRule = Literal["skip", "zero", "one"]

_EMPTY = {
    "skip": "empty queries left out",
    "zero": "empty queries count 0",
    "one": "empty queries count 1",
}


@dataclass(frozen=True, kw_only=True)
class RelevanceMeasure(Measure):
    """What the measures of relevant items share: the rule for queries with nothing relevant.

    Parameters
    ----------
    empty : {"skip", "zero", "one"}, default="skip"
        What a query without a relevant item counts: it is left out, or counts 0 or 1.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    empty: EmptyRule = "skip"

    def __post_init__(self) -> None:
        """Raise an error for unknown rules."""
        check_option("empty", self.empty, tuple(_EMPTY))

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (_EMPTY[self.empty],)

    def _filled(self, values: FloatArray, relevant: NDArray[np.bool_]) -> FloatArray:
        """Apply the rule for queries with nothing relevant."""
        return np.where(relevant, values, {"skip": np.nan, "zero": 0.0, "one": 1.0}[self.empty])

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"none of the queries ({len(items.queries)}) has a relevant item (y > 0)"


@dataclass(frozen=True, kw_only=True)
class BinaryRelevance(RelevanceMeasure):
    """What the measures that know only relevant and irrelevant items share.

    Parameters
    ----------
    relevant_from : float or None, default=None
        An item is relevant if y is at least this; None takes every y > 0.
    """

    relevant_from: float | None = None

    def __post_init__(self) -> None:
        """Raise an error for unknown rules and a threshold that is not a number."""
        super().__post_init__()
        if self.relevant_from is not None:
            check_number("relevant_from", self.relevant_from, " or None")

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (f"relevant {self._relevant_words}", *super().rules)

    @property
    def _relevant_words(self) -> str:
        return "y > 0" if self.relevant_from is None else f"y >= {self.relevant_from:g}"

    def _relevance(self, y: FloatArray) -> FloatArray:
        return (y > 0 if self.relevant_from is None else y >= self.relevant_from).astype(np.float64)

    def _why_nothing(self, items: JudgedItems) -> str:
        return f"none of the queries ({len(items.queries)}) has a relevant item ({self._relevant_words})"


def check_number(name: str, value: object, otherwise: str = "") -> None:
    """Raise an error for an option that is not a finite number."""
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise InvalidInputError(f"{name} must be a finite number{otherwise}, got {value!r}")
