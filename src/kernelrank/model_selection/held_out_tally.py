"""Held-out accuracy of several models at once: pairs in the right order, and intervals.

Items or queries are held out again and again, by different models. Of one ranking, each held-out set compares its own
items; a pair counts as often as it was held out together. The interval rests on the win rates w of the items: for two
classes on DeLong's variance (`kernelrank.metrics.auc_interval`), else on ``4 var(w) / m``. Of several
queries, each has a share of pairs in the right order, averaged over the times it was held out; the interval is that
of their mean, see `kernelrank.metrics.interval`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.errors import NothingToCompareError
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.metrics.auc_interval import Components, score_interval
from kernelrank.metrics.interval import Interval, mean_interval

__all__ = ["PairTally", "QueryTally", "Tally"]

GIVEN_MODELS = "not for others being trained on"


class Tally(ABC):
    """Adds up how held-out items were ordered."""

    label: str
    """What is measured."""

    @abstractmethod
    def add(self, items: Index, scores: Float) -> None:
        """Add the scores of a held-out set by all models, shape (t, models)."""

    @abstractmethod
    def accuracy(self) -> Float:
        """Return the share of pairs in the right order by each model."""

    @abstractmethod
    def intervals(self, confidence: float) -> list[Interval]:
        """Return the interval of each model."""


class PairTally(Tally):
    """Count held-out pairs of a single ranking.

    Parameters
    ----------
    y : ndarray, shape (m,)
    n_models : int
    """

    def __init__(self, y: Float, n_models: int) -> None:
        self.y = y
        self.levels = np.unique(y)
        self.right = np.zeros((len(y), n_models))
        self.count = np.zeros(len(y))
        self.label = "AUC" if len(self.levels) == 2 else "pairwise accuracy"

    def add(self, items: Index, scores: Float) -> None:
        """As in `Tally`; O(t²) time for each model."""
        i, j = np.nonzero(self.y[items][:, None] > self.y[items])
        difference = scores[i] - scores[j]
        right = (difference > 0) + 0.5 * (difference == 0)
        for side in (i, j):
            np.add.at(self.right, items[side], right)
            np.add.at(self.count, items[side], 1.0)

    def _known(self) -> Index:
        known = np.flatnonzero(self.count > 0)
        if len(known) == 0:
            raise NothingToCompareError("Expected held-out sets with different scores; got none. Use fewer folds.")
        return known

    def accuracy(self) -> Float:
        """As in `Tally`."""
        known = self._known()
        return np.asarray(self.right[known].sum(axis=0) / self.count[known].sum())

    def intervals(self, confidence: float) -> list[Interval]:
        """As in `Tally`; of score type, so that they stay between 0 and 1."""
        known = self._known()
        rates = self.right[known] / self.count[known][:, None]
        how = f"allows for other items being scored, {GIVEN_MODELS}"
        found = []
        for value, rate in zip(self.accuracy().tolist(), rates.T, strict=True):
            if len(self.levels) == 2:
                positive = self.y[known] == self.levels[1]
                sizes = int(positive.sum()), int((~positive).sum())
                variance, degrees = Components(rate[positive], rate[~positive]).variance()
            else:
                sizes = len(rate) // 2, len(rate) - len(rate) // 2
                variance, degrees = 4.0 * float(np.var(rate, ddof=1)) / len(rate), len(rate) - 1.0
            found.append(Interval(*score_interval(value, variance, confidence, *sizes, degrees), confidence, how))
        return found


class QueryTally(Tally):
    """Count held-out pairs query by query.

    Parameters
    ----------
    y : ndarray, shape (m,)
    qid : ndarray of int64, shape (m,)
    n_models : int
    """

    label = "pairwise accuracy, mean over queries"

    def __init__(self, y: Float, qid: Index, n_models: int) -> None:
        self.y, self.qid = y, qid
        self.right = np.zeros((int(qid.max()) + 1, n_models))
        self.count = np.zeros(len(self.right))

    def add(self, items: Index, scores: Float) -> None:
        """As in `Tally`; one sort for each model."""
        for model, column in enumerate(scores.T):
            found = PairwiseAccuracy()(self.y[items], column, qid=self.qid[items])
            queries = found.queries.astype(np.int64)
            self.right[queries, model] += found.values
            if model == 0:
                self.count[queries] += 1.0

    def _values(self) -> Float:
        known = self.count > 0
        if not np.any(known):
            raise NothingToCompareError("Expected held-out queries with different scores; got none.")
        return np.asarray(self.right[known] / self.count[known][:, None])

    def accuracy(self) -> Float:
        """As in `Tally`."""
        return np.asarray(self._values().mean(axis=0))

    def intervals(self, confidence: float) -> list[Interval]:
        """As in `Tally`: of the mean over queries."""
        values = self._values()
        if len(values) < 2:
            return [Interval(mean, mean, confidence, f"one query, {GIVEN_MODELS}") for mean in values[0].tolist()]
        how = f"{len(values)} queries, corrected for skewness; {GIVEN_MODELS}"
        return [mean_interval(column, confidence, how, PairwiseAccuracy.bounds) for column in values.T]
