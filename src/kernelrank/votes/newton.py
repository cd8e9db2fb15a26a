r"""Newton's method for the likelihood of votes, with a proven bound on the distance from the minimum.

A step solves ``(∇²loss + 2 diag(a)) d = -∇J``: for votes without effects this is RankRLS with the weights
``w p (1 - p) / 2`` and the magnitudes ``d + 1/p``. The system is factorised where it is small, and otherwise solved by
conjugate gradients with its diagonal for a preconditioner: products with Φ and sums over the votes are all that they
need. Full steps can diverge, so each one is followed by a search along its direction, which costs no products with Φ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from kernelrank.base.arrays import Float
from kernelrank.base.progress import count_iteration
from kernelrank.hinge.pairs import sum_error
from kernelrank.hinge.problem import CertifiedSolution, search, solve_roughly, warn_of_gap
from kernelrank.losses.expected_votes import LogisticVotes
from kernelrank.solvers.base import Step
from kernelrank.solvers.vote_problem import VotePoint, VoteProblem
from kernelrank.votes.likelihood import decided_probability

__all__ = ["LinearSystem", "VoteNewton", "VoteSolution"]

LinearSystem = Literal["auto", "cholesky", "conjugate_gradient"]

SPARSE_LIMIT, DENSE_LIMIT = 2_000, 10_000
"""The largest system that is factorised for sparse and for dense features."""

FORCING, FINAL = 0.1, 1e-4
"""The relative residuals at which conjugate gradients leave the first steps, and the last one."""

INNER = 2_000
"""The largest number of conjugate-gradient steps in a Newton step."""

PATIENCE = 3
"""After so many steps that did not halve the bound of the gap, rounding is the cause."""


@dataclass(frozen=True)
class VoteSolution(CertifiedSolution):
    """A certified solution, with the effects (side, judges, ties) and the precision of the scores.

    Parameters
    ----------
    effects : ndarray, shape (q,)
        b, the effects of judges and θ, as far as the model has them.
    factor : ndarray, shape (r, r), or None
        An upper triangular R such that ``(RᵀR)⁻¹`` is the covariance of w in the Laplace approximation, with all
        effects integrated out; None where the system is too large.
    bias_std : float or None
        The standard deviation of b in the same approximation, with all else integrated out; None without b, or where
        the system is too large.
    """

    effects: Float = field(default_factory=lambda: np.zeros(0))
    factor: Float | None = None
    bias_std: float | None = None


@dataclass(frozen=True)
class VoteNewton:
    """Minimise ``-log likelihood + Σ a x²`` to a relative gap of `tol`.

    Parameters
    ----------
    system : {"auto", "cholesky", "conjugate_gradient"}, default="auto"
        How the system of a step is solved. "auto" factorises up to 2,000 unknowns for sparse features, 10,000 for
        dense ones.
    tol : float, default=1e-8
        The gap, as a share of the objective, at which to stop. One step more is taken then: it squares the error.
    max_iter : int, default=100
        The largest number of Newton steps.

    Notes
    -----
    A step costs O(m r² + r³) with a factorisation; otherwise O(nnz + k) for each product with the Hessian, where k is
    the number of different pairs. Memory p², or O(m + k + p).
    """

    system: LinearSystem = "auto"
    tol: float = 1e-8
    max_iter: int = 100

    def direct(self, problem: VoteProblem) -> bool:
        """Whether the system is factorised."""
        if self.system != "auto":
            return self.system == "cholesky"
        return problem.size <= (SPARSE_LIMIT if problem.features.sparse else DENSE_LIMIT)

    def solve(
        self, problem: VoteProblem, alpha: float, *, start: Float | None = None, step: Step | None = None
    ) -> VoteSolution:
        """Solve for one alpha, from the unknowns of another solution if they are given."""
        path = _Path(problem, alpha, np.zeros(problem.size) if start is None else start, self)
        certificate, stopped = self._follow(path, step)
        if certificate > self.tol and not stopped:
            warn_of_gap("Newton's method", path.n_iter, certificate, self.tol, exhausted=path.exhausted)
        q, x = problem.unknowns.size, path.x
        column = x[q:, None]
        whole = path.factor() if self.direct(problem) else None
        return VoteSolution(
            problem.features.from_primal(column),
            x[:, None],
            path.n_iter,
            certificate,
            path.objective,
            certificate,
            x[:q],
            None if whole is None else np.ascontiguousarray(whole[q:, q:]),
            _first_std(whole) if whole is not None and problem.unknowns.side_bias else None,
        )

    def _follow(self, path: _Path, step: Step | None) -> tuple[float, bool]:
        """Take steps until the gap is proved, or no step is left; return it, and whether `step` stopped them."""
        near = False
        while True:
            path.advance()
            count_iteration()
            stopped = step is not None and step(path.n_iter, path.gap)
            ends = path.n_iter >= self.max_iter or path.exhausted or stopped
            if near or ends:
                certificate = path.certify()
                if certificate <= self.tol or ends:
                    return certificate, stopped
            near = path.gap <= self.tol


@dataclass(frozen=True)
class _Line:
    """The objective along a direction."""

    problem: VoteProblem
    penalty: Float
    x: Float
    f: Float
    d: Float
    d_scores: Float

    def at(self, t: float) -> VotePoint:
        """Evaluate the loss at t."""
        q = self.problem.unknowns.size
        return self.problem.at(self.f + t * self.d_scores, self.x[:q] + t * self.d[:q])

    def slope(self, t: float, point: VotePoint) -> float:
        """Return the slope at t."""
        q = self.problem.unknowns.size
        norm = 2.0 * float((self.penalty * (self.x + t * self.d)) @ self.d)
        return norm + float(point.items @ self.d_scores) + float(point.effects @ self.d[:q])


class _Path:
    """The point that Newton's method has come to."""

    def __init__(self, problem: VoteProblem, alpha: float, x: Float, options: VoteNewton) -> None:
        self.problem, self.options = problem, options
        self.penalty = problem.penalty(alpha)
        self.direct = options.direct(problem)
        self.bent = problem.unknowns.judge_effect == "scale"  # then η is not linear, and the Hessian may be indefinite
        self.n_iter = self.stale = 0
        self.best = self.least = np.inf
        self.x = np.array(x, dtype=np.float64).reshape(problem.size)
        self._refresh()

    def _refresh(self) -> None:
        """Compute the scores again."""
        q = self.problem.unknowns.size
        self.f = self.problem.features.multiply(self.x[q:])
        self._arrive(self.problem.at(self.f, self.x[:q]))

    def _arrive(self, point: VotePoint) -> None:
        self.point = point
        self.gradient = self.problem.gradient(point) + 2.0 * self.penalty * self.x
        self.objective = point.loss.value + float(self.penalty @ self.x**2)
        self.remainder = float((self.gradient**2 / (4.0 * self.penalty)).sum())

    @property
    def gap(self) -> float:
        """The bound of the gap, as a share of the objective, without rounding."""
        return self.remainder / self.objective if self.objective > 0 else 1.0

    @property
    def exhausted(self) -> bool:
        """Whether more steps will not help."""
        return self.stale >= PATIENCE

    def advance(self) -> None:
        """Take one Newton step."""
        self.n_iter += 1
        solve = self._direct_step if self.direct else self._iterative_step
        d, d_scores = solve(bent=self.bent)
        if self.bent and not float(self.gradient @ d) < 0:
            d, d_scores = solve(bent=False)
        line = _Line(self.problem, self.penalty, self.x, self.f, d, d_scores)
        with np.errstate(over="ignore", invalid="ignore"):  # scales of judges may overflow where a step is too long
            t, point = search(line, self.point, 1.0)
        if t > 0 and np.isfinite(point.loss.value):
            self.x, self.f = self.x + t * d, self.f + t * d_scores
            self._arrive(point)
        better = self.objective < (1.0 - 1e-13) * self.least or self.remainder < 0.9 * self.best
        self.stale = 0 if better else self.stale + 1
        self.least, self.best = min(self.least, self.objective), min(self.best, self.remainder)

    def _direct_step(self, *, bent: bool) -> tuple[Float, Float]:
        factor = self._factorised(self.problem.hessian(self.point, bent=bent), once=bent)
        if factor is None:
            return np.zeros_like(self.x), np.zeros_like(self.f)
        d = np.asarray(cho_solve((factor, False), -self.gradient, check_finite=False))
        return d, self.problem.features.multiply(d[self.problem.unknowns.size :])

    def _factorised(self, H: Float, *, once: bool = False) -> Float | None:
        """Return the upper factor of H with the penalties; where it is indefinite, with a little more, unless `once`.

        Rounding alone makes it so where alpha is tiny.
        """
        places = np.diag_indices_from(H)
        diagonal = H[places] + 2.0 * self.penalty
        more = 0.0
        while True:
            H[places] = diagonal + more
            factor, info = lapack.dpotrf(H, lower=0, clean=1)
            if info == 0:
                return np.asarray(factor)
            if once:
                return None
            more = 10.0 * more if more else 1e-15 * float(diagonal.max())

    def _iterative_step(self, *, bent: bool) -> tuple[Float, Float]:
        problem, point, penalty = self.problem, self.point, self.penalty

        def hessian(v: Float) -> tuple[Float, Float]:
            product, v_scores = problem.hessian_multiply(point, v, bent=bent)
            return product + 2.0 * penalty * v, v_scores

        inverse = 1.0 / (problem.hessian_diagonal(point) + 2.0 * penalty)
        precondition: Callable[[Float], Float] = lambda v: inverse * v  # noqa: E731
        aim = np.sqrt(0.1 * self.options.tol * self.objective / self.remainder) if self.remainder > 0 else FORCING
        forcing = float(np.clip(aim, FINAL, FORCING)) if self.gap > self.options.tol else FINAL
        return solve_roughly(hessian, -self.gradient, precondition, np.zeros_like(self.f), forcing, INNER)

    def factor(self) -> Float:
        """Return the factor of the precision of all unknowns.

        Effects come first, so that its last rows and columns are the factor for w, effects integrated out. Ties that
        count half each way make votes vary less (`kernelrank.losses.expected_votes`).
        """
        point = self.point
        if not self.problem.unknowns.davidson:
            model = LogisticVotes().fitted(self.problem.votes, point.eta, 0.0)
            worth = model.worth(decided_probability(point.eta))
            loss = replace(point.loss, gradient=worth * point.loss.gradient, curvature=worth * point.loss.curvature)
            point = replace(point, loss=loss)
        whole = self._factorised(self.problem.hessian(point, bent=self.bent), once=self.bent)
        if whole is None:
            whole = self._factorised(self.problem.hessian(point))
        assert whole is not None
        return whole

    def certify(self) -> float:
        """Return a gap that is proved, as a share of the objective, rounding included."""
        self._refresh()
        value_error, errors = self.problem.rounding(self.x, self.f, self.point)
        penalised = 2.0 * self.penalty * np.abs(self.x)
        errors = errors + sum_error(4) * (np.abs(self.gradient) + penalised)
        parts = (np.abs(self.gradient) + errors) ** 2 / (4.0 * self.penalty)
        if self.problem.unknowns.judge_effect == "scale":
            parts[self.problem.unknowns.judges] = 0.0  # the problem is convex for given scales only
        bound = float(parts.sum())
        least = self.objective * (1.0 - sum_error(self.problem.size + 4)) - value_error
        if not (np.isfinite(bound) and least > 0):
            return 1.0
        return min(bound * (1.0 + sum_error(self.problem.size + 8)) / least + sum_error(4), 1.0)


def _first_std(factor: Float) -> float:
    """Return the standard deviation of the first unknown: the norm of ``R⁻ᵀ e₁`` for the factor R of the precision."""
    first = np.zeros(len(factor))
    first[0] = 1.0
    return float(np.linalg.norm(solve_triangular(factor, first, trans="T", check_finite=False)))
