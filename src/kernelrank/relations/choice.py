"""A choice: the features, alpha and thresholds that are best for candidates whose documents were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.base.results import Curves, Result
from kernelrank.model_selection.alpha_grid import AlphaGrid
from kernelrank.relations.held_out_documents import HeldOutDocuments, Learning, hold_out_documents
from kernelrank.relations.scores import ExtractionScores, measure
from kernelrank.relations.threshold import Rule, best_threshold, calibrated_threshold, resampled_threshold

__all__ = ["Choice", "choose", "choose_alpha", "search_alphas"]


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Result):
    """Features, alpha and thresholds, and what they were chosen by.

    Parameters
    ----------
    features : str
        The features that the scores are of.
    place : int
        The place of alpha among those to choose from.
    alpha : float
    thresholds : dict of str to float
        By the rules that need training documents: "calibrated", "resampled" and "training".
    results : dict of str to list of float
        The AUC and the largest F-score at each alpha, by the names "auc" and "f".
    value : float
        The best value of the measure by which alpha was chosen.
    inner : ExtractionScores
        The measures of the scores at `alpha`, by the threshold of "calibrated".
    """

    features: str
    place: int
    alpha: float
    thresholds: dict[Rule, float]
    results: dict[str, list[float]]
    value: float
    inner: ExtractionScores

    def __str__(self) -> str:
        features = f"{self.features}, " if self.features else ""
        return f"{features}alpha {self.alpha:.4g}, with documents left out {self.inner}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            *([("features", self.features)] if self.features else []),
            ("alpha", f"{self.alpha:.4g}"),
            ("with documents left out", str(self.inner)),
            *((f"threshold, {rule}", f"{value:.4g}") for rule, value in self.thresholds.items()),
        ]

    def _chart(self) -> Curves:
        lines = {name: np.array(self.results[key]) for key, name in (("auc", "AUC"), ("f", "largest F-score"))}
        numbers = np.arange(1.0, len(self.results["auc"]) + 1)
        mark = self.place + 1.0, f"chosen: alpha {self.alpha:.4g}"
        return Curves(numbers, lines, "number of the alpha that was tried", "with documents left out", mark=mark)

    def _columns(self) -> dict[str, Any]:
        return dict(self.results)


def choose(
    learning: Learning,
    labels: NDArray[np.bool_],
    documents: Sequence[str],
    held_out: Float,
    features: str = "",
) -> Choice:
    """Choose the alpha whose held-out scores are best, and thresholds by these scores.

    Parameters
    ----------
    learning : Learning
    labels : ndarray of bool, shape (m,)
    documents : sequence, shape (m,)
    held_out : ndarray, shape (alphas, m)
        The score of each candidate by the model without its document, for each alpha.
    features : str, default=""
        What the scores are of.

    Returns
    -------
    Choice

    Examples
    --------
    >>> learning = Learning("rls", (0.5, 1.0), "auc", None, None)
    >>> labels = np.array([True, False, True])
    >>> held_out = np.array([[0.2, 0.3, 0.4], [0.3, 0.2, 0.4]])
    >>> choice = choose(learning, labels, ["a", "b", "c"], held_out)
    >>> choice.alpha, choice.value, choice.thresholds["training"]
    (1.0, 1.0, 0.25)
    """
    place, results = choose_alpha(learning, labels, held_out)
    scores = held_out[place]
    thresholds: dict[Rule, float] = {
        "calibrated": calibrated_threshold(labels, scores),
        "resampled": resampled_threshold(labels, scores, documents),
        "training": best_threshold(labels, scores),
    }
    inner = measure(labels, scores, scores > thresholds["calibrated"])
    value = results[learning.scoring][place]
    return Choice(features, place, learning.fixed_alphas[place], thresholds, results, value, inner)


def choose_alpha(learning: Learning, labels: NDArray[np.bool_], held_out: Float) -> tuple[int, dict[str, list[float]]]:
    """Return the place of the alpha whose held-out scores are best, and the `results` of a choice."""
    measured = [measure(labels, scores, scores > best_threshold(labels, scores)) for scores in held_out]
    results = {"auc": [scores.auc for scores in measured], "f": [scores.f for scores in measured]}
    return int(np.argmax(results[learning.scoring])), results


def search_alphas(
    learning: Learning, K: Float, labels: NDArray[np.bool_], documents: Sequence[str], features: str = ""
) -> tuple[AlphaGrid, HeldOutDocuments]:
    """Leave documents out for every alpha of a grid, which is extended while the best lies at its edge.

    Parameters
    ----------
    learning, K, labels, documents, features
        As in `hold_out_documents`; the alphas may be "auto".

    Returns
    -------
    AlphaGrid
        All alphas that were tried, in ascending order unless they were given.
    HeldOutDocuments
    """
    parts: list[HeldOutDocuments] = []
    tried: list[Float] = []

    def values(alphas: Float) -> Float:
        part = replace(learning, alphas=tuple(alphas.tolist()))
        parts.append(hold_out_documents(part, K, labels, documents, features=features))
        tried.append(alphas)
        return np.array(choose_alpha(part, labels, parts[-1].inner[:, 0])[1][learning.scoring])

    grid = learning.grid(K).explored(values)
    together = np.concatenate(tried)
    order = np.arange(len(together)) if len(parts) == 1 else np.argsort(together)
    return grid, HeldOutDocuments.joined(parts, order)
