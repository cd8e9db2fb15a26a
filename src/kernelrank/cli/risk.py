"""``kernelrank risk``: how good predicted risks are on new items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.base.progress import working
from kernelrank.cli import shared
from kernelrank.cli.auc import MOST_COMPARISONS, Cohort
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
    from kernelrank.model_selection import TournamentROC
    from kernelrank.model_selection.risk import RiskEstimate

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
@grouped
def risk(
    *,
    data: Annotated[
        Path,
        typer.Argument(
            help="Data file: one row per item, with two classes or with a time and an event. - is standard input."
        ),
    ],
    horizon: Annotated[
        float | None,
        typer.Option("--horizon", help="With --time: the time up to which the risk of the event is predicted."),
    ] = None,
    entry: Annotated[
        str | None,
        typer.Option(
            "--entry",
            help="With --time: column of the times from which on items were under observation (left truncation).",
        ),
    ] = None,
    alpha: shared.NestedAlpha = None,
    alphas: shared.NestedAlphas = "auto",
    learner: Annotated[LearnerOptions, only("kernel", "gamma", "degree", "coef0", "scale", "seed")],
    calibration: Annotated[
        Literal["logistic", "isotonic"],
        typer.Option("--calibration", help="How held-out scores become risks; isotonic needs hundreds of items."),
    ] = "logistic",
    thresholds: Annotated[
        str,
        typer.Option("--thresholds", help="Risks from which on items are treated as positive, separated by commas."),
    ] = "0.05,0.1,0.2,0.3,0.5",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of outer cross-validation folds.")] = 10,
    report: shared.Report = None,
    confidence: shared.Confidence = 0.95,
    jobs: shared.Jobs = 1,
    source: Annotated[
        SourceFile,
        without("strata", "query", "weight"),
    ],
    as_json: shared.AsJSON = False,
) -> None:
    """Estimate how good predicted risks are on new items: calibration, accuracy and net benefit, with intervals.

    Nested cross-validation: for each fold alpha is chosen, the model trained and its risks calibrated on the others.
    With --time and --event the risk is that of the event up to --horizon.

    kernelrank risk patients.csv --target outcome --report page.html

    kernelrank risk patients.csv --target outcome --groups patient --thresholds 0.1,0.2

    kernelrank risk patients.csv --time months --event died --horizon 24
    """
    from kernelrank.model_selection import CalibratedRanker, estimate_risk
    from kernelrank.model_selection.refits import settled

    answer = Answer("risk", as_json=as_json)
    learner.check_kernel()
    grid, limits = read_alphas(alphas), _read_thresholds(thresholds)
    source = replace(source, path=data)
    if _has_times(source, horizon, entry, report, calibration):
        ranker = learner.search(grid) if alpha is None else learner.estimator(alpha)
        options = {"thresholds": limits, "cv": folds, "confidence": confidence, "n_jobs": jobs}
        _of_times(answer, source, learner, ranker, horizon, entry, options)
        return
    check_page(report, [data])
    items = source.read_groups(answer)
    cohort = Cohort.of(items, learner, answer)
    if learner.scale:
        answer.note("columns were scaled once, on all items; the classes were not used for that")
    ranker = settled(learner.search(grid) if alpha is None else learner.estimator(alpha), cohort.X)
    model = CalibratedRanker(ranker, calibration=calibration, random_state=learner.seed)
    common: dict[str, Any] = {"groups": cohort.groups, "pos_label": cohort.positive, "confidence": confidence}
    with answer.noting_warnings(), speaking_of(items):
        with working(f"holding out {counted(folds, 'fold')}, and estimating on halves"):
            estimate = estimate_risk(
                model,
                cohort.X,
                cohort.y,
                thresholds=limits,
                cv=folds,
                n_jobs=jobs,
                random_state=learner.seed,
                **common,
            )
        if report is not None:
            model.fit(cohort.X, cohort.y01, groups=cohort.groups)
    if report is not None:
        curve = _curve(answer, ranker, cohort, common, jobs)
        with working("drawing the page"):
            _page(answer, estimate, curve, model, cohort, items).save(report)
    answer.fact("data", str(items.path))
    answer.add(estimate.to_dict())
    answer.add({"alpha_chosen_inside": alpha is None, "positive_class": cohort.positive})
    answer.fact("positive_class_reason", cohort.reason)
    n_positive = int(estimate.positive.sum())
    told = f"{n_positive:,} of {counted(len(items), 'item')} are {cohort.positive} ({cohort.reason})."
    _tables(answer, estimate, f"Risk of {cohort.positive} in {items.path}", told)
    answer.saved(report=report)
    answer.show()


# Times ----------------------------------------------------------------------------------------------------------------


def _has_times(
    source: SourceFile, horizon: float | None, entry: str | None, report: Path | None, calibration: str
) -> bool:
    """Whether the risk is that of an event up to a time; wrong options raise an error."""
    from kernelrank.errors import InvalidInputError

    if source.time is None and source.event is None:
        if horizon is not None or entry is not None:
            raise InvalidInputError("--horizon and --entry go with --time and --event.")
        return False
    source.with_times()  # checks that both are given
    if horizon is None:
        raise InvalidInputError("Expected --horizon, the time up to which the risk is predicted, such as --horizon 24.")
    if report is not None:
        raise InvalidInputError(
            "--report: the page of risks is for two classes. Leave it out with --time; kernelrank concordance --report "
            "makes a page of the times."
        )
    if calibration != "logistic":
        raise InvalidInputError("--calibration isotonic is for two classes: with --time the risk is that of a hazard.")
    if source.groups is not None or source.positive is not None:
        raise InvalidInputError("--groups and --positive are for two classes. Leave them out with --time.")
    return True


def _of_times(
    answer: Answer,
    source: SourceFile,
    learner: LearnerOptions,
    ranker: Any,
    horizon: float | None,
    entry: str | None,
    options: dict[str, Any],
) -> None:
    """Estimate the risks of an event up to the horizon."""
    from kernelrank.model_selection import estimate_risk

    if entry is not None and source.features is not None:
        source = replace(source, features=f"{source.features},{entry}")
    items = source.with_times().read(answer)
    if entry is not None:
        items = _with_entry(items, entry)
    if learner.scale:
        answer.note("columns were scaled once, on all items; the times were not used for that")
    X = scaled(learner.scaler(items.X), items.X)
    with answer.noting_warnings(), speaking_of(items), working(f"holding out {counted(options['cv'], 'fold')}"):
        estimate = estimate_risk(ranker, X, items.y, horizon=horizon, random_state=learner.seed, **options)
    answer.fact("data", str(items.path))
    answer.add({**estimate.to_dict(), "alpha_chosen_inside": hasattr(ranker, "alphas")})
    assert estimate.weights is not None
    known = estimate.weights > 0
    told = f"{counted(len(items), 'item')}: {int(estimate.positive[known].sum()):,} with the event by {horizon:g}, "
    told += f"{int((known & ~estimate.positive).sum()):,} without; of {int((~known).sum()):,} it is not known."
    _tables(answer, estimate, f"Risk of {source.event} by {source.time} {horizon:g} in {items.path}", told)
    answer.show()


def _with_entry(items: Items, name: str) -> Items:
    """Return the items with the entry times of a column, which is no feature then."""
    import numpy as np

    from kernelrank.base.labels import event_times
    from kernelrank.errors import InvalidInputError

    y: Any = items.y
    names = items.column_names
    if name not in names:
        raise InvalidInputError(f"{items.path}: Expected a column {name!r} of numbers for --entry.")
    place = names.index(name)
    if items.filled is not None and items.filled[:, place].any():
        missing = counted(int(items.filled[:, place].sum()), "missing value")
        raise InvalidInputError(f"{items.path}: Expected an entry time for each item; {name!r} has {missing}.")
    column = items.X[:, [place]]
    times = np.ravel(column.toarray() if hasattr(column, "toarray") else column)
    rest = np.delete(np.arange(len(names)), place)
    return replace(
        items,
        X=items.X[:, rest],
        y=event_times(y["time"], y["event"], entry=times),
        feature_names=tuple(names[k] for k in rest),
        filled=None if items.filled is None else items.filled[:, rest],
    )


# Inside ---------------------------------------------------------------------------------------------------------------


def _read_thresholds(text: str) -> list[float]:
    from kernelrank.errors import InvalidInputError
    from kernelrank.model_selection.risk import check_thresholds

    try:
        return check_thresholds([float(part) for part in text.split(",")])
    except (ValueError, InvalidInputError):
        raise InvalidInputError(
            f"--thresholds: expected numbers between 0 and 1 separated by commas, such as 0.1,0.2; got {text!r}"
        ) from None


def _curve(answer: Answer, ranker: Any, cohort: Cohort, common: dict[str, Any], jobs: int) -> TournamentROC | None:
    """Play the tournament of the ROC curve, where it is not too long."""
    import numpy as np

    from kernelrank.model_selection import tournament_roc

    m = len(cohort.y01)
    n_alphas = np.size(ranker.alphas) if hasattr(ranker, "alphas") else 0
    if not hasattr(ranker, "kernel") or n_alphas * m * (m - 1) // 2 * cohort.n_pairs > MOST_COMPARISONS:
        answer.note("no ROC curve: it would need a choice of alpha for every held-out pair. Give one --alpha")
        return None
    if not cohort.can_be_drawn(answer):
        return None
    with working(f"holding out {counted(m * (m - 1) // 2, 'pair')} of items"):
        return tournament_roc(ranker, cohort.X, cohort.y, n_jobs=jobs, interval="components", **common)


def _page(
    answer: Answer, estimate: RiskEstimate, curve: TournamentROC | None, model: Any, cohort: Cohort, items: Items
) -> Any:
    import numpy as np

    from kernelrank.report.risks import risk_report

    missing = (
        {} if items.filled is None else dict(zip(items.column_names, np.asarray(items.filled).sum(axis=0), strict=True))
    )
    negative = next(label for label in np.unique(cohort.y).tolist() if label != cohort.positive)
    return risk_report(
        estimate,
        curve,
        model=model,
        X=cohort.X,
        classes=(negative, cohort.positive),
        missing={str(name): int(count) for name, count in missing.items() if count},
        grouped=cohort.groups is not None,
        feature_names=items.column_names,
        title=f"Risk of {cohort.positive} in {items.path}",
        command=command_line(),
        notes=[f"the positive class is {cohort.positive}: {cohort.reason}", *answer.notes],
    )


def _tables(answer: Answer, estimate: RiskEstimate, title: str, told: str) -> None:
    level = f"{100 * estimate.auc.interval.level:.4g}% interval"
    rows = [(estimate.labels[name], *_cells(one)) for name, one in estimate.named().items()]
    answer.table(title, ("measure", "estimate", level), rows)
    names = ("sensitivity", "specificity", "ppv", "npv", "net_benefit", "treat_all")
    heads = ("sensitivity", "specificity", "PPV", "NPV", "net benefit", "treat all")
    table = [
        (f"{threshold:g}", *(_cells(found[name])[0] for name in names))
        for threshold, found in estimate.thresholds.items()
    ]
    answer.table("With at least this risk", ("risk", *heads), table)
    answer.line(told)
    answer.line(
        f"The interval of the AUC {estimate.auc.interval.method}; others: {estimate.measures['brier'].interval.method}."
    )


def _cells(one: Any) -> tuple[str, str]:
    if one.value != one.value:
        return "none", ""
    return f"{one.value:.3f}", f"{one.interval.low:.3f} to {one.interval.high:.3f}"
