"""Standard errors of hold-out scores over alpha: over queries, or from the win rates of the items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Float, Index, Labels
from kernelrank.metrics.names import get_measure
from kernelrank.metrics.roc import TwoClasses
from kernelrank.model_selection.auc import pair_components
from kernelrank.model_selection.holdout import leave_pair_out, leave_query_out
from kernelrank.model_selection.searches import RankRLSCV

__all__ = ["pair_standard_errors", "query_standard_errors", "standard_errors"]

MOST_DIFFERENCES = 20_000_000
"""Differences of held-out pairs that are kept at a time, 160 MB; beyond that there are no bars."""


def standard_errors(search: BaseEstimator, X: Any, y: ArrayLike, qid: Labels | None, alphas: ArrayLike) -> Float | None:
    """Estimate how far held-out scores may vary: over queries, or over the items of two classes.

    Parameters
    ----------
    search : RankRLSCV
        Fitted.
    X, y, qid
        What it was fitted to.
    alphas : array-like, shape (n,)

    Returns
    -------
    ndarray, shape (n,), or None
        Of `query_standard_errors` with queries, of `pair_standard_errors` with two classes; None in other cases.

    Notes
    -----
    The cost is that of the function that is used.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=10, random_state=0)
    >>> search = RankRLSCV([1.0, 10.0]).fit(X, y, qid=qid)
    >>> standard_errors(search, X, y, qid, [1.0, 10.0]).shape
    (2,)
    """
    labels = np.asarray(y)
    if qid is not None:
        return query_standard_errors(search, X, labels.astype(np.float64), qid, alphas)
    return pair_standard_errors(search, X, labels, alphas) if len(np.unique(labels)) == 2 else None


def pair_standard_errors(
    search: BaseEstimator, X: Any, labels: NDArray[Any], alphas: ArrayLike, groups: Index | None = None
) -> Float | None:
    """Estimate how far the accuracy of held-out pairs of two classes may vary with the items, for each alpha.

    Parameters
    ----------
    search : RankRLSCV
        Fitted to two classes without queries, alpha chosen by holding out pairs.
    X : array-like or sparse matrix, shape (m, n_features)
        What it was fitted to.
    labels : ndarray, shape (m,)
        The two classes.
    alphas : array-like, shape (n,)
    groups : ndarray of int64, shape (m,), optional
        Items that vary together.

    Returns
    -------
    ndarray, shape (n,), or None
        The square root of DeLong's variance, or of Obuchowski's with groups. None for other searches, where pairs and
        alphas are too many, or where a class has one item.

    Notes
    -----
    O(m² n) time and memory for P N pairs and n alphas, in addition to one decomposition.

    Examples
    --------
    >>> from kernelrank import RankRLSCV
    >>> X, y = np.array([[1.0], [3.0], [2.0], [4.0], [5.0], [3.5]]), np.array([0, 0, 0, 1, 1, 1])
    >>> search = RankRLSCV([1.0, 10.0]).fit(X, y)
    >>> bool(np.all(pair_standard_errors(search, X, y, [1.0, 10.0]) < 0.5))
    True
    """
    if not isinstance(search, RankRLSCV) or search.cv not in ("auto", "leave_pair_out"):
        return None
    values = np.asarray(alphas, dtype=np.float64)
    classes = TwoClasses.read(labels, len(labels))
    if len(classes.positives) * len(classes.negatives) * len(values) > MOST_DIFFERENCES:
        return None
    setting = {name: value for name, value in search.best_params_.items() if name != "alpha"}
    held = leave_pair_out(search._learner(setting), X, classes.positive.astype(np.float64), alphas=values)
    codes = (None, None) if groups is None else (groups[classes.positives], groups[classes.negatives])
    # The differences are of the scores of 1 against 0, so that the sign of `classes` is one.
    columns = [pair_components(held.first, held.second, column, classes) for column in held.difference.T]
    errors = np.sqrt([components.variance(*codes)[0] for components in columns])
    return errors if np.all(np.isfinite(errors)) else None


def query_standard_errors(
    search: BaseEstimator, X: Any, y: Float, qid: Labels | None, alphas: ArrayLike
) -> Float | None:
    """Estimate how far the held-out score of each alpha may vary with the queries.

    Parameters
    ----------
    search : RankRLSCV
        Fitted with leave-query-out.
    X, y, qid
        What it was fitted to.
    alphas : array-like, shape (n,)

    Returns
    -------
    ndarray, shape (n,), or None
        The standard deviation over queries divided by the root of their number. None for other searches, fewer than two
        measured queries, or too many items and alphas.

    Notes
    -----
    One decomposition and O(m n log m) time for n alphas.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, make_ranking
    >>> X, y, qid = make_ranking(n_queries=10, random_state=0)
    >>> search = RankRLSCV([1.0, 10.0]).fit(X, y, qid=qid)
    >>> query_standard_errors(search, X, y, qid, [1.0, 10.0]).shape
    (2,)
    """
    values = np.asarray(alphas, dtype=np.float64)
    exact = type(search) is RankRLSCV and search.cv in ("auto", "leave_query_out") and isinstance(search.scoring, str)
    if not exact or qid is None or np.any(np.isnan(y)) or len(y) * len(values) > MOST_DIFFERENCES:
        return None
    setting = {name: value for name, value in search.best_params_.items() if name != "alpha"}
    held = leave_query_out(search._learner(setting), X, y, qid, alphas=values)
    measure = get_measure(search.scoring)
    of_queries = np.array([measure(y, scores, qid=qid).values for scores in held.T])
    n_queries = of_queries.shape[1]
    return of_queries.std(axis=1, ddof=1) / np.sqrt(n_queries) if n_queries > 1 else None
