"""The posterior of the scores of items: the uncertainty of scores, differences and ranks of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaincc, logit, ndtr, stdtrit

from kernelrank.base.arrays import Float, Index
from kernelrank.features import ColumnFeatures, ExplicitFeatures
from kernelrank.votes.likelihood import VoteModel
from kernelrank.votes.newton import (
    DensePrecision,
    GivenCovariance,
    KnownCovariance,
    SampledPrecision,
    VotePrecision,
    precision_of,
)
from kernelrank.votes.score_estimate import SEEN, ScoreEstimate
from kernelrank.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class ItemPosterior:
    """Normal posterior of the scores of m items, relative to the mean score of the items with votes.

    Up to 1,000 coefficients all covariances are known. Beyond, variances are estimated from draws, and two items count
    as independent where many pairs are looked at; the difference of a few is exact.
    """

    features: ColumnFeatures
    votes: Votes
    estimate: ScoreEstimate
    seed: int = 0
    known: KnownCovariance | None = None

    @classmethod
    def given(cls, votes: Votes, scores: Float, covariance: Float, scales: Float, model: VoteModel) -> ItemPosterior:
        """Return a posterior that was computed elsewhere."""
        m, k = len(scores), len(votes.pairs)
        estimate = ScoreEstimate(scores, np.zeros(k), np.zeros(m), np.zeros((m, 0)), model, scales)
        own = ExplicitFeatures(sparse.eye_array(m, format="csr"))
        return cls(own, votes, estimate, 0, GivenCovariance(covariance))

    @cached_property
    def voted(self) -> Index:
        """The items with votes."""
        found: Index = np.flatnonzero(self.votes.item_totals(self.votes.total) > 0)
        return found

    @cached_property
    def scores(self) -> Float:
        """The mean of each score."""
        f = self.features.multiply(self.estimate.mean)
        centred: Float = f - f[self.voted].mean()
        return centred

    @property
    def rounded(self) -> Float:
        """The scores without the digits that rounding has changed, so that equal items have equal ranks."""
        return np.round(self.scores, 9)

    @cached_property
    def _precision(self) -> VotePrecision | KnownCovariance:
        if self.known is not None:
            return self.known
        return precision_of(self.features, self.votes, self.estimate.curvature, self.estimate.prior, seed=self.seed)

    @cached_property
    def _moves(self) -> Float:
        """What one standard deviation of each variance of the prior does to the scores, shape (m, 1 or 2)."""
        moved = self.features.multiply(self.estimate.moves)
        centred: Float = moved - moved[self.voted].mean(axis=0)
        return centred

    @property
    def knows_covariances(self) -> bool:
        """Whether the covariance of all items is known."""
        return isinstance(self._precision, KnownCovariance)

    @cached_property
    def std(self) -> Float:
        """The standard deviation of each score."""
        variance = self._precision.centred_variances(self.voted)
        own = self.estimate.item_scales
        if own is not None:
            variance = variance * (own @ self.estimate.scales[0])
        return np.asarray(np.sqrt(variance + (self._moves**2).sum(axis=1)))

    def covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items, to compute variances of differences."""
        return self.given_covariance(items) + self.prior_covariance(items)

    def given_covariance(self, items: Index) -> Float:
        """Return the covariance of the scores of some items, given the variances of the prior."""
        return self._precision.score_covariance(items)

    def prior_covariance(self, items: Index) -> Float:
        """Return what the uncertain variances of the prior add to it."""
        moves = self._moves[items]
        return np.asarray(moves @ moves.T)

    def difference(self, first: Index, second: Index) -> tuple[Float, Float]:
        """Return differences of scores and their standard deviations."""
        variance = self._precision.difference_variances(first, second)
        variance = variance + ((self._moves[first] - self._moves[second]) ** 2).sum(axis=1)
        return self.scores[first] - self.scores[second], np.sqrt(variance)

    @cached_property
    def order(self) -> Index:
        """The items, the best first."""
        return np.argsort(-self.rounded, kind="stable").astype(np.int64)

    @cached_property
    def freedom(self) -> float:
        """How many degrees of freedom the estimated variances of the prior have; infinite where they were given.

        Those of the posterior of ``τ²``, see `score_estimate`. A score less its mean, over a standard deviation that
        knows τ² only so well, has Student's distribution rather than the normal one.
        """
        if self.estimate.moves.shape[1] == 0:
            return float("inf")
        return max(len(self.estimate.prior) - float(self.unknown.sum()), 0.0) + SEEN

    @property
    def unknown(self) -> Float:
        """The posterior variance of each coefficient beside that of its prior."""
        assert isinstance(self._precision, DensePrecision | SampledPrecision)
        return np.asarray(self.estimate.prior * self._precision.coefficient_variances())

    def quantile(self, confidence: float) -> float:
        """Return how many standard deviations an interval reaches to either side."""
        weight, spread, _ = self.estimate.scales
        if len(weight):
            low, high = 0.0, 100.0
            for _ in range(60):
                middle = (low + high) / 2.0
                enough = float(weight @ ndtr(middle / np.sqrt(spread))) > (1.0 + confidence) / 2.0
                low, high = (low, middle) if enough else (middle, high)
            return (low + high) / 2.0
        return float(stdtrit(self.freedom, (1.0 + confidence) / 2.0))

    def score_limits(self, confidence: float) -> tuple[Float, Float]:
        """Return the lowest and the highest score of each item."""
        weight, _, own = self.estimate.scales
        reach = self.quantile(confidence) * self.std
        if len(weight) == 0 or self._moves.shape[1] == 0:
            return self.scores - reach, self.scores + reach
        means = self.scores[:, None] + self._moves / np.sqrt(weight)  # those of the components, (m, values)
        if self.estimate.item_scales is not None:
            own = self.estimate.item_scales
        std = np.sqrt(self._precision.centred_variances(self.voted)[:, None] * own)
        limits = []
        for share in ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0):
            low, high = self.scores - 20.0 * self.std, self.scores + 20.0 * self.std
            for _ in range(50):
                middle = (low + high) / 2.0
                above = ndtr((middle[:, None] - means) / std) @ weight > share
                low, high = np.where(above, low, middle), np.where(above, middle, high)
            limits.append((low + high) / 2.0)
        return limits[0], limits[1]

    def told_apart(self, first: Index, second: Index, confidence: float) -> NDArray[np.bool_]:
        """Return which first items are significantly above which second ones, shape (first, second)."""
        z = self.quantile(confidence)
        apart = self.scores[first][:, None] - self.scores[second]
        if not isinstance(self._precision, KnownCovariance):
            return np.asarray(apart > z * np.hypot(self.std[first][:, None], self.std[second]))
        S, moves = self._precision.covariance, self._moves
        diagonal = np.diagonal(S)
        variance = diagonal[first][:, None] + diagonal[second] - 2.0 * S[np.ix_(first, second)]
        for move in moves.T:
            variance = variance + (move[first][:, None] - move[second]) ** 2
        return np.asarray(apart > z * np.sqrt(np.maximum(variance, 0.0)))

    def rank_limits(self, confidence: float) -> tuple[Index, Index]:
        """Return for each item the best and the worst rank that it can have.

        The best is one more than the number of items that are significantly above it, compared one by one. Time
        O(m²) where covariances are known; otherwise O(m log m) for each of some bands of variance.
        """
        m = len(self.scores)
        if self.knows_covariances:
            everyone = np.arange(m, dtype=np.int64)
            above = self.told_apart(everyone, everyone, confidence)
            return 1 + above.sum(axis=0), m - above.sum(axis=1)
        return self._counted_in_bands(confidence)

    def _counted_in_bands(self, confidence: float) -> tuple[Index, Index]:
        """Count, for independent items, with the largest variance of a band for all in it."""
        z, m = self.quantile(confidence), len(self.scores)
        above, below = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        for band in np.array_split(np.argsort(self.std, kind="stable"), 64):
            if len(band):
                sorted_scores = np.sort(self.scores[band])
                reach = z * np.hypot(self.std, self.std[band].max())
                above += len(band) - np.searchsorted(sorted_scores, self.scores + reach, side="right")
                below += np.searchsorted(sorted_scores, self.scores - reach, side="left")
        return 1 + above, m - below

    def groups(self, confidence: float) -> list[Index]:
        """Return the largest runs of the ranking in which no item is significantly above another; they may overlap.

        Time O(m²) where covariances are known. Otherwise O(m) times the number of items that would be significantly
        below, were their standard deviations the smallest of all, and are in the run nevertheless.
        """
        order, m = self.order, len(self.order)
        reach, near = np.full(m + 1, m, dtype=np.int64), np.arange(1, m + 1)
        if not self.knows_covariances:
            least = self.quantile(confidence) * np.hypot(self.std, self.std.min())
            near = np.searchsorted(-self.rounded[order], (least - self.rounded)[order] - 1e-8)
        for place in range(m - 1, -1, -1):
            reach[place] = self._first_apart(order, place, max(near[place], place + 1), reach[place + 1], confidence)
        reach = reach[:m]
        starts = np.flatnonzero(np.diff(reach, prepend=-1) > 0)
        return [order[start : reach[start]] for start in starts]

    def _first_apart(self, order: Index, place: int, start: int, stop: int, confidence: float) -> int:
        """Return the first place from `start` whose item is told apart from the one at `place`; `stop` if none is."""
        width = 64
        while start < stop:
            found = self.told_apart(order[place : place + 1], order[start : min(start + width, stop)], confidence)[0]
            if found.any():
                return start + int(np.argmax(found))
            start, width = start + width, 2 * width
        return stop


# Judge agreement ------------------------------------------------------------------------------------------------------
#
# Agreement of each judge with the scores from all other judges.
#
# Without the votes E of one judge, Newton's step from the scores of all is
#
# ``f' = f + S' D_Eᵀ g_E``, ``S' = (I - S L_E)⁻¹ S``, ``L_E = D_Eᵀ diag(h_E) D_E``,
#
# with S the covariance of the scores for the variance of their prior, g and h the gradient and the curvature of the
# judge's votes: only the items of these votes are used. For least squares this is exact, for Bradley-Terry one step of
# Newton's method.
#
# The votes of a judge like all others that are no ties go to the first item with the probabilities p of these scores.
# For a judge whose logits are σ times as large, the score test of σ = 1 compares ``Σ logit(p) (won - n p)`` with its
# standard deviation; a judge who votes at random, or against the others, has a small value. Its variance counts that f'
# is uncertain. Votes against a large logit are rare and count much, so that the sum is skewed; its tail is that of the
# gamma distribution with the same first three moments (Pearson's type III).


@dataclass(frozen=True, eq=False)
class JudgeAgreement:
    """How each of j judges agrees with all others.

    Shapes: votes (j,), agreement, expected (j,), pvalue (j,), flagged (j,).

    agreement, expected: The share of them that goes to the item that the others prefer, and what is expected of a judge
    like the others. NaN for a judge without such votes.
    """

    votes: Float
    agreement: Float
    expected: Float
    pvalue: Float
    flagged: NDArray[np.bool_]


def judge_agreement(
    posterior: ItemPosterior, judged: Votes, offsets: Float | None = None, *, of_others: bool = True
) -> JudgeAgreement:
    """Compare each judge with the scores of all others.

    offsets: What adds to the difference of the scores of each row, such as the effects of covariates.
    of_others: Take the votes of the judge out of the scores, which are of the present, or of no category, alone.

    O(t³) time for a judge who voted on t items. Where more than 1,000 items make covariances unknown, the scores are
    those of all votes, the judge's own included.
    """
    assert judged.judge is not None
    order = np.argsort(judged.judge, kind="stable")
    bounds = np.searchsorted(judged.judge[order], np.arange(judged.n_judges + 1))
    found = np.full((4, judged.n_judges), np.nan)
    found[0], found[3] = 0.0, 1.0
    for number in range(judged.n_judges):
        rows = order[bounds[number] : bounds[number + 1]]
        if len(rows):
            offset = np.zeros(len(rows)) if offsets is None else offsets[rows]
            found[:, number] = _one_judge(posterior, *_own_votes(judged, rows), offset, of_others)
    votes, agreement, expected, pvalue = found
    return JudgeAgreement(votes, agreement, expected, pvalue, _flagged(pvalue))


def _own_votes(votes: Votes, rows: Index) -> tuple[Index, Votes]:
    """Return the items of some rows, and the rows with these items numbered from zero."""
    items, codes = np.unique(votes.pairs[rows], return_inverse=True)
    counts = (votes.won[rows], votes.lost[rows], votes.tied[rows])
    return items, Votes(len(items), codes.reshape(-1, 2), *counts, None, None, 0, len(rows))


def _one_judge(
    posterior: ItemPosterior, items: Index, own: Votes, offset: Float, of_others: bool
) -> tuple[float, float, float, float]:
    """Return the number of decided votes, the agreement, what is expected, and the p-value."""
    f, model = posterior.scores[items], posterior.estimate.model
    if posterior.knows_covariances and not of_others:
        S = posterior.covariance(items)
    elif posterior.knows_covariances:
        S, D = posterior.given_covariance(items), own.incidence.toarray()
        g, h = model.expected(own, D @ f + offset, _row_variances(own, S))
        S = np.linalg.solve(np.eye(len(items)) - S @ (D.T @ (h[:, None] * D)), S)
        S = (S + S.T) / 2.0
        f = f + S @ (D.T @ g)
        S = S + posterior.prior_covariance(items)
    else:
        S = posterior.std[items] ** 2  # its diagonal
    d = own.differences(f) + offset
    p = np.clip(model.decided(model.probability(d, _row_variances(own, S))), 1e-12, 1.0 - 1e-12)
    n = own.won + own.lost
    total = float(n.sum())
    if total == 0:
        return 0.0, np.nan, np.nan, 1.0
    agreeing = np.where(d > 0, own.won, np.where(d < 0, own.lost, n / 2))
    size = logit(p)
    forces = own.item_sums(size * n * p * (1.0 - p))
    variance = float((size**2 * n * p * (1.0 - p)).sum()) + float(forces @ (S @ forces if S.ndim == 2 else S * forces))
    statistic = float((size * (own.won - n * p)).sum())
    third = float((size**3 * n * p * (1.0 - p) * (1.0 - 2.0 * p)).sum())
    pvalue = _lower_tail(statistic / np.sqrt(variance), third / variance**1.5) if variance > 0 else 1.0
    return total, float(agreeing.sum()) / total, float((n * np.maximum(p, 1.0 - p)).sum()) / total, pvalue


def _lower_tail(value: float, skewness: float) -> float:
    """Return how probable values up to `value` are for a standardised sum whose skewness is not positive."""
    if skewness > -1e-3:
        return float(ndtr(value))
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, max(shape - np.sqrt(shape) * value, 0.0)))


def _row_variances(own: Votes, S: Float) -> Float:
    """Return the variances of the differences, from the covariance of the scores or its diagonal."""
    if S.ndim == 1:
        return S[own.head] + S[own.tail]
    return own.difference_variances(S)


def _flagged(pvalue: Float) -> NDArray[np.bool_]:
    """Return which p-values are discoveries at a false discovery rate of 5 % [BH95]_."""
    order = np.argsort(pvalue)
    line = 0.05 * np.arange(1, len(pvalue) + 1) / len(pvalue)
    below = np.flatnonzero(pvalue[order] <= line)
    flagged = np.zeros(len(pvalue), dtype=bool)
    if len(below):
        flagged[order[: below[-1] + 1]] = True
    return flagged
