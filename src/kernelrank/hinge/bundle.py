r"""The bundle method: cutting planes below the hinge, with a search along the way to their minimum.

Each step minimises the planes plus the penalty, which proves a lower bound, and searches the line from the best point
to that minimum. The next plane touches the loss a little further on, a tenth of the way from the new best point to the
planes' minimum, as in OCAS: a plane there cuts the minimum off and is tight where it matters. Without the search the
minimum of the planes oscillates, and at small alpha needs thousands of planes to converge.

A step costs one product with Φ and one with Φᵀ; the search costs O(m log m) for each slope and no products.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.hinge.losses import Hinge
from kernelrank.hinge.pairs import LossPoint, sum_error
from kernelrank.hinge.problem import (
    Certificate,
    CertifiedSolution,
    Line,
    PairProblem,
    PairSolver,
    Plane,
    follow,
    prove,
    search,
    warn_of_gap,
)
from kernelrank.solvers.base import Step


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

    Shapes: w (r,).
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
        # After eight steps in which neither bound got better, rounding is taken to be the cause.
        return self.stale >= 8 or self.rounding > self.tol

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
        t, point = search(line, self.point, 1.0 if self.n_iter == 1 else 0.5, 0.05)
        if t > 0 and self._accept(self.best + t * d, self.scores + t * d_scores, point):
            better = True
        else:
            t = 0.0
        beyond = 0.1 * (1.0 - t)  # from the best point towards the minimum of the planes
        w, scores = self.best + beyond * d, self.scores + beyond * d_scores
        point = self.loss.at(scores)
        self._touch(point)
        better = self._accept(w, scores, point) or better
        self.stale = 0 if better else self.stale + 1


# Cutting planes -------------------------------------------------------------------------------------------------------
#
# Cutting planes: a convex loss from below, and the small problem of minimising them plus the penalty.
#
# Planes ``a_k · w + b_k`` lie below the loss, so the minimum of ``max_k (a_k · w + b_k) + alpha ‖w‖²`` bounds that of
# ``loss(w) + alpha ‖w‖²`` from below. Its dual has one unknown for each plane: maximise ``bᵀβ - ½ βᵀ Q β`` with ``Q = A
# Aᵀ / (2 alpha)`` over β ≥ 0, ``Σ β = 1``; then ``w = -Aᵀβ / (2 alpha)``. Every feasible β proves a bound, solved to
# the last digit or not.

MOST_UNUSED = 25
"""A plane leaves after so many solutions in a row in which it took no part."""


class CuttingPlanes:
    """Planes below a loss.

    With k planes: O(k r) time to add one, O(k³) for a system inside `minimise`, memory k × r.
    """

    def __init__(self, size: int, alpha: float) -> None:
        self.alpha = alpha
        self.slopes: Float = np.zeros((0, size))  # A
        self.offsets: Float = np.zeros(0)  # b
        self.errors: Float = np.zeros((0, 3))  # of the gradients, the offsets and the products
        self.products: Float = np.zeros((0, 0))  # A Aᵀ
        self.weights: Float = np.zeros(0)  # β
        self.unused: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # in how many solutions in a row

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, plane: Plane) -> None:
        """Add a plane with weight zero; planes that were unused for long are removed."""
        slope = plane.slope
        kept = self.unused < MOST_UNUSED
        if not kept.all():
            self.slopes, self.offsets, self.weights = self.slopes[kept], self.offsets[kept], self.weights[kept]
            self.products, self.unused = self.products[np.ix_(kept, kept)], self.unused[kept]
            self.errors = self.errors[kept]
        k, products = len(self), self.slopes @ slope
        grown = np.empty((k + 1, k + 1))
        grown[:k, :k], grown[k, :k], grown[:k, k], grown[k, k] = self.products, products, products, slope @ slope
        self.products = grown
        self.slopes = np.vstack([self.slopes, slope])
        self.offsets = np.append(self.offsets, plane.offset)
        self.errors = np.vstack([self.errors, [plane.gradient_error, plane.offset_error, plane.product_error]])
        self.weights = np.append(self.weights, 1.0 if k == 0 else 0.0)
        self.unused = np.append(self.unused, 0)

    def minimise(self) -> tuple[Float, float]:
        """Return the w that minimises the highest plane plus the penalty, and the lower bound that it proves."""
        Q = self.products / (2.0 * self.alpha)
        self.weights = maximise_on_simplex(Q, self.offsets, self.weights)
        self.unused = np.where(self.weights > 0, 0, self.unused + 1)
        w = self.slopes.T @ self.weights / (-2.0 * self.alpha)
        return w, float(self.offsets @ self.weights) - self.alpha * float(w @ w)

    def combined(self) -> Plane:
        """Return the plane that the last minimum is the minimum of: ``Σ_k β_k (a_k · w + b_k)``."""
        beta, sum_of = self.weights, sum_error(2 * len(self) + 4)  # Σ β is one up to rounding, too
        gradient_error, offset_error, product_error = beta @ self.errors
        return Plane(
            self.slopes.T @ beta,
            float(self.offsets @ beta),
            float(gradient_error) * (1.0 + sum_of),
            float(offset_error) * (1.0 + sum_of) + sum_of * float(np.abs(self.offsets) @ beta),
            sum_of * (np.abs(self.slopes).T @ beta),
            float(product_error) * (1.0 + sum_of),
        )


def maximise_on_simplex(Q: Float, b: Float, start: Float) -> Float:
    """Maximise ``bᵀβ - ½ βᵀ Q β`` over β ≥ 0, ``Σ β = 1`` by an active-set method.

    The planes that take part are solved for as if nothing bounded them. If one of the weights would turn negative, the
    step ends where the first reaches zero, and that plane leaves; otherwise the plane that is most above the others at
    the solution enters, until none is.

    Shapes: Q (k, k), b (k,), start (k,); returns (k,).
    """
    beta, free, barred = start.copy(), start > 0, np.zeros(len(start), dtype=bool)
    curvature, height = float(np.diagonal(Q).mean()), float(np.abs(b).max())
    ridge = 1e-13 * curvature + 1e-16 * height or 1.0
    for _ in range(10 * len(b) + 50):
        inside = np.flatnonzero(free)
        aim = _stationary(Q[np.ix_(inside, inside)], b[inside], ridge)
        falling = aim < 0
        if falling.any():
            now = beta[inside]
            room = np.where(falling, now / np.where(falling, now - aim, 1.0), np.inf)
            first = int(np.argmin(room))
            beta[inside] = np.maximum(now + room[first] * (aim - now), 0.0)
            beta[inside[first]] = 0.0
            # A plane that only rounding let in would come back at once.
            barred = (beta == 0) & free if room[first] == 0 else np.zeros_like(barred)
            free = beta > 0
            continue
        beta[inside] = aim
        heights = b - Q @ beta
        above = np.where(free | barred, -np.inf, heights - float(beta @ heights))
        enters = int(np.argmax(above))
        if not above[enters] > 1e-14 * (curvature + height):
            break
        free[enters] = True
    feasible: Float = beta / beta.sum()
    return feasible


def _stationary(Q: Float, b: Float, ridge: float) -> Float:
    """Return β with ``Σ β = 1`` at which all heights ``b - Q β`` are equal."""
    k = len(b)
    system = np.ones((k + 1, k + 1))
    # In these units the border is as large as the rest.
    unit = max(float(np.abs(np.diagonal(Q)).max()), float(np.abs(b).max()), np.finfo(np.float64).tiny)
    system[:k, :k] = Q / unit + (ridge / unit) * np.eye(k)
    system[k, k] = 0.0
    solution: Float = np.linalg.solve(system, np.append(b / unit, 1.0))[:k]
    return solution
