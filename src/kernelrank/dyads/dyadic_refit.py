"""Hold-outs without a shortcut: training again without the held-out cells, from the solution of all known cells.

For the Kronecker kernel and for rankings an object without a known score does not affect the minimum, so that all that
leaves is a mask over the known cells. The features of both sides stay, and conjugate gradients start at the solution
with nothing held out. Two-step learning depends on which objects there are, so objects that leave make smaller kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernelrank.base.arrays import Float, Index, dense_rows
from kernelrank.base.progress import track
from kernelrank.dyads.dyadic_solution import DyadicSolution
from kernelrank.dyads.eigenbasis import Eigenbasis
from kernelrank.dyads.few_cells import FewCells
from kernelrank.dyads.folds import DyadicFolds, LeavingDyads
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.solvers import prepare
from kernelrank.dyads.vec_trick import VecTrick
from kernelrank.errors import InvalidInputError
from kernelrank.solvers import ConjugateGradient

__all__ = ["masked_scores", "reduced_scores", "solution_block"]

HOLDOUT_TOLERANCE = 1e-12
"""The relative residual of a training again: from a good start, fewer digits would be none at all."""


def solution_block(problem: DyadicProblem, solution: DyadicSolution, rows: Index, columns: Index) -> Float:
    """Return the scores of some rows and columns of a problem, (t₁, t₂, outputs)."""
    if solution.weights is not None:
        left, right = dense_rows(problem.rows.items, rows), dense_rows(problem.columns.items, columns)
        values = solution.weights
    else:
        assert solution.dual is not None
        (left, right), values = problem.score_rows(rows, columns), solution.dual
    return np.stack([left @ values[:, :, k] @ right.T for k in range(values.shape[2])], axis=2)


def masked_scores(
    problem: DyadicProblem,
    folds: DyadicFolds,
    regularisations: Sequence[Regularisation],
    *,
    solver: str,
    iteration: ConjugateGradient,
) -> Float:
    """Hold out by masks over the known cells.

    Parameters
    ----------
    problem : DyadicProblem
    folds : DyadicFolds
    regularisations : sequence of Regularisation
    solver : str
        One of `DYADIC_SOLVERS`.
    iteration : ConjugateGradient

    Returns
    -------
    ndarray, shape (m1, m2, outputs, regularisations)
        In the setting "cell", unknown cells have the scores of all known cells; otherwise NaN where nothing leaves.
    """
    assert problem.Y is not None
    prepared = _iterative(problem, solver, iteration, regularisations[0])
    known = problem.known()
    scores = np.full((*problem.Y.shape, len(regularisations)), np.nan)
    every = np.arange(problem.shape[0]), np.arange(problem.shape[1])
    starts: list[DyadicSolution] = []
    for number, regularisation in enumerate(regularisations):
        starts.append(prepared.solve(regularisation, starts[-1] if starts else None))
        if folds.setting == "cell":
            scores[..., number] = solution_block(problem, starts[-1], *every)
    scores[known] = np.nan
    for leaving in track(folds.leaving(known), None, "refitting without", noun="folds"):
        without = prepared.without(leaving.mask(problem.shape))
        for number, regularisation in enumerate(regularisations):
            solution = without.solve(regularisation, starts[number])
            _write(scores[..., number], problem, solution, leaving)
    return scores


def _iterative(
    problem: DyadicProblem, solver: str, iteration: ConjugateGradient, regularisation: Regularisation
) -> Eigenbasis | FewCells | VecTrick:
    """Choose a solver that allows unknown cells, even where all are known."""
    if problem.complete:
        solver = {"spectral": "eigenbasis"}.get(solver, solver)
        problem = replace(problem, cells=problem.output_cells())
    if solver == "auto" and regularisation.constant and FewCells.fits(problem):
        solver = "direct"
    tol = min(iteration.tol, HOLDOUT_TOLERANCE)
    prepared = prepare(problem, solver, tol=tol, max_iter=iteration.max_iter, regularisation=regularisation)
    assert isinstance(prepared, Eigenbasis | FewCells | VecTrick)
    return prepared


def _write(scores: Float, problem: DyadicProblem, solution: DyadicSolution, leaving: LeavingDyads) -> None:
    rows, columns = np.divmod(leaving.predicted, problem.shape[1])
    row_numbers, row_places = np.unique(rows, return_inverse=True)
    column_numbers, column_places = np.unique(columns, return_inverse=True)
    block = solution_block(problem, solution, row_numbers, column_numbers)
    scores[rows, columns] = block[row_places, column_places]


def reduced_scores(
    problem: DyadicProblem,
    folds: DyadicFolds,
    regularisations: Sequence[Regularisation],
    *,
    iteration: ConjugateGradient,
) -> Float:
    """Hold out objects by decomposing the kernels of the others: O(m³) a fold.

    Parameters
    ----------
    problem, folds, regularisations, iteration
        As in `masked_scores`; the setting is not "cell".

    Returns
    -------
    ndarray, shape (m1, m2, outputs, regularisations)
    """
    assert problem.Y is not None
    known = ~np.isnan(problem.Y)
    scores = np.full((*problem.Y.shape, len(regularisations)), np.nan)
    for leaving in track(folds.leaving(problem.known()), None, "refitting without", noun="folds"):
        rows = np.setdiff1d(np.arange(problem.shape[0]), leaving.rows)
        columns = np.setdiff1d(np.arange(problem.shape[1]), leaving.columns)
        if not known[np.ix_(rows, columns)].any(axis=(0, 1)).all():
            raise InvalidInputError(_nothing_left(leaving))
        part = problem.only(rows, columns)
        tol = min(iteration.tol, HOLDOUT_TOLERANCE)
        solver = prepare(part, "auto", tol=tol, max_iter=iteration.max_iter, regularisation=regularisations[0])
        cells = np.divmod(leaving.predicted, problem.shape[1])
        new_rows, row_places = np.unique(cells[0], return_inverse=True)
        new_columns, column_places = np.unique(cells[1], return_inverse=True)
        left, right = problem.score_rows(new_rows, new_columns)
        left, right = left[:, rows], right[:, columns].T
        solution = None
        for number, regularisation in enumerate(regularisations):
            solution = solver.solve(regularisation, solution)
            assert solution.dual is not None
            for k in range(solution.dual.shape[2]):
                block = left @ solution.dual[:, :, k] @ right
                scores[cells[0], cells[1], k, number] = block[row_places, column_places]
    return scores


def _nothing_left(leaving: LeavingDyads) -> str:
    return (
        f"no known score is left without {len(leaving.rows)} rows and {len(leaving.columns)} columns, such as "
        f"{leaving.rows[:1].tolist()} and {leaving.columns[:1].tolist()}: use more folds"
    )
