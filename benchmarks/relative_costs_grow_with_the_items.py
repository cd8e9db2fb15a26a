"""Claim: with cost="relative" the time of a linear fit grows with the number of items, whatever the queries are.

Run: python -m benchmarks.relative_costs_grow_with_the_items

One query of 10,000, 30,000 and 100,000 items, and 100,000 items in 20,000 small queries, beside the magnitude cost on
the same data, which needs nothing but sums: CPU seconds on one thread. The time for each item is printed at the end.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import report, time_interleaved
from kernelrank.estimators import RankRLS

COLUMNS = 20
SHAPES = ((10_000, 1), (30_000, 1), (100_000, 1), (100_000, 20_000))


def main() -> None:
    """Print the ratios to the magnitude cost, and the time of each item."""
    rng = np.random.default_rng(0)
    per_item = {}
    for items, queries in SHAPES:
        X = rng.standard_normal((items, COLUMNS))
        y = X[:, 0] + rng.standard_normal(items)
        qid = np.sort(rng.integers(0, queries, items))
        runs = {
            cost: lambda cost=cost, X=X, y=y, qid=qid: RankRLS(cost=cost).fit(X, y, qid=qid)
            for cost in ("magnitude", "relative")
        }
        seconds = time_interleaved(runs, repeats=3, threads=1)
        title = f"{items:,} items in {queries:,} {'query' if queries == 1 else 'queries'}, {COLUMNS} columns"
        report(title, seconds, "magnitude", limit=None if queries == 1 else 8)
        per_item[title] = 1e6 * seconds["relative"] / items
    print("\nmicroseconds for each item")
    for title, value in per_item.items():
        print(f"  {title:<52}{value:9.1f}")


if __name__ == "__main__":
    main()
