"""One pair of a report, explained: two items near the top of a query of median quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from kernelrank.base.arrays import Index, Labels
from kernelrank.base.labels import Queries
from kernelrank.metrics import MeasureResult
from kernelrank.report.explanation import Explanation, explain
from kernelrank.report.explanations import scores_of
from kernelrank.report.measured import MeasuredItems

__all__ = ["ExplainedPair"]


@dataclass(frozen=True, eq=False)
class ExplainedPair:
    """Two items, and why the first has the higher score.

    Parameters
    ----------
    first, second : label
        What the items are called.
    query : label or None
        Their query; None if there is one ranking.
    truth : tuple of float
        Their true scores.
    explanation : Explanation
    """

    first: Any
    second: Any
    query: Any
    truth: tuple[float, float]
    explanation: Explanation

    @property
    def right(self) -> bool:
        """Whether the true scores order the pair as the model does."""
        return self.truth[0] > self.truth[1]

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        items: MeasuredItems,
        result: MeasureResult | None,
        *,
        feature_names: Labels | None,
        training_ids: Labels | None,
    ) -> ExplainedPair | None:
        """Take the highest item of the query in the middle, and the highest below it with another true score.

        Parameters
        ----------
        model : estimator
        items : MeasuredItems
        result : MeasureResult or None
            Which says what the query in the middle is; the first query unless given.
        feature_names, training_ids
            As in `explain`.

        Returns
        -------
        ExplainedPair or None
            None where no two items of that query have different true and predicted scores.
        """
        members, query = _members(items, result)
        scores = scores_of(model, _safe_indexing(items.X, members))
        first = int(np.argmax(scores))
        below = np.flatnonzero((items.y[members] != items.y[members[first]]) & (scores < scores[first]))
        if len(below) == 0:
            return None
        second = int(below[np.argmax(scores[below])])
        pair = members[[first, second]]
        explanation = explain(
            model, _safe_indexing(items.X, pair), feature_names=feature_names, training_ids=training_ids
        )
        every = None if items.ids is None else list(items.ids)
        names = [f"item {number}" if every is None else every[number] for number in pair.tolist()]
        truth = (float(items.y[pair[0]]), float(items.y[pair[1]]))
        return cls(names[0], names[1], query, truth, explanation)


def _members(items: MeasuredItems, result: MeasureResult | None) -> tuple[Index, Any]:
    """Return the items of the query whose value is the median, and its label."""
    if items.qid is None or items.folds:
        return np.arange(len(items.y)), None
    queries = Queries.from_labels(items.qid, len(items.y))
    labels = queries.labels.tolist()
    if result is None:
        return next(iter(queries)), labels[0]
    middle = result.queries.tolist()[int(np.argsort(result.values, kind="stable")[len(result) // 2])]
    return list(queries)[labels.index(middle)], middle
