"""``kernelrank export``: a model as a file for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.model_file import load_model
from kernelrank.cli.output_file import check_output
from kernelrank.persistence.provenance import final_step

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def export(
    model: options.Model,
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
    as_json: options.AsJSON = False,
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
    answer.fact("bytes", output.stat().st_size)
    answer.line(f"The {type(final_step(loaded)).__name__} of {model} is in {output}: {output.stat().st_size:,} bytes.")
    answer.show()
