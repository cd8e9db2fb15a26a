"""Claim: predictions with fewer than six digits come with a warning, and the error that it tells is true.

Random problems with a Gaussian kernel, of alphas from 10⁻¹⁶ to 1: noise, scores that the kernel explains, items that
occur twice or nearly so. The error is that of the differences of predicted scores inside queries, beside the largest,
compared with fifty digits. Needs mpmath. Takes about a second for each problem; the first argument says how many.
"""

from __future__ import annotations

import re
import sys
import warnings

import mpmath
import numpy as np

from kernelrank.errors import LostDigitsWarning
from kernelrank.estimators import RankRLS

ALPHAS = (1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 2.0**-15, 1.0)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Draw items, scores, queries and the width of the kernel."""
    rng = np.random.default_rng(seed)
    m = int(rng.choice([12, 24]))
    X = rng.normal(size=(m, int(rng.choice([1, 3, 6]))))
    kind = seed % 5
    if kind in (1, 2, 3):
        X[m // 2 :] = X[: m // 2]
    if kind == 3:
        X[m // 2 :] += 1e-5 * rng.normal(size=(m // 2, X.shape[1]))
    y = np.sin(X.sum(axis=1)) if kind in (2, 4) else rng.normal(size=m)
    return X, y, rng.integers(0, int(rng.choice([1, 3])), size=m), float(rng.choice([0.05, 0.3, 1.0, 5.0]))


def exact_scores(X: np.ndarray, y: np.ndarray, qid: np.ndarray, gamma: float) -> list[np.ndarray]:
    """Return the training scores for each alpha."""
    m = len(y)
    rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
    K, L = mpmath.matrix(m, m), mpmath.matrix(m, m)
    for i in range(m):
        for j in range(m):
            squared = sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
            K[i, j] = mpmath.exp(-mpmath.mpf(gamma) * squared)
            if i != j and qid[i] == qid[j]:
                L[i, j] -= 1
                L[i, i] += 1
    right, LK = L * mpmath.matrix([mpmath.mpf(float(v)) for v in y]), L * K
    return [
        np.array([float(v) for v in K * mpmath.lu_solve(LK + mpmath.mpf(alpha) * mpmath.eye(m), right)])
        for alpha in ALPHAS
    ]


def centred(scores: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Take the mean of each query away."""
    return scores - (np.bincount(qid, scores) / np.maximum(np.bincount(qid), 1))[qid]


def told(model: RankRLS, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> float:
    """Fit, and return the error in the warning; zero without one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LostDigitsWarning)
        model.fit(X, y, qid=qid)
    found = re.search(r"relative error of about ([0-9.e+-]+):", str(caught[0].message)) if caught else None
    return float(found.group(1)) if found else 0.0


def main() -> None:
    mpmath.mp.dps = 50
    errors, warned, alphas = [], [], []
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 40):
        X, y, qid, gamma = problem(seed)
        for alpha, scores in zip(ALPHAS, exact_scores(X, y, qid, gamma), strict=True):
            expected = centred(scores, qid)
            for solver in ("cholesky", "spectral"):
                model = RankRLS(alpha, kernel="rbf", gamma=gamma, solver=solver)
                warned.append(told(model, X, y, qid))
                off = centred(model.predict(X), qid) - expected
                errors.append(np.abs(off).max() / np.abs(expected).max())
                alphas.append(alpha)
    true, tell, alpha = np.array(errors), np.array(warned), np.array(alphas)
    wrong, silent = true > 1e-6, tell == 0.0
    print(
        f"{len(true)} fits; {wrong.sum()} with an error above 1e-6, of which {(wrong & silent).sum()} without a warning"
    )
    print(f"largest error without a warning: {true[silent].max():.1e}")
    print(f"smallest error with a warning: {true[~silent].min():.1e}")
    print(f"warnings for alphas from 2^-15 on: {(~silent & (alpha >= 2.0**-15)).sum()}")
    ratio = np.minimum(true[~silent], 1.0) / tell[~silent]
    print(f"true error over the one told: {ratio.min():.2g} to {ratio.max():.2g}, median {np.median(ratio):.2g}")


if __name__ == "__main__":
    main()
