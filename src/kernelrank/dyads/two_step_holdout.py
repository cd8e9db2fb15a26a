"""Hold-outs of two-step learning with complete scores: two inverses serve all four settings.

With ``G₁ = (K₁ + α₁I)⁻¹``, ``Q₁ = α₁G₁ = I - H₁``, ``H₁ = K₁G₁`` and the same for the columns, ``F = H₁ Y H₂``.

**New rows I**: a ridge regression without them predicts ``M_I = Y_I - G₁,II⁻¹ (G₁Y)_I``, for single rows
``Y - G₁Y / diag(G₁)``; the other side smooths as ever, ``M H₂``. **New rows and columns**: the same on both sides.

**Unknown cells T** are filled with their predictions: from ``f_T = H_TT f_T + (F - H Y_T)_T`` follow the residuals
``(I - H_TT)⁻¹ (Y - F)_T``, where nothing is subtracted from one:

    ``Y - F = Q₁Y + YQ₂ - Q₁YQ₂``,   ``I - H₁⊗H₂ = Q₁⊗I + I⊗Q₂ - Q₁⊗Q₂``.

**One set of objects**: a cell leaves with its mirror, a system of two unknowns, whose other entry is ``-Q₁_ij Q₂_ij``.
Objects B leave with their rows and their columns: with ``w = -G_BB⁻¹ G_B:`` off B, ``Z = w₁ Y`` with zeros in the
columns B, and ``G⁽ᴮ⁾ = G₂ - G₂,:B G₂,BB⁻¹ G₂,B:``, the rows B are ``Z (I - α₂ G⁽ᴮ⁾)``,
and among themselves ``w₁ Y w₂ᵀ``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.dyadic_side import SideSpectrum
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.problem import DyadicProblem, Regularisation

__all__ = ["TwoStepHoldout"]

MOST_CELLS = 3000
"""Up to so many cells leave together by one dense system; more are left out by iteration."""

SHRUNK = 0.99
"""Where every ``1 - h₁h₂`` is above this, scores are a hundredth of Y or less."""


@dataclass(frozen=True)
class TwoStepHoldout:
    """Complete scores and both decompositions.

    Parameters
    ----------
    problem : DyadicProblem
    """

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
        assert self.problem.Y is not None
        scores = np.full((*self.problem.Y.shape, len(regularisations)), np.nan)
        for number, regularisation in enumerate(regularisations):
            sides = TwoStepInverses(
                _inverse(self.problem.row_spectrum, regularisation.rows),
                _inverse(self.problem.column_spectrum, regularisation.columns),
                regularisation,
            )
            for k in range(self.problem.n_outputs):
                Y = self.problem.Y[:, :, k]
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

    Parameters
    ----------
    G1 : ndarray, shape (m1, m1)
    G2 : ndarray, shape (m2, m2)
    regularisation : Regularisation
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
        if own.min() > SHRUNK:
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
