r"""The bundle method: cutting planes below the hinge, with a search along the way to their minimum.

Each step minimises the planes beside the norm, which proves a lower bound, and searches the line from the best point
to that minimum. The next plane touches the loss a little further on, a tenth of the way from the new best point to the
planes' minimum, as in OCAS: a plane there cuts the minimum off and is tight where it matters. Without the search the
best point of the planes wanders, and at small alpha takes thousands of planes to settle.

A step costs one product with Φ and one with Φᵀ; the search costs O(m log m) for each slope and no products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features
from kernelrank.losses import Hinge
from kernelrank.solvers.base import Solver, Step
from kernelrank.solvers.cutting_planes import CuttingPlanes
from kernelrank.solvers.line_search import Line, search
from kernelrank.solvers.pair_problem import CertifiedSolution, PairProblem, warn_of_gap

__all__ = ["Bundle"]

BEYOND = 0.1
"""How far from the best point to the planes' minimum the next plane touches the loss."""

FLAT = 0.05
"""The share of the first slope at which the search ends."""


@dataclass(frozen=True)
class Bundle(Solver[PairProblem]):
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

    def prepare(self, features: Features, comparisons: Comparisons) -> PairProblem:
        """Find the pairs."""
        return PairProblem(features, comparisons)

    def solve(
        self, state: PairProblem, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: Any
    ) -> CertifiedSolution:
        """Solve for one alpha, from `start` if it is given; `step` hears of the gap after each iteration."""
        with state.threads():
            path = _Path(state, alpha, state.begin(start))
            stopped = False
            # One step is taken in any case: w = 0 may be as near to the minimum as was asked, but ranks nothing.
            while path.n_iter == 0 or (path.gap > self.tol and path.n_iter < self.max_iter and not stopped):
                path.advance()
                stopped = step is not None and step(path.n_iter, path.gap)
        if path.gap > self.tol and not stopped:
            warn_of_gap("the bundle method", path.n_iter, path.gap, self.tol)
        return state.solution(path.w, path.n_iter, path.upper, path.gap)


class _Path:
    """The best point so far, and the planes below the loss."""

    def __init__(self, problem: PairProblem, alpha: float, w: Float) -> None:
        self.features, self.alpha, self.w = problem.features, alpha, w
        self.loss = Hinge(problem.pairs)
        self.planes = CuttingPlanes(problem.size, alpha)
        self.scores = self.features.multiply(w)
        self.point = self.loss.at(self.scores)
        self.upper, self.lower, self.n_iter = self._objective(self.point.loss, w), 0.0, 0
        self._touch(self.point.gradient, self.point.loss, w)

    @property
    def gap(self) -> float:
        """The gap that is proved, as a share of the objective."""
        return max(self.upper - self.lower, 0.0) / self.upper if self.upper > 0 else 0.0

    def _objective(self, loss: float, w: Float) -> float:
        return loss + self.alpha * float(w @ w)

    def _touch(self, gradient: Float, loss: float, w: Float) -> None:
        """Add the plane that touches the loss at w."""
        slope = self.features.transpose_multiply(gradient)
        self.planes.add(slope, loss - float(slope @ w))

    def advance(self) -> None:
        """Minimise the planes, search the line to their minimum, and add a plane beyond the best point."""
        self.n_iter += 1
        aim, bound = self.planes.minimise()
        self.lower = max(self.lower, bound)
        aim_scores = self.features.multiply(aim)
        d, d_scores = aim - self.w, aim_scores - self.scores
        line = Line(self.loss, self.alpha, self.w, self.scores, d, d_scores)
        t, point = search(line, self.point, 1.0 if self.n_iter == 1 else 0.5, FLAT)
        found = self._objective(point.loss, self.w + t * d)
        if t > 0 and found < self.upper:
            self.w, self.scores, self.point, self.upper = self.w + t * d, self.scores + t * d_scores, point, found
        beyond, beyond_scores = self.w + BEYOND * (aim - self.w), self.scores + BEYOND * (aim_scores - self.scores)
        point = self.loss.at(beyond_scores)
        self._touch(point.gradient, point.loss, beyond)
        found = self._objective(point.loss, beyond)
        if found < self.upper:
            self.w, self.scores, self.point, self.upper = beyond, np.asarray(beyond_scores), point, found
