"""Export: a fitted ranker as a file for another program, atomically."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelrank.errors import InvalidInputError
from kernelrank.exports.formula import ScoringFormula, formula_of
from kernelrank.exports.json_coefficients import json_coefficients
from kernelrank.exports.onnx import Precision, onnx_fault, onnx_model
from kernelrank.exports.search_engines import engine_fault, engine_notes, plugin_model, solr_model
from kernelrank.exports.sql_expression import sql_expression, sql_fault
from kernelrank.exports.text import python_fault, python_function
from kernelrank.persistence.atomic import atomic_write

__all__ = ["FORMAT_NAMES", "export"]


@dataclass(frozen=True)
class _Format:
    """One format: how it is written, what it cannot hold, and what is worth knowing."""

    written: Callable[[ScoringFormula, str, Precision], bytes]
    fault: Callable[[ScoringFormula], str | None]
    notes: Callable[[ScoringFormula], list[str]] = lambda _: []


FORMATS = {
    "onnx": _Format(lambda formula, _, dtype: onnx_model(formula, dtype=dtype), onnx_fault),
    "elasticsearch": _Format(lambda formula, name, _: plugin_model(formula, name), engine_fault, engine_notes),
    "opensearch": _Format(lambda formula, name, _: plugin_model(formula, name), engine_fault, engine_notes),
    "solr": _Format(lambda formula, name, _: solr_model(formula, name), engine_fault, engine_notes),
    "sql": _Format(lambda formula, *_: sql_expression(formula), sql_fault),
    "python": _Format(lambda formula, *_: python_function(formula), python_fault),
    "json": _Format(lambda formula, *_: json_coefficients(formula), lambda _: None),
}
FORMAT_NAMES = tuple(FORMATS)
FORMAT_OF_SUFFIX = {".onnx": "onnx", ".sql": "sql", ".py": "python", ".json": "json"}


def export(
    model: Any,
    file: str | os.PathLike[str],
    format: str | None = None,
    *,
    name: str | None = None,
    dtype: Precision = "float64",
) -> list[str]:
    """Write a fitted ranker as a file that another program scores with.

    The file includes the scaler of a pipeline, the preparation of a table by the command, and all outputs. Time
    and memory O(numbers of the model).

    Parameters
    ----------
    model : estimator
        A fitted ranker, classifier or regressor of kernelrank, alone or in a pipeline behind `StandardScaler` and
        `NystromMap`. A classifier gives its decision function.
    file : str or path-like
        Where to write.
    format : {"onnx", "elasticsearch", "opensearch", "solr", "sql", "python", "json"}, optional
        The suffix of `file` decides without it: ``.onnx``, ``.sql``, ``.py`` or ``.json``.

        ==================================  =====================================================================
        "onnx"                              linear, poly, rbf and cosine kernels
        "elasticsearch", "opensearch"       linear models with one output: the body that creates a model in the
                                            learning-to-rank plug-in
        "solr"                              the same for Solr's model store
        "sql"                               one expression over named columns: linear, poly and rbf kernels
        "python"                            a module with one function, NumPy only; laplacian and chi2, too
        "json"                              the coefficients with their names, of any kernel that has a name
        ==================================  =====================================================================
    name : str, optional
        The name of the model in a search engine; the name of the file, without its suffix, unless given.
    dtype : {"float64", "float32"}, default="float64"
        The numbers that an ONNX model takes and returns; inside it computes in double precision.

    Returns
    -------
    list of str
        Notes on differences between the scores of the other program and of the model.

    Raises
    ------
    InvalidInputError
        If the format cannot represent the model; the message names the formats that can, and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelrank import RankRLS
    >>> model = RankRLS(alpha=1).fit([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]], [0, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "score.sql"
    ...     _ = export(model, path)
    ...     len(path.read_text()) > 0
    True
    """
    kind = _format(file, format)
    if dtype not in ("float64", "float32"):
        raise InvalidInputError(f"Expected dtype 'float64' or 'float32'; got {dtype!r}.")
    formula = formula_of(model)
    fault = FORMATS[kind].fault(formula)
    if fault is not None:
        able = [other for other, known in FORMATS.items() if known.fault(formula) is None]
        raise InvalidInputError(f"Expected a model that format {kind!r} can hold: {fault}. Use {_either(able)}.")
    data = FORMATS[kind].written(formula, name or Path(file).name.partition(".")[0] or "kernelrank", dtype)
    with atomic_write(file) as stream:
        stream.write(data)
    return FORMATS[kind].notes(formula)


def _format(file: str | os.PathLike[str], format: str | None) -> str:
    if format is None:
        suffix = Path(file).suffix.lower()
        if suffix not in FORMAT_OF_SUFFIX:
            raise InvalidInputError(
                f"Expected a format, or a file that ends with {', '.join(FORMAT_OF_SUFFIX)}; got {os.fspath(file)!r}. "
                f"The formats are {', '.join(FORMATS)}."
            )
        return FORMAT_OF_SUFFIX[suffix]
    if format not in FORMATS:
        raise InvalidInputError(f"Expected one of the formats {', '.join(FORMATS)}; got {format!r}.")
    return format


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
