"""Claim: Bradley and Terry's scores of a million votes on 100 items cost at most 1.5 × `evalica.bradley_terry`.

Run: python benchmarks/leaderboards_cost_what_evalica_costs.py [--votes 1000000] [--items 100]

Whole calls from lists of names, CPU seconds of one thread, in one run. Beside the scores at a tiny alpha, which agree
with evalica's, stands the default, which estimates alpha. evalica is needed: pip install evalica.
"""

from __future__ import annotations

import argparse

import evalica
import numpy as np
from harness import report, time_interleaved

from kernelrank.votes import Leaderboard


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    m, n_votes = options.items, options.votes
    f = rng.standard_normal(m)
    first = rng.integers(0, m, n_votes)
    second = (first + rng.integers(1, m, n_votes)) % m
    won = rng.random(n_votes) < 1.0 / (1.0 + np.exp(f[second] - f[first]))
    names = np.array([f"model {number}" for number in range(m)])
    left, right = names[first].tolist(), names[second].tolist()
    outcome = [evalica.Winner.X if one else evalica.Winner.Y for one in won.tolist()]
    winners, losers = (names[np.where(won, a, b)].tolist() for a, b in ((first, second), (second, first)))
    seconds = time_interleaved(
        {
            "evalica.bradley_terry": lambda: evalica.bradley_terry(left, right, outcome),
            "Leaderboard(alpha=1e-9).fit": lambda: Leaderboard(alpha=1e-9).fit(winners, losers),
            "Leaderboard().fit": lambda: Leaderboard().fit(winners, losers),
        },
        repeats=3,
        threads=1,
    )
    report(f"{n_votes:,} votes on {m} items", seconds, "evalica.bradley_terry", 1.5)
    scores = evalica.bradley_terry(left, right, outcome, tolerance=1e-12, limit=10_000).scores
    board = Leaderboard(alpha=1e-9).fit(winners, losers)
    theirs = np.log([scores[name] for name in board.items_])
    print(f"  largest difference of centred scores: {np.abs(board.scores_ - theirs + theirs.mean()).max():.1e}")


if __name__ == "__main__":
    main()
