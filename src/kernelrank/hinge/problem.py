r"""The certificate: how far the objective at w can be above the minimum, rounding included.

For ``J(w) = loss(Φ w) + alpha ‖w‖²`` there are two proofs:

* A plane ``b + g · f`` below the loss gives ``min J ≥ b - ‖Φᵀg‖² / (4 alpha)``, the minimum of the plane plus the
  penalty. Convex combinations of planes are planes: they are the points of the dual problem.
* A loss with a gradient g at Φw gives ``J(w) - min J ≤ ‖Φᵀg + 2 alpha w‖² / (4 alpha)``, for the norm is strongly
  convex.

The numbers in them are computed in double precision, and so are the scores Φw. What that can amount to is bounded by
``n u`` times the sum of the absolute values for each sum of n terms, and added to the gap [Hig02]_: a reported gap is
never below the true one. Errors δg of g move ``‖Φᵀg‖² / (4 alpha)`` by ``(Φ w') · δg``, where
``w' = -Φᵀg / (2 alpha)``, and by their square: by the largest score of w' times ``Σ |δg|`` at most. Errors of the
product with Φᵀ have no such form. With c the largest absolute value in each column of Φ, the terms of a score add up to
``c · |w|`` at most, and errors of ``ε c`` move the square by ``ε c · |w'|``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.base.progress import count_iteration
from kernelrank.hinge.pairs import LossPoint, PairLoss
from kernelrank.losses.loss_rounding import sum_error
from kernelrank.solvers.base import Step
from kernelrank.solvers.pair_problem import PairProblem

__all__ = ["Certificate", "Path", "Plane", "Proof", "follow", "prove"]

STEPS = 32
"""By how many roundings scores that were kept up to date may differ from those computed anew."""


ROUGH = 0.1
"""The share of the gap asked for that a rough bound of rounding may take at first."""


@dataclass(frozen=True)
class Certificate:
    """What is proved about w.

    Parameters
    ----------
    objective : float
        ``J(w)``, rounded.
    gap : float
        ``J(w) - min J`` is at most this share of ``J(w)``, with all digits.
    """

    objective: float
    gap: float


@dataclass(frozen=True)
class Plane:
    """A plane ``offset + slope · w`` that lies below the loss, up to rounding.

    Parameters
    ----------
    slope : ndarray, shape (r,)
        ``Φᵀg``.
    offset : float
    gradient_error : float, default=0.0
        How far g may be from the gradient of such a plane, added up over the items.
    offset_error : float, default=0.0
    slope_error : ndarray, shape (r,), or float, default=0.0
        What else the slope may be off by.
    product_error : float, default=0.0
        What the product of g with Φᵀ may be off by, in units of the largest feature in each column.
    """

    slope: Float
    offset: float
    gradient_error: float = 0.0
    offset_error: float = 0.0
    slope_error: Float | float = 0.0
    product_error: float = 0.0

    @classmethod
    def of(cls, point: LossPoint, slope: Float, enough: float = 0.0) -> Plane:
        """Return the plane of a point, whose gradient has the product `slope` with Φᵀ.

        An error of the gradient below `enough` may be taken as it is.
        """
        assert point.plane_rounding is not None
        rounding = point.plane_rounding(enough)
        multiplied = sum_error(len(point.gradient)) * 2.0 * (point.offset + rounding.value)
        return cls(slope, point.offset, rounding.gradient, rounding.value, product_error=multiplied)


@dataclass(frozen=True)
class _Objective:
    """The objective at w.

    Parameters
    ----------
    value, error : float
        What was computed, and how far it may be from the truth.
    gradient : ndarray, shape (m,)
        That of the loss by the scores.
    gradient_error : float
        How far it may be from the truth.
    """

    value: float
    error: float
    gradient: Float
    gradient_error: float

    def certificate(self, excess: float) -> Certificate:
        """Return the certificate for an objective at most so much above the minimum.

        No objective is negative, so a gap is never above one. An excess below zero contradicts itself and proves
        nothing.
        """
        least = self.value - self.error
        proved = excess >= 0.0 and least > 0.0 and np.isfinite(excess)
        return Certificate(self.value, min(excess / least + sum_error(4), 1.0) if proved else 1.0)


@dataclass(frozen=True)
class Proof:
    """How the distance of a point from the minimum is proved.

    Parameters
    ----------
    problem : PairProblem
    loss : PairLoss
    alpha : float
    enough : float
        An error, as a share of the objective, that may be taken as it is: a rough bound below it is enough.

    Notes
    -----
    One product with Φ, and once for a problem a search for the largest feature in each column. Sharp bounds take two
    sweeps of the pairs more.
    """

    problem: PairProblem
    loss: PairLoss
    alpha: float
    enough: float

    def by_plane(self, w: Float, scores: Float, point: LossPoint, plane: Callable[[float], Plane]) -> Certificate:
        """Prove by a plane how far w is from the minimum.

        Parameters
        ----------
        w, scores : ndarray, shapes (r,), (m,)
            A point, and ``Φ w`` as it was kept up to date; it is computed anew here.
        point : LossPoint
            The loss at `scores`.
        plane : callable
            Returns a plane, given an error of its gradient that may be taken as it is.
        """
        objective = self._evaluate(w, scores, point)
        largest, alpha = self.problem.magnitudes, self.alpha
        below = plane(self.enough * objective.value / float(largest @ np.abs(w) + 1e-300))
        aim = below.slope / (-2.0 * alpha)  # w'
        square = float(below.slope @ below.slope) / (4.0 * alpha)
        product_error = below.product_error * largest + below.slope_error
        slope_error = product_error + below.gradient_error * largest
        error = (
            below.offset_error
            + float(np.abs(aim) @ product_error)
            + below.gradient_error * self._largest_score(aim)
            + float(slope_error @ slope_error) / (4.0 * alpha)
            + sum_error(len(w) + 8) * (square + abs(below.offset))
        )
        lower = max(below.offset - square - error, 0.0)
        return objective.certificate(objective.value + objective.error - lower)

    def _largest_score(self, w: Float) -> float:
        """Bound the absolute scores of w; sharply where the rough bound was not enough."""
        rough = float(self.problem.magnitudes @ np.abs(w))
        if self.enough > 0.0:
            return rough
        scores = self.problem.features.multiply(w)
        return min(rough, float(np.abs(scores).max()) + sum_error(self.problem.row_terms + STEPS) * rough)

    def by_gradient(self, w: Float, scores: Float, point: LossPoint, slope: Float) -> Certificate:
        """Prove by the gradient g of a smooth loss how far w is from the minimum; `slope` is Φᵀg at the point."""
        objective = self._evaluate(w, scores, point)
        g, alpha = objective.gradient, self.alpha
        if g is not point.gradient:
            slope = self.problem.features.transpose_multiply(g)
        error = objective.gradient_error + sum_error(len(g)) * float(np.abs(g).sum())
        moved = error * float(np.linalg.norm(self.problem.magnitudes))
        moved += sum_error(4) * (float(np.linalg.norm(slope)) + 2.0 * alpha * float(np.linalg.norm(w)))
        length = (1.0 + sum_error(len(w) + 4)) * float(np.linalg.norm(slope + 2.0 * alpha * w)) + moved
        return objective.certificate(length**2 / (4.0 * alpha))

    def _evaluate(self, w: Float, scores: Float, point: LossPoint) -> _Objective:
        """Evaluate the objective at w; the loss again where the scores that were kept are not those of w."""
        problem = self.problem
        meant = problem.features.multiply(w)
        error = sum_error(problem.row_terms + STEPS) * float(problem.magnitudes @ np.abs(w))
        drift = float(np.abs(meant - scores).max())
        if drift > error:
            point, drift = self.loss.at(meant), 0.0
        norm = self.alpha * float(w @ w)
        value = point.loss + norm
        rounding = point.rounding(error + drift, self.enough * value)
        added = sum_error(len(w) + 4) * norm + sum_error(4) * point.loss
        return _Objective(value, rounding.value + added, point.gradient, rounding.gradient)


def prove(
    certify: Callable[[Proof], Certificate], problem: PairProblem, loss: PairLoss, alpha: float, tol: float
) -> Certificate:
    """Prove a gap of `tol`, with rough bounds of rounding errors if they suffice, else with sharp ones."""
    found = certify(Proof(problem, loss, alpha, ROUGH * tol))
    return found if found.gap <= tol else certify(Proof(problem, loss, alpha, 0.0))


class Path(Protocol):
    """The iterations of a method, with the gap that is reached."""

    n_iter: int

    @property
    def gap(self) -> float:
        """The gap as it looks on the way; rounding that is known from a certificate is included."""

    @property
    def exhausted(self) -> bool:
        """Whether more steps will not help."""

    def advance(self) -> None:
        """Do one iteration."""

    def certify(self) -> Certificate:
        """Prove the gap of the best point, and learn from it how much of it is due to rounding."""


def follow(path: Path, tol: float, max_iter: int, step: Step | None) -> tuple[Certificate, bool]:
    """Take steps until a gap of `tol` is proved, or no step is left; also return whether `step` stopped it.

    One step is taken in any case, unless the path has taken some: w = 0 may be as near to the minimum as was asked, but
    ranks nothing.
    """
    arrived = path.n_iter > 0 and (path.gap <= tol or path.n_iter >= max_iter)
    while True:
        stopped = False
        if not arrived:
            path.advance()
            count_iteration()
            stopped = step is not None and step(path.n_iter, path.gap)
        arrived = False
        ends = path.n_iter >= max_iter or path.exhausted or stopped
        if path.gap > tol and not ends:
            continue
        certificate = path.certify()
        if certificate.gap <= tol or ends:
            return certificate, stopped
