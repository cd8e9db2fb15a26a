"""Choose alpha and the kernel by preferences that are held out: ``kernelrank tune --pairs``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.learner import LearnerOptions, joined, scaled
from kernelrank.cli.model_file import save_model
from kernelrank.cli.model_rows import setting_rows
from kernelrank.cli.search import Search
from kernelrank.cli.source_files import SourceFile, speaking_of

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.preference_file import PreferenceFile

__all__ = ["tune_preferences"]


def tune_preferences(
    answer: Answer,
    learner: LearnerOptions,
    alphas: str | Sequence[float],
    settings: list[dict[str, Any]],
    source: SourceFile,
    file: PreferenceFile,
    output: Path | None,
) -> Search:
    """Choose by an exact hold-out of every preference, or of every judge, fit, and show the agreement.

    Parameters
    ----------
    answer : Answer
    learner : LearnerOptions
        Of the method "rankrls".
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
    from kernelrank.model_selection import leave_preferences_out

    if learner.method != "rankrls":
        raise InvalidInputError(f"--pairs is tuned with --method rankrls only; got {learner.method}. Use fit for it")
    items = source.read(answer, needs_target=False)
    found = file.between(items, answer)
    scaler = learner.scaler(items.X)
    X = scaled(scaler, items.X)
    grid = [{name: [value] for name, value in setting.items()} for setting in settings]
    search = learner.search(alphas, kernel_grid=grid)
    given: dict[str, Any] = {"magnitude": found.magnitude, "weight": found.weight}
    with answer.noting_warnings(), speaking_of(items):
        search.fit_pairs(X, found.pairs, groups=found.judge, **given)
        chosen = search._learner({name: value for name, value in search.best_params_.items() if name != "alpha"})
        chosen.set_params(alpha=search.alpha_)
        held_out = leave_preferences_out(chosen, X, found.pairs, groups=found.judge, **given)
    agreement = held_out.agreement
    table = search.cv_results_
    candidates = [
        {**setting, "score": float(score)}
        for setting, score in zip(table["params"], table["mean_test_score"], strict=True)
    ]
    how = "every preference held out" if found.judge is None else "every judge held out"
    model = joined(scaler, search)
    if output is not None:
        save_model(model, output, items, source, preferences=str(file.path), chosen=how, candidates=len(candidates))
    answer.fact("data", str(items.path))
    answer.fact("preferences", str(file.path))
    answer.fact("held_out", how)
    interval = agreement.interval
    answer.fact("agreement", {"value": agreement.value, "low": interval.low, "high": interval.high})
    answer.table("Chosen", ("", ""), setting_rows(model, items))
    answer.line(f"Held out: {agreement}.")
    return Search(how, "agreement", candidates, search)
