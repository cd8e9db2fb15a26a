r"""The dual inverse Γ, which turns scores into dual coefficients, ``e = Γ y``, and what every hold-out does with it.

RankRLS on queries (and RLS, without the intercepts) solves, with Ω the item weights and P the query indicators,

    ``[K + λ Ω⁻¹, P; Pᵀ, 0] [a; b] = [y; 0]``,   ``f = K a``,

and Γ, the leading block of the inverse, gives ``a = e = Γ y``. With any root ``CᵀC = L`` it is ``Γ = Cᵀ G C`` with
``G = (C K Cᵀ + λ I)⁻¹``.

**Leaving items out.** Training without U deletes rows and columns. By the rule for the inverse of a submatrix, the new
dual coefficients are

    ``a' = e - Γ_{:U} r``   with   ``Γ_UU r = e_U``,

which vanish on U, and r are the residuals of the new model on U, intercept included: ``r = y_U - f'_U - b'``.

**Leaving more out.** The inverse of the problem without F is a Schur complement, which has zero rows at F:

    ``Γ⁽ᶠ⁾ = Γ - Γ_:F Γ_FF⁻¹ Γ_F:``,   ``e⁽ᶠ⁾ = e - Γ_:F Γ_FF⁻¹ e_F``,

and the identity above holds for it again (`DualInverse.without`). With the Cholesky factor R of ``Γ_FF`` the
correction is ``Wᵀ W``, ``W = R⁻¹ Γ_F:``, so that a block of it costs no more than its own entries.

**Which λ.** One ranking without items of the total weight ``w_U`` (inner and outer ones) has the item weights
``κ w_i`` with ``κ = c(W - w_U)(W - w_U)``: it is the problem with weights w at ``λ' = λ / κ`` (`Problem.scale` for
sets, `Problem.common_scale` for a number of items). Without weights κ is ``m - u`` where every pair counts the same, 1
for every item, and ``2 / (m - u - 1)`` for every query.

**Watched pivots.** Γ comes in two forms (`kernelrank.exact_cv.decomposition`): a sum of positive terms, whose blocks
keep their digits, and in the primal ``λ Γ = L - Q diag(d) Qᵀ``, which loses digits if a direction of the features is
determined by U alone: the pivots of ``Γ_UU`` get as small as ``λ / (μ + λ)``. If a pivot is below `PIVOT` times its
diagonal entry, the result is not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, GramSum, Index, blocks
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features
from kernelrank.solvers.precision import Rounding

__all__ = ["PIVOT", "DualInverse", "SmallPivotError"]

PIVOT = {True: 1e-5, False: 1e-14}
"""The smallest relative pivot that is trusted, in the primal and in the dual."""


class SmallPivotError(InvalidInputError):
    """Rounding errors are as large as a block of Γ."""


@dataclass(frozen=True)
class DualInverse:
    """Γ at one λ, as a matrix or as a product ``Q diag(d) Qᵀ``, from which items may have left.

    Parameters
    ----------
    coefficients : ndarray, shape (m, k)
        ``e = Γ y`` for every output.
    matrix : ndarray, shape (m, m), or None
    left, d : ndarray, shape (m, s) and (s,), or None
        The factors, where there is no matrix.
    gone : ndarray, shape (items that left, m), or None
        W: what is to be taken away is ``WᵀW``.
    places : ndarray of int64, shape (m,), or None
        The positions of the items in the matrix, if they are reordered.
    error : float
        The relative error that rounding leaves in predictions, as it is estimated.

    Examples
    --------
    >>> inverse = DualInverse(np.array([[1.0], [0.0]]), matrix=np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> inverse.without(np.array([0])).block(np.array([1])), inverse.residuals(np.array([0]))
    (array([[1.5]]), array([[0.5]]))
    """

    coefficients: Float
    matrix: Float | None = None
    left: Float | None = None
    d: Float | None = None
    gone: Float | None = None
    places: Index | None = None
    error: float = 0.0

    @classmethod
    def of(
        cls, features: Features, graph: ScoredComparisons, lam: float, *, above_trace: bool = True
    ) -> DualInverse | None:
        r"""Form the matrix in the place of the kernel matrix: O(m³) time, one m × m array.

        For one ranking with item weights w (total W), and for RLS, the root of the Laplacian is ``C = P S`` with
        ``S = diag(√w)`` and the projection ``P = I - √w √wᵀ / W`` (RLS: ``P = I``), so that ``Γ = S P G P S``. G has
        the eigenvector ``√w`` with eigenvalue ``1 / λ``, which P takes away again: a difference, and a large one where
        λ is small. So that direction is lifted first by c, the trace of ``C K Cᵀ``:

            ``Γ = S (C K Cᵀ + λ I + c √w √wᵀ / W)⁻¹ S - w wᵀ / (W (λ + c))``,

        where next to nothing is subtracted. Cholesky's factor and the inverse overwrite the kernel matrix: m³
        multiplications and additions in all, beside ``5/3 m³`` for a triangular inverse and its product with itself.

        Parameters
        ----------
        features : Features
        graph : ScoredComparisons
            RLS, or one query in which every item counts the same.
        lam : float
        above_trace : bool, default=True
            Whether λ may be larger than the trace: scores are then tiny relative to y, and no difference from y keeps
            all their digits.

        Returns
        -------
        DualInverse or None
            None where rounding stops the factorisation, or where λ is larger than the trace and may not be.
        """
        A = features.centred_kernel(graph)
        lift = float(np.trace(A))
        if lam > lift and not above_trace:
            return None
        rounding = Rounding.of_factor(A, primal=False, summands=features.uncentred_diagonal(graph))
        root = np.sqrt(graph.weight)
        share = 0.0
        if graph.queries is not None:
            total = float(graph.weight.sum())
            for row, weight in zip(A, lift / total * root, strict=True):
                row += weight * root
            share = 1.0 / (total * (lam + lift))
        A[np.diag_indices_from(A)] += lam
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK overwrites in place.
        factor, failed_at = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed_at > 0:
            return None
        target = graph.root_target()
        solution, _info = lapack.dpotrs(factor, target, lower=1)
        error = rounding.relative_error(lambda g: lapack.dpotrs(factor, g, lower=1)[0], solution, target, lam)
        inverse, _info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        return cls(root[:, None] * solution, _scaled_and_mirrored(inverse.T, root, share), error=error)

    def reordered(self, order: Index, left: Float | None = None) -> DualInverse:
        """Return Γ with its items in another order; `left` in that order is made unless it is given."""
        gone = None if self.gone is None else self.gone[:, order]
        if self.matrix is None:
            assert self.left is not None
            left = self.left[order] if left is None else left
            return replace(self, coefficients=self.coefficients[order], left=left, gone=gone)
        places = order if self.places is None else self.places[order]
        return replace(self, coefficients=self.coefficients[order], gone=gone, places=places)

    def rows(self, rows: slice | Index, columns: slice | Index = slice(None)) -> Float:
        """Return some rows of Γ, or the part of them in some columns; not to be written to."""
        if self.matrix is None:
            assert self.left is not None
            assert self.d is not None
            part: Float = (self.left[rows] * self.d) @ self.left[columns].T
        elif self.places is None:
            part = self.matrix[rows][:, columns]
        else:
            part = self.matrix[self.places[rows]].take(self.places[columns], axis=1)
        if self.gone is not None:
            part = part - self.gone[:, rows].T @ self.gone[:, columns]
        return part

    def block(self, items: Index | slice) -> Float:
        """Return ``Γ_UU``."""
        return self.rows(items, items)

    def entries(self, first: Index, second: Index) -> Float:
        """Return ``Γ_ij`` of pairs of items, shape (pairs,)."""
        if self.matrix is None:
            assert self.left is not None
            assert self.d is not None
            found: Float = (self.left[first] * self.left[second]) @ self.d
        else:
            places = np.arange(len(self.matrix)) if self.places is None else self.places
            found = self.matrix[places[first], places[second]]
        return found if self.gone is None else found - (self.gone[:, first] * self.gone[:, second]).sum(axis=0)

    def diagonal(self) -> Float:
        """Return the diagonal of Γ, shape (m,)."""
        if self.matrix is None and self.gone is None:
            assert self.left is not None
            assert self.d is not None
            return np.asarray((self.left**2) @ self.d)
        items = np.arange(len(self.coefficients))
        return self.entries(items, items)

    def residuals(self, items: Index) -> Float:
        """Return r with ``Γ_UU r = e_U``: the held-out residuals of these items, shape (u, k).

        Raises
        ------
        SmallPivotError
            If a pivot is too small to be trusted.
        """
        factor = _watched_factor(self.block(items))
        return np.asarray(lapack.dpotrs(factor, self.coefficients[items], lower=1)[0])

    def without(self, items: Index | slice) -> DualInverse:
        """Return Γ of the problem without some items, by a Schur complement.

        λ stays what it is: it must be the one of all that leave. O(u² m) time, and u m numbers.

        Raises
        ------
        SmallPivotError
            If a pivot is too small to be trusted.
        """
        factor = _watched_factor(self.block(items))
        W, _info = lapack.dtrtrs(factor, self.rows(items), lower=1)
        shift = W.T @ lapack.dtrtrs(factor, self.coefficients[items], lower=1)[0]
        gone = W if self.gone is None else np.vstack([self.gone, W])
        return replace(self, coefficients=self.coefficients - shift, gone=gone)


def _watched_factor(block: Float) -> Float:
    """Return the Cholesky factor of a block of Γ."""
    factor, failed_at = lapack.dpotrf(block, lower=1)
    if failed_at > 0 or np.any(np.diagonal(factor) ** 2 < PIVOT[False] * np.diagonal(block)):
        raise SmallPivotError(
            f"{len(block)} items cannot be left out exactly: rounding errors are as large as the result. Use a "
            "larger alpha, or scale the features down"
        )
    return np.asarray(factor)


def _scaled_and_mirrored(G: Float, root: Float, share: float) -> Float:
    """Turn the upper half of the inverse into all of Γ, in its place."""
    for rows in blocks(len(G), 8 * len(G)):
        part, both = G[rows, rows.start :], root[rows, None] * root[rows.start :]
        part -= share * both
        part *= both
    return GramSum.onto(G.T).matrix().T
