"""Claim: RankSVM takes linearithmic time: ten times as many items, all with distinct scores, cost less than 14 times.

Run: python benchmarks/ranksvm_time_is_linearithmic.py [--items 1000000]

One query, so that m items are m (m - 1) / 2 pairs; alpha is the same for each pair. CPU seconds of whole fits on one
core, compiled loops warm.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import time_interleaved

from kernelrank.estimators import RankSVM

COLUMNS = 20


def draw(m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((m, COLUMNS)), rng.standard_normal(COLUMNS)
    return X, X @ w / np.linalg.norm(w) + 0.5 * rng.standard_normal(m)


def grow(loss: str, largest: int) -> None:
    print(f"\n{loss}, {COLUMNS} columns")
    print(f"  {'items':>10}{'pairs':>10}{'seconds':>10}{'steps':>8}{'gap':>10}{'growth':>10}")
    m, before = 10_000, None
    while m <= largest:
        X, y = draw(m)
        model = RankSVM(m * (m - 1) / 2 * 1e-3, loss=loss)
        seconds = time_interleaved({"fit": lambda model=model, X=X, y=y: model.fit(X, y)}, 3, threads=1)["fit"]
        growth = "" if before is None else f"{seconds / before:8.1f} ×"
        print(f"  {m:>10,}{model.n_pairs_:>10.1e}{seconds:>10.3f}{model.n_iter_:>8}{model.gap_:>10.1e}{growth:>10}")
        m, before = 10 * m, seconds
    print("  claimed: a growth below 14 × from 100,000 to 1,000,000 items")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    for kind in ("hinge", "squared_hinge"):
        grow(kind, parser.parse_args().items)
