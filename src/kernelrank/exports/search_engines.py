"""Linear models as the learning-to-rank plug-ins of search engines take them.

Elasticsearch and OpenSearch share a format, the body of ``POST _ltr/_featureset/<set>/_createmodel``; Solr's is the
body of ``PUT schema/model-store``. Both know features by name, normalise each one as ``(value - mean) / deviation`` and
add up ``weight * value``, in single precision. A feature that a document does not have counts as 0 in both.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank.exports.formula import ScoringFormula

__all__ = ["engine_fault", "engine_notes", "plugin_model", "solr_model"]


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
