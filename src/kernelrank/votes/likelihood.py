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

from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.hinge.pairs import sum_error
from kernelrank.votes.votes import Votes


@dataclass(frozen=True)
class VoteLoss:
    """Minus the logarithm of the likelihood of votes, and its derivatives.

    Shapes: gradient, curvature (k,), cross (k,).
    """

    value: float
    gradient: Float
    curvature: Float
    tie_gradient: float = 0.0
    tie_curvature: float = 0.0
    cross: Float | None = None


def vote_loss(votes: Votes, d: Float, theta: float | None = None) -> VoteLoss:
    """Evaluate minus the logarithm of the likelihood.

    O(k) time. All sums are of terms with one sign.

    Shapes: d (k,).
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

    Shapes: d (k,); returns (k, 2).

    theta: Davidson's θ; minus infinity where there are no ties.
    """
    if theta is None:
        return np.column_stack([decided_probability(d), decided_probability(-d)])
    return np.column_stack(_three(d, theta)[:3])


def observed_probabilities(outcomes: Float, tie: NDArray[np.bool_] | None) -> Float:
    """Return how probable the observed outcomes were.

    Shapes: outcomes (k, 2) or (k, 3), tie (k,); returns (k,).
    """
    if tie is None:
        return np.asarray(outcomes[:, 0])
    half = np.sqrt(outcomes[:, 0] * outcomes[:, 1]) if outcomes.shape[1] == 2 else outcomes[:, 2]
    return np.asarray(np.where(tie, half, outcomes[:, 0]))


def loss_errors(votes: Votes, point: VoteLoss, d: Float, theta: float | None, error: Float) -> tuple[float, Float]:
    """Bound the rounding errors of the loss, and of the gradient of each row.

    Shapes: error (k,); returns (k,).
    """
    total = votes.total
    size = np.abs(d) + (0.0 if theta is None else abs(theta))
    moved = error + sum_error(8) * size  # an exponential is as wrong as its argument
    gradient = total * (moved / 4 + sum_error(32))
    value = float((np.abs(point.gradient) * moved + total * (moved**2 / 8 + sum_error(16) * (size + 1.0))).sum())
    return value + sum_error(len(d) + 8) * point.value, gradient


# Expected votes -------------------------------------------------------------------------------------------------------
#
# The expected likelihood of votes where differences of scores are not known, but normally distributed.
#
# For ``d ~ N(mean, variance)`` the variational approximation of a posterior needs the means of the first two
# derivatives of the loss of a vote [OA09]_. For Bradley-Terry these are ``n E[p(d)] - won`` and ``n E[p(d) (1 -
# p(d))]``, by Gauss and Hermite's rule; for squared errors ``(z - d)²`` of votes ``z = 1, -1`` or 0 for a tie, divided
# by ``2 σ²``, they are ``(n d - (won - lost)) / σ²`` and ``n / σ²``, whatever the variance is.
#
# **Ties.** A tie counts as half a vote each way, so that a vote varies less than one without ties: with a mean of p its
# variance is ``p (1 - p) - t / 4`` for the probability t of a tie. The likelihood assumes ``p (1 - p)``, and would make
# scores less certain than they are. Its derivatives are therefore multiplied by what a vote is worth,
# ``w = p (1 - p) / (p (1 - p) - t / 4)``: then they are those of the quasi-likelihood [Wed74]_, whose curvature is its
# precision. Davidson's model [Dav70]_, where a tie has ν times the root of the product of the other two probabilities,
# gives t. With ``c = p (1 - p)``,
#
# ``t = 4 c / (1 + r)`` and ``w = 1 + 1 / r``, ``r² = 1 - 4 c + 16 c / ν²``.
#
# Two equal items whose votes are ties in half of the cases have ``w = 2``; without ties w is 1.


@dataclass(frozen=True)
class LogisticVotes:
    """Bradley and Terry's likelihood; a tie is half a vote each way."""

    tie_odds: float = 0.0

    def expected(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean gradient and the mean curvature of each row.

        Shapes: d, variance (k,); returns (k,).
        """
        win, curvature = _expected_logistic(d, variance)
        total = votes.total
        gradient, curvature = total * win - votes.won - votes.tied / 2, total * curvature
        if self.tie_odds:
            worth = self.worth(win)
            return worth * gradient, worth * curvature
        return gradient, curvature

    def worth(self, p: Float) -> Float:
        """Return by how many votes of a model without ties one vote is matched, where its mean is p."""
        return 1.0 + 1.0 / self._root(p) if self.tie_odds else np.ones_like(p)

    def _root(self, p: Float) -> Float:
        """Return r."""
        c = p * (1.0 - p)
        return np.asarray(np.sqrt((1.0 - 2.0 * p) ** 2 + 16.0 * c / self.tie_odds**2))

    def ties(self, p: Float) -> Float:
        """Return the probability of a tie where the mean of a vote is p."""
        return 4.0 * p * (1.0 - p) / (1.0 + self._root(p)) if self.tie_odds else np.zeros_like(p)

    def decided(self, p: Float) -> Float:
        """Return the probability that the first item wins a vote that is no tie."""
        return 0.5 + (p - 0.5) / (1.0 - self.ties(p)) if self.tie_odds else p

    def freeze(self, votes: Votes, d: Float) -> tuple[LogisticVotes, Votes]:
        """Return the model without ties, and votes that weigh what they are worth at some differences.

        The evidence of several models can be compared only if votes weigh the same in all of them.
        """
        if not self.tie_odds:
            return self, votes
        worth = self.worth(decided_probability(d))
        return LogisticVotes(), replace(votes, won=worth * votes.won, lost=worth * votes.lost, tied=worth * votes.tied)

    def expected_loss(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean of minus the logarithm of the likelihood of each row, and its variance beyond second order.

        The latter is the variance of what the parabola with the mean gradient and the mean curvature leaves of the
        loss.

        Shapes: returns (k,).
        """
        points, weights = _rule(variance)
        gradient, curvature = self.expected(votes, d, variance)
        std, mean, rest = np.sqrt(variance), np.zeros_like(d), np.zeros_like(d)
        losses = []
        for point, weight in zip(points, weights, strict=True):
            x = d + point * std
            loss = self.loss(votes, x)
            mean += weight * loss
            losses.append(loss - gradient * (x - d) - 0.5 * curvature * ((x - d) ** 2 - variance))
        for weight, loss in zip(weights, losses, strict=True):
            rest += weight * (loss - mean) ** 2
        return mean, rest

    def loss(self, votes: Votes, d: Float) -> Float:
        """Return minus the logarithm of the likelihood of each row, without what ties are worth."""
        for_first, for_second = votes.won + votes.tied / 2, votes.lost + votes.tied / 2
        return votes.total * np.log1p(np.exp(-np.abs(d))) + np.where(d >= 0, for_second, -for_first) * d

    def fitted(self, votes: Votes, d: Float, freedom: float) -> LogisticVotes:  # noqa: ARG002
        """Return the model with the odds of ties at which as many are expected as there are.

        Two more votes that are no ties keep the odds finite, and make scores rather too uncertain where votes are
        few.
        """
        tied, total = float(votes.tied.sum()), float(votes.total.sum())
        if tied == 0:
            return self
        p = decided_probability(d)
        observed = tied / (total - tied + 2.0)
        model = LogisticVotes(2.0 * observed)
        for _ in range(4):
            expected = float(votes.total @ model.ties(p))
            model = LogisticVotes(model.tie_odds * observed * (total - expected) / expected)
        return model

    def probability(self, d: Float, variance: Float) -> Float:
        """Return the mean probability that the first item wins."""
        return _expected_logistic(d, variance)[0]


@dataclass(frozen=True)
class DavidsonVotes(LogisticVotes):
    """Davidson's likelihood; `tie_odds` is ``exp(θ)``, positive."""

    def expected(self, votes: Votes, d: Float, variance: Float) -> tuple[Float, Float]:
        """Return the mean gradient and the mean curvature of each row, as in `LogisticVotes.expected`."""
        points, weights = _rule(variance)
        std, gradient, curvature = np.sqrt(variance), np.zeros_like(d), np.zeros_like(d)
        for point, weight in zip(points, weights, strict=True):
            found = vote_loss(votes, d + point * std, float(np.log(self.tie_odds)))
            gradient += weight * found.gradient
            curvature += weight * found.curvature
        return gradient, curvature

    def loss(self, votes: Votes, d: Float) -> Float:
        """Return minus the logarithm of the likelihood of each row."""
        theta = float(np.log(self.tie_odds))
        log_sum = _three(d, theta)[3]
        return votes.total * log_sum - (votes.won - votes.lost) * d / 2 - votes.tied * theta

    def worth(self, p: Float) -> Float:
        """Return ones: ties have a probability of their own."""
        return np.ones_like(p)

    def freeze(self, votes: Votes, d: Float) -> tuple[LogisticVotes, Votes]:  # noqa: ARG002
        """Return model and votes: θ was estimated."""
        return self, votes

    def fitted(self, votes: Votes, d: Float, freedom: float) -> DavidsonVotes:  # noqa: ARG002
        """Return the model with the likeliest θ, by Newton's method."""
        theta = float(np.log(self.tie_odds))
        for _ in range(50):
            found = vote_loss(votes, d, theta)
            step = float(np.clip(-found.tie_gradient / max(found.tie_curvature, 1e-300), -1.0, 1.0))
            theta = float(np.clip(theta + step, -30.0, 30.0))
            if abs(step) < 1e-12:
                break
        return DavidsonVotes(float(np.exp(theta)))

    def probability(self, d: Float, variance: Float) -> Float:
        """Return the mean of a vote, in which a tie counts half."""
        return np.asarray(self.outcomes(d, variance) @ [1.0, 0.0, 0.5])

    def outcomes(self, d: Float, variance: Float) -> Float:
        """Return the mean probabilities of win, loss and tie, shape (k, 3)."""
        points, weights = _rule(variance)
        total, std, theta = np.zeros((len(d), 3)), np.sqrt(variance), float(np.log(self.tie_odds))
        for point, weight in zip(points, weights, strict=True):
            total += weight * outcome_probabilities(d + point * std, theta)
        return total


@dataclass(frozen=True)
class SquaredVotes:
    """Votes as numbers, 1, -1 or 0 for a tie, with normal noise of variance σ²."""

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

    def decided(self, p: Float) -> Float:
        """Return p: a vote is a number here, and zero has no probability."""
        return p

    def freeze(self, votes: Votes, d: Float) -> tuple[SquaredVotes, Votes]:  # noqa: ARG002
        """Return model and votes: the noise was estimated with ties among the votes."""
        return self, votes


VoteModel: TypeAlias = LogisticVotes | SquaredVotes
"""How probable votes are, given the difference of two scores."""


def _rule(variance: Float) -> tuple[Float, Float]:
    """Return the points and weights of a rule that is good to nine digits for these variances."""
    largest = float(np.max(variance, initial=0.0))
    return _points(21 if largest > 0.05 else 7 if largest > 0.0 else 1)


@cache
def _points(count: int) -> tuple[Float, Float]:
    """Return the points and weights of Gauss and Hermite's rule for the standard normal distribution."""
    # 21 points give nine digits where the standard deviation of a difference is below 4.
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return points, weights / weights.sum()


def _expected_logistic(d: Float, variance: Float) -> tuple[Float, Float]:
    """Return the means of p and of p (1 - p), p = 1 / (1 + exp(-x)), for normal x."""
    if not np.any(variance):
        win = decided_probability(d)
        return win, win * decided_probability(-d)
    points, weights = _rule(variance)
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
