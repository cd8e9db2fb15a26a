"""Claim: on large sparse data, training costs what bare conjugate gradients cost, and nothing is made dense.

Run: python benchmarks/sparse_data_stays_sparse.py [--items 20000] [--columns 10000] [--density 0.005]

The reference is `scipy.sparse.linalg.cg` on the same operator with the same tolerance, written with plain NumPy
centring and no preconditioner; the time of ours is a whole call of `fit`.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import peak_megabytes, report, rlscore_available, time_interleaved
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from kernelrank.estimators import RankRLS

ALPHA = 1000.0
TOLERANCE = 1e-8


def draw(m: int, n: int, density: float) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((m, n), density=density, rng=rng, format="csr", data_sampler=rng.standard_normal)
    return X, X @ rng.standard_normal(n) + rng.standard_normal(m)


def bare(X: sparse.csr_array, y: np.ndarray) -> tuple[np.ndarray, int]:
    m, n = X.shape
    transposed, steps = X.T, [0]

    def multiply(w: np.ndarray) -> np.ndarray:
        f = X @ w
        return transposed @ (m * (f - f.mean())) + ALPHA * w

    def count(_: np.ndarray) -> None:
        steps[0] += 1

    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    w, _ = cg(operator, transposed @ (m * (y - y.mean())), rtol=TOLERANCE, callback=count)
    return w, steps[0]


def only_data(m: int, n: int, density: float) -> None:
    draw(m, n, density)


def fit(m: int, n: int, density: float) -> None:
    X, y = draw(m, n, density)
    RankRLS(ALPHA, solver="conjugate_gradient", tol=TOLERANCE).fit(X, y)


def compare(m: int, n: int, density: float) -> None:
    X, y = draw(m, n, density)
    model = RankRLS(ALPHA, solver="conjugate_gradient", tol=TOLERANCE)
    runs = {"scipy.sparse.linalg.cg": lambda: bare(X, y), "RankRLS.fit": lambda: model.fit(X, y)}
    if rlscore_available():
        from rlscore.learner import CGRankRLS

        runs["RLScore CGRankRLS"] = lambda: CGRankRLS(sparse.csr_matrix(X), y, regparam=ALPHA / m)
    report(f"{m:,} × {n:,}, density {density:g}", time_interleaved(runs, 7, 1), "scipy.sparse.linalg.cg", 1.2)
    w, steps = bare(X, y)
    print(
        f"  iterations: {steps} bare, {model.n_iter_} ours; solver chosen by 'auto': {RankRLS(ALPHA).fit(X, y).solver_}"
    )
    print(f"  largest difference of the weights: {np.abs(model.coef_ - w).max() / np.abs(w).max():.1e} of the largest")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--density", type=float, default=0.005)
    arguments = parser.parse_args()
    m, n, density = arguments.items, arguments.columns, arguments.density
    before = peak_megabytes(only_data, m, n, density)
    extra = peak_megabytes(fit, m, n, density) - before
    print(f"peak memory beside the data: {extra:.0f} MB; X made dense would take {8 * m * n / 2**20:,.0f} MB")
    for part in (4, 2, 1):
        compare(m // part, n, density)
