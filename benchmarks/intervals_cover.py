"""Claim: the default 95% interval of the AUC of a search holds the expected AUC of the procedure in 93 of 100 cohorts.

Run: python benchmarks/intervals_cover.py [--draws 1000 300 300] [--sizes 30 60 100] [--shuffles 200]

Each cohort has 10 features, one of which tells its two classes apart; `RankRLSCV` chooses among seven alphas inside
every training set. For every size, share of positive items and AUC the table has the mean estimate, how often the
interval holds the expected AUC of the procedure at that size, how often that of the model at hand, the mean width, and
beside them the interval from components alone. Then: p-values of permutation tests where the labels say nothing.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from scipy.stats import kstest

try:
    from benchmarks.auc_intervals_are_narrow_and_cover import Normal, bisected
except ImportError:  # run as a script
    from auc_intervals_are_narrow_and_cover import Normal, bisected
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RankRLSCV, estimate_auc, permutation_test

N_FEATURES = 10
AUCS = (0.5, 0.65, 0.85)
CALIBRATION = 150


class Cohort(Normal):
    """Items of two classes that differ in the mean of the first of ten features."""

    def search(self, X):
        """Return a search among seven alphas around the scale of the problem."""
        scale = self.m * np.sum((X - X.mean(axis=0)) ** 2) / min(N_FEATURES, self.m - 1)
        return RankRLSCV(scale * 4.0 ** np.arange(-3, 4))


def shifted(m, n_positive, auc, draws=CALIBRATION):
    """Return the cohort whose expected AUC of the procedure is this one, by bisection over some draws."""
    return bisected(partial(Cohort, m, n_positive), auc, Cohort.search, draws=draws, high=6.0, steps=10)


def measure(cohort, draws):
    """Return one row of the table."""
    rows = []
    for seed in range(draws):
        X, y, true_auc = cohort.draw([7, seed])
        search = cohort.search(X)
        default, narrow = (estimate_auc(search, X, y, interval=kind) for kind in ("auto", "components"))
        truth = true_auc(search.fit(X, y).coef_)
        rows.append((default.auc, *default.interval, *narrow.interval, truth))
    auc, low, high, narrow_low, narrow_high, truth = np.array(rows).T
    expected = truth.mean()
    return {
        "m": cohort.m,
        "positive": cohort.n_positive,
        "expected": expected,
        "estimate": auc.mean(),
        "covers": np.mean((low <= expected) & (expected <= high)),
        "covers_model": np.mean((low <= truth) & (truth <= high)),
        "width": np.mean(high - low),
        "components_cover": np.mean((narrow_low <= expected) & (expected <= narrow_high)),
        "components_width": np.mean(narrow_high - narrow_low),
    }


def shuffled(shuffles):
    """Return quantiles of the p-values of labels that say nothing, and the p-value of their being uniform."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, N_FEATURES))
    found = []
    for seed in range(shuffles):
        y = rng.permutation(np.repeat([1.0, 0.0], 20))
        test = permutation_test(
            RankRLS(), X, y, alphas=40.0 * 4.0 ** np.arange(-3, 4), n_permutations=199, random_state=seed
        )
        found.append(test.pvalue)
    quantiles = np.quantile(found, [0.05, 0.25, 0.5, 0.75, 0.95])
    return quantiles.tolist(), float(kstest(found, "uniform").pvalue)


def main() -> None:
    """Measure all cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[30, 60, 100])
    parser.add_argument("--draws", type=int, nargs="+", default=[1000, 300, 300])
    parser.add_argument("--shuffles", type=int, default=200)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.1])
    options = parser.parse_args()
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    print("items  positive  expected  estimate  covers it    model's  width  components:  width")
    for m, draws in zip(options.sizes, options.draws, strict=True):
        for share in options.shares:
            for auc in AUCS:
                row = measure(shifted(m, round(share * m), auc), draws)
                print(
                    f"{row['m']:5d} {row['positive']:9d} {row['expected']:9.3f} {row['estimate']:9.3f} "
                    f"{row['covers']:9.3f} {row['covers_model']:9.3f} {row['width']:7.2f} "
                    f"{row['components_cover']:11.3f} {row['components_width']:7.2f}",
                    flush=True,
                )
    if options.shuffles:
        quantiles, uniform = shuffled(options.shuffles)
        print(f"\np-values of {options.shuffles} shuffles: 5, 25, 50, 75, 95 % quantiles", np.round(quantiles, 3))
        print(f"uniform? Kolmogorov-Smirnov p = {uniform:.3f}")


if __name__ == "__main__":
    main()
