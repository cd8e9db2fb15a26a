"""``kernelrank compare``: which of two or more models, or runs, ranks better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelrank.base.text import pvalue
from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.judgement import Judgement, judge, measured
from kernelrank.cli.measuring import MeasureRules
from kernelrank.cli.output_file import check_page
from kernelrank.cli.several_models import SeveralModels
from kernelrank.cli.sources import SourceFile, fold_part, survival_columns

if TYPE_CHECKING:
    from kernelrank.metrics import Measure

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL MODEL... DATA",
            help="Two or more model files or TREC runs, then a data file with true scores, or qrels for runs.",
            show_default=False,
        ),
    ],
    measure: options.Measures = None,
    gain: options.Gain = None,
    discount: options.Discount = None,
    tied: options.TiesOfList = None,
    empty: options.Empty = None,
    relevant_from: options.RelevantFrom = None,
    max_grade: options.MaxGrade = None,
    threshold: options.Threshold = None,
    trec: options.TrecRules = False,
    confidence: options.Confidence = 0.95,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            help="Number of random sign flips, for the p-value.",
        ),
    ] = 10_000,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    target: options.Target = None,
    time: options.Time = None,
    event: options.Event = None,
    happened: options.Happened = None,
    strata: options.Strata = None,
    positive: options.Positive = None,
    query: options.Query = None,
    id: options.Id = None,
    report: options.Report = None,
    as_json: options.AsJSON = False,
) -> None:
    """Test which of two or more models, or runs, ranks better: a paired test over queries.

    The p-values are those of a sign-flip test over queries and of Wilcoxon's signed-rank test. The interval of the
    difference allows for other queries. With more than two models every two of them are compared, and p-values are
    corrected for multiple tests (Holm's method).

    kernelrank compare linear.kr rbf.kr test.txt --measure ndcg@10

    kernelrank compare linear.kr rbf.kr svm.kr test.txt --report page.html

    kernelrank compare old.run new.run qrels.txt --trec

    kernelrank compare old.kr new.kr patients.csv --time months --event died
    """
    from kernelrank.errors import InvalidInputError
    from kernelrank.metrics.intervals import WILCOXON

    answer = Answer("compare", as_json=as_json)
    *models, truth = files
    if len(models) < 2 or (event is not None and len(models) > 2):
        expected = "two models and a data file" if event is not None else "at least two models, then a data file"
        raise InvalidInputError(f"Expected {expected}; got {len(files)} files: {', '.join(map(str, files))}.")
    if event is not None and report is not None:
        raise InvalidInputError("--report is not supported with --event: it compares models query by query.")
    check_page(report, files)
    rules = MeasureRules(gain, discount, tied, empty, relevant_from, max_grade, threshold, trec=trec)
    measures = rules.measures(["concordance"] if measure is None and event is not None else measure)
    target, query = survival_columns(target, query, time, event, strata)
    events: dict[str, Any] = {"event": event, "happened": happened}
    source = SourceFile(fold_part(truth, "test"), input_format, target, query, id, positive=positive, **events)
    judged = [judge(answer, model, source) for model in models]
    first, second, pair = models[0], models[1], (judged[0], judged[1])
    if event is not None:
        _compare_times(answer, (str(first), str(second)), pair, measures, rules, confidence)
        return
    if len(models) > 2 or report is not None:
        several = SeveralModels.of(
            answer,
            judged,
            measures,
            rules,
            asked=measure is not None,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
        )
        if len(models) > 2:
            several.tell(answer, source.path)
        if report is not None:
            several.write(answer, report, source.path)
        if len(models) > 2:
            answer.show()
            return
    compared = measured(
        answer,
        measures,
        lambda one: _compared(one, pair, rules, confidence, resamples, seed),
        asked=measure is not None,
    )
    measures, found = [one for one, _ in compared], [facts for _, facts in compared]
    answer.fact("first", str(first))
    answer.fact("second", str(second))
    answer.fact("data", str(source.path))
    answer.fact("measures", found)
    answer.table(
        f"{first} (first) and {second} (second) on {source.path}",
        ("measure", "first", "second", "difference", f"{100 * confidence:.4g}% interval", "p", "Wilcoxon", "wins"),
        [_row(facts) for facts in found],
    )
    for one in measures:
        answer.line(rules.label_of(one), style="dim")
    numbers = sorted({facts["n_queries"] for facts in found})
    asked = f"{numbers[0]} queries" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} queries, by the measure"
    answer.line(f"{asked}; wins: how many first and second rank better.", style="dim")
    how = "all sign flips" if all(facts["exact"] for facts in found) else f"{resamples:,} sign flips drawn"
    answer.line(
        f"p: {how}, two-sided; difference: first - second, with an interval that allows for other queries.", style="dim"
    )
    answer.line(f"Wilcoxon: p-value by {WILCOXON}, two-sided.", style="dim")
    if len(found) > 1:
        answer.line("Several measures are several tests: correct the p-values for multiple testing.", style="dim")
    answer.show()


def _compare_times(
    answer: Answer,
    names: tuple[str, str],
    pair: tuple[Judgement, Judgement],
    measures: Sequence[Measure],
    rules: MeasureRules,
    confidence: float,
) -> None:
    """Compare two models by the concordance of censored times: what varies is the items."""
    from kernelrank.metrics import ConcordanceResult

    found, rows = [], []
    for measure in measures:
        first, second = (judgement.measure(measure, rules) for judgement in pair)
        assert isinstance(first, ConcordanceResult)
        assert isinstance(second, ConcordanceResult)
        test = first.minus(second, confidence=confidence)
        low, high = test.interval
        facts = {"measure": measure.name, "first": first.mean, "second": second.mean, "difference": test.difference}
        found.append({**facts, "low": low, "high": high, "pvalue": test.pvalue, "interval": test.interval.method})
        values = [f"{first.mean:.4f}", f"{second.mean:.4f}", f"{test.difference:+.4f}", f"[{low:+.4f}, {high:+.4f}]"]
        rows.append([measure.name, *values, pvalue(test.pvalue)])
    answer.fact("first", names[0])
    answer.fact("second", names[1])
    answer.fact("measures", found)
    columns = ("measure", "first", "second", "difference", f"{100 * confidence:.4g}% interval", "p")
    answer.table(f"{names[0]} (first) and {names[1]} (second)", columns, rows)
    for measure in measures:
        answer.line(rules.label_of(measure), style="dim")
    answer.line(f"Difference: first - second; p is two-sided; {found[0]['interval']}.", style="dim")
    answer.show()


def _compared(
    measure: Measure,
    pair: tuple[Judgement, Judgement],
    rules: MeasureRules,
    confidence: float,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    from kernelrank.metrics import paired_test

    results = [judgement.measure(measure, rules) for judgement in pair]
    test = paired_test(results[0], results[1], confidence=confidence, n_resamples=resamples, random_state=seed)
    facts = {name: value for name, value in asdict(test).items() if name not in ("label", "interval")}
    facts |= {"low": test.interval.low, "high": test.interval.high, "confidence": test.interval.level}
    means = {"first": results[0].mean, "second": results[1].mean}
    return {"measure": measure.name, "rules": rules.rules_of(measure), **means, **facts}


def _row(facts: dict[str, Any]) -> list[str]:
    return [
        facts["measure"],
        f"{facts['first']:.4f}",
        f"{facts['second']:.4f}",
        f"{facts['difference']:+.4f}",
        f"[{facts['low']:+.4f}, {facts['high']:+.4f}]",
        pvalue(facts["pvalue"]),
        pvalue(facts["wilcoxon_pvalue"]),
        f"{facts['n_first_better']}:{facts['n_second_better']}",
    ]
