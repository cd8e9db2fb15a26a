"""What a model of votes learns besides scores: the side bias, ties and the effects of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank import persistence

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.shared import Answer
    from kernelrank.data import Preferences

SHOWN = 10
"""So many judges are listed; JSON output has all of them."""


def effect_rows(ranker: Any) -> list[tuple[str, str]]:
    """Return the effects as rows of the text table; none for a model without them."""
    rows: list[tuple[str, str]] = []
    biased, ties = _has_side_bias(ranker), hasattr(ranker, "tie_log_")
    if not (biased or ties):
        return rows
    outcomes = _of_equal_items(ranker)
    if biased:
        error = getattr(ranker, "side_bias_std_", None)
        size = f"{ranker.side_bias_:z.3f}" + ("" if error is None else f", standard error {error:.3f}")
        first, second = (f"{value:.1%}" for value in outcomes[:2])
        rows.append(
            ("side bias", f"{size}: of two equal items, the one on the first side wins {first}, the other {second}")
        )
    if ties:
        share = f"{outcomes[2]:.1%} of the votes between equal items" if outcomes[2] > 0 else "none in the votes"
        rows.append(("ties", share))
    return rows


def answer_effects(answer: Answer, model: Any) -> None:
    """Add the effects to the JSON output, and the judges with the largest effects to the text."""
    ranker = persistence.final_step(model)
    if _has_side_bias(ranker):
        answer.fact("side_bias", {"value": ranker.side_bias_, "std_error": getattr(ranker, "side_bias_std_", None)})
    if hasattr(ranker, "tie_log_"):
        answer.fact("ties", {"log": ranker.tie_log_, "share_of_equal_items": _of_equal_items(ranker)[2]})
    if not hasattr(ranker, "judge_effects_"):
        return
    effects = dict(zip(ranker.judges_.tolist(), ranker.judge_effects_.tolist(), strict=True))
    by_side = ranker.judge_effect == "side"
    order = sorted(effects, key=lambda judge: -abs(effects[judge]) if by_side else effects[judge])
    answer.fact("judge_effects", [{"judge": judge, "effect": effects[judge]} for judge in order])
    listed = f", {SHOWN} of {len(order):,} judges" if len(order) > SHOWN else ""
    if by_side:
        added = "added side bias" if _has_side_bias(ranker) else "side bias"
        title, column = f"Judges, the strongest preference for a side first{listed}", added
    else:
        title, column = f"Judges, the most random votes first{listed}", "factor of the differences"
    rows = [(str(judge), f"{effects[judge]:{'+.3f' if by_side else '.3f'}}") for judge in order[:SHOWN]]
    answer.table(title, ("judge", column), rows)


def vote_log_loss(ranker: Any, scores: Float, votes: Preferences) -> float | None:
    """Return the mean of ``-log(probability)`` of votes, ties included; None for a model without probabilities.

    A tie that counts as half a vote for each item has the geometric mean of the two probabilities, as in
    `leave_preferences_out`. The side of a vote is used if the model has a side bias and the votes have sides.

    Shapes: scores (m,).
    """
    if not hasattr(ranker, "fitted_to_scores_") or ranker.fitted_to_scores_:
        return None
    import numpy as np

    from kernelrank.votes.likelihood import observed_probabilities, outcome_probabilities

    d = scores[votes.pairs[:, 0]] - scores[votes.pairs[:, 1]]
    if votes.side is not None:
        d = d + ranker.side_bias_ * votes.side
    observed = observed_probabilities(outcome_probabilities(d, getattr(ranker, "tie_log_", None)), votes.tie)
    with np.errstate(divide="ignore"):
        return float(-np.average(np.log(observed), weights=votes.weight))


def _has_side_bias(ranker: Any) -> bool:
    return bool(getattr(ranker, "side_bias", False)) and hasattr(ranker, "side_bias_")


def _of_equal_items(ranker: Any) -> list[float]:
    """Return the probabilities that the first side wins, that the second does, and of a tie, if they are learnt."""
    import numpy as np

    from kernelrank.votes.likelihood import outcome_probabilities

    found = outcome_probabilities(np.array([ranker.side_bias_]), getattr(ranker, "tie_log_", None))
    return [float(value) for value in found[0]]
