"""Leaderboard: rank items by votes, with intervals, and suggest the next votes."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from kernelrank.base.arrays import Float, Index, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_pair_values, check_ties
from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.estimators.base import whole_or_not_at_all
from kernelrank.estimators.feature_mixture import mix_feature_scores
from kernelrank.estimators.ranked_items import COMPUTED, RankedItems
from kernelrank.estimators.score_mixture import MIXED_LIMIT, mix_scores
from kernelrank.estimators.vote_gaps import VoteGaps
from kernelrank.estimators.voted_items import named_features, number_votes, standardised
from kernelrank.losses.expected_votes import SquaredVotes
from kernelrank.votes.posterior import ItemPosterior
from kernelrank.votes.score_estimate import ScoreEstimate, estimate_scores, scores_at
from kernelrank.votes.votes import Votes

__all__ = ["Leaderboard"]


class Leaderboard(RankedItems):
    """Rank items by votes, with or without features, with intervals of scores and ranks.

    The higher its score, the more often an item wins: with ``model="bradley_terry"`` the item a beats b with
    probability ``1 / (1 + exp(-(f_a - f_b)))``. With ``"least_squares"`` a vote is 1 or -1, and its mean is ``f_a -
    f_b``. Scores are relative to the mean score of all items with votes. If votes do not connect all items, or an item
    wins or loses all of its votes, scores are finite, intervals are wide, and `notes_` mentions it.

    Parameters
    ----------
    model : {"bradley_terry", "least_squares"}, default="bradley_terry"
        How probable a vote is, given the difference of two scores. A tie is half a vote each way; standard errors
        allow for votes with ties varying less than others.
    alpha : float or "auto", default="auto"
        Regularisation strength: the penalty of the squared scores, or of the squared coefficients with features. A
        number gives the scores of `BradleyTerry` or of `RankRLS` at this alpha. "auto" assumes normally distributed
        scores and estimates their variance together with them, by the evidence of a variational approximation;
        intervals then allow for the uncertainty of this variance.
    confidence : float, default=0.95
        Confidence level of the intervals, and of the comparison of two items.
    random_state : int, default=0
        Random seed; used with more than 1,000 items only.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    items_ : ndarray, shape (m,)
        The labels of the items: as they first occur, winners before losers, or in the order of `features`.
    scores_ : ndarray, shape (m,)
        Their scores.
    alpha_ : float
        The penalty; with features, that of the deviations of single items.
    noise_ : float
        The variance of a vote around the difference of two scores, for least squares; 1 for Bradley-Terry, which has
        no such number.
    notes_ : list of str
        Sentences on what the votes do not determine.
    n_votes_ : int
        The number of votes between different items.
    judges_ : ndarray, shape (n_judges,), or None
        The labels of the judges.
    pairs_, counts_ : ndarray, shapes (k, 2) and (3, k)
        The pairs that were voted on, the lower number first, and the weight of the votes for the first item, for the
        second, and of ties.
    judge_pairs_, judge_counts_, judge_numbers_ : ndarray or None
        The same with the number of the judge.
    X_fit_ : array, sparse matrix or None
        Standardised features.
    coef_, prior_, curvature_, moves_, scales_, item_scales_ : ndarray, the last one or None
        The posterior: its mean, the precision of the prior, the curvature of each pair, the change of the mean for one
        standard deviation of the logarithm of each estimated variance, and the weights and variances of a mixture, with
        features those of each item.

    Notes
    -----
    With features a score is ``w · x`` plus a deviation of the item, so that features need not explain everything; both
    have a variance of their own under "auto", and features are standardised.

    Intervals are those of a normal posterior: the variational approximation under "auto", and Laplace's for a number.
    Under "auto" they are quantiles of a mixture over values of the variance for up to 400 items without features (for
    "bradley_terry"), and over values of both variances for up to 400 items and features. Otherwise they are those of
    Student's distribution with the degrees of freedom of the estimated variances.
    With ties, a vote varies less than the Bradley-Terry likelihood assumes. Votes of a pair are then weighted by the
    ratio of the two variances, with the share of ties of Davidson's model. For a number only the curvature is weighted,
    so that scores remain those of `BradleyTerry`.

    A rank interval leaves out the ranks of items that are separable from this one, compared one by one:
    `rank_low` is one more than the number of items above it whose difference has an interval without zero.

    Votes are added up first, O(l) time for l votes. Up to 1,000 items (and features) each of some 10 to 30 passes takes
    O(m³) time, and memory is O(m²); the mixture takes some 100 passes more: up to 0.5 s for 200 items. With features it
    takes some 50 to 400 passes: 0.1 to 1 s for 200 items, up to 2.5 s for 390.

    Beyond 1,000 items no m × m matrix is formed: systems are solved by conjugate gradients, O(m + k) for each product,
    and variances are estimated from 64 draws of the posterior, with an error of a few per cent; comparisons of many
    pairs of items then take scores as independent. 100,000 items with 500,000 votes take 40 s and 1.2 GB.

    `benchmarks/leaderboard_intervals_cover.py` measures the coverage of the intervals without features, and
    `leaderboard_intervals_with_features_cover.py` that with features: of 20 and 200 items with 5 and 50 votes each,
    95 % intervals hold 93.5 to 97.5 % of the true scores if features explain half of them or nothing, 93.3 to 100 % of
    those of items without votes, and 96 to 100 % if features explain everything. Intervals of ranks hold 98 % or more.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> winners = ["tea", "tea", "coffee", "tea", "water"]
    >>> board = Leaderboard().fit(winners, ["coffee", "water", "water", "water", "coffee"])
    >>> list(board.table()["item"]), round(board.probability("tea", "water"), 2)
    (['tea', 'coffee', 'water'], 0.81)
    >>> list(board.table()["rank"])
    [1, 2, 3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [StrOptions({"bradley_terry", "least_squares"})],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        model: Literal["bradley_terry", "least_squares"] = "bradley_terry",
        alpha: float | Literal["auto"] = "auto",
        *,
        confidence: float = 0.95,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.model: Literal["bradley_terry", "least_squares"] = model
        self.alpha: float | Literal["auto"] = alpha
        self.confidence = confidence
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(
        self,
        winners: Any,
        losers: Any,
        tie: Any = None,
        weight: Any = None,
        judge: Any = None,
        features: Any = None,
    ) -> Self:
        """Fit to votes and rank their items.

        Parameters
        ----------
        winners, losers : sequence, shape (l,)
            The item that each vote prefers, and the other one: labels of any hashable kind. Votes on an item against
            itself are left out; `notes_` has their number.
        tie : array-like of bool, shape (l,), optional
            Which votes are ties, so that the order of their two items means nothing.
        weight : array-like, shape (l,), optional
            How often each vote counts; once unless given.
        judge : sequence, shape (l,), optional
            Who cast each vote, for `judges`. It does not change scores.
        features : pandas.DataFrame, mapping or tuple, optional
            A data frame whose index holds the items, a mapping from items to rows of numbers, or ``(items, X)``. Items
            without a vote are ranked too.

        Returns
        -------
        self

        Warns
        -----
        UnconnectedVotesWarning
            If no vote compares items of two groups.
        """
        known, X = (None, None) if features is None else named_features(features)
        pairs, self.items_, kept = number_votes(winners, losers, known)
        n_given = len(winners)
        tie, weight = check_ties(tie, n_given), check_pair_values(weight, n_given, name="weight")
        if judge is not None:
            judge = Queries.from_labels(judge, n_given, name="judge")
            judge = judge.labels[judge.codes[kept]]
        tie, weight = (None if values is None else values[kept] for values in (tie, weight))
        votes = Votes.count(len(self.items_), pairs, tie=tie, weight=weight)
        for name in COMPUTED:
            self.__dict__.pop(name, None)
        self.X_fit_ = None if X is None else standardised(X)
        self.pairs_, self.counts_ = votes.pairs, np.stack([votes.won, votes.lost, votes.tied])
        self.n_votes_ = len(pairs)
        self._keep_judges(pairs, tie, weight, judge)
        self._keep_estimate(self._estimate(votes), votes)
        gaps = VoteGaps.of(votes)
        self.notes_ = gaps.sentences(self.items_)
        if len(gaps.sizes) > 1:
            warnings.warn(self.notes_[0], UnconnectedVotesWarning, stacklevel=3)
        left_out = n_given - len(kept)
        if left_out:
            votes_are, were = ("vote is", "was") if left_out == 1 else ("votes are", "were")
            self.notes_.append(f"{left_out:,} {votes_are} on an item against itself and {were} left out.")
        return self

    def _keep_judges(self, pairs: Index, tie: NDArray[np.bool_] | None, weight: Float | None, judge: Any) -> None:
        self.judges_ = self.judge_pairs_ = self.judge_counts_ = self.judge_numbers_ = None
        if judge is None:
            return
        judges = Queries.from_labels(judge, len(pairs), name="judge")
        judged = Votes.count(len(self.items_), pairs, tie=tie, weight=weight, judge=judges.codes, n_judges=len(judges))
        self.judges_, self.judge_pairs_, self.judge_numbers_ = judges.labels, judged.pairs, judged.judge
        self.judge_counts_ = np.stack([judged.won, judged.lost, judged.tied])

    def _estimate(self, votes: Votes) -> ScoreEstimate:
        Phi = self._columns()
        if self.alpha != "auto":
            return scores_at(self.model, Phi, votes, float(self.alpha), self.random_state)
        n = Phi.n_columns - Phi.n_items
        sizes = [(slice(n, Phi.n_columns), 1.0)]
        if n:
            sizes.insert(0, (slice(0, n), float(n) ** -0.5))
        found = estimate_scores(self.model, Phi, votes, sizes=sizes, seed=self.random_state)
        posterior = ItemPosterior(Phi, votes, found)
        if self.X_fit_ is None or Phi.n_columns > MIXED_LIMIT:
            return mix_scores(votes, found, posterior.freedom)
        X = self.X_fit_.toarray() if is_sparse(self.X_fit_) else np.asarray(self.X_fit_)
        return mix_feature_scores(votes, X, found, posterior.unknown)

    def _keep_estimate(self, estimate: ScoreEstimate, votes: Votes) -> None:
        self.coef_, self.prior_ = estimate.mean, estimate.prior
        self.curvature_, self.moves_, self.scales_ = estimate.curvature, estimate.moves, estimate.scales
        self.item_scales_ = estimate.item_scales
        self.noise_ = estimate.model.noise if isinstance(estimate.model, SquaredVotes) else 1.0
        scale = 0.5 if self.model == "bradley_terry" else self.noise_
        self.alpha_ = scale * float(estimate.prior[-1])
        self.scores_ = ItemPosterior(self._columns(), votes, estimate).scores
