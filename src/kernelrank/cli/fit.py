"""``kernelrank fit``: learn a ranking from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.learner import LearnerOptions, check_kernel_options, joined, scaled
from kernelrank.cli.model_file import save_model
from kernelrank.cli.model_rows import setting_rows
from kernelrank.cli.output_file import check_file
from kernelrank.cli.preference_file import PreferenceFile, refuse_columns
from kernelrank.cli.sources import SourceFile, fold_part, speaking_of, survival_columns
from kernelrank.cli.vote_effects import answer_effects

if TYPE_CHECKING:
    from kernelrank.cli.large_file import LargeFile
    from kernelrank.data import Items

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def fit(
    train: Annotated[
        Path,
        typer.Argument(
            help="Training file: one row per item, with scores. - is standard input. A LETOR fold: its train.txt."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("model.kr"),
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help="File of preferences (A is better than B) to learn from instead of scores."),
    ] = None,
    winner: options.Winner = None,
    loser: options.Loser = None,
    left: options.Left = None,
    right: options.Right = None,
    tie: options.TieColumn = None,
    judge: options.Judge = None,
    pair_weight: options.PairWeight = None,
    method: options.Method = "rankrls",
    alpha: options.Alpha = None,
    kernel: options.KernelName = "linear",
    gamma: options.Gamma = None,
    degree: options.Degree = None,
    coef0: options.Coef0 = None,
    cost: options.Cost = None,
    loss: options.Loss = None,
    ties: options.Ties = None,
    side_bias: options.SideBias = False,
    judge_effect: options.JudgeEffect = None,
    query_weight: options.QueryWeight = None,
    basis: options.Basis = None,
    scale: options.Scale = False,
    input_format: options.InputFormat = None,
    target: options.Target = None,
    time: options.Time = None,
    event: options.Event = None,
    happened: options.Happened = None,
    strata: options.Strata = None,
    positive: options.Positive = None,
    query: options.Query = None,
    id: options.Id = None,
    weight: options.Weight = None,
    features: options.Features = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "median",
    missing_indicator: options.MissingIndicator = False,
    ordinal: options.Ordinal = None,
    seed: options.Seed = 0,
    as_json: options.AsJSON = False,
) -> None:
    """Learn a ranking from a file and save the model.

    Only items of the same query are compared. Without queries, all items are compared with each other.

    kernelrank fit train.txt -o model.kr --alpha 10

    kernelrank fit patients.csv --target outcome --kernel rbf --scale

    kernelrank fit items.csv --pairs votes.csv

    kernelrank fit items.csv --pairs arena.csv --method bradley_terry --side-bias

    kernelrank fit patients.csv --time months --event died --strata centre
    """
    from kernelrank.errors import InvalidInputError

    answer = Answer("fit", as_json=as_json)
    train = fold_part(train, "train")
    check_file(output, [train, *([] if pairs is None else [pairs])])
    check_kernel_options([kernel], gamma=gamma, degree=degree, coef0=coef0)
    width = None
    if gamma is not None:
        from kernelrank.cli.number_grid import read_gamma

        width = read_gamma(gamma)
    learner = LearnerOptions(
        method,
        kernel,
        width,
        degree,
        coef0,
        cost,
        loss,
        ties,
        query_weight,
        basis,
        side_bias or None,
        judge_effect,
        scale=scale,
        seed=seed,
    )
    ranker = learner.estimator(alpha)
    target, query = survival_columns(target, query, time, event, strata)
    source = SourceFile(
        train, input_format, target, query, id, weight, None, features, positive, exclude=exclude
    ).preparing(missing, missing_indicator, ordinal, event=event, happened=happened)
    if pairs is not None and not hasattr(ranker, "fit_pairs"):
        raise InvalidInputError(
            f"--pairs belongs to --method rankrls, ranksvm or bradley_terry; {type(ranker).__name__} needs scores"
        )
    preferences = None
    if pairs is None:
        refuse_columns(
            winner=winner, loser=loser, left=left, right=right, tie=tie, judge=judge, pair_weight=pair_weight
        )
    learner.check_votes(pairs=pairs is not None, judge=bool(judge))
    if pairs is not None:
        who = "" if judge_effect is None else judge
        preferences = PreferenceFile(pairs, winner, loser, left, right, tie, pair_weight, who)
    fitted: tuple[Any, Any, Items | LargeFile] | None = None
    if pairs is None and event is None and source.may_be_large():
        from kernelrank.cli.large_file import fit_large_file

        fitted = fit_large_file(source, learner, alpha, answer)
    scaler, ranker, data = fitted or _fit_in_memory(source, learner, alpha, preferences, answer)
    model = joined(scaler, ranker)
    save_model(model, output, data, source, preferences=None if pairs is None else str(pairs))
    answer.fact("model", str(output))
    answer.fact("class", type(ranker).__name__)
    answer.fact("items", len(data))
    answer.fact("columns", data.n_features)
    answer.fact("queries", getattr(ranker, "n_queries_", None))
    answer.fact("idle_queries", getattr(ranker, "n_idle_queries_", None))
    answer.fact("pairs", getattr(ranker, "n_pairs_", None))
    answer.fact("solver", ranker.solver_)
    answer.fact("iterations", ranker.n_iter_)
    answer.table("", ("", ""), setting_rows(model, data))
    answer_effects(answer, model)
    answer.line(f"The model is in {output}.")
    answer.show()


def _fit_in_memory(
    source: SourceFile, learner: LearnerOptions, alpha: float | None, pairs: PreferenceFile | None, answer: Answer
) -> tuple[Any, Any, Items]:
    """Read all items, and return the scaling, the fitted ranker and the items."""
    items = source.read(answer, needs_target=pairs is None)
    ranker = learner.of_items(items).estimator(alpha)
    given = None if pairs is None else _preferences(learner, items, pairs, answer)
    scaler = learner.scaler(items.X)
    X = scaled(scaler, items.X)
    with answer.noting_warnings(), speaking_of(items):
        if given is None:
            ranker.fit(X, items.y, qid=items.qid, sample_weight=items.weight)
        else:
            ranker.fit_pairs(X, **given)
    return scaler, ranker, items


def _preferences(learner: LearnerOptions, items: Items, file: PreferenceFile, answer: Answer) -> dict[str, Any]:
    """Return what `fit_pairs` takes, from a file of preferences."""
    found = file.between(items, answer)
    if learner.method == "rankrls":
        return {"pairs": found.pairs, "weight": found.weight, "magnitude": found.magnitude}
    if learner.method == "bradley_terry":
        return {**file.votes(found, "bradley_terry"), **file.effects(found, learner)}
    return file.votes(file.without_ties(found, answer, "which --method ranksvm does not support"), "ranksvm")
