"""The output of ``kernelrank tune``: candidates, test sets, a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelrank.cli.answer import Answer
from kernelrank.cli.judgement import Judgement, measured
from kernelrank.cli.learner import scaled
from kernelrank.cli.measuring import facts_of, interval_lines, row_of
from kernelrank.cli.model_file import command_line
from kernelrank.cli.searches import Search
from kernelrank.cli.sources import SourceFile
from kernelrank.persistence.provenance import final_step

if TYPE_CHECKING:
    from kernelrank.cli.tuning_plan import Plan
    from kernelrank.data import Items

__all__ = [
    "answer_candidates",
    "answer_tests",
    "fold_page",
    "parameter_names",
    "shown_or_dash",
    "shown_value",
    "tuning_page",
]

SHOWN = 12
"""How many candidates people see; programs see all."""

SCALED = "columns were scaled by the training items: weights, deviations and values are those of scaled columns"


def answer_candidates(answer: Answer, found: Search) -> None:
    """Add the best candidates of a search to the answer."""
    answer.fact("best", found.best)
    answer.fact("candidates", found.candidates)
    answer.table(f"The best of {len(found.candidates)}, {found.how}", *_candidate_table(found))


def _candidate_table(found: Search) -> tuple[list[str], list[list[str]]]:
    columns = parameter_names(found.candidates)
    best = sorted(found.candidates, key=lambda candidate: -candidate["score"])[:SHOWN]
    rows = [[*(shown_value(one.get(name)) for name in columns), f"{one['score']:.4f}"] for one in best]
    return [*columns, found.measure], rows


def parameter_names(candidates: list[dict[str, Any]]) -> list[str]:
    """Return the parameters that some candidate has, the kernel first and alpha last."""
    known = {name: None for candidate in candidates for name in candidate}
    between = [name for name in known if name not in ("kernel", "alpha", "score")]
    return [*(["kernel"] if "kernel" in known else []), *between, "alpha"]


def shown_value(value: Any) -> str:
    """Return a parameter for a table: four digits, large numbers to the unit."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.4g}"


def answer_tests(
    answer: Answer, plan: Plan, title: str, tests: list[tuple[str, Items, Any]], name: str = "test_measures"
) -> None:
    """Measure the queries of all test sets by the measure that chose alpha and by the usual ones."""
    judgement, rules = Judgement.of_sets(tests), plan.rules
    pairs = measured(answer, plan.measures, lambda one: judgement.measure(one, rules), asked=False)
    found = [
        facts_of(result, one, confidence=0.95, seed=plan.learner.seed, by_query=False, rules=rules)
        for one, result in pairs
    ]
    answer.fact(name, found)
    answer.table(title, ("measure", "mean", "95% interval", "queries", "left out"), [row_of(one) for one in found])
    for one, _ in pairs:
        answer.line(rules.label_of(one), style="dim")
    for line in interval_lines(found):
        answer.line(line, style="dim")
    labels = [label for _, items, _ in tests for label in set([] if items.qid is None else items.qid.tolist())]
    if len(set(labels)) < len(labels):
        answer.note("several test sets have queries with the same name; the intervals treat them as different queries")


def shown_or_dash(value: float | None) -> str:
    """Return a measured value for a table."""
    return "-" if value is None else f"{value:.4f}"


def fold_page(answer: Answer, plan: Plan, source: SourceFile, found: list[dict[str, Any]], tests: Any) -> Any:
    """Make the page of the folds of a folder."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.report import folds_report

    if not tests:
        raise InvalidInputError(f"{source.path}: Expected a test.txt in at least one fold for --report; found none.")
    judgement = Judgement.of_sets(tests).placed(plan.rules)
    notes = [*answer.notes]
    if plan.by_query:
        notes.append("columns were scaled to 0 to 1 inside each query")
    if plan.rules.trec:
        notes.append("items were first sorted by descending item name, as trec_eval orders tied items")
    with answer.noting_warnings():
        return folds_report(
            found,
            judgement.y,
            judgement.scores,
            qid=judgement.qid,
            X=_features_of([items for _, items, _ in tests]),
            feature_names=tests[0][1].column_names,
            measures=plan.measures,
            title=f"Ranking of {source.path}",
            command=command_line(),
            notes=notes,
            random_state=plan.learner.seed,
        )


def _features_of(sets: list[Items]) -> Any:
    """Put the features of several sets below each other; None where their numbers of columns differ."""
    import numpy as np
    from scipy.sparse import issparse, vstack

    matrices = [items.X for items in sets]
    if len({matrix.shape[1] for matrix in matrices}) > 1:
        return None
    return vstack(matrices, format="csc") if issparse(matrices[0]) else np.concatenate(matrices)


def tuning_page(answer: Answer, found: Search, model: Any, items: Items, test: Items | None, plan: Plan) -> Any:
    """Make the page of a search."""
    from kernelrank.report import ranking_report

    if items.groups is not None and items.qid is None and test is None:
        answer.note("the report uses leave-pair-out and ignores groups; kernelrank auc keeps groups together")
    # The ranker alone, on scaled columns, has exact hold-outs; a pipeline would be refitted.
    scaler = model.steps[0][1] if hasattr(model, "steps") else None
    with answer.noting_warnings():
        return ranking_report(
            final_step(model),
            scaled(scaler, items.X),
            items.y,
            qid=items.qid,
            ids=items.ids,
            feature_names=items.column_names,
            test=None if test is None else (scaled(scaler, test.X), test.y, test.qid, test.ids),
            alpha_curve=_curve(found),
            measures=plan.measures,
            title=f"Ranking of {items.path}",
            command=command_line(),
            notes=[*answer.notes, *([] if scaler is None else [SCALED])],
        )


def _curve(found: Search) -> Any:
    """Return the scores over alpha of the kernel that was chosen; None where the model keeps them, or there is one."""
    from kernelrank.report import AlphaCurveDisplay

    if hasattr(found.model, "cv_results_"):
        return None
    varied = ("alpha", "score")
    kernel = {name: value for name, value in found.best.items() if name not in varied}
    alike = [one for one in found.candidates if {k: v for k, v in one.items() if k not in varied} == kernel]
    if len(alike) < 2:
        return None
    return AlphaCurveDisplay(
        [one["alpha"] for one in alike],
        [one["score"] for one in alike],
        name=found.how if found.how.startswith("on ") else f"by {found.how}",
        score_name=f"{found.measure} {found.how}" if found.how.startswith("on ") else f"hold-out {found.measure}",
        best_alpha=found.best["alpha"],
    )
