"""Hold-outs of a search: alpha is chosen, and the model trained, without each fold.

The choice does not use the held-out dyads, so that the held-out scores are those of the whole way from data to model.
Kernels stay as they were fixed on all objects, without their scores, as in all hold-outs of dyads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.dyads.dyadic_side import DyadicSide
from kernelrank.dyads.estimators import DyadicLearner
from kernelrank.dyads.folds import DyadicFolds
from kernelrank.dyads.problem import DyadicProblem
from kernelrank.errors import InvalidInputError

__all__ = ["searched_scores"]


def searched_scores(search: DyadicLearner, problem: DyadicProblem, folds: DyadicFolds) -> Float:
    """Search and train without each fold, and predict it: one search a fold.

    Parameters
    ----------
    search : KroneckerRLSCV, KroneckerRankRLSCV or TwoStepRLSCV
    problem : DyadicProblem
        Of its objects and scores.
    folds : DyadicFolds

    Returns
    -------
    ndarray, shape (m1, m2, outputs)
        NaN for dyads in no fold.
    """
    assert problem.Y is not None
    scores = np.full(problem.Y.shape, np.nan)
    for leaving in folds.leaving(problem.known()):
        Y = problem.Y.copy()
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
        at = np.divmod(leaving.predicted, problem.shape[1])
        new = [np.unique(numbers, return_inverse=True) for numbers in at]
        sides = zip((problem.rows, problem.columns), new, kept, strict=True)
        block = model.predict(*(_taken(side, numbers, fitted) for side, (numbers, _), fitted in sides))
        scores[at] = block.reshape(*block.shape[:2], -1)[new[0][1], new[1][1]]
    return scores


def _kernels(search: DyadicLearner, problem: DyadicProblem) -> dict[str, str]:
    """Return parameters by which a part of the objects has the kernels of all of them."""
    names = ("rows",) if search.relation is not None else ("rows", "columns")
    return {f"kernel_{name}": "precomputed" for name in names if not getattr(problem, name).kernel.linear}


def _taken(side: DyadicSide, objects: Index, fitted: Index) -> Matrix:
    """Return objects by their features, or by their kernel with those that a model is fitted to."""
    return side.items[objects] if side.kernel.linear else side.K[np.ix_(objects, fitted)]
