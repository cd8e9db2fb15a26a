"""Hold-outs of dyads as they are said: what is new leaves, the rest is trained on by dense systems, one at a time."""

from __future__ import annotations

import numpy as np

from tests.oracles.dyads import kronecker_scores, two_step_scores
from tests.oracles.pairs import fit_regression


def leaving_cells(setting: str, i: int, j: int, shape: tuple[int, int], one_set: bool, folds) -> np.ndarray:
    """Which cells leave when (i, j) is predicted."""
    rows, columns = np.indices(shape)
    row_fold, column_fold = folds
    same_row, same_column = np.isin(rows, row_fold[i]), np.isin(columns, column_fold[j])
    if one_set:
        a = np.isin(rows, row_fold[i]) | np.isin(columns, row_fold[i])
        b = np.isin(rows, column_fold[j]) | np.isin(columns, column_fold[j])
        return {"row": a, "column": b, "both": a | b}[setting]
    return {"row": same_row, "column": same_column, "both": same_row | same_column}[setting]


def held_out_scores(Y, setting, scores_without, *, one_set=False, row_folds=None, column_folds=None, cells=None):
    """Train for every cell anew; ``scores_without(mask)`` trains on the cells that stay and predicts all."""
    m1, m2 = Y.shape[:2]
    row_folds = [[i] for i in range(m1)] if row_folds is None else row_folds
    column_folds = [[j] for j in range(m2)] if column_folds is None else column_folds
    of_row = {i: fold for fold in row_folds for i in fold}
    of_column = {j: fold for fold in column_folds for j in fold}
    found, known = np.full(Y.shape, np.nan), {}
    for i in range(m1):
        for j in range(m2):
            if setting == "cell":
                mask = np.zeros((m1, m2), dtype=bool)
                together = [[(i, j)]] if cells is None else [fold for fold in cells if (i, j) in fold]
                for a, b in together[0]:
                    mask[a, b] = True
                    if one_set:
                        mask[b, a] = True
            else:
                mask = leaving_cells(setting, i, j, (m1, m2), one_set, (of_row, of_column))
            key = mask.tobytes()
            if key not in known:
                known[key] = scores_without(mask)
            found[i, j] = known[key][i, j]
    return found


def kronecker_without(K1, K2, Y, alpha, **options):
    """Return a training on the known cells that stay, by the kernel of all of them."""

    def scores(mask):
        rows, columns = np.nonzero(~mask & ~np.isnan(Y).any(axis=tuple(range(2, Y.ndim))))
        return kronecker_scores(K1, K2, rows, columns, Y[rows, columns], alpha, **options)

    return scores


def stacked_without(X1, X2, Y, alpha):
    """Return a training with linear kernels by stacked least squares, in which nothing is squared."""
    Phi = np.kron(X1, X2)

    def scores(mask):
        kept = np.flatnonzero(~mask.ravel() & ~np.isnan(Y.ravel()))
        return (Phi @ fit_regression(Phi[kept], Y.ravel()[kept], alpha)).reshape(Y.shape)

    return scores


def two_step_without(K1, K2, Y, alpha1, alpha2, setting):
    """Return a training in which unknown cells are filled by predictions, and objects without any cell are left out."""

    def scores(mask):
        if setting == "cell":
            return two_step_scores(K1, K2, np.where(mask, np.nan, Y), alpha1, alpha2)
        rows, columns = np.flatnonzero(~mask.all(axis=1)), np.flatnonzero(~mask.all(axis=0))
        inner = np.ix_(rows, columns)
        parts = K1[np.ix_(rows, rows)], K2[np.ix_(columns, columns)]
        return two_step_scores(*parts, Y[inner], alpha1, alpha2, K1[:, rows], K2[:, columns])

    return scores
