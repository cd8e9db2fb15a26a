"""Claim: covariates of each vote cost at most 4 fits of the same votes one by one; 200 times take less than a minute.

Run: python benchmarks/leaderboards_with_contexts_are_quick.py [--repeat 3] [--old PATH/src]

CPU seconds of three fits, the least of some repeats that take turns:

- 140,000 votes on 130 models with 4 covariates, and the same votes without them, each a row of its own ("one by one"; a
  leaderboard without covariates adds votes of the same pair up, which is the third line);
- 1,000,000 votes on 100 items without anything else; with `--old` by the package of that folder too, in a process of
  its own each time;
- 100,000 votes on 100 items at 200 times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np

from kernelrank import Leaderboard
from kernelrank.votes.latent import LatentFit, LatentVotes, wanted_boards
from kernelrank.votes.likelihood import LogisticVotes
from kernelrank.votes.votes import Ballots, Votes

MILLION = """
import time, numpy as np
from kernelrank import Leaderboard
rng = np.random.default_rng(1)
f, a = rng.standard_normal(100), rng.integers(100, size=1_000_000)
b = (a + rng.integers(1, 100, size=len(a))) % 100
won = rng.random(len(a)) < 1 / (1 + np.exp(f[b] - f[a]))
winners, losers = np.where(won, a, b), np.where(won, b, a)
Leaderboard().fit(winners[:1000], losers[:1000])
start = time.process_time()
Leaderboard().fit(winners, losers)
print(time.process_time() - start)
"""


def votes_of(m, n, rng, extra=0.0):
    """Draw votes; `extra` adds to the logits of the first of each pair."""
    f, a = rng.standard_normal(m), rng.integers(m, size=n)
    b = (a + rng.integers(1, m, size=n)) % m
    won = rng.random(n) < 1.0 / (1.0 + np.exp(f[b] - f[a] - extra))
    return np.where(won, a, b), np.where(won, b, a), won


def one_by_one(winners, losers, m):
    """Fit to votes that are not added up."""
    votes = Votes.count(m, np.column_stack([winners, losers]), group=np.arange(len(winners)))
    latent = LatentVotes(replace(votes, group=None), np.zeros((m, 0)))
    return LatentFit(latent, LogisticVotes(), None).boards(wanted_boards(Ballots(votes.pairs, None, None)))


def least(repeat, **fits):
    """Return the least CPU seconds of each fit, which take turns."""
    found = dict.fromkeys(fits, np.inf)
    for _ in range(repeat):
        for name, fit in fits.items():
            start = time.process_time()
            fit()
            found[name] = min(found[name], time.process_time() - start)
    return found


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--old")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    C = rng.standard_normal((140_000, 4))
    winners, losers, won = votes_of(130, len(C), rng, C @ [0.5, -0.3, 0.2, 0.1])
    C = np.where(won[:, None], C, -C)
    found = least(
        options.repeat,
        covariates=lambda: Leaderboard().fit(winners, losers, covariates=C),
        without=lambda: one_by_one(winners, losers, 130),
        added_up=lambda: Leaderboard().fit(winners, losers),
    )
    print("140,000 votes, 130 models: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items()))
    print(f"with 4 covariates over the same votes one by one: {found['covariates'] / found['without']:.2f}")
    for _ in range(options.repeat):
        for name, path in (("now", None), ("old", options.old)):
            if name == "now" or path:
                env = {**os.environ, **({"PYTHONPATH": path} if path else {})}
                command = [sys.executable, "-c", MILLION]
                ended = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
                print(f"1,000,000 votes, 100 items, {name}: {float(ended.stdout):.2f} s")
    winners, losers, _ = votes_of(100, 100_000, rng)
    times = rng.integers(200, size=len(winners))
    found = least(1, times=lambda: Leaderboard().fit(winners, losers, time=times))
    print(f"100,000 votes, 100 items, 200 times: {found['times']:.1f} s")


if __name__ == "__main__":
    main()
