"""The search for alpha and kernel parameters: by exact hold-out, by refitting folds, or on a validation file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelrank.cli.learner import KERNELS_WITH, LearnerOptions

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.data import Items
    from kernelrank.metrics import Measure

__all__ = ["Search", "kernel_settings", "search_exactly", "search_folds", "search_on_file"]

GROUP_FOLDS = 5
"""How many folds groups are dealt into."""


@dataclass
class Search:
    """All candidates with their scores, the best one, and its model fitted to all training items.

    Parameters
    ----------
    how : str
        What was held out, in words.
    measure : str
        What the scores are.
    candidates : list of dict
        Parameters and "score" of each.
    model : estimator
        Fitted with the best.
    """

    how: str
    measure: str
    candidates: list[dict[str, Any]] = field(default_factory=list)
    model: Any = None

    @property
    def best(self) -> dict[str, Any]:
        """The candidate with the highest score; the first of equals, as in RankRLSCV."""
        return max(self.candidates, key=lambda candidate: candidate["score"])


def kernel_settings(kernels: Sequence[str], gammas: Sequence[Any], degrees: Sequence[float]) -> list[dict[str, Any]]:
    """List the kernels to try, each with the parameters that it has.

    Examples
    --------
    >>> kernel_settings(["linear", "rbf"], [0.1, 1.0], [])
    [{'kernel': 'linear'}, {'kernel': 'rbf', 'gamma': 0.1}, {'kernel': 'rbf', 'gamma': 1.0}]
    """
    settings = []
    for kernel in kernels:
        own_gammas = [{"gamma": gamma} for gamma in gammas] if kernel in KERNELS_WITH["gamma"] else []
        own_degrees = [{"degree": degree} for degree in degrees] if kernel in KERNELS_WITH["degree"] else []
        settings += [
            {"kernel": kernel, **gamma, **degree} for gamma in own_gammas or [{}] for degree in own_degrees or [{}]
        ]
    return settings


def search_exactly(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    cv: str | int,
    scoring: str | Measure | None,
) -> Search:
    """Choose by an exact hold-out: RankRLSCV, RLSCV and RLSClassifierCV."""
    import numpy as np

    learner = learner.of_items(items)
    number = cv if isinstance(cv, int) else GROUP_FOLDS
    folds = _folds_of_groups(items, number) if cv == "auto" or isinstance(cv, int) else None
    grid = [{name: [value] for name, value in setting.items()} for setting in settings]
    given: dict[str, Any] = {} if scoring is None else {"scoring": scoring}
    model = learner.search(alphas, cv=folds or cv, kernel_grid=grid if len(grid) > 1 else None, **given)
    if len(grid) == 1:
        model.set_params(**settings[0])
    model.fit(X, items.y, qid=items.qid, sample_weight=items.weight)
    results = model.cv_results_
    how = _words(cv, items, learner.method) if folds is None else f"{len(folds)} folds of groups held out exactly"
    loss = "wrong classes, negative" if learner.classes else "squared error, negative"
    found = Search(how, loss if scoring is None else _score_name(scoring), model=model)
    for parameters, score in zip(results["params"], np.asarray(results["mean_test_score"]).tolist(), strict=True):
        found.candidates.append({**(settings[0] if len(grid) == 1 else {}), **parameters, "score": score})
    return found


def _folds_of_groups(items: Items, number: int) -> list[Any] | None:
    """Deal groups into folds, where there are groups and no queries; None elsewhere. Two classes go into every fold."""
    import numpy as np
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if items.groups is None or items.qid is not None or number < 2:
        return None
    y: Any = items.y
    classes = np.unique(y)
    if len(classes) != 2:
        number = min(number, len(np.unique(items.groups)))
        return list(GroupKFold(number).split(items.X, groups=items.groups))
    number = min(number, *(len(np.unique(items.groups[y == value])) for value in classes))
    return list(StratifiedGroupKFold(max(2, number)).split(items.X, y, groups=items.groups))


def _words(cv: str | int, items: Items, method: str) -> str:
    if isinstance(cv, int):
        return f"{cv} folds held out exactly"
    if cv == "auto":
        pairs = "leave_one_out" if method == "rls" else "leave_pair_out"
        cv = pairs if items.qid is None else "leave_query_out"
    return {
        "leave_pair_out": "every pair held out exactly",
        "leave_query_out": "every query held out exactly",
        "leave_one_out": "every item held out exactly",
    }[cv]


def search_folds(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    folds: int,
    measure: Measure,
) -> Search:
    """Choose by refitting without each fold, for learners without a shortcut; queries, or else groups, stay whole."""
    import numpy as np
    from sklearn.model_selection import KFold

    from kernelrank.model_selection import QueryKFold
    from kernelrank.model_selection.holdout import holdout

    of_groups = _folds_of_groups(items, folds)
    if items.qid is not None:
        splits, noun = QueryKFold(min(folds, len(set(items.qid.tolist())))).split(X, groups=items.qid), "queries"
    elif of_groups is not None:
        splits, noun = iter(of_groups), "groups"
    else:
        splits, noun = KFold(folds, shuffle=True, random_state=learner.seed).split(X), "items"
    sets = [held for _, held in splits]
    truth: Any = items.y
    found = Search(f"{len(sets)} folds of {noun}, refitted", _score_name(measure))
    sign = 1 if measure.higher_is_better else -1

    def score(held: list[Any], place: int) -> float:
        if items.qid is not None:
            order = np.concatenate(sets)
            scores = np.concatenate([part[:, place] for part in held])
            return sign * measure(truth[order], scores, qid=items.qid[order]).mean
        parts = zip(sets, held, strict=True)
        return sign * float(np.mean([measure(truth[s], part[:, place]).mean for s, part in parts]))

    def scores(estimator: Any, some: Sequence[float]) -> list[tuple[float, None]]:
        held = holdout(estimator, X, items.y, sets, qid=items.qid, alphas=some, sample_weight=items.weight)
        return [(score(held, place), None) for place in range(len(some))]

    _search_settings(found, learner, X, items, alphas, settings, scores, "holding out")
    _fit_best(found, learner, X, items)
    return found


def search_on_file(
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    *,
    name: str,
    measure: Measure,
    score: Callable[[Any], Any],
) -> Search:
    """Choose by the measure on a validation file, such as LETOR's vali.txt.

    `score` takes a fitted model and returns the measured value, that of an error with its sign changed.
    """
    found = Search(f"on {name}", _score_name(measure))

    def scores(estimator: Any, some: Sequence[float]) -> list[tuple[float, Any]]:
        path = estimator.fit_path(X, items.y, some, qid=items.qid, sample_weight=items.weight)
        return [(score(model), model) for model in path]

    _search_settings(found, learner, X, items, alphas, settings, scores, "fitting")
    return found


def _search_settings(
    found: Search,
    learner: LearnerOptions,
    X: Any,
    items: Items,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    measure: Callable[[Any, Any], list[tuple[float, Any]]],
    description: str,
) -> None:
    """Try the alphas of each kernel, and add the candidates; warn if the best alpha is at the edge of its grid.

    `measure` takes an estimator and some alphas, and returns for each the score and the model, if there is one.
    """
    import numpy as np

    from kernelrank.base.progress import track
    from kernelrank.model_selection.alpha_grid import grid_for

    grids = []
    for setting in track(settings, len(settings), description):
        estimator = learner.estimator(1.0).set_params(**setting)
        tried: list[tuple[float, float, Any]] = []

        def scores(some: Float, estimator: Any = estimator, tried: list[Any] = tried) -> Float:
            new = measure(estimator, some)
            tried += [(float(alpha), *one) for alpha, one in zip(some, new, strict=True)]
            return np.array([value for value, _ in new])

        grid = grid_for(estimator, X, alphas, qid=items.qid, sample_weight=items.weight).explored(scores)
        for alpha, score, model in sorted(tried, key=lambda one: one[0]):
            found.candidates.append({**setting, "alpha": alpha, "score": score})
            if found.candidates[-1] is found.best:
                found.model = model
        grids.append((grid, np.array([score for _, score, _ in sorted(tried, key=lambda one: one[0])])))
    best, values = max(grids, key=lambda one: float(one[1].max()))
    best.warn_at_edge(values)


def _score_name(measure: str | Measure) -> str:
    """Name what is to be high; an error, such as the disagreement, is taken with its sign changed."""
    from kernelrank.metrics import get_measure

    name = measure if isinstance(measure, str) else measure.name
    return name if get_measure(measure).higher_is_better else f"{name}, negative"


def _fit_best(found: Search, learner: LearnerOptions, X: Any, items: Items) -> None:
    chosen = {name: value for name, value in found.best.items() if name != "score"}
    found.model = learner.estimator(1.0).set_params(**chosen)
    found.model.fit(X, items.y, qid=items.qid, sample_weight=items.weight)
