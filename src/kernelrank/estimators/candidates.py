"""The candidates of a search: every kernel and alpha with its hold-out score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelrank.arrays import Float, Index
from kernelrank.errors import EdgeOfGridWarning, NothingToCompareError
from kernelrank.estimators.held_out import HoldoutData
from kernelrank.estimators.holdout_plan import HoldoutPlan
from kernelrank.estimators.holdout_scoring import HoldoutScoring

__all__ = ["Candidates", "Measured", "measure"]


@dataclass(frozen=True)
class Measured:
    """Hold-out scores of one kernel.

    Parameters
    ----------
    mean, deviation : ndarray, shape (outputs, alphas)
        Over queries, items or folds; the deviation over pairs, which overlap, is NaN.
    splits : ndarray, shape (folds, outputs, alphas), or None
    scores : ndarray, shape (total, outputs, alphas), or None
        Held-out scores of the items.
    """

    mean: Float
    deviation: Float
    splits: Float | None
    scores: Float | None


def measure(plan: HoldoutPlan, judge: HoldoutScoring, data: HoldoutData, alphas: Float) -> Measured:
    """Hold out once for all alphas and judge each."""
    if plan.sets is None:
        accuracy = np.asarray(data.pairs(None, alphas, differences=False).accuracy)
        return Measured(accuracy, np.full(accuracy.shape, np.nan), None, None)
    scores = data.scores(plan.sets, alphas)
    values = [judge.values(scores[:, k], k) for k in range(data.n_outputs)]  # each (alphas, folds or queries)
    mean = np.stack([_mean(part) for part in values])
    deviation = np.stack([np.nanstd(part, axis=1) for part in values])
    splits = None if plan.tests is None else np.stack(values).transpose(2, 0, 1)
    return Measured(mean, deviation, splits, scores)


def _mean(values: Float) -> Float:
    """Average the values that there are: a fold without anything to compare has none."""
    if np.isnan(values).all(axis=1).any():
        raise NothingToCompareError("no fold of cv has two items to compare")
    return np.asarray(np.nanmean(values, axis=1))


class Candidates:
    """All that were tried, the best of them, and its held-out scores; those of the others are let go.

    Parameters
    ----------
    alphas : ndarray, shape (n,)
    settings : list of dict
        The kernel parameters, in the order in which they are added.
    per_target : bool
        Whether each output has its own alpha.

    Examples
    --------
    >>> candidates = Candidates(np.array([1.0, 10.0]), [{}], per_target=False)
    >>> candidates.add(Measured(np.array([[0.6, 0.7]]), np.zeros((1, 2)), None, None))
    >>> candidates.alpha, candidates.score
    (10.0, 0.7)
    """

    def __init__(self, alphas: Float, settings: list[dict[str, Any]], *, per_target: bool) -> None:
        self.alphas, self.settings, self.per_target = alphas, settings, per_target
        self.measured: list[Measured] = []
        self.number = -1
        self.score = -np.inf
        self.held_out: Float | None = None
        self.places: Index = np.zeros(1, dtype=np.int64)

    def add(self, found: Measured) -> None:
        """Add the next kernel; the first of equal candidates stays the best."""
        rows = self._rows(found)
        places = rows.argmax(axis=1)
        score = float(rows[np.arange(len(rows)), places].mean())
        if score > self.score:
            self.number, self.score, self.places = len(self.measured), score, places
            if found.scores is not None:
                outputs = np.arange(found.scores.shape[1])
                self.held_out = found.scores[:, outputs, np.broadcast_to(places, outputs.shape)]
        self.measured.append(Measured(found.mean, found.deviation, found.splits, None))

    def _rows(self, found: Measured) -> Float:
        """Return the values that alpha is chosen by, one row for each alpha to choose."""
        return found.mean if self.per_target else found.mean.mean(axis=0, keepdims=True)

    @property
    def alpha(self) -> float | Float:
        """The best alpha, or one for each output."""
        chosen = self.alphas[self.places]
        return chosen if self.per_target and len(chosen) > 1 else float(chosen[0])

    @property
    def setting(self) -> dict[str, Any]:
        """The best kernel parameters."""
        return self.settings[self.number]

    @cached_property
    def _mean(self) -> Float:
        return np.concatenate([found.mean.mean(axis=0) for found in self.measured])

    def table(self) -> dict[str, Any]:
        """Return all candidates with their scores as `GridSearchCV` does; a parameter that one lacks is None."""
        params = [{"alpha": float(alpha), **setting} for setting in self.settings for alpha in self.alphas]
        table: dict[str, Any] = {"params": params}
        for name in sorted({name for candidate in params for name in candidate}):
            values = np.empty(len(params), dtype=object)
            values[:] = [candidate.get(name) for candidate in params]
            table[f"param_{name}"] = values.astype(np.float64) if name == "alpha" else values
        first = self.measured[0].splits
        for fold in range(0 if first is None else len(first)):
            parts = [found.splits[fold].mean(axis=0) for found in self.measured if found.splits is not None]
            table[f"split{fold}_test_score"] = np.concatenate(parts)
        table["mean_test_score"] = self._mean
        table["std_test_score"] = np.concatenate([found.deviation.mean(axis=0) for found in self.measured])
        table["rank_test_score"] = (1 + (self._mean[:, None] < self._mean).sum(axis=1)).astype(np.int32)
        if len(self.measured[0].mean) > 1:
            table["mean_test_score_of_targets"] = np.concatenate([found.mean.T for found in self.measured])
        return table

    def warn_at_the_edge(self) -> None:
        """Warn if an alpha at the edge of the grid is better than every one inside."""
        inside = (self.alphas > self.alphas.min()) & (self.alphas < self.alphas.max())
        if not inside.any():
            return
        for row, place in zip(self._rows(self.measured[self.number]), self.places, strict=True):
            if not inside[place] and row[place] > row[inside].max():
                side, more = (
                    ("smallest", "smaller") if self.alphas[place] == self.alphas.min() else ("largest", "larger")
                )
                warnings.warn(
                    f"the best alpha, {self.alphas[place]:g}, is the {side} of the grid: try {more} ones",
                    EdgeOfGridWarning,
                    stacklevel=5,
                )
                return
