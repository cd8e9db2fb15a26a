"""The concordance of scores of dyads, with an interval that allows for shared rows and columns.

A pair of cells p, q with different true scores is won if the predictions have the same order, and half won if they tie.
With the wins ``n_p`` and the number ``d_p`` of pairs of each cell, the concordance is ``C = Σ n_p / Σ d_p``, and the
influence of a cell ``ψ_p = 2 (n_p - C d_p) / Σ d_p``. Cells of one row, or of one column, are not independent, so that
[CGM11]_

    ``V = Σ_rows (Σ ψ)² + Σ_columns (Σ ψ)² - Σ ψ²``.

Per row, C is the mean over the r rows that have pairs: ``ψ_p = 2 (n_p - C_i d_p) / (D_i r)`` for a cell of row i,
and the row i adds ``(C_i - C) / r``. With one set of objects, errors that share an object on either side are not
independent [ASA15]_: ``V = Σ_objects (Σ ψ)²``, from which the cells of each pair of objects, counted twice, are not
subtracted: with few objects the interval would be too short. The interval is Wilson's for the number of
independent pairs ``C (1 - C) / V``, with Student's quantile for the objects of the smaller side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled
from kernelrank.base.results import Estimates, Result
from kernelrank.base.validation import check_confidence
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.intervals import Interval, wilson_interval

Per: TypeAlias = Literal["overall", "row", "column"]
PER: tuple[Per, ...] = ("overall", "row", "column")


@dataclass(frozen=True, repr=False)
class DyadicConcordance(Result):
    """The share of pairs of dyads in the right order, with an interval.

    Parameters
    ----------
    value : float
    interval : Interval
    per : {"overall", "row", "column"}
        Which dyads are compared: all, or those of each row or column, whose concordances are averaged.
    n_dyads : int
        How many dyads have a known score.

    Examples
    --------
    >>> print(DyadicConcordance(0.75, Interval(0.6, 0.9, 0.95, "rows and columns vary"), "overall", 40))
    concordance 0.7500, 95% interval [0.6000, 0.9000] (rows and columns vary; 40 dyads)
    """

    value: float
    interval: Interval
    per: Per
    n_dyads: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        each = "" if self.per == "overall" else f" of each {self.per}"
        return (
            f"concordance{each} {self.value:.4f}, {100 * self.interval.level:.4g}% interval [{low:.4f}, {high:.4f}] "
            f"({self.interval.method}; {self.n_dyads} dyads)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        each = "" if self.per == "overall" else f" of each {self.per}"
        return [(f"concordance{each}", f"{self.value:.3f}"), self.interval._fact(), ("dyads", f"{self.n_dyads:,}")]

    def _chart(self) -> Estimates:
        return Estimates(
            [("overall" if self.per == "overall" else f"per {self.per}", self.value, *self.interval)],
            "concordance",
            0.5,
        )

    def _columns(self) -> dict[str, Any]:
        return {"value": [self.value], **self.interval._columns(), "per": [self.per], "n_dyads": [self.n_dyads]}


def dyadic_concordance(
    Y: ArrayLike, scores: ArrayLike, *, per: Per = "overall", one_set: bool = False, confidence: float = 0.95
) -> DyadicConcordance:
    """Return the concordance of dyads: the share of pairs in the right order.

    Parameters
    ----------
    Y : array-like, shape (m1, m2)
        True scores; NaN where unknown.
    scores : array-like, shape (m1, m2)
        Predicted scores, such as those of `dyadic_holdout`; NaN where there is none.
    per : {"overall", "row", "column"}, default="overall"
        Compare all dyads, or those of each row or each column, and average over these.
    one_set : bool, default=False
        Whether rows and columns are the same objects: errors then vary with an object on either side.
    confidence : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    DyadicConcordance

    Notes
    -----
    O(l log l) time for l known dyads, O(l) memory. The interval allows for other objects and takes the predictions as
    given, so a model that was chosen by the same dyads looks better than it is.

    Of 1,000 simulated tables in each of 15 cases, with 10 to 60 objects a side, the 95 % interval contained the true
    value in 93.1 to 98.3 % (``benchmarks/dyadic_concordance_intervals_cover.py``). It is too wide for the concordance
    of each row if there are few objects. An interval that treats cells as independent contained it in 66 to 97 %.

    References
    ----------
    .. [CGM11] Cameron, Gelbach and Miller (2011). Robust inference with multiway clustering. Journal of Business and
       Economic Statistics 29(2), 238-249.
    .. [ASA15] Aronow, Samii and Assenova (2015). Cluster-robust variance estimation for dyadic data. Political Analysis
       23(4), 564-577.

    Examples
    --------
    >>> Y = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
    >>> round(dyadic_concordance(Y, [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], per="row").value, 3)
    0.667
    """
    check_confidence(confidence)
    if per not in PER:
        raise InvalidInputError(f"per must be one of {', '.join(map(repr, PER))}, got {per!r}")
    truth, predicted = np.asarray(Y, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 2 or truth.shape != predicted.shape:
        raise InvalidInputError(f"Y and scores must be matrices of one shape, got {truth.shape} and {predicted.shape}")
    if per == "column":
        truth, predicted = truth.T, predicted.T
    rows, columns = np.nonzero(~np.isnan(truth) & ~np.isnan(predicted))
    queries = rows if per != "overall" else np.zeros_like(rows)
    wins, compared = _wins(truth[rows, columns], predicted[rows, columns], queries)
    of_query = np.bincount(queries, weights=compared), np.bincount(queries, weights=wins)
    measured = of_query[0] > 0
    if not measured.any():
        raise NothingToCompareError("no two dyads that are compared have different scores: nothing to measure")
    shares = np.divide(of_query[1], of_query[0], out=np.zeros_like(of_query[1]), where=measured)
    value = float(shares[measured].mean())
    weight = np.divide(2.0 / measured.sum(), of_query[0], out=np.zeros_like(shares), where=measured)
    influence = weight[queries] * (wins - shares[queries] * compared)
    of_row = np.zeros(truth.shape[0])
    if per != "overall":
        of_row[: len(shares)][measured] = (shares[measured] - value) / measured.sum()
    variance = (_one_set_variance if one_set else _variance)(rows, columns, influence, of_row, truth.shape)
    fewest = min(len(np.unique(rows)), len(np.unique(columns)))
    independent = value * (1 - value) / variance if 0 < value < 1 and variance > 0 else fewest / 2
    method = "objects vary" if one_set else "rows and columns vary"
    interval = wilson_interval(value, independent, confidence, method, degrees=max(1, fewest - 1))
    return DyadicConcordance(value, interval, per, len(rows))


def _variance(rows: Index, columns: Index, influence: Float, of_row: Float, shape: tuple[int, ...]) -> float:
    """Return V of cells that share rows or columns, with m / (m - 1) for the objects of each side."""
    parts = []
    for numbers, size, more in ((rows, shape[0], of_row), (columns, shape[1], 0.0)):
        sums = np.bincount(numbers, weights=influence, minlength=size) + more
        parts.append(float(sums @ sums) * size / max(1, size - 1))
    return max(sum(parts) - float(influence @ influence), *parts)


def _one_set_variance(rows: Index, columns: Index, influence: Float, of_row: Float, shape: tuple[int, ...]) -> float:
    """Return V of cells that share an object on either side."""
    size = shape[0]
    other = np.where(rows == columns, 0.0, influence)
    of_columns = np.bincount(columns, weights=other, minlength=size)
    sums = np.asarray(np.bincount(rows, weights=influence, minlength=size) + of_columns + of_row)
    return float(sums @ sums) * size / max(1, size - 2)


def _wins(truth: Float, predicted: Float, queries: Index) -> tuple[Float, Float]:
    """Return for each cell how many of its pairs are won, ties half, and how many there are: O(l log l)."""
    order = np.lexsort((predicted, truth, queries))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(queries))]).astype(np.int64)
    level = _codes(queries[order], truth[order])
    by_score = np.lexsort((predicted, queries))
    rank = np.empty(len(order), dtype=np.int64)
    codes = _codes(queries[by_score], predicted[by_score])
    rank[by_score] = codes - codes[bounds[queries[by_score]]] + 1
    wins, compared = np.zeros(len(order)), np.zeros(len(order))
    largest = int(np.diff(bounds).max(initial=0))
    count_wins(level, rank[order], bounds, np.zeros(largest + 1, dtype=np.int64), wins, compared)
    found = np.empty_like(wins), np.empty_like(compared)
    found[0][order], found[1][order] = wins, compared
    return found


def _codes(queries: Index, values: Float) -> Index:
    """Return the numbers of sorted values from 0; equal ones of a query have the same."""
    new = (np.diff(values) != 0) | (np.diff(queries) != 0)
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


@compiled
def count_wins(level: Index, rank: Index, bounds: Index, tree: Index, wins: Float, compared: Float) -> None:
    """Count the won pairs of items that are sorted by their level in each query, by sums over ranks in a tree.

    Shapes: level, rank (m,), bounds (n_queries + 1,), tree (largest query + 1,), wins, compared (m,).

    level, rank: Of the true scores, ascending in each query, and of the predictions, from 1.
    """
    for query in range(len(bounds) - 1):
        n = bounds[query + 1] - bounds[query]
        for backwards in range(2):
            for k in range(n + 1):
                tree[k] = 0
            first = 0
            while first < n:
                last = first
                here = bounds[query + 1] - 1 - first if backwards else bounds[query] + first
                same = level[here]
                while last < n:
                    item = bounds[query + 1] - 1 - last if backwards else bounds[query] + last
                    if level[item] != same:
                        break
                    own = n + 1 - rank[item] if backwards else rank[item]
                    below = 0
                    k = own - 1
                    while k > 0:
                        below += tree[k]
                        k -= k & -k
                    up_to = 0
                    k = own
                    while k > 0:
                        up_to += tree[k]
                        k -= k & -k
                    wins[item] += 0.5 * (below + up_to)
                    compared[item] += first
                    last += 1
                for place in range(first, last):
                    item = bounds[query + 1] - 1 - place if backwards else bounds[query] + place
                    k = n + 1 - rank[item] if backwards else rank[item]
                    while k <= n:
                        tree[k] += 1
                        k += k & -k
                first = last
