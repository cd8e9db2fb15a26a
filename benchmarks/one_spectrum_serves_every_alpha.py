"""Claim: 31 alphas cost one eigendecomposition, kernel matrix and centring included.

Run: python benchmarks/one_spectrum_serves_every_alpha.py [--items 4000]
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import report, time_interleaved
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RankRLS

ALPHAS = 2.0 ** np.arange(-15, 16)


def compare(n_items: int, threads: int | None) -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((n_items, 20)), rng.standard_normal(n_items), np.arange(n_items) // 20
    K = rbf_kernel(X)
    seconds = time_interleaved(
        {
            "scipy.linalg.eigh of one kernel matrix": lambda: eigh(K),
            "RankRLS(kernel='rbf').fit_path, 31 alphas": lambda: RankRLS(kernel="rbf").fit_path(X, y, ALPHAS, qid=qid),
            "RankRLS(kernel='rbf').fit, one alpha": lambda: RankRLS(kernel="rbf").fit(X, y, qid=qid),
        },
        2,
        threads,
    )
    report(
        f"Gaussian kernel, m = {n_items:,}, {threads or 'all'} thread(s)",
        seconds,
        "scipy.linalg.eigh of one kernel matrix",
        1.3,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4_000)
    largest = parser.parse_args().items
    for threads in (None, 1):
        for m in (largest // 4, largest // 2, largest):
            compare(m, threads)
