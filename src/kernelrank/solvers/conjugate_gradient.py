"""Conjugate gradients: only products with the features and the Laplacian, for large sparse data and many pairs.

The primal operator is ``w ↦ Φᵀ(L(Φ w)) + alpha w``, preconditioned by its diagonal when there are no more columns
than items and they are stored. With more columns than items it has a large eigenspace with the eigenvalue alpha, which
plain conjugate gradients find in one step and a diagonal preconditioner would tear apart.

In the dual, ``L K + alpha I`` is not symmetric, but it is self-adjoint in the inner product ``⟨u, v⟩ = uᵀ K v``.
Keeping ``K r`` and ``K p`` beside the residual r and the direction p, each step still costs one product with K and
one with L, no root of L is needed, and the conditioning is that of ``L K + alpha I`` rather than its square.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError, NotConverged
from kernelrank.features import Features
from kernelrank.solvers.base import Solution, Solver, Step

__all__ = ["ConjugateGradient", "Operator", "Precondition"]

Precondition: TypeAlias = Callable[[float], Callable[[Float], Float]]
"""From alpha to a function that nearly divides by ``A + alpha I``."""


@dataclass(frozen=True)
class Operator:
    """A self-adjoint operator without its alpha, the inner product that it lives in, and the way back.

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
    """

    multiply: Callable[[Float], Float]
    metric: Callable[[Float], Float]
    b: Float
    precondition: Precondition | None
    back: Callable[[Float], Float]


@dataclass(frozen=True)
class ConjugateGradient(Solver[Operator]):
    """Iterate until the relative residual of every output is below `tol`.

    Parameters
    ----------
    tol : float, default=1e-10
        The relative residual at which an output is done.
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
            diagonal = columns.primal is not None and columns.stored
            return Operator(
                lambda w: columns.transpose_multiply(comparisons.apply(columns.multiply(w))),
                lambda w: w,
                columns.transpose_multiply(comparisons.target()),
                by_diagonal(columns.gram_diagonal(comparisons)) if diagonal else None,
                columns.from_primal,
            )
        return Operator(comparisons.apply, features.kernel_multiply, comparisons.target(), None, features.from_dual)

    def solve(
        self, state: Operator, alpha: float, *, start: Float | None = None, step: Step | None = None, **_: object
    ) -> Solution:
        """Solve for one alpha, from `start` if it is given; `step` hears of each iteration."""
        max_iter = 10 * len(state.b) if self.max_iter is None else self.max_iter
        x, n_iter, residual = _iterate(state, alpha, start, self.tol, max_iter, step)
        if residual > self.tol and n_iter == max_iter:
            warnings.warn(
                f"conjugate gradients stopped after {n_iter} iterations with a relative residual of {residual:.2g}, "
                f"above tol={self.tol:g}: raise max_iter or alpha",
                NotConverged,
                stacklevel=2,
            )
        return Solution(state.back(x), x, n_iter, residual)


def _iterate(
    operator: Operator, alpha: float, start: Float | None, tol: float, max_iter: int, step: Step | None
) -> tuple[Float, int, float]:
    """Run preconditioned conjugate gradients on all outputs at once."""
    b = operator.b
    divide = None if operator.precondition is None else operator.precondition(alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _norm(b, operator.metric(b))
    if not np.all(np.isfinite(scale)):
        raise InvalidInputError(
            "conjugate gradients square the target, which is beyond what a float holds (1.8e+308): y or X has values "
            "that are too large. Divide them by a constant, or use solver='cholesky'"
        )
    scale[scale == 0] = 1.0
    x = np.zeros_like(b) if start is None else np.array(start, dtype=np.float64)
    r = b if start is None else b - operator.multiply(operator.metric(x)) - alpha * x
    z = r if divide is None else divide(r)
    metric_z = operator.metric(z)
    residual = _norm(r, r if divide is not None else metric_z) / scale
    active = np.flatnonzero(residual > tol)
    r, p, metric_p, size = r[:, active], z[:, active], metric_z[:, active], _inner(r, metric_z)[active]
    n_iter = 0
    while len(active) and n_iter < max_iter:
        n_iter += 1
        product = operator.multiply(metric_p) + alpha * p
        curvature = _inner(metric_p, product)
        # An output whose direction has no length left is as exact as rounding allows; it takes no step.
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        x[:, active] += length * p
        r = r - length * product
        z = r if divide is None else divide(r)
        metric_z = operator.metric(z)
        residual[active] = _norm(r, r if divide is not None else metric_z) / scale[active]
        if step is not None and step(n_iter, float(residual.max())):
            break
        going = (residual[active] > tol) & (length > 0)
        growth = np.divide(_inner(r, metric_z), size, out=np.zeros_like(size), where=size > 0)
        size = size * growth
        p, metric_p = z + growth * p, metric_z + growth * metric_p
        if not going.all():
            active, r, p, metric_p, size = active[going], r[:, going], p[:, going], metric_p[:, going], size[going]
    return x, n_iter, float(residual.max(initial=0.0))


def by_diagonal(diagonal: Float) -> Precondition:
    """Divide by the diagonal of the operator."""
    return lambda alpha: lambda r: r / (diagonal + alpha)[:, None]


def _norm(U: Float, metric_U: Float) -> Float:
    """Return the norm of each column in the metric; what lies in the null space of a singular kernel has none."""
    return np.sqrt(np.maximum(_inner(U, metric_U), 0.0))


def _inner(U: Float, V: Float) -> Float:
    product: Float = np.einsum("ij,ij->j", U, V)
    return product
