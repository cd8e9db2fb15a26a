"""Claim: `OrdinalRanker` takes at most 1.2 times as long as its search, where that takes a tenth of a second or more.

Below that, the fixed cost of one more hold-out and of the ordered logistic model (some milliseconds) shows. Search and
levels are measured in one run and in turns, in CPU seconds on one thread.

    python benchmarks/levels_cost_little_more_than_the_search.py
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness import report, time_interleaved

from kernelrank import OrdinalRanker, RankRLSCV

CLAIM = 1.2
CASES: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("Gaussian kernel, 600 × 10", 600, 10, {"kernel": "rbf"}),
    ("Gaussian kernel, 1,000 × 10", 1000, 10, {"kernel": "rbf"}),
    ("linear, 3,000 × 20", 3000, 20, {}),
    ("basis of 100, 2,000 × 10", 2000, 10, {"kernel": "rbf", "basis": 100, "random_state": 0}),
    ("linear, 600 × 10 (milliseconds)", 600, 10, {}),
    ("linear, 300 × 500 (milliseconds)", 300, 500, {}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    for name, m, n, options in CASES:
        X = rng.standard_normal((m, n))
        y = np.digitize(X[:, 0] + rng.standard_normal(m), [-1.0, 0.0, 1.0])
        search = RankRLSCV(**options)
        runs = {
            "search": lambda search=search, X=X, y=y: search.fit(X, y),
            "levels": lambda search=search, X=X, y=y: OrdinalRanker(search).fit(X, y),
        }
        report(name, time_interleaved(runs, repeats, 1), "search", CLAIM if "milli" not in name else None)


if __name__ == "__main__":
    main()
