"""Whether votes agree: with each other, judge by judge, and with one score an item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from kernelrank.errors import InvalidInputError
from kernelrank.votes.leaderboard import Leaderboard
from kernelrank.votes.likelihood import DavidsonVotes, LogisticVotes, decided_probability


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
        Fitted by ``model="bradley_terry"`` to votes on up to 1,000 items, without covariates, categories, times, kinds
        of judges or rankings.

    Returns
    -------
    Intransitivity
        ``deviation, statistic, pvalue``.

    Notes
    -----
    With n votes on a pair, whose means are μ and variances σ², the cyclic part ``r = won - n μ`` has the covariance
    ``R = V - J D S Dᵀ J`` with ``V = n σ²`` and ``J = n dμ/dd``, because the scores, with the covariance S, follow the
    votes. The statistic ``Σ r²`` has the mean ``tr R`` and about the variance ``2 tr R²``, plus what votes have beyond
    normal ones; it is compared with the scaled χ² distribution of both. A deviation of each pair with the standard
    deviation σ adds ``σ² J²`` to the mean. It has little power where most pairs have one vote. O(k + m³) time.

    ``benchmarks/intransitive_votes_are_found.py`` measures how often p-values are small.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> round(intransitivity(Leaderboard().fit([*"abc"] * 20, [*"bca"] * 20)).deviation, 1)
    3.5
    """
    if board.board_scores_ is not None or board.model != "bradley_terry" or not board.posterior.knows_covariances:
        raise InvalidInputError(
            "Expected model='bradley_terry', at most 1,000 items and features, and votes without covariates, "
            "categories, times, kinds of judges and rankings."
        )
    posterior = board.posterior
    votes, model, S = posterior.votes, posterior.estimate.model, posterior.covariance(np.arange(len(board.items_)))
    d, n, v = votes.differences(posterior.scores), votes.total, votes.difference_variances(S)
    if isinstance(model, DavidsonVotes):
        win, lose, tie = model.outcomes(d, np.zeros_like(d)).T
    else:
        assert isinstance(model, LogisticVotes)
        mean = decided_probability(d)
        tie = model.ties(mean)
        win, lose = mean - tie / 2.0, 1.0 - mean - tie / 2.0
    mean = win + tie / 2.0
    second, fourth = (win * (1.0 - mean) ** k + lose * mean**k + tie * np.abs(0.5 - mean) ** k for k in (2, 4))
    V = n * second
    J = V if isinstance(model, DavidsonVotes) else n * mean * (1.0 - mean)
    left = np.maximum(V - J**2 * v, 0.0)
    spread = float((V**2 - 2.0 * V * J**2 * v).sum()) + float(
        np.trace(np.linalg.matrix_power(S @ votes.laplacian(J**2), 2))
    )
    variance = 2.0 * spread + float((n * (fourth - 3.0 * second**2) * (left / V) ** 4).sum())
    apart = float(((votes.won + votes.tied / 2.0 - n * mean) ** 2 - left).sum())
    freedom = 2.0 * left.sum() ** 2 / variance  # of the scaled χ² distribution with this mean and variance
    pvalue = float(gammaincc(freedom / 2.0, max(freedom / 2.0 * (1.0 + apart / left.sum()), 0.0)))
    deviation = float(np.sqrt(max(apart / ((J * left / V) ** 2).sum(), 0.0)))
    return Intransitivity(deviation, apart / variance**0.5, pvalue)
