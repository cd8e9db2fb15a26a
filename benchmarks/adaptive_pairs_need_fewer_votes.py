"""Claim: adaptive pairs need at most 3/4 of the votes of random ones, and 95 % intervals cover 93 to 98 % all the same.

Run: python benchmarks/adaptive_pairs_need_fewer_votes.py [--items 20 50 200] [--runs 40 20 5] [--spread 2 1]
     [--judge-spread 0] [--seed 1]

Ten simulated judges vote at the same time on items whose scores are normal, with a standard deviation of 2 logits or 1;
the leaderboard is fitted again after every 12 % more votes. For each case the table has

- the votes until the mean Kendall's tau of scores and true scores is .8, adaptive, random and their ratio (the claim is
  that of a standard deviation of 2);
- the share of 95 % intervals that hold the true score, over items, fits and runs, with random and adaptive pairs;
- the reliability of the adaptive board at tau = .8: the squared correlation of scores and truth, what the posterior
  says of it, and what the separation index says: one less the mean squared standard error over the variance of the
  scores, both without regularisation.

Figures are printed, none are kept here: they differ by seed.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.stats import kendalltau

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
    """Return votes, and means over runs: tau, coverage, and reliability: the true one, the posterior's, separation."""
    last = int(n_items * (12 if spread > 1.5 else 40) * (1.0 + np.log(n_items / 20.0) / 4.0))
    checkpoints = np.unique(np.rint(np.geomspace(n_items + 10, last, int(np.log(last / n_items) / 0.113)))).astype(int)
    found = {}
    for run in range(n_runs):
        for state in simulated_votes(
            n_items, checkpoints.tolist(), spread=spread, design=design, judge_spread=judge_spread, seed=seed + run
        ):
            (board,) = state.outlook.boards
            items = np.array(board["items"])
            truth = state.truth[items] - state.truth[items].mean()
            score, low, high = (np.array(board[name]) for name in ("score", "low", "high"))
            found.setdefault(len(state.votes.left), []).append(
                (
                    kendalltau(score, truth).statistic,
                    np.mean((low <= truth) & (truth <= high)),
                    np.corrcoef(score, truth)[0, 1] ** 2,
                    board["reliability"],
                    separation(state.votes) if design == "adaptive" else np.nan,
                )
            )
    return np.array(list(found)), np.array([np.mean(values, axis=0) for values in found.values()])


def crossing(votes, tau):
    """Return at how many votes the mean tau reaches the level for good."""
    below = np.flatnonzero(tau < LEVEL)
    if len(below) == 0 or below[-1] + 1 == len(tau):
        return np.nan
    place = below[-1]
    share = (LEVEL - tau[place]) / (tau[place + 1] - tau[place])
    return float(np.exp((1.0 - share) * np.log(votes[place]) + share * np.log(votes[place + 1])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[20, 50, 200])
    parser.add_argument("--runs", type=int, nargs="+", default=[40, 20, 5])
    parser.add_argument("--spread", type=float, nargs="+", default=[2.0, 1.0])
    parser.add_argument("--judge-spread", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("items  sd  adaptive  random  ratio  cover (adaptive)  cover (random)  true r²  posterior  separation")
    for spread in given.spread:
        for n_items, n_runs in zip(given.items, given.runs, strict=True):
            results = {
                design: measured(n_items, spread, design, given.judge_spread, n_runs, given.seed)
                for design in ("adaptive", "random")
            }
            needed = {design: crossing(votes, means[:, 0]) for design, (votes, means) in results.items()}
            cover = {design: means[:, 1].mean() for design, (_, means) in results.items()}
            votes, means = results["adaptive"]
            place = int(np.argmin(np.abs(votes - (needed["adaptive"] if needed["adaptive"] > 0 else votes[-1]))))
            true, said, separated = means[place, 2:]
            print(
                f"{n_items:5d} {spread:3g} {needed['adaptive']:9.0f} {needed['random']:7.0f} "
                f"{needed['adaptive'] / needed['random']:6.2f} {cover['adaptive']:17.3f} {cover['random']:15.3f} "
                f"{true:8.2f} {said:10.2f} {separated:11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
