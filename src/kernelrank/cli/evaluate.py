"""``kernelrank evaluate``: measure a model on a file, or a run against qrels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.judgement import judge, measured
from kernelrank.cli.measuring import MeasureRules, facts_of, interval_lines, row_of
from kernelrank.cli.model_file import for_model, is_model_file, load_model, trained_on
from kernelrank.cli.model_rows import counted
from kernelrank.cli.preference_file import PreferenceFile, refuse_columns
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.sources import SourceFile, fold_part, speaking_of, survival_columns
from kernelrank.cli.vote_effects import vote_log_loss
from kernelrank.persistence.provenance import final_step

if TYPE_CHECKING:
    from kernelrank.data import Preferences
    from kernelrank.metrics import MeasureResult

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def evaluate(
    judged: Annotated[Path, typer.Argument(metavar="MODEL|RUN", help="Model file or TREC run.")],
    truth: Annotated[
        Path,
        typer.Argument(metavar="DATA|QRELS", help="Data file with true scores for a model, qrels for a run."),
    ],
    measure: options.Measures = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="File of preferences between the items of DATA; measure agreement with them instead of scores.",
            show_default=False,
        ),
    ] = None,
    winner: options.Winner = None,
    loser: options.Loser = None,
    left: options.Left = None,
    right: options.Right = None,
    tie: options.TieColumn = None,
    pair_weight: options.PairWeight = None,
    by_query: Annotated[bool, typer.Option("--by-query", help="Also print the value for every query.")] = False,
    gain: options.Gain = None,
    discount: options.Discount = None,
    tied: options.TiesOfList = None,
    empty: options.Empty = None,
    relevant_from: options.RelevantFrom = None,
    max_grade: options.MaxGrade = None,
    threshold: options.Threshold = None,
    trec: options.TrecRules = False,
    confidence: options.Confidence = 0.95,
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
    as_json: options.AsJSON = False,
) -> None:
    """Measure a model on a file with scores or by preferences, or a TREC run against qrels.

    Intervals allow for other queries; that of the AUC of a single query uses DeLong's variance. The conventions of
    each measure are printed below the table; --trec uses those of trec_eval and ir_measures.

    kernelrank evaluate model.kr test.txt --measure ndcg@10 --measure map

    kernelrank evaluate run.txt qrels.txt --trec

    kernelrank evaluate model.kr items.csv --pairs held_out.csv

    kernelrank evaluate model.kr patients.csv --time months --event died
    """
    answer = Answer("evaluate", as_json=as_json)
    rules = MeasureRules(gain, discount, tied, empty, relevant_from, max_grade, threshold, trec=trec)
    if pairs is not None:
        _refuse_measures(measure is not None or by_query or rules != MeasureRules())
        source = SourceFile(truth, input_format, target, query, id)
        file = PreferenceFile(pairs, winner, loser, left, right, tie, pair_weight, judge="")
        _evaluate_preferences(answer, judged, source, file, confidence)
        return
    refuse_columns(winner=winner, loser=loser, left=left, right=right, tie=tie, pair_weight=pair_weight)
    measures = rules.measures(["concordance"] if measure is None and event is not None else measure)
    target, query = survival_columns(target, query, time, event, strata)
    events: dict[str, Any] = {"event": event, "happened": happened}
    source = SourceFile(fold_part(truth, "test"), input_format, target, query, id, positive=positive, **events)
    judgement = judge(answer, judged, source)
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
    """Measure a model by a file of preferences between the items of a file, and show it.

    Parameters
    ----------
    answer : Answer
    judged : Path
        The model.
    source : SourceFile
        The items.
    file : PreferenceFile
        The preferences.
    confidence : float
        That of the interval.
    """
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
    ranker = final_step(model)
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
