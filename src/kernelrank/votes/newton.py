r"""Newton's method for the likelihood of votes, with a proven bound on the distance from the minimum.

A step solves ``(∇²loss + 2 diag(a)) d = -∇J``: for votes without effects this is RankRLS with the weights
``w p (1 - p) / 2`` and the magnitudes ``d + 1/p``. The system is factorised where it is small, and otherwise solved by
conjugate gradients with its diagonal for a preconditioner: products with Φ and sums over the votes are all that they
need. Full steps can diverge, so each one is followed by a search along its direction, which costs no products with Φ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, lapack, solve_triangular

from kernelrank.base.arrays import Float, Index, Sparse, is_sparse, row_slices
from kernelrank.base.progress import count_iteration
from kernelrank.features import ColumnFeatures, Features
from kernelrank.hinge.pairs import sum_error
from kernelrank.hinge.problem import CertifiedSolution, search, solve_roughly, warn_of_gap
from kernelrank.solvers.base import Step
from kernelrank.solvers.iterative import ConjugateGradient, Operator, by_diagonal
from kernelrank.votes.likelihood import LogisticVotes, VoteLoss, decided_probability, loss_errors, vote_loss
from kernelrank.votes.votes import Votes

LinearSystem = Literal["auto", "cholesky", "conjugate_gradient"]

SPARSE_LIMIT, DENSE_LIMIT = 2_000, 10_000
"""The largest system that is factorised for sparse and for dense features."""


@dataclass(frozen=True)
class VoteSolution(CertifiedSolution):
    """A certified solution, with the effects (side, judges, ties) and the precision of the scores.

    Shapes: effects (q,), factor (r, r), covariance (p, p) of the effects of covariates.
    """

    effects: Float = field(default_factory=lambda: np.zeros(0))
    factor: Float | None = None
    bias_std: float | None = None
    covariance: Float | None = None


@dataclass(frozen=True)
class VoteNewton:
    """Minimise ``-log likelihood + Σ a x²`` to a relative gap of `tol`.

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
        path = _VotePath(problem, alpha, np.zeros(problem.size) if start is None else start, self)
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
            _covariance(whole, slice(0, 1))[0, 0] ** 0.5 if whole is not None and problem.unknowns.side_bias else None,
            None if whole is None else _covariance(whole, problem.unknowns.covariates),
        )

    def _follow(self, path: _VotePath, step: Step | None) -> tuple[float, bool]:
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


class _VotePath:
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
        return self.stale >= 3  # steps that did not halve the bound of the gap: rounding is the cause

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
        factor = self._factorise(self.point, bent)
        if factor is None:
            return np.zeros_like(self.x), np.zeros_like(self.f)
        d = np.asarray(cho_solve((factor, False), -self.gradient, check_finite=False))
        return d, self.problem.features.multiply(d[self.problem.unknowns.size :])

    def _iterative_step(self, *, bent: bool) -> tuple[Float, Float]:
        problem, point, penalty = self.problem, self.point, self.penalty

        def hessian(v: Float) -> tuple[Float, Float]:
            product, v_scores = problem.hessian_multiply(point, v, bent=bent)
            return product + 2.0 * penalty * v, v_scores

        inverse = 1.0 / (problem.hessian_diagonal(point) + 2.0 * penalty)
        precondition: Callable[[Float], Float] = lambda v: inverse * v  # noqa: E731
        aim = np.sqrt(0.1 * self.options.tol * self.objective / self.remainder) if self.remainder > 0 else 0.1
        forcing = float(np.clip(aim, 1e-4, 0.1)) if self.gap > self.options.tol else 1e-4
        return solve_roughly(hessian, -self.gradient, precondition, np.zeros_like(self.f), forcing, 2_000)

    def factor(self) -> Float:
        """Return the factor of the precision of all unknowns.

        Effects come first, so that its last rows and columns are the factor for w, effects integrated out. Ties that
        count half each way make votes vary less (`kernelrank.votes.likelihood`).
        """
        point = self.point
        if not self.problem.unknowns.davidson:
            model = LogisticVotes().fitted(self.problem.votes, point.eta, 0.0)
            worth = model.worth(decided_probability(point.eta))
            loss = replace(point.loss, gradient=worth * point.loss.gradient, curvature=worth * point.loss.curvature)
            point = replace(point, loss=loss)
        whole = self._factorise(point, self.bent)
        if whole is None:
            whole = self._factorise(point, bent=False)
        assert whole is not None
        return whole

    def _factorise(self, point: VotePoint, bent: bool) -> Float | None:
        """Return the upper factor of the Hessian of J; None where the exact one, `bent`, is indefinite."""
        H = self.problem.hessian(point, bent=bent)
        H[np.diag_indices_from(H)] += 2.0 * self.penalty
        return factorise(H, once=bent)

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


@overload
def factorise(A: Float) -> Float: ...
@overload
def factorise(A: Float, *, once: bool) -> Float | None: ...
def factorise(A: Float, *, once: bool = False) -> Float | None:
    """Return the upper factor of A; where rounding makes A indefinite, with a little more diagonal, unless `once`."""
    places, more = np.diag_indices_from(A), 0.0
    diagonal = A[places]
    while True:
        factor, info = lapack.dpotrf(A, lower=0, clean=1)
        if info == 0:
            return np.asarray(factor)
        if once:
            return None
        more = 10.0 * more if more else 1e-15 * float(diagonal.max())
        A[places] = diagonal + more


def _covariance(factor: Float, part: slice) -> Float:
    """Return the covariance of some unknowns, from the columns of ``R⁻ᵀ`` for the factor R of the precision."""
    found = solve_triangular(factor, np.eye(len(factor))[:, part], trans="T", check_finite=False)
    return np.asarray(found.T @ found)


# Vote problem ---------------------------------------------------------------------------------------------------------
#
# The problem of votes: the objective, its gradient, its Hessian, and bounds of rounding errors.
#
# A row of votes on the items h and j, by judge k, has the linear predictor
#
# ``η = σ_k (f_h - f_j) + side (b + c_k) + γ · z``, ``f = Φ w``,
#
# with covariates z of the row, and ``J = -log likelihood(η, θ) + Σ a x²`` is minimised over all unknowns
# ``x = (b, c or τ, γ, θ, w)`` that a model has. The penalty a is alpha for w, that of the judges for c and τ, and
# `LIGHT`, or alpha if it is smaller, for γ; `LIGHT` for b and θ. Scales are
# ``σ_k = B e_k / (B - 1 + e_k)`` with ``e_k = exp(τ_k - mean τ)`` and ``B = 5``: 1 for a judge like the mean, so that
# the scores keep their unit, and at most B, so that a judge who sides with every majority, however narrow, does not
# decide everything. The derivative of log σ is ``s = (B - 1) / (B - 1 + e)``, and that of s is ``-s (1 - s)``.
#
# Without scales J is convex, and for any x it is at most ``Σ (∂J/∂x)² / (4 a)`` above its minimum, as every penalty is
# strongly convex. With scales this holds for given scales.

JudgeEffect: TypeAlias = Literal["side", "scale"]

LIGHT = 0.005
"""The penalty of the side bias and of θ: a normal prior with a standard deviation of 10, far wider than any effect that
is seen, so that one-sided votes have a finite minimum. It does not depend on alpha, whose size follows the features."""


LARGEST_SCALE = 5.0
"""The bound of the scales of judges."""


@dataclass(frozen=True)
class Unknowns:
    """The effects of a model in addition to the scores."""

    side_bias: bool = False
    judge_effect: JudgeEffect | None = None
    n_judges: int = 0
    davidson: bool = False
    n_covariates: int = 0
    light: float = LIGHT

    @property
    def judges(self) -> slice:
        """The positions of the effects of the judges."""
        start = int(self.side_bias)
        return slice(start, start + (self.n_judges if self.judge_effect else 0))

    @property
    def covariates(self) -> slice:
        """The positions of the effects of covariates."""
        return slice(self.judges.stop, self.judges.stop + self.n_covariates)

    @property
    def size(self) -> int:
        """How many effects there are; θ is the last one, and w follows."""
        return int(self.covariates.stop) + int(self.davidson)

    def theta(self, effects: Float) -> float | None:
        """Return θ, if there is one."""
        return float(effects[-1]) if self.davidson else None

    def scales(self, effects: Float) -> tuple[Float, Float]:
        """Return the scales of the judges, and the derivatives of their logarithms by τ less its mean."""
        tau: Float = effects[self.judges]
        size = np.exp(np.minimum(tau - tau.mean(), 300.0))
        slope = (LARGEST_SCALE - 1.0) / (LARGEST_SCALE - 1.0 + size)
        return np.asarray(size * slope * (LARGEST_SCALE / (LARGEST_SCALE - 1.0))), slope


@dataclass(frozen=True)
class VotePoint:
    """The problem at given scores and effects; slope is that of the logarithms of scales.

    Shapes: scale, slope (k,), scaled, eta (k,), items (m,), effects (q,), rows (k, q').
    """

    scale: Float | float
    scaled: Float
    eta: Float
    loss: VoteLoss
    items: Float
    effects: Float
    rows: Sparse | None
    slope: Float | float = 1.0

    @property
    def bend(self) -> Float | float:
        """The second derivative of scales over them."""
        return self.slope * (2.0 * self.slope - 1.0)


class VoteProblem:
    """Features, votes and effects, ready for every alpha."""

    def __init__(
        self,
        features: Features,
        votes: Votes,
        unknowns: Unknowns,
        judge_alpha: float,
    ) -> None:
        if features.columns is None:
            raise TypeError("the likelihood of votes is maximised over columns: map the kernel first")
        self.features: ColumnFeatures = features.columns
        self.votes, self.unknowns, self.judge_alpha = votes, unknowns, judge_alpha

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return self.unknowns.size + self.features.n_columns

    def penalty(self, alpha: float) -> Float:
        """Return the penalty of each unknown."""
        a = np.full(self.size, alpha)
        a[: self.unknowns.size] = self.unknowns.light
        a[self.unknowns.judges] = self.judge_alpha
        a[self.unknowns.covariates] = min(LIGHT, alpha)
        return a

    def at(self, f: Float, effects: Float) -> VotePoint:
        """Evaluate the loss at scores f (m,) and effects (q,), O(m + k) time."""
        votes, unknowns = self.votes, self.unknowns
        d = votes.differences(f)
        scale: Float | float = 1.0
        slope: Float | float = 1.0
        if unknowns.judge_effect == "scale":
            scale, slope = (values[votes.judge] for values in unknowns.scales(effects))
            d = scale * d
        eta = d
        if unknowns.side_bias or unknowns.judge_effect == "side":
            assert votes.side is not None
            shift = effects[0] if unknowns.side_bias else 0.0
            if unknowns.judge_effect == "side":
                shift = shift + effects[unknowns.judges][votes.judge]
            eta = d + votes.side * shift
        if votes.covariates is not None and unknowns.n_covariates:
            eta = eta + votes.covariates @ effects[unknowns.covariates]
        loss = vote_loss(votes, eta, unknowns.theta(effects))
        items = votes.item_sums(scale * loss.gradient)
        rows = self._effect_rows(slope * d)
        effect = np.zeros(unknowns.size)
        if rows is not None:
            effect[: rows.shape[1]] = self.centred(rows.T @ loss.gradient)
        if unknowns.davidson:
            effect[-1] = loss.tie_gradient
        return VotePoint(scale, d, eta, loss, items, effect, rows, slope)

    def _effect_rows(self, d: Float) -> Sparse | None:
        """Return the derivatives of η by all effects but θ, for scales not yet centred."""
        parts, k = list(self._fixed_rows), len(d)
        if self.unknowns.judge_effect == "scale":
            place = (d, self.votes.judge, np.arange(k + 1))
            parts.insert(int(self.unknowns.side_bias), sparse.csr_array(place, shape=(k, self.unknowns.n_judges)))
        if len(parts) < 2:
            return parts[0] if parts else None
        return sparse.hstack(parts, format="csr")

    @cached_property
    def _fixed_rows(self) -> list[Sparse]:
        """Those by the side bias, the sides of judges and covariates, which no unknown changes."""
        votes, side, k = self.votes, self.votes.side, len(self.votes.pairs)
        parts: list[Sparse] = []
        if self.unknowns.side_bias:
            assert side is not None
            parts.append(sparse.csr_array(np.reshape(side, (-1, 1))))
        if self.unknowns.judge_effect == "side":
            place = (side, votes.judge, np.arange(k + 1))
            parts.append(sparse.csr_array(place, shape=(k, self.unknowns.n_judges)))
        if self.unknowns.n_covariates:
            parts.append(sparse.csr_array(votes.covariates))
        return (
            [sparse.hstack(parts, format="csr")] if len(parts) > 1 and self.unknowns.judge_effect != "scale" else parts
        )

    def centred(self, values: Float) -> Float:
        """Take the mean over the judges away where their effects are scales, along the first axis."""
        if self.unknowns.judge_effect == "scale":
            part = values[self.unknowns.judges]
            values = values.copy()
            values[self.unknowns.judges] = part - part.mean(axis=0)
        return values

    def gradient(self, point: VotePoint) -> Float:
        """Return the gradient of the loss by all unknowns; the penalty is left out."""
        return np.concatenate([point.effects, self.features.transpose_multiply(point.items)])

    def item_weights(self, point: VotePoint) -> Float:
        """Return the curvature by the difference of the scores of each row."""
        return point.loss.curvature * np.square(point.scale)

    def hessian(self, point: VotePoint, *, bent: bool = False) -> Float:
        """Return the Hessian of the loss, dense (p × p).

        For scales, unless `bent`, it leaves out that η is not linear in them, and is never indefinite (Gauss-Newton).
        O(m r² + k r) time for a dense Φ.
        """
        q, loss = self.unknowns.size, point.loss
        H = np.zeros((self.size, self.size))
        H[q:, q:] = self.features.gram(self.votes.graph(self.item_weights(point)))
        if point.rows is not None:
            s = point.rows.shape[1]
            weighted = sparse.diags_array(loss.curvature) @ point.rows
            square = (point.rows.T @ weighted).toarray()
            across = sparse.diags_array(point.scale * loss.curvature) @ point.rows
            if bent:
                square += np.diag(self._judge_rows.T @ (loss.gradient * point.scaled * point.bend))
                turned = sparse.diags_array(point.scale * point.slope * loss.gradient)
                across = across + turned @ self._judge_rows
            H[:s, :s] = self.centred(self.centred(square).T)
            mixed = (self.votes.incidence.T @ across).T @ self.features.X
            H[:s, q:] = self.centred(mixed.toarray() if is_sparse(mixed) else mixed)
            H[q:, :s] = H[:s, q:].T
        if loss.cross is not None:
            t = q - 1
            H[t, t] = loss.tie_curvature
            H[t, q:] = H[q:, t] = self.features.transpose_multiply(self.votes.item_sums(point.scale * loss.cross))
            if point.rows is not None:
                H[t, :t] = H[:t, t] = self.centred(point.rows.T @ loss.cross)
        return H

    @cached_property
    def _judge_rows(self) -> Sparse:
        """One at the judge of each row, shape (k, q')."""
        k, judges = len(self.votes.pairs), self.unknowns.judges
        places = self.votes.judge + judges.start
        return sparse.csr_array((np.ones(k), places, np.arange(k + 1)), shape=(k, self.unknowns.covariates.stop))

    def hessian_multiply(self, point: VotePoint, v: Float, *, bent: bool = False) -> tuple[Float, Float]:
        """Return the product of the Hessian of the loss with v (p,), and Φ times its part for w, O(nnz + k) time."""
        q, loss = self.unknowns.size, point.loss
        v_scores = self.features.multiply(v[q:])
        apart = point.scale * self.votes.differences(v_scores)
        moved, turned, product = apart, 0.0, np.zeros_like(v)
        if point.rows is not None:
            effects = self.centred(v[: point.rows.shape[1]])
            moved = apart + point.rows @ effects
            if bent:
                by_judge = self._judge_rows @ effects
                turned = loss.gradient * point.slope * by_judge
                again = loss.gradient * (point.slope * apart + point.scaled * point.bend * by_judge)
                again = self._judge_rows.T @ again
                product[: len(effects)] = self.centred(again)
        forces = loss.curvature * moved
        if loss.cross is not None:
            forces = forces + loss.cross * v[q - 1]
            product[q - 1] = float(loss.cross @ moved) + loss.tie_curvature * v[q - 1]
        product[q:] = self.features.transpose_multiply(self.votes.item_sums(point.scale * (forces + turned)))
        if point.rows is not None:
            product[: point.rows.shape[1]] += self.centred(point.rows.T @ forces)
        return product, v_scores

    def hessian_diagonal(self, point: VotePoint) -> Float:
        """Return the diagonal of the Hessian, for a preconditioner; for scales without their centring."""
        q = self.unknowns.size
        diagonal = np.zeros(self.size)
        diagonal[q:] = self.features.gram_diagonal(self.votes.graph(self.item_weights(point)))
        if point.rows is not None:
            diagonal[: point.rows.shape[1]] = point.rows.power(2).T @ point.loss.curvature
        if self.unknowns.davidson:
            diagonal[q - 1] = point.loss.tie_curvature
        return diagonal

    def rounding(self, x: Float, f: Float, point: VotePoint) -> tuple[float, Float]:
        """Bound the rounding errors of the loss, and of each entry of its gradient.

        Shapes: returns (p,).
        """
        q, votes, loss = self.unknowns.size, self.votes, point.loss
        scale = point.scale
        largest = float(self._magnitudes @ np.abs(x[q:]))
        # By 32 roundings at most scores that were kept up to date differ from those computed anew.
        score_error = sum_error(self.features.longest_row + 32) * largest
        ends = np.abs(f)[votes.head] + np.abs(f)[votes.tail]
        error = scale * (2.0 * score_error + sum_error(8) * ends) + sum_error(8) * np.abs(point.eta)
        if point.rows is not None:
            error = error + sum_error(8 + point.rows.shape[1]) * (abs(point.rows) @ np.abs(x[: point.rows.shape[1]]))
        value, of_rows = loss_errors(votes, loss, point.eta, self.unknowns.theta(x[:q]), error)
        g = np.abs(loss.gradient)
        terms = votes.item_totals(np.ones(len(g)))
        by_item = votes.item_totals(scale * of_rows) + sum_error(terms.max() + 8) * votes.item_totals(scale * g)
        by_item += sum_error(self._column_terms + 4) * np.abs(point.items)
        errors = np.empty(self.size)
        errors[q:] = self._absolute_transpose(by_item)
        if point.rows is not None:
            s = point.rows.shape[1]
            errors[:s] = abs(point.rows).T @ (of_rows + sum_error(len(g) + 8) * g)
        if self.unknowns.davidson:
            errors[q - 1] = float(of_rows.sum()) + sum_error(len(g) + 8) * float(votes.total.sum())
        return value, errors

    @cached_property
    def _magnitudes(self) -> Float:
        return self.features.column_magnitudes()

    @cached_property
    def _column_terms(self) -> int:
        """The largest number of terms in a product with a column of Φ."""
        X = self.features.X
        if not is_sparse(X):
            return self.features.n_items
        counts = np.diff(X.indptr) if X.format == "csc" else np.bincount(X.indices, minlength=1)
        return int(counts.max(initial=0))

    def _absolute_transpose(self, v: Float) -> Float:
        """Return ``|Φ|ᵀ v``, in blocks for a dense Φ."""
        X = self.features.X
        if is_sparse(X):
            return np.asarray(abs(X).T @ v, dtype=np.float64)
        total = np.zeros(X.shape[1])
        for rows in row_slices(X):
            total += np.abs(X[rows]).T @ v[rows]
        return total


# Vote precision -------------------------------------------------------------------------------------------------------
#
# The precision matrix of the coefficients of a model of votes, and its inverse.
#
# ``A = Φᵀ Dᵀ diag(w) D Φ + diag(q)``: row e of D is one at the first item of a row of votes and minus one at the
# second, w is the curvature of the votes, q the precision of the prior. Few coefficients have a dense inverse. For
# many, A is never formed: with standard normal ε and ε', the solution of
#
# ``A x = Φᵀ Dᵀ (sqrt(w) ε) + sqrt(q) ε'``
#
# by conjugate gradients is a draw from ``N(0, A⁻¹)`` [PY10]_. A variance is then estimated from what a draw says about
# a coefficient given all others, ``x_i - y_i / A_ii`` for the right-hand side y: ``1 / A_ii`` plus the variance of this
# is far less noisy than the variance of the draws where A is nearly diagonal.

INVERSE_LIMIT = 1_000
"""Up to so many coefficients the inverse is formed."""

DRAWS = 64
"""How many draws stand for the inverse beyond that: standard errors are right to a few per cent."""


class KnownCovariance:
    """The covariance of the scores of all items, shape (m, m), and what follows from it."""

    covariance: Any

    def difference_variances(self, first: Index, second: Index) -> Float:
        """Return the variances of differences of scores."""
        S = self.covariance
        return np.asarray(np.maximum(S[first, first] + S[second, second] - 2.0 * S[first, second], 0.0))

    def score_covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items."""
        return np.asarray(self.covariance[np.ix_(items, items)])

    def centred_variances(self, centre: Index) -> Float:
        """Return the variances of all scores, less the mean score of the items `centre`."""
        mean = self.covariance[:, centre].mean(axis=1)
        return np.asarray(np.maximum(np.diagonal(self.covariance) - 2.0 * mean + mean[centre].mean(), 0.0))


class GivenCovariance(KnownCovariance):
    """A covariance that was computed elsewhere."""

    def __init__(self, covariance: Float) -> None:
        self.covariance = covariance


class DensePrecision(KnownCovariance):
    """The precision matrix A as a dense array, with its inverse, for Φ = (X, I).

    O(p³) time, O(p²) memory.

    Shapes: X (m, n), weight (k,), prior (n + m,).
    """

    def __init__(self, X: Float, votes: Votes, weight: Float, prior: Float) -> None:
        self.X, self.votes = X, votes
        m, n = X.shape
        A = np.empty((n + m, n + m))
        A[n:, n:] = votes.laplacian(weight)
        A[n:, :n] = A[n:, n:] @ X
        A[:n, n:] = A[n:, :n].T
        A[:n, :n] = X.T @ A[n:, :n]
        A[np.diag_indices(n + m)] += prior
        factor = factorise(A)
        inverse, _ = lapack.dpotri(factor, lower=0)
        self.inverse = np.triu(inverse) + np.triu(inverse, 1).T
        self.log_det = -2.0 * float(np.log(np.diagonal(factor)).sum())  # that of the inverse

    def solve(self, b: Float) -> Float:
        """Return ``A⁻¹ b``."""
        return np.asarray(self.inverse @ b)

    def coefficient_variances(self) -> Float:
        """Return the diagonal of the inverse."""
        return np.diagonal(self.inverse).copy()

    @cached_property
    def covariance(self) -> Float:
        """The covariance of the scores of all items, ``Φ A⁻¹ Φᵀ``."""
        X, n = self.X, self.X.shape[1]
        half = X @ (self.inverse[:n, n:] + 0.5 * self.inverse[:n, :n] @ X.T)
        return np.asarray(self.inverse[n:, n:] + half + half.T)

    def pair_variances(self) -> Float:
        """Return the variance of the difference of each row of votes."""
        return self.votes.difference_variances(self.covariance)


class SampledPrecision:
    """The precision matrix A, known by its products with vectors, and random draws from the normal distribution.

    O((nnz + k) draws) time for each step of conjugate gradients, O((m + k) draws) memory.
    """

    def __init__(
        self, features: ColumnFeatures, votes: Votes, weight: Float, prior: Float, *, seed: int, draws: int = DRAWS
    ) -> None:
        self.features, self.votes, self.weight, self.prior = features, votes, weight, prior
        self.seed, self.n_draws = seed, draws
        self.graph = votes.graph(weight)
        self.diagonal = features.gram_diagonal(self.graph) + prior

    @property
    def _n_shared(self) -> int:
        """How many columns are not those of single items."""
        return self.features.n_columns - self.features.n_items

    def solve(self, b: Float) -> Float:
        """Return ``A⁻¹ b``, for one column or several."""
        right = b[:, None] if b.ndim == 1 else b
        operator = Operator(self._multiply, lambda v: v, right, by_diagonal(self.diagonal), lambda x: x)
        solved = np.asarray(ConjugateGradient(1e-6).solve(operator, 0.0).unknowns)
        return solved[:, 0] if b.ndim == 1 else solved

    def _multiply(self, c: Float) -> Float:
        product = self.features.transpose_multiply(self.graph.apply(self.features.multiply(c)))
        return product + self.prior[:, None] * c

    @cached_property
    def _drawn(self) -> tuple[Float, Float]:
        """The right-hand sides y and the draws x."""
        random = np.random.default_rng(self.seed)
        votes, size = self.votes, (len(self.weight), self.n_draws)
        pushed = np.sqrt(self.weight)[:, None] * random.standard_normal(size)
        y = self.features.transpose_multiply(np.asarray(votes.incidence.T @ pushed))
        y = y + np.sqrt(self.prior)[:, None] * random.standard_normal(y.shape)
        return y, self.solve(y)

    def coefficient_variances(self) -> Float:
        """Return estimates of the diagonal of the inverse."""
        y, x = self._drawn
        return np.asarray(1.0 / self.diagonal + _mean_square(x - y / self.diagonal[:, None]))

    def pair_variances(self) -> Float:
        """Return estimates of the variances of the differences of the rows of votes."""
        f = self.features.multiply(self._drawn[1])
        return _mean_square(f[self.votes.head] - f[self.votes.tail])

    def difference_variances(self, first: Index, second: Index) -> Float:
        """Return the variances of differences of scores; of many, estimates from the draws."""
        if len(first) <= DRAWS:
            units = np.zeros((self.features.n_items, len(first)))
            units[first, np.arange(len(first))] = 1.0
            units[second, np.arange(len(first))] -= 1.0
            right = self.features.transpose_multiply(units)
            return np.asarray(np.einsum("ij,ij->j", right, self.solve(right)))
        f = self.features.multiply(self._drawn[1])
        found = [_mean_square(f[first[part]] - f[second[part]]) for part in _parts(len(first))]
        return np.concatenate(found)

    def score_covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items, one system for each."""
        units = np.zeros((self.features.n_items, len(items)))
        units[items, np.arange(len(items))] = 1.0
        right = self.features.transpose_multiply(units)
        found = right.T @ self.solve(right)
        return np.asarray((found + found.T) / 2.0)

    def centred_variances(self, centre: Index) -> Float:
        """Return estimates of the variances of all scores, less the mean score of the items `centre`."""
        y, x = self._drawn
        f = self.features.multiply(x)
        alone = 1.0 / self.diagonal[self._n_shared :]
        rest = f - y[self._n_shared :] * alone[:, None] - f[centre].mean(axis=0)
        return np.asarray(alone + _mean_square(rest))


VotePrecision: TypeAlias = DensePrecision | SampledPrecision


def precision_of(
    features: ColumnFeatures, votes: Votes, weight: Float, prior: Float, *, seed: int = 0, draws: int = DRAWS
) -> VotePrecision:
    """Return the precision as a dense matrix, or by products and draws if it is large."""
    if features.n_columns <= INVERSE_LIMIT:
        shared = features.X[:, : features.n_columns - features.n_items]
        X: Float = np.asarray(shared.toarray() if is_sparse(shared) else shared)
        return DensePrecision(X, votes, weight, prior)
    return SampledPrecision(features, votes, weight, prior, seed=seed, draws=draws)


def _mean_square(draws: Float) -> Float:
    return np.asarray(np.einsum("ij,ij->i", draws, draws) / draws.shape[1])


def _parts(count: int) -> list[slice]:
    return [slice(start, start + 65_536) for start in range(0, count, 65_536)]
