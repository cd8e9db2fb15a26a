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
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from kernelrank.base.arrays import Float, Index, Sparse, is_full, is_sparse, one_thread, weighted_squares
from kernelrank.base.progress import count_iteration, working
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError, NotConverged
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver, Step
from kernelrank.solvers.direct import Cholesky, spectrum

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

    Shapes: b (size, outputs).
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

    Shapes: returns x (size, outputs).
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

    Shapes: x (size, outputs), residual (outputs,).
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
    """Whether the largest squared length of a column is 30 times the median."""
    return float(diagonal.max(initial=0.0)) > 30.0 * float(np.median(diagonal))


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


# Nyström conjugate gradient -------------------------------------------------------------------------------------------
#
# Conjugate gradients preconditioned by a Nyström factor, for kernels and reduced sets too large to be factorised.
#
# The dual problem ``(C K Cᵀ + alpha I) x = T`` is solved with products by K alone, whose rows are computed in blocks
# and forgotten. Its conditioning, the largest eigenvalue over alpha, would take thousands of such products. A basis of
# a few items gives features Φ with ``Φ Φᵀ ≈ K``; with ``Z = C Φ`` and ``Zᵀ Z = V μ Vᵀ``, the matrix ``Z Zᵀ + alpha I``
# has nearly the same large eigenvalues, and dividing by it,
#
#     ``(Z Zᵀ + alpha I)⁻¹ r = (r - Z V (μ + alpha)⁻¹ Vᵀ Zᵀ r) / alpha``,
#
# costs O(m s) for s basis items. What is left are eigenvalues of the order of what the basis does not explain, over
# alpha. This is the preconditioner of Falkon [RCR17]_ on the whole kernel instead of a reduced one: the solution is
# exact to `tol`.
#
# A reduced set has the kernel ``K_MR K_RR⁻¹ K_RM``, whose products cost O(m r) through ``K_RR = Uᵀ U``; the few items
# are drawn from its basis then. What is saved are the O(m r²) of the normal equations: the factor U, O(r³/3), is the
# only step that is cubic, and none is more than linear in m.
#
# .. [RCR17] Rudi, Carratino and Rosasco (2017). FALKON: an optimal large scale kernel method. NIPS 30.


@dataclass(frozen=True)
class NystromConjugateGradient(ConjugateGradient):
    """Iterate on a full kernel or a reduced set, with a few items standing in for it in the preconditioner.

    Parameters
    ----------
    tol, max_iter
        As `ConjugateGradient`.
    size : int, default=1000
        The number of basis items of the preconditioner.

    Notes
    -----
    O(m s² + s³) time to prepare; each step O(m² n) for a full kernel, O(m r n) for a reduced set, and O(m s n) for the
    preconditioner. Memory: kernels of m × r while they take up to 4 GiB, of m × s up to 256 MiB, and blocks otherwise.
    """

    size: int = 1000
    name: str = field(init=False, default="nystrom_conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> Operator:
        """Factorise the kernel of a few items, and collect the products."""
        if not features.recomputable:
            raise InvalidInputError(
                f"solver={self.name!r} needs a nonlinear kernel or a basis: a linear or precomputed kernel "
                "without a basis is not supported"
            )
        reduced = features.on_few_items(self.size, np.random.RandomState(0))
        values, vectors = spectrum(reduced.gram(comparisons), np.inf)

        def divide(r: Float, alpha: float) -> Float:
            inner = vectors.T @ reduced.transpose_multiply(comparisons.centre_transpose(r))
            explained = comparisons.centre(reduced.multiply(vectors @ (inner / (values + alpha)[:, None])))
            difference: Float = (r - explained) / alpha
            return difference

        return Operator(
            lambda x: comparisons.centre(features.kernel_multiply(comparisons.centre_transpose(x))),
            lambda x: x,
            comparisons.root_target(),
            lambda alpha: lambda r: divide(r, alpha),
            lambda x: features.from_dual(comparisons.centre_transpose(x)),
            energy=False,
        )


# Sparse columns -------------------------------------------------------------------------------------------------------
#
# Sparse columns, one alpha: conjugate gradients, unless a factorisation costs less.
#
# Which of the two is faster depends on the number of steps, and that on the data: five where columns are alike,
# thousands where there are as many columns as items. So the iteration begins. When it has spent a tenth of what a
# factorisation costs, the rate at which its error falls promises a number of steps. If they cost more than the
# factorisation, that is done instead. Where a few columns hold most entries (raw term counts), an iteration that solves
# these exactly is between the two (the part “Heavy columns”).

PRODUCT, PER_VALUE, PER_STEP = 2.5e-9, 1.5e-8, 5e-5
"""Seconds of a step: for each stored entry, for each row and column, and for the step itself."""

PER_ENTRY, GRAM_ENTRY, CUBE = 1e-7, 4e-9, 2.2e-11
"""Seconds of a factorisation: for each stored entry, each product of two entries of one row, and the cube of its size.
"""

DENSE_ENTRY, DENSE_PRODUCT = 5e-9, 1e-10
"""Seconds of the normal equations from dense blocks, and of an inverse: for each entry, and for each product of two."""

HEAVY_STEPS, HEAVY_STEP = 1_500, 1.3
"""How many steps heavy columns are reckoned to take where others take thousands, and what one costs beside these."""

QUICK = 0.01
"""A factorisation that takes so many seconds is done without asking."""


@dataclass(frozen=True)
class SparseColumns(Solver["tuple[Features, Comparisons]"]):
    """Iterate as long as the estimated cost is below that of a Cholesky factorisation."""

    tol: float = 1e-5
    max_iter: int | None = None
    name: str = field(init=False, default="conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> tuple[Features, Comparisons]:
        """Keep features and graph; `solve` prepares what its method needs."""
        return features, comparisons

    def solve(
        self,
        state: tuple[Features, Comparisons],
        alpha: float,
        *,
        start: Float | None = None,
        step: Step | None = None,
        **_: object,
    ) -> Solution:
        """Iterate, factorise, or both."""
        features, comparisons = state
        n_outputs = comparisons.target().shape[1]
        worth = worthwhile_steps(features, n_outputs)
        heavy = self._heavy_steps(features, comparisons, n_outputs, worth)
        if worth > 0.0:
            iteration = ConjugateGradient(self.tol, self.max_iter)
            prepared = iteration.prepare(features, comparisons)
            solution, ended = iteration.attempt(prepared, alpha, start, step, min(worth, heavy))
            if not ended and heavy < worth:
                exact = HeavyColumns(self.tol, int(worth / HEAVY_STEP))
                solution, ended = exact.attempt(exact.prepare(features, comparisons), alpha, step)
            if ended:
                return solution
        direct = Cholesky()
        return replace(direct.solve(direct.prepare(features, comparisons), alpha, last=True), solver=direct.name)

    def _heavy_steps(self, features: Features, comparisons: Comparisons, n_outputs: int, worth: float) -> float:
        """Return how many steps cost as much as solving heavy columns exactly; infinite where that is not done."""
        if worth <= HEAVY_STEPS * HEAVY_STEP or self.max_iter is not None:
            return np.inf
        count = heavy_count(features, comparisons)
        assert is_sparse(features.items)
        equations = PER_ENTRY * features.items.nnz + DENSE_PRODUCT * count**3  # their sum, and its inverse
        return HEAVY_STEPS * HEAVY_STEP + equations / step_seconds(features, n_outputs) if count > 0 else np.inf


def step_seconds(features: Features, n_outputs: int) -> float:
    """Return how long a step of conjugate gradients takes, about."""
    X = features.items
    assert is_sparse(X)
    return float(n_outputs * (PRODUCT * X.nnz + PER_VALUE * sum(X.shape)) + PER_STEP)


def worthwhile_steps(features: Features, n_outputs: int) -> float:
    """Return how many steps cost as much as a factorisation; zero where that takes no time."""
    X = features.items
    assert is_sparse(X)
    rows = X if features.primal is not None else X.T  # whose entries are multiplied with each other
    major = rows.format == "csr"
    counts = np.diff(rows.indptr) if major else np.bincount(rows.indices, minlength=rows.shape[0])
    size = float(features.size)
    equations = PER_ENTRY * X.nnz + GRAM_ENTRY * float((counts.astype(np.float64) ** 2).sum())
    if is_full(X):
        equations = (DENSE_ENTRY + DENSE_PRODUCT * size) * X.shape[0] * X.shape[1]
    factorise = equations + CUBE * size**3
    worth = factorise / step_seconds(features, n_outputs)
    return 0.0 if factorise < QUICK or worth < LEAST_WAIT else worth


# Heavy columns --------------------------------------------------------------------------------------------------------
#
# Heavy columns: sparse data in which a few columns hold most entries, in the dual form.
#
# Raw term counts are such data: the frequencies of words fall as one over their rank, and documents differ in length.
# The diagonal of the primal form equalises the columns, but not the rows; with more columns than items it also changes
# the null space. So the k heaviest columns H are solved exactly, and the others, the light columns T, are approximated
# by their diagonal: with the root ``CᵀC = L`` and ``A = C X Xᵀ Cᵀ``, the system ``(A + alpha I) x = b`` is
# preconditioned by
#
#     ``M = D + (C H)(C H)ᵀ``,   ``D = alpha I + diag(C T Tᵀ Cᵀ)``,
#
# which Woodbury's identity inverts by a k × k matrix,
#
#     ``z = M⁻¹ r = D⁻¹(r - C H u)``,   ``S u = Hᵀ Cᵀ D⁻¹ r``,   ``S = I + Hᵀ Cᵀ D⁻¹ C H``.
#
# **Half of the products.** From these, ``Hᵀ Cᵀ z = Hᵀ Cᵀ D⁻¹ r - (S - I) u = u``: the product of z with the heavy
# columns, ``(C H)(C H)ᵀ z = C H u``, is known already. It follows the direction p as z does. So a step multiplies once
# with H, Hᵀ, T and Tᵀ each, no more entries than without a preconditioner.
#
# **Rounding.** u is known to as many digits as S keeps, and S has entries of the size of 1 / D. An item with heavy
# columns only would have D = alpha; so D is at least a hundredth of its mean. The true residual is computed at the end.
#
# **When to stop.** The error of the scores is ``A (A + alpha I)⁻¹ r``, no longer than the residual r.

MOST_HEAVY, HEAVY_BYTES = 1_000, 2**27
"""How many columns are solved exactly at most, and what they may take as a dense matrix."""

FEWEST_HEAVY = 100
"""With fewer, this takes longer than it saves."""

DRIFT = 3.0
"""The true residual may be so many times `tol` at the end."""


def heavy_count(features: Features, comparisons: Comparisons) -> int:
    """Return how many columns can be solved exactly; zero where that does not help.

    It helps where there are more columns than items, columns differ much in length, and a root of L has one row for
    each item.
    """
    columns, m = features.columns, features.n_items
    count = min(MOST_HEAVY, m // 8, HEAVY_BYTES // (8 * max(m, 1)))
    if features.primal is not None or columns is None or not comparisons.cheap_root or count < FEWEST_HEAVY:
        return 0
    if len(comparisons.root_squares()) != m:
        return 0
    return count if differ_much(columns.gram_diagonal(comparisons)) else 0


@dataclass(frozen=True)
class HeavySystem:
    """The columns taken apart, and what does not depend on alpha.

    Shapes: heavy, light (m, k), heavy_transposed, light_transposed (k, m), light_squares (m,).
    """

    features: Features
    comparisons: Comparisons
    heavy: Sparse
    light: Sparse
    heavy_transposed: Sparse
    light_transposed: Sparse
    light_squares: Float


@dataclass(frozen=True)
class HeavyColumns(Solver[HeavySystem]):
    """Iterate in the dual form, the heaviest columns solved exactly.

    To begin with O(k³) time and the products of entries of one row, k ≤ 1,000 columns being solved exactly; with ties
    left out O(m k²) time and m k numbers. Then O(nnz + k²) a step.
    """

    tol: float = 1e-5
    max_iter: int | None = None
    name: str = field(init=False, default="conjugate_gradient")

    def prepare(self, features: Features, comparisons: Comparisons) -> HeavySystem:
        """Take the columns apart by their squared lengths inside queries."""
        columns = features.columns
        assert columns is not None
        columns = columns.shifted_features(comparisons)
        assert is_sparse(columns.X)
        order = np.argsort(-columns.gram_diagonal(comparisons), kind="stable")
        count = heavy_count(features, comparisons)
        X = columns.X.tocsc().astype(np.float64, copy=False)
        if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:  # half of the bytes of an index
            X = sparse.csc_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        heavy, light = X[:, np.sort(order[:count])], X[:, np.sort(order[count:])]
        squares = comparisons.root_squares() * weighted_squares(np.ones(light.shape[1]), light.T)
        return HeavySystem(features, comparisons, heavy.tocsr(), light.tocsr(), heavy.T, light.T, squares)

    def solve(
        self, state: HeavySystem, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> Solution:
        """Solve for one alpha, from zero whatever `start` is."""
        del start
        return self.attempt(state, alpha, step)[0]

    def attempt(self, state: HeavySystem, alpha: float, step: Step | None = None) -> tuple[Solution, bool]:
        """Solve; return whether the scores are known to `tol`, or `step` stopped the iteration."""
        graph = state.comparisons
        with working("conjugate gradients"), one_thread():
            x, n_iter, stopped = self._iterate(state, alpha, step)
        a = graph.centre_transpose(x)
        assert state.features.columns is not None
        coefficients = state.features.from_dual(a)
        missed = graph.root_target() - alpha * x
        rest = missed - graph.centre(state.features.columns.multiply(coefficients))
        residual = _largest_ratio(_lengths(rest), _lengths(missed))
        return Solution(coefficients, coefficients, n_iter, residual), stopped or residual <= DRIFT * self.tol

    def _iterate(self, state: HeavySystem, alpha: float, step: Step | None) -> tuple[Float, int, bool]:
        """Return x, the number of steps, and whether `step` stopped them."""
        graph, light, light_transposed = state.comparisons, state.light, state.light_transposed
        divide = _Division(state, alpha)
        b = graph.root_target()
        x, r, whole = np.zeros_like(b), b.copy(), _lengths(b)
        p, heavy_p = divide(r)
        size = inner_products(r, p)
        n_iter = 0
        for n_iter in range(1, 1 + (10 * len(b) if self.max_iter is None else self.max_iter)):
            product = graph.centre(light @ (light_transposed @ graph.centre_transpose(p)))
            product += heavy_p
            product += alpha * p
            curvature = inner_products(p, product)
            length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
            x += length * p
            product *= length
            r -= product
            residual = _largest_ratio(_lengths(r), whole)
            if step is not None and step(n_iter, residual):
                return x, n_iter, True
            if residual <= self.tol and _largest_ratio(_lengths(r), _lengths(b - alpha * x)) <= self.tol:
                break
            z, heavy_z = divide(r)
            following = inner_products(r, z)
            growth = np.divide(following, size, out=np.zeros_like(size), where=size > 0)
            size = following
            for direction, new in ((p, z), (heavy_p, heavy_z)):
                direction *= growth
                direction += new
        return x, n_iter, False


class _Division:
    """``M⁻¹ r`` for one alpha, and its product with the heavy columns."""

    def __init__(self, state: HeavySystem, alpha: float) -> None:
        self.graph, self.heavy, self.transposed = state.comparisons, state.heavy, state.heavy_transposed
        squares = state.light_squares
        D = np.maximum(squares, 0.01 * squares.mean()) + alpha
        self.inverse_diagonal = (1.0 / D)[:, None]
        S = self.graph.root_gram(self.heavy, 1.0 / D).T  # symmetric, in the order that LAPACK overwrites
        S[np.diag_indices_from(S)] += 1.0
        factor, _ = lapack.dpotrf(S, overwrite_a=1)
        self.inverse, _ = lapack.dpotri(factor, overwrite_c=1)

    def __call__(self, r: Float) -> tuple[Float, Float]:
        right = self.transposed @ self.graph.centre_transpose(r * self.inverse_diagonal)
        one = right.shape[1] == 1
        u = blas.dsymv(1.0, self.inverse, right[:, 0])[:, None] if one else blas.dsymm(1.0, self.inverse, right)
        heavy = self.graph.centre(self.heavy @ u)
        z = r - heavy
        z *= self.inverse_diagonal
        return z, heavy


def _lengths(U: Float) -> Float:
    """Return the length of each column."""
    return np.sqrt(inner_products(U, U))


def _largest_ratio(lengths: Float, whole: Float) -> float:
    """Return the largest of the ratios; none counts where the whole is zero."""
    return float(np.divide(lengths, whole, out=np.zeros_like(whole), where=whole > 0).max())
