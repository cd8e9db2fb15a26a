"""Whether votes agree: with each other, judge by judge, and with one score an item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from kernelrank.errors import InvalidInputError
from kernelrank.votes.leaderboard import Leaderboard
from kernelrank.votes.likelihood import SquaredVotes


def krippendorff_alpha(board: Leaderboard) -> float:
    """Return Krippendorff's alpha of the votes on the same pairs [HK07]: 1 if all agree, 0 if they do by chance.

    Parameters
    ----------
    board : Leaderboard
        Fitted to votes.

    Returns
    -------
    float
        NaN if no pair has two votes.

    Notes
    -----
    Each pair is a unit, and a vote one of three values: for the first item, for the second, or a tie. Which item of a
    pair is the first one means nothing, so that both count as equally frequent in what is expected by chance.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> votes = Leaderboard().fit(["a", "a", "b", "c"], ["b", "b", "c", "b"])
    >>> round(krippendorff_alpha(votes), 3)
    0.25
    """
    counts = board.counts_
    n = counts.sum(axis=0)
    counts, n = counts[:, n > 1], n[n > 1]
    if len(n) == 0:
        return float("nan")
    observed = float(((n**2 - (counts**2).sum(axis=0)) / (n - 1)).sum())
    won, lost, tied = counts.sum(axis=1)
    values, total = np.array([(won + lost) / 2, (won + lost) / 2, tied]), float(n.sum())
    expected = (total**2 - float((values**2).sum())) / (total - 1)
    return 1.0 - observed / expected


class Intransitivity(NamedTuple):
    """How far votes are from what one score an item can explain.

    Parameters
    ----------
    deviation : float
        The standard deviation, in logits, of what pairs have beyond the difference of two scores: zero if votes vary no
        more than by chance.
    statistic : float
        By how many standard deviations votes vary more than expected.
    pvalue : float
        How probable so large a statistic is if scores explain everything.
    """

    deviation: float
    statistic: float
    pvalue: float


def intransitivity(board: Leaderboard) -> Intransitivity:
    """Test whether pairs deviate from the differences of scores: the score test of the variance of such deviations.

    Parameters
    ----------
    board : Leaderboard
        Fitted to votes without covariates, categories, times, kinds of judges or rankings.

    Returns
    -------
    Intransitivity
        ``deviation, statistic, pvalue``.

    Notes
    -----
    With n votes on a pair whose expected mean is p, the cyclic part ``won - n p`` has the variance ``n p (1 - p)``, of
    which the scores, with the variance v of the difference, have taken the share ``h v``. A deviation of standard
    deviation σ of each pair adds ``σ² (n p (1 - p))²``. Of the statistic ``Σ (won - n p)² - n p (1 - p) (1 - h v)`` the
    variance is that of binomial votes. It has little power where most pairs have one vote.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> round(intransitivity(Leaderboard().fit([*"abc"] * 20, [*"bca"] * 20)).deviation, 1)
    3.5
    """
    if board.board_scores_ is not None:
        raise InvalidInputError("Expected votes without covariates, categories, times, kinds of judges and rankings.")
    posterior = board.posterior
    votes, model = posterior.votes, posterior.estimate.model
    d, std = posterior.difference(votes.head, votes.tail)
    n, win = votes.total, model.probability(d, np.zeros_like(d))
    size = n * win * (1.0 - win)
    if isinstance(model, SquaredVotes):
        size = n * model.noise / 4.0
    else:  # ties make votes vary less
        size = size - votes.tied.sum() / n.sum() * n / 4.0 if votes.tied.any() else size
    left = np.maximum(1.0 - model.expected(votes, d, std**2)[1] * std**2, 0.0)
    apart = (votes.won + votes.tied / 2 - n * win) ** 2 - size * left
    fourth = 2.0 * size**2 + size * (1.0 - 6.0 * win * (1.0 - win))
    mean, variance = float((size * left).sum()), float((np.maximum(fourth, 1e-12) * left**2).sum())
    freedom = 2.0 * mean**2 / variance  # of the scaled χ² distribution with this mean and variance
    pvalue = float(gammaincc(freedom / 2.0, max(freedom / 2.0 * (1.0 + float(apart.sum()) / mean), 0.0)))
    deviation = float(np.sqrt(max(apart.sum() / (size**2 * left**2).sum(), 0.0)))
    return Intransitivity(deviation, float(apart.sum()) / variance**0.5, pvalue)
