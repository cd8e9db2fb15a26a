"""``kernelrank predict``: score the items of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.model_file import for_model, load_model
from kernelrank.cli.output_file import STANDARD_STREAM, check_extra, check_output
from kernelrank.cli.scoring import scores_of
from kernelrank.cli.sources import SourceFile, fold_part, speaking_of

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def predict(
    model: options.Model,
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
    input_format: options.InputFormat = None,
    query: options.Query = None,
    id: options.Id = None,
    as_json: options.AsJSON = False,
) -> None:
    """Predict scores for the items of a file. Within a query, higher scores rank higher.

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
    source = for_model(SourceFile(data, input_format, None, query, id), loaded, needs_target=False)
    items = source.read(answer, needs_target=False)
    with speaking_of(items):
        scores = scores_of(loaded, items.X)
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
