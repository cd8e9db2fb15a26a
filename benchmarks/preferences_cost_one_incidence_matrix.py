"""Claim: learning from l preferences costs what building one sparse incidence matrix costs, in O(l) memory.

Run: python benchmarks/preferences_cost_one_incidence_matrix.py [--pairs 10000000]

The reference builds the incidence matrix M (m × l) with `scipy.sparse.csr_array` from its coordinates and fits the
primal problem on scores of the same items; ours is a whole call of `fit_pairs`.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import peak_megabytes, report, time_interleaved
from scipy import sparse

from kernelrank.estimators import RankRLS

ITEMS, COLUMNS = 100_000, 50


def draw(n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first = rng.integers(0, ITEMS, n_pairs)
    second = (first + rng.integers(1, ITEMS, n_pairs)) % ITEMS
    return rng.standard_normal((ITEMS, COLUMNS)), np.column_stack([first, second])


def incidence_and_fit(X: np.ndarray, pairs: np.ndarray) -> None:
    n_pairs = len(pairs)
    values = np.concatenate([np.ones(n_pairs), -np.ones(n_pairs)])
    sparse.csr_array((values, (pairs.T.ravel(), np.tile(np.arange(n_pairs), 2))), shape=(ITEMS, n_pairs))
    RankRLS().fit(X, X[:, 0])


def only_data(n_pairs: int) -> None:
    draw(n_pairs)


def fit_pairs(n_pairs: int) -> None:
    RankRLS().fit_pairs(*draw(n_pairs))


def compare(n_pairs: int) -> None:
    X, pairs = draw(n_pairs)
    reference = "one incidence matrix and one primal fit"
    runs = {
        reference: lambda: incidence_and_fit(X, pairs),
        "RankRLS().fit_pairs": lambda: RankRLS().fit_pairs(X, pairs),
    }
    report(f"{n_pairs:,} preferences over {ITEMS:,} items × {COLUMNS}", time_interleaved(runs, 3), reference, 3.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    largest = parser.parse_args().pairs
    sizes = (largest // 4, largest // 2, largest)
    for n_pairs in sizes:
        extra = peak_megabytes(fit_pairs, n_pairs) - peak_megabytes(only_data, n_pairs)
        print(f"{n_pairs:,} preferences: {extra:.0f} MB beside the data, {extra * 2**20 / n_pairs:.0f} bytes each")
    for n_pairs in sizes:
        compare(n_pairs)
