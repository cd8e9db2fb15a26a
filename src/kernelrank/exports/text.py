"""A scoring formula as a Python module with one function, which needs NumPy only."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank import __version__
from kernelrank.data.table import MISSING_WORDS

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.data.preparation import PreparedColumn
    from kernelrank.exports.formula import KernelTerm, ScoringFormula

PYTHON = {
    "head": '''"""Score items as a fitted {model} does. Written by kernelrank {version}; needs NumPy only."""

import numpy as np

FEATURES = {features}
''',
    "score": '''

def score(X):
    """Return the scores of items: {shape}; a higher score ranks higher.

    X is {inputs}.
    """
{body}''',
    "array": """    if hasattr(X, "keys"):
        X = np.column_stack([np.asarray(X[name], dtype=float) for name in FEATURES])
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != len(FEATURES):
        raise ValueError(f"Expected X of shape (m, {len(FEATURES)}); got {X.shape}.")
""",
    "table": """    missing_words = {missing}
    columns = []
    for name, kind, fill, levels, indicator in {columns}:
        cells = list(X[name])
        missing = [
            cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in missing_words)
            for cell in cells
        ]
        if kind == "category":
            columns += [[float(cell == level) for cell in cells] for level in levels]
        elif kind == "ordinal":
            columns.append([fill if gone else float(levels.index(cell)) for cell, gone in zip(cells, missing)])
        else:
            columns.append([fill if gone else float(cell) for cell, gone in zip(cells, missing)])
        if indicator:
            columns.append([float(gone) for gone in missing])
    X = np.column_stack([np.asarray(column, dtype=float) for column in columns])
""",
    "term": """    items = np.array({items})
    dual = np.array({dual})
    seen = {seen}
    middle = items.mean(axis=0)
    step = max(1, 4_000_000 // items.size)
    for start in range(0, len(X), step):
        rows = seen[start : start + step]
        scores[start : start + step] += {kernel} @ dual
""",
}
"""The parts of a module."""

PYTHON_KERNELS = {
    "poly": "({gamma!r} * (rows @ items.T) + {coef0!r}) ** {degree!r}",
    "cosine": "_directions(rows) @ _directions(items).T",
    "rbf": "np.exp(-{gamma!r} * np.maximum(_squares(rows - middle) - 2 * (rows - middle) @ (items - middle).T"
    " + _squares(items - middle).T, 0))",
    "laplacian": "np.exp(-{gamma!r} * np.abs(rows[:, None] - items).sum(axis=2))",
    "chi2": "np.exp(-{gamma!r} * _chi2(rows, items))",
}
"""The kernel of some rows and all basis items."""

HELPERS = {
    "_squares": """

def _squares(rows):
    return np.square(rows).sum(axis=1, keepdims=True)
""",
    "_directions": """

def _directions(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1.0, lengths)
""",
    "_chi2": """

def _chi2(rows, items):
    total = rows[:, None] + items
    return (np.square(rows[:, None] - items) / np.where(total == 0, 1.0, total)).sum(axis=2)
""",
}


def python_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula the function cannot represent; None if it can represent all."""
    for term in formula.terms:
        if term.metric not in PYTHON_KERNELS or set(term.kernel.parameters) - {"gamma", "degree", "coef0"}:
            return f"it supports the kernels linear, {', '.join(PYTHON_KERNELS)}, and the kernel is {term.metric}"
    return None


def python_function(formula: ScoringFormula) -> bytes:
    """Return the source of a module with the function ``score``."""
    lines = []
    if formula.scaled:
        lines.append(f"    X = (X - np.array({formula.mean.tolist()!r})) / np.array({formula.scale.tolist()!r})\n")
    lines.append(f"    scores = np.zeros((len(X), {len(formula.output_names)}))\n")
    if formula.weights is not None:
        lines.append(f"    scores += X @ np.array({formula.weights.T.tolist()!r})\n")
    lines += [_term(term) for term in formula.terms]
    lines.append(f"    return {'scores[:, 0]' if formula.one_output else 'scores'}\n")
    body = "".join([_inputs(formula), *lines])
    named = "a mapping from the names of FEATURES to columns"
    columns = formula.feature_names if formula.preparation is None else formula.preparation.names
    text = PYTHON["head"].format(model=formula.model, version=__version__, features=repr(columns))
    text += "".join(helper for name, helper in HELPERS.items() if name in body)
    text += PYTHON["score"].format(
        shape="shape (m,)" if formula.one_output else f"shape (m, {len(formula.output_names)})",
        inputs=f"{named}, such as a data frame" if formula.takes_words else f"an array with these columns, or {named}",
        body=body,
    )
    return text.encode()


def _inputs(formula: ScoringFormula) -> str:
    """Return the lines that make numbers of X."""
    if formula.takes_words:
        assert formula.preparation is not None
        columns: list[Any] = [
            (column.name, column.kind, column.fill, column.levels, column.indicator)
            for column in formula.preparation.columns
        ]
        return PYTHON["table"].format(missing=repr(tuple(sorted(MISSING_WORDS))), columns=_source(columns))
    fills = formula.fills
    if np.all(np.isnan(fills)):
        return PYTHON["array"]
    return PYTHON["array"] + f"    X = np.where(np.isnan(X), np.array({_source(fills.tolist())}), X)\n"


def _term(term: KernelTerm) -> str:
    return PYTHON["term"].format(
        items=repr(term.items.tolist()),
        dual=repr(term.dual.tolist()),
        seen="X" if term.columns is None else f"X[:, {term.columns.tolist()!r}]",
        kernel=PYTHON_KERNELS[term.metric].format(**term.parameters),
    )


def _source(value: Any) -> str:
    """Write plain data as Python does, with a name for what is no number."""
    if isinstance(value, float) and np.isnan(value):
        return "np.nan"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_source, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    return repr(value)


# SQL expression -------------------------------------------------------------------------------------------------------
#
# A scoring formula as one SQL expression over named columns.
#
# It keeps to what SQLite, DuckDB, PostgreSQL and most others share: arithmetic, ``CASE``, ``COALESCE``, ``EXP`` and
# ``POWER``. Numbers are written with an exponent, which makes them double precision everywhere. Sums are nested in
# halves, for some databases limit how deep an expression may be.


def sql_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula an SQL expression cannot represent; None if it can represent all."""
    for term in formula.terms:
        if term.metric not in ("poly", "rbf"):
            return f"it has linear, poly and rbf kernels, and the kernel is {term.metric}"
    size = sum(term.items.size for term in formula.terms)
    if size > 50_000:  # more than databases parse
        return f"one expression holds 50,000 numbers, and the basis items have {size:,}; fit with a smaller basis"
    return None


def sql_expression(formula: ScoringFormula) -> bytes:
    """Return one SQL expression, or several named ones separated by commas, one for each output."""
    features = _features(formula)
    outputs = [_output(formula, features, number) for number in range(len(formula.output_names))]
    if formula.one_output:
        return f"{outputs[0]}\n".encode()
    named = (f"{output} AS {_quoted(name)}" for output, name in zip(outputs, formula.output_names, strict=True))
    return (",\n".join(named) + "\n").encode()


def _output(formula: ScoringFormula, features: Sequence[str], number: int) -> str:
    parts = []
    if formula.weights is not None:
        steps = zip(features, formula.weights[number] / formula.scale, formula.mean, strict=True)
        parts += [f"{_number(weight)} * {_shifted(feature, mean)}" for feature, weight, mean in steps if weight != 0]
    for term in formula.terms:
        values = [_kernel(formula, features, term, item) for item in term.items]
        parts += [f"{_number(a)} * {k}" for a, k in zip(term.dual[:, number], values, strict=True) if a != 0]
    return _sum(parts)


def _kernel(formula: ScoringFormula, features: Sequence[str], term: KernelTerm, item: Float) -> str:
    """Return the kernel of the row and one basis item; the scaler goes into its numbers."""
    columns = np.arange(len(features)) if term.columns is None else term.columns
    seen, mean, scale = [features[column] for column in columns], formula.mean[columns], formula.scale[columns]
    gamma = term.parameters["gamma"]
    if term.metric == "rbf":
        # ((x - mean) / scale - item)² = (x - (mean + scale item))² / scale²
        shifted = [_shifted(one, place) for one, place in zip(seen, mean + scale * item, strict=True)]
        squares = [f"{_number(-gamma / s**2)} * {one} * {one}" for one, s in zip(shifted, scale, strict=True)]
        return f"EXP({_sum(squares)})"
    factors = zip(seen, gamma * item / scale, mean, strict=True)
    products = [f"{_number(factor)} * {_shifted(one, middle)}" for one, factor, middle in factors if factor != 0]
    inner = _sum([*products, _number(term.parameters["coef0"])])
    return f"POWER({inner}, {_number(term.parameters['degree'])})"


def _features(formula: ScoringFormula) -> list[str]:
    """Return what stands for each feature: a column, or what the preparation makes of it."""
    if formula.preparation is None:
        return [_quoted(name) for name in formula.feature_names]
    return [feature for column in formula.preparation.columns for feature in _column(column)]


def _column(column: PreparedColumn) -> list[str]:
    """Return the features of one column of a table."""
    name = _quoted(column.name)
    if column.kind == "number":
        missing = f"{name} IS NULL"
        features = [name if math.isnan(column.fill) else f"COALESCE({name}, {_number(column.fill)})"]
    else:
        missing = f"({name} IS NULL OR LOWER({name}) IN ({', '.join(map(_text, sorted(MISSING_WORDS)))}))"
        levels = [f"WHEN {name} = {_text(level)} THEN" for level in column.levels]
        if column.kind == "category":
            features = [f"CASE {level} {_number(1)} ELSE {_number(0)} END" for level in levels]
        else:
            fill = "NULL" if math.isnan(column.fill) else _number(column.fill)
            steps = " ".join(f"{level} {_number(number)}" for number, level in enumerate(levels))
            features = [f"CASE {steps} WHEN {missing} THEN {fill} ELSE NULL END"]
    return [*features, f"CASE WHEN {missing} THEN {_number(1)} ELSE {_number(0)} END"] if column.indicator else features


def _shifted(feature: str, place: float) -> str:
    return feature if place == 0 else f"({feature} - {_number(place)})"


def _sum(parts: Sequence[str]) -> str:
    """Add up, in halves."""
    if not parts:
        return _number(0)
    if len(parts) <= 8:
        return f"({' + '.join(parts)})"
    half = len(parts) // 2
    return f"({_sum(parts[:half])}\n + {_sum(parts[half:])})"


def _number(value: float) -> str:
    """Write a number so that it is read back to the last bit, in double precision."""
    mantissa, _, exponent = np.format_float_scientific(value, trim="-").partition("e")
    text = f"{mantissa}e{int(exponent)}"
    return f"({text})" if value < 0 else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


# Search engines -------------------------------------------------------------------------------------------------------
#
# Linear models as the learning-to-rank plug-ins of search engines take them.
#
# Elasticsearch and OpenSearch share a format, the body of ``POST _ltr/_featureset/<set>/_createmodel``; Solr's is the
# body of ``PUT schema/model-store``. Both know features by name, normalise each one as ``(value - mean) / deviation``
# and add up ``weight * value``, in single precision. A feature that a document does not have counts as 0 in both.


def engine_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula a search engine cannot represent; None if it can represent all."""
    if formula.terms:
        return f"it holds linear models only, and the kernel is {formula.terms[0].metric}"
    if not formula.one_output:
        return f"it holds one score for each item, and the model has {len(formula.output_names)} outputs"
    if formula.takes_words:
        assert formula.preparation is not None
        words = [column.name for column in formula.preparation.columns if column.kind != "number" or column.indicator]
        return f"it cannot encode words or missing cells, and the model has such columns: {', '.join(words[:5])}"
    if len(set(formula.feature_names)) < len(formula.feature_names):
        return "it identifies features by name, and two features have the same name"
    return None


def engine_notes(formula: ScoringFormula) -> list[str]:
    """Return notes on differences between the scores of a search engine and of the model."""
    if formula.preparation is not None and formula.preparation.missing in ("median", "mean"):
        return [
            f"a feature that a document does not have counts as 0, not as the {formula.preparation.missing} of its "
            "column; give the feature a default in the search engine"
        ]
    return []


def plugin_model(formula: ScoringFormula, name: str) -> bytes:
    """Return a model for the plug-in of Elasticsearch and OpenSearch."""
    model: dict[str, Any] = {"type": "model/linear", "definition": json.dumps(_weights(formula))}
    if formula.scaled:
        model["feature_normalizers"] = {
            feature: {"standard": {"mean": mean, "standard_deviation": deviation}}
            for feature, mean, deviation in _normalisers(formula)
        }
    return _json({"model": {"name": name, "model": model}})


def solr_model(formula: ScoringFormula, name: str) -> bytes:
    """Return a model for Solr's model store; its features are those of the default feature store."""
    features: list[dict[str, Any]] = [{"name": feature} for feature in formula.feature_names]
    if formula.scaled:
        for feature, (_, mean, deviation) in zip(features, _normalisers(formula), strict=True):
            feature["norm"] = {
                "class": "org.apache.solr.ltr.norm.StandardNormalizer",
                "params": {"avg": repr(mean), "std": repr(deviation)},
            }
    return _json(
        {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": name,
            "features": features,
            "params": {"weights": _weights(formula)},
        }
    )


def _weights(formula: ScoringFormula) -> dict[str, float]:
    assert formula.weights is not None
    return dict(zip(formula.feature_names, formula.weights[0].tolist(), strict=True))


def _normalisers(formula: ScoringFormula) -> list[tuple[str, float, float]]:
    return list(zip(formula.feature_names, formula.mean.tolist(), formula.scale.tolist(), strict=True))


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
