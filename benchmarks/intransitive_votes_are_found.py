"""Claim: `intransitivity` finds votes that one score an item cannot explain, and errs in 5 of 100 boards without them.

Run: python benchmarks/intransitive_votes_are_found.py [--draws 200] [--seed 1]

Scores have a standard deviation of 1 logit, or 2; pairs are drawn at random. Each pair has a deviation from the
difference of its scores, of the standard deviation given (0: scores explain everything). The table has the share of
p-values below 0.05 and below 0.01, with the standard error of the first, and the median of the estimated deviation.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.votes import Leaderboard, intransitivity

KINDS = [  # items, votes, standard deviation of scores, odds of ties, options of the board
    (5, 100, 1.0, 0.0, {}),
    (10, 300, 1.0, 0.0, {}),
    (10, 2_000, 1.0, 0.0, {}),
    (20, 400, 1.0, 0.0, {}),
    (20, 1_000, 2.0, 0.0, {}),
    (10, 1_000, 1.0, 1.0, {}),
    (10, 1_000, 1.0, 1.0, {"ties": "davidson"}),
    (10, 1_000, 1.0, 0.0, {"alpha": 0.01}),
]


def board_of(m, n, size, odds, options, deviation, rng):
    """Draw votes, and fit a board."""
    f, own = size * rng.standard_normal(m), np.triu(deviation * rng.standard_normal((m, m)), 1)
    own -= own.T
    a = rng.integers(m, size=n)
    b = (a + rng.integers(1, m, size=n)) % m
    d = f[a] - f[b] + own[a, b]
    terms = np.column_stack([np.exp(d / 2), np.exp(-d / 2), np.full(n, odds)])
    ends = np.cumsum(terms / terms.sum(axis=1, keepdims=True), axis=1)
    outcome = (rng.random(n)[:, None] > ends[:, :2]).sum(axis=1)  # 0: a wins, 1: b wins, 2: a tie
    winners, losers = np.where(outcome == 1, b, a), np.where(outcome == 1, a, b)
    return Leaderboard(**options).fit(winners, losers, tie=outcome == 2 if odds else None)


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnconnectedVotesWarning)
    print("items  votes  scores  ties  deviation  p < .05        p < .01  found  CPU s  options")
    for m, n, size, odds, given in KINDS:
        for deviation in (0.0, 0.5, 1.0):
            rng, start = np.random.default_rng(options.seed), time.process_time()
            found = [intransitivity(board_of(m, n, size, odds, given, deviation, rng)) for _ in range(options.draws)]
            p, sizes = np.array([one.pvalue for one in found]), [one.deviation for one in found]
            error = np.std(p < 0.05) / len(p) ** 0.5
            seconds = (time.process_time() - start) / len(p)
            cells = f"{np.mean(p < 0.05):.3f} ± {error:.3f}  {np.mean(p < 0.01):.3f}"
            cells += f"  {np.median(sizes):6.2f}  {seconds:.3f}"
            print(f"{m:5}  {n:5}  {size:6}  {odds:4}  {deviation:9}  {cells}  {given or ''}", flush=True)


if __name__ == "__main__":
    main()
