"""Claim: 95 % intervals of a leaderboard hold the true score in 93 or more of 100 cases, the true rank in 97 or more.

Run: python benchmarks/leaderboard_intervals_cover.py [--draws 60 12] [--items 20 200] [--votes 5 20 50]
     [--ties 0 0.3 0.6] [--kind davidson] [--seed 7]

Votes are drawn from the model, on pairs drawn at random, for scores that are normal with standard deviations of 0.5, 1
and 2, evenly spaced, or in two tight groups. For each case the table has how often intervals of scores and of ranks
hold the truth, over items and draws, and the mean width of a rank interval as a share of all ranks. Scores are relative
to the mean of all items.

With ties, a vote is still worth ``1 / (1 + exp(-d))`` on average, a tie counting a half. Ties are as frequent as
Davidson's model says, or (``--kind flat``) equally frequent for all pairs but those whose scores leave no room for it;
`--ties` is their share between equal items. The ratio is the reported standard error beside the true one: roots of the
mean squares over items and draws.

Seeds 201 to 204, none of which was looked at before, 40 draws a seed for 20 items and 12 for 200. Share of intervals of
scores that hold the truth, lowest and highest of the five kinds of scores, with standard errors of up to 0.7 over all
draws:

- 20 items: 95.2 to 97.4 with 5 votes each, 93.6 to 96.0 with 20, 94.5 to 95.5 with 50;
- 200 items: 93.9 to 96.2 with 5 votes each, 94.3 to 95.2 with 20, 94.6 to 95.3 with 50.

The lowest shares are those of two groups: their scores are not normal, and those of the small group are drawn towards
the large one. 200 items in two groups with 5 votes each were drawn more often, because they are the case that misses
the claim most easily: 93.2 ± 0.4 over 150 draws (seed 301). On seeds 101 to 106, where a single estimate of the
variance of scores had 91.5 ± 0.9, it is 92.1 (36 draws). All 234 draws of these and of 201 to 204 together have
93.2 ± 0.3, so this case is at the edge of the claim, and single seeds are below it. With the true variance, which
nobody knows, it would be 94.5 (60 draws of seed 1).

How the mixture was chosen: some 15 ways to weigh values of the variance were compared on seed 1. The one that was taken
corrects the evidence and keeps the prior of before; on seed 301 it was compared with a prior that favours larger
variances (τ in place of √τ), which has 93.6 here, but 98.1 for 20 items with close scores and 5 votes each (97.7 ± 0.3
with √τ).

Intervals of ranks hold the true rank in 98.0 or more. They are wide: 88 to 99 % of all ranks with 5 votes each, and 31
to 80 % with 50.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np

from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.votes import Leaderboard
from kernelrank.votes.likelihood import LogisticVotes

TRUTHS = {
    "normal, 0.5": lambda rng, m: 0.5 * rng.standard_normal(m),
    "normal, 1": lambda rng, m: rng.standard_normal(m),
    "normal, 2": lambda rng, m: 2.0 * rng.standard_normal(m),
    "evenly spaced": lambda rng, m: rng.permutation(np.linspace(-2.0, 2.0, m)),
    "two groups": lambda rng, m: np.where(np.arange(m) < m // 5, 1.5, -0.5) + 0.1 * rng.standard_normal(m),
}


def tied_share(p, share, kind):
    """Return the probability of a tie, for the mean of a vote and the share of ties between equal items."""
    if kind == "davidson" and share:
        return LogisticVotes(2.0 * share / (1.0 - share)).ties(p)
    return np.minimum(share, 1.6 * np.minimum(p, 1.0 - p))


def covered(f, n_votes, share, kind, rng):
    """Return which intervals of scores and of ranks hold the truth, widths of the latter, and squared errors."""
    m = len(f)
    first = rng.integers(0, m, m * n_votes // 2)
    second = (first + rng.integers(1, m, len(first))) % m
    p, u = 1.0 / (1.0 + np.exp(f[second] - f[first])), rng.random(len(first))
    t = tied_share(p, share, kind)
    won, tie = u < p - t / 2, np.abs(u - p) <= t / 2
    options = {"tie": tie} if share else {}
    board = Leaderboard().fit(np.where(won, first, second), np.where(won, second, first), **options)
    table = board.table()
    items = np.asarray(table["item"])
    score = f[items] - f[board.items_].mean()
    rank = 1 + np.argsort(np.argsort(-f[board.items_]))
    rank = dict(zip(board.items_.tolist(), rank.tolist(), strict=True))
    rank = np.array([rank[item] for item in items.tolist()])
    low, high, rank_low, rank_high = (np.asarray(table[name]) for name in ("low", "high", "rank_low", "rank_high"))
    held = (low <= score) & (score <= high), (rank_low <= rank) & (rank <= rank_high)
    squares = np.asarray(table["std_error"]) ** 2, (np.asarray(table["score"]) - score) ** 2
    return *held, (rank_high - rank_low + 1) / m, *squares


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, nargs="+", default=[60, 12])
    parser.add_argument("--items", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--votes", type=int, nargs="+", default=[5, 20, 50])
    parser.add_argument("--ties", type=float, nargs="+", default=[0.0, 0.3, 0.6])
    parser.add_argument("--kind", choices=["davidson", "flat"], default="davidson")
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS))
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnconnectedVotesWarning)
    print("items  votes each  ties  true scores          score held   rank held   width of ranks   ratio")
    for m, draws in zip(options.items, options.draws, strict=True):
        for n_votes, share, name in product(options.votes, options.ties, options.truths):
            rng = np.random.default_rng(options.seed)
            found = [covered(TRUTHS[name](rng, m), n_votes, share, options.kind, rng) for _ in range(draws)]
            score, rank, width, *squares = (np.concatenate(part).mean() for part in zip(*found, strict=True))
            error = np.std([one[0].mean() for one in found], ddof=1) / np.sqrt(draws)
            held, ratio = f"{score:.3f} ± {error:.3f}", np.sqrt(squares[0] / squares[1])
            row = f"{m:5d} {n_votes:11d} {share:5.2f}  {name:<15} {held:>15} {rank:11.3f} {width:16.2f} {ratio:7.2f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
