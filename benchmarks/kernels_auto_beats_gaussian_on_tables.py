"""Claim: `kernel="auto"` ranks tables better than a Gaussian kernel alone; a learnt metric helps on some of them.

Run: python benchmarks/kernels_auto_beats_gaussian_on_tables.py --data FOLDER [--rows 500] [--seed 0] [--tables bike]

Each table (``NAME.csv.xz``, the last column is the target) is split once into `rows` items for training, half of
the table at most, and at most 2,000 others, on which the concordance is measured: the AUC for two classes. Words become
indicators. Printed are the concordance and the CPU seconds of each method, the means, and the mean difference to the
Gaussian kernel with its paired standard error over tables; a table on which a method loses more than .01 is named.
LightGBM takes part if it is installed, with its own regression or classification objective and defaults.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.metrics import pairwise_accuracy


def methods() -> dict[str, object]:
    """Return the methods; those of kernels see standardised columns."""
    found = {
        "linear": kr.RankRLSCV(metric="variance", cv=5),
        "gaussian": kr.RankRLSCV(
            kernel="rbf", metric="variance", cv=5, kernel_grid=[{"gamma": [2.0**k]} for k in range(-9, 0, 2)]
        ),
        "auto": kr.RankRLSCV(kernel="auto", cv=5),
        "metric": kr.MetricRankRLSCV(cv=5),
    }
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        found["lightgbm"] = lightgbm.LGBMRegressor(verbose=-1, n_jobs=1)
    return found


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a table as numbers, and its target."""
    table = pd.read_csv(path)
    target = table.columns[-1]
    y = table.pop(target)
    y = pd.factorize(y, sort=True)[0] if y.dtype.kind not in "if" else y
    return pd.get_dummies(table).to_numpy(dtype=np.float64), np.asarray(y, dtype=np.float64)


def main() -> None:
    """Fit every method to every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", nargs="*")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    values: dict[str, list[float]] = {name: [] for name in methods()}
    seconds: dict[str, float] = dict.fromkeys(values, 0.0)
    names = []
    for path in sorted(arguments.data.glob("*.csv.xz")):
        name = path.name.removesuffix(".csv.xz")
        if arguments.tables and name not in arguments.tables:
            continue
        names.append(name)
        X, y = read(path)
        order = np.random.default_rng(arguments.seed).permutation(len(y))
        size = min(arguments.rows, len(y) // 2)
        train, test = order[:size], order[size : size + 2000]
        line = []
        for method, model in methods().items():
            start = time.process_time()
            fitted = model.fit(X[train], y[train])
            seconds[method] += time.process_time() - start
            values[method].append(float(pairwise_accuracy(y[test], fitted.predict(X[test]))))
            line.append(f"{method} {values[method][-1]:.4f}")
        print(f"{name:12} {size:5} × {X.shape[1]:3}  {'  '.join(line)}", flush=True)
    for method, found in values.items():
        difference = np.array(found) - np.array(values["gaussian"])
        error = difference.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        losses = [name for name, d in zip(names, difference, strict=True) if d < -0.01]
        print(
            f"{method:10} mean {np.mean(found):.4f}  to gaussian {difference.mean():+.4f} ± {error:.4f}  "
            f"{seconds[method]:7.1f} s  loses more than .01 on: {', '.join(losses) or 'none'}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
