"""Claim: with 10,000 items and 100,000 votes a judge waits for milliseconds, and gets a pair that tells about the most.

Run: python benchmarks/informative_pairs_among_ten_thousand_items.py [--items 10000] [--votes 100000] [--judges 50]
     [--answers 300] [--spread 1.5] [--seed 0]

A collection is filled with votes of simulated judges, opened as after a restart, and fitted once. Then judges vote in
turn, as they would over HTTP. Printed are

- the seconds to open the database, and those of a fit, which runs in a process of its own beside the service;
- the milliseconds of "vote and next pair", the commit included, and of a bare commit;
- the information of each chosen pair as a share of the best of 10,000 random pairs that this judge could see, by the
  state of the collection at that moment (scores, variances, votes since the fit, open pairs): the mean and the least.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from kernelrank.collecting import Collection, CollectionRules, Item, VoteRow, VoteStore
from kernelrank.collecting.outlook import look
from kernelrank.votes.next_votes import information


def filled(where, n_items, n_votes, n_judges, spread, rng):
    """Write a database with votes of simulated judges on random pairs."""
    scores = spread * rng.normal(size=n_items)
    first = rng.integers(n_items, size=n_votes)
    second = (first + rng.integers(1, n_items, size=n_votes)) % n_items
    wins = rng.random(n_votes) < expit(scores[first] - scores[second])
    judge = rng.integers(n_judges, size=n_votes)
    with VoteStore(where) as store:
        store.add_items([Item(f"item {n}", "text", f"Text {n}") for n in range(n_items)])
        store.ask(["Which is better?"])
        for number in range(n_judges):
            store.judge(f"secret {number}", f"judge {number}")
        rows = [
            VoteRow(secrets.token_hex(8), "vote", *numbers, "left" if won else "right", time="2026-01-01T00:00:00")
            for *numbers, won in zip(judge.tolist(), [0] * n_votes, first.tolist(), second.tolist(), wins, strict=True)
        ]
        assert store.append(*rows) == n_votes


def share_of_best(collection, judge, chosen, n_pairs, rng):
    """Return the information of a pair as a share of the best of random pairs that the judge has not seen.

    In the state at that moment: a vote or an open pair since the fit adds to the precision of its items, as in
    `PairChoice`. Without the chosen pair itself, which is open now.
    """
    choice, outlook, m = collection.choice, collection.outlook, len(collection.items)
    scale = float(outlook.scale[judge.number]) if judge.number < len(outlook.scale) else 1.0
    shown = choice._shown()
    shown[list(chosen)] -= 1
    own = outlook.std[0] ** 2
    after = own / (1.0 + 0.2 * np.maximum(shown - choice._known_counts, 0) * own)
    first = rng.integers(m, size=n_pairs)
    second = (first + rng.integers(1, m, size=n_pairs)) % m
    free = np.array([choice._is_free(pair, judge.pairs) for pair in zip(first.tolist(), second.tolist(), strict=True)])
    first, second = np.append(first[free], chosen[0]), np.append(second[free], chosen[1])
    gain = information(outlook.scores[0][first] - outlook.scores[0][second], after[first] + after[second], scale)
    return float(gain[-1] / gain.max())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--votes", type=int, default=100_000)
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--spread", type=float, default=1.5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "votes.db"
        filled(where, given.items, given.votes, given.judges, given.spread, rng)
        with VoteStore(where) as store:
            start = time.perf_counter()
            collection = Collection(store, None, CollectionRules(seed=given.seed, minimum=2))
            print(f"opened in {time.perf_counter() - start:.1f} s")
            clock, start = time.perf_counter(), time.process_time()
            collection.learn(look(collection.counted()))
            print(f"fitted in {time.process_time() - start:.1f} CPU seconds, {time.perf_counter() - clock:.1f} s")
            judges = [collection.judge(secrets.token_hex(8)) for _ in range(given.judges)]
            tasks = {judge.number: collection.tasks(judge, []) for judge in judges}
            seconds, shares, bare = [], [], []
            with VoteStore(Path(folder) / "bare.db") as other:
                for n in range(given.answers):
                    judge = judges[n % len(judges)]
                    task = tasks[judge.number].pop(0)
                    pair = task["left"]["number"], task["right"]["number"]
                    said = {"id": task["id"], "question": 0, "left": pair[0], "right": pair[1], "answer": "left"}
                    start = time.perf_counter()
                    collection.vote(judge, said)
                    held = [(one["left"]["number"], one["right"]["number"]) for one in tasks[judge.number]]
                    more = collection.tasks(judge, held)
                    seconds.append(time.perf_counter() - start)
                    tasks[judge.number] += more
                    start = time.perf_counter()
                    other.append(VoteRow(secrets.token_hex(8), "vote", 0, 0, 0, 1, "left"))
                    bare.append(time.perf_counter() - start)
                    for task in more[:1]:
                        chosen = task["left"]["number"], task["right"]["number"]
                        if collection.choice.key(chosen) not in judge.pairs:  # not one that is asked again
                            shares.append(share_of_best(collection, judge, chosen, 10_000, rng))
        for what, values in (("vote and next pair", seconds), ("bare commit", bare)):
            shares_of_time = ", ".join(f"p{q} {1e3 * np.percentile(values, q):.1f} ms" for q in (50, 90, 99))
            print(f"{what}: {shares_of_time}")
        print(f"information, chosen pair / best of 10,000: mean {np.mean(shares):.3f}, least {np.min(shares):.3f}")


if __name__ == "__main__":
    main()
