"""Claim: no option costs more than 5 × the plain case; whatever does is flagged.

Run: python benchmarks/cost_map.py [--sizes 500 2000]

Fits and hold-outs over their options at two sizes, in CPU seconds on one thread, as ratios to the plain case of that
size.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import time_interleaved
from scipy import sparse

from kernelrank import RLS, RankRLS, RankRLSCV, RankSVM, leave_pair_out, leave_query_out

LIMIT = 5.0


def maps(m: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return the runs by family; the first one of each is the plain case."""
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((m, 20)), np.arange(m) // 20
    y = X[:, 0] + rng.standard_normal(m)
    levels, weight, missing = np.round(y), rng.uniform(0.5, 2.0, m), np.where(rng.random(m) < 0.1, np.nan, y)
    tiny, wide = np.arange(m) // 3, rng.standard_normal((m // 10, 10 * m))
    rbf = {"kernel": "rbf", "gamma": 0.05}
    linear = {
        "plain": lambda: RankRLS().fit(X, y, qid=qid),
        "one query": lambda: RankRLS().fit(X, y),
        "queries of 3": lambda: RankRLS().fit(X, y, qid=tiny),
        "ties left out": lambda: RankRLS(ties="exclude").fit(X, levels, qid=qid),
        "unit cost": lambda: RankRLS(cost="unit").fit(X, levels, qid=qid),
        "relative cost": lambda: RankRLS(cost="relative").fit(X, y, qid=qid),
        "weights": lambda: RankRLS().fit(X, y, qid=qid, sample_weight=weight),
        "missing scores": lambda: RankRLS(missing="ignore").fit(X, missing, qid=qid),
        "float32": lambda: RankRLS().fit(X.astype(np.float32), y, qid=qid),
        "sparse form": lambda: RankRLS().fit(sparse.csr_array(X), y, qid=qid),
        "RLS": lambda: RLS().fit(X, y),
    }
    kernel = {
        "plain": lambda: RankRLS(**rbf).fit(X, y, qid=qid),
        "ties left out": lambda: RankRLS(ties="exclude", **rbf).fit(X, levels, qid=qid),
        "relative cost": lambda: RankRLS(cost="relative", **rbf).fit(X, y, qid=qid),
        "missing scores": lambda: RankRLS(missing="ignore", **rbf).fit(X, missing, qid=qid),
        "basis of 100": lambda: RankRLS(basis=100, random_state=0, **rbf).fit(X, y, qid=qid),
    }
    pairs = {
        "plain": lambda: leave_pair_out(RankRLS(**rbf), X, y, differences=False),
        "linear": lambda: leave_pair_out(RankRLS(), X, y, differences=False),
        "basis of 100": lambda: leave_pair_out(RankRLS(basis=100, random_state=0, **rbf), X, y, differences=False),
    }
    queries = {
        "plain": lambda: leave_query_out(RankRLS(**rbf), X, y, qid),
        "ties left out": lambda: leave_query_out(RankRLS(ties="exclude", **rbf), X, levels, qid),
        "relative cost": lambda: leave_query_out(RankRLS(cost="relative", **rbf), X, y, qid),
        "basis of 100": lambda: leave_query_out(RankRLS(basis=100, random_state=0, **rbf), X, y, qid),
        "RankRLSCV": lambda: RankRLSCV(**rbf).fit(X, y, qid=qid),
    }
    hinge = {
        "plain": lambda: RankSVM().fit(X, levels, qid=qid),
        "many levels": lambda: RankSVM().fit(X, y, qid=qid),
        "one query": lambda: RankSVM().fit(X, y),
        "weights": lambda: RankSVM().fit(X, levels, qid=qid, sample_weight=weight),
        "wide": lambda: RankSVM().fit(wide, y[: len(wide)]),
    }
    return {
        "RankRLS, linear": linear,
        "RankRLS, Gaussian": kernel,
        "leave_pair_out": pairs,
        "leave_query_out": queries,
        "RankSVM": hinge,
    }


def main(sizes: list[int]) -> None:
    ratios: dict[tuple[str, str], list[float]] = {}
    for m in sizes:
        for family, runs in maps(m).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds = time_interleaved(runs, 2, 1)
            for name, value in seconds.items():
                ratios.setdefault((family, name), []).append(value / seconds["plain"])
    print(f"{'':<46}" + "".join(f"{f'm = {m:,}':>14}" for m in sizes))
    for (family, name), row in ratios.items():
        flag = f"  above {LIMIT:g} ×" if max(row) > LIMIT else ""
        print(f"{f'{family}: {name}':<46}" + "".join(f"{ratio:12.2f} ×" for ratio in row) + flag)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2_000])
    main(parser.parse_args().sizes)
