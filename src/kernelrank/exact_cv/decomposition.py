"""One decomposition, for all λ, and the factors that every hold-out identity is written in.

Two forms of one problem, ``(A + λ I)⁻¹ = B diag(d) Bᵀ``:

===========  ==============  ==================  =================  ====================
form         A               left Q (m × s)      right N (m × s)    rotated b (s × k)
===========  ==============  ==================  =================  ====================
dual         ``C K Cᵀ``      ``Cᵀ B``            ``K Cᵀ B``         ``Bᵀ T``
primal       ``Φᵀ L Φ``      ``L Φ B``           ``Φ B``            ``Bᵀ Φᵀ M N``
===========  ==============  ==================  =================  ====================

with ``CᵀC = L`` and ``Cᵀ T = M N``. With the dual inverse ``Γ = Cᵀ(C K Cᵀ + λ I)⁻¹ C`` and ``e = Γ y``
(`kernelrank.exact_cv.dual_inverse`),

* dual:   ``Γ = Q diag(d) Qᵀ`` and ``e = Q diag(d) b``, sums in which nothing is subtracted;
* primal: ``λ Γ = L - Q diag(d) Qᵀ`` and ``λ e = M N - Q diag(d) b``, by the Woodbury identity;
* both:   ``f = N diag(d) b``.

For several λ, B holds the eigenvectors of A and ``d = 1 / (μ + λ)``. For one λ a spectrum is never computed: with the
Cholesky factor ``RᵀR = A + λ I``, ``B = R⁻¹`` and ``d = 1``, which serves the same formulas at a twentieth of the cost.
The same is done for small λ if the rows of A differ so much in size that a spectrum would lose the digits of small
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.comparisons import Comparisons
from kernelrank.exact_cv.dual_inverse import DualInverse
from kernelrank.features import Features, FullKernel
from kernelrank.solvers.direct import spectrum, trusted_alpha
from kernelrank.solvers.precision import Rounding, report_error, spectral_errors

__all__ = ["FEW_ALPHAS", "Decomposition", "decompose"]

FEW_ALPHAS = 3
"""Up to this many values of λ, as many Cholesky factorisations are cheaper than a spectrum."""

MANY_ALPHAS = 64
"""Up to this many values of λ are factorised one by one where a spectrum would lose digits."""

COLUMN_BYTES = 2**24
"""The size of a block of columns that is centred at once."""


@dataclass(frozen=True)
class Decomposition:
    """The arrays of the table above for one graph.

    Parameters
    ----------
    features : Features
    graph : Comparisons
    primal : bool
        Which of the two forms it is.
    trace : float
        The trace of A, at least its largest eigenvalue; as if all were of the median's size where a few stand far out.
    values : ndarray, shape (s,), or None
        The eigenvalues μ; None if B belongs to one λ only.
    left, rotated : ndarray, shape (m, s) and (s, k)
    kernel : ndarray, shape (m, m), or None
        K, if it was formed.
    columns : ndarray, shape (m, s), or None
        ``Φ B`` in the primal.
    matrix, basis, target : ndarray, shape (s, s), (s, s) and (s, k)
        A, B and the right-hand side that `rotated` is made of.
    rounding : Rounding or None
        How Cholesky's factorisation rounds A; None for a spectrum.
    trusted : float, default=0
        The λ from which on a spectrum has all digits.
    """

    features: Features
    graph: Comparisons
    primal: bool
    trace: float
    values: Float | None
    left: Float
    rotated: Float
    kernel: Float | None
    columns: Float | None
    matrix: Float
    basis: Float
    target: Float
    rounding: Rounding | None
    trusted: float = 0.0

    @cached_property
    def right(self) -> Float:
        """N, shape (m, s), made at its first use."""
        if self.columns is not None:
            return self.columns
        if self.values is not None and self.graph.is_identity:
            return self.left * self.values  # Q holds the eigenvectors of K itself
        return self.features.kernel_multiply(self.left) if self.kernel is None else self.kernel @ self.left

    def mean_right(self, items: Index) -> Float:
        """Return the mean of the rows of N over each set of items (sets, u); a full N is not made for that."""
        if self.kernel is None or "right" in self.__dict__:
            return np.asarray(self.right[items].mean(axis=1))
        means = np.empty((len(items), len(self.kernel)))
        for sets in blocks(len(items), 8 * items.shape[1] * len(self.kernel)):
            np.mean(self.kernel[items[sets]], axis=1, out=means[sets])
        return means @ self.left

    @cached_property
    def smooth(self) -> Float:
        """``Cᵀ A B`` for the dual form of one λ, shape (m, s), made at its first use."""
        return _centre_transpose(self.graph, self.matrix @ self.basis)

    @property
    def sign(self) -> float:
        """How ``Q diag(d) Qᵀ`` enters: +1 in the dual, -1 in the primal."""
        return -1.0 if self.primal else 1.0

    def shrinkage(self, lams: Float) -> Float:
        """Return ``d`` for every λ, shape (s, number of λ)."""
        if self.values is None:
            return np.ones((self.left.shape[1], len(lams)))
        shrunk: Float = 1.0 / (self.values[:, None] + lams)
        return shrunk

    def report_errors(self, alphas: Float, lams: Float) -> None:
        """Report the relative errors that rounding leaves in predictions at some λ: O(s) time each, O(s²) without μ."""
        if self.values is not None:
            errors = spectral_errors(self.values, self.rotated, lams, primal=self.primal).tolist()
        else:
            assert self.rounding is not None
            B, x = self.basis, self.basis @ self.rotated
            errors = [
                self.rounding.relative_error(lambda g: B @ (B.T @ g), x, self.target, lam) for lam in lams.tolist()
            ]
        for alpha, error in zip(alphas.tolist(), errors, strict=True):
            report_error(alpha, error)

    def dual_inverse(self, lam: float) -> DualInverse:
        """Return Γ at a λ, in the dual form."""
        d = self.shrinkage(np.array([lam]))
        return DualInverse(self.coefficients(d)[:, :, 0], left=self.left, d=d[:, 0])

    def smoother(self, lam: float) -> tuple[Float, Float, Float]:
        """Return Q', Q'' (m × s) and d (s,) with ``H = L - λ Γ = Q' diag(d) Q''ᵀ``, formed without that difference."""
        if self.primal:
            return self.left, self.left, self.shrinkage(np.array([lam]))[:, 0]
        if self.values is not None:
            return self.left, self.left, self.values / (self.values + lam)
        return self.smooth, self.left, np.ones(self.left.shape[1])

    def coefficients(self, d: Float) -> Float:
        """Return ``e`` (dual) or ``λ e`` (primal), shape (m, k, number of λ)."""
        scaled = d[:, None, :] * self.rotated[:, :, None]
        e = self.sign * (self.left @ scaled.reshape(len(d), -1)).reshape(len(self.left), *scaled.shape[1:])
        if self.primal:
            e += self.graph.target()[:, :, None]
        return e


def decompose(
    features: Features, graph: Comparisons, lams: Float, *, scores: bool, dual: bool = False
) -> Iterator[tuple[Decomposition, Index]]:
    """Decompose once for many λ, or once for each of a few.

    Parameters
    ----------
    features : Features
    graph : Comparisons
    lams : ndarray, shape (number of λ,)
        The values that will be asked for.
    scores : bool
        Whether held-out scores are wanted, which need the right factor, rather than differences only.
    dual : bool, default=False
        Whether to use the dual form even where the primal is smaller.

    Yields
    ------
    Decomposition, numbers
        The factors, and which of the λ they serve.

    Notes
    -----
    Dual: O(m³) time, three m × m arrays (two without scores). Primal: O(m n² + n³) time, two m × n arrays.
    """
    columns = None if dual else features.primal
    K: Float | None = None
    rounding = np.inf  # what is made of columns cannot be indefinite
    if columns is not None:
        A, b = columns.gram(graph), columns.transpose_multiply(graph.target())
    elif isinstance(features, FullKernel):
        K = features.kernel.matrix(features.X)
        kernel_scale = float(np.abs(np.diagonal(K)).max())
        largest = kernel_scale * float(graph.diagonal().max())
        A, b = graph.centre_kernel(K.copy() if scores else K), graph.root_target()
        # A kernel is computed to fewer digits than a sum: distances between items far from the origin lose some. One
        # that is constant in every query leaves nothing but the rounding of what was taken away.
        rounding = max(1e-9 * float(np.trace(A)), 100 * len(K) * float(np.finfo(np.float64).eps) * largest)
    else:
        A, b = features.centred_kernel(graph), graph.root_target()
    trace, trusted, primal = float(np.trace(A)), trusted_alpha(A), columns is not None
    if not primal and trusted > 0.0:
        trace = float(len(A) * np.median(np.diagonal(A)))
    summands = None if K is None else kernel_scale * graph.root_squares()
    of_factor = Rounding.of_factor(A, primal=primal, summands=summands)
    for values, B, numbers in _factors(A, lams, rounding, trusted):
        rotated = B.T @ b
        right = None if columns is None else columns.multiply(B)
        left = _centre_transpose(graph, B) if right is None else right
        if right is not None and not graph.is_identity:
            left = graph.apply(right)
        own = of_factor if values is None else None
        found = Decomposition(features, graph, primal, trace, values, left, rotated, K, right, A, B, b, own, trusted)
        yield found, numbers


def _factors(A: Float, lams: Float, rounding: float, trusted: float) -> Iterator[tuple[Float | None, Float, Index]]:
    """Yield ``μ, B`` and the numbers of the λ that they serve; A is overwritten."""
    distinct, which = np.unique(lams, return_inverse=True)
    uneven = int(np.searchsorted(distinct, trusted))  # so many λ are too small for a spectrum
    if uneven > MANY_ALPHAS:
        uneven = 0
    if len(distinct) - uneven <= FEW_ALPHAS:
        uneven = len(distinct)
    # From the largest λ down: where rounding stops the factorisation at one, it stops it at the smaller ones too.
    failed = 0
    for k in range(uneven - 1, -1, -1):
        inverse = _inverse_root(A, float(distinct[k]))
        if inverse is None:
            failed = k + 1
            break
        yield None, inverse, np.flatnonzero(which == k)
    left = np.flatnonzero((which < failed) | (which >= uneven))
    if len(left):
        values, vectors = spectrum(A, rounding)
        yield values, vectors, left


def _inverse_root(A: Float, lam: float) -> Float | None:
    """Return ``R⁻¹`` with ``RᵀR = A + λ I``, or None where rounding stops the factorisation."""
    M = np.array(A, order="F")
    M[np.diag_indices_from(M)] += lam
    R, failed_at = lapack.dpotrf(M, lower=0, clean=1, overwrite_a=1)
    if failed_at > 0:
        return None
    inverse, _ = lapack.dtrtri(R, lower=0, overwrite_c=1)
    return np.asarray(inverse)


def _centre_transpose(graph: Comparisons, B: Float) -> Float:
    """Return ``Cᵀ B`` with contiguous rows, a block of columns at a time."""
    if graph.is_identity:
        return np.ascontiguousarray(B)
    left = np.empty((graph.n_items, B.shape[1]))
    for columns in blocks(B.shape[1], 8 * len(B), COLUMN_BYTES):
        left[:, columns] = graph.centre_transpose(np.ascontiguousarray(B[:, columns]))
    return left
