"""Claim: a judge who votes at random is flagged, and of 20 judges who are alike one is flagged in about 5 of 100 cases.

Run: python benchmarks/random_judges_are_flagged.py [--draws 150] [--judges 20] [--votes 50] [--items 15] [--seed 5]

Votes are drawn from the model, for normal scores with standard deviations of 0.5, 1 and 2; the first judge votes like
the others, or at random. Seed 5, 150 draws: the random judge is flagged in 28, 87 and 100 % of the cases, and an honest
one beside it in 7, 4 and 0 %. Without a random judge, 7, 7 and 5 % of the leaderboards flag somebody. With a normal
tail in place of the gamma distribution these would be 11, 16 and 21 %.
"""

from __future__ import annotations

import argparse

import numpy as np

from kernelrank.votes import Leaderboard


def flagged(rng, options, scale, *, at_random):
    """Return the judges who are flagged on one leaderboard."""
    f = scale * rng.standard_normal(options.items)
    n_votes = options.judges * options.votes
    judge = np.repeat(np.arange(options.judges), options.votes)
    first = rng.integers(options.items, size=n_votes)
    second = (first + rng.integers(1, options.items, size=n_votes)) % options.items
    chance = np.where(at_random & (judge == 0), 0.5, 1.0 / (1.0 + np.exp(f[second] - f[first])))
    won = rng.random(n_votes) < chance
    board = Leaderboard().fit(np.where(won, first, second), np.where(won, second, first), judge=judge)
    found = board.judges()
    return set(np.asarray(found["judge"])[np.asarray(found["flagged"])].tolist())


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=150)
    parser.add_argument("--judges", type=int, default=20)
    parser.add_argument("--votes", type=int, default=50)
    parser.add_argument("--items", type=int, default=15)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    print("scores  first judge   first flagged   leaderboards that flag another")
    for scale in (0.5, 1.0, 2.0):
        for at_random in (False, True):
            rng = np.random.default_rng(options.seed)
            found = [flagged(rng, options, scale, at_random=at_random) for _ in range(options.draws)]
            first, other = np.mean([0 in one for one in found]), np.mean([bool(one - {0}) for one in found])
            kind = "at random" if at_random else "as others"
            print(f"{scale:6.1f}  {kind:<12} {first:14.3f} {other:32.3f}", flush=True)


if __name__ == "__main__":
    main()
