r"""Scores of items with features, with both of their variances integrated out.

Scores are ``f = X w + u`` with ``w ~ N(0, τ_w²)`` and deviations ``u ~ N(0, τ_u²)`` of single items. Single estimates
would be doubtful here: n features say little about τ_w, and where features explain almost everything, τ_u is near zero
and skewed. So both are integrated out, as in `score_mixture`: values of ``(log τ_w, log τ_u)`` on a lattice have the
weight of their prior times the exponential of

``evidence = -E[loss] + ½ (Σ log q + log det A⁻¹ - Σ q (μ² + diag A⁻¹)) + ½ Σ_e Var[rest_e]``,

up to a constant, with q the precision ``1 / τ²`` of each coefficient. The lattice starts at the estimate of
`score_estimate` and grows to all neighbours of values whose weight is not small. Its steps are about two standard
deviations of log τ: sums over a lattice of such steps integrate smooth densities to one or two per cent.

The prior of τ_u is that of `score_mixture`. For features it is that of ``√n τ_w``, the standard deviation of ``w · x``,
without its root: ``p ∝ exp(-n τ_w² / 8)``. The unit is the logit; scores of least squares are half as large for small
ones. The variance of a vote is that of `score_estimate` for all values.

The mixture has one precision for differences: that of the τ_w and τ_u around their means in logarithms whose mean
variance is that of the mixture. How a variance depends on τ_u differs widely between items with many votes and items
without a vote, so that the variance of each score is kept for each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.estimators import score_mixture
from kernelrank.losses.expected_votes import LogisticVotes
from kernelrank.votes.score_estimate import SEEN, ScoreEstimate
from kernelrank.votes.votes import Votes

__all__ = ["mix_feature_scores"]

STEP, LONGEST_STEP = 2.0, 0.8
"""The step in log τ: so many of its standard deviations, but no longer."""

FADED, DROPPED = 3.0, 7.0
"""Where the logarithm of the weight is so much below the largest, the lattice ends; and where values are left out."""

PASSES, TOLERANCE, LONGEST_MOVE = 30, 3e-3, 3.0
"""As in `score_estimate`, for each value."""

MATCHES = 4
"""How often the precision for differences is corrected."""

Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class _Component:
    """The posterior for one pair of variances.

    The mean of the coefficients, the variances of differences of compared items and of scores less the mean of voted
    items, and the logarithm of its weight.
    """

    mean: Float
    pairs: Float
    variances: Float
    log_weight: float


def mix_feature_scores(votes: Votes, X: Float, estimate: ScoreEstimate, unknown: Float) -> ScoreEstimate:
    """Integrate out the variances of features and deviations, unless there are many items or they do not matter.

    Parameters
    ----------
    votes : Votes
    X : ndarray, shape (m, n)
        Standardised features.
    estimate : ScoreEstimate
        That of `estimate_scores`, with the coefficients of features first.
    unknown : ndarray, shape (n + m,)
        The posterior variance of each coefficient beside that of its prior.

    Returns
    -------
    ScoreEstimate

    Notes
    -----
    Some 20 to 60 values with 2 to 10 passes each, O(k + (m + n)³) time a pass.
    """
    m, n = X.shape
    freedom = np.array([n - unknown[:n].sum(), m - unknown[n:].sum()])
    open_share = (m - 1 - freedom.sum()) / m
    if m + n > score_mixture.MIXED_LIMIT or open_share < score_mixture.FEW_OPEN:
        return estimate
    unit = 1.0 if isinstance(estimate.model, LogisticVotes) else 0.5
    problem = _Problem(votes, X, estimate, np.array([unit / np.sqrt(n), unit]))
    low, high = np.log(score_mixture.LOWEST), np.log(score_mixture.HIGHEST)
    start = np.clip(-0.5 * np.log(estimate.prior[[0, -1]]) - np.log(problem.sizes), low, high)
    step = np.minimum(LONGEST_STEP, STEP * np.sqrt(0.5 / (np.maximum(freedom, 0.0) + SEEN)))
    found = {(0, 0): problem.component(start, estimate.mean, np.zeros(len(votes.pairs)))}
    ends = [(0, 0)]
    while ends:
        ends.sort(key=lambda place: found[place].log_weight)
        here = ends.pop()
        if found[here].log_weight < max(one.log_weight for one in found.values()) - FADED:
            break
        for place in _neighbours(here):
            log = start + step * np.array(place)
            if place not in found and low <= log.min() and log.max() <= high:
                found[place] = problem.component(log, found[here].mean, found[here].pairs)
                ends.append(place)
    least = max(one.log_weight for one in found.values()) - DROPPED
    kept = [place for place, one in found.items() if one.log_weight > least]
    return problem.mixture(start + step * np.array(kept), [found[place] for place in kept])


def _neighbours(place: Place) -> list[Place]:
    first, second = place
    return [(first + 1, second), (first - 1, second), (first, second + 1), (first, second - 1)]


class _Problem:
    """Votes on items that have features, and a deviation each."""

    def __init__(self, votes: Votes, X: Float, estimate: ScoreEstimate, sizes: Float) -> None:
        self.X, self.sizes, self.given = X, sizes, (votes, estimate.model)
        self.model, self.votes = estimate.model.freeze(votes, votes.differences(self.scores(estimate.mean)))
        head, tail, m = votes.head, votes.tail, votes.n_items
        self.places = np.concatenate([head * m + head, tail * m + tail, head * m + tail, tail * m + head])
        self.voted: Index = np.flatnonzero(votes.item_totals(votes.total) > 0)

    def prior(self, logs: Float) -> Float:
        """Return q for the logarithms of √n τ_w and τ_u, in logits."""
        m, n = self.X.shape
        return np.repeat(np.exp(-2.0 * logs) / self.sizes**2, [n, m])

    def scores(self, c: Float) -> Float:
        """Return ``X w + u`` for coefficients ``c = (w, u)``."""
        n = self.X.shape[1]
        return np.asarray(self.X @ c[:n] + c[n:])

    def inverse(self, curvature: Float, q: Float) -> tuple[Float, float]:
        """Return the inverse of ``A = Φᵀ Dᵀ diag(curvature) D Φ + diag(q)``, Φ = (X, I), and its log determinant."""
        X, (m, n) = self.X, self.X.shape
        weights = np.concatenate([curvature, curvature, -curvature, -curvature])
        A = np.empty((n + m, n + m))
        A[n:, n:] = np.bincount(self.places, weights=weights, minlength=m * m).reshape(m, m)
        A[n:, :n] = A[n:, n:] @ X
        A[:n, n:] = A[n:, :n].T
        A[:n, :n] = X.T @ A[n:, :n]
        A[np.diag_indices(n + m)] += q
        factor, _ = lapack.dpotrf(A, lower=0, clean=1)  # q > 0 is large enough: no τ is above HIGHEST
        inverse, _ = lapack.dpotri(factor, lower=0)
        return np.triu(inverse) + np.triu(inverse, 1).T, -2.0 * float(np.log(np.diagonal(factor)).sum())

    def covariance(self, inverse: Float) -> Float:
        """Return the covariance of scores, ``Φ A⁻¹ Φᵀ``."""
        X, n = self.X, self.X.shape[1]
        half = X @ (inverse[:n, n:] + 0.5 * inverse[:n, :n] @ X.T)
        return np.asarray(inverse[n:, n:] + half + half.T)

    def pair_variances(self, S: Float) -> Float:
        """Return the variances of the differences of compared items."""
        head, tail, own = self.votes.head, self.votes.tail, np.diagonal(S)
        return np.asarray(np.maximum(own[head] + own[tail] - 2.0 * S[head, tail], 0.0))

    def centred_variances(self, S: Float) -> Float:
        """Return the variances of scores less the mean score of voted items."""
        mean = S[:, self.voted].mean(axis=1)
        return np.asarray(np.maximum(np.diagonal(S) - 2.0 * mean + mean[self.voted].mean(), 1e-12))

    def component(self, logs: Float, mean: Float, variance: Float) -> _Component:
        """Find the posterior for one pair of variances from the mean and variances of another."""
        votes, q = self.votes, self.prior(logs)
        for _ in range(PASSES):
            gradient, curvature = self.model.expected(votes, votes.differences(self.scores(mean)), variance)
            inverse, log_det = self.inverse(curvature, q)
            items = votes.item_sums(gradient)
            moved = -inverse @ (np.concatenate([self.X.T @ items, items]) + q * mean)
            longest = float(np.abs(votes.differences(self.scores(moved))).max())
            mean = mean + moved * min(1.0, LONGEST_MOVE / max(longest, LONGEST_MOVE))
            S = self.covariance(inverse)
            before, variance = variance, self.pair_variances(S)
            if max(longest, float((np.abs(variance - before) / (1.0 + variance)).max())) <= TOLERANCE:
                break
        loss, rest = self.model.expected_loss(votes, votes.differences(self.scores(mean)), variance)
        evidence = float(np.log(q).sum()) + log_det - float(q @ (mean**2 + np.diagonal(inverse)))
        evidence = 0.5 * (evidence + float(rest.sum())) - float(loss.sum())
        prior = score_mixture.prior_log_density(float(np.exp(logs[1])))
        prior += score_mixture.prior_log_density(float(np.exp(logs[0]))) - 0.5 * float(logs[0])
        return _Component(mean, variance, self.centred_variances(S), evidence + prior)

    def mixture(self, logs: Float, found: list[_Component]) -> ScoreEstimate:
        """Add the components up."""
        weight = np.array([one.log_weight for one in found])
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        means, own = np.array([one.mean for one in found]), np.array([one.variances for one in found])
        scores = np.array([self.scores(one.mean) for one in found])
        scores -= scores[:, self.voted].mean(axis=1)[:, None]
        mean, average = weight @ means, own.mean(axis=1)
        log, pairs = weight @ logs, found[int(np.argmax(weight))].pairs
        votes, model = self.given
        for _ in range(MATCHES):
            q, d = self.prior(log), votes.differences(self.scores(mean))
            curvature = model.expected(votes, d, pairs)[1]
            S = self.covariance(self.inverse(curvature, q)[0])
            pairs, variances = self.pair_variances(S), self.centred_variances(S)
            log = log + 0.5 * np.log(float(weight @ average) / float(variances.mean()))
        spread = average + ((scores - weight @ scores) ** 2).mean(axis=1)
        moves = np.ascontiguousarray((np.sqrt(weight)[:, None] * (means - mean)).T)
        scales = np.stack([weight, spread / float(weight @ spread), average / float(weight @ average)])
        item_scales = np.ascontiguousarray((own / variances).T)
        return ScoreEstimate(mean, curvature, q, moves, model, scales, item_scales)
