r"""The next votes: the most informative pairs, and how many votes would separate two items.

A vote on a pair with the difference d, of variance v, has the curvature ``h = E[loss''(d)]`` and gains
``log(1 + h v) / 2`` nats about the scores. It turns the covariance S of all scores into ``S - h s sᵀ / (1 + h v)``,
with s the column of S for that difference, so that the votes after it can be chosen with it in mind, though its outcome
is not known.

After n more votes on the pair the variance is ``v / (1 + n h v)``. A difference of d is found at a two-sided
confidence, with probability `power`, once its standard deviation is ``d / (z_confidence + z_power)``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from kernelrank.base.arrays import Float, Index
from kernelrank.votes.posterior import ItemPosterior
from kernelrank.votes.votes import Votes

__all__ = ["most_telling_pairs", "votes_to_tell_apart"]

CANDIDATES = 100
"""Where not all covariances are known, so many of the least certain items are looked at, and count as independent."""

EQUAL = 1e-9
"""Gains that differ by less, relatively, are equal."""


def most_telling_pairs(posterior: ItemPosterior, n: int) -> list[tuple[int, int]]:
    """Return the n most informative pairs of items to vote on, the best first.

    Parameters
    ----------
    posterior : ItemPosterior
    n : int

    Returns
    -------
    list of (int, int)
        Of each pair, the item with the higher score first.

    Notes
    -----
    O(n m²) time, O(m²) memory for m items. Beyond 1,000 of them, O(m log m) for the 100 that are least certain, and m =
    100 from there on; standard deviations are those that `table` needs as well.
    """
    items = np.arange(len(posterior.scores), dtype=np.int64)
    if not posterior.knows_covariances:
        items = np.argsort(-posterior.std, kind="stable")[:CANDIDATES].astype(np.int64)
    f = posterior.scores[items]
    S = posterior.covariance(items) if posterior.knows_covariances else np.diag(posterior.std[items] ** 2)
    taken = np.tri(len(items), dtype=bool)
    pairs: list[tuple[int, int]] = []
    for _ in range(min(n, int((~taken).sum()))):
        diagonal = np.diagonal(S)
        v = np.maximum(diagonal[:, None] + diagonal - 2.0 * S, 0.0)
        h = single_curvature(posterior, f[:, None] - f, v)
        gain = np.where(taken, -1.0, h * v)
        # Of pairs that differ by rounding only, the first one: the same votes give the same answer on every machine.
        best_of_all = np.argmax(gain >= (1.0 - EQUAL) * gain.max())
        i, j = (int(place) for place in np.unravel_index(int(best_of_all), gain.shape))
        taken[i, j] = True
        column = S[:, i] - S[:, j]
        S = S - np.outer(column, column) * (h[i, j] / (1.0 + h[i, j] * v[i, j]))
        best, other = (i, j) if f[i] >= f[j] else (j, i)
        pairs.append((int(items[best]), int(items[other])))
    return pairs


def single_curvature(posterior: ItemPosterior, d: Float, variance: Float) -> Float:
    """Return the mean curvature of one vote for differences of any shape."""
    flat, size = d.ravel(), d.size
    ones, zeros = np.ones(size), np.zeros(size)
    vote = Votes(2, np.zeros((size, 2), dtype=np.int64), ones, zeros, zeros, None, None, 0, size)
    return posterior.estimate.model.expected(vote, flat, variance.ravel())[1].reshape(d.shape)


def votes_to_tell_apart(
    posterior: ItemPosterior, first: Index, second: Index, power: float, confidence: float
) -> Float:
    """Return how many more votes on each pair would separate its two items.

    Parameters
    ----------
    posterior : ItemPosterior
    first, second : ndarray of int, shape (t,)
    power, confidence : float

    Returns
    -------
    ndarray, shape (t,)
        Whole numbers; zero if the items are separable already, infinity if their scores are equal.
    """
    d, std = posterior.difference(first, second)
    h = single_curvature(posterior, d, std**2)
    wanted = np.abs(d) / (posterior.quantile(confidence) + float(ndtri(power)))
    with np.errstate(divide="ignore"):
        more = (1.0 / wanted**2 - 1.0 / std**2) / h
    return np.asarray(np.maximum(np.ceil(more - 1e-9), 0.0))
