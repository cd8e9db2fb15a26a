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

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.features import ColumnFeatures
from kernelrank.losses.expected_votes import LogisticVotes, SquaredVotes, VoteModel
from kernelrank.solvers.vote_precision import DensePrecision, VotePrecision, precision_of
from kernelrank.solvers.vote_problem import Unknowns, VoteProblem
from kernelrank.votes.likelihood import decided_probability, vote_loss
from kernelrank.votes.newton import VoteNewton
from kernelrank.votes.votes import Votes

__all__ = ["SEEN", "ScoreEstimate", "estimate_scores", "scores_at"]

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

    Parameters
    ----------
    mean : ndarray, shape (p,)
        μ.
    curvature : ndarray, shape (k,)
        That of each row of votes.
    prior : ndarray, shape (p,)
        q.
    moves : ndarray, shape (p, number of estimated variances)
        By how much coefficients move with one standard deviation of each logarithm of a variance; or, where it is
        integrated out, with each of its values, times the root of its weight.
    model : VoteModel
    scales : ndarray, shape (3, values of the variance)
        Their weights, and the variance of scores for each beside that of the mixture, with and without what the means
        differ by; empty where there is no mixture.
    item_scales : ndarray, shape (m, values of the variances), or None
        The variance of each score for each value beside that of the precision, where it differs between items: for a
        mixture with features.
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

    Parameters
    ----------
    kind : {"bradley_terry", "least_squares"}
    features : ColumnFeatures
        Φ (m × p).
    votes : Votes
    sizes : list of (slice, float)
        The coefficients that share a variance, and how large they usually are in units of `USUAL_SIZE`.
    seed : int
        For the draws that stand for the inverse of A where it is large.

    Returns
    -------
    ScoreEstimate

    Notes
    -----
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

    Parameters
    ----------
    kind, features, votes, seed
        As in `estimate_scores`.
    alpha : float
        The penalty of each squared coefficient.

    Returns
    -------
    ScoreEstimate
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
