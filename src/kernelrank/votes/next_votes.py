"""The next votes: the most informative pairs, and how many votes would separate two items."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from kernelrank.base.arrays import Float, Index
from kernelrank.votes.likelihood import SquaredVotes
from kernelrank.votes.posterior import ItemPosterior
from kernelrank.votes.votes import Votes

# A vote on a pair with the difference d, of variance v, has the curvature ``h = E[loss''(d)]`` and gains ``log(1 + h v)
# / 2`` nats about the scores. It turns the covariance S of all scores into ``S - h s sᵀ / (1 + h v)``, with s the
# column of S for that difference, so that the votes after it can be chosen with it in mind, though its outcome is not
# known.
#
# After n more votes on the pair the variance is ``v / (1 + n h v)``. A difference of d is found at a two-sided
# confidence, with probability `power`, once its standard deviation is ``d / (z_confidence + z_power)``.


def most_telling_pairs(posterior: ItemPosterior, n: int) -> list[tuple[int, int]]:
    """Return the n most informative pairs of items to vote on, the best first.

    O(n m²) time, O(m²) memory for m items. Beyond 1,000 of them, O(m log m) for the 100 of the most promising pairs,
    and m = 100 from there on; standard deviations are those that `table` needs as well.
    """
    items = np.arange(len(posterior.scores), dtype=np.int64)
    if not posterior.knows_covariances:  # the items of some promising pairs, which count as independent
        if isinstance(posterior.estimate.model, SquaredVotes):  # which have one curvature everywhere
            items = np.argsort(-posterior.std, kind="stable")[:100].astype(np.int64)
        else:
            promising = promising_pairs(posterior.scores, posterior.std)[0]
            _, firsts = np.unique(promising, return_index=True)
            items = np.sort(promising.ravel()[np.sort(firsts)[:100]])
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
        best_of_all = np.argmax(gain >= (1.0 - 1e-9) * gain.max())
        i, j = (int(place) for place in np.unravel_index(int(best_of_all), gain.shape))
        taken[i, j] = True
        column = S[:, i] - S[:, j]
        S = S - np.outer(column, column) * (h[i, j] / (1.0 + h[i, j] * v[i, j]))
        best, other = (i, j) if f[i] >= f[j] else (j, i)
        pairs.append((int(items[best]), int(items[other])))
    return pairs


def promising_pairs(scores: Float, std: Float, n: int = 4_000) -> tuple[Index, Float]:
    """Return n pairs with much information about independent scores, the best first, and their information.

    The information ``h v`` rises with the variance and falls with the distance of two scores, so that for each item
    only the 24 least certain items, and its neighbours in 24 bands of similar standard deviations, are looked at. O(m
    log m) time for m items. The best pair of each item is there too, for when others have been voted on.

    Shapes: scores, std (m,); returns (k, 2), (k,).
    """
    m = len(scores)
    order, everyone = np.argsort(std, kind="stable"), np.arange(m)
    partners = [np.broadcast_to(item, m) for item in order[-24:]]
    for band in np.array_split(order, min(24, m)):
        band = band[np.argsort(scores[band], kind="stable")]
        places = np.searchsorted(scores[band], scores)
        for step in (-2, -1, 0, 1):
            partners.append(band[np.clip(places + step, 0, len(band) - 1)])
    keys = [np.minimum(everyone, other) * m + np.maximum(everyone, other) for other in partners]
    first, second = np.divmod(np.unique(np.concatenate(keys)), m)
    pairs = np.column_stack([first, second])[first != second]
    gain = information(scores[pairs[:, 0]] - scores[pairs[:, 1]], std[pairs[:, 0]] ** 2 + std[pairs[:, 1]] ** 2)
    best = best_pairs(pairs, gain, n)
    return pairs[best], gain[best]


def best_pairs(pairs: Index, gain: Float, n: int) -> Index:
    """Return the numbers of the n best pairs and of the best one of each item, the best first, shape (k,)."""
    order = np.argsort(-gain, kind="stable")
    own = np.unique(pairs[order].ravel(), return_index=True)[1] // 2
    return np.asarray(order[np.unique(np.append(np.arange(min(n, len(order))), own))])


def information(d: Float, variance: Float, scale: float = 1.0) -> Float:
    """Return ``h v`` of a vote on a difference d of variance v, by a judge whose logits are `scale` times as large.

    A closed form for the curvature: the logistic density is nearly a normal one of variance 8 / π, which agrees with it
    at zero, so that its mean over the posterior of the difference is a normal density too.
    """
    spread = scale**2 * variance + 8.0 / np.pi
    h = scale**2 * np.exp(-((scale * d) ** 2) / (2.0 * spread)) / np.sqrt(2.0 * np.pi * spread)
    return np.asarray(h * variance)


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

    Shapes: first, second (t,); returns (t,).

    Returns: Whole numbers; zero if the items are separable already, infinity if their scores are equal.
    """
    d, std = posterior.difference(first, second)
    h = single_curvature(posterior, d, std**2)
    wanted = np.abs(d) / (posterior.quantile(confidence) + float(ndtri(power)))
    with np.errstate(divide="ignore"):
        more = (1.0 / wanted**2 - 1.0 / std**2) / h
    return np.asarray(np.maximum(np.ceil(more - 1e-9), 0.0))
