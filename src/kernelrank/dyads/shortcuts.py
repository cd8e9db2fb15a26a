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

from kernelrank.base.arrays import Float, Index
from kernelrank.dyads.complete import Spectral
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.new_cells import cell_residuals, few_cell_residuals, ranked_cells
from kernelrank.dyads.new_objects import new_object_coefficients, new_object_residuals
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.rotated_side import RotatedSide
from kernelrank.errors import NothingToCompareError

__all__ = ["CompleteHoldout", "by_shortcut"]

DECOMPOSITION = 15.0
"""What an eigendecomposition with its products costs, in m³ operations of a matrix product."""

ITERATIONS = 100.0
"""How many products of m₁m₂(m₁ + m₂) a training with unknown cells costs, about."""


def by_shortcut(size: int, lost: int, kept: int) -> bool:
    """Return whether holding out some objects by small systems costs less than another decomposition.

    Parameters
    ----------
    size : int
        How many objects of a side leave together.
    lost, kept : int
        How many objects that side has, and how many the other side.
    """
    return 2.0 * size**2 * lost * kept <= DECOMPOSITION * lost**3 + 3.0 * lost**2 * kept


@dataclass(frozen=True)
class CompleteHoldout:
    """Complete scores after the decompositions, ready to be held out.

    Parameters
    ----------
    problem : DyadicProblem
        Complete, regression or with ranked columns.
    rows, columns : RotatedSide
    rotated : ndarray, shape (m1, m2, outputs)
        ``P₁ᵀ Y P₂``.
    """

    problem: DyadicProblem
    rows: RotatedSide
    columns: RotatedSide
    rotated: Float

    @classmethod
    def prepare(cls, problem: DyadicProblem) -> CompleteHoldout:
        """Decompose both kernels and rotate the scores, as the fit does."""
        rotated = Spectral.prepare(problem).rotated
        columns = RotatedSide.of(problem.columns, centred=problem.ranked == "columns")
        return cls(problem, RotatedSide.of(problem.rows, centred=False), columns, rotated)

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return every cell as if it were new in the way of the setting; NaN outside the folds.

        Parameters
        ----------
        folds : DyadicFolds
        regularisations : sequence of Regularisation

        Returns
        -------
        ndarray, shape (m1, m2, outputs, regularisations)
        """
        assert self.problem.Y is not None
        scores = np.full((*self.problem.Y.shape, len(regularisations)), np.nan)
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
        assert problem.Y is not None
        S = self._shrinkage(regularisation)
        T = self.rotated[:, :, output] * S
        if problem.ranked is not None:
            weights = problem.omega(problem.shape[1] - np.array([0.0, 1.0]))
            # The one cell that is left of a row of two is compared with nothing, at whatever weight.
            noise = regularisation.both / np.where(weights > 0, weights, 1.0)
            return ranked_cells(self.rows, self.columns, problem.Y[:, :, output], T, S, noise)
        if folds.cells is None:
            return np.asarray(problem.Y[:, :, output] - cell_residuals(P1, P2, T, S))
        A, scores = P1 @ T @ P2.T, np.full(problem.shape, np.nan)
        for cells in folds.cells:
            rows, columns = np.divmod(cells, problem.shape[1])
            residuals = few_cell_residuals(P1, P2, S, A, rows, columns)
            scores[rows, columns] = problem.Y[rows, columns, output] - residuals
        return scores

    def _rows(self, folds: DyadicFolds, regularisation: Regularisation, output: int) -> Float:
        S = self._shrinkage(regularisation)
        T = self.rotated[:, :, output] * S
        if self.problem.ranked is not None:
            return _inside(new_object_coefficients(self.rows, T, S, folds.rows) @ self.columns.V.T, folds.rows)
        assert self.problem.Y is not None
        Z = new_object_residuals(self.rows.P, T, S, folds.rows)
        return _inside(self.problem.Y[:, :, output] - Z @ self.columns.P.T, folds.rows)

    def _columns(self, folds: DyadicFolds, regularisation: Regularisation, output: int) -> Float:
        scores = np.empty(self.problem.shape)
        for lost, same_size in _by_size(folds.columns).items():
            S = self._shrinkage(regularisation, lost)
            T = self.rotated[:, :, output] * S
            objects = slice(None) if same_size is None else np.concatenate(same_size)
            if self.problem.ranked is not None:
                phi = new_object_coefficients(self.columns, T.T, S.T, same_size)[objects]
                scores[:, objects] = self.rows.V @ phi.T
            else:
                assert self.problem.Y is not None
                Z = new_object_residuals(self.columns.P, T.T, S.T, same_size)[objects]
                scores[:, objects] = self.problem.Y[:, objects, output] - self.rows.P @ Z.T
        return _inside(scores.T, folds.columns).T

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
        assert self.problem.Y is not None
        without_columns = [self._without_columns(fold) for fold in column_folds]
        every = np.arange(self.problem.shape[1])
        for rows in row_folds:
            kept = np.setdiff1d(np.arange(self.problem.shape[0]), rows)
            side = RotatedSide.of_part(self.problem.rows, kept, rows, centred=False)
            for k in range(self.problem.n_outputs):
                turned = side.P.T @ self.problem.Y[kept, :, k]
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
        assert self.problem.Y is not None
        kept = np.setdiff1d(np.arange(self.problem.shape[1]), fold)
        columns = RotatedSide.of_part(self.problem.columns, kept, fold, centred=self.problem.ranked is not None)
        return replace(self, columns=columns, rotated=_rotated(self.rows.P, self.problem.Y[:, kept], columns.P))

    def _without_rows(self, fold: Index) -> CompleteHoldout:
        assert self.problem.Y is not None
        kept = np.setdiff1d(np.arange(self.problem.shape[0]), fold)
        rows = RotatedSide.of_part(self.problem.rows, kept, fold, centred=False)
        return replace(self, rows=rows, rotated=_rotated(rows.P, self.problem.Y[kept], self.columns.P))


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
