"""The four settings of ``kernelrank dyads evaluate``, measured and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.cli.dyads_learner import SETTINGS, DyadLearner, strengths
from kernelrank.progress import working

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.dyads_files import Dyads
    from kernelrank.metrics import DyadicConcordance

__all__ = ["measure_settings", "measured", "setting_facts", "setting_table"]


def measured(dyads: Dyads, held_out: Any, learner: DyadLearner, confidence: float) -> DyadicConcordance:
    """Measure held-out scores; what an object scores against itself says nothing in a reciprocal relation."""
    import numpy as np

    from kernelrank.metrics import dyadic_concordance

    truth = dyads.Y
    if learner.relation == "reciprocal":
        truth = truth.copy()
        np.fill_diagonal(truth, np.nan)
    return dyadic_concordance(truth, held_out, per=learner.per, one_set=dyads.one_set, confidence=confidence)


def measure_settings(
    dyads: Dyads, learner: DyadLearner, alphas: str, cv: int | None, confidence: float
) -> dict[str, tuple[DyadicConcordance, Any]]:
    """Return the concordance of each setting, with the model whose alpha was chosen by it."""
    found = {}
    for setting in SETTINGS:
        model = learner.search(alphas, setting, cv)
        with working(f"holding out: {setting}"):
            model.fit(dyads.rows.values, dyads.column_values, dyads.Y)
        found[setting] = measured(dyads, model.holdout_scores_, learner, confidence), model
    return found


def setting_facts(concordance: DyadicConcordance) -> dict[str, Any]:
    """Return a concordance for programs."""
    low, high = concordance.interval
    return {"value": concordance.value, "low": low, "high": high, "per": concordance.per, "dyads": concordance.n_dyads}


def setting_table(
    answer: Answer, found: dict[str, tuple[DyadicConcordance, Any]], dyads: Dyads, learner: DyadLearner
) -> None:
    """Show the settings beside each other."""
    some, _ = found["cell"]
    each = "" if learner.per == "overall" else f" of each {learner.per}"
    answer.fact("data", str(dyads.scores))
    answer.fact("rows", len(dyads.rows))
    answer.fact("columns", len(dyads.columns))
    answer.fact("scores", dyads.n_known)
    answer.fact("learner", type(found["cell"][1]).__name__)
    answer.fact("per", learner.per)
    answer.fact("confidence", some.interval.level)
    answer.fact("interval", some.interval.method)
    facts, rows = {}, []
    for setting, (concordance, model) in found.items():
        chosen = strengths(model)
        facts[setting] = {**setting_facts(concordance), "alpha": chosen}
        low, high = concordance.interval
        written = ", ".join(f"{value:.3g}" for value in chosen.values())
        rows.append((setting, SETTINGS[setting], f"{concordance.value:.3f}", f"{low:.3f} to {high:.3f}", written))
    answer.fact("settings", facts)
    answer.table(
        f"Concordance{each}: {len(dyads.rows):,} × {len(dyads.columns):,} dyads of {dyads.scores}",
        ("setting", "what is new", "concordance", f"{100 * some.interval.level:.4g}% interval", "alpha"),
        rows,
    )
    answer.line("Take the setting in which the model will be used; choose its alpha with dyads tune --setting.")
    tried = len(found["cell"][1].alphas_)
    if tried > 1:
        answer.note(
            "each alpha was chosen by the held-out scores of its setting, so the concordances are a little too high; "
            "--alphas with one number measures without a choice"
        )
