"""``kernelrank tune``: choose alpha and kernel parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.learner import REFITTED, LearnerOptions, check_kernel_options, joined, scaled
from kernelrank.cli.measuring import DEFAULT_MEASURES, MeasureRules
from kernelrank.cli.model_file import for_model, save_model
from kernelrank.cli.model_rows import counted, setting_rows
from kernelrank.cli.number_grid import read_alphas, read_gammas, read_grid
from kernelrank.cli.optional_value import ScaleCommand
from kernelrank.cli.output_file import check_file, check_page
from kernelrank.cli.preference_file import PreferenceFile, refuse_columns
from kernelrank.cli.preference_tuning import tune_preferences
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.searches import Search, kernel_settings, search_on_file
from kernelrank.cli.sources import SourceFile, fold_file, fold_part, folds_in, is_fold, speaking_of, survival_columns
from kernelrank.cli.survival_tuning import answer_nested_times, for_times, nested_times, times_page
from kernelrank.cli.tuning_answer import (
    answer_candidates,
    answer_tests,
    fold_page,
    parameter_names,
    shown_or_dash,
    shown_value,
    tuning_page,
)
from kernelrank.cli.tuning_plan import Plan

if TYPE_CHECKING:
    from kernelrank.data import Items

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command(cls=ScaleCommand)
def tune(
    train: Annotated[
        Path,
        typer.Argument(
            help="Training file, a LETOR fold (tuned on its vali.txt), or a folder of folds (each is tuned)."
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Model file to write.")] = None,
    alphas: Annotated[
        str,
        typer.Option(
            "--alphas",
            help="Values of alpha to try: a list 0.1,1,10, a range 2^-15:2^15 or 0.01:1000:6, or auto (a grid that "
            "fits the scale of the data).",
        ),
    ] = "auto",
    kernels: Annotated[str, typer.Option("--kernels", help="Kernels to try, separated by commas.")] = "linear",
    gammas: Annotated[
        str | None,
        typer.Option(
            "--gammas", help="Values of gamma to try: numbers such as 0.01,0.1,1, or the rules scale and median."
        ),
    ] = None,
    degrees: Annotated[str | None, typer.Option("--degrees", help="Degrees of the polynomial kernel to try.")] = None,
    measure: Annotated[
        str, typer.Option("--scoring", "--measure", "-m", help="Measure to choose alpha by.")
    ] = "pairwise_accuracy",
    cv: Annotated[
        str,
        typer.Option(
            "--cv", help="Cross-validation: leave_query_out, leave_pair_out, leave_one_out, or a number of folds."
        ),
    ] = "auto",
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="Also run nested cross-validation: alpha is chosen without the query that is measured, or with --time "
            "without each of five folds.",
        ),
    ] = False,
    report: options.Report = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            help="File of preferences (A is better than B) to learn from instead of scores. Judges, if there are any, "
            "are held out one at a time.",
        ),
    ] = None,
    winner: options.Winner = None,
    loser: options.Loser = None,
    left: options.Left = None,
    right: options.Right = None,
    tie: options.TieColumn = None,
    judge: options.Judge = None,
    pair_weight: options.PairWeight = None,
    method: options.Method = "rankrls",
    coef0: options.Coef0 = None,
    cost: options.Cost = None,
    loss: options.Loss = None,
    ties: options.Ties = None,
    side_bias: options.SideBias = False,
    judge_effect: options.JudgeEffect = None,
    query_weight: options.QueryWeight = None,
    basis: options.Basis = None,
    scale: Annotated[
        Literal["columns", "query"] | None,
        typer.Option(
            "--scale",
            help="Standardise the columns (--scale alone does this too; the scaler is saved with the model), or scale "
            "them to 0 to 1 inside each query, as for LETOR.",
            rich_help_panel=options.LEARNER,
            show_default=False,
        ),
    ] = None,
    discount: options.Discount = None,
    empty: options.Empty = None,
    relevant_from: options.RelevantFrom = None,
    trec: options.TrecRules = False,
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
    groups: options.Groups = None,
    features: options.Features = None,
    exclude: options.Exclude = None,
    missing: options.Missing = "median",
    missing_indicator: options.MissingIndicator = False,
    ordinal: options.Ordinal = None,
    seed: options.Seed = 0,
    as_json: options.AsJSON = False,
) -> None:
    """Choose alpha and kernel parameters by cross-validation, and save the model.

    rankrls and rls hold out every query (or every pair, if there are no queries) exactly, for all alphas at the
    cost of about one training; ranksvm and bradley_terry refit folds. In a LETOR fold the model is chosen on
    vali.txt and measured on test.txt; a folder of folds gives the mean over all of them, and intervals over all test
    queries.

    kernelrank tune train.txt -o model.kr --report report.html

    kernelrank tune patients.csv --target outcome --kernels linear,rbf --scale

    kernelrank tune train.txt --nested

    kernelrank tune OHSUMED/ --measure ndcg@10

    kernelrank tune OHSUMED/ --scale query --measure map --report folds.html

    kernelrank tune items.csv --pairs votes.csv -o model.kr

    kernelrank tune patients.csv --time months --event died --nested
    """
    from kernelrank.errors import InvalidInputError

    answer = Answer("tune", as_json=as_json)
    check_file(output, [train])
    check_page(report, [train])
    if output is not None and report is not None and output.resolve() == report.resolve():
        raise InvalidInputError(f"{output}: is both the model and the report: give two different file names")
    target, query = survival_columns(target, query, time, event, strata)
    if event is not None:
        measure, cv = for_times(measure, cv, method, strata, pairs=pairs is not None)
    rules = MeasureRules(discount=discount, empty=empty, relevant_from=relevant_from, trec=trec)
    measures = list(dict.fromkeys(rules.measures([measure, *DEFAULT_MEASURES])))
    if scale == "query" and (output is not None or pairs is not None):
        raise InvalidInputError(
            "Expected --scale query without --output and --pairs; got one of them. A model cannot scale new items by "
            "their query: scale the file first to save a model."
        )
    names = [name.strip() for name in kernels.split(",")]
    check_kernel_options(names, gammas=gammas, degrees=degrees, coef0=coef0)
    plan = Plan(
        LearnerOptions(
            method,
            coef0=coef0,
            cost=cost,
            loss=loss,
            ties=ties,
            query_weight=query_weight,
            basis=basis,
            side_bias=side_bias or None,
            judge_effect=judge_effect,
            scale=scale == "columns",
            seed=seed,
        ),
        read_alphas(alphas),
        kernel_settings(
            names,
            read_gammas(gammas),
            [] if degrees is None else read_grid(degrees, "--degrees"),
        ),
        rules,
        measures,
        measure,
        int(cv) if cv.isdecimal() else cv,
        scale == "query",
    )
    plan.learner.parameters()
    if pairs is None:
        refuse_columns(
            winner=winner, loser=loser, left=left, right=right, tie=tie, judge=judge, pair_weight=pair_weight
        )
    plan.learner.check_votes(pairs=pairs is not None, judge=False)
    source = SourceFile(
        train, input_format, target, query, id, weight, groups, features, positive, exclude=exclude
    ).preparing(missing, missing_indicator, ordinal, event=event, happened=happened)
    if pairs is not None:
        if nested or report is not None or cv != "auto" or measure != "pairwise_accuracy":
            raise InvalidInputError(
                "--pairs is evaluated on held-out preferences: remove --cv, --measure, --nested and --report"
            )
        file = PreferenceFile(pairs, winner, loser, left, right, tie, pair_weight, judge)
        found = tune_preferences(answer, plan.learner, plan.alphas, plan.settings, source, file, output)
        answer_candidates(answer, found)
        answer.fact("model", None if output is None else str(output))
        answer.line("No model was saved; --output saves it." if output is None else f"The model is in {output}.")
        answer.show()
        return
    _tune_files(answer, plan, source, output, report, nested=nested)
    answer.show()


def _tune_files(
    answer: Answer, plan: Plan, source: SourceFile, output: Path | None, report: Path | None, *, nested: bool
) -> None:
    """Choose on one file, or in every fold of a folder."""
    from kernelrank.errors import InvalidInputError

    folds = folds_in(source.path)
    if nested and (folds or plan.learner.method in REFITTED or (isinstance(plan.cv, int) and source.event is None)):
        raise InvalidInputError(
            "--nested needs --method rankrls or rls and one data file, with leave-query-out, leave-pair-out or "
            "leave-one-out; LETOR folds have their own test set"
        )
    if folds and not is_fold(source.path):
        if output is not None:
            raise InvalidInputError(
                f"{source.path}: a folder of folds gives one model per fold: give one fold to save its model"
            )
        _tune_folds(answer, plan, source, folds, report)
    else:
        _tune_one(answer, plan, source, output, report, nested=nested)


def _tune_one(
    answer: Answer, plan: Plan, source: SourceFile, output: Path | None, report: Path | None, *, nested: bool
) -> None:
    """Choose on one file or one fold."""
    inside: Any = None
    if is_fold(source.path):
        found, items, model, test = _tune_fold(answer, plan, source)
    else:
        items, test = plan.scaled(source.at(fold_part(source.path, "train")).read_groups(answer)), None
        scaler = plan.learner.scaler(items.X)
        if items.groups is not None and items.qid is None and plan.cv in ("leave_pair_out", "leave_one_out"):
            answer.note(f"--cv {plan.cv} ignores groups; a number of folds keeps groups together")
        with answer.noting_warnings(), speaking_of(items):
            found = plan.search(scaled(scaler, items.X), items)
            if source.event is not None and (nested or report is not None):
                inside = nested_times(found.model, scaled(scaler, items.X), items, plan.learner.seed)
            elif nested:
                inside = plan.nested(found, scaled(scaler, items.X), items)
        model = joined(scaler, found.model)
    page = None
    if report is not None:
        timed = source.event is not None and test is None
        page = (
            times_page(answer, inside, found.model, items, source.target or "time")
            if timed
            else tuning_page(answer, found, model, items, test, plan)
        )
    if output is not None:
        save_model(model, output, items, source, chosen=found.how, candidates=len(found.candidates))
    if report is not None and page is not None:
        page.save(report)
    answer.fact("data", str(items.path))
    answer.fact("held_out", found.how)
    answer.fact("measure", found.measure)
    answer.table("Chosen", ("", ""), setting_rows(model, items))
    answer_candidates(answer, found)
    if source.event is not None and inside is not None:
        answer_nested_times(answer, inside)
    elif isinstance(inside, float):
        answer.fact("nested", {"measure": "pairwise accuracy", "mean": inside})
        answer.line(f"Nested, alpha chosen without each pair: {inside:.4f} of the pairs in the right order.")
    elif inside is not None:
        what = "query" if items.qid is not None else "item"
        title = f"Nested: alpha chosen without each {what}"
        answer_tests(answer, plan, title, [(str(items.path), items, inside)], name="nested")
    if test is not None:
        answer.fact("test", plan.value(model, test))
        answer_tests(answer, plan, f"Test queries of {test.path}", [(items.path, test, scores_of(model, test.X))])
    answer.fact("model", None if output is None else str(output))
    answer.fact("report", None if report is None else str(report))
    answer.line("No model was saved; --output saves it." if output is None else f"The model is in {output}.")
    if report is not None:
        answer.line(f"The report is in {report}.")


def _tune_fold(answer: Answer, plan: Plan, source: SourceFile) -> tuple[Search, Items, Any, Items | None]:
    """Choose on the vali.txt of a fold; without one, by holding out from its train.txt."""
    fold = source.path
    items = plan.scaled(source.at(fold_part(fold, "train")).read_groups(answer))
    scaler = plan.learner.scaler(items.X)
    X = scaled(scaler, items.X)
    with answer.noting_warnings(), speaking_of(items):
        vali = fold_file(fold, "vali")
        if vali is not None:
            found = _search_on_vali(answer, plan, source.at(vali), items, scaler)
        else:
            found = plan.search(X, items)
    model = joined(scaler, found.model)
    test, file = None, fold_file(fold, "test")
    if file is not None:
        test = plan.scaled(for_model(replace(source.at(file), preparation=items.preparation), model).read(answer))
    return found, items, model, test


def _search_on_vali(answer: Answer, plan: Plan, source: SourceFile, items: Items, scaler: Any) -> Search:
    vali = plan.scaled(replace(source, n_features=items.n_features, preparation=items.preparation).read(answer))
    X_vali = scaled(scaler, vali.X)

    def score(model: Any) -> float:
        return plan.sign * plan.value(model, vali, X_vali)

    return search_on_file(
        plan.learner,
        scaled(scaler, items.X),
        items,
        plan.alphas,
        plan.settings,
        name=source.path.name,
        measure=plan.measure,
        score=score,
    )


def _tune_folds(answer: Answer, plan: Plan, source: SourceFile, folds: list[Path], report: Path | None) -> None:
    """Choose in every fold of a folder, and average what the test sets say."""
    import numpy as np

    from kernelrank.base.progress import track

    found, chosen, tests = [], [], []
    for fold in track(folds, len(folds), "folds"):
        search, _, model, test = _tune_fold(answer, plan, source.at(fold))
        value = None
        if test is not None:
            value = plan.value(model, test)
            tests.append((fold.name, test, scores_of(model, test.X)))
        chosen.append(search.best)
        found.append({"fold": fold.name, **search.best, "how": search.how, "test": value})
    answer.fact("measure", plan.measure.name)
    answer.fact("folds", found)
    tested = [one["test"] for one in found if one["test"] is not None]
    columns = parameter_names(chosen)
    rows = [
        [
            one["fold"],
            *(shown_value(one.get(name)) for name in columns),
            f"{one['score']:.4f}",
            shown_or_dash(one["test"]),
        ]
        for one in found
    ]
    held = found[0]["how"]
    answer.table(plan.rules.label_of(plan.measure), ("fold", *columns, held, "test.txt"), rows)
    if tested:
        answer.fact("mean", float(np.mean(tested)))
        answer.line(f"Mean over the test sets of {len(tested)} folds: {np.mean(tested):.4f}")
        answer_tests(answer, plan, f"Test queries of {counted(len(tested), 'fold')} together", tests)
    if report is not None:
        fold_page(answer, plan, source, found, tests).save(report)
        answer.fact("report", str(report))
        answer.line(f"The report is in {report}.")
