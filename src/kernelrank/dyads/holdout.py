"""Hold-outs of dyads: every cell as if it, its row, its column, or both were new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from kernelrank.base.arrays import Float, ItemsLike, one_pool
from kernelrank.base.progress import verbosely
from kernelrank.dyads.dyadic_refit import masked_scores, reduced_scores
from kernelrank.dyads.estimators import DyadicLearner
from kernelrank.dyads.folds import DyadicFolds, Setting
from kernelrank.dyads.one_set_holdout import OneSetHoldout
from kernelrank.dyads.plain_dyadic_learner import PlainDyadicLearner
from kernelrank.dyads.problem import DyadicProblem, Regularisation
from kernelrank.dyads.searched_holdout import searched_scores
from kernelrank.dyads.shortcuts import CompleteHoldout
from kernelrank.dyads.two_step_holdout import TwoStepHoldout
from kernelrank.errors import InvalidInputError
from kernelrank.solvers import ConjugateGradient
from kernelrank.solvers.precision import overflow_is_checked

__all__ = ["DyadicHoldout", "dyadic_holdout", "settle_ties"]

Shortcut = CompleteHoldout | OneSetHoldout | TwoStepHoldout

TIED = 1e-10
"""Held-out scores that differ by no more than this share of the largest are equal but for rounding."""


@one_pool
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
            found = holdout.scores(folds, [model._regularisation() for model in models])
        found = found[:, :, 0] if problem.one_output else found
        return found if alphas is not None else found[..., 0]

    if isinstance(setting, str):
        return scores(setting)
    return {name: scores(name) for name in setting}


@dataclass
class DyadicHoldout:
    """A problem to hold out from, in any setting, for any alpha: what is decomposed once serves all of them.

    Parameters
    ----------
    problem : DyadicProblem
    solver : str
        One of `DYADIC_SOLVERS`, for trainings again.
    iteration : ConjugateGradient
    random_state : int or RandomState
        Shuffles into a number of folds.
    """

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

    Parameters
    ----------
    scores : ndarray, shape (m1, m2, outputs, regularisations)
        NaN where nothing was held out.

    Notes
    -----
    One sort of the scores of each output and regularisation.

    Examples
    --------
    >>> settle_ties(np.array([[0.1 + 0.2, 0.3, 1.0]])[:, :, None, None]).ravel().tolist()
    [0.3, 0.3, 1.0]
    """
    for k, number in np.ndindex(scores.shape[2:]):
        values = scores[:, :, k, number].ravel()
        order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN comes last
        if len(order) == 0:
            continue
        ascending = values[order]
        apart = np.diff(ascending) > TIED * max(abs(ascending[0]), abs(ascending[-1]))
        group = np.concatenate([[0], np.cumsum(apart)])
        values[order] = ascending[np.concatenate([[0], 1 + np.flatnonzero(apart)])[group]]
        scores[:, :, k, number] = values.reshape(scores.shape[:2])
    return scores
