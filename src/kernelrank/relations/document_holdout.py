r"""Leaving documents out, inside folds and outside, from one inverse for each alpha.

With ``S = K + αI`` and ``G = S⁻¹``, plain RLS has the dual coefficients ``a = G y``. RankRLS on one ranking whose items
count the same is ridge regression with a free intercept, ``[[S, 1], [1ᵀ, 0]] [a; b] = [y; 0]``, so that ``a = Γ y``
with ``Γ = G - G11ᵀG / 1ᵀG1``. Write Γ for G in plain RLS too. In both, the model without the items F has the inverse

    ``Γ^F = Γ_RR - Γ_RF (Γ_FF)⁻¹ Γ_FR``,    ``R`` the other items,

since deleting rows and columns of a matrix is a Schur complement of its inverse, and with ``e = Γ y`` the coefficients
``e^F = e_R - Γ_RF (Γ_FF)⁻¹ e_F``. What it predicts for F is ``y_F - (Γ_FF)⁻¹ e_F``; the same identity inside R gives
what the model without F and a document U predicts for U:

    ``f_U = y_U - (Γ^F_UU)⁻¹ e^F_U``.

So a whole nested cross-validation, folds outside and documents inside, costs one inverse for each alpha, m³ operations,
and for each fold a triangular system of its size. Literal nesting would cost a decomposition for each fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular

from kernelrank.arrays import Float, Index
from kernelrank.errors import InvalidInputError
from kernelrank.queries import Queries

__all__ = ["DocumentHoldout"]


class DocumentHoldout:
    """RLS, or RankRLS with ``query_weight="items"``, on a kernel matrix, and its relatives without some documents.

    Parameters
    ----------
    K : ndarray, shape (m, m)
        The kernel matrix, symmetric and positive semidefinite.
    y : ndarray, shape (m,)
        The scores of the items.
    documents : sequence, shape (m,)
        The document of each item: any labels.
    alpha : float
    intercept : bool, default=False
        False is RLS, True is RankRLS.

    Attributes
    ----------
    dual_coef : ndarray, shape (m,)
        The coefficients of the model of all items.
    intercept : float
        Its intercept: the constant that makes the mean error zero, and zero for RLS.

    Notes
    -----
    Time O(m³), memory two m × m arrays beside K.

    Examples
    --------
    >>> K, y = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    >>> holdout = DocumentHoldout(K, y, ["a", "a", "b"], alpha=1.0)
    >>> holdout.leave_document_out().round(3)
    array([0.9, 1.8, 2.5])
    """

    def __init__(self, K: Float, y: Float, documents: Sequence[str], alpha: float, *, intercept: bool = False) -> None:
        self._y = np.asarray(y, dtype=np.float64)
        m = len(self._y)
        queries = Queries.from_labels(documents, m, name="documents")
        self._codes = queries.codes
        G = _inverse(K, alpha)
        ones = G.sum(axis=0)
        total = float(ones.sum())
        # Γ = G - ggᵀ with this g.
        self._g = ones / np.sqrt(total) if intercept else np.zeros(m)
        self._G = G
        self.dual_coef: Float = G @ self._y - self._g * (self._g @ self._y)
        self.intercept = float(ones @ self._y / total) if intercept else 0.0

    def leave_document_out(self, fold: Index | None = None) -> Float:
        """Score each item by the model without its document, and without the items of a fold.

        Parameters
        ----------
        fold : ndarray of int, optional
            Items that no model is trained on.

        Returns
        -------
        ndarray, shape (m,)
            NaN for the items of the fold.

        Notes
        -----
        Time O(f² m + f m u + m u²) for a fold of f items and documents of u items.
        """
        kept = np.ones(len(self._y), dtype=bool)
        errors, correction = self.dual_coef, None
        if fold is not None and len(fold):
            kept[fold] = False
            factor, correction = self._without(fold)
            # (L⁻¹ Γ_FR)ᵀ L⁻¹ e_F, where L is the Cholesky factor of Γ_FF
            shift = correction.T @ solve_triangular(factor, self.dual_coef[fold], lower=True)
            errors = self.dual_coef - shift
        scores = np.full(len(self._y), np.nan)
        for items in self._documents(kept):
            block = self._block(items, items)
            if correction is not None:
                block -= correction[:, items].T @ correction[:, items]
            scores[items] = self._y[items] - cho_solve(_factor(block), errors[items])
        return scores

    def leave_fold_out(self, fold: Index) -> Float:
        """Score the items of a fold by the model without them, shape (items of the fold,). Time O(f³)."""
        return np.asarray(self._y[fold] - cho_solve(_factor(self._block(fold, fold)), self.dual_coef[fold]))

    def _block(self, rows: Index, columns: Index) -> Float:
        block: Float = self._G[np.ix_(rows, columns)] - np.outer(self._g[rows], self._g[columns])
        return block

    def _without(self, fold: Index) -> tuple[Float, Float]:
        """Return the factor L of Γ_FF, and L⁻¹ Γ_F for all items, shape (f, m)."""
        factor, _ = _factor(self._block(fold, fold))
        factor = np.tril(factor)
        across = self._G[fold] - np.outer(self._g[fold], self._g)
        return factor, solve_triangular(factor, across, lower=True, overwrite_b=True, check_finite=False)

    def _documents(self, kept: Index) -> Iterator[Index]:
        """Yield the items of each document, of those that are kept."""
        items = np.flatnonzero(kept)
        order = items[np.argsort(self._codes[items], kind="stable")]
        yield from np.split(order, np.flatnonzero(np.diff(self._codes[order])) + 1)


def _factor(block: Float) -> tuple[Float, bool]:
    factor: tuple[Float, bool] = cho_factor(block, lower=True, check_finite=False)
    return factor


def _inverse(K: Float, alpha: float) -> Float:
    """Return (K + αI)⁻¹."""
    S = np.array(K, dtype=np.float64, order="F")
    S[np.diag_indices_from(S)] += alpha
    S, wrong = lapack.dpotrf(S, lower=1, overwrite_a=1)
    if wrong:
        raise InvalidInputError(f"the kernel matrix is not positive definite with alpha={alpha!r} added")
    S, _ = lapack.dpotri(S, lower=1, overwrite_c=1)
    # The upper triangle is what went in: overwritten by the transpose of the lower.
    _mirror(S)
    return np.asarray(S)


def _mirror(S: Float, step: int = 512) -> None:
    """Copy the lower triangle of a matrix over its upper one, block by block and so without a second matrix."""
    for start in range(0, len(S), step):
        stop = start + step
        square = S[start:stop, start:stop]
        square[:] = np.tril(square) + np.tril(square, -1).T
        S[start:stop, stop:] = S[stop:, start:stop].T
