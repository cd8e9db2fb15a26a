"""Claim: learning from preferences with a Gaussian kernel costs at most twice what learning from scores does.

Run: python -m benchmarks.preferences_cost_what_scores_cost

`RankRLS.fit_pairs` on 20,000 preferences of 2,000 items, beside `RankRLS.fit` on the scores of the same items. Both
have the same kernel matrix. The graph of preferences has no root in closed form, and its system is solved without one.
The symmetric form, with a root, is printed as well.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import report, time_interleaved
from kernelrank.estimators import RankRLS

ITEMS, PAIRS, COLUMNS = 2_000, 20_000, 20


def main() -> None:
    """Print the ratios."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ITEMS, COLUMNS))
    y = X[:, 0] + rng.standard_normal(ITEMS)
    pairs = rng.integers(0, ITEMS, (PAIRS, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    pairs = np.take_along_axis(pairs, np.argsort(-y[pairs], axis=1), axis=1)
    model = RankRLS(kernel="gaussian", gamma=1 / COLUMNS)
    rooted = RankRLS(kernel="gaussian", gamma=1 / COLUMNS, solver="cholesky")
    seconds = time_interleaved(
        {
            "scores": lambda: model.fit(X, y),
            "preferences": lambda: model.fit_pairs(X, pairs),
            "preferences, symmetric form": lambda: rooted.fit_pairs(X, pairs),
        },
        threads=1,
    )
    report(f"{ITEMS:,} items, {len(pairs):,} preferences, Gaussian kernel", seconds, "scores", limit=2)


if __name__ == "__main__":
    main()
