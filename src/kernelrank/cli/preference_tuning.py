"""Choose alpha and the kernel by preferences that are held out: ``kernelrank tune --pairs``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.learner import LearnerOptions, joined, scaled
from kernelrank.cli.model_file import save_model
from kernelrank.cli.model_rows import setting_rows
from kernelrank.cli.searches import Search
from kernelrank.cli.sources import SourceFile, speaking_of
from kernelrank.cli.vote_effects import answer_effects

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.preference_file import PreferenceFile
    from kernelrank.data import Preferences
    from kernelrank.model_selection.preferences import PreferenceHoldout

__all__ = ["tune_preferences"]

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
    """Choose by a hold-out of every preference, or of every judge, fit, and show the agreement.

    Parameters
    ----------
    answer : Answer
    learner : LearnerOptions
        Of the method "rankrls", or "bradley_terry", which is refitted.
    alphas : list of float, or "auto"
    settings : list of dict
        Kernels with their parameters.
    source : SourceFile
        The items.
    file : PreferenceFile
        The preferences.
    output : Path or None
        Where the model is saved.

    Returns
    -------
    Search
        What was tried; the caller shows the candidates.
    """
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
