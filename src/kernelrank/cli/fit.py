"""``kernelrank fit``: learn a ranking from a file."""

from __future__ import annotations

import contextlib
import gc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank import persistence
from kernelrank.cli import shared
from kernelrank.cli.shared import (
    STANDARD_STREAM,
    Answer,
    LearnerOptions,
    check_extra,
    check_file,
    check_output,
    counted,
    grouped,
    joined,
    level_facts,
    only,
    scaled,
    setting_rows,
    without,
)
from kernelrank.cli.sources import (
    NO_CHECKPOINT,
    PreferenceFile,
    SourceFile,
    command_line,
    fit_large_file,
    fold_part,
    for_model,
    load_model,
    save_model,
    scores_of,
    speaking_of,
)
from kernelrank.cli.unscored import UnscoredFile, check_unscored, fit_unscored
from kernelrank.cli.vote_effects import answer_effects

if TYPE_CHECKING:
    from kernelrank.cli.sources import LargeFile
    from kernelrank.data import Items, LinearModelFile

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
@grouped
def fit(
    *,
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
    votes: PreferenceFile,
    alpha: Annotated[
        float | None,
        shared.option("Model")(
            "Regularisation strength: larger values mean smoother models. The loss is a sum over pairs, so more pairs "
            "need a larger alpha.",
            default="1",
            callback=shared.positive_number,
        ),
    ] = None,
    levels: Annotated[
        bool,
        shared.option("Model")(
            "Also learn thresholds between the levels of the target, from held-out scores: predict writes levels."
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        shared.option("Model")(
            "For long fits to Parquet, CSV and TSV files: write what was learnt to this file every two minutes. The "
            "same command goes on from there."
        ),
    ] = None,
    unscored: UnscoredFile = None,
    learner: LearnerOptions,
    source: Annotated[SourceFile, without("groups")],
    as_json: shared.AsJSON = False,
) -> None:
    """Learn a ranking from a file and save the model.

    Only items of the same query are compared. Without queries, all items are compared with each other.

    kernelrank fit train.txt -o model.kr --alpha 10

    kernelrank fit patients.csv --target outcome --kernel rbf --scale

    kernelrank fit items.csv --pairs votes.csv

    kernelrank fit items.csv --pairs arena.csv --method bradley_terry --side-bias

    kernelrank fit patients.csv --time months --event died --strata centre

    kernelrank fit wines.csv --target stars --levels

    kernelrank fit folder/ --kernel rbf --basis 1000 --checkpoint fit.checkpoint

    kernelrank fit train.txt --unscored more.txt --method transductive
    """
    from kernelrank.errors import InvalidInputError

    answer = Answer("fit", as_json=as_json)
    source = source.with_times().at(fold_part(train, "train"))
    check_file(output, [source.path, *([] if pairs is None else [pairs])])
    learner.check_kernel()
    if unscored is not None:
        wrong = {"--pairs": pairs, "--levels": levels, "--time": source.event, "--checkpoint": checkpoint}
        learner = check_unscored(learner, [{"kernel": learner.kernel}], wrong)
    ranker = learner.estimator(alpha)
    if pairs is not None and not hasattr(ranker, "fit_pairs"):
        raise InvalidInputError(
            f"--pairs belongs to --method rankrls, ranksvm or bradley_terry; {type(ranker).__name__} needs scores"
        )
    if levels and (pairs is not None or source.event is not None):
        raise InvalidInputError("--levels needs a column of levels: remove --pairs, or --time and --event")
    preferences = votes.at(pairs)
    learner.check_votes(pairs=pairs is not None, judge=bool(votes.judge))
    if preferences is not None and learner.judge_effect is None:
        preferences = replace(preferences, judge="")
    fitted: tuple[Any, Any, Items | LargeFile] | None = None
    if unscored is not None:
        fitted = fit_unscored(source, learner, alpha, unscored, answer)
    elif pairs is None and source.event is None and not levels and source.may_be_large(any_size=checkpoint is not None):
        fitted = fit_large_file(source, learner, alpha, checkpoint, answer)
    elif checkpoint is not None:
        raise InvalidInputError(NO_CHECKPOINT)
    scaler, ranker, data = fitted or _fit_in_memory(source, learner, alpha, preferences, answer, levels=levels)
    model = joined(scaler, ranker)
    ranker = persistence.final_step(model)
    save_model(model, output, data, source, preferences=None if pairs is None else str(pairs))
    answer.add({"class": type(ranker).__name__, "items": len(data), "columns": data.n_features})
    answer.add({"solver": ranker.solver_, "iterations": ranker.n_iter_})
    counts = {"queries": "n_queries_", "idle_queries": "n_idle_queries_", "pairs": "n_pairs_"}
    answer.add({name: getattr(ranker, attribute, None) for name, attribute in counts.items()})
    answer.add(level_facts(model))
    rows = setting_rows(model, data)
    answer.table("", ("", ""), rows)
    answer_effects(answer, model)
    answer.saved(model=output)
    answer.show()


def _fit_in_memory(
    source: SourceFile,
    learner: LearnerOptions,
    alpha: float | None,
    pairs: PreferenceFile | None,
    answer: Answer,
    *,
    levels: bool,
) -> tuple[Any, Any, Items]:
    """Read all items, and return the scaling, the fitted ranker and the items."""
    from kernelrank.errors import InvalidInputError

    items = source.read(answer, needs_target=pairs is None)
    ranker = learner.of_items(items).estimator(alpha)
    if levels:
        from kernelrank.model_selection import OrdinalRanker

        if items.classes is not None:
            raise InvalidInputError("--levels needs a target of numbers: the order of named classes is not known")
        ranker = OrdinalRanker(ranker)
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


# Predict --------------------------------------------------------------------------------------------------------------
#
# ``kernelrank predict``: score the items of a file.

predict_app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@predict_app.command()
@grouped
def predict(
    *,
    model: shared.Model,
    data: Annotated[
        Path,
        typer.Argument(help="Data file; no target needed. - is standard input; a LETOR fold: its test.txt."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file. - is standard output.")] = Path(
        STANDARD_STREAM
    ),
    format: Annotated[
        Literal["scores", "trec", "csv", "parquet"],
        typer.Option(
            "--format",
            "-f",
            help="scores: one score per line. trec: a TREC run. csv, parquet: a table of qid, id and score.",
        ),
    ] = "scores",
    tag: Annotated[str, typer.Option("--tag", help="Run name (last column of a TREC run).")] = "kernelrank",
    source: Annotated[SourceFile, only("input_format", "query", "id", "no_header", "header_row", "skip_rows", "sheet")],
    as_json: shared.AsJSON = False,
) -> None:
    """Predict scores for the items of a file. Within a query, higher scores rank higher.

    A model that was fitted with --levels predicts levels; a TREC run has its scores.

    kernelrank predict model.kr test.txt > scores.txt

    kernelrank predict model.kr test.txt --format trec -o run.txt
    """
    from kernelrank.errors import InvalidInputError

    to_stdout = str(output) == STANDARD_STREAM
    if as_json and to_stdout and format != "scores":
        raise InvalidInputError("--json writes the scores itself; give --output for another format")
    if to_stdout and format == "parquet":
        raise InvalidInputError("--format parquet needs --output with the name of a file")
    answer = Answer("predict", as_json=as_json, quiet=to_stdout and not as_json)
    data = fold_part(data, "test")
    check_output(output, [model, data])
    if format == "parquet":
        check_extra("data", "pyarrow")
    loaded = load_model(model)
    source = for_model(source.at(data), loaded, needs_target=False)
    items = source.read(answer, needs_target=False)
    with speaking_of(items):
        scores = scores_of(loaded, items.X, levels=format != "trec")
    answer.fact("items", len(items))
    if as_json and to_stdout:
        answer.fact("scores", scores)
        answer.fact("queries", items.qid)
        answer.fact("ids", items.ids)
    else:
        from kernelrank.data import write_scores

        write_scores(str(output), scores, format=format, qid=items.qid, ids=items.ids, tag=tag)
        answer.fact("output", str(output))
        if not to_stdout:
            answer.line(f"{len(items):,} scores are in {output}.")
    answer.show()


# Convert --------------------------------------------------------------------------------------------------------------
#
# ``kernelrank convert``: a file of items in another format.

convert_app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@convert_app.command()
@grouped
def convert(
    *,
    source: Annotated[Path, typer.Argument(help="Data file in any supported format. - is standard input.")],
    output: Annotated[Path, typer.Argument(help="Output file; its suffix decides the format. - is standard output.")],
    to: Annotated[
        Literal["svmlight", "csv", "tsv", "parquet", "qrels"] | None,
        typer.Option("--to", help="Output format, if the suffix does not say; qrels keeps only the scores."),
    ] = None,
    reader: Annotated[
        SourceFile,
        without("time", "event", "happened", "drop_incomplete", "strata"),
    ],
    as_json: shared.AsJSON = False,
) -> None:
    """Convert a file of items to another format; a suffix such as .gz compresses it.

    A table with words or missing cells is prepared as for fit, and a note says what became of it.

    kernelrank convert train.txt train.parquet

    kernelrank convert cohort.xlsx cohort.csv --sheet Patients --header-row 2 --target outcome

    kernelrank convert test.txt test.qrels --to qrels
    """
    from kernelrank.data import write_items
    from kernelrank.data.trec import is_linear_model_file
    from kernelrank.data.writers import written_format

    to_stdout = str(output) == STANDARD_STREAM
    answer = Answer("convert", as_json=as_json, quiet=to_stdout)
    check_output(output, [source])
    if is_linear_model_file(source):
        _convert_model(answer, source, output)
        return
    if to != "qrels" and written_format(output, to) == "parquet":
        check_extra("data", "pyarrow")
    items = reader.at(source).read(answer, needs_target=to == "qrels" or bool(reader.target))
    if to == "qrels":
        _write_judgements(items, output)
        what = counted(len(items), "judgement")
    else:
        for note in write_items(items, str(output), format=to):
            answer.note(f"{output}: {note}")
        what = f"{counted(len(items), 'item')} with {counted(items.n_features, 'column')}"
    answer.fact("output", str(output))
    answer.fact("items", len(items))
    answer.fact("columns", items.n_features)
    answer.line(f"{what} {'is' if len(items) == 1 else 'are'} in {'standard output' if to_stdout else output}.")
    answer.show()


def _convert_model(answer: Answer, source: Path, output: Path) -> None:
    """Write a linear model of RankLib or SVM-rank as a model file."""
    from kernelrank.data import read_linear_model
    from kernelrank.errors import InvalidInputError

    if output.suffix != ".kr":
        raise InvalidInputError(f"{source}: Expected a name that ends with .kr for a model; got {output}.")
    linear = read_linear_model(source)
    persistence.save(_model_of(linear, source), output)
    answer.note("features are known by their numbers, from 1 on; a constant in the scores is left out")
    answer.fact("output", str(output))
    answer.fact("columns", len(linear.weights))
    answer.line(f"The {linear.program} model, with {counted(len(linear.weights), 'column')}, is in {output}.")
    answer.show()


def _model_of(linear: LinearModelFile, path: Path) -> Any:
    """Return a ranker with these weights; its record says where they come from."""
    from kernelrank import __version__
    from kernelrank.estimators import RankRLS, RankSVM
    from kernelrank.kernels import Kernel

    model = RankSVM() if linear.program == "SVM-rank" else RankRLS()
    model.n_features_in_ = len(linear.weights)
    model.kernel_ = Kernel("linear")
    model.coef_ = linear.weights
    model.solver_ = f"{linear.program}: {linear.method}"
    model.n_iter_, model.n_queries_, model.n_idle_queries_, model.n_pairs_ = 1, 0, 0, 0
    model.provenance_ = {
        "file": str(path),
        "items": 0,
        "queries": None,
        "feature_names": None,
        "first_index": 1,
        "preparation": None,
        "training_ids": None,
        "named": {},
        "command": command_line(),
        "version": __version__,
    }
    return model


def _write_judgements(items: Items, output: Path) -> None:
    """Write the scores of the items as qrels; they must be whole numbers, and the items have names."""
    import numpy as np

    from kernelrank.data import Qrels, write_qrels
    from kernelrank.errors import InvalidInputError

    if items.ids is None or items.qid is None or items.y is None:
        raise InvalidInputError(f"{items.path}: qrels need queries and the names of the items (--query, --id)")
    if np.any(items.y != np.rint(items.y)):
        row = int(np.flatnonzero(items.y != np.rint(items.y))[0])
        raise InvalidInputError(
            f"{items.path}: qrels need whole numbers, and item {row} has the score {items.y[row]:g}"
        )
    write_qrels(Qrels(items.qid, items.ids, items.y.astype(np.int64)), str(output))


# Export ---------------------------------------------------------------------------------------------------------------
#
# ``kernelrank export``: a model as a file for another program.

export_app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@export_app.command()
def export(
    model: shared.Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.", show_default=False)],
    format: Annotated[
        Literal["onnx", "elasticsearch", "opensearch", "solr", "sql", "python", "json"] | None,
        typer.Option(
            "--format",
            "-f",
            help="Output format. Default: decided by the suffix .onnx, .sql, .py or .json.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the model in the search engine. Default: the file name."),
    ] = None,
    dtype: Annotated[
        Literal["float64", "float32"], typer.Option("--dtype", help="Number type of an ONNX model.")
    ] = "float64",
    as_json: shared.AsJSON = False,
) -> None:
    """Write a model as a file for another program: ONNX, a search engine, SQL, Python or JSON.

    kernelrank export model.kr -o model.onnx

    kernelrank export model.kr --format solr -o model.json
    """
    from kernelrank.exports import export as write

    answer = Answer("export", as_json=as_json)
    check_output(output, [model])
    loaded = load_model(model)
    for note in write(loaded, output, format, name=name, dtype=dtype):
        answer.note(f"{output}: {note}")
    answer.fact("output", str(output))
    kind, size = type(persistence.final_step(loaded)).__name__, output.stat().st_size
    answer.fact("bytes", size)
    answer.line(f"The {kind} of {model} is in {output}: {size:,} bytes.")
    answer.show()


# Serve ----------------------------------------------------------------------------------------------------------------
#
# ``kernelrank serve``: models as an HTTP service.

serve_app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@serve_app.command()
def serve(
    models: Annotated[Path, typer.Argument(help="Model file, or folder of model files.", show_default=False)],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    max_body: Annotated[float, typer.Option("--max-body", min=0.001, help="Maximum size of a request, in MB.")] = 10.0,
    max_items: Annotated[
        int, typer.Option("--max-items", min=1, help="Maximum number of items in a request.")
    ] = 100_000,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Time limit of a request, in seconds.")] = 10.0,
    reload: Annotated[
        float, typer.Option("--reload", min=0, help="How often to look for new model files, in seconds; 0: never.")
    ] = 1.0,
    as_json: shared.AsJSON = False,
) -> None:
    """Rank over HTTP: POST /rank and /compare, GET /model, /health and /metrics; / describes them.

    A model file that is replaced is read again; if it is damaged, the old model stays. The log goes to standard error:
    a line of JSON for each request. After SIGTERM or Ctrl-C the service completes open requests and stops.

    kernelrank serve model.kr

    kernelrank serve models --port 8080
    """
    check_extra("serve", "starlette", "uvicorn", "orjson")

    from kernelrank.serving import ServedModels, ServiceLimits, create_app
    from kernelrank.serving.service import Server, log_as_json

    answer = Answer("serve", as_json=as_json)
    log_as_json()
    served = ServedModels(models)
    limits = ServiceLimits(int(max_body * 1e6), timeout, max_items)
    server = Server.of(create_app(served, limits=limits, reload_seconds=reload), host, port)
    with contextlib.closing(server.listen()) as listening:
        where = f"http://{host}:{listening.getsockname()[1]}"
        if host not in ("127.0.0.1", "::1", "localhost"):
            answer.note(f"{host} can be reached from other machines, and the service has no authentication")
        answer.fact("address", where)
        answer.fact("models", served.names())
        answer.line(f"Serving {', '.join(served.names())} at {where}; Ctrl-C ends it.")
        answer.show()
        # What was imported stays: collections of garbage need not look at it, neither in requests nor at the end.
        gc.collect()
        gc.freeze()
        server.run([listening])
