"""A scoring formula as JSON: coefficients with their names."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank.exports.formula import KernelTerm, ScoringFormula

__all__ = ["json_coefficients"]


def json_coefficients(formula: ScoringFormula) -> bytes:
    """Return the formula as JSON; its keys are those of the equation in `kernelrank.exports.formula`."""
    from kernelrank import __version__

    names = formula.feature_names
    content: dict[str, Any] = {
        "format": "kernelrank formula 1",
        "version": __version__,
        "model": formula.model,
        "features": list(names),
        "outputs": list(formula.output_names),
        "preparation": None if formula.preparation is None else _plain(formula.preparation.as_data()),
        "mean": formula.mean.tolist() if formula.scaled else None,
        "scale": formula.scale.tolist() if formula.scaled else None,
        "weights": None,
        "terms": [_term(term, names) for term in formula.terms],
    }
    if formula.weights is not None:
        rows = zip(formula.output_names, formula.weights.tolist(), strict=True)
        content["weights"] = {output: dict(zip(names, weights, strict=True)) for output, weights in rows}
        if len(set(names)) < len(names):  # a name that occurs twice would lose a weight
            content["weights"] = dict(zip(formula.output_names, formula.weights.tolist(), strict=True))
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _term(term: KernelTerm, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "kernel": term.metric,
        **term.parameters,
        "columns": list(names) if term.columns is None else [names[column] for column in term.columns],
        "items": term.items.tolist(),
        "coefficients": term.dual.tolist(),
    }


def _plain(value: Any) -> Any:
    """Put null in the place of NaN, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
