"""Claim: leaving each of 10⁵ preferences out, for fifteen alphas, costs at most three fits.

2,000 items × 50 features, linear; and 1,000 items with a Gaussian kernel and 20,000 preferences. The reference is one
call of `fit_pairs`. Groups are 100 judges, and need a system each for every alpha: the claim is not about them, nor
about `items`, which needs a system for every two items. They are to take less than five seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import report, time_interleaved

from kernelrank import RankRLS, leave_preferences_out

ALPHAS = 2.0 ** np.arange(-7, 8)


def draw(m: int, n: int, n_pairs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    first = rng.integers(m, size=n_pairs)
    pairs = np.column_stack([first, (first + rng.integers(1, m, size=n_pairs)) % m])
    votes = X[:, 0][pairs] + rng.standard_normal((n_pairs, 2))
    pairs[votes[:, 0] < votes[:, 1]] = pairs[votes[:, 0] < votes[:, 1], ::-1]
    return X, pairs, rng.integers(100, size=n_pairs)


def compare(title: str, learner: RankRLS, data: tuple[np.ndarray, np.ndarray, np.ndarray], *, items: bool) -> None:
    X, pairs, judges = data

    def left_out(**options: Any) -> Any:
        return lambda: leave_preferences_out(learner, X, pairs, **options)

    runs = {
        "one fit_pairs": lambda: learner.fit_pairs(X, pairs),
        "singles, 1 alpha": left_out(),
        "singles, 15 alphas": left_out(alphas=ALPHAS),
    }
    report(title, time_interleaved(runs, 7, threads=1), "one fit_pairs", 3.0)
    longer = {
        "one fit_pairs": runs["one fit_pairs"],
        "100 judges, 1 alpha": left_out(groups=judges),
        "100 judges, 15 alphas": left_out(groups=judges, alphas=ALPHAS),
    }
    if items:
        longer |= {"both items new, 1 alpha": left_out(items=True)}
        longer |= {"both items new, 15 alphas": left_out(items=True, alphas=ALPHAS)}
    report(title, time_interleaved(longer, 1, threads=1), "one fit_pairs")


if __name__ == "__main__":
    compare("10⁵ preferences, 2,000 items × 50", RankRLS(), draw(2_000, 50, 100_000), items=True)
    gaussian = RankRLS(kernel="gaussian")
    compare("20,000 preferences, Gaussian, 1,000 items", gaussian, draw(1_000, 20, 20_000), items=False)
