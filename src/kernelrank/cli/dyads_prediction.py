"""Models of dyads as files, and the rankings that they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.dyads_files import DyadFiles, Dyads, read_side
from kernelrank.cli.model_file import command_line
from kernelrank.persistence.provenance import provenance

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.cli.answer import Answer
    from kernelrank.data.named_tables import NamedTable
    from kernelrank.dyads.estimators import DyadicLearner

__all__ = ["load_dyad_model", "objects", "save_dyad_model", "write_ranking"]


def save_dyad_model(model: DyadicLearner, path: Path, dyads: Dyads, files: DyadFiles) -> None:
    """Write a model with the names that predictions need, atomically."""
    from kernelrank import __version__
    from kernelrank.persistence.model_files import save

    def side(name: str, table: NamedTable) -> dict[str, Any]:
        return {
            "file": table.path,
            "names": list(table.names),
            "columns": list(table.columns),
            "similarity": files.given(name),
            "preparation": None if table.preparation is None else table.preparation.as_data(),
        }

    model.provenance_ = {
        "rows": side("rows", dyads.rows),
        "columns": side("columns", dyads.columns),
        "scores": str(dyads.scores),
        "command": command_line(),
        "version": __version__,
    }
    save(model, path)


def load_dyad_model(path: Path) -> Any:
    """Load a model file; raise an error if the model is not for dyads."""
    from kernelrank.dyads.estimators import DyadicLearner
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence.model_files import load

    model = load(path)
    if not isinstance(model, DyadicLearner):
        raise InvalidInputError(f"{path}: expected a model of kernelrank dyads; got a {type(model).__name__}")
    return model


def objects(
    model: DyadicLearner, rows: Path, columns: Path | None, answer: Answer, format: str | None
) -> tuple[NamedTable, NamedTable]:
    """Read the objects to predict for, as the model expects them."""
    from kernelrank.errors import InvalidInputError

    known = provenance(model)
    if "rows" not in known:
        raise InvalidInputError("the model was saved in Python without column names: use its predict method in Python")
    if columns is None and model.relation is None:
        raise InvalidInputError("--columns is missing: the model was fitted to two sets of objects")
    of_rows = read_side(rows, known["rows"], answer, format)
    of_columns = of_rows if columns is None else read_side(columns, known["columns"], answer, format)
    return of_rows, of_columns


def write_ranking(
    output: Path,
    scores: Float,
    rows: NamedTable,
    columns: NamedTable,
    ranked: str | None,
    *,
    format: str,
    top: int | None,
) -> int:
    """Write scores as a matrix, or as a list with the best first for each object; return how many."""
    import numpy as np

    from kernelrank.data.text import as_strings
    from kernelrank.data.writers import write_delimited

    of_rows, of_columns = as_strings(rows.names), as_strings(columns.names)
    if format == "matrix":
        write_delimited({"row": of_rows}, str(output), matrix=scores, matrix_names=columns.names)
        return int(scores.size)
    turned = ranked == "rows"
    by_query = scores.T if turned else scores
    best = np.argsort(-by_query, axis=1, kind="stable")[:, :top]
    queries = np.repeat(np.arange(len(best)), best.shape[1])
    row, column = (best.ravel(), queries) if turned else (queries, best.ravel())
    write_delimited({"row": of_rows[row], "column": of_columns[column], "score": scores[row, column]}, str(output))
    return len(row)
