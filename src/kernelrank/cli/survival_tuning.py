"""What ``kernelrank tune`` adds for censored times: a nested estimate of the concordance, and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.base.progress import working
from kernelrank.cli.model_file import command_line
from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.data import Items
    from kernelrank.model_selection import ConcordanceEstimate

__all__ = ["answer_nested_times", "for_times", "nested_times", "times_page"]


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
