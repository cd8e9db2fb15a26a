r"""The hinges: what a margin below one costs.

At scores f, let ``won_i(τ)`` and ``lost_i(τ)`` be the weights of the pairs with a margin below τ that item i heads and
ends, and ``s(v)`` the sums of v over the partners in these pairs. Everything follows from them [Air11]_, [APS11b]_:

* ``Σ (τ - margin)₊ = Σ_i [(lost_i - won_i) f_i + τ won_i]``, with the subgradient ``lost - won``;
* ``½ Σ (τ - margin)²₊`` has the gradient ``g = (won + lost) f - s(f) + τ (lost - won)``, the generalised Hessian
  ``v ↦ (won + lost) v - s(v)``, and the value ``½ (τ hinge + gᵀ f)``;
* the hinge, smoothed over the last μ below one, is ``[½ (1 - margin)²₊ - ½ (1 - μ - margin)²₊] / μ``: linear below
  ``1 - μ``, quadratic from there to one.

The slope of the smoothed hinge, ``β = min(1, (1 - margin)₊ / μ)``, is a point of the hinge's dual problem. With
``∇ = Φᵀg + 2 alpha w`` the duality gap of the hinge is, for any w, ``slack + ‖∇‖² / (4 alpha)``, where
``slack = Σ (1 - margin)₊ - Σ β (1 - margin)`` comes from the pairs inside the smoothed band only. For the squared hinge
the slack is zero: there ``‖∇‖² / (4 alpha)`` bounds the gap because the norm is strongly convex.

Any part S of the pairs gives a plane below the hinge, ``|S| + Σ_S (f_l - f_h)``, and so does any weight β between zero
and one for each pair, whatever the scores that it comes from. Rounding can only spoil how the plane is added up, and by
how much is bounded here.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.hinge.pairs import Curvature, LossPoint, LossRounding, PairLoss, Pairs, PlacedPairs, sum_error


class Hinge(PairLoss):
    """``Σ weight max(0, 1 - margin)``, with a subgradient."""

    def at(self, f: Float) -> LossPoint:
        """Evaluate from one sort and two sweeps, O(m log m)."""
        placed = self.pairs.place(f)
        won, lost = placed.counts(1.0)
        value, offset = _hinge(placed, won, lost, 1.0), float(won.sum())

        def rounding(error: float, enough: float) -> LossRounding:
            return LossRounding(_hinge_rounding(self.pairs, placed, f, error, enough, float(won.sum())), np.inf)

        def plane_rounding(_: float) -> LossRounding:
            return LossRounding(self.pairs.count_error * offset, 2.0 * self.pairs.count_error * offset)

        return LossPoint(value, placed.back(lost - won), value, rounding, offset, plane_rounding)


class SquaredHinge(PairLoss):
    """``Σ weight max(0, 1 - margin)²``."""

    def at(self, f: Float) -> LossPoint:
        """Evaluate from one sort and two sweeps; a product with the curvature takes two."""
        placed = self.pairs.place(f)
        won, lost, sums = placed.band(-np.inf, 1.0)
        degree = won + lost
        gradient = lost - won
        gradient -= sums
        gradient += degree * placed.scores
        gradient *= 2.0
        value = max(_hinge(placed, won, lost, 1.0) + 0.5 * float(gradient @ placed.scores), 0.0)

        def rounding(error: float, enough: float) -> LossRounding:
            return _squared_rounding(self.pairs, placed, f, error, enough, (won, lost))

        curvature = Curvature(placed, degree, -np.inf, 1.0, 2.0)
        return LossPoint(value, placed.back(gradient), value, rounding, curvature=curvature)


class SmoothedHinge(PairLoss):
    """The hinge, smoothed over margins from ``1 - width`` to one."""

    def __init__(self, pairs: Pairs, width: float) -> None:
        super().__init__(pairs)
        self.width = width

    def at(self, f: Float) -> LossPoint:
        """Evaluate the loss by one sort and four sweeps; a product with the curvature takes two sweeps."""
        placed, mu = self.pairs.place(f), self.width
        won, lost = placed.counts(1.0)
        won_inside, lost_inside, sums = placed.band(1.0 - mu, 1.0)
        won_below, lost_below = won - won_inside, lost - lost_inside
        hinge, hinge_below = _hinge(placed, won, lost, 1.0), _hinge(placed, won_below, lost_below, 1.0 - mu)
        degree = won_inside + lost_inside
        difference = lost_inside - won_inside
        gradient = (degree * placed.scores - sums) / mu
        count, curved = float(won_inside.sum()), float(gradient @ placed.scores)
        slack = self._slack(placed.scores, difference, count, curved)
        inside = gradient + difference / mu
        gradient = inside + lost_below
        gradient -= won_below
        moment = float(gradient @ placed.scores)
        value = 0.5 * ((hinge - (1.0 - mu) * hinge_below) / mu + moment)
        offset = float(won_below.sum()) + (count + float(difference @ placed.scores)) / mu

        def rounding(error: float, enough: float) -> LossRounding:
            return LossRounding(_hinge_rounding(self.pairs, placed, f, error, enough, float(won.sum())), np.inf)

        def plane_rounding(enough: float) -> LossRounding:
            return self._plane_rounding(placed, f, float(won.sum()), count, enough)

        return LossPoint(
            value,
            placed.back(gradient),
            hinge,
            rounding,
            offset,
            plane_rounding,
            slack,
            Curvature(placed, degree, 1.0 - mu, 1.0, 1.0 / mu),
            lambda: placed.back(inside),
        )

    def _plane_rounding(
        self, placed: PlacedPairs, f: Float, below_one: float, inside: float, enough: float
    ) -> LossRounding:
        """Bound the rounding of Σ β and of the gradient.

        A pair at an edge of the band may be taken for one beyond it: β is then as far outside [0, 1] as the margin is
        beyond the edge.

        Shapes: f (m,).
        """
        mu, count_error = self.width, self.pairs.count_error
        size, largest = 2.0 + float(np.abs(f).max()), 2.0 + float(np.abs(placed.scores).max())
        counts, sums = placed.band_rounding(1.0 - mu, 1.0, enough * mu)
        edge = sum_error(32) * size / mu
        counted = counts * (2.0 + largest / mu)
        gradient = 2.0 * count_error * below_one + 2.0 * edge * inside + sums / mu + counted
        added = count_error * below_one + sum_error(self.pairs.n_terms) * inside * largest / mu
        return LossRounding(added + edge * inside + counted, gradient)

    def _slack(self, scores: Float, difference: Float, count: float, curved: float) -> float:
        """Return ``Σ (1 - margin) - Σ (1 - margin)² / μ`` over the pairs inside the band.

        From the pairs inside alone: as the difference of all pairs and those below it would lose as many digits of the
        whole loss as μ has zeros, and prove a gap that is not there.

        Shapes: scores (m,), difference (m,).
        """
        linear = float(difference @ scores)
        return max(linear + count - (2.0 * linear + count) / self.width - curved, 0.0)


def _hinge(placed: PlacedPairs, won: Float, lost: Float, threshold: float) -> float:
    return max(float((lost - won) @ placed.scores + threshold * won.sum()), 0.0)


def _near(pairs: Pairs, placed: PlacedPairs, f: Float, error: float, enough: float) -> tuple[float, float]:
    """Return how far a margin may be from the one that was meant, and the weight of those that may be below one.

    That of all pairs will do where the product of both is at most `enough`.
    """
    moved = 2.0 * error + sum_error(4) * (2.0 + float(np.abs(f).max()))  # comparing with one is rounded, too
    if moved * pairs.total <= enough:
        return moved, pairs.total
    return moved, float(placed.counts(1.0 + moved)[0].sum())


def _hinge_rounding(
    pairs: Pairs, placed: PlacedPairs, f: Float, error: float, enough: float, below_one: float
) -> float:
    """Bound the error of ``Σ (1 - margin)₊``, each score being off by `error` at most.

    Shapes: f (m,).
    """
    moved, weight = _near(pairs, placed, f, error, enough)
    largest = 2.0 + float(np.abs(placed.scores).max())
    return moved * weight + 2.0 * sum_error(pairs.n_terms) * largest * below_one


def _squared_rounding(
    pairs: Pairs, placed: PlacedPairs, f: Float, error: float, enough: float, counts: tuple[Float, Float]
) -> LossRounding:
    """Bound the errors of ``Σ (1 - margin)²₊`` and of its gradient; see `_hinge_rounding`."""
    moved, weight = _near(pairs, placed, f, error, enough)
    below_one, relative = float(counts[0].sum()), sum_error(pairs.n_terms)
    largest = 2.0 + float(np.abs(placed.scores).max())
    added = 16.0 * relative * largest * below_one
    short = _hinge(placed, *counts, 1.0) + added
    value = 2.0 * moved * short + 3.0 * moved**2 * weight + largest * added
    return LossRounding(value, 4.0 * moved * weight + added)
