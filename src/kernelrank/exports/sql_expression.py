"""A scoring formula as one SQL expression over named columns.

It keeps to what SQLite, DuckDB, PostgreSQL and most others share: arithmetic, ``CASE``, ``COALESCE``, ``EXP`` and
``POWER``. Numbers are written with an exponent, which makes them double precision everywhere. Sums are nested in
halves, for some databases limit how deep an expression may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.data.preparation import PreparedColumn
    from kernelrank.exports.formula import KernelTerm, ScoringFormula

__all__ = ["KERNELS", "MOST_TERMS", "sql_expression", "sql_fault"]

KERNELS = ("poly", "rbf")
MOST_TERMS = 50_000
"""Basis items times features: a longer expression is more than databases parse."""


def sql_fault(formula: ScoringFormula) -> str | None:
    """Return which part of a formula an SQL expression cannot represent; None if it can represent all."""
    for term in formula.terms:
        if term.metric not in KERNELS:
            return f"it has linear, poly and rbf kernels, and the kernel is {term.metric}"
    size = sum(term.items.size for term in formula.terms)
    if size > MOST_TERMS:
        return (
            f"one expression holds {MOST_TERMS:,} numbers, and the basis items have {size:,}; fit with a smaller basis"
        )
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
    from kernelrank.data.preparation import MISSING_WORDS

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
    """Write a number so that it is read back to the last bit, in double precision.

    Examples
    --------
    >>> _number(0.1), _number(-2), _number(1e-300)
    ('1e-1', '(-2e0)', '1e-300')
    """
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    for digits in range(17):
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    text = f"{mantissa}e{int(exponent)}"
    return f"({text})" if value < 0 else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
