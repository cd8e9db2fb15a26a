"""The origin of the scores of a query, which is taken away before anything else is done with them.

A constant added to the scores of a query changes no difference, but rounding sees it: a mean of numbers near 10¹² is
known to 10⁻⁴ only. So the scores of each query are moved towards zero first, and without any rounding: with g the
distance between floating-point numbers at the largest score, the origin is the score nearest to zero, rounded towards
zero to a multiple of g. Every score is a multiple of its own, smaller distance and at least as large as the origin, so
the difference is a floating-point number. What is left is not larger than the scores vary, up to g. Where scores have
both signs, or one is zero, there is nothing to move.
"""

from __future__ import annotations

import numpy as np

from kernelrank.arrays import Float
from kernelrank.queries import Queries

__all__ = ["from_origin", "score_origins"]


def score_origins(scores: Float, queries: Queries, weight: Float) -> Float:
    """Return the origin of each query and output.

    Parameters
    ----------
    scores : ndarray, shape (m, outputs)
    queries : Queries
    weight : ndarray, shape (m,)
        Item weights; items of weight zero take no part.

    Returns
    -------
    ndarray, shape (n_queries, outputs)

    Notes
    -----
    O(m) time and memory for each output.

    Examples
    --------
    >>> scores = np.array([[1e9 + 1.0], [1e9 + 3.0], [-2.0], [5.0]])
    >>> score_origins(scores, Queries.from_labels([0, 0, 1, 1], 4), np.ones(4)).ravel().tolist()
    [1000000001.0, 0.0]
    """
    if len(queries) == 0:
        return np.zeros((0, scores.shape[1]))
    values = scores if np.all(weight > 0) else np.where(weight[:, None] > 0, scores, np.nan)
    if len(queries) == 1:
        low, high = (extreme.reduce(values, axis=0)[None] for extreme in (np.fmin, np.fmax))
    else:
        values = values if queries.contiguous else values[queries.order]
        low, high = (extreme.reduceat(values, queries.bounds[:-1], axis=0) for extreme in (np.fmin, np.fmax))
    nearest = np.fmax(low, 0.0) + np.fmin(high, 0.0)  # one of the two is zero; queries without weight have NaN
    step = np.spacing(np.fmax(np.abs(low), np.abs(high)))
    origins: Float = np.trunc(np.nan_to_num(nearest / step)) * np.nan_to_num(step)
    return origins


def from_origin(scores: Float, queries: Queries, origins: Float) -> Float:
    """Return the scores less the origins of their queries; the scores themselves where there is nothing to move."""
    if not origins.any():
        return scores
    moved: Float = scores - (origins if len(origins) == 1 else origins[queries.codes])
    return moved
