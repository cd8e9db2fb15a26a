"""Claim: a 95% interval of the concordance of dyads holds the true one in about 95 of 100 cases.

Run: python benchmarks/dyadic_concordance_intervals_cover.py [--draws 1000]

True scores are an effect of the row, one of the column, and noise; predicted scores are 0.7 times these, with effects
and noise of their own. With one set of objects the effects of rows and columns are the same. The truth is the mean over
twice as many draws of new objects. "Cells alone" is the interval of as many independent cells: what comes out where
rows and columns are not thought of.
"""

from __future__ import annotations

import argparse

import numpy as np

from kernelrank.metrics import dyadic_concordance
from kernelrank.metrics.intervals import wilson_interval


def draw(shape: tuple[int, int], one_set: bool, rng: np.random.Generator):
    """Return true and predicted scores."""
    rows, columns = rng.standard_normal((2, shape[0], 1)), rng.standard_normal((2, 1, shape[1]))
    noise = rng.standard_normal((2, *shape))
    if one_set:
        columns, noise = rows.swapaxes(1, 2), (noise + noise.swapaxes(1, 2)) / np.sqrt(2)
    truth = rows[0] + columns[0] + noise[0]
    return truth, 0.7 * truth + 0.7 * (rows[1] + columns[1]) + noise[1]


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    rng = np.random.default_rng(0)
    print(f"{'objects':<10} {'per':<8} {'truth':>6} {'covered':>8} {'width':>6} {'cells alone':>12}")
    for shape, one_set in (((15, 20), False), ((10, 60), False), ((40, 40), False), ((15, 15), True), ((40, 40), True)):
        for per in ("overall", "row", "column"):
            values = [dyadic_concordance(*draw(shape, one_set, rng), per=per).value for _ in range(2 * draws)]
            truth, n_cells = float(np.mean(values)), shape[0] * shape[1]
            found = [dyadic_concordance(*draw(shape, one_set, rng), per=per, one_set=one_set) for _ in range(draws)]
            covered = np.mean([truth in one.interval for one in found])
            alone = np.mean([truth in wilson_interval(one.value, n_cells, 0.95, "cells") for one in found])
            width = np.mean([one.interval.width for one in found])
            name = f"{shape[0]} × {shape[1]}" if not one_set else f"one of {shape[0]}"
            print(f"{name:<10} {per:<8} {truth:6.3f} {covered:8.3f} {width:6.3f} {alone:12.3f}")


if __name__ == "__main__":
    main()
