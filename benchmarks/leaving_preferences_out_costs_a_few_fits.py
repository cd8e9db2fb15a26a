"""Claim: leaving each of 10⁵ preferences out, for fifteen alphas, costs at most three fits of a linear model.

2,000 items × 50 features, linear; and 1,000 items with a Gaussian kernel and 20,000 preferences. The reference is one
call of `fit_pairs`, 13 and 56 ms. Single preferences of the linear model cost 1.8 fits, all else over three.

Groups, linear: 4.6 fits for 100 judges, 9.1 for 2,000 and 8.3 for 20,000. A fit visits every preference once, some 10
million multiplications for ``Xᵀ L X``. For 100 judges, what is common to all hold-outs takes 14 ms (reading, one
decomposition), the sums of the outer products of the rows of groups 9 to 11 (250 million multiplications), the rows
themselves 5, predictions and their places 6: 2.7 fits if the systems cost nothing; they cost 8 ms. Sums of small
groups are slower (13 ms for 50 rows each), and 2,000 groups have 20 times as many systems (45 ms). Groups of five take
34 ms for the entries of ``P`` and 36 for their triangular systems; reciprocals in place of divisions did not help.

Gaussian: single preferences cost 5.7 fits, groups 8 to 13. A fit is one factorisation, of 10 ms beside a kernel matrix
of 6 to 17. The eigenvalue decomposition takes 145 to 155 ms alone, the root of the graph, ``C K Cᵀ`` and the way back
to items 95 ms. An inverse for each alpha takes 29 ms, fifteen of them 435. The tridiagonal form takes 62 ms in place of
the eigenvalues, and its rotation 44. An unfinished trial with it took 244 ms, 4.1 fits, with results that were not
right yet; estimated, not measured, 190 would be left of it, 3.2 fits. Three fits were not reached; that is no proof.

Before there were hold-outs of preferences (commit b8ac162, the same machine and data, interleaved), a linear fit took
the same 12 ms, and a Gaussian one 134 ms. In fits of that time Gaussian singles cost 2.4, and groups 3.6 to 5.7.

`items=True` needs a system for every two items: 3.2 s for 10⁵ preferences and fifteen alphas. That, and groups of any
size, are to take less than five seconds. CPU seconds of one core that other work shared a cache with.

A slower processor, without AVX-512: single preferences of the linear model cost 2.4 fits, groups 6 to 13; Gaussian ones
6.5 and 8 to 14. `items=True` takes 4.8 to 6.5 s there, and 2.4 s for one alpha.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import report, time_interleaved

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import leave_preferences_out

ALPHAS = 2.0 ** np.arange(-7, 8)


def draw(m: int, n: int, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    first = rng.integers(m, size=n_pairs)
    pairs = np.column_stack([first, (first + rng.integers(1, m, size=n_pairs)) % m])
    votes = X[:, 0][pairs] + rng.standard_normal((n_pairs, 2))
    pairs[votes[:, 0] < votes[:, 1]] = pairs[votes[:, 0] < votes[:, 1], ::-1]
    return X, pairs


def compare(title: str, learner: RankRLS, data: tuple[np.ndarray, np.ndarray], *, items: bool) -> None:
    X, pairs = data

    def left_out(**options: Any) -> Any:
        return lambda: leave_preferences_out(learner, X, pairs, **options)

    runs = {
        "one fit_pairs": lambda: learner.fit_pairs(X, pairs),
        "singles, 1 alpha": left_out(),
        "singles, 15 alphas": left_out(alphas=ALPHAS),
    }
    report(title, time_interleaved(runs, 7, threads=1), "one fit_pairs", 3.0)
    longer = {"one fit_pairs": runs["one fit_pairs"]}
    for n_judges in (100, 2_000, 20_000):
        judges = np.random.default_rng(1).integers(n_judges, size=len(pairs))
        longer[f"{n_judges:,} judges, 1 alpha"] = left_out(groups=judges)
        longer[f"{n_judges:,} judges, 15 alphas"] = left_out(groups=judges, alphas=ALPHAS)
    report(title, time_interleaved(longer, 3, threads=1), "one fit_pairs")
    if items:
        both = {
            "one fit_pairs": runs["one fit_pairs"],
            "both items new, 1 alpha": left_out(items=True),
            "both items new, 15 alphas": left_out(items=True, alphas=ALPHAS),
        }
        report(title, time_interleaved(both, 1, threads=1), "one fit_pairs")


if __name__ == "__main__":
    compare("10⁵ preferences, 2,000 items × 50", RankRLS(), draw(2_000, 50, 100_000), items=True)
    gaussian = RankRLS(kernel="gaussian")
    compare("20,000 preferences, Gaussian, 1,000 items", gaussian, draw(1_000, 20, 20_000), items=False)
