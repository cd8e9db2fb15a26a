"""A search that is held out literally: fitted anew without every set."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from kernelrank.errors import NothingToCompareError


def refit_without(search, X, y, held, **fit_arguments):
    """Return the scores of the held items, and the parameters that were chosen without them; zeros if none could be."""
    kept = np.setdiff1d(np.arange(len(y)), held)
    arguments = {name: value[kept] for name, value in fit_arguments.items() if value is not None}
    try:
        model = clone(search).fit(X[kept], y[kept], **arguments)
    except NothingToCompareError:
        return np.zeros(len(held)), None
    score = getattr(model, "decision_function", model.predict)
    return score(X[held]), model.best_params_


def pair_differences(search, X, y, first, second, groups=None, **fit_arguments):
    """Return the difference of each pair by the search without both, or without both of their groups."""
    differences, chosen = [], []
    for i, j in zip(first, second, strict=True):
        held = np.array([i, j]) if groups is None else np.flatnonzero(np.isin(groups, groups[[i, j]]))
        scores, best = refit_without(search, X, y, held, **fit_arguments)
        differences.append(float(scores[held == i][0] - scores[held == j][0]))
        chosen.append(best)
    return np.array(differences), chosen


def fold_scores(search, X, y, folds, **fit_arguments):
    """Return the scores of every fold by the search without it."""
    scores = np.empty(len(y))
    for fold in np.unique(folds):
        held = np.flatnonzero(folds == fold)
        scores[held], _ = refit_without(search, X, y, held, **fit_arguments)
    return scores
