"""The four settings of ``kernelrank dyads evaluate``, measured and shown."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

from kernelrank.base.progress import working
from kernelrank.cli.dyads_learner import FOLDS, SETTINGS, DyadLearner, strengths

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.dyads_files import Dyads
    from kernelrank.metrics import DyadicConcordance

__all__ = ["OUTER", "Measured", "measure_settings", "measured", "setting_facts", "setting_table"]

OUTER = 5
"""How many folds are held out where alpha is chosen without each of them."""

Measured: TypeAlias = "dict[str, tuple[DyadicConcordance, Any]]"
"""The concordance of each setting, and the model whose alpha was chosen by it."""


def measured(dyads: Dyads, held_out: Any, learner: DyadLearner, confidence: float) -> DyadicConcordance:
    """Measure held-out scores; in a reciprocal relation, scores of an object with itself are left out."""
    import numpy as np

    from kernelrank.metrics import dyadic_concordance

    truth = dyads.Y
    if learner.relation == "reciprocal":
        truth = truth.copy()
        np.fill_diagonal(truth, np.nan)
    return dyadic_concordance(truth, held_out, per=learner.per, one_set=dyads.one_set, confidence=confidence)


def measure_settings(
    dyads: Dyads, learner: DyadLearner, alphas: str, cv: int | None, confidence: float, *, nested: bool = False
) -> Measured:
    """Return the concordance of each setting, with the model whose alpha was chosen by it.

    With `nested`, held-out scores come from models whose alpha was chosen without them.
    """
    from kernelrank.dyads import dyadic_holdout
    from kernelrank.errors import EdgeOfGridWarning

    found: Measured = {}
    data = dyads.rows.values, dyads.column_values, dyads.Y
    setting: Any
    for setting in SETTINGS:
        model = learner.search(alphas, setting, cv)
        with working(f"holding out: {setting}"):
            model.fit(*data)
            held_out = model.holdout_scores_
            if nested:
                # Without some cells, the scores are not complete.
                inner = min(FOLDS, *dyads.Y.shape) if setting == "cell" and cv is None else cv
                search, outer = learner.search(alphas, setting, inner), min(OUTER, *dyads.Y.shape)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", EdgeOfGridWarning)  # the search with all scores says so once
                    held_out = dyadic_holdout(search, *data, setting=setting, cv=outer)
        found[setting] = measured(dyads, held_out, learner, confidence), model
    return found


def setting_facts(concordance: DyadicConcordance) -> dict[str, Any]:
    """Return a concordance as values for JSON."""
    low, high = concordance.interval
    return {"value": concordance.value, "low": low, "high": high, "per": concordance.per, "dyads": concordance.n_dyads}


def setting_table(answer: Answer, found: Measured, dyads: Dyads, learner: DyadLearner, *, nested: bool = False) -> None:
    """Add a table to the answer with one row for each of the four settings."""
    some, _ = found["cell"]
    each = "" if learner.per == "overall" else f" of each {learner.per}"
    answer.fact("data", str(dyads.scores))
    answer.fact("rows", len(dyads.rows))
    answer.fact("columns", len(dyads.columns))
    answer.fact("scores", dyads.n_known)
    answer.fact("learner", type(found["cell"][1]).__name__)
    answer.fact("per", learner.per)
    answer.fact("alpha_chosen_inside", nested)
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
    answer.line("Use the setting in which the model will be applied; choose its alpha with dyads tune --setting.")
    tried = len(found["cell"][1].alphas_)
    if nested:
        answer.note("alpha was chosen without each fold that is measured; the alpha shown was chosen from all scores")
    elif tried > 1:
        answer.note(
            "each alpha was chosen by the held-out scores of its setting, so the concordances are a little too high; "
            "--nested chooses it without them"
        )
