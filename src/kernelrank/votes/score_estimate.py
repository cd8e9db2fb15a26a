r"""Scores of items from votes, with an estimated regularisation strength.

Scores are ``f = Φ c`` with independent normal coefficients: those of features have the variance ``τ_w²``, the
deviations of single items ``τ_u²``, a penalty of ``1 / (2 τ²)`` on each squared coefficient. Given these, the posterior
of c is approximated by the normal distribution with mean μ and precision A that is nearest to it in Kullback and
Leibler's divergence [OA09]_: with ``d ~ N(D Φ μ, diag(D Φ A⁻¹ Φᵀ Dᵀ))`` for the differences of compared items,

``Φᵀ Dᵀ E[loss'(d)] + q μ = 0`` and ``A = Φᵀ Dᵀ diag(E[loss''(d)]) D Φ + diag(q)``, ``q = 1 / τ²``.

Each pass takes one Newton step in μ, computes the variances of d anew, and updates each variance by

``τ² = (‖μ‖² + ν s²) / (γ + ν - 2)``, ``γ = n - Σ q diag(A⁻¹)``,

the mean of a scaled inverse χ² distribution with γ + ν degrees of freedom: the prior of τ² is that of ν coefficients of
size s seen before. The distribution is skewed: its mode, with γ + ν + 2 in the denominator, is smaller than its mean,
and much smaller where items and votes are few; intervals would be shorter. Taking the mode of the scores and the
curvature at it for mean and precision (Laplace) would make variances smaller yet. Intervals take Student's quantile at
γ + ν degrees of freedom. For up to 400 coefficients variances are integrated out instead (`score_mixture`, and
`feature_mixture` with features); least squares without features keeps the estimate.
``benchmarks/leaderboard_intervals_cover.py`` measures the coverage of the intervals, and
``leaderboard_intervals_with_features_cover.py`` that with features.

How far variances are uncertain is part of the posterior of scores: ``log τ²`` has a variance of about ``2 / (γ + ν)``
and moves the mean by ``A⁻¹ q μ``. What this adds is kept as one column for each variance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.features import ColumnFeatures
from kernelrank.votes.likelihood import LogisticVotes, SquaredVotes, VoteModel, decided_probability, vote_loss
from kernelrank.votes.newton import DensePrecision, Unknowns, VoteNewton, VotePrecision, VoteProblem, precision_of
from kernelrank.votes.votes import Votes

SEEN = 2.1
"""ν: a prior with a mean, so that votes that say nothing have a finite variance, and a weak one."""

USUAL_SIZE = {"bradley_terry": 0.5, "least_squares": 0.25}
"""s of scores in their unit: logits, or differences of votes that are 1 or -1, half as large for small ones."""

PASSES, TOLERANCE, ROUGH = 200, 1e-6, 1e-3
"""The largest number of passes, and the changes of scores and of logarithms of variances that end them; the latter for
many items, whose variances are estimates."""

LONGEST_STEP = 3.0
"""No difference moves farther in one pass."""

FEW_DRAWS = 16
"""For passes over many items."""


@dataclass(frozen=True, eq=False)
class ScoreEstimate:
    """The normal posterior of the coefficients of a model of votes.

    Shapes: mean (p,), curvature (k,), prior (p,), moves (p, number of estimated variances), scales (3, values of the
    variance), item_scales (m, values of the variances).

    moves: By how much coefficients move with one standard deviation of each logarithm of a variance; or, where it is
    integrated out, with each of its values, times the root of its weight.
    """

    mean: Float
    curvature: Float
    prior: Float
    moves: Float
    model: VoteModel
    scales: Float = field(default_factory=lambda: np.zeros((3, 0)))
    item_scales: Float | None = None


def estimate_scores(
    kind: str, features: ColumnFeatures, votes: Votes, *, sizes: list[tuple[slice, float]], seed: int = 0
) -> ScoreEstimate:
    """Estimate scores and the variances of their prior.

    About 10 to 30 passes, each of O(k + p³) time up to `DENSE_LIMIT` coefficients; beyond, O((nnz + k) draws) for each
    step of conjugate gradients.
    """
    model: VoteModel = LogisticVotes() if kind == "bradley_terry" else SquaredVotes()
    groups = [(part, (USUAL_SIZE[kind] * size) ** 2) for part, size in sizes]
    mean, variance = np.zeros(features.n_columns), np.zeros(len(votes.pairs))
    prior = np.empty(features.n_columns)
    for part, size in groups:
        prior[part] = 1.0 / size
    for _ in range(PASSES):
        precision, curvature, moved = _newton_step(model, features, votes, mean, variance, prior, seed)
        mean = mean + moved
        before, variance = variance, precision.pair_variances()
        freedom = prior * precision.coefficient_variances()
        changes = [_update(prior, part, mean, freedom, size) for part, size in groups]
        d = votes.differences(features.multiply(mean))
        model, earlier = model.fitted(votes, d, len(mean) - float(freedom.sum())), model
        changes += [_size(moved), _size(variance - before), _noise_change(model, earlier)]
        if max(changes) <= (TOLERANCE if isinstance(precision, DensePrecision) else ROUGH):
            break
    precision, curvature, _ = _newton_step(model, features, votes, mean, variance, prior, seed)
    freedom = prior * precision.coefficient_variances()
    moves = np.zeros((len(mean), len(groups)))
    for column, (part, _) in enumerate(groups):
        pull = np.zeros_like(mean)
        pull[part] = prior[part] * mean[part]
        used = len(mean[part]) - float(freedom[part].sum())
        moves[:, column] = np.sqrt(2.0 / (used + SEEN)) * precision.solve(pull)
    return ScoreEstimate(mean, curvature, prior, moves, model)


def _newton_step(
    model: VoteModel, features: ColumnFeatures, votes: Votes, mean: Float, variance: Float, prior: Float, seed: int
) -> tuple[VotePrecision, Float, Float]:
    """Return A, the curvature of each row, and the step from the mean."""
    gradient, curvature = model.expected(votes, votes.differences(features.multiply(mean)), variance)
    precision = precision_of(features, votes, curvature, prior, seed=seed, draws=FEW_DRAWS)
    step = precision.solve(-features.transpose_multiply(votes.item_sums(gradient)) - prior * mean)
    longest = float(np.abs(votes.differences(features.multiply(step))).max())
    return precision, curvature, step * min(1.0, LONGEST_STEP / longest) if longest > 0 else step


def _update(prior: Float, part: slice, mean: Float, freedom: Float, size: float) -> float:
    """Set the prior of one group of coefficients; return by how much its logarithm changed."""
    used = max(len(mean[part]) - float(freedom[part].sum()), 0.0)
    new = (used + SEEN - 2.0) / (float(mean[part] @ mean[part]) + SEEN * size)
    change = float(np.clip(np.log(new / prior[part][0]), -1.5, 1.5))
    prior[part] *= np.exp(change)
    return abs(change)


def _noise_change(model: VoteModel, earlier: VoteModel) -> float:
    """Return by how much the logarithm of the noise of votes changed, or the odds of ties."""
    if isinstance(model, SquaredVotes) and isinstance(earlier, SquaredVotes):
        return abs(float(np.log(model.noise / earlier.noise)))
    if isinstance(model, LogisticVotes) and isinstance(earlier, LogisticVotes):
        return abs(model.tie_odds - earlier.tie_odds) / (1.0 + earlier.tie_odds)
    return 0.0


def _size(changes: Float) -> float:
    return float(np.sqrt(np.mean(changes**2)))


def scores_at(kind: str, features: ColumnFeatures, votes: Votes, alpha: float, seed: int = 0) -> ScoreEstimate:
    """Return scores for one alpha: those of `BradleyTerry` or of `RankRLS`, with Laplace's approximation.

    alpha: The penalty of each squared coefficient.
    """
    p = features.n_columns
    if kind == "bradley_terry":
        mean = VoteNewton().solve(VoteProblem(features, votes, Unknowns(), 1.0), alpha).unknowns[:, 0]
        d = votes.differences(features.multiply(mean))
        curvature, with_ties = vote_loss(votes, d).curvature, LogisticVotes().fitted(votes, d, 0.0)
        if with_ties.tie_odds:
            curvature = curvature * with_ties.worth(decided_probability(d))
        return ScoreEstimate(mean, curvature, np.full(p, 2.0 * alpha), np.zeros((p, 0)), with_ties)
    unit = SquaredVotes()
    precision, _, mean = _newton_step(
        unit, features, votes, np.zeros(p), np.zeros(len(votes.pairs)), np.full(p, alpha), seed
    )
    used = p - alpha * float(precision.coefficient_variances().sum())
    model = unit.fitted(votes, votes.differences(features.multiply(mean)), used)
    return ScoreEstimate(mean, votes.total / model.noise, np.full(p, alpha / model.noise), np.zeros((p, 0)), model)


# Score mixture --------------------------------------------------------------------------------------------------------
#
# Scores with their variance integrated out.
#
# Votes do not determine τ, the standard deviation of scores, exactly. With a single estimate of it, intervals would be
# too wide if it is too large, and too short if it is too small. So τ is integrated out: for values around the estimate
# of `score_estimate` the posterior of the coefficients is found as there, each weighted by ``p(τ) exp(evidence(τ))``,
#
# ``evidence = -E[loss] + ½ (p log q + log det A⁻¹ + p - q (‖μ‖² + tr A⁻¹)) + ½ Σ_e Var[rest_e]``, ``q = 1 / τ²``.
#
# Without its last term this is a lower bound of the logarithm of the likelihood. The bound is lower by the divergence
# of the normal distribution from the posterior, which is half the variance of the difference of their logarithms, to
# second order. That difference is the sum over pairs of what a parabola leaves of the loss; the last term adds the
# variances of the pairs, without their covariances, which are of third order in the correlations. For one pair of items
# the error of the evidence falls from 0.04 to 0.002 at τ = 4. Without the term, τ is 5 % too small for 200 items with
# scores of standard deviation 2 and five votes each.
#
# The prior of τ, in logits, is ``p(τ) = √τ exp(-τ² / 8)``, between uniform in τ and in τ² for all but large values. The
# mean is that of the mixture; deviations of the means from it are columns of their own, beside the precision at the τ
# whose mean variance is that of the mixture. The limits of a score are quantiles of its mixture of normal
# distributions. Those of a difference reach as far as a mixture with the mean variances of all components says.

MIXED_LIMIT = 400
"""The largest number of items for which τ is integrated out: more items determine it well, and take long."""

FEW_OPEN = 0.03
"""Where the prior decides a smaller share of the scores, τ does not matter."""

MIXTURE_STEP, LOWEST, HIGHEST = 0.35, 0.02, 20.0
"""The longest step in log τ, and the range of τ."""

MIXTURE_FADED = 4.5
"""Where the logarithm of the weight is so much below the largest, values of τ end."""

MIXTURE_PASSES, MIXTURE_TOLERANCE, MIXTURE_MOVE = 60, 1e-4, 3.0
"""As in `score_estimate`, for each τ."""


def prior_log_density(tau: float) -> float:
    """Return the logarithm of the density of log τ, up to a constant."""
    return 1.5 * float(np.log(tau)) - tau**2 / 8.0


@dataclass(frozen=True, eq=False)
class _ScaleComponent:
    """The posterior for one τ.

    Its mean, the variances of differences of compared items, the logarithm of its weight, the scores of voted items
    less their mean, and the mean of the variances of these.
    """

    mean: Float
    pairs: Float
    log_weight: float
    scores: Float
    variance: float


def mix_scores(votes: Votes, estimate: ScoreEstimate, freedom: float) -> ScoreEstimate:
    """Integrate out the variance of scores, unless there are many items or it does not matter.

    Some 8 to 15 values of τ with about 10 passes each, O(k + m³) time a pass.
    """
    m = votes.n_items
    one_variance = estimate.moves.shape[1] == 1 and isinstance(estimate.model, LogisticVotes)
    if not one_variance or m > MIXED_LIMIT or m - 1 - (freedom - SEEN) < FEW_OPEN * m:
        return estimate
    centre = -0.5 * float(np.log(estimate.prior[0]))
    step = min(MIXTURE_STEP, 0.6 * float(np.sqrt(2.0 / freedom)))
    problem = _ScaleProblem(votes, estimate)
    logs, found = [centre], [problem.component(np.exp(centre), estimate.mean, np.zeros(len(votes.pairs)))]
    for direction in (step, -step):
        here, log = found[0], centre + direction
        while LOWEST < np.exp(log) < HIGHEST:
            here = problem.component(np.exp(log), here.mean, here.pairs)
            logs.append(log)
            found.append(here)
            if here.log_weight < max(one.log_weight for one in found) - MIXTURE_FADED:
                break
            log += direction
    return problem.mixture(np.array(logs), found)


class _ScaleProblem:
    """Votes on items that have one coefficient each."""

    def __init__(self, votes: Votes, estimate: ScoreEstimate) -> None:
        self.given, m = (votes, estimate.model), votes.n_items
        self.model, self.votes = estimate.model.freeze(votes, votes.differences(estimate.mean))
        head, tail = votes.head, votes.tail
        self.places = np.concatenate([head * m + head, tail * m + tail, head * m + tail, tail * m + head])
        self.voted: Index = np.flatnonzero(votes.item_totals(votes.total) > 0)

    def covariance(self, curvature: Float, q: float) -> Float:
        """Return the inverse of ``A = Dᵀ diag(curvature) D + q I``."""
        m = self.votes.n_items
        weights = np.concatenate([curvature, curvature, -curvature, -curvature])
        A: Float = np.bincount(self.places, weights=weights, minlength=m * m).astype(np.float64).reshape(m, m)
        A[np.diag_indices(m)] += q
        return np.asarray(np.linalg.inv(A))

    def pair_variances(self, S: Float) -> Float:
        """Return the variances of the differences of compared items."""
        head, tail, own = self.votes.head, self.votes.tail, np.diagonal(S)
        return np.asarray(np.maximum(own[head] + own[tail] - 2.0 * S[head, tail], 0.0))

    def component(self, tau: float, mean: Float, variance: Float) -> _ScaleComponent:
        """Find the posterior for one τ from the mean and variances of another."""
        votes, q = self.votes, tau**-2.0
        for _ in range(MIXTURE_PASSES):
            gradient, curvature = self.model.expected(votes, votes.differences(mean), variance)
            S = self.covariance(curvature, q)
            moved = -S @ (votes.item_sums(gradient) + q * mean)
            moved *= min(1.0, MIXTURE_MOVE / max(float(np.abs(votes.differences(moved)).max()), MIXTURE_MOVE))
            before, variance, mean = variance, self.pair_variances(S), mean + moved
            if max(np.abs(moved).max(), np.abs(variance - before).max()) <= MIXTURE_TOLERANCE:
                break
        loss, rest = self.model.expected_loss(votes, votes.differences(mean), variance)
        squares = float(mean @ mean) + float(np.trace(S))
        evidence = 0.5 * (len(mean) * float(np.log(q)) + float(np.linalg.slogdet(S)[1]) - q * squares)
        evidence += 0.5 * float(rest.sum()) - float(loss.sum())
        own = S[np.ix_(self.voted, self.voted)]
        scores = mean[self.voted] - mean[self.voted].mean()
        spread = float(np.trace(own) - own.mean(axis=0).sum()) / len(own)
        return _ScaleComponent(mean, variance, evidence + prior_log_density(tau), scores, spread)

    def mixture(self, logs: Float, found: list[_ScaleComponent]) -> ScoreEstimate:
        """Add the components up."""
        weight = np.array([one.log_weight for one in found])
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        means, scores = np.array([one.mean for one in found]), np.array([one.scores for one in found])
        own, mean = np.array([one.variance for one in found]), weight @ means
        order = np.argsort(own)
        log = float(np.interp(weight @ own, own[order], logs[order]))
        q, variance = float(np.exp(-2.0 * log)), found[int(np.argmin(np.abs(logs - log)))].pairs
        votes, model = self.given
        for _ in range(3):
            curvature = model.expected(votes, votes.differences(mean), variance)[1]
            variance = self.pair_variances(self.covariance(curvature, q))
        spread = own + ((scores - weight @ scores) ** 2).mean(axis=1)
        moves = np.ascontiguousarray((np.sqrt(weight)[:, None] * (means - mean)).T)
        scales = np.stack([weight, spread / float(weight @ spread), own / float(weight @ own)])
        return ScoreEstimate(mean, curvature, np.full(len(mean), q), moves, model, scales)


# Feature mixture ------------------------------------------------------------------------------------------------------
#
# Scores of items with features, with both of their variances integrated out.
#
# Scores are ``f = X w + u`` with ``w ~ N(0, τ_w²)`` and deviations ``u ~ N(0, τ_u²)`` of single items. Single estimates
# would be doubtful here: n features say little about τ_w, and where features explain almost everything, τ_u is near
# zero and skewed. So both are integrated out, as in `score_mixture`: values of ``(log τ_w, log τ_u)`` on a lattice have
# the weight of their prior times the exponential of
#
# ``evidence = -E[loss] + ½ (Σ log q + log det A⁻¹ - Σ q (μ² + diag A⁻¹)) + ½ Σ_e Var[rest_e]``,
#
# up to a constant, with q the precision ``1 / τ²`` of each coefficient. The lattice starts at the estimate of
# `score_estimate` and grows to all neighbours of values whose weight is not small. Its steps are about two standard
# deviations of log τ: sums over a lattice of such steps integrate smooth densities to one or two per cent.
#
# The prior of τ_u is that of `score_mixture`. For features it is that of ``√n τ_w``, the standard deviation of ``w ·
# x``, without its root: ``p ∝ exp(-n τ_w² / 8)``. The unit is the logit; scores of least squares are half as large for
# small ones. The variance of a vote is that of `score_estimate` for all values.
#
# The mixture has one precision for differences: that of the τ_w and τ_u around their means in logarithms whose mean
# variance is that of the mixture. How a variance depends on τ_u differs widely between items with many votes and items
# without a vote, so that the variance of each score is kept for each value.

STEP, LATTICE_STEP = 2.0, 0.8
"""The step in log τ: so many of its standard deviations, but no longer."""

LATTICE_FADED, DROPPED = 3.0, 7.0
"""Where the logarithm of the weight is so much below the largest, the lattice ends; and where values are left out."""

LATTICE_PASSES, LATTICE_TOLERANCE, LATTICE_MOVE = 30, 3e-3, 3.0
"""As in `score_estimate`, for each value."""

MATCHES = 4
"""How often the precision for differences is corrected."""

Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class _LatticeComponent:
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

    Some 20 to 60 values with 2 to 10 passes each, O(k + (m + n)³) time a pass.

    Shapes: X (m, n), unknown (n + m,).
    """
    m, n = X.shape
    freedom = np.array([n - unknown[:n].sum(), m - unknown[n:].sum()])
    open_share = (m - 1 - freedom.sum()) / m
    if m + n > MIXED_LIMIT or open_share < FEW_OPEN:
        return estimate
    unit = 1.0 if isinstance(estimate.model, LogisticVotes) else 0.5
    problem = _LatticeProblem(votes, X, estimate, np.array([unit / np.sqrt(n), unit]))
    low, high = np.log(LOWEST), np.log(HIGHEST)
    start = np.clip(-0.5 * np.log(estimate.prior[[0, -1]]) - np.log(problem.sizes), low, high)
    step = np.minimum(LATTICE_STEP, STEP * np.sqrt(0.5 / (np.maximum(freedom, 0.0) + SEEN)))
    found = {(0, 0): problem.component(start, estimate.mean, np.zeros(len(votes.pairs)))}
    ends = [(0, 0)]
    while ends:
        ends.sort(key=lambda place: found[place].log_weight)
        here = ends.pop()
        if found[here].log_weight < max(one.log_weight for one in found.values()) - LATTICE_FADED:
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


class _LatticeProblem:
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

    def component(self, logs: Float, mean: Float, variance: Float) -> _LatticeComponent:
        """Find the posterior for one pair of variances from the mean and variances of another."""
        votes, q = self.votes, self.prior(logs)
        for _ in range(LATTICE_PASSES):
            gradient, curvature = self.model.expected(votes, votes.differences(self.scores(mean)), variance)
            inverse, log_det = self.inverse(curvature, q)
            items = votes.item_sums(gradient)
            moved = -inverse @ (np.concatenate([self.X.T @ items, items]) + q * mean)
            longest = float(np.abs(votes.differences(self.scores(moved))).max())
            mean = mean + moved * min(1.0, LATTICE_MOVE / max(longest, LATTICE_MOVE))
            S = self.covariance(inverse)
            before, variance = variance, self.pair_variances(S)
            if max(longest, float((np.abs(variance - before) / (1.0 + variance)).max())) <= LATTICE_TOLERANCE:
                break
        loss, rest = self.model.expected_loss(votes, votes.differences(self.scores(mean)), variance)
        evidence = float(np.log(q).sum()) + log_det - float(q @ (mean**2 + np.diagonal(inverse)))
        evidence = 0.5 * (evidence + float(rest.sum())) - float(loss.sum())
        prior = prior_log_density(float(np.exp(logs[1])))
        prior += prior_log_density(float(np.exp(logs[0]))) - 0.5 * float(logs[0])
        return _LatticeComponent(mean, variance, self.centred_variances(S), evidence + prior)

    def mixture(self, logs: Float, found: list[_LatticeComponent]) -> ScoreEstimate:
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
