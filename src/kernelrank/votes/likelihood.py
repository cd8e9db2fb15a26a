r"""The likelihood of votes: how probable either outcome is, given the difference d of two scores.

Bradley and Terry [BT52]_: the first item wins with probability ``1 / (1 + exp(-d))``. A tie is half a vote each way.

Davidson [Dav70]_ gives ties a probability of their own: win, loss and tie have probabilities that are proportional to
``exp(d / 2)``, ``exp(-d / 2)`` and ``exp(θ)``. With ``s = (p_win - p_loss) / 2`` the derivatives of minus the logarithm
of the likelihood of n votes, of which ``won``, ``lost`` and ``tied`` went each way, are

* ``g_d = n s - (won - lost) / 2`` and ``g_θ = n p_tie - tied``;
* ``h_dd = n ((p_win + p_loss) / 4 - s²)``, ``h_dθ = -n s p_tie`` and ``h_θθ = n p_tie (1 - p_tie)``.

It is convex in (d, θ) jointly, and in the limit ``θ → -∞`` the model of Bradley and Terry. Without a single tie the
minimum is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.hinge.pairs import sum_error
from kernelrank.votes.votes import Votes

__all__ = ["VoteLoss", "decided_probability", "observed_probabilities", "outcome_probabilities", "vote_loss"]


@dataclass(frozen=True)
class VoteLoss:
    """Minus the logarithm of the likelihood of votes, and its derivatives.

    Parameters
    ----------
    value : float
    gradient, curvature : ndarray, shape (k,)
        First and second derivative by the difference of each row of votes.
    tie_gradient, tie_curvature : float
        Those by θ.
    cross : ndarray, shape (k,), or None
        The mixed derivatives; None without θ.
    """

    value: float
    gradient: Float
    curvature: Float
    tie_gradient: float = 0.0
    tie_curvature: float = 0.0
    cross: Float | None = None


def vote_loss(votes: Votes, d: Float, theta: float | None = None) -> VoteLoss:
    """Evaluate minus the logarithm of the likelihood.

    Parameters
    ----------
    votes : Votes
    d : ndarray, shape (k,)
        The differences, effects of sides and judges included.
    theta : float, optional
        Davidson's θ; without it a tie is half a vote each way.

    Returns
    -------
    VoteLoss

    Notes
    -----
    O(k) time. All sums are of terms with one sign.

    Examples
    --------
    >>> votes = Votes.count(2, np.array([[0, 1], [0, 1], [1, 0]]))
    >>> point = vote_loss(votes, np.array([0.0]))
    >>> round(point.value / float(np.log(2)), 6), point.gradient, point.curvature
    (3.0, array([-0.5]), array([0.75]))
    """
    return _two_outcomes(votes, d) if theta is None else _three_outcomes(votes, d, theta)


def _two_outcomes(votes: Votes, d: Float) -> VoteLoss:
    won, lost = votes.won + votes.tied / 2, votes.lost + votes.tied / 2
    small = np.exp(-np.abs(d))
    share = 1.0 / (1.0 + small)
    likely, unlikely = share, small * share
    ahead = d >= 0
    value = (won + lost) * np.log1p(small) + np.where(ahead, lost, won) * np.abs(d)
    gradient = lost * np.where(ahead, likely, unlikely) - won * np.where(ahead, unlikely, likely)
    return VoteLoss(float(value.sum()), gradient, (won + lost) * likely * unlikely)


def _three_outcomes(votes: Votes, d: Float, theta: float) -> VoteLoss:
    win, loss, tie, log_sum = _three(d, theta)
    total = votes.total
    value = votes.won * (log_sum - d / 2) + votes.lost * (log_sum + d / 2) + votes.tied * (log_sum - theta)
    half = (win - loss) / 2
    gradient = votes.lost * (win + tie / 2) - votes.won * (loss + tie / 2) + votes.tied * half
    curvature = total * (win * loss + (win + loss) * tie / 4)
    decided = votes.won + votes.lost
    tie_gradient = decided * tie - votes.tied * (win + loss)
    return VoteLoss(
        float(value.sum()),
        gradient,
        curvature,
        float(tie_gradient.sum()),
        float((total * tie * (win + loss)).sum()),
        -total * half * tie,
    )


def _three(d: Float, theta: float) -> tuple[Float, Float, Float, Float]:
    """Return the probabilities of win, loss and tie, and the logarithm of what their terms add up to."""
    top = np.maximum(np.abs(d) / 2, theta)
    win, loss, tie = np.exp(d / 2 - top), np.exp(-d / 2 - top), np.exp(theta - top)
    total = win + loss + tie
    return win / total, loss / total, tie / total, top + np.log(total)


def decided_probability(d: Float) -> Float:
    """Return the probability that the first item wins, ties aside."""
    small = np.exp(-np.abs(d))
    likely: Float = 1.0 / (1.0 + small)
    return np.where(d >= 0, likely, small * likely)


def outcome_probabilities(d: Float, theta: float | None = None) -> Float:
    """Return the probabilities of the outcomes.

    Parameters
    ----------
    d : ndarray, shape (k,)
    theta : float, optional
        Davidson's θ; minus infinity where there are no ties.

    Returns
    -------
    ndarray, shape (k, 2) or, with θ, (k, 3)
        That the first item wins, that the second does, and a tie.

    Examples
    --------
    >>> outcome_probabilities(np.zeros(1)), outcome_probabilities(np.zeros(1), np.log(2.0))
    (array([[0.5, 0.5]]), array([[0.25, 0.25, 0.5 ]]))
    """
    if theta is None:
        return np.column_stack([decided_probability(d), decided_probability(-d)])
    return np.column_stack(_three(d, theta)[:3])


def observed_probabilities(outcomes: Float, tie: NDArray[np.bool_] | None) -> Float:
    """Return how probable the observed outcomes were.

    Parameters
    ----------
    outcomes : ndarray, shape (k, 2) or (k, 3)
        As `outcome_probabilities` returns them; the first item won unless it was a tie.
    tie : ndarray of bool, shape (k,), or None
        Which votes are ties. One that counts as half a vote for each item has the geometric mean of their two
        probabilities.

    Returns
    -------
    ndarray, shape (k,)

    Examples
    --------
    >>> observed_probabilities(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([False, True]))
    array([0.8, 0.4])
    """
    if tie is None:
        return np.asarray(outcomes[:, 0])
    half = np.sqrt(outcomes[:, 0] * outcomes[:, 1]) if outcomes.shape[1] == 2 else outcomes[:, 2]
    return np.asarray(np.where(tie, half, outcomes[:, 0]))


def loss_errors(votes: Votes, point: VoteLoss, d: Float, theta: float | None, error: Float) -> tuple[float, Float]:
    """Bound the rounding errors of the loss, and of the gradient of each row.

    Parameters
    ----------
    votes, point, d, theta
        A point and where it was evaluated.
    error : ndarray, shape (k,)
        How far each difference may be from the one that was meant.

    Returns
    -------
    (float, ndarray of shape (k,))
    """
    total = votes.total
    size = np.abs(d) + (0.0 if theta is None else abs(theta))
    moved = error + sum_error(8) * size  # an exponential is as wrong as its argument
    gradient = total * (moved / 4 + sum_error(32))
    value = float((np.abs(point.gradient) * moved + total * (moved**2 / 8 + sum_error(16) * (size + 1.0))).sum())
    return value + sum_error(len(d) + 8) * point.value, gradient
