"""Search by refitting: alpha and other parameters of learners that have no exact hold-out, or by data of their own.

A setting is a dict of parameters, such as ``{"kernel": "rbf", "gamma": 0.1}``; for each, a grid of alphas is tried.
Learners with an exact hold-out have searches that do not refit, such as `RankRLSCV`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kernelrank.base.labels import ItemSets
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import num_samples
from kernelrank.comparisons.costs import compare_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import get_measure
from kernelrank.model_selection.alpha_grid import AlphaGrid, grid_for, is_auto, mean_eigenvalue
from kernelrank.model_selection.holdout import holdout
from kernelrank.model_selection.preferences import leave_preferences_out

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.metrics import Measure

Settings = Sequence[dict[str, Any]]
Tried = list[tuple[float, Any]]  # for each alpha its score, and the model if it was fitted


@dataclass
class RefitSearch:
    """All candidates with their scores, and the best one fitted to all training items.

    Parameters
    ----------
    candidates : list of dict
        The parameters of each candidate, alpha among them, and its score; the highest is the best. Errors, such as the
        log-loss, are negative.
    model : estimator
        The best candidate, fitted to all training items.

    Examples
    --------
    >>> from kernelrank.model_selection import RefitSearch
    >>> found = RefitSearch([{"alpha": 1.0, "score": 0.7}, {"alpha": 2.0, "score": 0.8}])
    >>> found.best
    {'alpha': 2.0, 'score': 0.8}
    """

    candidates: list[dict[str, Any]] = field(default_factory=list)
    model: Any = None

    @property
    def best(self) -> dict[str, Any]:
        """The candidate with the highest score; the first of equals, as in RankRLSCV."""
        return max(self.candidates, key=lambda candidate: candidate["score"])

    def best_of(self, estimator: Any) -> Any:
        """Set the best parameters on a copy of an estimator.

        Parameters
        ----------
        estimator : estimator
            Such as the one that was searched.

        Returns
        -------
        estimator
            It is not fitted.
        """
        chosen = {name: value for name, value in self.best.items() if name != "score"}
        return clone(estimator).set_params(**chosen)


def search_folds(
    estimator: Any,
    X: Any,
    y: Any,
    sets: Sequence[Any],
    settings: Settings = ({},),
    *,
    measure: str | Measure,
    alphas: str | Sequence[float] = "auto",
    qid: Any = None,
    sample_weight: Any = None,
) -> RefitSearch:
    """Choose alpha and other parameters by refitting without each set of items.

    Parameters
    ----------
    estimator : estimator
        A learner with `alpha`, such as `RankSVM`; a copy is searched.
    X : array-like, data frame or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
        The features.
    y : array-like, shape (m,)
        The targets.
    sets : list of lists of int, or of masks of m booleans
        The held-out sets, such as the test items of folds.
    settings : list of dict, default=({},)
        Parameters to try, such as ``{"kernel": "rbf", "gamma": 0.1}``, each with every alpha.
    measure : str or Measure
        What is to be best: with queries that of all held-out scores, else its mean over the sets.
    alphas : "auto" or sequence of float, default="auto"
        The values of alpha. "auto" begins with powers of ten around the scale of the data, and goes on while the best
        is at the edge.
    qid : sequence, shape (m,), optional
        The query of each item; a query is to be within one set.
    sample_weight : array-like, shape (m,), optional
        Item weights in training.

    Returns
    -------
    RefitSearch

    See Also
    --------
    RankRLSCV : Chooses without refitting.

    Notes
    -----
    One fit for each set, setting and alpha where the estimator has no shortcut, see `holdout`; and one of all items.

    Examples
    --------
    >>> from kernelrank import QueryKFold, RankSVM, make_ranking
    >>> from kernelrank.model_selection import search_folds
    >>> X, y, qid = make_ranking(n_queries=12, random_state=0)
    >>> sets = [held for _, held in QueryKFold(3).split(X, groups=qid)]
    >>> found = search_folds(RankSVM(), X, y, sets, measure="pairwise accuracy", alphas=[0.1, 1.0], qid=qid)
    >>> [candidate["alpha"] for candidate in found.candidates]
    [0.1, 1.0]
    >>> found.model.alpha == found.best["alpha"]
    True
    """
    sets, y, best = list(ItemSets.of(sets, num_samples(X))), np.asarray(y), get_measure(measure)
    groups = None if qid is None else np.asarray(qid)
    sign = 1 if best.higher_is_better else -1

    def score(held: list[Float], place: int) -> float:
        if groups is not None:
            order = np.concatenate(sets)
            return sign * best(y[order], np.concatenate([part[:, place] for part in held]), qid=groups[order]).mean
        parts = zip(sets, held, strict=True)
        return sign * float(np.mean([best(y[some], part[:, place]).mean for some, part in parts]))

    def try_alphas(candidate: Any, some: Sequence[float]) -> Tried:
        held = holdout(candidate, X, y, sets, qid=qid, alphas=some, sample_weight=sample_weight)
        return [(score(held, place), None) for place in range(len(some))]

    def start(candidate: Any) -> AlphaGrid:
        return grid_for(candidate, X, alphas, qid=qid, sample_weight=sample_weight)

    found = _search(estimator, settings, start, try_alphas, "holding out")
    found.model = found.best_of(estimator).fit(X, y, qid=qid, sample_weight=sample_weight)
    return found


def search_on_data(
    estimator: Any,
    X: Any,
    y: Any,
    settings: Settings = ({},),
    *,
    score: Callable[[Any], float],
    alphas: str | Sequence[float] = "auto",
    qid: Any = None,
    sample_weight: Any = None,
) -> RefitSearch:
    """Choose alpha and other parameters by the score of fitted models, such as a measure on LETOR's vali.txt.

    Parameters
    ----------
    estimator : estimator
        A learner with `alpha` and `fit_path`; a copy is searched.
    X, y, settings, alphas, qid, sample_weight
        As in `search_folds`; all items are for training.
    score : callable
        Takes a fitted model and returns a number; the highest is the best.

    Returns
    -------
    RefitSearch

    Examples
    --------
    >>> from kernelrank import RankRLS, make_ranking
    >>> from kernelrank.model_selection import search_on_data
    >>> X, y, qid = make_ranking(n_queries=12, random_state=0)
    >>> seen = qid < 8
    >>> def score(model):
    ...     return model.score(X[~seen], y[~seen], qid=qid[~seen])
    >>> found = search_on_data(RankRLS(), X[seen], y[seen], score=score, alphas=[0.1, 1.0], qid=qid[seen])
    >>> found.best["score"] == score(found.model)
    True
    """

    def try_alphas(candidate: Any, some: Sequence[float]) -> Tried:
        path = candidate.fit_path(X, y, some, qid=qid, sample_weight=sample_weight)
        return [(score(model), model) for model in path]

    def start(candidate: Any) -> AlphaGrid:
        return grid_for(candidate, X, alphas, qid=qid, sample_weight=sample_weight)

    return _search(estimator, settings, start, try_alphas, "fitting")


def search_preferences(
    estimator: Any,
    X: Any,
    pairs: Any,
    groups: Any,
    settings: Settings = ({},),
    *,
    alphas: str | Sequence[float] = "auto",
    **votes: Any,
) -> RefitSearch:
    """Choose alpha and other parameters by the log-loss of preferences that are held out by groups.

    Parameters
    ----------
    estimator : BradleyTerry
        A copy is searched.
    X : array-like, data frame or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
        The features.
    pairs : array-like of int, shape (n, 2)
        Numbers of the better and the worse item.
    groups : sequence, shape (n,)
        The preferences that are held out together, such as those of a judge, or of a fold.
    settings, alphas
        As in `search_folds`.
    **votes
        Further arguments of `BradleyTerry.fit_pairs`, such as `tie` and `weight`.

    Returns
    -------
    RefitSearch

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import BradleyTerry
    >>> from kernelrank.model_selection import search_preferences
    >>> X, pairs = np.array([[1.0], [2.0], [3.0]]), [[1, 0], [2, 1], [2, 0], [0, 1]]
    >>> found = search_preferences(BradleyTerry(), X, pairs, [0, 0, 1, 1], alphas=[0.1, 1.0])
    >>> len(found.candidates)
    2
    """
    votes["pairs"] = pairs

    def try_alphas(candidate: Any, some: Sequence[float]) -> Tried:
        losses = leave_preferences_out(candidate, X, groups=groups, alphas=some, **votes).log_loss
        return [(-loss, None) for loss in losses]

    def start(candidate: Any) -> AlphaGrid:
        return AlphaGrid.around(_vote_scale(candidate, X, votes)) if is_auto(alphas) else AlphaGrid.given(alphas)

    found = _search(estimator, settings, start, try_alphas, "holding out")
    found.model = found.best_of(estimator).fit_pairs(X, **votes)
    return found


def _search(
    estimator: Any,
    settings: Settings,
    start: Callable[[Any], AlphaGrid],
    try_alphas: Callable[[Any, Sequence[float]], Tried],
    description: str,
) -> RefitSearch:
    """Try the alphas of each setting; warn if the best alpha is at the edge of its grid."""
    if not settings:
        raise InvalidInputError("settings is empty: give at least one dict of parameters, such as {}")
    found, grids = RefitSearch(), []
    for setting in track(settings, len(settings), description):
        candidate = clone(estimator).set_params(**setting)
        tried: list[tuple[float, float, Any]] = []

        def explore(some: Float, candidate: Any = candidate, tried: list[Any] = tried) -> Float:
            new = try_alphas(candidate, some)  # type: ignore[arg-type]
            tried += [(float(alpha), *one) for alpha, one in zip(some, new, strict=True)]
            return np.array([value for value, _ in new])

        grid = start(candidate).explored(explore)
        tried.sort(key=lambda one: one[0])
        for alpha, score, model in tried:
            found.candidates.append({**setting, "alpha": alpha, "score": score})
            if found.candidates[-1] is found.best:
                found.model = model
        grids.append((grid, np.array([score for _, score, _ in tried])))
    best, values = max(grids, key=lambda one: float(one[1].max()))
    best.warn_at_edge(values)
    return found


def _vote_scale(estimator: Any, X: Any, votes: dict[str, Any]) -> float:
    """Return the mean eigenvalue of the Hessian of the votes at equal scores, as alpha counts it."""
    learner = clone(estimator)
    features = learner._features(learner._check_items(X, reset=True)).columns
    graph = compare_pairs(features.n_items, votes["pairs"], cost="unit", magnitude=None, weight=votes.get("weight"))
    trace = float(features.gram_diagonal(graph).sum())
    return mean_eigenvalue(trace, min(features.n_columns, features.n_items - 1)) / 8.0
