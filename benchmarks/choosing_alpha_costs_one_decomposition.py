"""Claim: choosing alpha by an exact hold-out costs about one decomposition, however many alphas there are.

* Fifteen alphas by leave-pair-out, Gaussian kernel, m = 1,000: the time of `RankRLSCV` over the sum of one
  eigendecomposition and three times fifteen symmetric m × m × m products.
* Thirty-one alphas by leave-query-out, 50 linear features, m = 100,000 in 10,000 queries: the time of `GridSearchCV`
  over the same alphas with ten folds of queries, over that of `RankRLSCV`, each called as a user would.
"""

from __future__ import annotations

import warnings

import numpy as np
import sklearn
from harness import time_interleaved
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from kernelrank.estimators import RankRLS
from kernelrank.model_selection import QueryKFold, RankRLSCV


def pairs() -> None:
    rng = np.random.default_rng(0)
    m, alphas = 1_000, 2.0 ** np.arange(-7, 8)
    X = rng.normal(size=(m, 20))
    y = X[:, 0] + rng.normal(size=m)
    K = rbf_kernel(X)
    best = time_interleaved(
        {
            "eigh": lambda: eigh(K.copy(), driver="evd", overwrite_a=True, check_finite=False),
            "product": lambda: K @ K.T,
            "search": lambda: RankRLSCV(alphas, kernel="rbf").fit(X, y),
        },
        repeats=3,
        threads=1,
    )
    allowed = best["eigh"] + 45 * best["product"]
    print(
        f"15 alphas, all pairs, m = {m}: {best['search']:.3f} s, eigh {best['eigh']:.3f} s, product "
        f"{best['product']:.4f} s; over eigh + 3 × 15 products: {best['search'] / allowed:.2f}"
    )


def queries() -> None:
    rng = np.random.default_rng(0)
    m, n, alphas = 100_000, 50, 2.0 ** np.arange(-15, 16)
    X = rng.normal(size=(m, n))
    y = X @ rng.normal(size=n) + 5 * rng.normal(size=m)
    qid = np.repeat(np.arange(m // 10), 10)
    search = GridSearchCV(RankRLS(), {"alpha": alphas}, cv=QueryKFold(10), refit=False)
    with sklearn.config_context(enable_metadata_routing=True):
        best = time_interleaved(
            {
                "exact": lambda: RankRLSCV(alphas).fit(X, y, qid=qid),
                "grid": lambda: search.fit(X, y, qid=qid),
            },
            repeats=1,
            threads=1,
        )
    whole = best["grid"]
    print(
        f"31 alphas, 10,000 queries, m = 100,000: {best['exact']:.2f} s; a grid search with ten folds {whole:.1f} s; "
        f"ratio {whole / best['exact']:.1f}"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    pairs()
    queries()


if __name__ == "__main__":
    main()
