"""Ranked lists: the items of each query from the highest prediction down, with a rule for ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError
from kernelrank.metrics.judged_items import FloatArray, JudgedItems
from kernelrank.metrics.measure import check_cutoff, check_option
from kernelrank.metrics.relevance import BinaryRelevance, EmptyRule, RelevanceMeasure

__all__ = ["TIE_WORDS", "BinaryListMeasure", "EmptyRule", "ListMeasure", "RankedLists", "TieRule", "check_grades"]

TieRule = Literal["average", "pessimistic", "optimistic", "order"]

TIE_WORDS = {
    "average": "ties averaged",
    "pessimistic": "ties pessimistic",
    "optimistic": "ties optimistic",
    "order": "ties in input order",
}


@dataclass(frozen=True)
class RankedLists:
    """Items sorted by query and then by decreasing prediction.

    Parameters
    ----------
    y : ndarray of float64, shape (m,)
        True scores in that order.
    bounds : ndarray of int64, shape (n_queries + 1,)
        Where each list begins, closed by m.
    position : ndarray of int64, shape (m,)
        The place of each item in its list, from 1.
    ties : ndarray of int64, shape (n_ties + 1,)
        Where each run of tied items begins, closed by m; under any rule but the average each item is one run.

    Examples
    --------
    >>> from kernelrank.metrics.judged_items import read_items
    >>> (items,) = read_items([0, 1, 2], [0.5, 0.5, 0.9], None, None)
    >>> RankedLists.of(items, "average").y, RankedLists.of(items, "optimistic").y
    (array([2., 0., 1.]), array([2., 1., 0.]))
    """

    y: FloatArray
    bounds: NDArray[np.int64]
    position: NDArray[np.int64]
    ties: NDArray[np.int64]

    @classmethod
    def of(cls, items: JudgedItems, ties: TieRule) -> RankedLists:
        """Sort the items: O(m log m) time, O(m) memory."""
        within = {"pessimistic": (items.y,), "optimistic": (-items.y,)}.get(ties, ())
        order = items.order(-items.score, *within)
        bounds = items.queries.bounds
        begins = np.ones(items.n_items + 1, dtype=bool)
        if ties == "average":
            score = items.score[order]
            np.not_equal(score[1:], score[:-1], out=begins[1:-1])
            begins[bounds] = True
        position = np.arange(1, items.n_items + 1) - np.repeat(bounds[:-1], items.queries.sizes)
        return cls(items.y[order], bounds, position, np.flatnonzero(begins).astype(np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def tie_sizes(self) -> NDArray[np.int64]:
        """The length of each run of tied items."""
        return np.diff(self.ties)

    def tied_mean(self, values: FloatArray) -> FloatArray:
        """Replace each value by the mean of its run: what to expect at that place if ties fall at random."""
        if len(self.ties) == len(values) + 1:
            return values
        sizes = self.tie_sizes
        return np.repeat(np.add.reduceat(values, self.ties[:-1]) / sizes, sizes)

    def sums(self, values: FloatArray, k: int | None = None) -> FloatArray:
        """Sum over each list, or over its first k items."""
        if k is not None:
            values = np.where(self.position <= k, values, 0.0)
        total: FloatArray = np.add.reduceat(values, self.bounds[:-1])
        return total


@dataclass(frozen=True, kw_only=True)
class ListMeasure(RelevanceMeasure):
    """What the measures of ranked lists share: the rules for ties and for queries with nothing relevant.

    Parameters
    ----------
    ties : {"average", "pessimistic", "optimistic", "order"}, default="average"
        How items with the same prediction are ordered.

        - ``"average"``: the expected value over all orders of the tied items, exactly [MN08].
        - ``"pessimistic"``, ``"optimistic"``: the worst, the best of these orders.
        - ``"order"``: as they came. trec_eval, and with it ir_measures, puts tied documents in falling order
          of their names: sort the items so before, and this rule gives its numbers. Beware that it lets a
          constant prediction score as well as the input happens to be sorted.
    empty : {"skip", "zero", "one"}, default="skip"
        What a query without a relevant item counts: it is left out, or counts 0 (as in trec_eval and
        scikit-learn), or counts 1 (as in XGBoost, LightGBM and CatBoost).
    """

    ties: TieRule = "average"

    def __post_init__(self) -> None:
        """Raise an error for unknown rules."""
        super().__post_init__()
        check_option("ties", self.ties, tuple(TIE_WORDS))

    @property
    def rules(self) -> tuple[str, ...]:
        """The conventions that the number depends on, in words."""
        return (TIE_WORDS[self.ties], *super().rules)


@dataclass(frozen=True, kw_only=True)
class BinaryListMeasure(BinaryRelevance, ListMeasure):
    """What the measures of ranked lists that know only relevant and irrelevant items share.

    Parameters
    ----------
    relevant_from : float or None, default=None
        An item is relevant if y is at least this; None takes every y > 0.
    """


@dataclass(frozen=True)
class CutBinaryMeasure(BinaryListMeasure):
    """A `BinaryListMeasure` that may stop at a place.

    Parameters
    ----------
    k : int or None, default=None
        How many places count; None counts all.
    """

    _short_name: ClassVar[str]

    k: int | None = None

    def __post_init__(self) -> None:
        """Raise an error for unknown options."""
        super().__post_init__()
        check_cutoff(self.k)

    @property
    def name(self) -> str:
        """The name with its cutoff; `get_measure` reads it."""
        return self._short_name if self.k is None else f"{self._short_name}@{self.k}"


def check_grades(y: FloatArray, name: str, highest: float) -> None:
    """Raise an error for grades below 0 or above the limit of the gain."""
    for wrong, limit in ((y < 0, "at least 0"), (y > highest, f"at most {highest:g}")):
        if wrong.any():
            item = int(np.argmax(wrong))
            raise InvalidInputError(f"{name} needs grades of {limit}, but y_true is {y[item]:g} for item {item}")
