"""Leaderboard: rank items by votes, with intervals, and suggest the next votes."""

from __future__ import annotations

import warnings
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.base.results import Estimates, to_frame
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.base.validation import check_pair_values, check_ties
from kernelrank.errors import InvalidInputError, UnconnectedVotesWarning
from kernelrank.estimators.base import keep_parameters, whole_or_not_at_all
from kernelrank.estimators.posterior import ScoreComparison
from kernelrank.features import ExplicitFeatures
from kernelrank.votes.likelihood import LogisticVotes, SquaredVotes, VoteModel
from kernelrank.votes.posterior import ItemPosterior, judge_agreement, most_telling_pairs, votes_to_tell_apart
from kernelrank.votes.score_estimate import MIXED_LIMIT, ScoreEstimate, estimate_scores, mix_scores, scores_at
from kernelrank.votes.votes import VoteGaps, Votes, named_features, nearest_names, number_votes, standardised

# Ranked items ---------------------------------------------------------------------------------------------------------
#
# Ranked items: the methods of a fitted leaderboard.

COMPUTED = ("posterior", "_numbers")
"""What is computed at its first use, and belongs to one fit."""


class RankedItems(BaseEstimator):
    """Items with a posterior of their scores, in the attributes that `Leaderboard.fit` sets."""

    model: Literal["bradley_terry", "least_squares"]
    confidence: float
    random_state: int

    items_: NDArray[Any]
    pairs_: Index
    counts_: Float
    n_votes_: int
    coef_: Float
    prior_: Float
    curvature_: Float
    moves_: Float
    scales_: Float
    item_scales_: Float | None
    noise_: float
    X_fit_: Matrix | None
    judges_: NDArray[Any] | None
    judge_pairs_: Index | None
    judge_counts_: Float | None
    judge_numbers_: Index | None

    def _columns(self) -> ExplicitFeatures:
        """Return Φ: the features, and a column for each item."""
        own = sparse.eye_array(len(self.items_), format="csr")
        X: Matrix | None = self.X_fit_
        return ExplicitFeatures(own if X is None else sparse.hstack([sparse.csr_array(X), own], format="csr"))

    @cached_property
    def posterior(self) -> ItemPosterior:
        """The posterior distribution of the scores, from which `table` and the other methods compute."""
        check_is_fitted(self)
        votes, Phi = self._votes(), self._columns()
        model: VoteModel = SquaredVotes(self.noise_)
        if self.model == "bradley_terry":
            model = LogisticVotes().fitted(votes, votes.differences(Phi.multiply(self.coef_)), 0.0)
        scales = getattr(self, "scales_", np.zeros((3, 0)))  # files of earlier versions have none
        own = getattr(self, "item_scales_", None)
        estimate = ScoreEstimate(self.coef_, self.curvature_, self.prior_, self.moves_, model, scales, own)
        return ItemPosterior(Phi, votes, estimate, self.random_state)

    def _votes(self) -> Votes:
        won, lost, tied = self.counts_
        return Votes(len(self.items_), self.pairs_, won, lost, tied, None, None, 0, self.n_votes_)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed at its first use."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in COMPUTED}

    def table(self) -> Any:
        """Return the items in the order of their scores.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``item, score, std_error, low, high, rank, rank_low, rank_high, votes, wins``, the best item first.
            A tie is half a win; votes and wins are sums of weights.

        Notes
        -----
        O(m³) time at the first call of any method up to 1,000 items, and O(m²) memory; beyond, 64 systems and O(m log
        m).
        """
        posterior = self.posterior
        order = posterior.order
        lowest, highest = posterior.score_limits(self.confidence)
        low, high = posterior.rank_limits(self.confidence)
        votes = posterior.votes
        wins = (votes.item_totals(votes.total) + votes.item_sums(votes.won - votes.lost)) / 2.0
        columns = {
            "item": self.items_,
            "score": posterior.scores,
            "std_error": posterior.std,
            "low": lowest,
            "high": highest,
            "rank": 1 + np.searchsorted(np.sort(-posterior.rounded), -posterior.rounded),
            "rank_low": low,
            "rank_high": high,
            "votes": _counts(votes.item_totals(votes.total)),
            "wins": _counts(wins),
        }
        return to_frame({name: values[order] for name, values in columns.items()})

    def plot(self, ax: Any = None, *, k: int = 20, **line_options: object) -> Any:
        """Draw the scores of the first k items with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        k : int, default=20
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        kernelrank.report.ChartDisplay

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        from kernelrank.report.displays import ChartDisplay

        table = self.table()
        columns = [list(table[name])[:k] for name in ("item", "score", "low", "high")]
        label = f"score, with {100 * self.confidence:.4g}% intervals"
        return ChartDisplay(Estimates(list(zip(*columns, strict=True)), label)).plot(ax=ax, **line_options)

    def compare(self, a: Any, b: Any) -> ScoreComparison:
        """Compare the scores of two items.

        Parameters
        ----------
        a, b : label
            Two items.

        Returns
        -------
        ScoreComparison
            The difference, its standard deviation, and the probability that the score of a is the higher one. That is
            not the probability to win a single vote, which `probability` returns.
        """
        first, second = (np.array([self._number(item)]) for item in (a, b))
        return ScoreComparison.normal(*self.posterior.difference(first, second), f"{self.model} posterior of the votes")

    def probability(self, a: Any, b: Any) -> float:
        """Return the probability that item a wins the next vote against b.

        It is the mean over the posterior, so that it is nearer to a half where scores are uncertain. A tie is half a
        win.

        Parameters
        ----------
        a, b : label
            Two items.

        Returns
        -------
        float
        """
        return float(self.probabilities([a], [b])[0, 0])

    def probabilities(self, first: Any, second: Any) -> Float:
        """Return the matrix of probabilities that one item wins the next vote against another.

        Parameters
        ----------
        first, second : sequence of label

        Returns
        -------
        ndarray, shape (number of first, number of second)
            A half for an item and itself.
        """
        rows = np.array([self._number(item) for item in first], dtype=np.int64)
        places = np.array([self._number(item) for item in second], dtype=np.int64)
        both = np.repeat(rows, len(places)), np.tile(places, len(rows))
        d, std = self.posterior.difference(*both)
        found = self.posterior.estimate.model.probability(d, std**2)
        return np.where(both[0] == both[1], 0.5, found).reshape(len(rows), len(places))

    def _number(self, item: Any) -> int:
        number = self._numbers.get(item)
        if number is None:
            raise InvalidInputError(f"Expected an item of the votes; got {item!r}{nearest_names(item, self.items_)}.")
        return number

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """The number of each label."""
        check_is_fitted(self)
        return {label: number for number, label in enumerate(self.items_.tolist())}

    def separable_groups(self) -> list[list[Any]]:
        """Return groups of neighbours in the ranking whose order is not statistically certain.

        Two items are separable if the interval of their difference, at `confidence`, excludes zero. No two items of
        a group are; each group is as large as it can be, so that groups may overlap.

        Returns
        -------
        list of list of label
            Each in the order of the ranking. As many groups as items mean that all are separable.
        """
        return [self.items_[group].tolist() for group in self.posterior.groups(self.confidence)]

    def next_pair(self, n: int = 1) -> list[tuple[Any, Any]]:
        """Return the pairs to vote on next: those that reduce the uncertainty most.

        Each is chosen as if the votes on the pairs before it had been cast, one each, so that n pairs can be asked at
        the same time.

        Parameters
        ----------
        n : int, default=1
            How many pairs.

        Returns
        -------
        list of (label, label)
            Different pairs, the most informative first; fewer than n only if there are fewer.

        Notes
        -----
        O(n m²) time up to 1,000 items; beyond, pairs of the 100 items that are least certain.
        """
        if n < 1:
            raise InvalidInputError(f"Expected n of at least 1; got {n}.")
        pairs = most_telling_pairs(self.posterior, n)
        labels = self.items_.tolist()
        return [(labels[a], labels[b]) for a, b in pairs]

    def votes_needed(self, power: float = 0.8) -> Any:
        """Return how many more votes are needed to separate neighbours in the ranking.

        Parameters
        ----------
        power : float, default=0.8
            Statistical power: the probability to separate them if the true difference equals the estimate.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``above, below, difference, std_error, votes``: for each item and the next one, the votes between
            these two that are needed in addition to those already cast; infinity if the scores are equal.
        """
        if not 0.0 < power < 1.0:
            raise InvalidInputError(f"Expected a power between 0 and 1; got {power}.")
        order = self.posterior.order
        first, second = order[:-1], order[1:]
        difference, std = self.posterior.difference(first, second)
        votes = votes_to_tell_apart(self.posterior, first, second, power, self.confidence)
        columns = {"above": self.items_[first], "below": self.items_[second], "difference": difference}
        return to_frame({**columns, "std_error": std, "votes": votes})

    def judges(self) -> Any:
        """Compare the votes of each judge with the scores from all other judges.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``judge, votes, agreement, expected, pvalue, flagged``, those who agree least first. `votes` does
            not count ties. `agreement` is the share that goes to the item that the others prefer, `expected` what it
            would be for a judge like the others, `pvalue` how probable so little agreement is for such a judge. Of the
            flagged judges at most 5 % are expected to be flagged by chance.

        Notes
        -----
        The scores without a judge come from one Newton step, which is exact for least squares. O(t³) time for a judge
        who voted on t items. Beyond 1,000 items the scores are those of all votes.
        """
        check_is_fitted(self)
        if self.judges_ is None:
            raise InvalidInputError("Expected votes with judges; got none. Pass `judge` to fit.")
        assert self.judge_pairs_ is not None
        assert self.judge_counts_ is not None
        won, lost, tied = self.judge_counts_
        who = (self.judge_numbers_, len(self.judges_))
        judged = Votes(len(self.items_), self.judge_pairs_, won, lost, tied, None, *who, self.n_votes_)
        found = judge_agreement(self.posterior, judged)
        order = np.lexsort([found.agreement - found.expected, found.pvalue])
        columns = {
            "judge": self.judges_,
            "votes": _counts(found.votes),
            "agreement": found.agreement,
            "expected": found.expected,
            "pvalue": found.pvalue,
            "flagged": found.flagged,
        }
        return to_frame({name: values[order] for name, values in columns.items()})


def _counts(values: Float) -> NDArray[Any]:
    """Return sums of weights as integers where all of them are."""
    whole = np.rint(values)
    return whole.astype(np.int64) if np.array_equal(whole, values) else values


# Leaderboard ----------------------------------------------------------------------------------------------------------


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
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
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
        if Phi.n_columns > MIXED_LIMIT:
            return found
        X: Any = np.zeros((Phi.n_items, 0)) if self.X_fit_ is None else self.X_fit_
        X = X.toarray() if is_sparse(X) else np.asarray(X)
        return mix_scores(votes, X, found, ItemPosterior(Phi, votes, found).unknown)

    def _keep_estimate(self, estimate: ScoreEstimate, votes: Votes) -> None:
        self.coef_, self.prior_ = estimate.mean, estimate.prior
        self.curvature_, self.moves_, self.scales_ = estimate.curvature, estimate.moves, estimate.scales
        self.item_scales_ = estimate.item_scales
        self.noise_ = estimate.model.noise if isinstance(estimate.model, SquaredVotes) else 1.0
        scale = 0.5 if self.model == "bradley_terry" else self.noise_
        self.alpha_ = scale * float(estimate.prior[-1])
        self.scores_ = ItemPosterior(self._columns(), votes, estimate).scores
