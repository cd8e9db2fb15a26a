"""Claim: a weighted sum of kernels ranks no better than the best single one on tables; for groups of columns it does.

Run: python benchmarks/sums_of_kernels_help_groups_of_columns.py --data FOLDER [--rows 200] [--splits 1] [--draws 6]

Printed is the concordance on other items, beside ``kernel="auto"`` and a learnt metric, and CPU seconds of a fit:

* tables (``NAME.csv.xz`` in FOLDER), split at random into `rows` items for training, half of the table at most, and up
  to 2,000 others; the sum is that of a linear kernel, and three Gaussian and three product Laplacian ones;
* drawn cohorts of two groups: six clinical columns with an effect that is not linear, and 300 genes of which 30 have a
  small linear one. There the sum also has kernels of either group of columns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from kernels_auto_beats_gaussian_on_tables import read
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.metrics import pairwise_accuracy


def cohort(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw 1,150 items of six clinical columns and 300 genes."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((1150, 306))
    signal = np.abs(X[:, 0]) * 2 + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    return X, signal + X[:, 6:36].sum(axis=1) / 4 + 0.5 * random.standard_normal(len(X))


class Comparison:
    """The concordance of some models on several sets."""

    def __init__(self, models: dict[str, Any]) -> None:
        self.models, self.values, self.seconds = models, {name: [] for name in models}, dict.fromkeys(models, 0.0)

    def add(self, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> None:
        """Fit every model to the training items of a set, and measure it on the others."""
        for name, model in self.models.items():
            start = time.process_time()
            fitted = model.fit(X[train], y[train])
            self.seconds[name] += time.process_time() - start
            self.values[name].append(float(pairwise_accuracy(y[test], fitted.predict(X[test]))))

    def show(self, title: str) -> None:
        """Print means, and differences to auto."""
        print(title)
        for name, values in self.values.items():
            difference = np.array(values) - np.array(self.values["auto"])
            error = difference.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            seconds = self.seconds[name] / len(values)
            print(
                f"  {name:16} {np.mean(values):.4f}  to auto {difference.mean():+.4f} ± {error:.4f}  {seconds:5.1f} s",
                flush=True,
            )


def main() -> None:
    """Compare on tables and on drawn cohorts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--draws", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    auto = {"auto": kr.RankRLSCV(kernel="auto", cv=5)}
    tables = Comparison({**auto, "sum of kernels": kr.KernelSumRankRLSCV()})
    for path in sorted(arguments.data.glob("*.csv.xz")) if arguments.data else []:
        X, y = read(path)
        for seed in range(arguments.splits):
            order = np.random.default_rng(seed).permutation(len(y))
            size = min(arguments.rows, len(y) // 2)
            tables.add(X, y, order[:size], order[size : size + 2000])
    if arguments.data:
        tables.show(f"tables, {arguments.rows} rows, {arguments.splits} splits")
    groups = {"clinical": slice(0, 6), "genes": slice(6, None)}
    others = {"learnt metric": kr.MetricRankRLSCV(), "sum of kernels": kr.KernelSumRankRLSCV()}
    cohorts = Comparison({**auto, **others, "sum over groups": kr.KernelSumRankRLSCV(groups)})
    for seed in range(arguments.draws):
        cohorts.add(*cohort(seed), np.arange(150), np.arange(150, 1150))
    if arguments.draws:
        cohorts.show(f"cohorts of two groups of columns, 150 items, {arguments.draws} draws")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
