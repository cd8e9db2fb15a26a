"""The ROC curve of a typical query: the curves of all queries, averaged, so that no two queries are compared.

Scores order the items of a query; between queries they mean nothing. One curve over all items would compare items of
different queries, and its area would be the AUC of something that nobody asks for. Here each query has its own curve,
the true positive rates are averaged at each false positive rate, and the area is the mean of the queries' AUCs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Labels, RandomStateLike
from kernelrank.base.labels import Queries
from kernelrank.metrics import AUC, Interval
from kernelrank.metrics.intervals import FIXED
from kernelrank.model_selection.auc import AUCEstimate
from kernelrank.report.roc import ROCDisplay

__all__ = ["query_roc"]

POINTS = np.linspace(0.0, 1.0, 101)
N_RESAMPLES = 1000


def query_roc(
    positive: NDArray[np.bool_],
    scores: Float,
    *,
    qid: Labels | None,
    confidence: float = 0.95,
    random_state: RandomStateLike = 0,
) -> ROCDisplay:
    """Average the ROC curves of queries.

    Parameters
    ----------
    positive : ndarray of bool, shape (m,)
    scores : ndarray, shape (m,)
    qid : sequence, shape (m,)
    confidence : float, default=0.95
    random_state : int, Generator, RandomState or None, default=0
        Resamples queries for the band.

    Returns
    -------
    ROCDisplay
        Not drawn yet. Queries without both classes have no curve and are left out.

    Notes
    -----
    O(m log m) time, and O(queries) for each of a thousand resamples.

    Examples
    --------
    >>> positive, scores = np.array([1, 0, 1, 0]) > 0, np.array([2.0, 1.0, 11.0, 12.0])
    >>> query_roc(positive, scores, qid=["a", "a", "b", "b"]).estimate.auc
    0.5
    """
    result = AUC()(positive.astype(np.float64), scores, qid=qid)
    queries = Queries.from_labels(qid, len(scores))
    curves = [_curve(positive[items], scores[items]) for items in queries if 0 < positive[items].sum() < len(items)]
    table = np.stack(curves)
    allows = f"allows for other queries being asked; {FIXED}"
    interval = Interval(np.nan, np.nan, confidence, allows)
    band = None
    if len(result) > 1:
        found = result.interval(confidence)
        interval = replace(found, method=allows)
        band = (POINTS, *_band(table, confidence, random_state))
    n_positive = int(positive.sum())
    estimate = AUCEstimate(
        auc=result.mean,
        interval=interval,
        method="mean over queries",
        n_pairs=int(sum(positive[items].sum() * (~positive[items]).sum() for items in queries)),
        n_positive=n_positive,
        n_negative=len(positive) - n_positive,
        classes=(False, True),
    )
    # A curve begins at no items at all, whatever share of the queries rises straight up.
    fpr, tpr = np.append(0.0, POINTS), np.append(0.0, table.mean(axis=0))
    return ROCDisplay(fpr, tpr, estimate, band=band, resampled="queries")


def _curve(positive: NDArray[np.bool_], scores: Float) -> Float:
    """Return the true positive rates of one query at POINTS; items with the same score are one step."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    up = np.append(0.0, np.cumsum(positive[order])[last])
    right = np.append(0.0, np.cumsum(~positive[order])[last])
    # Where the curve rises straight up, np.interp takes the last of equal points: the rate that is reached there.
    rates: Float = np.interp(POINTS, right / right[-1], up / up[-1])
    return rates


def _band(table: Float, confidence: float, random_state: RandomStateLike) -> tuple[Float, Float]:
    random = np.random.default_rng(random_state)
    means = np.empty((N_RESAMPLES, table.shape[1]))
    for number in range(N_RESAMPLES):
        drawn = np.bincount(random.integers(len(table), size=len(table)), minlength=len(table))
        means[number] = drawn @ table / len(table)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high
