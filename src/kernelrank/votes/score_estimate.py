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
γ + ν degrees of freedom. For up to 400 coefficients variances are integrated out instead (`mix_scores`); least squares
without features keeps the estimate.
``benchmarks/leaderboard_intervals_cover.py`` measures the coverage of the intervals, and
``leaderboard_intervals_with_features_cover.py`` that with features.

How far variances are uncertain is part of the posterior of scores: ``log τ²`` has a variance of about ``2 / (γ + ν)``
and moves the mean by ``A⁻¹ q μ``. What this adds is kept as one column for each variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.features import ColumnFeatures
from kernelrank.votes.likelihood import (
    DavidsonVotes,
    LogisticVotes,
    SquaredVotes,
    VoteModel,
    decided_probability,
    vote_loss,
)
from kernelrank.votes.newton import (
    LIGHT,
    DensePrecision,
    Unknowns,
    VoteNewton,
    VotePrecision,
    VoteProblem,
    precision_of,
)
from kernelrank.votes.votes import Votes

SEEN = 2.1
"""ν: a prior with a mean, so that votes that say nothing have a finite variance, and a weak one."""

LONGEST_STEP = 3.0
"""No difference moves farther in one pass."""


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


def vote_model(kind: str, ties: str, votes: Votes) -> VoteModel:
    """Return the model of votes; Davidson's without a tie is that of Bradley and Terry."""
    if kind != "bradley_terry":
        return SquaredVotes()
    return DavidsonVotes(1.0) if ties == "davidson" and votes.tied.any() else LogisticVotes()


def estimate_scores(
    model: VoteModel, features: ColumnFeatures, votes: Votes, *, sizes: list[tuple[slice, float]], seed: int = 0
) -> ScoreEstimate:
    """Estimate scores and the variances of their prior.

    About 10 to 30 passes, each of O(k + p³) time up to `DENSE_LIMIT` coefficients; beyond, O((nnz + k) draws) for each
    step of conjugate gradients.
    """
    # s in the unit of scores: logits, or differences of votes that are 1 or -1, half as large for small ones.
    usual = 0.25 if isinstance(model, SquaredVotes) else 0.5
    groups = [(part, (usual * size) ** 2) for part, size in sizes]
    mean, variance = np.zeros(features.n_columns), np.zeros(len(votes.pairs))
    prior = np.empty(features.n_columns)
    for part, size in groups:
        prior[part] = 1.0 / size
    for _ in range(200):
        precision, curvature, moved = _newton_step(model, features, votes, mean, variance, prior, seed)
        mean = mean + moved
        before, variance = variance, precision.pair_variances()
        freedom = prior * precision.coefficient_variances()
        changes = [_update(prior, part, mean, freedom, size) for part, size in groups]
        d = votes.differences(features.multiply(mean))
        model, earlier = model.fitted(votes, d, len(mean) - float(freedom.sum())), model
        changes += [_size(moved), _size(variance - before), _noise_change(model, earlier)]
        if max(changes) <= (
            1e-6 if isinstance(precision, DensePrecision) else 1e-3
        ):  # many items: variances are estimates
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
    precision = precision_of(features, votes, curvature, prior, seed=seed, draws=16)
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


def scores_at(model: VoteModel, features: ColumnFeatures, votes: Votes, alpha: float, seed: int = 0) -> ScoreEstimate:
    """Return scores for one alpha: those of `BradleyTerry` or of `RankRLS`, with Laplace's approximation.

    alpha: The penalty of each squared coefficient.
    """
    p = features.n_columns
    if isinstance(model, LogisticVotes):
        davidson = isinstance(model, DavidsonVotes)
        unknowns = Unknowns(davidson=davidson, light=min(LIGHT, alpha))
        solution = VoteNewton().solve(VoteProblem(features, votes, unknowns, 1.0), alpha)
        mean, theta = solution.unknowns[unknowns.size :, 0], unknowns.theta(solution.effects)
        d = votes.differences(features.multiply(mean))
        curvature = vote_loss(votes, d, theta).curvature
        fitted = LogisticVotes().fitted(votes, d, 0.0) if theta is None else DavidsonVotes(np.exp(theta))
        curvature = curvature * fitted.worth(decided_probability(d))
        return ScoreEstimate(mean, curvature, np.full(p, 2.0 * alpha), np.zeros((p, 0)), fitted)
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
#
# **With features.** Scores of items with features, with both of their variances integrated out.
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

MIXED_LIMIT = 400
"""The largest number of coefficients for which τ is integrated out: more determine it well, and take long."""


def prior_log_density(tau: float) -> float:
    """Return the logarithm of the density of log τ, up to a constant."""
    return 1.5 * float(np.log(tau)) - tau**2 / 8.0


def mix_scores(votes: Votes, X: Float, estimate: ScoreEstimate, unknown: Float) -> ScoreEstimate:
    """Integrate out the variances of features and deviations, unless there are many items or they do not matter.

    Without features some 8 to 15 values with about 10 passes each; with them 20 to 60 values with 2 to 10 passes each;
    O(k + (m + n)³) time a pass.

    Shapes: X (m, n), unknown (n + m,).
    """
    (m, n), logistic = X.shape, isinstance(estimate.model, LogisticVotes)
    used = np.array([n - unknown[:n].sum(), m - unknown[n:].sum()][n == 0 :])
    # Where the prior decides less than 3 % of the scores, τ does not matter.
    if m + n > MIXED_LIMIT or m - 1 - used.sum() < 0.03 * m or not (n or logistic):
        return estimate
    unit = 1.0 if logistic else 0.5
    problem = _Mixture(votes, X, estimate, np.array([unit / np.sqrt(max(n, 1)), unit][n == 0 :]))
    start = -0.5 * np.log(estimate.prior[[0, -1][n == 0 :]]) - np.log(problem.sizes)
    deviation = np.sqrt(0.5 / (np.maximum(used, 0.0) + SEEN))  # that of log τ
    if n == 0:
        return problem.grow(start, np.minimum(0.35, 1.2 * deviation), estimate.mean, faded=4.5, dropped=np.inf)
    start = np.clip(start, np.log(0.02), np.log(20.0))
    return problem.grow(start, np.minimum(0.8, 2.0 * deviation), estimate.mean, faded=3.0, dropped=7.0)


def grow_lattice(
    value: Callable[[Float], float],
    start: Float,
    step: Float,
    low: Float,
    high: Float,
    *,
    faded: float,
    dropped: float,
    most: int = 10_000,
) -> list[Float]:
    """Return the points of a lattice at which a function is not far below its largest value.

    Neighbours are added, of the best points first, until all ends are small, or there are `most` points.

    Shapes: start, step, low, high (d,).
    """
    origin = (0,) * len(start)
    found, ends = {origin: value(start)}, [origin]
    while ends:
        ends.sort(key=found.__getitem__)
        here = ends.pop()
        if found[here] < max(found.values()) - faded or len(found) >= most:
            break
        for axis, way in product(range(len(start)), (1, -1)):
            place = (*here[:axis], here[axis] + way, *here[axis + 1 :])
            point = start + step * np.array(place)
            if place not in found and np.all(low <= point) and np.all(point <= high):
                found[place] = value(point)
                ends.append(place)
    least = max(found.values()) - dropped
    return [start + step * np.array(place) for place, size in found.items() if size > least]


def normal_mixture(weight: Float, means: Float, covariances: Float) -> tuple[Float, Float, Float]:
    """Return the mean and the covariance of a mixture of normal distributions, and how wide its components are.

    Shapes: weight (v,), means (v, m), covariances (v, m, m); returns (m,), (m, m), (3, v).
    """
    mean = weight @ means
    moved = means - mean
    S = np.tensordot(weight, covariances, 1) + moved.T @ (weight[:, None] * moved)
    sizes = np.trace(covariances, axis1=1, axis2=2) - covariances.sum(axis=(1, 2)) / len(mean)
    sizes = sizes + ((moved - moved.mean(axis=1)[:, None]) ** 2).sum(axis=1)
    return mean, S, np.stack([weight, *[sizes / float(weight @ sizes)] * 2])


@dataclass(frozen=True, eq=False)
class _Component:
    """The posterior for one value of the variances.

    The mean of the coefficients, the variances of differences of compared items and of scores less the mean of voted
    items, and the logarithm of its weight.
    """

    mean: Float
    pairs: Float
    variances: Float
    log_weight: float


class _Mixture:
    """Votes on items that have a deviation each, and may have features; `sizes` are the units of τ_w and τ_u."""

    def __init__(self, votes: Votes, X: Float, estimate: ScoreEstimate, sizes: Float) -> None:
        self.X, self.sizes, self.given = X, sizes, (votes, estimate.model)
        self.model: VoteModel
        self.votes: Votes
        self.model, self.votes = estimate.model.freeze(votes, votes.differences(self.scores(estimate.mean)))
        self.voted: Index = np.flatnonzero(votes.item_totals(votes.total) > 0)

    def grow(self, start: Float, step: Float, mean: Float, *, faded: float, dropped: float) -> ScoreEstimate:
        """Add neighbours to a lattice of logarithms of τ, from 0.02 to 20, until the weights at its ends are small.

        faded, dropped: How far the logarithm of a weight is below the largest where the lattice ends, and where values
        are left out.
        """
        found: dict[tuple[float, ...], _Component] = {}

        def evaluate(log: Float) -> float:
            if tuple(log) not in found:
                near = min(found, key=lambda other: float(np.abs(np.subtract(other, log)).sum()), default=None)
                given = (mean, np.zeros(len(self.votes.pairs)))
                if near is not None:
                    given = (found[near].mean, found[near].pairs)
                found[tuple(log)] = self.component(log, *given)
            return found[tuple(log)].log_weight

        low, high = np.full(len(start), np.log(0.02)), np.full(len(start), np.log(20.0))
        kept = grow_lattice(evaluate, start, step, low, high, faded=faded, dropped=dropped)
        return self.add_up(np.array(kept), [found[tuple(log)] for log in kept])

    def prior(self, logs: Float) -> Float:
        """Return q for the logarithms of √n τ_w and τ_u, in logits."""
        m, n = self.X.shape
        return np.repeat(np.exp(-2.0 * logs) / self.sizes**2, [n, m] if n else [m])

    def scores(self, c: Float) -> Float:
        """Return ``X w + u`` for coefficients ``c = (w, u)``."""
        n = self.X.shape[1]
        return np.asarray(self.X @ c[:n] + c[n:])

    def component(self, logs: Float, mean: Float, variance: Float) -> _Component:
        """Find the posterior for one value of the variances from the mean and variances of another."""
        votes, q = self.votes, self.prior(logs)
        passes, tolerance = (30, 3e-3) if self.X.shape[1] else (60, 1e-4)
        for _ in range(passes):
            gradient, curvature = self.model.expected(votes, votes.differences(self.scores(mean)), variance)
            precision = DensePrecision(self.X, votes, curvature, q)
            items = votes.item_sums(gradient)
            moved = -precision.solve(np.concatenate([self.X.T @ items, items]) + q * mean)
            longest = float(np.abs(votes.differences(self.scores(moved))).max())
            mean = mean + moved * min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
            before, variance = variance, precision.pair_variances()
            if max(longest, float((np.abs(variance - before) / (1.0 + variance)).max())) <= tolerance:
                break
        loss, rest = self.model.expected_loss(votes, votes.differences(self.scores(mean)), variance)
        evidence = float(np.log(q).sum()) + precision.log_det - float(q @ (mean**2 + precision.coefficient_variances()))
        evidence = 0.5 * (evidence + float(rest.sum())) - float(loss.sum())
        prior = prior_log_density(float(np.exp(logs[-1])))
        if len(logs) == 2:
            prior += prior_log_density(float(np.exp(logs[0]))) - 0.5 * float(logs[0])
        variances = np.maximum(precision.centred_variances(self.voted), 1e-12)
        return _Component(mean, variance, variances, evidence + prior)

    def add_up(self, logs: Float, found: list[_Component]) -> ScoreEstimate:
        """Add the components up."""
        weight = np.array([one.log_weight for one in found])
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        means, own = np.array([one.mean for one in found]), np.array([one.variances for one in found])
        scores = np.array([self.scores(one.mean) for one in found])
        scores -= scores[:, self.voted].mean(axis=1)[:, None]
        mean, average = weight @ means, own.mean(axis=1)
        votes, model = self.given
        log, pairs, n = weight @ logs, found[int(np.argmax(weight))].pairs, self.X.shape[1]
        if n == 0:
            order = np.argsort(average)
            log = np.array([np.interp(weight @ average, average[order], logs[order, 0])])
            pairs = found[int(np.argmin(np.abs(logs - log)))].pairs
        for _ in range(4):
            q, d = self.prior(log), votes.differences(self.scores(mean))
            curvature = model.expected(votes, d, pairs)[1]
            precision = DensePrecision(self.X, votes, curvature, q)
            pairs, variances = precision.pair_variances(), np.maximum(precision.centred_variances(self.voted), 1e-12)
            if n:
                log = log + 0.5 * np.log(float(weight @ average) / float(variances.mean()))
        spread = average + ((scores - weight @ scores) ** 2).mean(axis=1)
        moves = np.ascontiguousarray((np.sqrt(weight)[:, None] * (means - mean)).T)
        scales = np.stack([weight, spread / float(weight @ spread), average / float(weight @ average)])
        item_scales = np.ascontiguousarray((own / variances).T) if n else None
        return ScoreEstimate(mean, curvature, q, moves, model, scales, item_scales)
