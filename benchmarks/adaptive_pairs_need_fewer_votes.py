"""Claim: adaptive pairs need at most 3/4 of the votes of random ones, and 95 % intervals cover 93 to 98 % all the same.

Run: python benchmarks/adaptive_pairs_need_fewer_votes.py [--items 20 50 200] [--runs 40 20 5] [--spread 2 1]
     [--judge-spread 0] [--seed 1]

Ten simulated judges vote at the same time on items whose scores are normal, with a standard deviation of 2 logits or 1;
the leaderboard is fitted again after every 12 % more votes. For each case the table has

- the votes until the mean Kendall's tau of scores and true scores is .8, adaptive, random and their ratio (the claim is
  that of a standard deviation of 2), with a standard error from resampling the runs;
- the share of 95 % intervals that hold the true score, over items, fits and runs, with adaptive and random pairs, and
  its standard error over the runs;
- the reliability of the adaptive board at tau = .8: the squared correlation of scores and truth, what the posterior
  says of it, and what the separation index says: one less the mean squared standard error over the variance of the
  scores, both without regularisation.

Figures are printed, none are kept here: they differ by seed.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from kernelrank import Leaderboard
from kernelrank.collecting.simulation import simulated_votes

LEVEL = 0.8


def separation(votes):
    """Return the separation index of scores that are almost without regularisation."""
    left, right = np.where(votes.outcome > 0, [votes.left, votes.right], [votes.right, votes.left])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = Leaderboard(alpha=0.05).fit(left, right).posterior
    return 1.0 - np.mean(posterior.std**2) / np.var(posterior.scores)


def measured(n_items, spread, design, judge_spread, n_runs, seed):
    """Return numbers of votes (k,), `MEASURES` (n_runs, k, 5), and the collected votes of each run and number."""
    last = int(n_items * (12 if spread > 1.5 else 40) * (1.0 + np.log(n_items / 20.0) / 4.0))
    checkpoints = np.unique(np.rint(np.geomspace(n_items + 10, last, int(np.log(last / n_items) / 0.113)))).astype(int)
    options = {"spread": spread, "design": design, "judge_spread": judge_spread}
    runs = [list(simulated_votes(n_items, checkpoints.tolist(), seed=seed + run, **options)) for run in range(n_runs)]
    k = min(map(len, runs))  # ten judges may have seen all pairs of few items
    return checkpoints[:k], np.array([[values for _, values in run[:k]] for run in runs]), runs


def crossing(votes, tau):
    """Return at how many votes the mean tau reaches the level for good."""
    below = np.flatnonzero(tau < LEVEL)
    if len(below) == 0 or below[-1] + 1 == len(tau):
        return np.nan
    place = below[-1]
    share = (LEVEL - tau[place]) / (tau[place + 1] - tau[place])
    return float(np.exp((1.0 - share) * np.log(votes[place]) + share * np.log(votes[place + 1])))


def ratio_and_error(results, rng):
    """Return the ratio of the votes that the two designs need, and its standard error from resampling the runs.

    The runs of the two designs have the same true scores, and are resampled together.
    """

    def ratio(runs):
        needed = (crossing(votes, measures[runs, :, 0].mean(axis=0)) for votes, measures, _ in results.values())
        return np.divide(*needed)

    n_runs = len(results["adaptive"][1])
    return ratio(np.arange(n_runs)), np.nanstd([ratio(rng.integers(n_runs, size=n_runs)) for _ in range(400)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--runs", type=int, nargs="+", default=[40, 20, 5])
    parser.add_argument("--spread", type=float, nargs="+", default=[2.0, 1.0])
    parser.add_argument("--judge-spread", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print("items  sd  adaptive  random  ratio (s.e.)  cover (adaptive)  cover (random)  true r²  posterior  separation")
    for spread in given.spread:
        for n_items, n_runs in zip(given.items, given.runs, strict=True):
            results = {
                design: measured(n_items, spread, design, given.judge_spread, n_runs, given.seed)
                for design in ("adaptive", "random")
            }
            print(row_of(n_items, spread, results, rng), flush=True)


def row_of(n_items, spread, results, rng):
    """Return a row of the table; coverage has a standard error over the runs."""
    needed = {name: crossing(votes, measures[:, :, 0].mean(axis=0)) for name, (votes, measures, _) in results.items()}
    ratio, error = ratio_and_error(results, rng)
    cover = []
    for _, measures, _ in results.values():
        runs = measures[:, :, 1].mean(axis=1)
        cover.append(f"{runs.mean():8.3f} ({runs.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan:.3f})")
    votes, measures, collected = results["adaptive"]
    place = int(np.argmin(np.abs(votes - (needed["adaptive"] if needed["adaptive"] > 0 else votes[-1]))))
    said, true = measures[:, place, 3:].mean(axis=0)
    separated = np.mean([separation(states[place][0]) for states in collected])
    return (
        f"{n_items:5d} {spread:3g} {needed['adaptive']:9.0f} {needed['random']:7.0f}   {ratio:.2f} ({error:.2f}) "
        f"{cover[0]:>17} {cover[1]:>15} {true:8.2f} {said:10.2f} {separated:11.2f}"
    )


if __name__ == "__main__":
    main()
