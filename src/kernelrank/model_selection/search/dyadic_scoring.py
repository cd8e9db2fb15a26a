"""Measures of held-out scores of dyads: a measure of all dyads, of each row, or of each column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.dyads import DyadicProblem
from kernelrank.errors import NothingToCompareError
from kernelrank.metrics import Measure
from kernelrank.model_selection.search.candidates import Measured
from kernelrank.model_selection.search.holdout_plan import read_scoring
from kernelrank.solvers.precision import overflow_is_checked

__all__ = ["PER", "DyadicScoring"]

PER = ("auto", "overall", "row", "column")


class DyadicScoring:
    """Measures held-out scores of dyads; higher is better.

    Parameters
    ----------
    problem : DyadicProblem
        Its known scores are the truth; those of an object with itself are none in a reciprocal relation.
    scoring : str, Measure or callable, or None
        None stands for minus the mean squared error.
    per : {"overall", "row", "column"}
        Which dyads are one query of the measure.
    """

    def __init__(self, problem: DyadicProblem, scoring: Any, per: str) -> None:
        assert problem.Y is not None
        self.truth = problem.Y
        if problem.relation == "reciprocal":
            self.truth = self.truth.copy()
            self.truth[np.diag_indices(problem.shape[0])] = np.nan
        if scoring == "concordance":  # without censored times that is the share of pairs, averaged over queries
            scoring = "pairwise_accuracy"
        self.measure: Measure | Callable[..., float] | None = None if scoring is None else read_scoring(scoring)
        self.per = per

    def judged(self, scores: Float) -> Measured:
        """Measure scores, (m₁, m₂, outputs, alphas)."""
        outputs, alphas = scores.shape[2:]
        mean, deviation = np.empty((outputs, alphas)), np.empty((outputs, alphas))
        with overflow_is_checked():
            for k in range(outputs):
                for number in range(alphas):
                    values = self._values(self.truth[:, :, k], scores[:, :, k, number])
                    mean[k, number], deviation[k, number] = values.mean(), values.std()
        return Measured(mean, deviation, None, scores.reshape(-1, outputs, alphas))

    def _values(self, truth: Float, scores: Float) -> Float:
        """Return one value for each query, or for each dyad if there is no measure."""
        if self.per == "column":
            truth, scores = truth.T, scores.T
        rows, columns = np.nonzero(~np.isnan(truth) & ~np.isnan(scores))
        if len(rows) == 0:
            raise NothingToCompareError(
                "no held-out dyad has a known score, so alpha cannot be chosen: use other folds"
            )
        y, f = truth[rows, columns], scores[rows, columns]
        queries = None if self.per == "overall" else rows
        if self.measure is None:
            errors = -((y - f) ** 2)
            if queries is None:
                return np.asarray(errors)
            count = np.bincount(queries)
            return np.asarray(np.bincount(queries, weights=errors)[count > 0] / count[count > 0])
        if isinstance(self.measure, Measure):
            values = self.measure(y, f, qid=queries).values
            return np.asarray(values if self.measure.higher_is_better else -values)
        return np.array([float(self.measure(y, f, queries))])
