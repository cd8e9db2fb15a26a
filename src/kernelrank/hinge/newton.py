r"""Truncated Newton for pairwise hinges, with a proven bound on the distance from the minimum.

Each step solves ``(Φᵀ H Φ + 2 alpha I) d = -∇``, where H is the generalised Hessian of the loss by the scores, by
preconditioned conjugate gradients, or by a factorisation for the items that H takes part in where that costs less (see
the part “Newton system”), and then searches along d. The search needs no products with Φ:
``Φ(w + t d) = p + t Φd``.

The squared hinge is smooth enough as it is. The hinge is smoothed over the margins from ``1 - μ`` to one, and μ shrinks
as w settles. With many pairs the smoothed problem is nearly the problem itself: the part of the gap that smoothing
accounts for falls with μ², so that a gap of a thousandth is reached at a μ of about a tenth. The other part of the gap
is ``‖∇‖² / (4 alpha)``; see `kernelrank.hinge.losses` for both.

Where the systems are hard, because the items can be ordered with few errors, a narrower band does not start from the
old w: most pairs of the wide band are outside of the narrow one and have no curvature left, and after that steps are
short. The slopes β of the pairs change little with μ, and so the margins ``1 - μ β`` shrink in proportion. With the
pairs inside held fixed, of the gradient ``g_in`` and the Hessian H_in, the minimum for ``μ' = σ μ`` is a linear system,

    ``(Φᵀ H_in Φ / σ + 2 alpha I) d = -∇ - (1 / σ - 1) Φᵀ g_in``,

and the step along d keeps these pairs inside. This foretells the next minimum from the last one only if w is at the
last one: the band waits until ``‖∇‖² / (4 alpha)`` is a tenth of what smoothing accounts for. With many items and few
columns the step saves nothing, and is not taken.

Each point gives an upper and a lower bound of the minimum; the best of each is kept, and proved at the end. Where
rounding leaves nothing of a band as narrow as the gap needs, cutting planes go on from the best point: they need no
smoothing.

A large problem is first solved for a sample of its items. From that minimum, all items need only a step or two.

With many more dense columns than items, w lies in the span of the items. The steps are taken there, on an m × m factor,
and the certificate is that of the columns themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from scipy.sparse import csr_array

from kernelrank.base.arrays import Float, Index, is_sparse
from kernelrank.base.progress import count_iteration
from kernelrank.hinge.bundle import BundlePath
from kernelrank.hinge.losses import SmoothedHinge, SquaredHinge
from kernelrank.hinge.pairs import Curvature, LossPoint, PairLoss
from kernelrank.hinge.problem import (
    Certificate,
    CertifiedSolution,
    ItemSpan,
    Line,
    PairProblem,
    PairSolver,
    Plane,
    Proof,
    follow,
    prove,
    search,
    solve_roughly,
    warn_of_gap,
)
from kernelrank.solvers.base import Step

WIDEST = 2.0
"""The first μ: at w = 0 every margin is zero, in the middle of the band, and the first step is one of least squares."""

WARM = 0.2
"""The first μ where w is thought to be near the minimum already."""

LARGE, SHARE, EIGHTH = 30_000, 0.125, 100_000
"""With more items than that, an eighth of them is solved first, and so on down; of more than `EIGHTH` items a share
that falls with the cube root of their number, for the error of a sample falls with its size and not with its share."""

FORCING, FINAL = 0.05, 0.02
"""The relative residual at which conjugate gradients leave a Newton step, and down to which they go where that should
make it the last one."""

CLOSE, CLOSER, SETTLED = 0.1, 0.3, 10.0
"""The smallest share of its width that a band shrinks to at once; that where systems are hard, when the next minimum is
foretold from the last one; and how many times smaller than the slack the remainder of the gap has to be for that."""


@dataclass(frozen=True)
class Newton(PairSolver):
    """Minimise ``loss(Φ w) + alpha ‖w‖²`` to a relative duality gap of `tol`.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default="hinge"
    tol : float, default=1e-3
        The duality gap, as a share of the objective, at which to stop.
    max_iter : int, default=1000
        The largest number of Newton steps, and of cutting planes after them.

    Notes
    -----
    A conjugate-gradient step costs one product with Φ, one with Φᵀ and O(m log m); memory O(m + r), and r² for the
    preconditioner where there are few columns. A factorisation for s items, at most 4,000, takes O(s³) and some s².
    """

    loss: Literal["hinge", "squared_hinge"] = "hinge"
    tol: float = 1e-3
    max_iter: int = 1000
    name: str = field(init=False, default="newton")

    def solve(
        self, state: PairProblem, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> CertifiedSolution:
        """Solve for one alpha, from `start` if it is given; `step` hears of the gap after each iteration."""
        with state.threads():
            path = self._begin(state, alpha, start, step)
            certificate, stopped = follow(path, self.tol, self.max_iter, step)
            best, n_iter, exhausted = path.best, path.n_iter, path.exhausted
            if self._goes_on_by_planes(certificate, n_iter, stopped=stopped):
                planes = path.finish()
                # More than 200 planes would take longer than all steps before.
                found, stopped = follow(planes, self.tol, min(self.max_iter, n_iter + 200), step)
                n_iter, exhausted = planes.n_iter, planes.n_iter < self.max_iter
                if found.gap < certificate.gap:
                    best, certificate = planes.best, found
        if certificate.gap > self.tol and not stopped:
            warn_of_gap("Newton's method", n_iter, certificate.gap, self.tol, exhausted=exhausted)
        return state.solution(best, n_iter, certificate.objective, certificate.gap)

    def _goes_on_by_planes(self, certificate: Certificate, n_iter: int, *, stopped: bool) -> bool:
        return self.loss == "hinge" and certificate.gap > self.tol and n_iter < self.max_iter and not stopped

    def _begin(self, problem: PairProblem, alpha: float, start: Float | None, step: Step | None = None) -> _Path:
        """Begin at a given point, at the solution of a smaller problem, or at zero.

        A wide problem is solved in the span of its items first, a large one for a sample of them.
        """
        if problem.turned is not None:
            turned, span = problem.turned
            path = self._begin(turned, alpha, None if start is None else span.coordinates(problem.begin(start)))
            return self._settle(path, step).back(problem, span)
        if start is not None:
            return _Path(problem, alpha, self, problem.begin(start), WARM)
        m = problem.features.n_items
        sample = problem.sample(SHARE * min(1.0, (EIGHTH / m) ** (1 / 3))) if m > LARGE else None
        if sample is None:
            return _Path(problem, alpha, self, problem.begin(None), WIDEST)
        path = self._settle(self._begin(sample, alpha * sample.pairs.total / problem.pairs.total, None))
        # A sample of so few items is too far from the minimum for a band as narrow as the gap needs.
        if sample.size > 100.0 * self.tol * sample.features.n_items:
            return _Path(problem, alpha, self, path.best, max(path.width, WARM))
        if path.narrow():  # the sample may have got by with a band that is too wide for all items
            path.advance()
        return _Path(problem, alpha, self, path.w, path.width)

    def _settle(self, path: _Path, step: Step | None = None) -> _Path:
        """Take steps until the gap is closed, as it looks without a proof, or `step` stops them."""
        while path.n_iter == 0 or (path.gap > self.tol and path.n_iter < self.max_iter and not path.exhausted):
            path.advance()
            count_iteration()
            if step is not None and step(path.n_iter, path.gap):
                break
        return path


class _Path:
    """The point that Newton's method has come to, and the bounds that it has found on its way."""

    def __init__(self, problem: PairProblem, alpha: float, options: Newton, w: Float, width: float) -> None:
        self.problem, self.alpha, self.options, self.w, self.width = problem, alpha, options, w, width
        self.system = NewtonSystem(problem, alpha)
        self.scores = problem.features.multiply(w)
        self.upper, self.lower, self.value = np.inf, 0.0, np.inf
        self.rounding, self.n_iter, self.stale = 0.0, 0, 0
        self.plane: tuple[SmoothedHinge, Float, LossPoint, Float] | None = None
        self._arrive(self._loss().at(self.scores))
        if width < WIDEST:
            self.narrow()

    def back(self, problem: PairProblem, span: ItemSpan) -> _Path:
        """Return the same point, with its bounds, of the problem whose columns this one has in a basis of their span.

        A certificate is then one of that problem: its scores and the slopes of planes are computed from its columns.
        """
        path = copy(self)
        path.system = NewtonSystem(problem, self.alpha)
        path.problem = problem
        path.w, path.best, path.gradient = (span.weights(v) for v in (self.w, self.best, self.gradient))
        scores, point, _ = self.best_at
        path.best_at = scores, point, problem.features.transpose_multiply(point.gradient)
        if self.plane is not None:
            loss, scores, point, _ = self.plane
            path.plane = loss, scores, point, problem.features.transpose_multiply(point.gradient)
        return path

    @property
    def gap(self) -> float:
        """The gap of both bounds, as a share of the objective, and the rounding that the last certificate found."""
        return (self.upper - self.lower) / self.upper + self.rounding if self.upper > 0 else 1.0

    @property
    def exhausted(self) -> bool:
        """Whether no bound improves, the band has its smallest width, or rounding errors are as large as the gap."""
        narrow = self.options.loss == "hinge" and self.width <= self._narrowest
        # After eight steps in which neither a bound nor what is minimised got better, rounding is the cause.
        return self.stale >= 8 or narrow or self.rounding > self.options.tol

    @property
    def _narrowest(self) -> float:
        """The narrowest band: below the root of the rounding unit of the largest score, β is mostly rounding."""
        return 3e-8 * (1.0 + float(np.abs(self.scores).max()))

    def certify(self) -> Certificate:
        """Prove the gap of the best point: the hinge by the best plane, the squared hinge by its gradient."""
        found = prove(self._certify, self.problem, self._loss(), self.alpha, self.options.tol)
        self.rounding = max(found.gap - (self.gap - self.rounding), 0.0)
        return found

    def _certify(self, proof: Proof) -> Certificate:
        scores, point, slope = self.best_at
        if self.plane is None:
            return proof.by_gradient(self.best, scores, point, slope)
        return proof.by_plane(self.best, scores, point, self._plane)

    def _plane(self, enough: float) -> Plane:
        """Return the best plane; where rounding matters, one nearby whose sums are not rounded."""
        assert self.plane is not None
        loss, scores, point, slope = self.plane
        exact = self.problem.pairs.without_rounding(scores) if enough == 0.0 else scores
        if exact is not scores:
            point = loss.at(exact)
            slope = self.problem.features.transpose_multiply(point.gradient)
        return Plane.of(point, slope, enough)

    def finish(self) -> BundlePath:
        """Go on from the best point by cutting planes, which need no smoothing."""
        path = BundlePath(self.problem, self.alpha, self.best, self.options.tol)
        path.n_iter = self.n_iter
        return path

    def _loss(self) -> PairLoss:
        pairs = self.problem.pairs
        return SquaredHinge(pairs) if self.options.loss == "squared_hinge" else SmoothedHinge(pairs, self.width)

    def _arrive(self, point: LossPoint) -> None:
        """Take the bounds that a point proves."""
        self.point = point
        slope = self.problem.features.transpose_multiply(point.gradient)
        self.gradient = slope + 2.0 * self.alpha * self.w
        norm = self.alpha * float(self.w @ self.w)
        objective, value = point.loss + norm, point.value + norm
        self.remainder = float(self.gradient @ self.gradient) / (4.0 * self.alpha)
        lower = objective - point.slack - self.remainder
        better = objective < self.upper or lower > self.lower or value < (1.0 - 1e-12) * self.value
        self.stale, self.value = 0 if better else self.stale + 1, min(value, self.value)
        if objective < self.upper or (lower > self.lower and objective <= self.upper * (1.0 + 1e-14)):
            self.upper, self.best, self.best_at = objective, self.w, (self.scores, point, slope)
        if lower > self.lower or self.lower == 0.0:
            self.lower = max(self.lower, lower)
            loss = self._loss()
            self.plane = (loss, self.scores, point, slope) if isinstance(loss, SmoothedHinge) else None

    def narrow(self) -> bool:
        """Shrink the band as long as smoothing, not the gradient, dominates the gap; return whether it did.

        Without smoothing there is no slack, and nothing to do.
        """
        before, least = self.width, self._narrowest
        while self.width > least and self.point.slack > max(0.5 * self.options.tol * self.upper, self._unsettled):
            aim = np.sqrt(0.4 * self.options.tol * self.upper / self.point.slack)
            share = float(np.clip(aim, CLOSER if self.system.hard else CLOSE, 0.5))
            wide, gradient = self.point, self.gradient
            self.width *= share
            self.value = np.inf  # what is minimised is larger for a narrower band
            self._arrive(self._loss().at(self.scores))
            if self.system.hard:
                self._follow_band(wide, gradient, share)
        return self.width < before

    @property
    def _unsettled(self) -> float:
        """The slack below which the gradient comes first."""
        return self.remainder * (SETTLED if self.system.hard else 1.0)

    def _follow_band(self, wide: LossPoint, gradient: Float, share: float) -> None:
        """Step towards the minimum for a share of the width, as it is if the pairs inside the wide band stay inside."""
        assert wide.curvature is not None
        assert wide.inside is not None
        more = self.problem.features.transpose_multiply(wide.inside()) * (1.0 / share - 1.0)
        self._step(*self._solve(gradient + more, FORCING, wide.curvature.times(1.0 / share)))

    def advance(self) -> None:
        """Take one Newton step; where there is nothing left to gain, narrow the band only."""
        self.n_iter += 1
        self._step(*self._direction())
        if self.gap > self.options.tol:
            self.narrow()

    def _step(self, d: Float, d_scores: Float) -> None:
        """Search along a direction d, whose scores are Φ d, and go there."""
        line = Line(self._loss(), self.alpha, self.w, self.scores, d, d_scores)
        t, point = search(line, self.point, 1.0)
        if t > 0:
            self.w = self.w + t * d
            self.scores = self.scores + t * d_scores
        self._arrive(point)

    def _direction(self) -> tuple[Float, Float]:
        """Return the Newton direction d, and Φ d."""
        # The share of the squared gradient that may be left, with what smoothing takes of the gap.
        allowed = (0.5 if self.options.loss == "hinge" else 0.9) * self.options.tol * self.upper
        aim = allowed / self.remainder if self.remainder > allowed else 1.0
        return self._solve(self.gradient, float(np.sqrt(aim)) if FINAL**2 <= aim < FORCING**2 else FORCING)

    def _solve(self, gradient: Float, forcing: float, curvature: Curvature | None = None) -> tuple[Float, Float]:
        """Solve ``(Φᵀ H Φ + 2 alpha I) d = -gradient``, with H of the present point unless given; also return Φ d."""
        curvature = self.point.curvature if curvature is None else curvature
        assert curvature is not None
        return self.system.solve(curvature, -gradient, forcing)


# Newton system --------------------------------------------------------------------------------------------------------
#
# The system of a Newton step, ``(Φᵀ H Φ + 2 alpha I) d = b``.
#
# Conjugate gradients solve it from products with Φ and H. How many they take grows with the condition number: where
# alpha is small and the band of a smoothed hinge is narrow, there would be thousands. But then few items have pairs
# inside the band. With Φ_s and H_s of these s items alone,
#
#     ``(Φᵀ H Φ + 2 alpha I)⁻¹ b = (b - Φ_sᵀ (2 alpha I + H_s K_s)⁻¹ H_s Φ_s b) / (2 alpha)``,  ``K_s = Φ_s Φ_sᵀ``,
#
# an s × s system; with fewer than s columns, ``Φ_sᵀ H_s Φ_s + 2 alpha I`` itself is smaller. The inverse preconditions
# conjugate gradients, which then take one step, or two where rounding matters.

INNER = 250
"""The largest number of conjugate-gradient steps in a Newton step."""

FEWEST, FEW = 5, 4_000
"""Conjugate gradients always have so many steps before a factorisation is thought of, and there is none of more than
that many items, for H_s, K_s and the factor take s² numbers each."""

DENSE, SPARSE = 20, 100
"""A product with a stored feature and one with its transpose take as long as so many operations of a factorisation."""

KERNEL, MANY_KERNEL, MANY = 2.0, 0.4, 500
"""What one feature of a kernel between two items costs, in operations of a factorisation: with few items, and with more
than `MANY`, whose products run at the full speed of BLAS."""


class NewtonSystem:
    """Systems of one problem and one alpha, each solved in the way that costs less.

    A conjugate-gradient step costs two products with Φ and O(m log m). A factorisation for s items costs O(s³), and
    O(s r) for each item whose kernels are not known yet, memory 4 s²; with r < s dense columns O(s r²), memory s².
    """

    def __init__(self, problem: PairProblem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha
        self.steps = 0  # that conjugate gradients last took without a factorisation
        self.known: Index = np.zeros(0, dtype=np.int64)
        self.kernel: Float = np.zeros((0, 0))  # of the known items
        self.place: Index = np.full(problem.features.n_items, -1)  # of each item among those known

    def solve(self, curvature: Curvature, b: Float, forcing: float) -> tuple[Float, Float]:
        """Solve for one right side to a relative residual of `forcing`; also return Φ d."""
        most = self._steps_worth_a_factor(curvature.n_curved)
        if self.steps < most:
            rough = self.problem.preconditioner(curvature.trace, self.alpha)
            d, d_scores, self.steps = self._iterate(curvature, b, rough, forcing, most)
            if self.steps < most or most == INNER:
                return d, d_scores
        d, d_scores, _ = self._iterate(curvature, b, self._inverse(curvature), forcing, INNER)
        return d, d_scores

    @property
    def hard(self) -> bool:
        """Whether conjugate gradients took many steps, because the system is far from its preconditioner.

        With many items and few columns there are one to five.
        """
        return self.steps >= 10

    def _steps_worth_a_factor(self, s: int) -> int:
        """Return how many conjugate-gradient steps cost as much as a factorisation for s items."""
        if s > FEW:
            return INNER
        problem = self.problem
        if self._by_columns(s):
            operations = problem.size**2 * (problem.size / 3.0 + 2.0 * s) + 30.0 * s**2
        else:
            each = KERNEL if s < MANY else MANY_KERNEL
            kernels = each * s * problem.size * max(s - len(self.known), 0)
            operations = 2.0 / 3.0 * s**3 + 30.0 * s**2 + kernels
        step = (SPARSE if problem.features.sparse else DENSE) * problem.stored
        return int(min(INNER, operations / step + FEWEST))

    def _iterate(
        self, curvature: Curvature, b: Float, precondition: Callable[[Float], Float], forcing: float, most: int
    ) -> tuple[Float, Float, int]:
        """Return d, Φ d and the number of steps."""
        features, steps = self.problem.features, 0

        def hessian(v: Float) -> tuple[Float, Float]:
            nonlocal steps
            steps += 1
            v_scores = features.multiply(v)
            return features.transpose_multiply(curvature(v_scores)) + 2.0 * self.alpha * v, v_scores

        d, d_scores = solve_roughly(hessian, b, precondition, np.zeros(features.n_items), forcing, most)
        return d, d_scores, steps

    def _inverse(self, curvature: Curvature) -> Callable[[Float], Float]:
        """Return the inverse of the whole system, as a function."""
        items, H = curvature.matrix()
        features, two_alpha = self.problem.features, 2.0 * self.alpha
        few_filled = csr_array(H) if np.count_nonzero(H) < 0.1 * H.size else H
        if self._by_columns(len(items)):
            rows = features.rows(items)
            A: Float = rows.T @ (few_filled @ rows)
            A[np.diag_indices_from(A)] += two_alpha
            columns = cho_factor(A, overwrite_a=True, check_finite=False)
            return lambda v: np.asarray(cho_solve(columns, v, check_finite=False))
        A = few_filled @ self._kernel(items)
        A[np.diag_indices_from(A)] += two_alpha
        factor = lu_factor(A, overwrite_a=True, check_finite=False)

        def inverse(v: Float) -> Float:
            inner = np.zeros(features.n_items)
            inner[items] = lu_solve(factor, few_filled @ features.multiply(v)[items], check_finite=False)
            return (v - features.transpose_multiply(inner)) / two_alpha

        return inverse

    def _by_columns(self, s: int) -> bool:
        """Whether the system of the columns is smaller than that of s items."""
        return self.problem.size < s and not self.problem.features.sparse

    def _kernel(self, items: Index) -> Float:
        """Return K_s; what is known of it already is kept."""
        missing = items[self.place[items] < 0]
        if len(missing) > 0:
            if len(self.kernel) + len(missing) > FEW:
                self.known, self.kernel, missing = items[:0], np.zeros((0, 0)), items
            k, known = len(self.known), np.concatenate([self.known, missing])
            grown = np.empty((len(known), len(known)))
            grown[:k, :k] = self.kernel
            grown[k:] = self._products(missing, known)
            grown[:k, k:] = grown[k:, :k].T
            self.known, self.kernel = known, grown
            self.place[:] = -1
            self.place[known] = np.arange(len(known))
        places = self.place[items]
        return self.kernel[np.ix_(places, places)]

    def _products(self, some: Index, others: Index) -> Float:
        """Return the kernel between some items and others."""
        features = self.problem.features
        if is_sparse(features.X):
            products = (features.X[some] @ features.X[others].T).tocoo()
            kernel = np.zeros(products.shape)
            kernel[products.coords] = products.data
            return kernel
        rows = features.rows(others)
        return (rows if len(some) == len(others) else features.rows(some)) @ rows.T
