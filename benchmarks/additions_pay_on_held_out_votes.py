"""Claim: times and categories lower the log-loss of held-out votes where they matter, and cost nothing elsewhere.

Run: python benchmarks/additions_pay_on_held_out_votes.py [--draws 20] [--items 20] [--seed 3]

Scores have a standard deviation of 1 logit; votes are held out in 4 parts. The table has mean differences of
log-losses, in thousandths, with standard errors over draws:

- times: with times less without them, for scores that take random walks with a change of so much over the span of 10
  times, and 40 votes on each item;
- categories: pulled boards of 4 categories less one board, and less separate boards, for deviations of so much between
  categories, and 20 votes on each item in each.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.votes import Leaderboard

TIMES, CATEGORIES = 10, 4


def vote(s, context, rng):
    """Draw a vote for each context, by its scores s (contexts, m)."""
    m = s.shape[1]
    a = rng.integers(m, size=len(context))
    b = (a + rng.integers(1, m, size=len(a))) % m
    won = rng.random(len(a)) < 1.0 / (1.0 + np.exp(s[context, b] - s[context, a]))
    return np.where(won, a, b), np.where(won, b, a)


def losses(votes, **about):
    """Return the mean log-loss of held-out votes."""
    return np.mean(Leaderboard().held_out_losses(*votes, n_folds=4, **about))


def times(m, size, rng):
    """Return what times change."""
    s = rng.standard_normal(m) + np.cumsum(rng.standard_normal((TIMES, m)) * size / np.sqrt(TIMES), axis=0)
    at = rng.integers(TIMES, size=20 * m)
    votes = vote(s, at, rng)
    return [losses(votes, time=at) - losses(votes)]


def categories(m, size, rng):
    """Return what pulled boards change, beside one board and separate ones."""
    s = rng.standard_normal(m) + size * rng.standard_normal((CATEGORIES, m))
    category = np.arange(10 * m * CATEGORIES) % CATEGORIES
    votes = vote(s, category, rng)
    separate = [losses([side[category == one] for side in votes]) for one in range(CATEGORIES)]
    pulled = losses(votes, category=category)
    return [pulled - losses(votes), pulled - np.mean(separate)]


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnconnectedVotesWarning)
    print("kind        change  difference to the first (second) board, in thousandths")
    for kind, sizes in ((times, (0.0, 0.4, 0.8, 1.6)), (categories, (0.0, 0.2, 0.5, 2.0))):
        for size in sizes:
            rng = np.random.default_rng(options.seed)
            found = 1e3 * np.array([kind(options.items, size, rng) for _ in range(options.draws)])
            means, errors = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
            cells = "  ".join(f"{mean:+6.1f} ± {error:.1f}" for mean, error in zip(means, errors, strict=True))
            print(f"{kind.__name__:<11} {size:6}  {cells}", flush=True)


if __name__ == "__main__":
    main()
