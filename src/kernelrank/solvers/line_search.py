"""Search along a direction: the zero of the increasing slope of a convex objective is found by bracketing.

No products with the features are needed: ``f(t) = p + t Φd``, and each slope costs one evaluation of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.hinge import LossPoint, PairLoss

__all__ = ["ConvexLine", "Line", "search"]

Point = TypeVar("Point")

ENOUGH = 0.3
"""A slope that has fallen to this share of the first one ends the search."""

MOST = 20
"""The largest number of slopes."""

SHORTER = 8.0
"""The factor by which a step is made shorter where the slope is not finite."""


class ConvexLine(Protocol[Point]):
    """A convex objective along a search direction; t is the step length."""

    def at(self, t: float) -> Point:
        """Evaluate what the slope needs."""

    def slope(self, t: float, point: Point) -> float:
        """Return the slope of the objective at t."""


@dataclass(frozen=True)
class Line:
    """The objective ``loss(p + t Φd) + alpha ‖w + t d‖²`` along d.

    Parameters
    ----------
    loss : PairLoss
    alpha : float
    w, scores : ndarray, shapes (r,), (m,)
        Where the line begins: w and ``p = Φ w``.
    d, d_scores : ndarray, shapes (r,), (m,)
        Its direction: d and ``Φ d``.
    """

    loss: PairLoss
    alpha: float
    w: Float
    scores: Float
    d: Float
    d_scores: Float

    def at(self, t: float) -> LossPoint:
        """Evaluate the loss at t."""
        return self.loss.at(self.scores + t * self.d_scores)

    def slope(self, t: float, point: LossPoint) -> float:
        """Return the slope of the objective at t, where the loss is known."""
        norm = 2.0 * self.alpha * float((self.w + t * self.d) @ self.d)
        return norm + float(point.gradient @ self.d_scores)


def search(line: ConvexLine[Point], first: Point, t: float, enough: float = ENOUGH) -> tuple[float, Point]:
    """Find where the slope is nearly zero.

    Parameters
    ----------
    line : ConvexLine
    first : object
        What `at` returns for t = 0.
    t : float
        Where to look first.
    enough : float
        Stop when the slope is below this share of the first one.

    Returns
    -------
    (t, object)
        Zero and the first point if the direction does not lead down.
    """
    low, high = 0.0, np.inf
    at_low = slope = line.slope(0.0, first)
    if not slope < 0:
        return 0.0, first
    at_high, kept, point = np.inf, 0, first
    for _ in range(MOST):
        point = line.at(t)
        found = line.slope(t, point)
        if abs(found) <= enough * abs(slope):
            return t, point
        if not np.isfinite(found):  # an overflow: the step is far too long
            high, at_high = t, np.inf
            t = low + (t - low) / SHORTER
            continue
        if found < 0:
            low, at_low, kept = t, found, min(kept, 0) - 1
            at_high = at_high / 2 if kept < -1 else at_high  # Illinois: the end that stays counts half
        else:
            high, at_high, kept = t, found, max(kept, 0) + 1
            at_low = at_low / 2 if kept > 1 else at_low
        if np.isinf(high):
            t = 2.0 * t if kept > -3 else 8.0 * t
            continue
        if np.isinf(at_high):
            t = low + (high - low) / SHORTER
            continue
        t = (low * at_high - high * at_low) / (at_high - at_low)
        t = float(np.clip(t, low + 0.02 * (high - low), high - 0.02 * (high - low)))
    return t, line.at(t)
