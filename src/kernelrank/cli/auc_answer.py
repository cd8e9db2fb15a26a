"""The output of ``kernelrank auc``: facts, a table, a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.base.text import pvalue
from kernelrank.cli.model_file import command_line
from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.cli.auc_rivals import NamedComparison
    from kernelrank.cli.cohort import Cohort
    from kernelrank.data import Items
    from kernelrank.metrics import RateEstimate
    from kernelrank.model_selection import AUCEstimate, PermutationTest, TournamentROC

__all__ = ["answer_auc", "auc_page"]

SPECIFICITIES = (0.9, 0.95)
"""Where the sensitivity is given."""


def auc_page(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    model: Any,
    cohort: Cohort,
    items: Items,
    comparisons: list[NamedComparison],
) -> Any:
    """Make the page of an estimate."""
    from kernelrank.report import auc_report

    return auc_report(
        estimate,
        curve,
        test,
        model=model,
        X=cohort.X,
        comparisons=[(one.first, one.second, one.found) for one in comparisons],
        ids=items.ids,
        feature_names=items.column_names,
        title=f"AUC of {items.path}",
        command=command_line(),
        notes=[f"the positive class is {cohort.positive}: {cohort.reason}", *answer.notes],
    )


def answer_auc(
    answer: Answer,
    estimate: AUCEstimate,
    curve: TournamentROC | None,
    test: PermutationTest | None,
    cohort: Cohort,
    items: Items,
    *,
    nested: bool,
) -> None:
    """Add an AUC estimate, its permutation test and its ROC curve to the answer."""
    low, high = estimate.interval
    answer.fact("data", str(items.path))
    answer.fact("auc", estimate.auc)
    answer.fact("low", low)
    answer.fact("high", high)
    answer.fact("confidence", estimate.interval.level)
    answer.fact("method", estimate.method)
    answer.fact("alpha_chosen_inside", nested)
    answer.fact("interval", estimate.interval.method)
    answer.fact("positive_class", estimate.classes[1])
    answer.fact("positive_class_reason", cohort.reason)
    answer.fact("positive", estimate.n_positive)
    answer.fact("negative", estimate.n_negative)
    answer.fact("pairs", estimate.n_pairs)
    rows = [
        ("AUC", f"{estimate.auc:.3f}"),
        (f"{100 * estimate.interval.level:.4g}% interval", f"{low:.3f} to {high:.3f}"),
    ]
    if test is not None:
        answer.fact("pvalue", test.pvalue)
        answer.fact("permutations", len(test.null))
        answer.fact("permutation", _test_facts(test))
        how = f"{test.name}, {counted(len(test.null), 'permutation')} of {test.permuted}"
        rows.append(("p-value", f"{pvalue(test.pvalue)} ({how})"))
    if curve is not None:
        answer.fact("tournament_auc", curve.auc)
        answer.fact("roc", {"fpr": curve.fpr, "tpr": curve.tpr})
        rates = [curve.sensitivity_at(specificity) for specificity in SPECIFICITIES]
        answer.fact("sensitivity", [_rate_facts(*found) for found in zip(SPECIFICITIES, rates, strict=True)])
        for specificity, rate in zip(SPECIFICITIES, rates, strict=True):
            ends = f"{rate.interval.low:.3f} to {rate.interval.high:.3f}"
            rows.append((f"sensitivity at {100 * specificity:.0f}% specificity", f"{rate.value:.3f} ({ends})"))
    rows += [
        (
            "positive class",
            f"{estimate.classes[1]}: {estimate.n_positive} of {len(items)} items ({cohort.reason})",
        ),
        ("held out", f"{estimate.method}, {counted(estimate.n_pairs, 'pair')}"),
        ("alpha", "chosen in every training set" if nested else "as given"),
        ("the interval", estimate.interval.method),
    ]
    answer.table(f"AUC of {items.path}", ("", ""), rows)
    for warning in estimate.warnings:
        answer.note(warning)


def _test_facts(test: PermutationTest) -> dict[str, Any]:
    """Return a test as one fact: the mean of the permutations belongs to the statistic beside it, not to the AUC."""
    return {
        "statistic": test.name,
        "value": test.statistic,
        "null_mean": float(test.null.mean()),
        "pvalue": test.pvalue,
        "permutations": len(test.null),
        "permuted": test.permuted,
    }


def _rate_facts(specificity: float, rate: RateEstimate) -> dict[str, float]:
    low, high = rate.interval
    return {"specificity": specificity, "value": rate.value, "low": low, "high": high}
