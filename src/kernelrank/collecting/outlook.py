"""What is known of the scores: the fits that run beside the service, for the next pairs and for the owner's page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_expit

from kernelrank.base.arrays import Float, Index, one_thread
from kernelrank.votes.leaderboard import Leaderboard
from kernelrank.votes.next_votes import best_pairs, information, promising_pairs, votes_to_tell_apart

SCALES = np.geomspace(0.1, 3.0, 15)
"""The reliabilities of judges that are looked at."""
N_PAIRS = 16_000
"""So many of the most informative pairs are kept, beside the best one of each item."""
SHOWN = 1_000
"""The owner's page shows so many items of a board."""


@dataclass(frozen=True, eq=False)
class CollectedVotes:
    """The votes that count, at one time.

    Shapes: category (m,); question, left, right, outcome (1: left, -1: right, 0: tie), judge (l,).
    """

    category: Index
    n_questions: int
    n_judges: int
    question: Index
    left: Index
    right: Index
    outcome: Index
    judge: Index
    counts: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Outlook:
    """The posterior of the scores for each of q questions, the most informative pairs, and what the owner sees.

    Shapes: scores, std (q, m); pairs (k, 2); difference, variance (q, k); scale (n_judges,); counts (m,).
    """

    scores: Float
    std: Float
    pairs: Index
    difference: Float
    variance: Float
    scale: Float
    counts: Index
    boards: list[dict[str, Any]]
    judges: dict[int, tuple[float, float, bool]]


def look(votes: CollectedVotes, *, confidence: float = 0.95) -> Outlook:
    """Fit the leaderboards of each question and category, and find the most informative pairs.

    Items without votes have the mean score and the variance of the prior. One thread: the others are for requests.
    """
    with one_thread():
        return _look(votes, confidence)


def _look(votes: CollectedVotes, confidence: float) -> Outlook:
    m, n_questions = len(votes.category), votes.n_questions
    groups = [np.flatnonzero(votes.category == group) for group in np.unique(votes.category)]
    scores, std = np.zeros((n_questions, m)), np.ones((n_questions, m))
    fits: list[_GroupFit] = []
    for question in range(n_questions):
        for items in groups:
            rows = np.flatnonzero(
                (votes.question == question) & (votes.category[votes.left] == votes.category[items[0]])
            )
            fit = _GroupFit(votes, rows, question, items, confidence)
            scores[question, items], std[question, items] = fit.scores, fit.std
            fits.append(fit)
    keys = np.unique(np.concatenate([fit.promising(N_PAIRS // len(fits)) for fit in fits]))
    pairs = np.column_stack(np.divmod(keys, m))
    difference, variance = scores[:, pairs[:, 0]] - scores[:, pairs[:, 1]], np.zeros((n_questions, len(pairs)))
    for fit in fits:
        inside = np.flatnonzero(votes.category[pairs[:, 0]] == votes.category[fit.items[0]])
        variance[fit.question, inside] = fit.variances(pairs[inside])
    scale, boards = judge_scales(votes, scores, std), [fit.summary(votes) for fit in fits]
    return Outlook(scores, std, pairs, difference, variance, scale, votes.counts, boards, _agreement(fits))


class _GroupFit:
    """The leaderboard of one question and one category.

    Shapes: items (g,), scores, std (g,).
    """

    def __init__(self, votes: CollectedVotes, rows: Index, question: int, items: Index, confidence: float) -> None:
        self.question, self.items, self.n_items = question, items, len(votes.category)
        self.scores, self.std = np.zeros(len(items)), np.ones(len(items))
        self.board: Leaderboard | None = None
        self.voted = np.zeros(0, dtype=np.int64)  # the places in `items` of the items of the leaderboard
        if len(rows):
            left, right, outcome = votes.left[rows], votes.right[rows], votes.outcome[rows]
            winners, losers = np.where(outcome >= 0, left, right), np.where(outcome >= 0, right, left)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about votes that do not connect all items yet
                board = Leaderboard(confidence=confidence)
                self.board = board.fit(winners, losers, tie=outcome == 0, judge=votes.judge[rows])
            self.voted = np.searchsorted(items, board.items_.astype(np.int64))
            self.std[:] = board.prior_[-1] ** -0.5
            self.scores[self.voted], self.std[self.voted] = board.posterior.scores, board.posterior.std

    @property
    def _knows_covariances(self) -> bool:
        return self.board is not None and self.board.posterior.knows_covariances and len(self.items) <= 1_000

    def _covariance(self) -> Float:
        assert self.board is not None
        S = np.diag(self.std**2)
        S[np.ix_(self.voted, self.voted)] = self.board.posterior.covariance(np.arange(len(self.voted)))
        return S

    def variances(self, pairs: Index) -> Float:
        """Return the variances of the differences of pairs of items of the group, shape (k,)."""
        first, second = np.searchsorted(self.items, pairs).T
        variance = self.std[first] ** 2 + self.std[second] ** 2
        if self._knows_covariances:
            variance = variance - 2.0 * self._covariance()[first, second]
        return np.asarray(np.maximum(variance, 0.0))

    def promising(self, n: int) -> Index:
        """Return pairs with much information as numbers, ``first * m + second`` for m items."""
        g = len(self.items)
        if g < 2:
            return np.zeros(0, dtype=np.int64)
        if g > 1_000:
            pairs = promising_pairs(self.scores, self.std, n)[0]
        else:
            pairs = np.column_stack(np.triu_indices(g, 1))
            variance = self.variances(self.items[pairs])
            gain = information(self.scores[pairs[:, 0]] - self.scores[pairs[:, 1]], variance)
            pairs = pairs[best_pairs(pairs, gain, n)]
        first, second = self.items[pairs].T
        return np.asarray(first * self.n_items + second)

    def summary(self, votes: CollectedVotes) -> dict[str, Any]:
        """Return the board as the owner's page shows it."""
        said: dict[str, Any] = {
            "question": self.question,
            "category": int(votes.category[self.items[0]]),
            "n_items": len(self.items),
            "n_without_votes": len(self.items) - len(self.voted),
        }
        if self.board is None:
            return said | {"n_votes": 0, "items": [], "apart": [], "needed": [], "width": None, "reliability": 0.0}
        board, posterior = self.board, self.board.posterior
        order = posterior.order[:SHOWN]
        low, high = posterior.score_limits(board.confidence)
        rank_low, rank_high = posterior.rank_limits(board.confidence)
        neighbours = posterior.order[:21]
        first, second = neighbours[:-1], neighbours[1:]
        apart = [
            bool(posterior.told_apart(a[None], b[None], board.confidence)[0, 0])
            for a, b in zip(first, second, strict=True)
        ]
        needed = votes_to_tell_apart(posterior, first, second, 0.8, board.confidence)
        columns = {"score": posterior.scores, "low": low, "high": high, "rank_low": rank_low, "rank_high": rank_high}
        return said | {
            "n_votes": board.n_votes_,
            "items": self.items[self.voted][order].tolist(),
            **{name: np.round(values[order], 4).tolist() for name, values in columns.items()},
            "apart": apart,
            "needed": [int(n) if n < 1e9 else None for n in needed],
            "width": float((high - low).max()),
            "reliability": reliability(posterior.scores, posterior.std),
        }


def reliability(scores: Float, std: Float) -> float:
    """Return the squared correlation that the posterior expects between its means and the true scores.

    ``Var(means) / (Var(means) + mean variance)``: the posterior's own variance of the true scores is below the line.
    The separation index has the variance of the estimates there, which adaptive choice inflates.
    """
    between, within = float(np.var(scores)), float(np.mean(std**2))
    return between / (between + within)


def judge_scales(votes: CollectedVotes, scores: Float, std: Float) -> Float:
    """Return the reliability of each judge: how many times as large as usual the logits of the judge are.

    The mean over a grid, with a prior around 1 whose logarithm has a standard deviation of 1/2. Shapes: (n_judges,).
    """
    decided = np.flatnonzero(votes.outcome != 0)
    question, left, right = votes.question[decided], votes.left[decided], votes.right[decided]
    d = (scores[question, left] - scores[question, right]) * votes.outcome[decided]
    d = d / np.sqrt(1.0 + np.pi / 8.0 * (std[question, left] ** 2 + std[question, right] ** 2))
    judge = votes.judge[decided]
    fit = [np.bincount(judge, log_expit(scale * d), minlength=votes.n_judges) for scale in SCALES]
    logarithm = np.array(fit) - 2.0 * np.log(SCALES)[:, None] ** 2
    weight = np.exp(logarithm - logarithm.max(axis=0))
    return np.asarray(SCALES @ weight / weight.sum(axis=0))


def _agreement(fits: list[_GroupFit]) -> dict[int, tuple[float, float, bool]]:
    """Return the agreement of each judge with the others, what is expected, and whether it is too small by chance."""
    boards = [fit.board for fit in fits if fit.board is not None]
    found: dict[int, tuple[float, float, bool]] = {}
    if len(boards) != 1:
        return found
    (board,) = boards
    assert board.judges_ is not None
    assert board.judge_numbers_ is not None
    if float((np.bincount(board.judge_numbers_).astype(float) ** 3).sum()) > 5e9 or len(board.judges_) < 2:
        return found
    table: Any = board.judges()
    names = ("judge", "agreement", "expected", "flagged")
    for judge, agreement, expected, flagged in zip(*(np.asarray(table[name]).tolist() for name in names), strict=True):
        if agreement == agreement:
            found[int(judge)] = (float(agreement), float(expected), bool(flagged))
    return found
