"""A judged run: the ranked lists that a system returned, and the grades that assessors gave to items.

A run and its judgements need not hold the same items, which measures of scored items take for granted. Here

- an item of the run that nobody judged has grade 0, and so has one with a negative grade;
- a relevant item that the run does not return stands nowhere: it counts among the relevant items and in the best
  order, and is never found;
- a query that was judged and is missing from the run has returned nothing, and one that was not judged is left out.

For a measure of lists with cutoff k (without one: k larger than any list and all that it lacks) each list is filled up
to k places with items of grade 0, and what was not returned is put behind them. Then it cannot be found before k, and
the measure of these items is that of the run. A measure of pairs sees what was not returned as tied at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelrank.errors import InvalidInputError
from kernelrank.metrics.measure import FloatArray, Measure, MeasureResult
from kernelrank.metrics.pairs import MagnitudePreservingError
from kernelrank.metrics.thresholds import ThresholdMeasure


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The items of a run with their grades, and the relevant ones that it lacks.

    Parameters
    ----------
    y : ndarray of float64, shape (m,)
        Grades of the returned items; 0 for those that were not judged.
    score : ndarray of float64, shape (m,)
        Their scores.
    qid : ndarray, shape (m,)
        Their queries, which were all judged.
    ids : ndarray of str, shape (m,)
        Their names.
    missing_y : ndarray of float64, shape (n_missing,)
        Grades of judged items that were not returned.
    missing_qid : ndarray, shape (n_missing,)
        Their queries.
    n_unjudged : int
        How many items of the run have no judgement.
    unjudged_queries, unanswered_queries : tuple
        Queries of the run without judgements, which are left out, and judged ones that the run does not answer.

    Examples
    --------
    >>> from kernelrank.metrics import MeanAveragePrecision
    >>> run = JudgedRun.of((["q", "q"], ["a", "b"], [2.0, 1.0]), (["q", "q"], ["b", "c"], [1, 1]))
    >>> run.measure(MeanAveragePrecision()).mean, run.n_unjudged
    (0.25, 1)
    """

    y: FloatArray
    score: FloatArray
    qid: NDArray[Any]
    ids: NDArray[np.object_]
    missing_y: FloatArray
    missing_qid: NDArray[Any]
    n_unjudged: int
    unjudged_queries: tuple[Any, ...]
    unanswered_queries: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        run: tuple[Iterable[Any], Iterable[Any], ArrayLike],
        qrels: tuple[Iterable[Any], Iterable[Any], Iterable[Any]],
    ) -> JudgedRun:
        """Match a run with its judgements by name. Time and memory O(items).

        Parameters
        ----------
        run : tuple of queries, ids and scores
            Each a sequence with one entry for each returned item.
        qrels : tuple of queries, ids and grades
            Each a sequence with one entry for each judgement.

        Returns
        -------
        JudgedRun
        """
        grade_of = {(str(query), str(name)): max(float(grade), 0.0) for query, name, grade in zip(*qrels, strict=True)}
        judged = dict.fromkeys(query for query, _ in grade_of)
        answered = [(str(query), str(name)) for query, name in zip(*run[:2], strict=True)]
        returned = set(answered)
        if len(returned) < len(answered):
            raise InvalidInputError(f"the run has {_first_twice(answered)} twice")
        kept = np.array([query in judged for query, _ in answered], dtype=bool)
        if not kept.any():
            raise InvalidInputError("the run and the judgements have no query in common")
        items = [item for item in answered if item[0] in judged]
        missing = [item for item in grade_of if item not in returned]
        queries = dict.fromkeys(query for query, _ in answered)
        return cls(
            np.array([grade_of.get(item, 0.0) for item in items]),
            np.asarray(run[2], dtype=np.float64)[kept],
            np.array([query for query, _ in items], dtype=object),
            np.array([name for _, name in items], dtype=object),
            np.array([grade_of[item] for item in missing]),
            np.array([query for query, _ in missing], dtype=object),
            sum(item not in grade_of for item in items),
            tuple(query for query in queries if query not in judged),
            tuple(query for query in judged if query not in queries),
        )

    def measure(self, measure: Measure, *, order: ArrayLike | None = None) -> MeasureResult:
        """Measure the run.

        O(m log m) time, and places up to the cutoff for each query that lacks a relevant item.

        Parameters
        ----------
        measure : Measure
        order : array-like of int, shape (m,), optional
            The order in which returned items are given to the measure, for its rule of ties "order".

        Returns
        -------
        MeasureResult
        """
        place = np.arange(len(self.y)) if order is None else np.asarray(order)
        y, score, qid = self.y[place], self.score[place], self.qid[place]
        if isinstance(measure, MagnitudePreservingError) and len(self.missing_y):
            raise InvalidInputError(
                f"{measure.name} needs a score for every judged item; the run has none for "
                f"{len(self.missing_y)} of them"
            )
        floor = float(score.min())
        if isinstance(measure, ThresholdMeasure):
            floor = min(floor, float(measure.threshold))  # what was not returned does not reach the threshold
        if hasattr(measure, "k"):
            k, filled = self._filled(measure.k)
            y = np.concatenate([y, np.zeros(len(filled)), self.missing_y])
            score = np.concatenate(
                [score, np.full(len(filled), _below(floor)), np.full(len(self.missing_y), _below(_below(floor)))]
            )
            qid = np.concatenate([qid, filled, self.missing_qid])
            cut: Any = measure
            found: MeasureResult = replace(cut, k=k)(y, score, qid=qid)
        else:
            y = np.concatenate([y, self.missing_y])
            score = np.concatenate([score, np.full(len(self.missing_y), _below(floor))])
            found = measure(y, score, qid=np.concatenate([qid, self.missing_qid]))
        return replace(found, label=measure.label)

    def _filled(self, k: int | None) -> tuple[int, NDArray[Any]]:
        """Return the cutoff, and the queries of the items that fill lists up to it."""
        queries, codes = np.unique(np.concatenate([self.qid, self.missing_qid]), return_inverse=True)
        returned = np.bincount(codes[: len(self.qid)], minlength=len(queries))
        missing = np.bincount(codes[len(self.qid) :], minlength=len(queries))
        cutoff = int((returned + missing).max()) if k is None else k
        gaps = np.where(missing > 0, np.maximum(cutoff - returned, 0), 0)
        return cutoff, np.repeat(queries, gaps)


def _below(score: float) -> float:
    return float(np.nextafter(score, -np.inf))


def _first_twice(items: list[tuple[str, str]]) -> str:
    seen: set[tuple[str, str]] = set()
    for item in items:
        if item in seen:
            return f"the item {item[1]!r} of the query {item[0]!r}"
        seen.add(item)
    raise AssertionError("expected an item that occurs twice; found none")
