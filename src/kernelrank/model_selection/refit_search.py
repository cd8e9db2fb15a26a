"""Search by refitting: alpha and other parameters of learners that have no exact hold-out, or by data of their own.

A setting is a dict of parameters, such as ``{"kernel": "rbf", "gamma": 0.1}``; for each, a grid of alphas is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from kernelrank.base.progress import track
from kernelrank.comparisons.costs import compare_pairs
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
    """All candidates with their scores, and the best one fitted to all training items."""

    candidates: list[dict[str, Any]] = field(default_factory=list)
    model: Any = None

    @property
    def best(self) -> dict[str, Any]:
        """The candidate with the highest score; the first of equals, as in RankRLSCV."""
        return max(self.candidates, key=lambda candidate: candidate["score"])

    def best_of(self, estimator: Any) -> Any:
        """Return the estimator with the best parameters, not fitted."""
        chosen = {name: value for name, value in self.best.items() if name != "score"}
        return clone(estimator).set_params(**chosen)


def search_folds(
    estimator: Any,
    X: Any,
    y: Any,
    sets: Sequence[Any],
    settings: Settings,
    *,
    measure: Measure,
    alphas: str | Sequence[float] = "auto",
    qid: Any = None,
    sample_weight: Any = None,
) -> RefitSearch:
    """Choose by refitting without each set of items; the measure is that of all queries, or the mean over the sets."""
    sign = 1 if measure.higher_is_better else -1

    def score(held: list[Float], place: int) -> float:
        if qid is not None:
            order = np.concatenate(sets)
            return sign * measure(y[order], np.concatenate([part[:, place] for part in held]), qid=qid[order]).mean
        parts = zip(sets, held, strict=True)
        return sign * float(np.mean([measure(y[some], part[:, place]).mean for some, part in parts]))

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
    settings: Settings,
    *,
    score: Callable[[Any], float],
    alphas: str | Sequence[float] = "auto",
    qid: Any = None,
    sample_weight: Any = None,
) -> RefitSearch:
    """Choose by the score of fitted models, such as a measure on LETOR's vali.txt; the highest is the best."""

    def try_alphas(candidate: Any, some: Sequence[float]) -> Tried:
        path = candidate.fit_path(X, y, some, qid=qid, sample_weight=sample_weight)
        return [(score(model), model) for model in path]

    def start(candidate: Any) -> AlphaGrid:
        return grid_for(candidate, X, alphas, qid=qid, sample_weight=sample_weight)

    return _search(estimator, settings, start, try_alphas, "fitting")


def search_preferences(
    estimator: Any,
    X: Any,
    votes: dict[str, Any],
    groups: Any,
    settings: Settings,
    *,
    alphas: str | Sequence[float] = "auto",
) -> RefitSearch:
    """Choose by the log-loss of preferences, held out by groups; `votes` are the arguments of `fit_pairs`."""

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
