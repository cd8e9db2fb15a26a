"""Claim: the p-values of `compare_auc` are uniform for equally good markers, and not too small for learners.

Run: python benchmarks/auc_comparison_pvalues_are_uniform.py [--draws 300]

Two markers share a normal part and have one of their own, so that their AUCs are equal (Φ(shift / 2)) and correlated;
with clusters, 40 patients have five samples each, of one class or of both, and effects of their own. Learners see ten
columns each, drawn alike. Shown are the shares of p-values below .01, .05, .1, .5 and .9, and the p-value of a
Kolmogorov-Smirnov test of uniformity.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

import kernelrank as kr

LEVELS = (0.01, 0.05, 0.1, 0.5, 0.9)


def markers(rng: np.random.Generator, m: int, shift: float) -> float:
    """Compare two markers of m items."""
    y = np.arange(m) % 2
    common = rng.standard_normal(m)
    one, two = (shift * y + common + rng.standard_normal(m) for _ in range(2))
    return kr.compare_auc(one, two, None, y).pvalue


def clustered(rng: np.random.Generator, shift: float, mixed: bool) -> float:
    """Compare two markers of 40 patients with five samples each."""
    groups = np.repeat(np.arange(40), 5)
    y = rng.integers(0, 2, 200) if mixed else groups % 2
    one, two = (shift * y + rng.standard_normal(40)[groups] + rng.standard_normal(200) for _ in range(2))
    return kr.compare_auc(one, two, None, y, groups=groups).pvalue


def learners(rng: np.random.Generator, m: int, shift: float, estimator) -> float:
    """Compare a learner on ten columns with itself on ten others."""
    y = np.arange(m) % 2
    X = rng.standard_normal((m, 20))
    X[:, [0, 10]] += shift * y[:, None]
    return kr.compare_auc(estimator, estimator, (X[:, :10], X[:, 10:]), y).pvalue


SETTINGS: dict[str, Callable[[np.random.Generator], float]] = {
    "markers, m = 20, AUC .69": lambda rng: markers(rng, 20, 1.0),
    "markers, m = 50, AUC .69": lambda rng: markers(rng, 50, 1.0),
    "markers, m = 50, AUC .92": lambda rng: markers(rng, 50, 2.8),
    "markers, m = 200, AUC .5": lambda rng: markers(rng, 200, 0.0),
    "patients of one class": lambda rng: clustered(rng, 1.0, mixed=False),
    "patients of both classes": lambda rng: clustered(rng, 1.0, mixed=True),
    "RankRLS, m = 40, no signal": lambda rng: learners(rng, 40, 0.0, kr.RankRLS(10.0)),
    "RankRLS, m = 40, signal": lambda rng: learners(rng, 40, 1.5, kr.RankRLS(10.0)),
    "RankRLSCV, m = 30, no signal": lambda rng: learners(rng, 30, 0.0, kr.RankRLSCV([1.0, 100.0, 1e4])),
    "RankRLSCV, m = 30, signal": lambda rng: learners(rng, 30, 1.5, kr.RankRLSCV([1.0, 100.0, 1e4])),
}


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print(f"{'share of p-values below':<30} " + " ".join(f"{level:5.2f}" for level in LEVELS) + "   uniform?")
    for name, pvalue in SETTINGS.items():
        rng = np.random.default_rng(0)
        found = np.array([pvalue(rng) for _ in range(draws)])
        shares = " ".join(f"{np.mean(found < level):5.3f}" for level in LEVELS)
        print(f"{name:<30} {shares}   {stats.kstest(found, 'uniform').pvalue:.2f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
