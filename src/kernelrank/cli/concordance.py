"""``kernelrank concordance``: the concordance index of (censored) survival times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelrank.base.progress import working
from kernelrank.base.text import p_is
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    Answer,
    LearnerOptions,
    check_page,
    counted,
    grouped,
    only,
    read_alphas,
    scaled,
    without,
)
from kernelrank.cli.sources import SourceFile, command_line, speaking_of

if TYPE_CHECKING:
    from kernelrank.data import Items
    from kernelrank.model_selection import ConcordanceEstimate

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

MOST_COEFFICIENTS = 200
"""Up to as many features have coefficients with intervals: 200 bootstrap samples are fitted."""


@app.command()
@grouped
def concordance(
    *,
    data: Annotated[
        Path, typer.Argument(help="Data file: one row per item, with a time and an event column. - is standard input.")
    ],
    time: Annotated[str, typer.Option("--time", help="Column with the survival or follow-up times.")],
    event: Annotated[
        str,
        typer.Option(
            "--event",
            help="Column that says whether the event happened (1, true) or the time is censored (0, false).",
        ),
    ],
    alpha: shared.NestedAlpha = None,
    alphas: shared.NestedAlphas = "auto",
    learner: Annotated[LearnerOptions, only("kernel", "gamma", "degree", "coef0", "scale", "seed")],
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of cross-validation folds.")] = 5,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    source: Annotated[
        SourceFile,
        without("target", "time", "event", "positive", "query", "weight", "groups"),
    ],
    as_json: shared.AsJSON = False,
) -> None:
    """Estimate the concordance index of censored times, with an interval.

    Uses nested cross-validation: for each fold, alpha is chosen and the model is trained on the other folds.

    kernelrank concordance patients.csv --time months --event died --scale

    kernelrank concordance patients.csv --time t --event died --report out.html
    """
    import numpy as np

    from kernelrank.metrics import log_rank_pvalue
    from kernelrank.model_selection import estimate_concordance, risk_coefficients

    answer = Answer("concordance", as_json=as_json)
    check_page(report, [data])
    learner.check_kernel()
    items = replace(source, path=data, time=time, event=event).with_times().read(answer)
    if learner.scale:
        answer.note("columns were scaled once, on all items; the times were not used for that")
    X = scaled(learner.scaler(items.X), items.X)
    estimator = learner.search(read_alphas(alphas)) if alpha is None else learner.estimator(alpha)
    with answer.noting_warnings(), speaking_of(items), working(f"holding out {counted(folds, 'fold')}"):
        estimate = estimate_concordance(
            estimator,
            X,
            items.y,
            qid=items.qid,
            cv=folds,
            sample_weight=items.weight,
            confidence=confidence,
            random_state=learner.seed,
        )
    pvalue = log_rank_pvalue(estimate.lifetimes.time, estimate.lifetimes.event, estimate.thirds())
    coefficients = None
    if learner.kernel == "linear" and items.n_features <= MOST_COEFFICIENTS and isinstance(X, np.ndarray):
        with answer.noting_warnings(), speaking_of(items):
            coefficients = risk_coefficients(
                estimator,
                X,
                items.y,
                qid=items.qid,
                sample_weight=items.weight,
                feature_names=items.column_names,
                confidence=confidence,
                random_state=learner.seed,
            )
    if report is not None:
        from kernelrank.report.estimates import concordance_report

        with working("drawing the page"):
            title = f"Concordance of {items.path}"
            page = concordance_report(
                estimate,
                coefficients=coefficients,
                X=X if items.qid is None and items.weight is None else None,
                feature_names=items.column_names,
                time_name=time,
                title=title,
                command=command_line(),
                notes=answer.notes,
            )
            page.save(report)
    _answer(answer, estimate, items, pvalue, nested=alpha is None)
    if coefficients is not None:
        rows = [
            (name, f"{value:+.2f}", f"{low:+.2f} to {high:+.2f}") for name, value, low, high in coefficients.rows(10)
        ]
        percent = f"{100 * confidence:.4g}% interval"
        answer.table("Risk for one standard deviation", ("feature", "risk", percent), rows)
        listed = zip(("feature", "risk", "low", "high"), zip(*coefficients.rows(), strict=True), strict=True)
        answer.fact("coefficients", {name: list(values) for name, values in listed})
    answer.saved(report=report)
    answer.show()


def _answer(answer: Answer, estimate: ConcordanceEstimate, items: Items, pvalue: float, *, nested: bool) -> None:
    low, high = estimate.interval
    result = estimate.result
    n_folds = int(estimate.folds.max()) + 1
    facts = {
        "data": str(items.path),
        "concordance": estimate.concordance,
        "low": low,
        "high": high,
        "confidence": estimate.interval.level,
        "interval": estimate.interval.method,
        "label": result.label,
        "items": len(items),
        "events": result.n_events,
        "pairs": result.n_pairs,
        "folds": n_folds,
        "alpha_chosen_inside": nested,
        "log_rank_pvalue": pvalue,
    }
    answer.add(facts)
    rows = [
        ("concordance", f"{estimate.concordance:.3f}"),
        (f"{100 * estimate.interval.level:.4g}% interval", f"{low:.3f} to {high:.3f}"),
        ("log-rank test of the thirds", f"p {p_is(pvalue)}"),
        ("events", f"{result.n_events:,} of {len(items):,} items"),
        ("held out", f"{counted(n_folds, 'fold')}, {counted(result.n_pairs, 'pair')} of known order inside them"),
        ("alpha", "chosen in every training set" if nested else "as given"),
        ("the interval", estimate.interval.method),
    ]
    answer.table(f"Concordance of {items.path}", ("", ""), rows)
