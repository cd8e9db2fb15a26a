r"""The expected likelihood of votes where differences of scores are not known, but normally distributed.

For ``d ~ N(mean, variance)`` the variational approximation of a posterior needs the means of the first two derivatives
of the loss of a vote [OA09]_. For Bradley-Terry these are ``n E[p(d)] - won`` and ``n E[p(d) (1 - p(d))]``, by Gauss
and Hermite's rule; for squared errors ``(z - d)²`` of votes ``z = 1, -1`` or 0 for a tie, divided by ``2 σ²``, they are
``(n d - (won - lost)) / σ²`` and ``n / σ²``, whatever the variance is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from kernelrank.arrays import Float
from kernelrank.comparisons.votes import Votes
from kernelrank.losses.vote_likelihood import decided_probability

__all__ = ["LogisticVotes", "SquaredVotes", "VoteModel"]

NODES = 21
"""The points of the rule: enough for nine digits where the standard deviation of a difference is below 4."""


class VoteModel(Protocol):
    """How probable votes are, given the difference of two scores."""

    def expected(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean gradient and the mean curvature of each row, for normal differences."""
        ...

    def expected_loss(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean loss of each row, and its variance beyond second order."""
        ...

    def fitted(self, votes: Votes, d: Float, freedom: float) -> VoteModel:
        """Return the model with the noise variance of the residuals, with `freedom` degrees of freedom used."""
        ...

    def probability(self, d: Float, variance: Float) -> Float:
        """Return the probability that the first item wins the next vote; a tie is half a win."""
        ...


@dataclass(frozen=True)
class LogisticVotes:
    """Bradley and Terry's likelihood; a tie is half a vote each way."""

    def expected(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean gradient and the mean curvature of each row.

        Parameters
        ----------
        votes : Votes
        d, variance : ndarray, shape (k,)
            Means and variances of the differences.

        Returns
        -------
        (ndarray, ndarray), each of shape (k,)

        Examples
        --------
        >>> votes = Votes.count(2, np.array([[0, 1], [0, 1], [1, 0]]))
        >>> gradient, curvature = LogisticVotes().expected(votes, np.zeros(1), np.zeros(1))
        >>> gradient.round(6), curvature.round(6)
        (array([-0.5]), array([0.75]))
        """
        win, curvature = _expected_logistic(d, variance)
        total = votes.total
        return total * win - votes.won - votes.tied / 2, total * curvature

    def expected_loss(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean of minus the logarithm of the likelihood of each row, and its variance beyond second order.

        The latter is the variance of what the parabola with the mean gradient and the mean curvature leaves of the
        loss.

        Parameters
        ----------
        votes, d, variance
            As in `expected`.

        Returns
        -------
        (ndarray, ndarray), each of shape (k,)
        """
        points, weights = _rule()
        for_first, for_second, total = votes.won + votes.tied / 2, votes.lost + votes.tied / 2, votes.total
        gradient, curvature = self.expected(votes, d, variance)
        std, mean, rest = np.sqrt(variance), np.zeros_like(d), np.zeros_like(d)
        losses = []
        for point, weight in zip(points, weights, strict=True):
            x = d + point * std
            loss = total * np.log1p(np.exp(-np.abs(x))) + np.where(x >= 0, for_second, -for_first) * x
            mean += weight * loss
            losses.append(loss - gradient * (x - d) - 0.5 * curvature * ((x - d) ** 2 - variance))
        for weight, loss in zip(weights, losses, strict=True):
            rest += weight * (loss - mean) ** 2
        return mean, rest

    def fitted(self, votes: Votes, d: Float, freedom: float) -> LogisticVotes:  # noqa: ARG002
        """Return the model: votes of this likelihood have no noise of their own."""
        return self

    def probability(self, d: Float, variance: Float) -> Float:
        """Return the mean probability that the first item wins."""
        return _expected_logistic(d, variance)[0]


@dataclass(frozen=True)
class SquaredVotes:
    """Votes as numbers, 1, -1 or 0 for a tie, with normal noise of variance σ².

    Parameters
    ----------
    noise : float, default=1.0
        σ².
    """

    noise: float = 1.0

    def expected(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:  # noqa: ARG002
        """Return the gradient and the curvature of each row, as in `LogisticVotes.expected`."""
        total = votes.total
        return (total * d - votes.won + votes.lost) / self.noise, total / self.noise

    def expected_loss(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean loss of each row up to a constant, and zeros, as in `LogisticVotes.expected_loss`."""
        squares = votes.won * (1.0 - d) ** 2 + votes.lost * (1.0 + d) ** 2 + votes.tied * d**2
        return (squares + votes.total * variance) / (2.0 * self.noise), np.zeros_like(d)

    def fitted(self, votes: Votes, d: Float, freedom: float) -> SquaredVotes:
        """Return the model with the variance of the residuals."""
        squares = votes.won * (1.0 - d) ** 2 + votes.lost * (1.0 + d) ** 2 + votes.tied * d**2
        total = float(votes.total.sum())
        return SquaredVotes(max(float(squares.sum()), 1e-6 * total) / max(total - freedom, total / 2))

    def probability(self, d: Float, variance: Float) -> Float:
        """Return the probability that the vote, which is normal here, is above zero."""
        from scipy.special import ndtr

        return np.asarray(ndtr(d / np.sqrt(self.noise + variance)))


@cache
def _rule() -> tuple[Float, Float]:
    """Return the points and weights of Gauss and Hermite's rule for the standard normal distribution."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return points, weights / weights.sum()


def _expected_logistic(d: Float, variance: Float) -> tuple[Float, Float]:
    """Return the means of p and of p (1 - p), p = 1 / (1 + exp(-x)), for normal x."""
    if not np.any(variance):
        win = decided_probability(d)
        return win, win * decided_probability(-d)
    points, weights = _rule()
    std = np.sqrt(variance)
    win, curvature = np.zeros_like(d), np.zeros_like(d)
    for point, weight in zip(points, weights, strict=True):
        x = d + point * std
        small, above = np.exp(-np.abs(x)), x >= 0
        likely = 1.0 / (1.0 + small)
        unlikely = small * likely
        p = np.where(above, likely, unlikely)
        win += weight * p
        curvature += weight * p * np.where(above, unlikely, likely)
    return win, curvature
