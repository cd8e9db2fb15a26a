"""The search for alpha and kernel parameters: by exact hold-out, by refitting folds, or on a validation file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.base.progress import working
from kernelrank.cli.answer import answer_effects, counted, setting_rows
from kernelrank.cli.options import KERNELS_WITH, LearnerOptions, joined, scaled
from kernelrank.cli.sources import SourceFile, command_line, save_model, speaking_of

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.sources import PreferenceFile
    from kernelrank.data import Items, Preferences
    from kernelrank.metrics import Measure
    from kernelrank.model_selection import ConcordanceEstimate
    from kernelrank.model_selection.preferences import PreferenceHoldout

GROUP_FOLDS = 5
"""How many folds groups are dealt into."""


@dataclass
class Search:
    """All candidates with their scores, the best one, and its model fitted to all training items."""

    how: str
    measure: str
    candidates: list[dict[str, Any]] = field(default_factory=list)
    model: Any = None

    @property
    def best(self) -> dict[str, Any]:
        """The candidate with the highest score; the first of equals, as in RankRLSCV."""
        return max(self.candidates, key=lambda candidate: candidate["score"])


def kernel_settings(kernels: Sequence[str], gammas: Sequence[Any], degrees: Sequence[float]) -> list[dict[str, Any]]:
    """List the kernels to try, each with the parameters that it has."""
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


# Preference tuning ----------------------------------------------------------------------------------------------------
#
# Choose alpha and the kernel by preferences that are held out: ``kernelrank tune --pairs``.

FOLDS = 10
"""Into so many folds preferences are dealt that are held out by refitting, where there are no judges."""


def tune_preferences(
    answer: Answer,
    learner: LearnerOptions,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    source: SourceFile,
    file: PreferenceFile,
    output: Path | None,
) -> Search:
    """Choose by a hold-out of every preference, or of every judge, fit, and show the agreement."""
    from kernelrank.errors import InvalidInputError

    if learner.method not in ("rankrls", "bradley_terry"):
        raise InvalidInputError(
            f"--pairs is tuned with --method rankrls or bradley_terry; got {learner.method}. Use fit for it"
        )
    items = source.read(answer, needs_target=False)
    preferences = file.between(items, answer)
    file.check_holdout(preferences)
    scaler = learner.scaler(items.X)
    X = scaled(scaler, items.X)
    likely = learner.method == "bradley_terry"
    given = _with_magnitudes(preferences)
    if likely:
        given = {**file.votes(preferences, "bradley_terry"), **file.effects(preferences, learner)}
    with answer.noting_warnings(), speaking_of(items):
        hold_out = _hold_out_likelihood if likely else _hold_out_exactly
        found, held_out = hold_out(learner, X, given, preferences.judge, alphas, settings)
    agreement = held_out.agreement
    model = joined(scaler, found.model)
    if output is not None:
        save_model(
            model, output, items, source, preferences=str(file.path), chosen=found.how, candidates=len(found.candidates)
        )
    answer.fact("data", str(items.path))
    answer.fact("preferences", str(file.path))
    answer.fact("held_out", found.how)
    interval = agreement.interval
    answer.fact("agreement", {"value": agreement.value, "low": interval.low, "high": interval.high})
    answer.table("Chosen", ("", ""), setting_rows(model, items))
    answer_effects(answer, model)
    if held_out.log_loss is not None:
        answer.fact("log_loss", held_out.log_loss)
        answer.line(f"Held out: log-loss {held_out.log_loss:.4f}.")
    answer.line(f"Held out: {agreement}.")
    return found


def _with_magnitudes(found: Preferences) -> dict[str, Any]:
    return {"pairs": found.pairs, "magnitude": found.magnitude, "weight": found.weight}


def _hold_out_exactly(
    learner: LearnerOptions,
    X: Any,
    given: dict[str, Any],
    judge: Any,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
) -> tuple[Search, PreferenceHoldout]:
    """Choose by the agreement with preferences that are held out without refitting."""
    from kernelrank.model_selection import leave_preferences_out

    grid = [{name: [value] for name, value in setting.items()} for setting in settings]
    search = learner.search(alphas, kernel_grid=grid)
    search.fit_pairs(X, groups=judge, **given)
    chosen = search._learner({name: value for name, value in search.best_params_.items() if name != "alpha"})
    held_out = leave_preferences_out(chosen.set_params(alpha=search.alpha_), X, groups=judge, **given)
    table = search.cv_results_
    candidates = [
        {**setting, "score": float(score)}
        for setting, score in zip(table["params"], table["mean_test_score"], strict=True)
    ]
    how = "every preference held out" if judge is None else "every judge held out"
    return Search(how, "agreement", candidates, search), held_out


def _hold_out_likelihood(
    learner: LearnerOptions,
    X: Any,
    given: dict[str, Any],
    judge: Any,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
) -> tuple[Search, PreferenceHoldout]:
    """Choose by the log-loss of preferences that are held out by refitting: judges, or ten folds."""
    import numpy as np

    from kernelrank.model_selection import leave_preferences_out
    from kernelrank.model_selection.alpha_grid import AlphaGrid, is_auto

    n_pairs = len(given["pairs"])
    dealt = np.random.default_rng(learner.seed).permutation(n_pairs) % FOLDS
    groups = dealt if judge is None else judge
    how = f"{FOLDS} folds of preferences, refitted" if judge is None else "every judge held out, refitted"
    if learner.ties == "davidson" and "tie" in given:
        _check_ties_remain(given, groups, "fold" if judge is None else "judge")
    found, edges = Search(how, "log-loss, negative"), []
    for setting in settings:
        estimator = learner.estimator(1.0).set_params(**setting)
        scores: dict[float, float] = {}

        def measure(some: Any, estimator: Any = estimator, scores: dict[float, float] = scores) -> Any:
            losses = leave_preferences_out(estimator, X, groups=groups, alphas=some, **given).log_loss
            scores.update(zip([float(alpha) for alpha in some], [-loss for loss in losses], strict=True))
            return -np.array(losses)

        around = AlphaGrid.around(_vote_scale(estimator, X, given)) if is_auto(alphas) else AlphaGrid.given(alphas)
        grid = around.explored(measure)
        found.candidates += [{**setting, "alpha": alpha, "score": scores[alpha]} for alpha in sorted(scores)]
        edges.append((grid, np.array([scores[alpha] for alpha in sorted(scores)])))
    best, values = max(edges, key=lambda one: float(one[1].max()))
    best.warn_at_edge(values)
    chosen = {name: value for name, value in found.best.items() if name != "score"}
    found.model = learner.estimator(1.0).set_params(**chosen).fit_pairs(X, **given)
    return found, leave_preferences_out(learner.estimator(1.0).set_params(**chosen), X, groups=groups, **given)


def _check_ties_remain(given: dict[str, Any], groups: Any, noun: str) -> None:
    """Raise an error if all ties are held out together: a model that saw no tie gives them a probability of zero."""
    import numpy as np

    from kernelrank.errors import InvalidInputError

    counted = given["tie"] & (given["weight"] > 0) if "weight" in given else given["tie"]
    if len(set(np.asarray(groups)[counted].tolist())) == 1:
        raise InvalidInputError(
            f"--ties davidson needs ties of at least two {noun}s; found {int(counted.sum()):,}, of one {noun}, without "
            "which ties have a probability of zero. Use --ties half"
        )


def _vote_scale(estimator: Any, X: Any, given: dict[str, Any]) -> float:
    """Return the mean eigenvalue of the Hessian of the votes at equal scores, as alpha counts it."""
    from sklearn.base import clone

    from kernelrank.comparisons.costs import compare_pairs
    from kernelrank.model_selection.alpha_grid import mean_eigenvalue

    learner = clone(estimator)
    features = learner._features(learner._check_items(X, reset=True)).columns
    graph = compare_pairs(features.n_items, given["pairs"], cost="unit", magnitude=None, weight=given.get("weight"))
    trace = float(features.gram_diagonal(graph).sum())
    return mean_eigenvalue(trace, min(features.n_columns, features.n_items - 1)) / 8.0


# Survival tuning ------------------------------------------------------------------------------------------------------
#
# What ``kernelrank tune`` adds for censored times: a nested estimate of the concordance, and its page.


def for_times(measure: str, cv: str, method: str, strata: str | None, *, pairs: bool) -> tuple[str, str]:
    """Return the measure and the hold-out of censored times: the concordance, by strata or by ten folds of items."""
    from kernelrank.errors import InvalidInputError

    if method != "rankrls" or pairs:
        raise InvalidInputError(
            "Censored times need --method rankrls and no --pairs; got "
            f"{'--pairs' if pairs else f'--method {method}'}. Remove it."
        )
    folds = "10" if cv == "auto" and strata is None else cv
    return ("concordance" if measure == "pairwise_accuracy" else measure), folds


def nested_times(search: Any, X: Any, items: Items, seed: int) -> ConcordanceEstimate:
    """Run nested cross-validation with five folds of items, as ``kernelrank concordance`` does."""
    from sklearn.base import clone

    from kernelrank.model_selection import estimate_concordance

    with working("choosing alpha without each fold"):
        return estimate_concordance(
            clone(search), X, items.y, qid=items.qid, sample_weight=items.weight, random_state=seed
        )


def answer_nested_times(answer: Answer, estimate: ConcordanceEstimate) -> None:
    """Show a nested concordance with its interval."""
    low, high = estimate.interval
    level, n_folds = estimate.interval.level, int(estimate.folds.max()) + 1
    facts = {"measure": "concordance", "mean": estimate.concordance, "low": low, "high": high}
    answer.fact("nested", {**facts, "confidence": level, "interval": estimate.interval.method, "folds": n_folds})
    answer.line(
        f"Nested, alpha chosen without each of {counted(n_folds, 'fold')}: concordance "
        f"{estimate.concordance:.3f}, {100 * level:.4g}% interval {low:.3f} to {high:.3f}."
    )


def times_page(answer: Answer, estimate: ConcordanceEstimate, model: Any, items: Items, time: str) -> Any:
    """Return the page of the nested estimate, with the parameters of the model that was chosen."""
    from kernelrank.report.estimates import concordance_report

    with working("drawing the page"):
        return concordance_report(
            estimate,
            model=model,
            X=items.X if items.qid is None and items.weight is None else None,
            feature_names=items.column_names,
            time_name=time,
            title=f"Concordance of {items.path}",
            command=command_line(),
            notes=answer.notes,
        )
