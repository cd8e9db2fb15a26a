"""Conjugate gradients: only products with the features and the Laplacian, for large sparse data and many pairs.

The primal operator is ``w ↦ Φᵀ(L(Φ w)) + alpha w``, preconditioned by its diagonal when the columns are stored.
Columns of counts differ by orders of magnitude in size, centred or not, which the diagonal compensates. With
more columns than items the operator has a large eigenspace with the eigenvalue alpha, which plain conjugate gradients
resolve in one step, but not with a diagonal: there it is used only if the columns differ much.

In the dual, ``L K + alpha I`` is not symmetric, but it is self-adjoint in the inner product ``⟨u, v⟩ = uᵀ K v``.
Keeping ``K r`` and ``K p`` beside the residual r and the direction p, each step still costs one product with K and
one with L, no root of L is needed, and the conditioning is that of ``L K + alpha I`` rather than its square.

**When to stop.** What matters is the error of the scores inside queries, relative to their spread, ``‖C(f - f*)‖ / ‖C
f*‖``, and not the residual, which is smaller by orders of magnitude where the problem is ill-conditioned. With
``A = Φᵀ L Φ + alpha I`` and the error x - x* of the unknowns, ``‖C(f - f*)‖ ≤ ‖x - x*‖_A``, in the dual form as well.
Step j takes ``γ_j r_jᵀ z_j`` off the square of that norm, so the error is the sum of what later steps will take off.
Two stretches of the last steps of equal length took off s₀ and s₁: at that rate ``s₁ ρ / (1 - ρ)``, ``ρ = s₁ / s₀``, is
left. The spread comes from the same sums, ``‖x‖²_A = Σ_j γ_j r_jᵀ z_j`` and ``‖C f‖² = ‖x‖²_A - alpha ‖x‖²``. In the
dual form with a root of L (`NystromConjugateGradient`) the residual itself bounds the error of the scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.progress import count_iteration, working
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError, NotConverged
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver, Step

__all__ = ["LEAST_WAIT", "ConjugateGradient", "Operator", "Precondition", "differ_much", "inner_products", "iterate"]

UNEVEN = 30.0
"""Columns differ much where the largest squared length is so many times the median."""

STRETCH = 5
"""The fewest steps from which the rate is estimated at which the error falls; for twice as many steps there is none."""

SURE = 1e-10
"""A relative residual that ends the iteration where the error is not estimated yet."""

SMALLEST = 1e-15
"""A relative residual that is all rounding."""

LEAST_WAIT, WAIT = 16, 0.1
"""So many steps, and that share of those that are worth while, are made before the iteration may be given up."""

Precondition: TypeAlias = Callable[[float], Callable[[Float], Float]]
"""From alpha to a function that nearly divides by ``A + alpha I``."""


@dataclass(frozen=True)
class Operator:
    """A self-adjoint operator (before alpha is added), its inner product, and the map back to coefficients.

    Parameters
    ----------
    multiply : callable
        Maps ``metric(V)`` to ``A V``.
    metric : callable
        V itself in the primal; ``K V`` in the dual.
    b : ndarray, shape (size, outputs)
    precondition : callable or None
        From alpha to a function that nearly divides by ``A + alpha I``, in the plain inner product.
    back : callable
        From the solution to the coefficients of the feature map.
    energy : bool, default=True
        Whether the error of the scores is at most that of the solution in the norm of the operator; if not, it is at
        most the residual.
    """

    multiply: Callable[[Float], Float]
    metric: Callable[[Float], Float]
    b: Float
    precondition: Precondition | None
    back: Callable[[Float], Float]
    energy: bool = True


@dataclass(frozen=True)
class ConjugateGradient(Solver[Operator]):
    """Iterate until the scores of every output are known to `tol`.

    Parameters
    ----------
    tol : float, default=1e-10
        The relative error of the scores at which an output is done, as it is estimated.
    max_iter : int, optional
        The largest number of iterations; ten times the number of unknowns unless given.

    Notes
    -----
    Each step costs O(nnz outputs) for features in columns, O(m² outputs) for a full kernel. All outputs go through
    one product with the features together, and those that are done leave.
    """

    tol: float = 1e-10
    max_iter: int | None = None
    name: str = field(init=False, default="conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> Operator:
        """Collect the products; nothing is computed but the diagonal of the operator."""
        if features.columns is not None:
            columns = features.columns.shifted_features(comparisons)
            precondition = None
            if columns.stored:
                diagonal = columns.gram_diagonal(comparisons)
                useful = columns.primal is not None or differ_much(diagonal)
                precondition = by_diagonal(diagonal) if useful else None
            return Operator(
                lambda w: columns.transpose_multiply(comparisons.apply(columns.multiply(w))),
                lambda w: w,
                columns.transpose_multiply(comparisons.target()),
                precondition,
                columns.from_primal,
            )
        return Operator(comparisons.apply, features.kernel_multiply, comparisons.target(), None, features.from_dual)

    def solve(
        self, state: Operator, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> Solution:
        """Solve for one alpha, from `start` if it is given; `step` is called after each iteration."""
        return self.attempt(state, alpha, start, step)[0]

    def attempt(
        self, state: Operator, alpha: float, start: Float | None, step: Step | None, worth: float = np.inf
    ) -> tuple[Solution, bool]:
        """Solve, or give up if that is expected to take more than `worth` steps.

        Returns
        -------
        solution : Solution
        ended : bool
            Whether the scores are known to `tol`, `max_iter` was reached, which warns, or `step` stopped the iteration.
        """
        max_iter = 10 * len(state.b) if self.max_iter is None else self.max_iter
        with working("conjugate gradients"):
            x, n_iter, residual, error, stopped = iterate(state, alpha, start, self.tol, max_iter, step, worth)
        if error > self.tol and n_iter == max_iter:
            warnings.warn(
                f"conjugate gradients stopped after {n_iter} iterations with a relative residual of "
                f"{residual:.2g} and a relative error of the scores of {error:.1g}, above tol={self.tol:g}. "
                "Scale the columns of X to similar sizes (MaxAbsScaler keeps zeros), raise alpha, max_iter or "
                "tol, or use solver='cholesky' if a matrix of the smaller side of X fits into memory",
                NotConverged,
                stacklevel=3,
            )
        return Solution(state.back(x), x, n_iter, residual), error <= self.tol or n_iter == max_iter or stopped


def iterate(
    operator: Operator,
    alpha: float,
    start: Float | None,
    tol: float,
    max_iter: int,
    step: Step | None = None,
    worth: float = np.inf,
) -> tuple[Float, int, float, float, bool]:
    """Run preconditioned conjugate gradients on all outputs at once.

    They give up where they promise to take more than `worth` steps.

    Returns
    -------
    x : ndarray, shape (size, outputs)
    n_iter : int
    residual, error : float
        The largest relative residual, and the largest estimate of the error of the scores.
    stopped : bool
        Whether `step` stopped the iteration.
    """
    b = operator.b
    divide = None if operator.precondition is None else operator.precondition(alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _norm(b, operator.metric(b))
    if not np.all(np.isfinite(scale)):
        raise InvalidInputError(
            "the squares that conjugate gradients need overflow (limit 1.8e+308): y or X has values that are "
            "too large. Divide them by a constant, or use solver='cholesky'"
        )
    scale[scale == 0] = 1.0
    x = np.zeros_like(b) if start is None else np.array(start, dtype=np.float64)
    r = b if start is None else b - operator.multiply(operator.metric(x)) - alpha * x
    z = r if divide is None else divide(r)
    metric_z = operator.metric(z)
    residual = _norm(r, r if divide is not None else metric_z) / scale
    active = np.flatnonzero(residual > min(tol, SURE))
    error = _ScoreError(operator, alpha, x, residual)
    plain = metric_z is z  # the inner product is the plain one
    r, p, size = r[:, active], z[:, active], inner_products(r, metric_z)[active]
    metric_p = p if plain else metric_z[:, active]
    n_iter, stopped = 0, False
    while len(active) and n_iter < max_iter:
        n_iter += 1
        product = operator.multiply(metric_p)
        product = product + alpha * p
        curvature = inner_products(metric_p, product)
        # An output whose direction has no length left is as exact as rounding allows; it takes no step.
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        if len(active) == x.shape[1]:
            x += length * p
        else:
            x[:, active] += length * p
        product *= length
        r -= product
        z = r if divide is None else divide(r)
        metric_z = z if plain else operator.metric(z)
        residual[active] = _norm(r, r if divide is not None else metric_z) / scale[active]
        known = error.after(active, length * size, x, residual)
        count_iteration()
        stopped = step is not None and step(n_iter, float(residual.max()))
        if stopped:
            break
        if n_iter >= max(LEAST_WAIT, WAIT * worth) and n_iter % 8 == 0 and n_iter + error.steps_left(tol) > worth:
            break
        going = (known[active] > tol) & (residual[active] > SMALLEST) & (length > 0)
        growth = np.divide(inner_products(r, metric_z), size, out=np.zeros_like(size), where=size > 0)
        size = size * growth
        p *= growth
        p += z
        if not plain:
            metric_p = metric_z + growth * metric_p
        if not going.all():
            active, r, p, size = active[going], r[:, going], p[:, going], size[going]
            metric_p = p if plain else metric_p[:, going]
    return x, n_iter, float(residual.max(initial=0.0)), float(error.known.max(initial=0.0)), stopped


class _ScoreError:
    """The error of the scores of each output, relative to their spread: an estimate that follows the steps.

    Parameters
    ----------
    operator : Operator
    alpha : float
    x : ndarray, shape (size, outputs)
        Where the steps begin.
    residual : ndarray, shape (outputs,)
    """

    def __init__(self, operator: Operator, alpha: float, x: Float, residual: Float) -> None:
        self.operator, self.alpha = operator, alpha
        self.known = residual.copy()
        self.begin = (
            inner_products(operator.metric(x), operator.multiply(operator.metric(x)) + alpha * x) if x.any() else 0.0
        )
        self.total = np.zeros(len(residual))  # what all steps took off the squared error
        self.gains: list[Float] = []  # the same, step by step: differences of running sums would lose the small ones
        self.decay = np.zeros(len(residual))  # the logarithm of the error, for each step

    def after(self, active: Index, gain: Float, x: Float, residual: Float) -> Float:
        """Return the errors after one more step, which took `gain` off those of the active outputs."""
        self.gains.append(np.zeros(len(self.total)))
        self.gains[-1][active] = gain
        self.total += self.gains[-1]
        n_iter = len(self.gains)
        if not self.operator.energy:
            self.known[active] = residual[active]
            return self.known
        if n_iter < 2 * STRETCH:
            self.known[active] = np.where(residual[active] <= SURE, residual[active], 1.0)
            return self.known
        if n_iter % max(1, n_iter // 100):
            return self.known
        stretch = max(STRETCH, n_iter // 10)
        later = np.sum(self.gains[-stretch:], axis=0)
        earlier = np.sum(self.gains[-2 * stretch : -stretch], axis=0)
        rate = np.minimum(np.divide(later, earlier, out=np.ones_like(later), where=earlier > 0), 0.999)
        left = later * rate / (1.0 - rate)
        energy = np.maximum(self.total, self.begin)
        spread = np.maximum(energy - self.alpha * inner_products(x, self.operator.metric(x)), 1e-3 * energy)
        estimate = np.sqrt(np.divide(left, spread, out=np.zeros_like(left), where=spread > 0))
        self.known[active] = estimate[active]
        self.decay[active] = np.log(np.maximum(rate[active], SMALLEST)) / (2.0 * stretch)
        return self.known

    def steps_left(self, tol: float) -> float:
        """Return how many more steps there will be at the lesser of the present rate and the mean rate."""
        level = np.log(np.maximum(self.known, SMALLEST))
        decay = np.maximum(self.decay, level / len(self.gains))
        steps: Float = (np.log(max(tol, SMALLEST)) - level) / np.minimum(decay, -1e-9)
        return float(steps.max())


def differ_much(diagonal: Float) -> bool:
    """Whether the squared lengths of columns differ by orders of magnitude."""
    return float(diagonal.max(initial=0.0)) > UNEVEN * float(np.median(diagonal))


def by_diagonal(diagonal: Float) -> Precondition:
    """Divide by the diagonal of the operator."""

    def divide_by(alpha: float) -> Callable[[Float], Float]:
        inverse = (1.0 / (diagonal + alpha))[:, None]
        return lambda r: r * inverse

    return divide_by


def _norm(U: Float, metric_U: Float) -> Float:
    """Return the norm of each column in the metric; what lies in the null space of a singular kernel has none."""
    return np.sqrt(np.maximum(inner_products(U, metric_U), 0.0))


def inner_products(U: Float, V: Float) -> Float:
    """Return the inner product of each column of U with that of V."""
    if U.shape[1] == 1:  # BLAS is many times as fast over vectors
        return np.asarray(U[:, 0] @ V[:, 0])[None]
    product: Float = np.einsum("ij,ij->j", U, V)
    return product
