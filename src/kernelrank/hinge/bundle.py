r"""The bundle method: cutting planes below the hinge, with a search along the way to their minimum.

Each step minimises the planes plus the penalty, which proves a lower bound, and searches the line from the best point
to that minimum. The next plane touches the loss a little further on, a tenth of the way from the new best point to the
planes' minimum, as in OCAS: a plane there cuts the minimum off and is tight where it matters. Without the search the
minimum of the planes oscillates, and at small alpha needs thousands of planes to converge.

A step costs one product with Φ and one with Φᵀ; the search costs O(m log m) for each slope and no products.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelrank.base.arrays import Float
from kernelrank.hinge.losses import Hinge
from kernelrank.hinge.pairs import LossPoint
from kernelrank.hinge.problem import Certificate, Plane, follow, prove
from kernelrank.solvers.base import Step
from kernelrank.solvers.cutting_planes import CuttingPlanes
from kernelrank.solvers.line_search import Line, search
from kernelrank.solvers.pair_problem import CertifiedSolution, PairProblem, PairSolver, warn_of_gap

__all__ = ["Bundle", "BundlePath"]

BEYOND = 0.1
"""How far from the best point to the planes' minimum the next plane touches the loss."""

FLAT = 0.05
"""The share of the first slope at which the search ends."""

PATIENCE = 8
"""After so many steps in which neither bound got better, rounding is taken to be the cause."""


@dataclass(frozen=True)
class Bundle(PairSolver):
    """Minimise the hinge ``Σ max(0, 1 - margin) + alpha ‖w‖²`` to a relative duality gap of `tol`.

    Parameters
    ----------
    tol : float, default=1e-3
        The duality gap, as a share of the objective, at which to stop.
    max_iter : int, default=1000
        The largest number of planes.

    Notes
    -----
    Each step costs two products with Φ and O(m log m); memory O(m + k r) for k planes.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    name: str = field(init=False, default="bundle")

    def solve(
        self, state: PairProblem, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> CertifiedSolution:
        """Solve for one alpha, from `start` if it is given; `step` is called with the gap after each iteration."""
        with state.threads():
            path = BundlePath(state, alpha, state.begin(start), self.tol)
            certificate, stopped = follow(path, self.tol, self.max_iter, step)
        if certificate.gap > self.tol and not stopped:
            warn_of_gap("the bundle method", path.n_iter, certificate.gap, self.tol, exhausted=path.exhausted)
        return state.solution(path.best, path.n_iter, certificate.objective, certificate.gap)


class BundlePath:
    """The best point so far, and the planes below the loss.

    Parameters
    ----------
    problem : PairProblem
    alpha : float
    w : ndarray, shape (r,)
        Where to start.
    tol : float
        The gap that is aimed at.
    plane : Plane, optional
        A plane that is known already.
    """

    def __init__(self, problem: PairProblem, alpha: float, w: Float, tol: float, plane: Plane | None = None) -> None:
        self.problem, self.alpha, self.best, self.tol = problem, alpha, w, tol
        self.loss = Hinge(problem.pairs)
        self.planes = CuttingPlanes(problem.size, alpha)
        if plane is not None:
            self.planes.add(plane)
        self.scores = problem.features.multiply(w)
        self.point = self.loss.at(self.scores)
        self.upper, self.lower = self._objective(self.point.loss, w), 0.0
        self.rounding, self.n_iter, self.stale = 0.0, 0, 0
        self._touch(self.point)

    @property
    def gap(self) -> float:
        """The gap of the planes, as a share of the objective, and the rounding that the last certificate found."""
        return (self.upper - self.lower) / self.upper + self.rounding if self.upper > 0 else 1.0

    @property
    def exhausted(self) -> bool:
        """Whether no bound improves, or rounding errors alone are as large as the requested gap."""
        return self.stale >= PATIENCE or self.rounding > self.tol

    def certify(self) -> Certificate:
        """Prove the gap of the best point by the planes."""
        plane = self.planes.combined()
        found = prove(
            lambda proof: proof.by_plane(self.best, self.scores, self.point, lambda _: plane),
            self.problem,
            self.loss,
            self.alpha,
            self.tol,
        )
        self.rounding = max(found.gap - (self.gap - self.rounding), 0.0)
        return found

    def _objective(self, loss: float, w: Float) -> float:
        return loss + self.alpha * float(w @ w)

    def _touch(self, point: LossPoint) -> None:
        """Add the plane that touches the loss at a point."""
        self.planes.add(Plane.of(point, self.problem.features.transpose_multiply(point.gradient)))

    def _accept(self, w: Float, scores: Float, point: LossPoint) -> bool:
        """Accept a point if it is better; return whether it is."""
        found = self._objective(point.loss, w)
        if not found < self.upper:
            return False
        self.best, self.scores, self.point, self.upper = w, scores, point, found
        return True

    def advance(self) -> None:
        """Do one iteration: minimise the cutting-plane model, search along the line to its minimum, and add a plane."""
        self.n_iter += 1
        aim, bound = self.planes.minimise()
        better = bound > self.lower
        self.lower = max(self.lower, bound)
        # Φd as a product of its own: the difference of two products is all rounding when d is small.
        d = aim - self.best
        d_scores = self.problem.features.multiply(d)
        line = Line(self.loss, self.alpha, self.best, self.scores, d, d_scores)
        t, point = search(line, self.point, 1.0 if self.n_iter == 1 else 0.5, FLAT)
        if t > 0 and self._accept(self.best + t * d, self.scores + t * d_scores, point):
            better = True
        else:
            t = 0.0
        beyond = BEYOND * (1.0 - t)
        w, scores = self.best + beyond * d, self.scores + beyond * d_scores
        point = self.loss.at(scores)
        self._touch(point)
        better = self._accept(w, scores, point) or better
        self.stale = 0 if better else self.stale + 1
