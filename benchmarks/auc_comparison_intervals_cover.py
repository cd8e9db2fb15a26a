"""Claim: a 95% interval of `compare_auc` holds the true difference of two AUCs in about 95 of 100 cases, or in more.

Run: python benchmarks/auc_comparison_intervals_cover.py [--draws 1000]

Two markers share a normal part and have one of their own; the classes differ by two shifts, so that the truth is
Φ(shift / 2) of one minus that of the other. With clusters, 40 patients have five samples each, of one class or of both,
and the shared part is an effect of the patient. Learners (RankRLS, alpha = 10, and RankRLSCV with three alphas) see ten
columns each, of which one tells the classes apart; the truth is the difference of the AUCs, on new items, of the two
models that were trained on all items: Φ(w·δ / (√2 ‖w‖)). Beside the coverage stands the mean width.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import kernelrank as kr


def markers(rng: np.random.Generator, m: int, shifts: tuple[float, float]):
    """Compare two markers; return what was found, and the truth."""
    y, common = np.arange(m) % 2, rng.standard_normal(m)
    one, two = (shift * y + common + rng.standard_normal(m) for shift in shifts)
    return kr.compare_auc(one, two, None, y), norm.cdf(shifts[0] / 2) - norm.cdf(shifts[1] / 2)


def clustered(rng: np.random.Generator, mixed: bool, shifts: tuple[float, float]):
    """Compare two markers of 40 patients; pairs within a patient are few enough to be left out of the truth."""
    groups = np.repeat(np.arange(40), 5)
    y = rng.integers(0, 2, 200) if mixed else groups % 2
    common = rng.standard_normal(40)[groups]
    one, two = (shift * y + common + rng.standard_normal(200) for shift in shifts)
    return kr.compare_auc(one, two, None, y, groups=groups), norm.cdf(shifts[0] / 2) - norm.cdf(shifts[1] / 2)


def learners(rng: np.random.Generator, m: int, shifts: tuple[float, float], estimator):
    """Compare one learner on two sets of columns."""
    y = np.arange(m) % 2
    parts, aucs = [], []
    for shift in shifts:
        X = rng.standard_normal((m, 10))
        X[:, 0] += shift * y
        w = estimator.fit(X, y).coef_
        parts.append(X)
        aucs.append(float(norm.cdf(shift * w[0] / (np.sqrt(2) * np.linalg.norm(w)))))
    return kr.compare_auc(estimator, estimator, tuple(parts), y), aucs[0] - aucs[1]


PLAIN, SEARCH = kr.RankRLS(10.0), kr.RankRLSCV([1.0, 100.0, 1e4])
SETTINGS: dict[str, Callable[[np.random.Generator], tuple]] = {
    "markers, m = 20, .69 - .89": lambda rng: markers(rng, 20, (1.0, 2.5)),
    "markers, m = 40, .50 - .69": lambda rng: markers(rng, 40, (0.0, 1.0)),
    "markers, m = 40, .69 - .93": lambda rng: markers(rng, 40, (1.0, 3.0)),
    "markers, m = 100, .69 - .84": lambda rng: markers(rng, 100, (1.0, 2.0)),
    "patients of one class": lambda rng: clustered(rng, False, (1.0, 2.0)),
    "patients of both classes": lambda rng: clustered(rng, True, (1.0, 2.0)),
    "RankRLS, m = 40, no signal": lambda rng: learners(rng, 40, (0.0, 0.0), PLAIN),
    "RankRLS, m = 40, one has signal": lambda rng: learners(rng, 40, (0.0, 1.5), PLAIN),
    "RankRLS, m = 40, both": lambda rng: learners(rng, 40, (1.0, 2.0), PLAIN),
    "RankRLSCV, m = 30, no signal": lambda rng: learners(rng, 30, (0.0, 0.0), SEARCH),
    "RankRLSCV, m = 30, one has": lambda rng: learners(rng, 30, (0.0, 1.5), SEARCH),
    "RankRLSCV, m = 30, both": lambda rng: learners(rng, 30, (1.0, 2.0), SEARCH),
}


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print(f"{'':<32} coverage  width")
    for name, draw in SETTINGS.items():
        rng = np.random.default_rng(0)
        held, width = [], []
        for _ in range(draws):
            found, truth = draw(rng)
            held.append(truth in found.interval)
            width.append(found.interval.width)
        print(f"{name:<32} {np.mean(held):8.3f}  {np.mean(width):.3f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
