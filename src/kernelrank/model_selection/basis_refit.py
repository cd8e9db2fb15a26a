"""Refitting on a map that loses the basis items held out: kernel RankSVM, which has no closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from kernelrank.arrays import Float
from kernelrank.comparisons import ScoredQueries
from kernelrank.estimators import RankSVM
from kernelrank.exact_cv import ItemSets
from kernelrank.features import ExplicitFeatures, ReducedSet

__all__ = ["refit_on_map"]


def refit_on_map(
    estimator: RankSVM, X: Any, y: Any, sets: ItemSets, qid: Any, sample_weight: Any, alphas: Float
) -> Float | None:
    """Return the scores of each set by a RankSVM trained without it and without its basis items.

    The map of the whole basis is made once; each set turns it, so that the columns of its basis items fall away, and
    the linear problem on what is left is solved from the start.

    Parameters
    ----------
    estimator : RankSVM
        With a basis.
    X, y, qid, sample_weight
        As in its `fit`.
    sets : ItemSets
    alphas : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (total, outputs, n), or None
        None where the basis is so close to singular that the map cannot be turned.

    Notes
    -----
    O(m r²) time once; for each set O(m r h) for its h basis items, and one linear training for each alpha.
    """
    learner: Any = clone(estimator)
    learner._validate_params()
    items = learner._check_items(X, reset=True)
    graphs, _ = learner._compare(items, y, qid, sample_weight)
    features = learner._features(items)
    if not isinstance(features, ReducedSet):
        return None
    Phi = features.rows(np.arange(features.n_items))
    scores = np.zeros((len(sets.items), sum(len(columns) for columns, _ in graphs), len(alphas)))
    for held, start, stop in zip(sets, sets.bounds[:-1], sets.bounds[1:], strict=True):
        turn = features.map.without(np.flatnonzero(np.isin(features.basis, held)))
        if turn is None:
            return None
        turned = turn(Phi)
        if turned.shape[1] == 0:
            continue  # no basis item is left, and the model is zero
        kept = np.ascontiguousarray(np.delete(turned, held, axis=0))
        for columns, graph in graphs:
            assert isinstance(graph, ScoredQueries)
            rest = graph.without(held)
            if rest.n_pairs == 0:
                continue
            linear = ExplicitFeatures(kept)
            solver = learner._solver(linear, rest)
            state = solver.prepare(linear, rest)
            for number, alpha in enumerate(alphas):
                w = solver.solve(state, float(alpha)).coefficients
                scores[start:stop, columns, number] = turned[held] @ w
    return scores
