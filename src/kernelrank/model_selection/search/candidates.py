"""The candidates of a search: every kernel and alpha with its hold-out score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.model_selection.alpha_grid import AlphaGrid
from kernelrank.model_selection.refits import HoldoutData
from kernelrank.model_selection.search.holdout_plan import HoldoutPlan, HoldoutScoring
from kernelrank.solvers.precision import overflow_is_checked

__all__ = ["Candidates", "Measured", "judged", "measure"]


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

    @classmethod
    def joined(cls, parts: Sequence[Measured], order: Index) -> Measured:
        """Concatenate the alphas of several parts, sorted."""
        if len(parts) == 1:
            return parts[0]

        def join(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if values[0] is None else np.concatenate(values, axis=-1)[..., order]

        return cls(join("mean"), join("deviation"), join("splits"), join("scores"))


def measure(plan: HoldoutPlan, judge: HoldoutScoring, data: HoldoutData, alphas: Float) -> Measured:
    """Hold out once for all alphas and measure each."""
    if plan.sets is None:
        accuracy = np.asarray(data.pairs(None, alphas, differences=False).accuracy)
        return Measured(accuracy, np.full(accuracy.shape, np.nan), None, None)
    return judged(plan, judge, data.scores(plan.sets, alphas))


def judged(plan: HoldoutPlan, judge: HoldoutScoring, scores: Float) -> Measured:
    """Measure the scores of held-out items, shape (total, outputs, alphas)."""
    with overflow_is_checked():
        values = [judge.values(scores[:, k], k) for k in judge.outputs()]  # each (alphas, folds or queries)
    mean = np.stack([_mean(part) for part in values])
    deviation = np.stack([np.nanstd(part, axis=1) for part in values])
    splits = None if plan.tests is None else np.stack(values).transpose(2, 0, 1)
    return Measured(mean, deviation, splits, scores)


def _mean(values: Float) -> Float:
    """Average the values that there are: a fold without anything to compare has none."""
    if np.isnan(values).all(axis=1).any():
        raise NothingToCompareError("no fold of cv has two items to compare")
    means = np.asarray(np.nanmean(values, axis=1))
    if not np.all(np.isfinite(means)):
        raise InvalidInputError("the scoring measure overflows: divide y by a constant")
    return means


class Candidates:
    """All candidates tried, the best one, and its held-out scores; those of the others are not kept.

    Parameters
    ----------
    settings : list of dict
        The kernel parameters, in the order in which they are searched.
    per_target : bool
        Whether each output has its own alpha.

    Examples
    --------
    >>> candidates = Candidates([{}], per_target=False)
    >>> found = Measured(np.array([[0.6, 0.7]]), np.zeros((1, 2)), None, None)
    >>> candidates.search(AlphaGrid.given([1.0, 10.0]), lambda alphas: found)
    >>> candidates.alpha, candidates.score
    (10.0, 0.7)
    """

    def __init__(self, settings: list[dict[str, Any]], *, per_target: bool) -> None:
        self.settings, self.per_target = settings, per_target
        self.grids: list[AlphaGrid] = []
        self.measured: list[Measured] = []
        self.number = -1
        self.score = -np.inf
        self.held_out: Float | None = None
        self.places: Index = np.zeros(1, dtype=np.int64)

    def search(self, grid: AlphaGrid, measure: Callable[[Float], Measured]) -> None:
        """Measure the alphas of the next kernel; the first of equal candidates stays the best.

        Parameters
        ----------
        grid : AlphaGrid
            It is extended while the best alpha lies at its edge, if it may be.
        measure : callable
            Holds out for some alphas.
        """
        parts: list[Measured] = []
        tried: list[Float] = []

        def values(alphas: Float) -> Float:
            parts.append(measure(alphas))
            tried.append(alphas)
            return self._rows(parts[-1])

        grid = grid.explored(values)
        self.add(grid, Measured.joined(parts, np.argsort(np.concatenate(tried), kind="stable")))

    def add(self, grid: AlphaGrid, found: Measured) -> None:
        """Take the next kernel, whose alphas are measured already."""
        rows = self._rows(found)
        places = rows.argmax(axis=1)
        score = float(rows[np.arange(len(rows)), places].mean())
        if score > self.score:
            self.number, self.score, self.places = len(self.measured), score, places
            if found.scores is not None:
                outputs = np.arange(found.scores.shape[1])
                self.held_out = found.scores[:, outputs, np.broadcast_to(places, outputs.shape)]
        self.grids.append(grid)
        self.measured.append(Measured(found.mean, found.deviation, found.splits, None))

    def _rows(self, found: Measured) -> Float:
        """Return the values that alpha is chosen by, one row for each alpha to choose."""
        return found.mean if self.per_target else found.mean.mean(axis=0, keepdims=True)

    @property
    def alpha(self) -> float | Float:
        """The best alpha, or one for each output."""
        chosen = self.grids[self.number].alphas[self.places]
        return chosen if self.per_target and len(chosen) > 1 else float(chosen[0])

    @property
    def alphas(self) -> Float:
        """The alphas that were tried with the best kernel, in ascending order."""
        return np.unique(self.grids[self.number].alphas)

    @property
    def setting(self) -> dict[str, Any]:
        """The best kernel parameters."""
        return self.settings[self.number]

    @cached_property
    def _mean(self) -> Float:
        return np.concatenate([found.mean.mean(axis=0) for found in self.measured])

    def table(self) -> dict[str, Any]:
        """Return all candidates with their scores as `GridSearchCV` does; a parameter that one lacks is None."""
        params = [
            {"alpha": float(alpha), **setting}
            for setting, grid in zip(self.settings, self.grids, strict=True)
            for alpha in grid.alphas
        ]
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

    def warn_at_edge(self) -> None:
        """Warn if the best alpha lies at the edge of its grid."""
        self.grids[self.number].warn_at_edge(self._rows(self.measured[self.number]), stacklevel=6)
