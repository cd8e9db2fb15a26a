"""``kernelrank convert``: a file of items in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.model_file import command_line
from kernelrank.cli.model_rows import counted
from kernelrank.cli.output_file import STANDARD_STREAM, check_extra, check_output
from kernelrank.cli.sources import SourceFile

if TYPE_CHECKING:
    from kernelrank.data import Items, LinearModelFile

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Data file in any supported format. - is standard input.")],
    output: Annotated[Path, typer.Argument(help="Output file; its suffix decides the format. - is standard output.")],
    to: Annotated[
        Literal["svmlight", "csv", "tsv", "parquet", "qrels"] | None,
        typer.Option("--to", help="Output format, if the suffix does not say; qrels keeps only the scores."),
    ] = None,
    input_format: options.InputFormat = None,
    target: options.Target = None,
    query: options.Query = None,
    id: options.Id = None,
    weight: options.Weight = None,
    groups: options.Groups = None,
    positive: options.Positive = None,
    features: options.Features = None,
    as_json: options.AsJSON = False,
) -> None:
    """Convert a file of items to another format; a suffix such as .gz compresses it.

    kernelrank convert train.txt train.parquet

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
    reader = SourceFile(source, input_format, target, query, id, weight, groups, features, positive, strict=True)
    items = reader.read(answer, needs_target=to == "qrels")
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
    from kernelrank.persistence.model_files import save

    if output.suffix != ".kr":
        raise InvalidInputError(f"{source}: Expected a name that ends with .kr for a model; got {output}.")
    linear = read_linear_model(source)
    save(_model_of(linear, source), output)
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
