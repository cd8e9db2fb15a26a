"""Simulated judges, to plan how many votes a design needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import kendalltau

from kernelrank.base.arrays import Float
from kernelrank.base.results import to_frame
from kernelrank.collecting.outlook import CollectedVotes, Outlook, look
from kernelrank.collecting.pairs import Design, PairChoice
from kernelrank.errors import InvalidInputError

MEASURES = ("tau", "coverage", "width", "reliability", "true_reliability")


def simulated_votes(
    n_items: int,
    checkpoints: list[int],
    *,
    spread: float = 1.0,
    design: Design = "adaptive",
    n_judges: int = 10,
    judge_spread: float = 0.3,
    minimum: int = 2,
    seed: int = 0,
) -> Iterator[tuple[CollectedVotes, tuple[float, ...]]]:
    """Yield the votes of a simulated collection after each number of votes, and their `MEASURES`."""
    random = np.random.default_rng(seed)
    truth = spread * random.normal(size=n_items)
    skill = np.exp(judge_spread * random.normal(size=n_judges))

    def wins(judge: int, first: int, second: int) -> bool:
        return bool(random.random() < expit(skill[judge] * (truth[first] - truth[second])))

    states = replayed_votes(n_items, n_judges, wins, checkpoints, design=design, minimum=minimum, random=random)
    return ((votes, _measures(outlook, truth)) for votes, outlook in states)


def replayed_votes(
    n_items: int,
    n_judges: int,
    wins: Callable[[int, int, int], bool],
    checkpoints: list[int],
    *,
    random: np.random.Generator,
    design: Design = "adaptive",
    minimum: int = 2,
) -> Iterator[tuple[CollectedVotes, Outlook]]:
    """Yield votes, and what is known by them, after each number of votes; ``wins(judge, first, second)`` says who wins.

    All judges vote at the same time, so that each pair is chosen while others are open, by the fit at the last
    checkpoint. It ends when all judges have seen all pairs.
    """
    category = np.zeros(n_items, dtype=np.int64)
    choice = PairChoice(design, minimum=minimum, seed=int(random.integers(2**31)))
    choice.set_items(category)
    seen: list[set[int]] = [set() for _ in range(n_judges)]
    held = [choice.choose(known) for known in seen]
    rows: list[tuple[int, int, int, int]] = []
    for end in checkpoints:
        while len(rows) < end and any(pair is not None for pair in held):
            judge = int(random.integers(n_judges))
            if (pair := held[judge]) is not None:
                rows.append((*pair, 1 if wins(judge, *pair) else -1, judge))
                seen[judge].add(choice.key(pair))
                choice.voted(pair)
                scale = 1.0 if choice.outlook is None else float(choice.outlook.scale[judge])
                held[judge] = choice.choose(seen[judge], scale)
        if len(rows) < end:
            return
        left, right, outcome, judges = np.array(rows, dtype=np.int64).T
        question = np.zeros(end, dtype=np.int64)
        votes = CollectedVotes(category, 1, n_judges, question, left, right, outcome, judges, choice.counts.copy())
        choice.learn(outlook := look(votes))
        yield votes, outlook


def simulate_collection(
    n_items: int,
    *,
    n_votes: int | None = None,
    spread: float = 1.0,
    design: Design = "adaptive",
    n_judges: int = 10,
    judge_spread: float = 0.3,
    minimum: int = 2,
    n_runs: int = 5,
    random_state: int = 0,
) -> Any:
    """Simulate a collection of votes, to see how many a design needs.

    Parameters
    ----------
    n_items : int
    n_votes : int, optional
        The largest number of votes; 30 for each item by default.
    spread : float, default=1.0
        The standard deviation of the true scores, in logits: with 1, the better of two random items wins 71 % of the
        votes, with 2 it wins 82 %.
    design : {"adaptive", "random"}, default="adaptive"
    n_judges : int, default=10
        The judges, who vote at the same time.
    judge_spread : float, default=0.3
        How much judges differ: the standard deviation of the logarithm of the factor of their logits.
    minimum : int, default=2
        The votes that every item gets first.
    n_runs : int, default=5
        How often the collection is simulated.
    random_state : int, default=0
        Random seed.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or dict of ndarray
        Columns ``votes, tau, coverage, width, reliability, true_reliability``, means over the runs: Kendall's tau of
        scores and true scores, the share of 95 % intervals that hold the true score and their mean width, the
        reliability as the posterior tells it, and the squared correlation that it estimates.

    Examples
    --------
    >>> from kernelrank.collecting import simulate_collection
    >>> found = simulate_collection(8, n_votes=40, spread=2.0, n_runs=1)
    >>> int(found["votes"].max())
    40
    """
    if n_items < 2 or n_runs < 1 or n_judges < 1:
        raise InvalidInputError("Expected at least two items, one run and one judge.")
    if n_votes is None:
        n_votes = 30 * n_items
    first = max(2, min(n_items * minimum // 2 + n_judges, n_votes))
    steps = np.geomspace(first, n_votes, max(2, int(np.log(n_votes / first) / np.log(1.12)) + 2))
    checkpoints = np.unique(np.rint(steps).astype(np.int64)).tolist()
    options: dict[str, Any] = {"spread": spread, "n_judges": n_judges, "judge_spread": judge_spread, "minimum": minimum}
    found: dict[int, list[tuple[float, ...]]] = {}
    for run in range(n_runs):
        for votes, measures in simulated_votes(n_items, checkpoints, design=design, seed=random_state + run, **options):
            found.setdefault(len(votes.left), []).append(measures)
    means = np.array([np.mean(values, axis=0) for values in found.values()])
    return to_frame({"votes": np.array(list(found)), **dict(zip(MEASURES, means.T, strict=True))})


def _measures(outlook: Outlook, truth: Float) -> tuple[float, ...]:
    (board,) = outlook.boards
    truth = truth[board["items"]] - truth[board["items"]].mean()
    score, low, high = (np.array(board[name]) for name in ("score", "low", "high"))
    inside, tau = (low <= truth) & (truth <= high), kendalltau(score, truth).statistic
    squared = np.corrcoef(score, truth)[0, 1] ** 2
    return float(tau), float(inside.mean()), float((high - low).mean()), board["reliability"], float(squared)
