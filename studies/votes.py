"""What each addition to a leaderboard gains on held-out votes: sides, prompts, judges, and whole rankings.

Votes of people on the answers of language models (llmfao): one board, with an advantage of a side, with a board for
each prompt or judge that is pulled towards the common one, and with boards of prompts that know nothing of each other.
Votes are held out at random, or with all other votes of their judge. Rankings of PrefLib: by the model of Plackett and
Luce, and by their pairs, with folds of whole rankings.

Reported are mean log-losses. A tie of llmfao counts as half a vote each way. Of a held-out ranking the log-loss is that
of its choices (its best item among all, the next one among the rest, and so on), for scores learnt from the other
rankings, and that of its pairs. The intervals are of differences, from the jackknife over judges or rankings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kernelrank import Leaderboard
from kernelrank.data import read_pairs, read_rankings
from studies.book.sources import LLMFAO, PREFLIB
from studies.book.study import Run, Study
from studies.preferences import RANKINGS, Votes, difference


def rows_of(found: dict[str, np.ndarray], votes: Votes) -> dict[str, Any]:
    """Return the mean of each row of losses, and its difference to the first row."""
    first = next(iter(found.values()))
    return {
        name: {
            "log_loss": np.average(losses, weights=votes.weight),
            "beside": None if losses is first else difference(losses, first, votes),
        }
        for name, losses in found.items()
    }


def arena(run: Run) -> dict[str, Any]:
    """Hold out votes on language models."""
    read = read_pairs(run.data[LLMFAO], covariates=["side"], category="prompt")
    assert read.names is not None
    first, second = read.names[read.pairs[:, 0]], read.names[read.pairs[:, 1]]
    prompt, side = read.category, read.covariates
    board = Leaderboard(random_state=run.seed)

    def losses(rows: Any = slice(None), *, groups: Any = None, **about: Any) -> np.ndarray:
        return board.held_out_losses(
            first[rows], second[rows], tie=read.tie[rows], n_folds=run["folds"], groups=groups, **about
        )

    def separate() -> np.ndarray:
        found = np.empty(len(first))
        for label in np.unique(prompt):
            rows = np.flatnonzero(prompt == label)
            found[rows] = losses(rows)
        return found

    votes = Votes.of(read)
    tried = {
        "one board": {},
        "advantage of a side": {"covariates": side},
        "boards of prompts": {"category": prompt},
        "both of these": {"category": prompt, "covariates": side},
    }
    at_random = {name: losses(**about) for name, about in tried.items()}
    at_random["separate boards of prompts"] = separate()
    at_random["boards of judges"] = losses(category=read.judge)
    by_judge = {name: losses(groups=read.judge, **about) for name, about in tried.items()}
    return {
        "models": votes.n_items,
        "votes": len(first),
        "ties": int(votes.tie.sum()),
        "prompts": len(np.unique(prompt)),
        "judges": len(np.unique(read.judge)),
        "rows": {"votes": rows_of(at_random, votes), "judges": rows_of(by_judge, votes)},
    }


def choices(scores: np.ndarray) -> np.ndarray:
    """Return the loss of each choice of a ranking, from the scores of its items in their order, the best first."""
    after = np.logaddexp.accumulate(scores[::-1])[::-1]
    return (after - scores)[:-1]


def pairs_of(order: list[str]) -> Iterator[tuple[str, str]]:
    """Return the pairs of a ranking."""
    for place, item in enumerate(order):
        for other in order[place + 1 :]:
            yield item, other


def fitted(name: str, orders: list[list[str]]) -> Leaderboard:
    """Fit to rankings, or to their pairs."""
    if name == "Plackett and Luce":
        return Leaderboard().fit_rankings(orders)
    winners, losers = zip(*(pair for order in orders for pair in pairs_of(order)), strict=True)
    shares = [np.full(n * (n - 1) // 2, 2.0 / (n * (n - 1))) for n in map(len, orders)]
    return Leaderboard().fit(winners, losers, weight=None if name == "pairs" else np.concatenate(shares))


MODELS = ("Plackett and Luce", "pairs", "pairs that share one vote")


def rankings(path: Path, run: Run) -> dict[str, Any]:
    """Hold out rankings."""
    read = read_rankings(path)
    orders = [order for order, n in zip(read.rankings, read.weight, strict=True) for _ in range(int(n))]
    draw = np.random.default_rng(run.seed)
    if len(orders) > run["rankings"]:
        orders = [orders[k] for k in draw.choice(len(orders), run["rankings"], replace=False)]
    n = len(orders)
    fold = draw.permutation(n) % min(n, run["folds"])
    found = {kind: {name: np.empty(n) for name in MODELS} for kind in ("choices", "pairs")}
    for number in np.unique(fold):
        train = [order for order, own in zip(orders, fold, strict=True) if own != number]
        for name in MODELS:
            board = fitted(name, train)
            score = dict(zip(board.items_.tolist(), board.scores_.tolist(), strict=True))
            for k in np.flatnonzero(fold == number):
                f = np.array([score.get(item, 0.0) for item in orders[k]])
                upper, lower = np.triu_indices(len(f), 1)
                found["choices"][name][k] = choices(f).mean()
                found["pairs"][name][k] = np.logaddexp(0.0, f[lower] - f[upper]).mean()
    none = np.zeros(n, dtype=int)
    alike = Votes(np.zeros((n, 2), dtype=int), none.astype(bool), np.ones(n), none, np.arange(n), 0)
    return {
        "items": len({item for order in orders for item in order}),
        "rankings": n,
        "rows": {kind: rows_of(losses, alike) for kind, losses in found.items()},
    }


def protocol(run: Run) -> dict[str, Any]:
    """Hold out votes, and rankings."""
    warnings.simplefilter("ignore")  # a part of few votes may be unconnected
    found: dict[str, Any] = {"arena": arena(run), "rankings": {}}
    for name in RANKINGS:
        short = name.partition("/")[0].rpartition(" ")[2]
        if short in run["sets"]:
            if run.data.has(PREFLIB):
                path = next(run.data[PREFLIB].rglob(Path(name).name))
                found["rankings"][short] = {"file": Path(name).stem, **rankings(path, run)}
            else:
                run.skipped.append(f"{PREFLIB.name}: get it from {PREFLIB.where}")
    return found


STUDY = Study(
    protocol,
    data=(LLMFAO,),
    settings={
        "folds": (10, 3),
        "rankings": (400, 60),
        "sets": (("skate", "dots", "puzzle", "boxing", "f1seasons"), ("skate", "dots")),
    },
)
