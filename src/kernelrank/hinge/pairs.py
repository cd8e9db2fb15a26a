"""The interfaces of pairs and of pairwise losses at given scores.

A pair (h, l) says that item h belongs above item l. It has a weight and, at scores f, the margin ``f_h - f_l``.
Whatever a loss needs is a sum over pairs in a range of margins: a set of pairs offers these and knows no loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelrank.base.arrays import Float, Index
from kernelrank.losses.loss_rounding import Rounding

if TYPE_CHECKING:
    from kernelrank.losses.curvature import Curvature

__all__ = ["LossPoint", "PairLoss", "Pairs", "PlacedPairs"]


class PlacedPairs(ABC):
    """All pairs at given scores; arrays are in an internal order of the items, except in `bring`."""

    scores: Float
    """The scores f less a constant for each query, which no margin sees and rounding does, shape (m,)."""

    @abstractmethod
    def bring(self, values: Float) -> Float:
        """Reorder values of the items, shape (m,), to the internal order."""

    @abstractmethod
    def back(self, values: Float) -> Float:
        """Reorder values from the internal order to the order of the items; the input may be overwritten."""

    @abstractmethod
    def counts(self, threshold: float) -> tuple[Float, Float]:
        """Return, for each item, the weight of the pairs with a margin below `threshold` that it heads, and ends."""

    @abstractmethod
    def sums(self, v: Float, low: float, high: float) -> Float:
        """Return ``Σ weight v_partner`` for each item over its pairs with a margin in ``[low, high)``, either side."""

    @abstractmethod
    def band(self, low: float, high: float) -> tuple[Float, Float, Float]:
        """Return the counts of the pairs with a margin in ``[low, high)`` and the sums of `scores` over them."""

    @abstractmethod
    def weights(self, places: Index, low: float, high: float) -> Float:
        """Return the weights of the pairs between some items with a margin in ``[low, high)``, shape (s, s).

        The row tells the higher item, the column the lower one; `places` are in the order of this.
        """

    @abstractmethod
    def band_rounding(self, low: float, high: float, enough: float) -> tuple[float, float]:
        """Bound the rounding errors of the counts and of the sums of `band`, added up over the items.

        A rough bound of the sums' errors below `enough` is enough.
        """


class Pairs(ABC):
    """Weighted pairs over m items."""

    n_items: int
    """The number of items, m."""

    total: float
    """The sum of the weights of all pairs."""

    n_terms: int
    """How many terms a sum over items or pairs, and one of such sums, may have: what rounding grows with."""

    count_error: float
    """The relative rounding error of counts and of their sum; zero where they are whole numbers."""

    @abstractmethod
    def place(self, f: Float) -> PlacedPairs:
        """Return the pairs with their margins at the scores f, shape (m,)."""

    def without_rounding(self, f: Float) -> Float:
        """Return scores near f whose sums are not rounded, where there are such; f itself otherwise."""
        return f


@dataclass(frozen=True)
class LossPoint:
    """A loss at given scores.

    The plane ``offset + gradient · f`` lies below the loss for all scores f: a point of the dual problem.

    Parameters
    ----------
    value : float
        What is minimised.
    gradient : ndarray, shape (m,)
        Its gradient by the scores, or a subgradient.
    loss : float
        What was asked for: the value itself, or the loss that the value is a smooth bound of.
    rounding : callable
        Takes how far a score may be from the one that was meant, and an error that may be taken as it is: a rough
        bound below it is enough. Bounds how far `loss` is from the loss at the scores that were meant and, where the
        loss is smooth, `gradient` from its gradient there.
    offset : float
        The constant of the plane.
    plane_rounding : callable or None
        Takes an error of the gradient that may be taken as it is. Bounds how far `offset` and `gradient` are from a
        plane below the loss.
    slack : float
        How much of the gap between `loss` and its dual the smoothing alone accounts for; zero without smoothing.
    curvature : Curvature or None
        The (generalised) Hessian, which maps v to its product with v.
    inside : callable or None
        Returns the part of the gradient that comes from the pairs inside a smoothed band, shape (m,).
    """

    value: float
    gradient: Float
    loss: float
    rounding: Callable[[float, float], Rounding]
    offset: float = 0.0
    plane_rounding: Callable[[float], Rounding] | None = None
    slack: float = 0.0
    curvature: Curvature | None = None
    inside: Callable[[], Float] | None = None


class PairLoss(ABC):
    """A loss of pairs, summed over all pairs."""

    pairs: Pairs

    @abstractmethod
    def at(self, f: Float) -> LossPoint:
        """Evaluate the loss at the scores f."""
