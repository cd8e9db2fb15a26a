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

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack, qr, solve_triangular

from kernelrank.base.arrays import Float, is_sparse, one_thread
from kernelrank.base.progress import count_iteration
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError, NotConverged
from kernelrank.features import ColumnFeatures, ExplicitFeatures, Features
from kernelrank.hinge.pairs import ListedPairs, LossPoint, PairLoss, Pairs, ScoredPairs, sum_error
from kernelrank.solvers.base import Solution, Solver, Step

STEPS = 32
"""By how many roundings scores that were kept up to date may differ from those computed anew."""


@dataclass(frozen=True)
class Certificate:
    """What is proved about w."""

    objective: float
    gap: float


@dataclass(frozen=True)
class Plane:
    """A plane ``offset + slope · w`` that lies below the loss, up to rounding.

    Shapes: slope (r,), slope_error (r,).
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

    Shapes: gradient (m,).
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

    One product with Φ, and once for a problem a search for the largest feature in each column. Sharp bounds take two
    sweeps of the pairs more.
    """

    problem: PairProblem
    loss: PairLoss
    alpha: float
    enough: float

    def by_plane(self, w: Float, scores: Float, point: LossPoint, plane: Callable[[float], Plane]) -> Certificate:
        """Prove by a plane how far w is from the minimum."""
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
    """Prove a gap of `tol`, with rounding errors bounded by a tenth of it if that suffices, else sharply."""
    found = certify(Proof(problem, loss, alpha, 0.1 * tol))
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


# Pair problem ---------------------------------------------------------------------------------------------------------
#
# The problem of a pairwise loss, ``loss(Φ w) + alpha ‖w‖²``, and certified solutions.

GRAM_COLUMNS = 1_000
"""Up to so many dense columns the Gram matrix of all pairs preconditions; beyond, its diagonal does."""

WIDE, WIDE_BYTES = 2, 2**30
"""With more than so many times as many columns as items, the problem is solved in the span of the items first, while a
basis of it takes no more memory than that."""

MANY_QUERIES = 1_000
"""From so many queries on a sample takes whole queries, below it takes items."""


@dataclass(frozen=True)
class CertifiedSolution(Solution):
    """A solution with a certificate: a proven bound on its distance from the minimum."""

    objective: float = field(default=np.nan)
    gap: float = field(default=np.inf)


class PairProblem:
    """Features and pairs, ready for every alpha.

    O(m log m) time; the Gram matrix is computed on first use, O(m r²).
    """

    def __init__(self, features: Features, comparisons: Comparisons) -> None:
        if features.columns is None:
            raise TypeError("a pairwise loss needs explicit features: map the kernel to features first")
        self.features: ColumnFeatures = features.columns
        self.comparisons = comparisons
        self.pairs: Pairs = pairs_of(comparisons)
        self._gram: Float | None = None

    @property
    def size(self) -> int:
        """The number of unknowns, r."""
        return self.features.n_columns

    @cached_property
    def stored(self) -> int:
        """The number of stored features."""
        X = self.features.X
        return int(X.nnz) if is_sparse(X) else self.size * self.features.n_items

    @cached_property
    def row_terms(self) -> int:
        """The largest number of stored features of an item: the terms of a score."""
        return self.features.longest_row

    @cached_property
    def magnitudes(self) -> Float:
        """The largest absolute value in each column of Φ, shape (r,)."""
        return self.features.column_magnitudes()

    def threads(self) -> AbstractContextManager[object]:
        """Return a context in which a small problem has one thread: waking a second costs more than its products."""
        return one_thread() if self.size * self.features.n_items <= 2**20 else nullcontext()

    def sample(self, share: float) -> PairProblem | None:
        """Return the problem of a random share of the items, whole queries where there are many; None if none is left.

        The same items are drawn each time. Their features are copied; the problem itself is left as it is.
        """
        graph, features = self.comparisons, self.features
        if graph.queries is None:
            return None  # of listed pairs, few would have both ends in a sample
        rng = np.random.default_rng(0)
        if graph.n_queries >= MANY_QUERIES:
            kept = (rng.random(graph.n_queries) < share)[graph.queries.codes]
        else:
            kept = rng.random(graph.n_items) < share
        part = graph.without(np.flatnonzero(~kept))
        return None if part.n_pairs == 0 else PairProblem(features.part(np.flatnonzero(kept)), part)

    @cached_property
    def turned(self) -> tuple[PairProblem, ItemSpan] | None:
        """The same problem in the span of the items, and an orthonormal basis of that; None unless Φ is dense and wide.

        With ``Φᵀ = Q R`` the scores are ``Φ w = Rᵀ v`` for ``w = Q v``, and ``‖w‖ = ‖v‖``. What is orthogonal to Q
        changes no score. O(m² r) time; m² numbers, and m × r where the items are nearly dependent.
        """
        m, X = self.features.n_items, self.features.X
        wide = WIDE * m < self.size and m <= GRAM_COLUMNS and 8 * m * self.size <= WIDE_BYTES
        if not wide or not isinstance(X, np.ndarray):
            return None
        span, R = ItemSpan.of(X)
        return PairProblem(ExplicitFeatures(np.ascontiguousarray(R.T)), self.comparisons), span

    def begin(self, start: Float | None) -> Float:
        """Return the vector to start from, shape (r,)."""
        return np.zeros(self.size) if start is None else np.array(start, dtype=np.float64).reshape(self.size)

    def preconditioner(self, trace: float, alpha: float) -> Callable[[Float], Float]:
        """Return the inverse of ``s Φᵀ L Φ + 2 alpha I``, or of its diagonal, as a function.

        L is the Laplacian of all pairs. A Hessian that takes some of them only, with a certain trace,
        resembles it but for the factor s.
        """
        scale = trace / (2.0 * self.pairs.total)
        if self.features.sparse or self.size > min(GRAM_COLUMNS, self.features.n_items):
            if self._gram is None:
                self._gram = self.features.gram_diagonal(self.comparisons)
            inverse = 1.0 / (scale * self._gram + 2.0 * alpha)
            return lambda v: inverse * v
        if self._gram is None:
            self._gram = self.features.gram(self.comparisons)
        factor = cho_factor(scale * self._gram + 2.0 * alpha * np.eye(self.size), overwrite_a=True, check_finite=False)
        return lambda v: np.asarray(cho_solve(factor, v, check_finite=False))

    def solution(self, w: Float, n_iter: int, objective: float, gap: float) -> CertifiedSolution:
        """Return a solution in the coefficients of the feature map."""
        column = w[:, None]
        return CertifiedSolution(self.features.from_primal(column), column, n_iter, gap, objective, gap)


@dataclass(frozen=True)
class ItemSpan:
    """An orthonormal basis Q (n × m) of the span of wide items, ``Q = Xᵀ R⁻¹``, which need not be formed.

    Shapes: rows (m, n), factor (m, m).
    """

    rows: Float
    factor: Float | None

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]]) -> tuple[ItemSpan, Float]:
        """Return the basis and R with ``Xᵀ = Q R``: from a factor of ``X Xᵀ``, or where that loses digits of X itself.

        O(m² n) time.
        """
        rows = X.astype(np.float64, copy=False)
        gram = rows @ rows.T
        norm = float(np.abs(gram).sum(axis=0).max())
        factor, failed_at = lapack.dpotrf(gram, clean=1)
        # With this reciprocal condition number, a factor of the Gram matrix keeps ten digits.
        if failed_at == 0 and lapack.dpocon(factor, norm)[0] >= 1e-6:
            return cls(rows, factor), factor
        Q, R = qr(X.T.astype(np.float64), overwrite_a=True, mode="economic", check_finite=False)
        return cls(Q.T, None), R

    def weights(self, v: Float) -> Float:
        """Return ``Q v``."""
        inner = v if self.factor is None else solve_triangular(self.factor, v, check_finite=False)
        return np.asarray(self.rows.T @ inner)

    def coordinates(self, w: Float) -> Float:
        """Return ``Qᵀ w``."""
        inner: Float = self.rows @ w
        if self.factor is None:
            return inner
        return np.asarray(solve_triangular(self.factor, inner, trans="T", check_finite=False))


class PairSolver(Solver[PairProblem]):
    """A solver of problems with a pairwise loss."""

    def prepare(self, features: Features, comparisons: Comparisons) -> PairProblem:
        """Collect the pairs of the comparison graph."""
        return PairProblem(features, comparisons)


def warn_of_gap(name: str, n_iter: int, gap: float, tol: float, *, exhausted: bool = False) -> None:
    """Warn that the optimality gap is above the tolerance."""
    advice = (
        "which is the limit of double precision here: raise tol or alpha, or scale the features"
        if exhausted
        else "raise max_iter, tol or alpha, or scale the features"
    )
    warnings.warn(
        f"{name} stopped after {n_iter} iterations with a duality gap of {gap:.2g} of the objective, above "
        f"tol={tol:g}: {advice}",
        NotConverged,
        stacklevel=4,
    )


def pairs_of(comparisons: Comparisons) -> Pairs:
    """Return the pairs that a graph compares, with their weights; magnitudes and ties are ignored."""
    listed = comparisons.listed_pairs()
    if listed is not None:
        return ListedPairs(comparisons.n_items, *listed)
    levels = comparisons.pair_levels()
    if levels is not None:
        return ScoredPairs(levels)
    if getattr(comparisons, "entry", None) is not None:
        raise InvalidInputError("RankSVM does not support entry times; use RankRLS, which does.")
    raise TypeError(f"a pairwise loss needs listed pairs or levels of items, which {comparisons!r} does not have")


# Line search ----------------------------------------------------------------------------------------------------------
#
# Search along a direction: the zero of the increasing slope of a convex objective is found by bracketing.
#
# No products with the features are needed: ``f(t) = p + t Φd``, and each slope costs one evaluation of the loss.

Point = TypeVar("Point")


class ConvexLine(Protocol[Point]):
    """A convex objective along a search direction; t is the step length."""

    def at(self, t: float) -> Point:
        """Evaluate what the slope needs."""

    def slope(self, t: float, point: Point) -> float:
        """Return the slope of the objective at t."""


@dataclass(frozen=True)
class Line:
    """The objective ``loss(p + t Φd) + alpha ‖w + t d‖²`` along d."""

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


def search(line: ConvexLine[Point], first: Point, t: float, enough: float = 0.3) -> tuple[float, Point]:
    """Find where the slope has fallen to a share of the first one, from at most twenty slopes."""
    low, high = 0.0, np.inf
    at_low = slope = line.slope(0.0, first)
    if not slope < 0:
        return 0.0, first
    at_high, kept, point = np.inf, 0, first
    for _ in range(20):
        point = line.at(t)
        found = line.slope(t, point)
        if abs(found) <= enough * abs(slope):
            return t, point
        if not np.isfinite(found):  # an overflow: the step is far too long
            high, at_high = t, np.inf
            t = low + (t - low) / 8.0
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
            t = low + (high - low) / 8.0
            continue
        t = (low * at_high - high * at_low) / (at_high - at_low)
        t = float(np.clip(t, low + 0.02 * (high - low), high - 0.02 * (high - low)))
    return t, line.at(t)


# Truncated system -----------------------------------------------------------------------------------------------------
#
# The system of a Newton step, solved by preconditioned conjugate gradients no further than the step needs.


def solve_roughly(
    hessian: Callable[[Float], tuple[Float, Float]],
    b: Float,
    precondition: Callable[[Float], Float],
    x_scores: Float,
    forcing: float,
    most: int,
) -> tuple[Float, Float]:
    """Solve ``H d = b`` from zero; also return Φ d, which each product has found on its way.

    Shapes: b (p,), x_scores (m,).
    """
    x = np.zeros_like(b)
    r, z = b, precondition(b)
    p, size = z, float(b @ z)
    first = size
    for _ in range(most):
        product, p_scores = hessian(p)
        curvature = float(p @ product)
        if not curvature > 0:
            break
        length = size / curvature
        x, x_scores = x + length * p, x_scores + length * p_scores
        r = r - length * product
        z = precondition(r)
        previous, size = size, float(r @ z)
        if size <= forcing**2 * first:
            break
        p = z + (size / previous) * p
    return x, x_scores
