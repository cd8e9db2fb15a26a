"""Leaderboard: rank items by votes, with intervals, and suggest the next votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.base.results import Estimates, to_frame
from kernelrank.base.sklearn_private import DocumentationLink, Interval, StrOptions, fit_context
from kernelrank.errors import InvalidInputError, UnconnectedVotesWarning
from kernelrank.estimators.base import keep_parameters, whole_or_not_at_all
from kernelrank.estimators.posterior import ScoreComparison
from kernelrank.features import ExplicitFeatures
from kernelrank.votes.likelihood import DavidsonVotes, LogisticVotes, SquaredVotes, VoteModel
from kernelrank.votes.newton import INVERSE_LIMIT
from kernelrank.votes.next_votes import most_telling_pairs, votes_to_tell_apart
from kernelrank.votes.posterior import ItemPosterior, judge_agreement
from kernelrank.votes.score_estimate import (
    MIXED_LIMIT,
    ScoreEstimate,
    estimate_scores,
    mix_scores,
    scores_at,
    vote_model,
)
from kernelrank.votes.votes import (
    Ballots,
    VoteGaps,
    Votes,
    covariate_effects,
    few_judges,
    named_features,
    nearest_names,
    number_votes,
    standardised,
    time_values,
)

# Ranked items ---------------------------------------------------------------------------------------------------------
#
# Ranked items: the methods of a fitted leaderboard.

COMPUTED = ("posterior", "_numbers")
"""What is computed at its first use, and belongs to one fit."""

NO_TIES = -690.0
"""Davidson's θ where ties cannot happen."""

ELO = 400.0 / np.log(10.0)
"""How many Elo points a logit is: 400 points are odds of ten to one."""


class RankedItems(DocumentationLink, BaseEstimator):
    """Items with a posterior of their scores, in the attributes that `Leaderboard.fit` sets."""

    model: Literal["bradley_terry", "least_squares"]
    confidence: float
    random_state: int
    ties: Literal["half", "davidson"]
    scale: Literal["logit", "elo"]
    anchor: dict[Any, float] | None

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
    # Files of earlier versions have none of these.
    judge_offsets_: Float | None = None
    tie_log_: float | None = None
    covariate_names_: NDArray[Any] | None = None
    covariate_effects_: Float | None = None
    covariate_covariance_: Float | None = None
    categories_: NDArray[Any] | None = None
    category_counts_: Float | None = None
    times_: Float | None = None
    dated_: bool = False
    ranked_: bool = False
    board_scores_: Float | None = None
    board_covariances_: Float | None = None
    board_scales_: Float | None = None
    deviation_names_: NDArray[Any] | None = None
    deviations_: Float | None = None
    machines_: NDArray[Any] | None = None
    machine_votes_: Float | None = None
    machine_worth_: Float | None = None

    def _columns(self) -> ExplicitFeatures:
        """Return Φ: the features, and a column for each item."""
        own = sparse.eye_array(len(self.items_), format="csr")
        X: Matrix | None = self.X_fit_
        return ExplicitFeatures(own if X is None else sparse.hstack([sparse.csr_array(X), own], format="csr"))

    @cached_property
    def posterior(self) -> ItemPosterior:
        """The posterior distribution of the scores, from which `table` and the other methods compute."""
        check_is_fitted(self)
        if self.board_scores_ is not None:
            return self._board(0 if self.times_ is None else len(self.times_) - 1)
        votes, Phi = self._votes(), self._columns()
        model: VoteModel = SquaredVotes(self.noise_)
        if self.tie_log_ is not None:
            model = DavidsonVotes(float(np.exp(self.tie_log_)))
        elif self.model == "bradley_terry":
            model = LogisticVotes().fitted(votes, votes.differences(Phi.multiply(self.coef_)), 0.0)
        scales = getattr(self, "scales_", np.zeros((3, 0)))  # files of earlier versions have none
        own = getattr(self, "item_scales_", None)
        estimate = ScoreEstimate(self.coef_, self.curvature_, self.prior_, self.moves_, model, scales, own)
        return ItemPosterior(Phi, votes, estimate, self.random_state)

    def _board(self, number: int) -> ItemPosterior:
        """Return the posterior of one of several boards."""
        assert self.board_scores_ is not None
        assert self.board_covariances_ is not None
        assert self.board_scales_ is not None
        assert self.tie_log_ is not None
        odds = 0.0 if self.tie_log_ < -400.0 else float(np.exp(self.tie_log_))
        model = DavidsonVotes(odds) if self.ties == "davidson" and odds else LogisticVotes(odds)
        return ItemPosterior.given(
            self._votes(), self.board_scores_[number], self.board_covariances_[number], self.board_scales_, model
        )

    def _place(self, category: Any, at: Any) -> int | None:
        """Return the number of the board of a category, or of a time; None for that of the present."""
        check_is_fitted(self)
        n_times = 1 if self.times_ is None else len(self.times_)
        if category is not None and at is not None:
            raise InvalidInputError("Expected a category or a time; got both. Boards of categories are of the present.")
        if category is not None:
            known = [] if self.categories_ is None else self.categories_.tolist()
            if category not in known:
                near = nearest_names(category, np.array(known, dtype=object))
                raise InvalidInputError(f"Expected a category of the votes; got {category!r}{near}. Pass it to fit.")
            return n_times + known.index(category)
        if at is None:
            return None
        if self.times_ is None:
            raise InvalidInputError("Expected votes with times; got none. Pass `time` to fit.")
        return int(np.argmin(np.abs(self.times_ - time_values([at], 1)[0])))

    @property
    def _unit(self) -> float:
        return ELO if getattr(self, "scale", "logit") == "elo" else 1.0

    def _shift(self, posterior: ItemPosterior) -> float:
        """Return what is added to scores, in their unit, so that anchors have their values, on average."""
        anchor = getattr(self, "anchor", None) or {}
        apart = [value - self._unit * posterior.scores[self._number(item)] for item, value in anchor.items()]
        return float(np.mean(apart)) if apart else 0.0

    def _votes(self) -> Votes:
        won, lost, tied = self.counts_
        return Votes(len(self.items_), self.pairs_, won, lost, tied, None, None, 0, self.n_votes_)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed at its first use."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in COMPUTED}

    def table(self, category: Any = None, at: Any = None) -> Any:
        """Return the items in the order of their scores.

        Parameters
        ----------
        category : label, optional
            One of `categories_`, for the board of its own; votes and wins are then those of this category. All of them
            together unless given.
        at : number or date, optional
            A time: the board of the nearest of `times_`. The last one unless given.

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
        place = self._place(category, at)
        posterior = self.posterior if place is None else self._board(place)
        order, unit, shift = posterior.order, self._unit, self._shift(posterior)
        lowest, highest = posterior.score_limits(self.confidence)
        low, high = posterior.rank_limits(self.confidence)
        total, wins = _votes_and_wins(posterior.votes)
        if category is not None:
            assert place is not None
            assert self.category_counts_ is not None
            total, wins = self.category_counts_[:, place - (1 if self.times_ is None else len(self.times_))]
        columns = {
            "item": self.items_,
            "score": unit * posterior.scores + shift,
            "std_error": unit * posterior.std,
            "low": unit * lowest + shift,
            "high": unit * highest + shift,
            "rank": 1 + np.searchsorted(np.sort(-posterior.rounded), -posterior.rounded),
            "rank_low": low,
            "rank_high": high,
            "votes": _counts(total),
            "wins": _counts(wins),
        }
        return to_frame({name: values[order] for name, values in columns.items()})

    def trajectories(self) -> Any:
        """Return the scores of all items at all times.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``item, time, score, std_error, low, high``; at each time relative to the mean score of all items.
        """
        check_is_fitted(self)
        if self.times_ is None:
            raise InvalidInputError("Expected votes with times; got none. Pass `time` to fit.")
        m, boards = len(self.items_), [self._board(number) for number in range(len(self.times_))]
        unit, shifts = self._unit, np.repeat([self._shift(board) for board in boards], m)
        times = np.repeat(self.times_, m)
        if self.dated_:
            times = np.rint(1e6 * times).astype("datetime64[us]")
        scores, std = (np.concatenate([getattr(board, name) for board in boards]) for name in ("scores", "std"))
        scores, reach = unit * scores + shifts, unit * boards[0].quantile(self.confidence) * std
        columns = {"item": np.tile(self.items_, len(boards)), "time": times, "score": scores, "std_error": unit * std}
        return to_frame({**columns, "low": scores - reach, "high": scores + reach})

    def category_differences(self) -> Any:
        """Return by how much the score of each item in each category is above its common score.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``category, item, difference, std_error, low, high, differs``, the surest differences first.
            Differences are relative to the mean of all items; `differs` says that the interval does not hold zero.
        """
        check_is_fitted(self)
        if self.categories_ is None:
            raise InvalidInputError("Expected votes with categories; got none. Pass `category` to fit.")
        n, start = len(self.categories_), 1 if self.times_ is None else len(self.times_)
        boards = [self._board(start + n + number) for number in range(n)]
        d, std = (self._unit * np.concatenate([getattr(one, name) for one in boards]) for name in ("scores", "std"))
        reach = boards[0].quantile(self.confidence) * std
        order = np.argsort(-np.abs(d) / std, kind="stable")
        names = np.repeat(self.categories_, len(self.items_)), np.tile(self.items_, n)
        columns = {"category": names[0], "item": names[1], "difference": d, "std_error": std}
        columns |= {"low": d - reach, "high": d + reach, "differs": np.abs(d) > reach}
        return to_frame({name: values[order] for name, values in columns.items()})

    @property
    def covariates_(self) -> Any:
        """A table of the effects of covariates: ``covariate, effect, std_error, low, high``.

        An effect is by how much the logit of a vote grows with one unit of the covariate.
        """
        if self.covariate_names_ is None or self.covariate_effects_ is None:
            raise AttributeError("covariates_ needs votes with covariates: pass covariates to fit")
        return covariate_effects(
            self.covariate_names_, self.covariate_effects_, self.covariate_covariance_, self.confidence
        )

    def variation(self) -> Any:
        """Return how much scores vary between items, between categories, and in time.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``part, value, low, high`` with 95 % intervals. Values are standard deviations, in the unit of the
            scores: of items, of their deviations in single categories, and of a change over the span of all times
            ("drift"); 0.02 logits or less cannot be told from none. The last row, "length", is the time over which
            changes are forgotten, as a share of this span.
        """
        check_is_fitted(self)
        if self.deviation_names_ is None or self.deviations_ is None:
            raise InvalidInputError("Expected votes with covariates, categories or times; got none. Pass them to fit.")
        shown = np.array([" " not in name for name in self.deviation_names_])  # the others are of `machine_judges`
        unit = np.where(self.deviation_names_ == "length", 1.0, self._unit)
        value, low, high = (self.deviations_ * unit)[:, shown]
        return to_frame({"part": self.deviation_names_[shown], "value": value, "low": low, "high": high})

    def machine_judges(self) -> Any:
        """Return what the votes of each machine judge are worth.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            Columns ``judge, votes, worth, scale, scale_low, scale_high, deviation, deviation_low, deviation_high``.
            `worth` is the number of human votes, on pairs drawn at random, that would make scores from human votes
            alone as certain as the votes of this judge do. `scale` is how many times as large as those of human judges
            its logits are, and `deviation` the standard deviation, in the unit of the scores, of what it sees otherwise
            in single items; both with 95 % intervals. `machine_worth_` ends with the worth of all of them together.
        """
        check_is_fitted(self)
        if self.machines_ is None or self.deviation_names_ is None or self.deviations_ is None:
            raise InvalidInputError("Expected votes of machine judges; got none. Pass `judge_kind` to fit.")
        assert self.machine_votes_ is not None
        assert self.machine_worth_ is not None
        columns = {"judge": self.machines_, "votes": _counts(self.machine_votes_), "worth": self.machine_worth_[:-1]}
        for part, unit in (("scale", 1.0), ("deviation", self._unit)):
            chosen = np.array([name.startswith(f"{part} ") for name in self.deviation_names_])
            ends = ("", "_low", "_high")
            columns |= {part + end: unit * row[chosen] for end, row in zip(ends, self.deviations_, strict=True)}
        return to_frame(columns)

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
        d, std = (self._unit * values for values in self.posterior.difference(first, second))
        return ScoreComparison.normal(d, std, f"{self.model} posterior of the votes")

    def probability(self, a: Any, b: Any, *, covariates: Any = None, category: Any = None) -> float:
        """Return the probability that item a wins the next vote against b.

        It is the mean over the posterior, so that it is nearer to a half where scores are uncertain. A tie is half a
        win.

        Parameters
        ----------
        a, b : label
            Two items.
        covariates : mapping or sequence of float, optional
            The covariates of the vote, as in `fit`: for a less for b. Equal for both unless given. The effects count as
            independent of the scores.
        category : label, optional
            The category of the vote.

        Returns
        -------
        float
        """
        return float(self.probabilities([a], [b], covariates=covariates, category=category)[0, 0])

    def probabilities(self, first: Any, second: Any, *, covariates: Any = None, category: Any = None) -> Float:
        """Return the matrix of probabilities that one item wins the next vote against another.

        Parameters
        ----------
        first, second : sequence of label
        covariates, category
            As in `probability`, the same for all votes.

        Returns
        -------
        ndarray, shape (number of first, number of second)
            A half for an item and itself.
        """
        rows = np.array([self._number(item) for item in first], dtype=np.int64)
        places = np.array([self._number(item) for item in second], dtype=np.int64)
        both = np.repeat(rows, len(places)), np.tile(places, len(rows))
        place = self._place(category, None)
        posterior = self.posterior if place is None else self._board(place)
        d, std = posterior.difference(*both)
        if covariates is None:
            found = posterior.estimate.model.probability(d, std**2)
            return np.where(both[0] == both[1], 0.5, found).reshape(len(rows), len(places))
        z = self._covariate_row(covariates)
        assert self.covariate_effects_ is not None
        assert self.covariate_covariance_ is not None
        variance = std**2 + float(z @ self.covariate_covariance_ @ z)
        found = posterior.estimate.model.probability(d + float(z @ self.covariate_effects_), variance)
        return found.reshape(len(rows), len(places))

    def _covariate_row(self, covariates: Any) -> Float:
        if self.covariate_names_ is None:
            raise InvalidInputError("Expected votes with covariates; got none. Pass `covariates` to fit.")
        names, given = self.covariate_names_.tolist(), covariates
        if isinstance(covariates, Mapping):
            if set(covariates) != set(names):
                raise InvalidInputError(f"Expected the covariates {', '.join(names)}; got {', '.join(covariates)}.")
            given = [covariates[name] for name in names]
        z = np.asarray(given, dtype=np.float64).ravel()
        if len(z) != len(names) or not np.isfinite(z).all():
            raise InvalidInputError(f"Expected {len(names)} finite covariates; got {z.tolist()}.")
        return z

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
        O(n m²) time up to 1,000 items; beyond, pairs of the 100 items of the most promising pairs.
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
        difference, std = (self._unit * values for values in self.posterior.difference(first, second))
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
        who voted on t items. Beyond 1,000 items, and with categories, times or machine judges, the scores are those of
        all votes.
        """
        check_is_fitted(self)
        if self.judges_ is None:
            raise InvalidInputError("Expected votes with judges; got none. Pass `judge` to fit.")
        assert self.judge_pairs_ is not None
        assert self.judge_counts_ is not None
        won, lost, tied = self.judge_counts_
        who = (self.judge_numbers_, len(self.judges_))
        judged = Votes(len(self.items_), self.judge_pairs_, won, lost, tied, None, *who, self.n_votes_)
        of_others = self.times_ is None and self.categories_ is None and self.machines_ is None
        found = judge_agreement(self.posterior, judged, self.judge_offsets_, of_others=of_others)
        order = np.lexsort([found.agreement - found.expected, found.pvalue])
        columns = {"judge": self.judges_, "votes": _counts(found.votes)}
        columns |= {name: getattr(found, name) for name in ("agreement", "expected", "pvalue", "flagged")}
        return to_frame({name: values[order] for name, values in columns.items()})


def _votes_and_wins(votes: Votes) -> tuple[Float, Float]:
    total = votes.item_totals(votes.total)
    return total, (total + votes.item_sums(votes.won - votes.lost)) / 2.0


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
    ties : {"half", "davidson"}, default="half"
        How a tie counts: as half a vote each way, or as an outcome with a probability of its own, as in `BradleyTerry`.
    scale : {"logit", "elo"}, default="logit"
        The unit of the scores in tables and pages: logits, or Elo points, of which 400 are odds of ten to one.
        `scores_` are logits.
    anchor : dict, optional
        The score that an item shall have in tables and pages, such as ``{"model": 1000}``; of several, they have it on
        average. All scores and limits are shifted alike, so that intervals are as wide as without it.
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
    n_votes_, ranked_ : int, bool
        The number of votes between different items, or of rankings, and whether these are rankings.
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
    tie_log_ : float or None
        Davidson's θ; or that by which ties were weighted, for votes with covariates, categories or times.
    covariate_names_, covariate_effects_, covariate_covariance_ : ndarray or None
        The covariates, their effects, and the covariance of these; `covariates_` is their table.
    categories_ : ndarray or None
        The labels of the categories.
    times_, dated_ : ndarray or None, bool
        The times, or the mean times of bins; dates are seconds since 1970.
    board_scores_, board_covariances_, board_scales_ : ndarray or None
        The posteriors of all boards: of each time, or one; of each category; and how far these are from the common one.
    deviation_names_, deviations_ : ndarray or None
        What `variation` shows.
    machines_, machine_votes_, machine_worth_ : ndarray or None
        The machine judges, how many votes they cast, and how many human votes these are worth: of each, and of all.
    category_counts_, judge_offsets_ : ndarray or None
        Votes and wins in each category, and what adds to the differences of scores for each row of votes of judges.

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
        "ties": [StrOptions({"half", "davidson"})],
        "scale": [StrOptions({"logit", "elo"})],
        "anchor": [dict, None],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        model: Literal["bradley_terry", "least_squares"] = "bradley_terry",
        alpha: float | Literal["auto"] = "auto",
        *,
        ties: Literal["half", "davidson"] = "half",
        scale: Literal["logit", "elo"] = "logit",
        anchor: dict[Any, float] | None = None,
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
        *,
        covariates: Any = None,
        category: Any = None,
        time: Any = None,
        judge_kind: Any = None,
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
        covariates : array-like, shape (l, p), data frame or mapping of columns, optional
            What else differs between the two sides of a vote, such as by how many words the winner's answer is longer:
            the value of the winner less that of the loser. Scores are then what they would be if both were equal, and
            `covariates_` has the effects. Do not centre them: a difference of winner and loser would lose its effect.
        category : sequence, shape (l,), optional
            A label for each vote, such as the language. Each category gets a board of its own, see `table`, which is
            pulled towards the common one as far as the votes say that categories are alike.
        time : array-like of float or dates, shape (l,), optional
            When each vote was cast. Scores may then move in time, as fast as the votes say; `table`, `compare`,
            `next_pair` and the other methods are those of the last time. More than 200 different times (fewer for more
            than 380 items) are put into bins.
        judge_kind : mapping or sequence, shape (l,), optional
            Which judges are machines: ``"human"`` or ``"machine"`` for each judge by name (those that are not named are
            human) or for each vote. Scores are then those of human judges. What a machine judge says of an item is its
            score plus a random deviation, times a scale; how large both are follows from the agreement with human
            votes, see `machine_judges`. Not together with `time`.

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
        n_given, m = len(winners), len(self.items_)
        for name in COMPUTED:
            self.__dict__.pop(name, None)
        about = {"judge": judge, "covariates": covariates, "category": category, "time": time, "judge_kind": judge_kind}
        ballots = Ballots.of(m, pairs, kept, n_given, tie, weight, **about)
        votes = ballots.count(m, contexts=False)
        self.X_fit_ = None if X is None else standardised(X)
        self._check_scale(ballots)
        self._forget_contexts()
        self._keep_votes(votes, len(pairs))
        self.dated_, self.ranked_ = ballots.dated, False
        self._keep_judges(ballots)
        if ballots.have_contexts:
            self._keep_boards(ballots, votes)
        else:
            self._keep_estimate(self._estimate(votes), votes)
        self._note_gaps(votes)
        self.notes_ += [] if ballots.judge is None else few_judges(ballots.judge, ballots.weight)
        left_out = n_given - len(kept)
        if left_out:
            votes_are, were = ("vote is", "was") if left_out == 1 else ("votes are", "were")
            self.notes_.append(f"{left_out:,} {votes_are} on an item against itself and {were} left out.")
        return self

    @fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit_rankings(self, rankings: Any, *, weight: Any = None, below: Any = None, features: Any = None) -> Self:
        """Fit to rankings of two or more items, by the model of Plackett and Luce [Pla75].

        Scores mean the same as in `fit`: a is ranked above b with probability ``1 / (1 + exp(f_b - f_a))``. But the
        pairs of a ranking are not independent votes: as such they would count too much, and intervals would be too
        short.

        Parameters
        ----------
        rankings : sequence of sequence of label
            Each with the best item first. A list inside a ranking holds tied items, which count as all of their orders
            alike. Items that a ranking does not name take no part in it.
        weight : array-like, shape (number of rankings,), optional
            How often each ranking counts; once unless given.
        below : sequence of sequence of label, optional
            For each ranking the items that are below all of its items, in no known order.
        features
            As in `fit`.

        Returns
        -------
        self
            With the methods of a fit to votes. `votes` and `wins` of `table` count pairs, and `n_votes_` rankings.

        Notes
        -----
        O(n³) time and O(n²) memory for a ranking of n items in each of some 50 to 100 passes, and O(m³) for m items.
        """
        from kernelrank.votes.rankings import NumberedRankings, fit_rankings  # votes need none

        if self.ties != "half":
            raise InvalidInputError(f"Expected ties='half' for rankings; got {self.ties!r}.")
        known, X = (None, None) if features is None else named_features(features)
        given, self.items_ = NumberedRankings.of(rankings, weight, below, known)
        for name in COMPUTED:
            self.__dict__.pop(name, None)
        self.X_fit_ = None if X is None else standardised(X)
        self._forget_contexts()
        self._check_scale(None)
        votes, dense = given.votes, self._dense_features()
        size = float(given.weight.sum())
        self._keep_votes(votes, int(size) if size.is_integer() else len(given.tiers))
        self.dated_, self.ranked_ = False, True
        scores, S, self.board_scales_, self.deviations_ = fit_rankings(given, dense, self.alpha)
        self.tie_log_, self.board_scores_, self.board_covariances_ = NO_TIES, scores[None], S[None]
        self.deviation_names_ = np.array(["features", "items"][2 - self.deviations_.shape[1] :], dtype=object)
        self._keep_one_board(votes, dense.shape[1])
        self._note_gaps(votes)
        return self

    def held_out_losses(
        self,
        winners: Any,
        losers: Any,
        *,
        n_folds: int = 10,
        groups: Any = None,
        tie: Any = None,
        features: Any = None,
        **about: Any,
    ) -> Float:
        """Return how surprising each vote is to a board of other votes, to compare boards.

        Parameters
        ----------
        winners, losers, tie, features
            As in `fit`.
        n_folds : int, default=10
            The votes are held out in so many parts, drawn by `random_state`.
        groups : sequence, shape (l,), optional
            A label for each vote, such as its judge or prompt: all of a group are held out together.
        **about
            What else `fit` takes: `weight`, `judge`, `covariates`, `category`, `time`, `judge_kind`.

        Returns
        -------
        ndarray, shape (l,)
            Minus the logarithm of the probability of each vote; of the geometric mean of those of win and loss for a
            tie that counts half. NaN for votes of machine judges, which are only learnt from, and for votes on an item
            against itself.

        Notes
        -----
        The time of `n_folds` fits.
        """
        from kernelrank.votes.held_out import held_out_losses  # fits need none

        return held_out_losses(self, winners, losers, tie, features, groups, n_folds, about)

    def _check_scale(self, ballots: Ballots | None) -> None:
        """Check options that depend on the votes; None for rankings."""
        m, n = len(self.items_), 0 if self.X_fit_ is None else self.X_fit_.shape[1]
        boards = ballots is None or ballots.have_contexts
        for asked, what in (
            (self.ties == "davidson", "ties='davidson'"),
            (self.scale == "elo", "scale='elo'"),
            (boards, "covariates, categories, times, kinds of judges and rankings"),
        ):
            if asked and self.model != "bradley_terry":
                raise InvalidInputError(f"Expected model='bradley_terry' for {what}; got {self.model!r}.")
        if boards and m + n > INVERSE_LIMIT:
            raise InvalidInputError(
                f"Expected at most {INVERSE_LIMIT:,} items and features for covariates, categories, times, kinds of "
                f"judges or rankings; got {m:,} and {n:,}. Leave items with few votes out."
            )
        for item, value in (self.anchor or {}).items():
            self._number(item)
            if not np.isfinite(value):
                raise InvalidInputError(f"Expected a finite score for the anchor {item!r}; got {value!r}.")

    def _note_gaps(self, votes: Votes) -> None:
        gaps = VoteGaps.of(votes)
        self.notes_ = gaps.sentences(self.items_)
        if len(gaps.sizes) > 1:
            warnings.warn(self.notes_[0], UnconnectedVotesWarning, stacklevel=4)

    def _keep_votes(self, votes: Votes, n_votes: int) -> None:
        self.pairs_, self.counts_ = votes.pairs, np.stack([votes.won, votes.lost, votes.tied])
        self.n_votes_ = n_votes

    def _dense_features(self) -> Float:
        X: Any = np.zeros((len(self.items_), 0)) if self.X_fit_ is None else self.X_fit_
        return X.toarray() if is_sparse(X) else np.asarray(X)

    def _keep_one_board(self, votes: Votes, n_features: int) -> None:
        """Set what the one board of other votes has, and scores to those of the present."""
        assert self.deviations_ is not None
        assert self.deviation_names_ is not None
        p = len(self.items_) + n_features
        self.coef_, self.prior_, self.moves_ = np.zeros(p), np.zeros(p), np.zeros((p, 0))
        self.curvature_, self.scales_, self.item_scales_ = np.zeros(len(votes.pairs)), np.zeros((3, 0)), None
        self.noise_ = 1.0
        self.alpha_ = 0.5 * float(self.deviations_[0, self.deviation_names_.tolist().index("items")]) ** -2
        self.scores_ = self.posterior.scores

    def _forget_contexts(self) -> None:
        """Set what only some votes have to None."""
        self.judges_ = self.judge_pairs_ = self.judge_counts_ = self.judge_numbers_ = self.judge_offsets_ = None
        self.covariate_names_ = self.covariate_effects_ = self.covariate_covariance_ = self.tie_log_ = None
        self.categories_ = self.category_counts_ = self.times_ = None
        self.board_scores_ = self.board_covariances_ = self.board_scales_ = None
        self.deviation_names_ = self.deviations_ = None
        self.machines_ = self.machine_votes_ = self.machine_worth_ = None

    def _keep_judges(self, ballots: Ballots) -> Votes | None:
        if ballots.judge is None:
            return None
        judged = ballots.count(len(self.items_), contexts=ballots.have_contexts, judges=True)
        self.judges_, self.judge_pairs_, self.judge_numbers_ = ballots.judge.labels, judged.pairs, judged.judge
        self.judge_counts_ = np.stack([judged.won, judged.lost, judged.tied])
        return judged

    def _keep_boards(self, ballots: Ballots, plain: Votes) -> None:
        """Fit scores that depend on covariates, categories, times and kinds of judges."""
        from kernelrank.votes.latent import LatentFit, latent_votes, wanted_boards  # boards without them need none

        m = len(self.items_)
        X = self._dense_features()
        latent = latent_votes(ballots, ballots.count(m, contexts=True), X, habits=self.alpha == "auto")
        model = vote_model(self.model, self.ties, plain)
        assert isinstance(model, LogisticVotes)
        alpha = None if self.alpha == "auto" else float(self.alpha)
        found = LatentFit(latent, model, alpha).boards(wanted_boards(ballots))
        self.tie_log_ = max(float(np.log(max(found.model.tie_odds, 1e-300))), NO_TIES)
        self.board_scores_, self.board_covariances_, self.board_scales_ = found.scores, found.covariances, found.scales
        self.deviation_names_, self.deviations_ = np.array(found.names, dtype=object), found.spreads
        self.times_ = ballots.times
        if ballots.machines is not None:
            assert ballots.slice_of is not None
            weight = np.ones(len(ballots.pairs)) if ballots.weight is None else ballots.weight
            self.machines_, self.machine_worth_ = ballots.machines, found.worth
            votes_of = np.bincount(ballots.slice_of, weight, len(ballots.machines) + 1)
            self.machine_votes_ = votes_of[1:].astype(np.float64)
        if ballots.rms is not None:
            self.covariate_names_, self.covariate_effects_ = ballots.names, found.effects / ballots.rms
            self.covariate_covariance_ = found.effects_covariance / np.outer(ballots.rms, ballots.rms)
        if ballots.category is not None:
            self.categories_ = ballots.category.labels
            own = [ballots.of_category(number).count(m, contexts=False) for number in range(len(self.categories_))]
            self.category_counts_ = np.stack([np.stack(_votes_and_wins(votes)) for votes in own], axis=1)
        self._keep_one_board(plain, X.shape[1])
        if ballots.judge is not None:
            judged = ballots.count(m, contexts=True, judges=True)
            rows = latent_votes(ballots, judged, latent.X)
            where = found.everywhere if ballots.machines is None else found.everywhere[[0] * rows.shape[0]]
            self.judge_offsets_ = rows.differences_of(where, found.effects) - judged.differences(self.scores_)

    def _estimate(self, votes: Votes) -> ScoreEstimate:
        Phi, model = self._columns(), vote_model(self.model, self.ties, votes)
        if self.alpha != "auto":
            return scores_at(model, Phi, votes, float(self.alpha), self.random_state)
        n = Phi.n_columns - Phi.n_items
        sizes = [(slice(n, Phi.n_columns), 1.0)]
        if n:
            sizes.insert(0, (slice(0, n), float(n) ** -0.5))
        found = estimate_scores(model, Phi, votes, sizes=sizes, seed=self.random_state)
        if Phi.n_columns > MIXED_LIMIT:
            return found
        return mix_scores(votes, self._dense_features(), found, ItemPosterior(Phi, votes, found).unknown)

    def _keep_estimate(self, estimate: ScoreEstimate, votes: Votes) -> None:
        self.coef_, self.prior_ = estimate.mean, estimate.prior
        self.curvature_, self.moves_, self.scales_ = estimate.curvature, estimate.moves, estimate.scales
        self.item_scales_ = estimate.item_scales
        self.noise_ = estimate.model.noise if isinstance(estimate.model, SquaredVotes) else 1.0
        if isinstance(estimate.model, DavidsonVotes):
            self.tie_log_ = float(np.log(estimate.model.tie_odds))
        scale = 0.5 if self.model == "bradley_terry" else self.noise_
        self.alpha_ = scale * float(estimate.prior[-1])
        self.scores_ = ItemPosterior(self._columns(), votes, estimate).scores
