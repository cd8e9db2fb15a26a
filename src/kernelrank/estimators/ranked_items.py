"""Ranked items: the methods of a fitted leaderboard."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.results import Estimates, to_frame
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.judge_agreement import judge_agreement
from kernelrank.estimators.next_votes import most_telling_pairs, votes_to_tell_apart
from kernelrank.estimators.score_comparison import ScoreComparison
from kernelrank.estimators.voted_items import nearest_names
from kernelrank.features import ExplicitFeatures
from kernelrank.losses.expected_votes import LogisticVotes, SquaredVotes, VoteModel
from kernelrank.votes.posterior import ItemPosterior
from kernelrank.votes.score_estimate import ScoreEstimate
from kernelrank.votes.votes import Votes

__all__ = ["RankedItems"]

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
        from kernelrank.report.chart_display import ChartDisplay

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
