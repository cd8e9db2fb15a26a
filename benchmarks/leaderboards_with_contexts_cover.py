"""Claim: intervals under covariates, in categories and in time hold the truth in 93 to 98 of 100 cases, ranks in 93.

Run: python benchmarks/leaderboards_with_contexts_cover.py [--draws 40] [--items 20] [--seed 7] [--kinds ...]

Scores of items have a standard deviation of 1 logit. The kinds of votes:

- covariates: two of them, of which the first raises votes and goes against quality (correlation -0.7 with the score);
- categories 5, categories 50: four categories with 5 or 50 votes on each item in each, and deviations of 0.4;
- drift, still: scores that take random walks with a change of 0.8 over the span of 30 times, or none; 40 votes on each
  item. Intervals are those at the end and in the middle;
- machines: 300 votes of human judges, and 1,000 of each of three machine judges with scales 2, 1 and 0.7 and deviations
  of 0.5, 1 and 0.3 (a planted bias for each item); beside human votes alone, and votes as if all judges were alike;
- rankings: 5 m rankings of 5 items, by fit_rankings and by their pairs as votes;
- adaptive: covariates, where half of the votes are on pairs that `next_pair` chose, 40 at a time.

The table has how often intervals of scores and of ranks hold the truth, with standard errors over draws. The last lines
compare style control (60 items, 12,000 votes, length raises votes and goes against quality): correlation of scores with
the truth, with and without the covariate.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np

from kernelrank.errors import UnconnectedVotesWarning
from kernelrank.votes import Leaderboard

CATEGORIES, TIMES = 4, 30


def pairs_of(m, n, rng):
    """Return n random pairs of different items."""
    first = rng.integers(m, size=n)
    return np.column_stack([first, (first + rng.integers(1, m, size=n)) % m])


def vote(pairs, d, rng, C=None):
    """Turn pairs, and their covariates, towards the winners."""
    turned = rng.random(len(pairs)) > 1.0 / (1.0 + np.exp(-d))
    pairs = np.where(turned[:, None], pairs[:, ::-1], pairs)
    return pairs, None if C is None else np.where(turned[:, None], -C, C)


def styles(f, pairs, rng, strength=0.7):
    """Return covariates, the first of which is large for items with low scores, and differences with their effects."""
    m = len(f)
    habit = -strength * f / f.std() + np.sqrt(1.0 - strength**2) * rng.standard_normal(m)
    C = np.column_stack([habit[pairs[:, 0]] - habit[pairs[:, 1]], np.zeros(len(pairs))])
    C += rng.standard_normal(C.shape)
    return C, f[pairs[:, 0]] - f[pairs[:, 1]] + C @ [0.8, -0.3]


def hits(board, truth, **which):
    """Return how often intervals of scores, and of ranks, hold the truth."""
    table = board.table(**which)
    items = np.asarray(table["item"])
    score, rank = (truth - truth[np.sort(items)].mean())[items], (1 + np.argsort(np.argsort(-truth)))[items]
    low, high, best, worst = (np.asarray(table[name]) for name in ("low", "high", "rank_low", "rank_high"))
    return [np.mean((low <= score) & (score <= high)), np.mean((best <= rank) & (rank <= worst))]


def covariates(m, rng):
    """Votes with covariates."""
    f, pairs = rng.standard_normal(m), pairs_of(m, 15 * m, rng)
    C, d = styles(f, pairs, rng)
    pairs, C = vote(pairs, d, rng, C)
    board = Leaderboard().fit(*pairs.T, covariates=C)
    effects = board.covariates_
    inside = (effects["low"] <= [0.8, -0.3]) & (effects["high"] >= [0.8, -0.3])
    return {"covariates": hits(board, f), "effects of covariates": [np.mean(inside), np.nan]}


def adaptive(m, rng):
    """Votes with covariates, half of them on pairs that were chosen."""
    f, pairs = rng.standard_normal(m), pairs_of(m, 8 * m, rng)
    C, d = styles(f, pairs, rng)
    habit = -0.7 * f / f.std() + np.sqrt(0.51) * rng.standard_normal(m)
    pairs, C = vote(pairs, d, rng, C)
    for _ in range(8 * m // 40):
        asked = np.array(Leaderboard().fit(*pairs.T, covariates=C).next_pair(40))
        z = np.column_stack([habit[asked[:, 0]] - habit[asked[:, 1]], np.zeros(len(asked))])
        z += rng.standard_normal(z.shape)
        asked, z = vote(asked, f[asked[:, 0]] - f[asked[:, 1]] + z @ [0.8, -0.3], rng, z)
        pairs, C = np.concatenate([pairs, asked]), np.concatenate([C, z])
    return {"adaptive": hits(Leaderboard().fit(*pairs.T, covariates=C), f)}


def categories(m, rng, n_votes):
    """Votes in categories with deviations of their own."""
    f = rng.standard_normal(m) + 0.4 * rng.standard_normal((CATEGORIES, m))
    pairs = pairs_of(m, n_votes * m * CATEGORIES // 2, rng)
    category = rng.integers(CATEGORIES, size=len(pairs))
    pairs, _ = vote(pairs, f[category, pairs[:, 0]] - f[category, pairs[:, 1]], rng)
    board = Leaderboard().fit(*pairs.T, category=category)
    return {f"categories {n_votes}": np.mean([hits(board, f[one], category=one) for one in range(CATEGORIES)], axis=0)}


def drift(m, rng, change, name):
    """Votes on scores that move."""
    steps = rng.standard_normal((TIMES, m)) * change / np.sqrt(TIMES)
    f, pairs = rng.standard_normal(m) + np.cumsum(steps, axis=0), pairs_of(m, 20 * m, rng)
    at = rng.integers(TIMES, size=len(pairs))
    pairs, _ = vote(pairs, f[at, pairs[:, 0]] - f[at, pairs[:, 1]], rng)
    board = Leaderboard().fit(*pairs.T, time=at)
    middle, end = TIMES // 2, TIMES - 1
    return {f"{name}, end": hits(board, f[end]), f"{name}, middle": hits(board, f[middle], at=middle)}


def machines(m, rng):
    """Votes of human judges and of machines with a bias for each item."""
    f, parts, judge = rng.standard_normal(m), [], []
    for name, n, scale, deviation in (
        ("human", 300, 1, 0),
        ("a", 1_000, 2, 0.5),
        ("b", 1_000, 1, 1),
        ("c", 1_000, 0.7, 0.3),
    ):
        s, pairs = scale * (f + deviation * rng.standard_normal(m)), pairs_of(m, n, rng)
        parts.append(vote(pairs, s[pairs[:, 0]] - s[pairs[:, 1]], rng)[0])
        judge += [name] * n
    pairs, human = np.concatenate(parts), np.array(judge) == "human"
    both = Leaderboard().fit(*pairs.T, judge=judge, judge_kind=np.where(human, "human", "machine"))
    alone, pooled = Leaderboard().fit(*pairs[human].T), Leaderboard().fit(*pairs.T)
    width = np.mean(both.table()["std_error"]) / np.mean(alone.table()["std_error"])
    found = {"humans and machines": hits(both, f), "humans alone": hits(alone, f), "as if all alike": hits(pooled, f)}
    return {**found, "width, humans alone: 1": [width, np.nan]}


def rankings(m, rng):
    """Rankings of five items."""
    f = rng.standard_normal(m)
    items = np.array([rng.choice(m, 5, replace=False) for _ in range(5 * m)])
    order = np.argsort(-(f[items] + rng.gumbel(size=items.shape)), axis=1)
    ranked = np.take_along_axis(items, order, 1).tolist()
    pairs = np.array([pair for one in ranked for pair in itertools.combinations(one, 2)])
    return {
        "rankings": hits(Leaderboard().fit_rankings(ranked), f),
        "their pairs": hits(Leaderboard().fit(*pairs.T), f),
    }


KINDS = {
    "machines": machines,
    "rankings": rankings,
    "covariates": covariates,
    "adaptive": adaptive,
    "categories5": lambda m, rng: categories(m, rng, 5),
    "categories50": lambda m, rng: categories(m, rng, 50),
    "drift": lambda m, rng: drift(m, rng, 0.8, "drift"),
    "still": lambda m, rng: drift(m, rng, 0.0, "still"),
}


def style_control(rng):
    """Return the correlation with the truth of a plain board and of one with the covariate."""
    f, pairs = rng.standard_normal(60), pairs_of(60, 12_000, rng)
    habit = -0.8 * f + 0.6 * rng.standard_normal(60)
    C = (habit[pairs[:, 0]] - habit[pairs[:, 1]])[:, None] + 0.7 * rng.standard_normal((len(pairs), 1))
    pairs, C = vote(pairs, f[pairs[:, 0]] - f[pairs[:, 1]] + 1.2 * C[:, 0], rng, C)
    boards = Leaderboard().fit(*pairs.T), Leaderboard().fit(*pairs.T, covariates=C)
    return [np.corrcoef(board.scores_, f[board.items_])[0, 1] for board in boards]


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnconnectedVotesWarning)
    print("votes                      scores held        ranks held     CPU seconds a draw")
    for kind in options.kinds:
        rng, start = np.random.default_rng(options.seed), time.process_time()
        found = [KINDS[kind](options.items, rng) for _ in range(options.draws)]
        seconds = (time.process_time() - start) / options.draws
        for name in found[0]:
            values = np.array([draw[name] for draw in found])
            mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = "   ".join(f"{one:.3f} ± {other:.3f}" for one, other in zip(mean, error, strict=True))
            print(f"{name:<25}{cells}   {seconds:8.2f}", flush=True)
    found = np.array([style_control(np.random.default_rng(options.seed + draw)) for draw in range(5)])
    print(
        f"style control: correlation {found[:, 0].round(3).tolist()} plain, {found[:, 1].round(3).tolist()} controlled"
    )


if __name__ == "__main__":
    main()
