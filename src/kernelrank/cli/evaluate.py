"""``kernelrank evaluate``: measure a model on a file, or a run against qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kernelrank import persistence
from kernelrank.base.text import pvalue
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    Answer,
    MeasureRules,
    check_page,
    counted,
    facts_of,
    grouped,
    interval_lines,
    only,
    row_of,
    without,
)
from kernelrank.cli.sources import (
    Judgement,
    PreferenceFile,
    SourceFile,
    command_line,
    fold_part,
    for_model,
    is_model_file,
    judge,
    load_model,
    measured,
    scores_of,
    speaking_of,
    trained_on,
)
from kernelrank.cli.vote_effects import vote_log_loss

if TYPE_CHECKING:
    from kernelrank.data import Preferences
    from kernelrank.metrics import Measure, MeasureResult
    from kernelrank.report.comparison import ComparedModels

JudgedFile: TypeAlias = Annotated[
    SourceFile,
    only(
        "input_format",
        "target",
        "time",
        "event",
        "happened",
        "drop_incomplete",
        "strata",
        "positive",
        "query",
        "id",
        "no_header",
        "header_row",
        "skip_rows",
        "sheet",
    ),
]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

LEVEL_MEASURES = ("level_error", "quadratic_weighted_kappa", "chain_accuracy")
"""What a model of levels is measured by, beside the default measures."""


@app.command()
@grouped
def evaluate(
    *,
    judged: Annotated[Path, typer.Argument(metavar="MODEL|SCORES|RUN", help="Model file, file of scores or TREC run.")],
    truth: Annotated[
        Path,
        typer.Argument(metavar="DATA|QRELS", help="Data file with true scores for a model or scores, qrels for a run."),
    ],
    measure: shared.Measures = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="File of preferences between the items of DATA; measure agreement with them instead of scores.",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[PreferenceFile, without("judge")],
    by_query: Annotated[bool, typer.Option("--by-query", help="Also print the value for every query.")] = False,
    rules: MeasureRules,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    source: JudgedFile,
    as_json: shared.AsJSON = False,
) -> None:
    """Measure a model on a file with scores or by preferences, or a TREC run against qrels.

    Intervals allow for other queries; that of the AUC of a single query uses DeLong's variance. The conventions of
    each measure are printed below the table; --trec uses those of trec_eval and ir_measures.

    kernelrank evaluate model.kr test.txt --measure ndcg@10 --measure map

    kernelrank evaluate scores.txt test.txt

    kernelrank evaluate run.txt qrels.txt --trec

    kernelrank evaluate model.kr items.csv --pairs held_out.csv

    kernelrank evaluate model.kr patients.csv --time months --event died
    """
    from kernelrank.metrics import get_measure

    answer = Answer("evaluate", as_json=as_json)
    if pairs is not None:
        _refuse_measures(measure is not None or by_query or rules != MeasureRules())
        file = replace(votes, path=pairs, judge="")
        source = replace(source, path=truth, event=None, positive=None)
        _evaluate_preferences(answer, judged, source, file, confidence)
        return
    votes.at(None)
    measures = rules.measures(["concordance"] if measure is None and source.event is not None else measure)
    source = source.with_times().at(fold_part(truth, "test"))
    judgement = judge(answer, judged, source)
    if measure is None and judgement.levels is not None:
        measures += [get_measure(name) for name in LEVEL_MEASURES]
    known = measured(answer, measures, lambda one: judgement.measure(one, rules), asked=measure is not None)
    measures, results = [one for one, _ in known], [result for _, result in known]
    found = [
        facts_of(result, one, confidence=confidence, seed=seed, by_query=by_query, rules=rules) for one, result in known
    ]
    answer.fact("judged", str(judged))
    answer.fact("data", str(source.path))
    answer.fact("measures", found)
    interval = f"{100 * confidence:.4g}% interval"
    answer.table("", ("measure", "mean", interval, "queries", "left out"), [row_of(facts) for facts in found])
    for one in measures:
        answer.line(rules.label_of(one), style="dim")
    for line in interval_lines(found):
        answer.line(line, style="dim")
    if by_query:
        answer.table("Each query", ("query", *map(str, measures)), _rows_by_query(results))
        answer.line(counted(len(results[0]) + results[0].n_left_out, "query", "queries"), style="dim")
    answer.show()


def _refuse_measures(asked: bool) -> None:
    if asked:
        from kernelrank.errors import InvalidInputError

        raise InvalidInputError(
            "--pairs measures agreement with preferences: remove --measure and its conventions, which need scores"
        )


def _rows_by_query(results: list[MeasureResult]) -> list[list[str]]:
    """Return a row for each query, a dash where it cannot be measured."""
    values = [dict(zip(result.queries.tolist(), result.values.tolist(), strict=True)) for result in results]
    queries: dict[Any, None] = {}
    for result in results:
        queries |= dict.fromkeys([*result.queries.tolist(), *result.left_out.tolist()])
    return [[str(query), *("-" if query not in of else f"{of[query]:.4f}" for of in values)] for query in queries]


def _evaluate_preferences(
    answer: Answer, judged: Path, source: SourceFile, file: PreferenceFile, confidence: float
) -> None:
    """Measure a model by a file of preferences between the items of a file, and show it."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.metrics import preference_agreement

    if not judged.exists():
        raise InvalidInputError(f"{judged}: No such file or directory")
    if not is_model_file(judged):
        raise InvalidInputError(f"{judged}: is not a model file; --pairs needs a model")
    model = load_model(judged)
    items = for_model(source, model, needs_target=False).read(answer, needs_target=False)
    votes = file.between(items, answer)
    preferences = file.without_ties(votes, answer, "which neither order agrees with")
    if trained_on(model, file.path, "preferences"):
        answer.note(f"{judged} was trained on {file.path}: the agreement is too optimistic for new preferences")
    ranker = persistence.final_step(model)
    if getattr(ranker, "side_bias", False) and votes.side is None:
        answer.note(f"{file.path}: has no sides, so that the log-loss leaves the side bias of the model out")
    with speaking_of(items):
        scores = scores_of(model, items.X)
    found = preference_agreement(preferences.pairs, scores, weight=preferences.weight, confidence=confidence)
    answer.fact("judged", str(judged))
    answer.fact("data", str(source.path))
    answer.fact("preferences", str(file.path))
    facts = {name: value for name, value in asdict(found).items() if name != "interval"}
    facts |= {"low": found.interval.low, "high": found.interval.high, "confidence": found.interval.level}
    answer.fact("agreement", facts)
    log_loss = vote_log_loss(ranker, scores, votes)
    if log_loss is not None:
        answer.fact("log_loss", log_loss)
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
    if log_loss is not None:
        answer.line(_log_loss_line(ranker, votes, log_loss))
    answer.show()


def _log_loss_line(ranker: Any, votes: Preferences, log_loss: float) -> str:
    """Return the log-loss in words, with what it is the loss of."""
    if log_loss == float("inf"):
        return "Log-loss infinite: the model was trained on votes without ties, and gives ties a probability of zero."
    sides = ", with the side of each item" if ranker.side_bias and votes.side is not None else ""
    ties = "" if votes.tie is None else ", ties included"
    return f"Log-loss {log_loss:.4f} of {counted(len(votes.pairs), 'vote')}{ties}{sides}."


# Compare --------------------------------------------------------------------------------------------------------------
#
# ``kernelrank compare``: which of two or more models, or runs, ranks better.

compare_app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@compare_app.command()
@grouped
def compare(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL MODEL... DATA",
            help="Two or more models, files of scores or runs, then a data file with true scores, or qrels for runs.",
            show_default=False,
        ),
    ],
    measure: shared.Measures = None,
    rules: MeasureRules,
    confidence: shared.Confidence = 0.95,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            help="Number of random sign flips, for the p-value.",
        ),
    ] = 10_000,
    seed: shared.Seed = 0,
    source: JudgedFile,
    report: shared.Report = None,
    as_json: shared.AsJSON = False,
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
    if len(models) < 2 or (source.event is not None and len(models) > 2):
        expected = "two models and a data file" if source.event is not None else "at least two models, then a data file"
        raise InvalidInputError(f"Expected {expected}; got {len(files)} files: {', '.join(map(str, files))}.")
    if source.event is not None and report is not None:
        raise InvalidInputError("--report is not supported with --event: it compares models query by query.")
    check_page(report, files)
    measures = rules.measures(["concordance"] if measure is None and source.event is not None else measure)
    source = source.with_times().at(fold_part(truth, "test"))
    judged = [judge(answer, model, source) for model in models]
    first, second, pair = models[0], models[1], (judged[0], judged[1])
    if source.event is not None:
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


# Several models -------------------------------------------------------------------------------------------------------
#
# Several models compared on the same queries: every two of them, with corrected p-values, and the page.


@dataclass(frozen=True, eq=False)
class SeveralModels:
    """What several models reach by some measures, and how they differ."""

    compared: list[ComparedModels]
    rules: list[list[str]]
    n_items: int | None
    resamples: int

    @classmethod
    def of(
        cls,
        answer: Answer,
        judged: Sequence[Judgement],
        measures: Sequence[Measure],
        rules: MeasureRules,
        *,
        asked: bool,
        confidence: float,
        resamples: int,
        seed: int,
    ) -> SeveralModels:
        """Measure and compare; the arguments are those of the command."""
        from kernelrank.report.comparison import ComparedModels

        names = _short_names([judgement.name for judgement in judged])

        def find(measure: Measure) -> tuple[dict[str, MeasureResult], float | None]:
            results = [judgement.measure(measure, rules) for judgement in judged]
            return dict(zip(names, results, strict=True)), _chance(judged[0], measure)

        found = measured(answer, measures, find, asked=asked)
        values = [(measure.name, measure.higher_is_better, results, chance) for measure, (results, chance) in found]
        compared = ComparedModels.all_of(values, confidence=confidence, n_resamples=resamples, random_state=seed)
        n_items = None if judged[0].y is None else len(judged[0].y)
        return cls(compared, [rules.rules_of(measure) for measure, _ in found], n_items, resamples)

    def write(self, answer: Answer, path: Path, data: Path) -> None:
        """Write the page."""
        from kernelrank.base.progress import working
        from kernelrank.report.comparison import comparison_page

        with working("drawing the page"):
            title = f"{len(self.compared[0].results)} models on {data.name}"
            page = comparison_page(
                self.compared, n_items=self.n_items, title=title, command=command_line(), notes=answer.notes
            )
            page.save(path)
        answer.fact("report", str(path))
        answer.line(f"The report is in {path}.")

    def tell(self, answer: Answer, data: Path) -> None:
        """Add the means of all models, and the differences of every two, to the answer."""
        answer.fact("data", str(data))
        answer.fact("models", [self._facts(number) for number in range(len(self.compared))])
        for one in self.compared:
            percent = f"{100 * one.confidence:.4g}%"
            rows = [
                [row.name, f"{row.value:.4f}", f"[{row.interval.low:.4f}, {row.interval.high:.4f}]"]
                for row in one.values.rows
            ]
            if one.chance is not None:
                rows.append(["random order", f"{one.chance:.4f}", ""])
            answer.table(f"{one.name} on {data}", ("model", "value", f"{percent} interval"), rows)
            answer.table(
                f"Differences of {one.name}",
                ("first - second", "difference", f"{percent} interval", "p", "corrected", "wins"),
                [
                    [
                        f"{pair.first} - {pair.second}",
                        f"{pair.test.difference:+.4f}",
                        f"[{pair.test.interval.low:+.4f}, {pair.test.interval.high:+.4f}]",
                        pvalue(pair.test.pvalue),
                        pvalue(pair.corrected),
                        f"{pair.test.n_first_better}:{pair.test.n_second_better}",
                    ]
                    for pair in one.pairs
                ],
            )
        n_tests = sum(len(one.pairs) for one in self.compared)
        answer.line(f"p: by sign flips, two-sided; corrected: for all {n_tests} tests (Holm's method).", style="dim")
        answer.line("wins: how many queries first and second rank better.", style="dim")

    def _facts(self, number: int) -> dict[str, Any]:
        one = self.compared[number]
        return {
            "measure": one.name,
            "rules": self.rules[number],
            "values": [
                {"model": row.name, "value": row.value, "low": row.interval.low, "high": row.interval.high}
                for row in one.values.rows
            ],
            "random_order": one.chance,
            "differences": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "difference": pair.test.difference,
                    "low": pair.test.interval.low,
                    "high": pair.test.interval.high,
                    "pvalue": pair.test.pvalue,
                    "corrected_pvalue": pair.corrected,
                    "n_queries": pair.test.n_queries,
                    "n_first_better": pair.test.n_first_better,
                    "n_second_better": pair.test.n_second_better,
                }
                for pair in one.pairs
            ],
        }


def _chance(judgement: Judgement, measure: Measure) -> float | None:
    """Return the expected value of a random order; None for a run, whose items were chosen."""
    from kernelrank.report.ranking import random_order

    return None if judgement.y is None else random_order(measure, judgement.y, judgement.qid)


def _short_names(names: Sequence[str]) -> list[str]:
    """Name models by their files without the folder where that tells them apart; equal paths are numbered."""
    short = [Path(name).name for name in names]
    chosen = short if len(set(short)) == len(short) else list(names)
    seen: dict[str, int] = {}
    found = []
    for name in chosen:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
