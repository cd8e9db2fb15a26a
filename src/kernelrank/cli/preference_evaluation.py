"""How well a model agrees with preferences: ``kernelrank evaluate --pairs``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kernelrank.cli.model_file import for_model, is_model_file, load_model, trained_on
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.source_files import speaking_of

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.preference_file import PreferenceFile
    from kernelrank.cli.source_files import SourceFile

__all__ = ["evaluate_preferences"]


def evaluate_preferences(
    answer: Answer, judged: Path, source: SourceFile, file: PreferenceFile, confidence: float
) -> None:
    """Measure a model by a file of preferences between the items of a file, and show it.

    Parameters
    ----------
    answer : Answer
    judged : Path
        The model.
    source : SourceFile
        The items.
    file : PreferenceFile
        The preferences.
    confidence : float
        That of the interval.
    """
    from kernelrank.errors import InvalidInputError
    from kernelrank.metrics import preference_agreement

    if not is_model_file(judged):
        raise InvalidInputError(f"{judged}: is not a model file; --pairs needs a model")
    model = load_model(judged)
    items = for_model(source, model, needs_target=False).read(answer, needs_target=False)
    preferences = file.without_ties(file.between(items, answer), answer, "which no order agrees with")
    if trained_on(model, file.path, "preferences"):
        answer.note(f"{judged} was trained on {file.path}: the agreement is too optimistic for new preferences")
    with speaking_of(items):
        scores = scores_of(model, items.X)
    found = preference_agreement(preferences.pairs, scores, weight=preferences.weight, confidence=confidence)
    answer.fact("judged", str(judged))
    answer.fact("data", str(source.path))
    answer.fact("preferences", str(file.path))
    facts = {name: value for name, value in asdict(found).items() if name != "interval"}
    facts |= {"low": found.interval.low, "high": found.interval.high, "confidence": found.interval.level}
    answer.fact("agreement", facts)
    heading = ("agreement", f"{100 * confidence:.4g}% interval", "preferences", "items", "tied scores")
    row = (
        f"{found.value:.4f}",
        f"[{found.interval.low:.4f}, {found.interval.high:.4f}]",
        found.n_preferences,
        found.n_items,
        found.n_ties,
    )
    answer.table("", heading, [tuple(str(cell) for cell in row)])
    answer.line("The share of preferences that the scores agree with; a tie counts a half.", style="dim")
    answer.line(f"Interval: {found.interval.method}.", style="dim")
    answer.show()
