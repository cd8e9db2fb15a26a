"""The responses of a service: the ranks of items, and the comparison of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.errors import InvalidInputError
from kernelrank.persistence.provenance import final_step, provenance
from kernelrank.report import explain
from kernelrank.report.explanations import scores_of
from kernelrank.serving.models import has_posterior
from kernelrank.serving.request_items import items_of_columns, items_of_rows

if TYPE_CHECKING:
    from kernelrank.base.arrays import Float
    from kernelrank.serving.models import ServedModel

__all__ = ["compared", "ranked"]

RANK_KEYS = {"model", "items", "ids", "standard_deviations"}
COMPARE_KEYS = {"model", "first", "second", "top"}
MOST_TERMS = 1_000
BLOCK = 256
"""Items whose covariance is computed at once: only its diagonal is wanted."""


def ranked(served: ServedModel, content: dict[str, Any], columns: dict[str, list[Any]] | None = None) -> dict[str, Any]:
    """Rank the items of a request; `columns` holds them where they came as Arrow.

    Returns
    -------
    dict
        ``scores``, ``ranks`` (1 is the best; equal scores share a rank) and ``order``, the best first, by `ids` or by
        numbers from 0; for several outputs, a list for each item, and no order.
    """
    _check_keys(content, RANK_KEYS)
    X = items_of_rows(served, content.get("items")) if columns is None else items_of_columns(served, columns)
    ids = content.get("ids")
    if ids is not None and (not isinstance(ids, list) or len(ids) != len(X)):
        raise InvalidInputError(f"Expected 'ids' as a list with one entry for each of the {len(X)} items.")
    scores = _scores(served, X)
    answer: dict[str, Any] = {"model": served.name, "scores": scores.tolist(), "ranks": _ranks(scores).tolist()}
    if scores.ndim == 1:
        order = np.argsort(-scores, kind="stable").tolist()
        answer["order"] = order if ids is None else [ids[item] for item in order]
    if content.get("standard_deviations"):
        answer["standard_deviations"] = _deviations(served, X).tolist()
    return answer


def _scores(served: ServedModel, X: Float) -> Float:
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores_of(served.model, X)
    if not np.isfinite(scores).all():
        raise InvalidInputError("Expected items whose scores are below 1.8e308; there is a larger one.")
    return scores


def _check_keys(content: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidInputError(f"Expected the keys {', '.join(sorted(known))}; got {unknown[0][:60]!r} as well.")


def _ranks(scores: Float) -> Any:
    """Return one plus the number of items with a higher score, for each output."""
    if scores.ndim == 2:
        return np.column_stack([_ranks(column) for column in scores.T])
    return 1 + len(scores) - np.searchsorted(np.sort(scores), scores, side="right")


def _scaled(model: Any, X: Float) -> Float:
    """Return items as the ranker sees them, behind the steps of a pipeline."""
    if not hasattr(model, "steps"):
        return X
    for _, step in model.steps[:-1]:
        X = step.transform(X)
    return X


def _deviations(served: ServedModel, X: Float) -> Float:
    ranker = final_step(served.model)
    if not hasattr(ranker, "precision_factor_"):
        raise InvalidInputError(
            f"Expected a model of preferences for standard deviations of scores; got a {type(ranker).__name__} without "
            "a posterior. Fit it with fit_pairs, or ask /compare for differences of a calibrated model."
        )
    X = _scaled(served.model, X)
    blocks = [ranker.covariance(X[start : start + BLOCK]) for start in range(0, len(X), BLOCK)]
    return np.asarray(np.sqrt(np.concatenate([np.diagonal(block) for block in blocks])))


def compared(served: ServedModel, content: dict[str, Any]) -> dict[str, Any]:
    """Compare two items: the difference of their scores, how probable it is, and why."""
    _check_keys(content, COMPARE_KEYS)
    if "first" not in content or "second" not in content:
        raise InvalidInputError("Expected two items, 'first' and 'second'; one is missing.")
    top = content.get("top", 10)
    if type(top) is not int or not 1 <= top <= MOST_TERMS:
        raise InvalidInputError(f"Expected 'top' from 1 to {MOST_TERMS:,}; got something else.")
    X = items_of_rows(served, [content["first"], content["second"]], "first and second")
    _scores(served, X)  # which must be finite
    training_ids = provenance(served.model).get("training_ids")
    why = explain(served.model, X, feature_names=served.column_names, training_ids=training_ids, k=top)
    answer: dict[str, Any] = {"model": served.name, "difference": why.difference}
    answer |= {"standard_deviation": None, "probability": None, "basis": None, "why": why.to_dict()}
    if has_posterior(served.model):
        first, second = _scaled(served.model, X)
        found = final_step(served.model).compare(first[None], second[None])
        answer |= {
            "standard_deviation": float(found.std[0]),
            "probability": float(found.probability[0]),
            "basis": found.basis,
        }
    return answer
