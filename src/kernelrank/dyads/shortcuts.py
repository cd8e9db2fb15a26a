"""Hold-outs of complete scores of two sets of objects, from the two eigendecompositions of the fit.

Columns are ranked here, or nothing is; rows that are ranked are the same turned round. ``row`` and ``column`` are
`new_objects.py`, ``cell`` is `new_cells.py`. ``both`` decomposes one side without each of its folds and takes the other
side by the shortcut of new objects: without the columns J, φ_I are the coefficients of new rows, and

    ``F_IJ = φ_I (K₂[J, J̄] P₂)ᵀ``;   without the rows I, φ_J those of new columns, and  ``F_IJ = (K₁[I, Ī] P₁) φ_Jᵀ``.

Where the folds of both sides are large, both are decomposed: ``F_IJ = (K₁[I, Ī] P₁) T (K₂[J, J̄] P₂)ᵀ``.

Rows are queries of a ranking of columns, so new rows leave its weights alone; new columns J change ω(m₂) to
``ω(m₂ - |J|)`` in every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve

from kernelrank.base.arrays import Float, Index, blocks, dense_rows
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.problem import DyadicProblem, DyadicSide, Regularisation, SideSpectrum, symmetrised
from kernelrank.dyads.solvers import CompleteSpectral
from kernelrank.errors import NothingToCompareError

ITERATIONS = 100.0
"""How many products of m₁m₂(m₁ + m₂) a training with unknown cells costs, about."""


def by_shortcut(size: int, lost: int, kept: int) -> bool:
    """Return whether holding out some objects by small systems costs less than another decomposition."""
    # What an eigendecomposition with its products costs, in m³ operations of a matrix product.
    return 2.0 * size**2 * lost * kept <= 15.0 * lost**3 + 3.0 * lost**2 * kept


@dataclass(frozen=True)
class CompleteHoldout:
    """Complete scores after the decompositions, ready to be held out.

    Shapes: rotated (m1, m2, outputs).
    """

    problem: DyadicProblem
    rows: RotatedSide
    columns: RotatedSide
    rotated: Float

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> CompleteHoldout:
        """Decompose both kernels and rotate the scores, as the fit does."""
        rotated = CompleteSpectral.prepare(problem).rotated
        columns = RotatedSide.of(problem.columns, centred=problem.ranked == "columns")
        return cls(problem, RotatedSide.of(problem.rows, centred=False), columns, rotated)

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return every cell as if it were new in the way of the setting; NaN outside the folds.

        Shapes: returns (m1, m2, outputs, regularisations).
        """
        scores = np.full((*self.problem.matrix.shape, len(regularisations)), np.nan)
        if folds.setting == "both":
            self._both(folds, regularisations, scores)
            return scores
        method = {"cell": self._cells, "row": self._rows, "column": self._columns}[folds.setting]
        for number, regularisation in enumerate(regularisations):
            for k in range(self.problem.n_outputs):
                scores[:, :, k, number] = method(folds, regularisation, k)
        return scores

    def handles(self, folds: DyadicFolds) -> bool:
        """Return whether the shortcut costs less than training again."""
        m1, m2 = self.problem.shape
        if folds.setting == "cell" and folds.cells is not None:
            largest = max(len(cells) for cells in folds.cells)
            return self.problem.ranked is None and largest**2 <= ITERATIONS * (m1 + m2)
        if folds.setting == "row" and folds.rows is not None:
            return all(by_shortcut(len(fold), m1, m2) for fold in folds.rows)
        if folds.setting == "column" and folds.columns is not None:
            return all(by_shortcut(len(fold), m2, m1) for fold in folds.columns)
        return True

    def _shrinkage(self, regularisation: Regularisation, lost: int = 0) -> Float:
        """Return S where every row has lost some of its columns."""
        weight = 1.0
        if self.problem.ranked is not None:
            left = len(self.columns.P) - lost
            if left < 2:
                raise NothingToCompareError("only one object is left to rank in a training fold: use more folds")
            weight = float(self.problem.omega(left))
        mu1, mu2 = self.rows.mu, self.columns.mu
        return np.asarray(1.0 / (mu1[:, None] * mu2 + regularisation.divided(weight).costs(mu1, mu2)))

    def _cells(self, folds: DyadicFolds, regularisation: Regularisation, output: int) -> Float:
        problem, P1, P2 = self.problem, self.rows.P, self.columns.P
        S = self._shrinkage(regularisation)
        T = self.rotated[:, :, output] * S
        if problem.ranked is not None:
            weights = problem.omega(problem.shape[1] - np.array([0.0, 1.0]))
            # The one cell that is left of a row of two is compared with nothing, at whatever weight.
            noise = regularisation.both / np.where(weights > 0, weights, 1.0)
            return ranked_cells(self.rows, self.columns, problem.matrix[:, :, output], T, S, noise)
        if folds.cells is None:
            return np.asarray(problem.matrix[:, :, output] - cell_residuals(P1, P2, T, S))
        A, scores = P1 @ T @ P2.T, np.full(problem.shape, np.nan)
        for cells in folds.cells:
            rows, columns = np.divmod(cells, problem.shape[1])
            residuals = few_cell_residuals(P1, P2, S, A, rows, columns)
            scores[rows, columns] = problem.matrix[rows, columns, output] - residuals
        return scores

    def _rows(self, folds: DyadicFolds, regularisation: Regularisation, output: int) -> Float:
        if self.problem.ranked is not None:
            return self._new_rows(folds.rows, regularisation, output)
        S = self._shrinkage(regularisation)
        Z = new_object_residuals(self.rows.P, self.rotated[:, :, output] * S, S, folds.rows)
        return _inside(self.problem.matrix[:, :, output] - Z @ self.columns.P.T, folds.rows)

    def _columns(self, folds: DyadicFolds, regularisation: Regularisation, output: int) -> Float:
        if self.problem.ranked is not None:
            return self._new_columns(folds.columns, regularisation, output)
        S = self._shrinkage(regularisation)
        Z = new_object_residuals(self.columns.P, (self.rotated[:, :, output] * S).T, S.T, folds.columns)
        return _inside(self.problem.matrix[:, :, output].T - Z @ self.rows.P.T, folds.columns).T

    def _both(self, folds: DyadicFolds, regularisations: Sequence[Regularisation], scores: Float) -> None:
        """Decompose the side without each of its folds for which that costs less."""
        m1, m2 = self.problem.shape
        row_folds, column_folds = folds.object_folds(0), folds.object_folds(1)
        if not all(by_shortcut(len(fold), m1, m2) for fold in row_folds) and not all(
            by_shortcut(len(fold), m2, m1) for fold in column_folds
        ):
            self._large_crossings(row_folds, column_folds, regularisations, scores)
            return
        by_columns = len(column_folds) * float(m2) ** 3 <= len(row_folds) * float(m1) ** 3
        for fold in column_folds if by_columns else row_folds:
            part = self._without_columns(fold) if by_columns else self._without_rows(fold)
            for number, regularisation in enumerate(regularisations):
                for k in range(self.problem.n_outputs):
                    if by_columns:
                        scores[:, fold, k, number] = part._new_rows(folds.rows, regularisation, k)
                    else:
                        scores[fold, :, k, number] = part._new_columns(folds.columns, regularisation, k)

    def _large_crossings(
        self,
        row_folds: Sequence[Index],
        column_folds: Sequence[Index],
        regularisations: Sequence[Regularisation],
        scores: Float,
    ) -> None:
        """Decompose each side without each of its folds, and solve for every pair of folds."""
        without_columns = [self._without_columns(fold) for fold in column_folds]
        every = np.arange(self.problem.shape[1])
        for rows in row_folds:
            kept = np.setdiff1d(np.arange(self.problem.shape[0]), rows)
            side = RotatedSide.of_part(self.problem.rows, kept, rows, centred=False)
            for k in range(self.problem.n_outputs):
                turned = side.P.T @ self.problem.matrix[kept, :, k]
                for columns, part in zip(column_folds, without_columns, strict=True):
                    rotated = turned[:, np.setdiff1d(every, columns)] @ part.columns.P
                    for number, regularisation in enumerate(regularisations):
                        T = rotated * replace(part, rows=side)._shrinkage(regularisation)
                        scores[rows[:, None], columns, k, number] = side.V @ T @ part.columns.V.T

    def _new_rows(self, folds: tuple[Index, ...] | None, regularisation: Regularisation, output: int) -> Float:
        """Return the scores of new rows for the columns that are predicted."""
        S = self._shrinkage(regularisation)
        phi = new_object_coefficients(self.rows, self.rotated[:, :, output] * S, S, folds)
        return _inside(phi @ self.columns.V.T, folds)

    def _new_columns(self, folds: tuple[Index, ...] | None, regularisation: Regularisation, output: int) -> Float:
        """Return the scores of new columns for the rows that are predicted; ω depends on how many are new."""
        phi = np.empty((len(self.columns.P), len(self.rows.mu)))
        for lost, same_size in _by_size(folds).items():
            S = self._shrinkage(regularisation, lost)
            found = new_object_coefficients(self.columns, (self.rotated[:, :, output] * S).T, S.T, same_size)
            objects = slice(None) if same_size is None else np.concatenate(same_size)
            phi[objects] = found[objects]
        return _inside(phi @ self.rows.V.T, folds).T

    def _without_columns(self, fold: Index) -> CompleteHoldout:
        kept = np.setdiff1d(np.arange(self.problem.shape[1]), fold)
        columns = RotatedSide.of_part(self.problem.columns, kept, fold, centred=self.problem.ranked is not None)
        return replace(self, columns=columns, rotated=_rotated(self.rows.P, self.problem.matrix[:, kept], columns.P))

    def _without_rows(self, fold: Index) -> CompleteHoldout:
        kept = np.setdiff1d(np.arange(self.problem.shape[0]), fold)
        rows = RotatedSide.of_part(self.problem.rows, kept, fold, centred=False)
        return replace(self, rows=rows, rotated=_rotated(rows.P, self.problem.matrix[kept], self.columns.P))


def _rotated(P1: Float, Y: Float, P2: Float) -> Float:
    return np.stack([P1.T @ Y[:, :, k] @ P2 for k in range(Y.shape[2])], axis=2)


def _by_size(folds: tuple[Index, ...] | None) -> dict[int, list[Index] | None]:
    """Return folds by their size; None for single objects."""
    if folds is None:
        return {1: None}
    return {size: [fold for fold in folds if len(fold) == size] for size in sorted({len(fold) for fold in folds})}


def _inside(scores: Float, folds: tuple[Index, ...] | None) -> Float:
    """Return scores with NaN for objects, rows, that are in no fold."""
    if folds is not None:
        outside = np.setdiff1d(np.arange(len(scores)), np.concatenate(folds))
        scores[outside] = np.nan
    return scores


# New cells ------------------------------------------------------------------------------------------------------------
#
# Hold-outs of single cells of complete scores, without refitting.
#
# **Regression.** All cells are one ridge regression with the inverse ``Γ = (U₁ ⊗ U₂) diag(S) (U₁ ⊗ U₂)ᵀ``. Without the
# cells T the residuals are ``Γ_TT⁻¹ A_T``; for one cell ``A_ij / g_ij`` with ``g = (U₁∘U₁) S (U₂∘U₂)ᵀ``. For a few
# cells ``Γ_(ij)(kl) = (U₁_i ∘ U₁_k)ᵀ S (U₂_j ∘ U₂_l)``.
#
# **A ranking of the columns.** The row i loses a cell and with it changes its weight ω, so take it away first, whole,
# and learn from what is left of it afterwards. Let λ be ``alpha / ω(m₂)``, as in S, and ``λ' = λ + δ = alpha / ω(m₂ -
# 1)``. Without the row (`new_objects.py`) its score in direction b has the mean ``c = V₁T - κ∘z`` and the residual z,
# and f(i, ·) has the posterior variance ``V₂ diag(s_i / μ₂) V₂ᵀ``, diagonal in the same eigenbasis:
#
#     ``d = P₁² S``,  ``κ = (P₁∘V₁) S``,  ``z = P₁T / d``,  ``s = κ / d``;   ``λd + μ₂κ = 1``: a row of P₁² adds up to
#     1.
#
# So the row alone is a ranking with the kernel ``CU₂ diag(μ₂ s_i) U₂ᵀC`` and the noise λ', from which column j leaves
# as a new object of the ranked side. With ``W = 1/(μ₂ s + λ') = d / (1 + δd)`` and ``a = W ∘ z`` its residual, up to
# the intercept of the row, is ``ρ = (a P₂ᵀ) / (W (P₂∘P₂)ᵀ)``, and
#
#     ``f = (c + s∘a) V₂ᵀ - [(s∘W) (V₂∘P₂)ᵀ] ∘ ρ``.
#
# ``V₂ = P₂ diag(μ₂) + 1ℓᵀ`` with ``ℓ = 1ᵀV₂ / m₂``, the levels that CK₂C has lost. Put in, with ``μ₂c = YP₂ - z``,
# ``P₂P₂ᵀ = C`` and its diagonal ``1 - 1/m₂``, most terms cancel:
#
#     ``f_ij = (YC)_ij - [1 - 1/m₂ + ((s∘W∘ℓ) P₂ᵀ)_ij] ρ_ij + [P₁(μ₁∘Tℓ) - δ(κ∘a)ℓ]_i``.
#
# Both are a few matrix products for all cells at once.


def cell_inverse(P1: Float, P2: Float, S: Float) -> Float:
    """Return g, (m₁, m₂): the diagonal of Γ."""
    return np.asarray(((P1 * P1) @ S) @ (P2 * P2).T)


def cell_residuals(P1: Float, P2: Float, T: Float, S: Float) -> Float:
    """Return ``Y - f`` for every cell, held out alone: O(m₁²m₂ + m₁m₂²)."""
    return np.asarray((P1 @ T @ P2.T) / cell_inverse(P1, P2, S))


def few_cell_residuals(P1: Float, P2: Float, S: Float, A: Float, rows: Index, columns: Index) -> Float:
    """Return ``Y - f`` of some cells that leave together, (t, outputs): O(t² m₁ m₂ + t³).

    Shapes: P1, P2 (m1, r1), S (r1, r2), A (m1, m2, outputs), rows, columns (t,).
    """
    size = len(rows)
    gamma = np.empty((size, size))
    for part in blocks(size, 16 * size * (P1.shape[1] + P2.shape[1])):
        left = (P1[rows[part], None, :] * P1[rows]).reshape(-1, P1.shape[1]) @ S
        right = (P2[columns[part], None, :] * P2[columns]).reshape(-1, P2.shape[1])
        gamma[part] = np.einsum("ij,ij->i", left, right).reshape(-1, size)
    return np.asarray(np.linalg.solve(gamma, A[rows, columns]))


def ranked_cells(rows: RotatedSide, columns: RotatedSide, Y: Float, T: Float, S: Float, noise: Float) -> Float:
    """Return f for every cell, held out alone, where the columns are ranked for each row.

    Shapes: Y, T, S (m1, m2), noise (2,).
    """
    P1, P2 = rows.P, columns.P
    delta, level = noise[1] - noise[0], columns.V.mean(axis=0)
    d, kappa = _sums(rows, columns.mu, S, noise[0])
    shrunk = delta * d
    shrunk += 1.0
    a = P1 @ T
    a /= shrunk
    kappa *= level
    levels = P1 @ (rows.mu * (T @ level)) - delta * np.einsum("ij,ij->i", kappa, a)
    d /= shrunk
    kappa /= shrunk
    residuals = a @ P2.T
    residuals /= d @ (P2 * P2).T
    factor = kappa @ P2.T
    factor += 1.0 - 1.0 / len(P2)
    residuals *= factor
    return np.asarray(Y + (levels - Y.mean(axis=1))[:, None] - residuals)


def _sums(rows: RotatedSide, mu2: Float, S: Float, noise: float) -> tuple[Float, Float]:
    """Return d and κ, (m₁, r₂): one of them by a product, the other by ``λd + μ₂κ = 1`` where that keeps its digits."""
    squares, mu1 = rows.P * rows.P, rows.mu[:, None]
    # The means of μ₂κ over the rows grow with μ₂, which is ascending.
    small = int(np.searchsorted(mu2 * (rows.mu @ S), 0.5 * len(S)))
    found = squares @ np.concatenate([mu1 * S[:, :small], S[:, small:]], axis=1)
    factor, divisor = np.full((2, len(mu2)), noise)
    factor[:small], divisor[small:] = mu2[:small], mu2[small:]
    other = found * -factor
    other += 1.0
    # What is left of one by a subtraction that may cost two digits.
    lost = np.flatnonzero(other.min(axis=0) < 0.01)
    other /= divisor
    other[:, lost] = squares @ (S[:, lost] * np.where(lost < small, 1.0, mu1))
    found[:, :small], other[:, :small] = other[:, :small], found[:, :small].copy()
    return found, other


# New objects ----------------------------------------------------------------------------------------------------------
#
# Hold-outs of the objects of one side (rows or columns) of complete scores, without refitting.
#
# Rows leave here; columns are the same turned round. In the eigenbasis of the columns a complete problem falls apart
# into one ridge regression over the rows for each direction b, ``(μ₂b K₁ + E_b) a_b = ỹ_b`` with ``Ỹ = Y P₂``. Its
# inverse is ``Γ_b = P₁ diag(S_b) P₁ᵀ``, ``S = 1/(μ₁μ₂ᵀ + E)``. With ``T = (P₁ᵀ Y P₂) ∘ S`` the coefficients are ``a_b =
# P₁ T_b``; those without the rows I are a Schur complement:
#
#     ``z_b = Γ_b,II⁻¹ (a_b)_I``,   ``a_b⁽ᴵ⁾ = a_b - Γ_b,:I z_b``,   zero on I.
#
# The z are the residuals ``Ỹ_I - f`` in the eigenbasis, because ``Γ_b⁻¹ a_b = ỹ_b``. The scores of the new rows are
# ``F_I = φ_I V₂ᵀ`` with
#
#     ``φ_Ib = K₁[I, :] a_b⁽ᴵ⁾ = (V₁)_I [T_b - S_b ∘ ((P₁)_Iᵀ z_b)]``.
#
# For single rows, ``Γ_b,ii = Σ_a P₁_ia² S_ab``, all of it is a few matrix products. If the side itself is ranked (``P₁
# = CU₁``), Γ_b is the inverse on vectors whose entries add up to zero, and the same holds: the coefficients without I
# are those that are also zero on I. All queries lose the same |I| objects, so that ``E = alpha / ω(m₁ - |I|)`` in S.


def new_object_residuals(P: Float, T: Float, S: Float, folds: Sequence[Index] | None) -> Float:
    """Return z for every object, (m, r₂); rows of objects in no fold are zero.

    Shapes: P (m, r1), T, S (r1, r2); returns (m, r2).
    """
    if folds is None:
        return (P @ T) / ((P * P) @ S)
    Z = np.zeros((len(P), T.shape[1]))
    for fold in folds:
        Z[fold] = _fold_residuals(P[fold], T, S)
    return Z


def _fold_residuals(P: Float, T: Float, S: Float) -> Float:
    """Return z of one fold, (u, r₂): one u × u system for each direction, O(u² r₁ r₂ + u³ r₂)."""
    size = len(P)
    gamma = ((P[:, None, :] * P).reshape(size * size, -1) @ S).reshape(size, size, -1).transpose(2, 0, 1)
    return np.asarray(np.linalg.solve(gamma, (P @ T).T[:, :, None])[:, :, 0].T)


def new_object_coefficients(side: RotatedSide, T: Float, S: Float, folds: Sequence[Index] | None) -> Float:
    """Return φ for every object, (m, r₂): the scores of the new objects are ``φ V₂ᵀ``.

    Shapes: returns (m, r2).
    """
    P, V = side.P, side.V
    Z = new_object_residuals(P, T, S, folds)
    if folds is None:
        return np.asarray(V @ T - ((V * P) @ S) * Z)
    phi = np.zeros_like(Z)
    for fold in folds:
        size = len(fold)
        between = ((V[fold][:, None, :] * P[fold]).reshape(size * size, -1) @ S).reshape(size, size, -1)
        phi[fold] = V[fold] @ T - np.einsum("ijb,jb->ib", between, Z[fold])
    return phi


# Rotated side ---------------------------------------------------------------------------------------------------------
#
# One side of complete dyads in its eigenbasis, as hold-outs need it.
#
# With ``K = U diag(μ) Uᵀ``: ``P = U`` and ``V = K P = U diag(μ)``. Where the objects of the side are ranked, ``CKC`` is
# decomposed in place of K, ``P = CU``, and ``V = K P = P diag(μ) + 1ℓᵀ`` keeps the levels ℓ of the scores, which CKC
# has lost. A direction with ``μ = 0`` has ``V = 0``: ``pᵀ K p = 0`` means ``K p = 0``.


@dataclass(frozen=True)
class RotatedSide:
    """The objects of a side in its eigenbasis.

    Shapes: P (m, r), mu (r,), V (t, r).
    """

    P: Float
    mu: Float
    V: Float

    @classmethod
    def of(cls, side: DyadicSide, *, centred: bool) -> RotatedSide:
        """Predict the objects of the side themselves."""
        spectrum = side.centred_spectrum if centred else side.spectrum
        P, mu = spectrum.eigenvectors, spectrum.eigenvalues
        V = P * mu
        if centred:
            V += side.levels @ P
        V[:, ~spectrum.known] = 0.0
        return cls(P, mu, V)

    @classmethod
    def of_part(cls, side: DyadicSide, kept: Index, new: Index, *, centred: bool) -> RotatedSide:
        """Decompose the kernel of some objects, and predict others: O(m³)."""
        part = side.linear_part(kept) if side.kernel.linear else side.only(kept)
        spectrum = part.centred_spectrum if centred else part.spectrum
        if spectrum.loadings is not None:
            return cls(spectrum.eigenvectors, spectrum.eigenvalues, dense_rows(side.items, new) @ spectrum.loadings)
        V = side.score_rows(new, ranked=centred)[:, kept] @ spectrum.eigenvectors
        V[:, ~spectrum.known] = 0.0
        return cls(spectrum.eigenvectors, spectrum.eigenvalues, V)


# One set holdout ------------------------------------------------------------------------------------------------------
#
# Hold-outs of complete scores of one set of objects: a cell leaves with its mirror image, an object with both.
#
# What leaves is closed under (a, b) → (b, a), and so is the plain problem with ``K ⊗ K``: its solution is the sum of
# those of ``Y₊ = (Y + Yᵀ)/2`` and ``Y₋ = (Y - Yᵀ)/2``, which stay symmetric and skew-symmetric whatever leaves. So one
# formula serves the relations symmetric (``Y = Y₊``), reciprocal (``Y = Y₋``) and any (both). With ``K = U diag(μ)
# Uᵀ``, p_i row i of U, ``S = 1/(μμᵀ + alpha)`` and ``A = U [(UᵀYU) ∘ S] Uᵀ``:
#
# **A cell with its mirror**: residual ``A±_ij / (g_ij ± h_ij)`` with ``g_ij = (p_i²)ᵀ S p_j²`` and
# ``h_ij = (p_i∘p_j)ᵀ S (p_i∘p_j)``; ``A_ii / g_ii`` on the diagonal.
#
# **An object i**: residuals ``E = e_i rᵀ ± r e_iᵀ`` on its row and its column, ``r = Uρ``, must have ``(ΓE)_i = A±_i``:
#
#     ``N ρ = Uᵀ a_i``,  ``N = diag(S p_i²) ± diag(p_i) S diag(p_i)``,
#
# and row i of the residuals is ``Uρ``, its entry i doubled for + and zero for -. There ``N p_i = 0``, and any multiple
# of ``p_i p_iᵀ`` may be added to N. One m × m system for each object, where training again needs a decomposition.


@dataclass(frozen=True)
class OneSetHoldout:
    """Complete scores of one set of objects after the decomposition; regression only.

    Shapes: rotated (m, m, outputs).
    """

    problem: DyadicProblem
    rotated: Float

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> OneSetHoldout:
        """Decompose the kernel and rotate the scores, as the fit does."""
        return cls(problem, CompleteSpectral.prepare(problem).rotated)

    def handles(self, folds: DyadicFolds) -> bool:
        """Return whether there is a shortcut: for single cells and for single objects."""
        return folds.cells is None and folds.rows is None and folds.setting != "both"

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return every cell as if it were new, (m, m, outputs, regularisations): O(m⁴) time for each."""
        U, Y = self.problem.row_spectrum.eigenvectors, self.problem.matrix
        scores = np.empty((*Y.shape, len(regularisations)))
        for number, regularisation in enumerate(regularisations):
            S = self.problem.shrinkage(regularisation)
            A = np.stack([U @ (self.rotated[:, :, k] * S) @ U.T for k in range(Y.shape[2])], axis=2)
            if folds.setting == "cell":
                residuals = _cell_residuals(U, S, A)
            elif folds.setting == "row":
                residuals = _object_residuals(U, S, A)
            else:
                residuals = _object_residuals(U, S, A.swapaxes(0, 1)).swapaxes(0, 1)
            scores[..., number] = Y - residuals
        return scores


def _cell_residuals(U: Float, S: Float, A: Float) -> Float:
    g, h = cell_inverse(U, U, S), np.empty_like(S)
    for i, p in enumerate(U):
        both = U * p
        h[i] = np.einsum("ja,ja->j", both @ S, both)
    np.fill_diagonal(h, 0.0)
    plus, minus = g + h, g - h
    residuals = symmetrised(A, 1) / plus[:, :, None] + symmetrised(A, -1) / minus[:, :, None]
    return np.asarray(residuals)


def _object_residuals(U: Float, S: Float, A: Float) -> Float:
    """Return the row i of residuals without object i, for every i, (m, m, outputs)."""
    residuals = np.empty_like(A)
    halves = [(sign, symmetrised(A, sign)) for sign in (1, -1)]
    for i, p in enumerate(U):
        residuals[i] = 0.0
        for sign, half in halves:
            if not half.any():
                continue
            scale = S @ (p * p)
            N = sign * (p[:, None] * S * p)
            N[np.diag_indices_from(N)] += scale
            if sign < 0:
                N += scale.mean() * np.outer(p, p)
            r = U @ solve(N, U.T @ half[i], assume_a="sym", overwrite_a=True, check_finite=False)
            r[i] *= 1 + sign
            residuals[i] += r
    return residuals


# Two step holdout -----------------------------------------------------------------------------------------------------
#
# Hold-outs of two-step learning with complete scores: two inverses serve all four settings.
#
# With ``G₁ = (K₁ + α₁I)⁻¹``, ``Q₁ = α₁G₁ = I - H₁``, ``H₁ = K₁G₁`` and the same for the columns, ``F = H₁ Y H₂``.
#
# **New rows I**: a ridge regression without them predicts ``M_I = Y_I - G₁,II⁻¹ (G₁Y)_I``, for single rows
# ``Y - G₁Y / diag(G₁)``; the other side smooths as ever, ``M H₂``. **New rows and columns**: the same on both sides.
#
# **Unknown cells T** are filled with their predictions: from ``f_T = H_TT f_T + (F - H Y_T)_T`` follow the residuals
# ``(I - H_TT)⁻¹ (Y - F)_T``, where nothing is subtracted from one:
#
#     ``Y - F = Q₁Y + YQ₂ - Q₁YQ₂``,   ``I - H₁⊗H₂ = Q₁⊗I + I⊗Q₂ - Q₁⊗Q₂``.
#
# **One set of objects**: a cell leaves with its mirror, a system of two unknowns, whose other entry is ``-Q₁_ij
# Q₂_ij``. Objects B leave with their rows and their columns: with ``w = -G_BB⁻¹ G_B:`` off B, ``Z = w₁ Y`` with zeros
# in the columns B, and ``G⁽ᴮ⁾ = G₂ - G₂,:B G₂,BB⁻¹ G₂,B:``, the rows B are ``Z (I - α₂ G⁽ᴮ⁾)``, and among themselves
# ``w₁ Y w₂ᵀ``.

MOST_CELLS = 3000
"""Up to so many cells leave together by one dense system; more are left out by iteration."""


@dataclass(frozen=True)
class TwoStepHoldout:
    """Complete scores and both decompositions."""

    problem: DyadicProblem

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> TwoStepHoldout:
        """Keep the problem; its sides decompose their kernels once."""
        return cls(problem)

    def handles(self, folds: DyadicFolds) -> bool:
        """Return whether the shortcut costs less than training again."""
        return folds.cells is None or max(len(cells) for cells in folds.cells) <= MOST_CELLS

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return every cell as if it were new, (m₁, m₂, outputs, regularisations); NaN outside the folds."""
        scores = np.full((*self.problem.matrix.shape, len(regularisations)), np.nan)
        for number, regularisation in enumerate(regularisations):
            sides = TwoStepInverses(
                _inverse(self.problem.row_spectrum, regularisation.rows),
                _inverse(self.problem.column_spectrum, regularisation.columns),
                regularisation,
            )
            for k in range(self.problem.n_outputs):
                Y = self.problem.matrix[:, :, k]
                if folds.setting == "cell":
                    scores[:, :, k, number] = sides.cells(Y, folds)
                elif folds.one_set:
                    scores[:, :, k, number] = sides.objects(Y, folds)
                else:
                    scores[:, :, k, number] = sides.sides(Y, folds)
        return scores


def _inverse(spectrum: SideSpectrum, alpha: float) -> Float:
    U = spectrum.eigenvectors
    return np.asarray((U / (spectrum.eigenvalues + alpha)) @ U.T)


@dataclass(frozen=True)
class TwoStepInverses:
    """G₁ and G₂ for one pair of regularisation strengths.

    Shapes: G1 (m1, m1), G2 (m2, m2).
    """

    G1: Float
    G2: Float
    regularisation: Regularisation

    def sides(self, Y: Float, folds: DyadicFolds) -> Float:
        """Hold out rows, columns or both of two sets of objects."""
        if folds.setting in ("row", "both"):
            Y = _without_rows(self.G1, Y, folds.rows)
        else:
            Y = Y - self.regularisation.rows * (self.G1 @ Y)
        if folds.setting in ("column", "both"):
            return _without_rows(self.G2, Y.T, folds.columns).T
        return np.asarray(Y - self.regularisation.columns * (Y @ self.G2))

    def cells(self, Y: Float, folds: DyadicFolds) -> Float:
        """Hold out cells; with one set of objects together with their mirrors."""
        Q1, Q2 = self.regularisation.rows * self.G1, self.regularisation.columns * self.G2
        q1, q2 = np.diag(Q1)[:, None], np.diag(Q2)
        own = q1 + q2 - q1 * q2
        # Where every ``1 - h₁h₂`` is above this, scores are a hundredth of Y or less.
        if own.min() > 0.99:
            return self._shrunk_cells(Y, folds, own)
        rotated = Q1 @ Y
        residuals = rotated + (Y - rotated) @ Q2
        return np.asarray(Y - self._solve_cells(residuals, folds, own))

    def _shrunk_cells(self, Y: Float, folds: DyadicFolds, own: Float) -> Float:
        """Solve ``(I - H_TT) f_T = (F - H Y_T)_T``: where f is far smaller than Y, its digits are lost in Y - f."""
        H1 = np.eye(len(self.G1)) - self.regularisation.rows * self.G1
        H2 = np.eye(len(self.G2)) - self.regularisation.columns * self.G2
        right = H1 @ Y @ H2
        if folds.cells is not None:
            for cells in folds.cells:
                rows, columns = np.divmod(cells, Y.shape[1])
                H = H1[np.ix_(rows, rows)] * H2[np.ix_(columns, columns)]
                right[rows, columns] -= H @ Y[rows, columns]
        else:
            right -= np.diag(H1)[:, None] * np.diag(H2) * Y
            if folds.one_set:
                right -= _off_diagonal(H1 * H2) * Y.T
        return self._solve_cells(right, folds, own)

    def _solve_cells(self, right: Float, folds: DyadicFolds, own: Float) -> Float:
        """Solve with ``(I - H₁⊗H₂)_TT`` for every T; `own` is its diagonal."""
        Q1, Q2 = self.regularisation.rows * self.G1, self.regularisation.columns * self.G2
        if folds.cells is None:
            if not folds.one_set:
                return np.asarray(right / own)
            mirror = -_off_diagonal(Q1 * Q2)
            return np.asarray((own.T * right - mirror * right.T) / (own * own.T - mirror**2))
        found = np.full(right.shape, np.nan)
        for cells in folds.cells:
            rows, columns = np.divmod(cells, right.shape[1])
            found[rows, columns] = np.linalg.solve(_cell_system(Q1, Q2, rows, columns), right[rows, columns])
        return found

    def objects(self, Y: Float, folds: DyadicFolds) -> Float:
        """Hold out objects of one set with their rows and columns."""
        if folds.setting == "column":
            turned = TwoStepInverses(self.G2, self.G1, _turned(self.regularisation))
            return turned.objects(Y.T, folds.turned()).T
        scores = np.full(Y.shape, np.nan)
        if folds.setting == "row":
            for fold in folds.object_folds(0):
                scores[fold] = self._new_rows(Y, fold)
            return scores
        # Without their diagonals: these are much larger than what is left of them in the end.
        O1, O2 = _off_diagonal(self.G1), _off_diagonal(self.G2)
        products = (O1 @ Y, Y @ O2, O1 @ Y @ O2) if folds.rows is None else None
        for leaving in folds.leaving(np.ones(Y.shape, dtype=np.bool_)):
            B = np.ix_(leaving.rows, leaving.rows)
            if products is not None:
                O1Y, YO2, A = products
                inner = A[B] - O1[B] @ YO2[B] - O1Y[B] @ O2[B] + O1[B] @ Y[B] @ O2[B]
                block = np.linalg.solve(self.G2[B], np.linalg.solve(self.G1[B], inner).T).T
            else:
                block = _outside_weights(self.G1, leaving.rows) @ Y @ _outside_weights(self.G2, leaving.rows).T
            rows, columns = np.divmod(leaving.predicted, Y.shape[1])
            places = np.searchsorted(leaving.rows, rows), np.searchsorted(leaving.rows, columns)
            scores[rows, columns] = block[places]
        return scores

    def _new_rows(self, Y: Float, fold: Index) -> Float:
        G2 = self.G2[fold]
        Z = _outside_weights(self.G1, fold) @ Y
        Z[:, fold] = 0.0
        ZG = Z @ self.G2
        among = np.linalg.solve(G2[:, fold], ZG[:, fold].T).T
        rows = Z - self.regularisation.columns * (ZG - among @ G2)
        rows[:, fold] = -among
        return np.asarray(rows)


def _off_diagonal(G: Float) -> Float:
    off = G.copy()
    np.fill_diagonal(off, 0.0)
    return off


def _outside_weights(G: Float, fold: Index) -> Float:
    """Return w, (u, m): what a ridge regression without some objects predicts for them, zero on themselves."""
    outside = G[fold]
    outside[:, fold] = 0.0
    return np.asarray(-np.linalg.solve(G[np.ix_(fold, fold)], outside))


def _turned(regularisation: Regularisation) -> Regularisation:
    return Regularisation(regularisation.columns, regularisation.rows, regularisation.both)


def _without_rows(G: Float, Y: Float, folds: tuple[Index, ...] | None) -> Float:
    """Return what a ridge regression without a row, or a fold of rows, predicts for it; NaN outside the folds."""
    GY = G @ Y
    if folds is None:
        return np.asarray(Y - GY / np.diag(G)[:, None])
    scores = np.full(Y.shape, np.nan)
    for fold in folds:
        scores[fold] = Y[fold] - np.linalg.solve(G[np.ix_(fold, fold)], GY[fold])
    return scores


def _cell_system(Q1: Float, Q2: Float, rows: Index, columns: Index) -> Float:
    """Return ``(I - H₁⊗H₂)_TT`` of some cells."""
    q1, q2 = Q1[np.ix_(rows, rows)], Q2[np.ix_(columns, columns)]
    return np.asarray(q1 * (columns[:, None] == columns) + (rows[:, None] == rows) * q2 - q1 * q2)
