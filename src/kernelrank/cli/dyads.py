"""``kernelrank dyads``: rank the objects of one table for each object of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kernelrank.base.progress import working
from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.dyads_evaluation import OUTER, Measured, measure_settings, measured, setting_facts, setting_table
from kernelrank.cli.dyads_files import DyadFiles, Dyads
from kernelrank.cli.dyads_learner import (
    SETTINGS,
    Alphas,
    Columns,
    DyadLearner,
    Folds,
    GammaColumns,
    GammaRows,
    KernelColumns,
    KernelRows,
    Method,
    Ranked,
    Relation,
    Rows,
    Scores,
    Setting,
    Similarity,
    folds_of,
    strengths,
)
from kernelrank.cli.dyads_prediction import load_dyad_model, objects, save_dyad_model, write_ranking
from kernelrank.cli.model_file import command_line
from kernelrank.cli.model_rows import counted
from kernelrank.cli.number_grid import read_alphas
from kernelrank.cli.output_file import STANDARD_STREAM, check_file, check_output, check_page

__all__ = ["app"]

app = typer.Typer(
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Rank the objects of one table for each object of another.",
    add_completion=False,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")]


@app.command()
def fit(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    output: Output = Path("dyads.kr"),
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            help="Regularisation strength; with --method two-step, of the rows.",
            callback=options.positive_number,
        ),
    ] = 1.0,
    alpha_columns: Annotated[
        float | None,
        typer.Option(
            "--alpha-columns",
            help="Regularisation strength of the columns, for --method two-step. Default: the value of --alpha.",
            callback=options.positive_number,
            show_default=False,
        ),
    ] = None,
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Fit a model with a given regularisation strength, and save it.

    kernelrank dyads fit --rows drugs.csv --columns targets.csv --scores scores.csv --alpha 10 -o model.kr
    """
    answer = Answer("dyads fit", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity)
    learner.check(columns)
    check_file(output, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named(), working("fitting"):
        model = learner.make(alpha, alpha_columns).fit(dyads.rows.values, dyads.column_values, dyads.Y)
    save_dyad_model(model, output, dyads, files)
    _describe(answer, model, dyads)
    _saved(answer, output)
    answer.show()


@app.command()
def tune(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    output: Output = Path("dyads.kr"),
    setting: Setting = "cell",
    alphas: Alphas = "auto",
    cv: Folds = None,
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    report: options.Report = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Choose alpha by exact hold-out for one setting, and save the model.

    The best alpha depends on what will be new when the model is used.

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --setting row

    kernelrank dyads tune --rows a.csv --columns b.csv --scores y.csv --cv 5
    """
    answer = Answer("dyads tune", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity, seed)
    learner.check(columns)
    check_file(output, files.paths)
    check_page(report, [*files.paths, output])
    dyads = files.read(answer)
    model = learner.search(alphas, setting, folds_of(cv, dyads))
    with answer.noting_warnings(), files.named(), working("holding out"):
        model.fit(dyads.rows.values, dyads.column_values, dyads.Y)
    concordance = measured(dyads, model.holdout_scores_, learner, confidence)
    save_dyad_model(model, output, dyads, files)
    _describe(answer, model, dyads)
    results = {name: values for name, values in model.cv_results_.items() if name != "params"}
    answer.fact("setting", setting)
    answer.fact("tried", results)
    answer.fact("concordance", setting_facts(concordance))
    n_tried = len(model.cv_results_["params"])
    low, high = concordance.interval
    answer.line(
        f"Setting {setting}, what is new: {SETTINGS[setting]}. Held-out {measure_name(learner)} "
        f"{concordance.value:.3f}, {100 * confidence:.4g}% interval {low:.3f} to {high:.3f}. It is the best "
        f"of {n_tried}, and therefore a little too high; dyads evaluate --nested measures without that."
    )
    _saved(answer, output)
    _report(answer, report, {setting: (concordance, model)}, dyads, f"Setting {setting} of {scores}")
    answer.show()


@app.command()
def predict(
    model: options.Model,
    rows: Rows,
    columns: Columns = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file. - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    format: Annotated[
        Literal["list", "matrix"],
        typer.Option(
            "--format", "-f", help="list: one line per row, column and score, best first. matrix: a table with names."
        ),
    ] = "list",
    top: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, help="Number of best objects to list for each object. Default: all.", show_default=False
        ),
    ] = None,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Score every dyad of some rows and some columns, known or new ones.

    With --similarity in training, a table here has the similarities of its objects (rows) to the training objects
    (columns).

    kernelrank dyads predict model.kr --rows new_drugs.csv --columns targets.csv --top 5
    """
    from kernelrank.errors import InvalidInputError

    to_stdout = str(output) == STANDARD_STREAM
    if format == "matrix" and top is not None:
        raise InvalidInputError("--top is for --format list: a matrix holds all scores")
    answer = Answer("dyads predict", as_json=as_json, quiet=to_stdout and not as_json)
    check_output(output, [model, rows, *([] if columns is None else [columns])])
    loaded = load_dyad_model(model)
    of_rows, of_columns = objects(loaded, rows, columns, answer, input_format)
    found = loaded.predict(of_rows.values, None if columns is None else of_columns.values)
    answer.fact("rows", len(of_rows))
    answer.fact("columns", len(of_columns))
    if as_json and to_stdout:
        answer.fact("row_names", of_rows.names)
        answer.fact("column_names", of_columns.names)
        answer.fact("scores", found)
    else:
        n_written = write_ranking(output, found, of_rows, of_columns, loaded.rank, format=format, top=top)
        answer.fact("output", str(output))
        if not to_stdout:
            answer.line(f"{n_written:,} scores are in {output}.")
    answer.show()


@app.command()
def evaluate(
    rows: Rows,
    scores: Scores,
    columns: Columns = None,
    alphas: Alphas = "auto",
    cv: Folds = None,
    similarity: Similarity = None,
    method: Method = "rankrls",
    rank: Ranked = "columns",
    relation: Relation = None,
    kernel_rows: KernelRows = None,
    kernel_columns: KernelColumns = None,
    gamma_rows: GammaRows = None,
    gamma_columns: GammaColumns = None,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help=f"Choose alpha without the held-out scores (nested cross-validation), in {OUTER} folds; otherwise "
            "by the scores that are measured.",
        ),
    ] = False,
    report: options.Report = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    input_format: options.InputFormat = None,
    as_json: options.AsJSON = False,
) -> None:
    """Measure the four settings: a new score, a new row, a new column, both new.

    Every dyad is predicted by a model trained without its score, its row, its column, or both.

    kernelrank dyads evaluate --rows a.csv --columns b.csv --scores y.csv

    kernelrank dyads evaluate --rows a.csv --relation symmetric --scores y.csv
    """
    answer = Answer("dyads evaluate", as_json=as_json)
    files = DyadFiles(rows, columns, scores, similarity, input_format)
    kernels, gammas = (kernel_rows, kernel_columns), (gamma_rows, gamma_columns)
    learner = DyadLearner(method, rank, relation, kernels, gammas, similarity, seed)
    learner.check(columns)
    read_alphas(alphas)
    check_page(report, files.paths)
    dyads = files.read(answer)
    with answer.noting_warnings(), files.named():
        found = measure_settings(dyads, learner, alphas, folds_of(cv, dyads), confidence, nested=nested)
    setting_table(answer, found, dyads, learner, nested=nested)
    _report(answer, report, found, dyads, f"Four settings of {scores}")
    answer.show()


def _report(answer: Answer, report: Path | None, found: Measured, dyads: Dyads, title: str) -> None:
    """Write the page of one setting or more, if requested."""
    answer.fact("report", None if report is None else str(report))
    if report is None:
        return
    from kernelrank.report import dyads_report

    with working("drawing the page"):
        dyads_report(
            {setting: concordance for setting, (concordance, _) in found.items()},
            {setting: strengths(model) for setting, (_, model) in found.items()},
            model=next(iter(found.values()))[1],
            shape=(len(dyads.rows), len(dyads.columns)),
            title=title,
            command=command_line(),
            notes=answer.notes,
        ).save(report)
    answer.line(f"The report is in {report}.")


def measure_name(learner: DyadLearner) -> str:
    """Return what a concordance is called."""
    return "concordance" if learner.per == "overall" else f"concordance of each {learner.per}"


def _describe(answer: Answer, model: Any, dyads: Dyads) -> None:
    chosen = strengths(model)
    answer.fact("data", str(dyads.scores))
    answer.fact("rows", len(dyads.rows))
    answer.fact("columns", len(dyads.columns))
    answer.fact("scores", dyads.n_known)
    answer.fact("learner", type(model).__name__)
    answer.fact("alpha", chosen)
    answer.fact("solver", model.solver_)
    sizes = f"{counted(len(dyads.rows), 'row')}, {counted(len(dyads.columns), 'column')}"
    share = 100 * dyads.n_known / dyads.Y.size
    sheet = [
        ("model", type(model).__name__),
        *((name.replace("_", " "), f"{value:.6g}") for name, value in chosen.items()),
        ("data", f"{sizes}, {counted(dyads.n_known, 'score')} ({share:.3g}% of the dyads) of {dyads.scores}"),
        ("solved by", model.solver_),
    ]
    answer.table("", ("", ""), sheet)


def _saved(answer: Answer, output: Path) -> None:
    answer.fact("model", str(output))
    answer.line(f"The model is in {output}.")
