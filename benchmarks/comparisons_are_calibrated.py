"""Claim: what `compare` says is true: its intervals cover, and of its probabilities as many come true as they say.

Preferences: scores are drawn from the prior of the model, linear or Gaussian, and votes with noise from the scores.
Reported for items with votes, and for new items: how often the true difference of two items lies within 1.96 standard
deviations, which should be about 95 %, or within 1.3 times that, and how often the first item is truly above the second
where the probability is between 0.6 and 0.8, or above 0.9, beside the mean of these probabilities. `alpha` is that of
the prior, or chosen by `RankRLSCV`.

Scores: linear scores with noise in one ranking of 100 items, or in 40 queries of 10; a model is calibrated on its
training items and compares new items.

Seeds 21 to 23, 200 repeats each, alpha chosen: 95.8 to 97.0 % covered for the linear kernel, 94.1 to 95.9 % for the
Gaussian one. Where the probability is between 0.6 and 0.8 it says 0.70 to 0.72, and 0.66 to 0.76 came true. That the
probability is a mean over alphas was decided after a look at seeds 0, 21 and 22, so seed 23 alone is fresh for it:
0.71 said and 0.73 true for the linear kernel, 0.70 and 0.69 to 0.73 for the Gaussian one.

Run: python benchmarks/comparisons_are_calibrated.py [--repeats 200] [--seed 0]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RankRLSCV, calibrate_comparisons

NOISE = 0.7


def preferences(rng: np.random.Generator, kernel: str, *, search: bool) -> list[tuple[Any, np.ndarray]]:
    """Fit to votes on 30 items, and compare these and 30 new ones: (comparison, true differences)."""
    X = rng.standard_normal((60, 4))
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.2)
    scores = np.linalg.cholesky(K + 1e-9 * np.eye(60)) @ rng.standard_normal(60)
    first = rng.integers(30, size=150)
    pairs = np.column_stack([first, (first + rng.integers(1, 30, size=150)) % 30])
    magnitude = scores[pairs[:, 0]] - scores[pairs[:, 1]] + NOISE * rng.standard_normal(150)
    pairs[magnitude < 0] = pairs[magnitude < 0, ::-1]
    options = {} if kernel == "linear" else {"kernel": "gaussian", "gamma": 0.2}
    grid = NOISE**2 * 4.0 ** np.arange(-7, 8)
    model = RankRLSCV(grid, **options) if search else RankRLS(NOISE**2, **options)
    model.fit_pairs(X, pairs, magnitude=np.abs(magnitude))
    parts = []
    for start in (0, 30):
        a, b = np.arange(start, start + 15), np.arange(start + 15, start + 30)
        parts.append((model.compare(X[a], X[b]), scores[a] - scores[b]))
    return parts


def scored(rng: np.random.Generator, *, queries: bool) -> tuple[Any, np.ndarray]:
    """Fit to scores, calibrate, and compare 100 new items with 100 others."""
    size = 400 if queries else 100
    X, weights = rng.standard_normal((size + 200, 5)), rng.standard_normal(5)
    y = X @ weights + 2.0 * rng.standard_normal(len(X))
    qid = np.repeat(np.arange(40), 10) if queries else None
    train = slice(0, size)
    model = RankRLS(10.0).fit(X[train], y[train], qid=qid)
    model = calibrate_comparisons(model, X[train], y[train], qid=qid)
    a, b = np.arange(size, size + 100), np.arange(size + 100, size + 200)
    return model.compare(X[a], X[b]), y[a] - y[b]


def show(title: str, found: list[tuple[Any, np.ndarray]]) -> None:
    difference, std, p = (
        np.concatenate([getattr(one, name) for one, _ in found]) for name in ("difference", "std", "probability")
    )
    truth = np.concatenate([one for _, one in found])
    covered, wider = (np.mean(np.abs(difference - truth) <= factor * 1.96 * std) for factor in (1.0, 1.3))
    sure, right = np.maximum(p, 1 - p), np.where(p >= 0.5, truth > 0, truth < 0)
    parts = []
    for low, high in ((0.6, 0.8), (0.9, 1.0)):
        chosen = (sure >= low) & (sure <= high)
        parts.append(f"said {sure[chosen].mean():.3f}, came true {right[chosen].mean():.3f}")
    print(f"{title:<52} covered {covered:.3f}, times 1.3 {wider:.3f}   {'   '.join(parts)}", flush=True)


def main(repeats: int, seed: int) -> None:
    for kernel in ("linear", "gaussian"):
        for search in (False, True):
            rng = np.random.default_rng(seed)
            found = [preferences(rng, kernel, search=search) for _ in range(repeats)]
            how = "alpha chosen" if search else "alpha of the prior"
            show(f"preferences, {kernel}, {how}, items with votes", [one[0] for one in found])
            show(f"preferences, {kernel}, {how}, new items", [one[1] for one in found])
    for queries in (False, True):
        rng = np.random.default_rng(seed + 1)
        name = "40 queries" if queries else "one ranking"
        show(f"scores, {name}, new items", [scored(rng, queries=queries) for _ in range(repeats)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    main(options.repeats, options.seed)
