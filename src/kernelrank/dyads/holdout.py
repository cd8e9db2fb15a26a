"""Hold-outs of dyads: every cell as if it, its row, its column, or both were new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index, ItemsLike, Matrix, one_pool
from kernelrank.base.progress import track, verbosely
from kernelrank.dyads.estimators import DyadicLearner, PlainDyadicLearner
from kernelrank.dyads.folds import DyadicFolds, LeavingDyads, Setting
from kernelrank.dyads.problem import DyadicProblem, DyadicSide, DyadicSolution, Regularisation
from kernelrank.dyads.shortcuts import CompleteHoldout, OneSetHoldout, TwoStepHoldout
from kernelrank.dyads.solvers import SMALL, UNITS, Eigenbasis, FewCells, VecTrick, prepare, solution_block
from kernelrank.errors import InvalidInputError
from kernelrank.solvers import ConjugateGradient
from kernelrank.solvers.precision import MARGIN, one_warning, overflow_is_checked, report_error

Shortcut = CompleteHoldout | OneSetHoldout | TwoStepHoldout


@one_pool
@one_warning("held-out scores")
def dyadic_holdout(
    estimator: Any,
    X_rows: ItemsLike,
    X_columns: ItemsLike | None,
    Y: ArrayLike,
    *,
    setting: Setting | Sequence[Setting] = "cell",
    cv: Any = None,
    alphas: Any = None,
    verbose: bool = False,
) -> Any:
    """Predict held-out scores of dyads in one of four settings: new cells, rows, columns or both.

    How well a model predicts depends very much on what is new: a missing score of a known drug and a known target, a
    new drug, a new target, or a new drug with a new target. All four are exact: they equal the predictions of a model
    trained again without the held-out dyads.

    Parameters
    ----------
    estimator : KroneckerRLS, KroneckerRankRLS or TwoStepRLS, or KroneckerRLSCV, KroneckerRankRLSCV or TwoStepRLSCV
        Its parameters are used; it need not be fitted, and is not changed. A search chooses alpha again without the
        held-out dyads (nested cross-validation); give it the same `setting`.
    X_rows, X_columns, Y
        As in `KroneckerRLS.fit`.
    setting : {"cell", "row", "column", "both"} or a list of these, default="cell"
        What is new: the score, the object of the row, that of the column, or both objects. With one set of objects
        (`relation`) a cell is held out together with its mirror image, and an object with its row and its column: "row"
        predicts f(a, b) without a, "column" without b, "both" without a and b.
    cv : int, splitter or iterable of splits, optional
        What is held out together: folds of cells (the known ones, row by row), of rows or of columns; by default one
        cell or object each. For "both", folds of the rows and of the columns; a tuple of two gives different ones. With
        one set of objects, cells are pairs of objects. A number of folds is shuffled by `random_state` of the
        estimator.
    alphas : array-like of float, optional
        Hold out for each of these; for `TwoStepRLS` also pairs (alpha_rows, alpha_columns).
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    ndarray, shape (m1, m2) or (m1, m2, n_outputs), and one more axis for alphas if they are given
        Held-out scores; NaN for dyads in no fold. In the setting "cell", dyads without a known score have the
        prediction of the model trained on all, but with a search NaN. A dict of arrays by setting if a list of settings
        is given.

    See Also
    --------
    kernelrank.KroneckerRLSCV : Choose alpha by one of the settings.
    kernelrank.leave_query_out : The same for items of one kind.

    Notes
    -----
    Complete Y, after the two eigendecompositions of the fit, for each alpha, output and setting: "cell", "row" and
    "column" a few matrix products, O(m₁²m₂ + m₁m₂²), for folds of u objects O(u) times as much, or one decomposition a
    fold where that is less. "both" decomposes the smaller side without each of its folds: O(m₂³ + m₁²m₂ + m₁m₂²) a
    fold; `TwoStepRLS` takes a few products there too. With one set of objects O(m⁴), or a decomposition for each fold
    and, for "both", for each pair of folds. Memory O(m₁² + m₂² + m₁m₂) and the result.

    Incomplete Y, rankings of one set of objects that are symmetric or reciprocal, and folds of very many cells train
    again for each fold, by conjugate gradients that start at the solution of all scores: use folds there. A search
    costs what its fit costs for each fold; without cells, Y is incomplete, so give it a number of folds as its `cv`.

    Objects with equal kernels have equal scores, and a new row whose kernel with all known rows is zero has the same
    score in every column. Rounding would order them at random, and a concordance would count that. So scores that
    differ by no more than 1e-10 times the largest one are returned equal: they are ties, which count a half.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLS, dyadic_holdout
    >>> drugs, targets = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [-1.0], [2.0]])
    >>> Y = drugs @ targets.T
    >>> dyadic_holdout(KroneckerRLS(alpha=0.01), drugs, targets, Y, setting="row").round(1)
    array([[ 1., -1.,  2.],
           [ 2., -2.,  4.],
           [ 3., -3.,  6.]])
    """
    if verbose:
        return verbosely(dyadic_holdout, locals())
    if not isinstance(estimator, DyadicLearner):
        raise InvalidInputError(
            f"Expected a KroneckerRLS, KroneckerRankRLS or TwoStepRLS, or a search of these; got "
            f"{type(estimator).__name__}"
        )
    learner = clone(estimator)
    learner._validate_params()
    plain = isinstance(learner, PlainDyadicLearner)
    if alphas is not None and not plain:
        raise InvalidInputError("alphas is not supported for a search, which has its own alphas: leave it out")
    models = [learner] if alphas is None else [learner._with_alpha(alpha) for alpha in learner._check_path(alphas)]
    problem = learner._problem(X_rows, X_columns, Y)
    holdout = DyadicHoldout.of(learner, problem)

    def scores(name: Setting) -> Float:
        folds = holdout.folds(name, cv)
        if not plain:
            found = settle_ties(searched_scores(learner, problem, folds)[..., None])
        else:
            found = holdout.checked_scores(folds, [model._regularisation() for model in models])
        found = found[:, :, 0] if problem.one_output else found
        return found if alphas is not None else found[..., 0]

    if isinstance(setting, str):
        return scores(setting)
    return {name: scores(name) for name in setting}


@dataclass
class DyadicHoldout:
    """A problem to hold out from, in any setting, for any alpha: what is decomposed once serves all of them."""

    problem: DyadicProblem
    solver: str
    iteration: ConjugateGradient
    random_state: Any = 0
    _shortcuts: dict[str, Shortcut] = field(default_factory=dict)

    @classmethod
    def of(cls, learner: DyadicLearner, problem: DyadicProblem) -> DyadicHoldout:
        """Hold out from a problem with the parameters of a learner."""
        seed = 0 if learner.random_state is None else learner.random_state
        return cls(problem, learner.solver, ConjugateGradient(learner.tol, learner.max_iter), seed)

    @property
    def one_set(self) -> bool:
        """Whether rows and columns are the same objects."""
        return self.problem.relation is not None

    def folds(self, setting: Setting, cv: Any) -> DyadicFolds:
        """Read `setting` and `cv`."""
        return DyadicFolds.of(setting, cv, self.problem.known(), one_set=self.one_set, random_state=self.random_state)

    def scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return held-out scores, (m₁, m₂, outputs, regularisations); those that differ by rounding only are tied."""
        return settle_ties(self._scores(folds, regularisations))

    def checked_scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        """Return the same, and warn where rounding has moved them by more than 1e-8 of the largest.

        Where that could be, they are computed again in other units of both kernels and of alpha.
        """
        found = self._scores(folds, regularisations)
        doubtful = [n for n, each in enumerate(regularisations) if self.problem.rounding(each) > DOUBTFUL]
        if doubtful:
            errors, known = np.zeros(len(doubtful)), self.problem.known()
            for unit, other_unit in UNITS[: None if known.size <= SMALL else 1]:
                units = unit, unit if self.one_set else other_unit
                other = replace(self, problem=self.problem.in_units(*units), _shortcuts={})
                again = other._scores(folds, [regularisations[n].in_units(*units) for n in doubtful])
                errors = np.maximum(errors, self._moved(found[..., doubtful], again))
            for n, error in zip(doubtful, errors, strict=True):
                report_error(regularisations[n].weakest, MARGIN * error, EXACT)
        return settle_ties(found)

    def _moved(self, found: Float, again: Float) -> Float:
        """Return by how much scores differ, relative to the largest, for each regularisation."""
        scores = np.nan_to_num(found), np.nan_to_num(again)
        sizes = np.abs(scores[0]).max(axis=(0, 1, 2))
        # Scores of less than a thousandth of what was learnt from count as if they were so large.
        most = 1e-3 * float(np.nanmax(np.abs(self.problem.matrix)))
        return np.asarray(np.abs(scores[0] - scores[1]).max(axis=(0, 1, 2)) / np.maximum(sizes, most))

    def _scores(self, folds: DyadicFolds, regularisations: Sequence[Regularisation]) -> Float:
        two_step = not regularisations[0].constant
        closed = self.problem.complete and self.problem.is_product
        with overflow_is_checked():
            if closed:
                turned = self.problem.ranked == "rows" and not self.one_set
                asked = folds.turned() if turned else folds
                shortcut = self._shortcut(asked, two_step, turned)
                if shortcut is not None and shortcut.handles(asked):
                    found = shortcut.scores(asked, regularisations)
                    return found.swapaxes(0, 1) if turned else found
            if folds.setting != "cell" and (two_step or closed):
                return reduced_scores(self.problem, folds, regularisations, iteration=self.iteration)
            return masked_scores(self.problem, folds, regularisations, solver=self.solver, iteration=self.iteration)

    def _shortcut(self, folds: DyadicFolds, two_step: bool, turned: bool) -> Shortcut | None:
        """Return what holds out without training again, if there is something."""
        kind: type[Shortcut]
        if two_step:
            kind = TwoStepHoldout
        elif self.one_set and self.problem.ranked is not None:
            return None
        elif self.one_set and folds.cells is None:
            kind = OneSetHoldout
        else:  # folds of cells, with their mirrors, are the same in the plain problem
            kind = CompleteHoldout
        if kind.__name__ not in self._shortcuts:
            self._shortcuts[kind.__name__] = kind.prepare(self.problem.turned() if turned else self.problem)
        return self._shortcuts[kind.__name__]


def settle_ties(scores: Float) -> Float:
    """Make scores equal that differ by rounding only; the array is overwritten.

    Shapes: scores (m1, m2, outputs, regularisations).

    scores: NaN where nothing was held out.
    """
    for k, number in np.ndindex(scores.shape[2:]):
        values = scores[:, :, k, number].ravel()
        order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN comes last
        if len(order) == 0:
            continue
        ascending = values[order]
        # Held-out scores that differ by no more than this share of the largest are equal but for rounding.
        apart = np.diff(ascending) > 1e-10 * max(abs(ascending[0]), abs(ascending[-1]))
        group = np.concatenate([[0], np.cumsum(apart)])
        values[order] = ascending[np.concatenate([[0], 1 + np.flatnonzero(apart)])[group]]
        scores[:, :, k, number] = values.reshape(scores.shape[:2])
    return scores


# Dyadic refit ---------------------------------------------------------------------------------------------------------
#
# Hold-outs without a shortcut: training again without the held-out cells, from the solution of all known cells.
#
# For the Kronecker kernel and for rankings an object without a known score does not affect the minimum, so that all
# that leaves is a mask over the known cells. The features of both sides stay, and conjugate gradients start at the
# solution with nothing held out. Two-step learning depends on which objects there are, so objects that leave make
# smaller kernels.

DOUBTFUL = 1e-9
"""Where rounding may move scores by more than this share of them, they are computed with more care, and checked."""

EXACT = 1e-8
"""Held-out scores equal training again to this share of the largest one, or there is a warning."""

HOLDOUT_TOLERANCE = 1e-12
"""The relative residual of a training again: from a good start, fewer digits would be none at all."""


def masked_scores(
    problem: DyadicProblem,
    folds: DyadicFolds,
    regularisations: Sequence[Regularisation],
    *,
    solver: str,
    iteration: ConjugateGradient,
) -> Float:
    """Hold out by masks over the known cells.

    Shapes: returns (m1, m2, outputs, regularisations).

    Returns: In the setting "cell", unknown cells have the scores of all known cells; otherwise NaN where nothing
    leaves.
    """
    prepared = _iterative(problem, solver, iteration, regularisations[0])
    roots = None
    if isinstance(prepared, FewCells) and any(problem.rounding(each) > DOUBTFUL for each in regularisations):
        prepared = prepared.by_features()
        roots = prepared.roots
    known = problem.known()
    scores = np.full((*problem.matrix.shape, len(regularisations)), np.nan)
    every = np.arange(problem.shape[0]), np.arange(problem.shape[1])
    starts: list[DyadicSolution] = []
    for number, regularisation in enumerate(regularisations):
        starts.append(prepared.solve(regularisation, starts[-1] if starts else None))
        if folds.setting == "cell":
            scores[..., number] = solution_block(problem, starts[-1], *every, roots=roots)
    scores[known] = np.nan
    for leaving in track(folds.leaving(known), None, "refitting without", noun="folds"):
        without = prepared.without(leaving.mask(problem.shape))
        cells, objects, places = leaving.crossing(problem.shape)
        for number, regularisation in enumerate(regularisations):
            block = solution_block(problem, without.solve(regularisation, starts[number]), *objects, roots=roots)
            scores[..., number][cells] = block[places]
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


def reduced_scores(
    problem: DyadicProblem,
    folds: DyadicFolds,
    regularisations: Sequence[Regularisation],
    *,
    iteration: ConjugateGradient,
) -> Float:
    """Hold out objects by decomposing the kernels of the others: O(m³) a fold.

    Shapes: returns (m1, m2, outputs, regularisations).
    """
    known = ~np.isnan(problem.matrix)
    scores = np.full((*problem.matrix.shape, len(regularisations)), np.nan)
    for leaving in track(folds.leaving(problem.known()), None, "refitting without", noun="folds"):
        rows = np.setdiff1d(np.arange(problem.shape[0]), leaving.rows)
        columns = np.setdiff1d(np.arange(problem.shape[1]), leaving.columns)
        if not known[np.ix_(rows, columns)].any(axis=(0, 1)).all():
            raise InvalidInputError(_nothing_left(leaving))
        part = problem.only(rows, columns)
        tol = min(iteration.tol, HOLDOUT_TOLERANCE)
        solver = prepare(part, "auto", tol=tol, max_iter=iteration.max_iter, regularisation=regularisations[0])
        cells, objects, places = leaving.crossing(problem.shape)
        left, right = problem.score_rows(*objects)
        left, right = left[:, rows], right[:, columns].T
        solution = None
        for number, regularisation in enumerate(regularisations):
            solution = solver.solve(regularisation, solution)
            assert solution.dual is not None
            for k in range(solution.dual.shape[2]):
                scores[:, :, k, number][cells] = (left @ solution.dual[:, :, k] @ right)[places]
    return scores


def _nothing_left(leaving: LeavingDyads) -> str:
    return (
        f"no known score is left without {len(leaving.rows)} rows and {len(leaving.columns)} columns, such as "
        f"{leaving.rows[:1].tolist()} and {leaving.columns[:1].tolist()}: use more folds"
    )


# Searched holdout -----------------------------------------------------------------------------------------------------
#
# Hold-outs of a search: alpha is chosen, and the model trained, without each fold.
#
# The choice does not use the held-out dyads, so that the held-out scores are those of the whole way from data to model.
# Kernels stay as they were fixed on all objects, without their scores, as in all hold-outs of dyads.


def searched_scores(search: DyadicLearner, problem: DyadicProblem, folds: DyadicFolds) -> Float:
    """Search and train without each fold, and predict it: one search a fold.

    Shapes: returns (m1, m2, outputs).

    Returns: NaN for dyads in no fold.
    """
    scores = np.full(problem.matrix.shape, np.nan)
    for leaving in folds.leaving(problem.known()):
        Y = problem.matrix.copy()
        Y[leaving.mask(problem.shape)] = np.nan
        known: NDArray[np.bool_] = np.asarray(~np.isnan(Y).all(axis=2))
        kept = [np.flatnonzero(known.any(axis=1 - side)) for side in (0, 1)]
        if folds.one_set:
            kept = [np.union1d(*kept)] * 2
        if min(map(len, kept)) == 0:
            raise InvalidInputError("a training fold has no known score: use more folds")
        model = clone(search).set_params(**_kernels(search, problem))
        rows = _taken(problem.rows, kept[0], kept[0])
        model.fit(rows, None if folds.one_set else _taken(problem.columns, kept[1], kept[1]), Y[np.ix_(*kept)])
        cells, objects, places = leaving.crossing(problem.shape)
        sides = zip((problem.rows, problem.columns), objects, kept, strict=True)
        block = model.predict(*(_taken(side, numbers, fitted) for side, numbers, fitted in sides))
        scores[cells] = block.reshape(*block.shape[:2], -1)[places]
    return scores


def _kernels(search: DyadicLearner, problem: DyadicProblem) -> dict[str, str]:
    """Return parameters by which a part of the objects has the kernels of all of them."""
    names = ("rows",) if search.relation is not None else ("rows", "columns")
    return {f"kernel_{name}": "precomputed" for name in names if not getattr(problem, name).kernel.linear}


def _taken(side: DyadicSide, objects: Index, fitted: Index) -> Matrix:
    """Return objects by their features, or by their kernel with those that a model is fitted to."""
    return side.items[objects] if side.kernel.linear else side.K[np.ix_(objects, fitted)]
