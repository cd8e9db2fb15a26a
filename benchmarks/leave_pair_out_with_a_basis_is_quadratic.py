"""Claim: leave-pair-out with a basis costs a small multiple of the full kernel, and no refit of any pair.

Run: python benchmarks/leave_pair_out_with_a_basis_is_quadratic.py [--sizes 200 400 800] [--basis 100]

All pairs of m items, in CPU seconds on one thread: with a basis, whose items leave with their pairs, and with the full
kernel. A refit is timed on a few pairs, and counted for all of them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from harness import report, time_interleaved

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import leave_pair_out

REFITS = 5


def refit_seconds(X: np.ndarray, y: np.ndarray, basis: np.ndarray) -> float:
    """Return the best CPU seconds of one fit without a pair and its basis items."""
    best = float("inf")
    for first in range(REFITS):
        kept = np.delete(np.arange(len(y)), [first, len(y) - 1 - first])
        places = np.flatnonzero(np.isin(kept, basis))
        start = time.process_time()
        RankRLS(kernel="rbf", gamma=0.05, basis=places).fit(X[kept], y[kept])
        best = min(best, time.process_time() - start)
    return best


def main(sizes: list[int], n_basis: int) -> None:
    rng = np.random.default_rng(0)
    for m in sizes:
        X = rng.standard_normal((m, 20))
        y = X[:, 0] + rng.standard_normal(m)
        basis = np.sort(rng.choice(m, min(n_basis, m), replace=False))
        reduced, full = RankRLS(kernel="rbf", gamma=0.05, basis=basis), RankRLS(kernel="rbf", gamma=0.05)
        runs = {
            "full kernel": lambda X=X, y=y, full=full: leave_pair_out(full, X, y),
            f"basis of {len(basis)}": lambda X=X, y=y, reduced=reduced: leave_pair_out(reduced, X, y),
        }
        seconds = time_interleaved(runs, 3, 1)
        seconds["a refit for each pair, from a few"] = refit_seconds(X, y, basis) * (m * (m - 1) // 2)
        report(f"m = {m:,}, {m * (m - 1) // 2:,} pairs", seconds, "full kernel")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 400, 800])
    parser.add_argument("--basis", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.sizes, arguments.basis)
