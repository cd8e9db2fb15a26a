"""Claim: holding out cells, rows and columns costs less than half of the training that they are held out from.

Run: python benchmarks/four_settings_cost_one_training.py [--large]

1. 1,000 × 1,000 complete scores, precomputed Gaussian kernels, one thread: the fit beside its two eigendecompositions
   and four matrix products, and the three hold-outs beside the fit, after the decompositions that they share with it.
   "Both", in ten folds of each side, beside these ten times.
2. 2,100 × 230, a quarter of the scores known: the seconds of a fit, on all cores.
3. With --large: 10⁵ × 10³, 10⁶ known scores, 50 features a side: seconds and peak memory of a fit, in a fresh process.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from harness import report, run_alone, time_interleaved
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from kernelrank.dyads import DyadicHoldout, KroneckerRankRLS, KroneckerRLS, Regularisation, TwoStepRLS
from kernelrank.dyads.shortcuts import CompleteHoldout, TwoStepHoldout

GIVEN = {"kernel_rows": "precomputed", "kernel_columns": "precomputed"}


def complete(m: int, repeats: int) -> None:
    """Print what a fit and the hold-outs of complete scores cost."""
    rng = np.random.default_rng(0)
    K1, K2 = (rbf_kernel(rng.standard_normal((m, 20)), gamma=0.02) for _ in range(2))
    Y = rng.standard_normal((m, m))

    def decompositions():
        U1, U2 = (eigh(K.copy(), driver="evd", overwrite_a=True, check_finite=False)[1] for K in (K1, K2))
        return U1 @ (U1.T @ Y @ U2) @ U2.T

    runs = {
        "two eigh and four products": decompositions,
        "KroneckerRLS.fit": lambda: KroneckerRLS(1.0, **GIVEN).fit(K1, K2, Y),
        "KroneckerRankRLS.fit": lambda: KroneckerRankRLS(1.0, **GIVEN).fit(K1, K2, Y),
        "TwoStepRLS.fit": lambda: TwoStepRLS(1.0, 1.0, **GIVEN).fit(K1, K2, Y),
    }
    report(f"complete, {m} × {m}", time_interleaved(runs, repeats, threads=1), "two eigh and four products", 1.3)
    for model, kind, strength in (
        (KroneckerRLS(1.0, **GIVEN), CompleteHoldout, Regularisation.kronecker(1.0)),
        (KroneckerRankRLS(1.0, **GIVEN), CompleteHoldout, Regularisation.kronecker(1.0)),
        (TwoStepRLS(1.0, 1.0, **GIVEN), TwoStepHoldout, Regularisation.two_step(1.0, 1.0)),
    ):
        name = type(model).__name__
        problem = model._problem(K1, K2, Y)
        shared, holdout = kind.prepare(problem), DyadicHoldout.of(model, problem)
        runs = {f"{name}.fit": lambda model=model: model.fit(K1, K2, Y)}
        for setting in ("cell", "row", "column"):
            folds = holdout.folds(setting, None)
            runs[setting] = lambda folds=folds, shared=shared, strength=strength: shared.scores(folds, [strength])
        report(f"hold-outs of {name}, after its decompositions", time_interleaved(runs, repeats, 1), f"{name}.fit", 0.5)
        folds = holdout.folds("both", 10)
        start = time.process_time()
        shared.scores(folds, [strength])
        print(f"  {'both, ten folds a side':<52}{time.process_time() - start:9.3f} s")


def incomplete() -> None:
    """Print what a fit with a quarter of the scores costs."""
    rng = np.random.default_rng(1)
    shape = 2_100, 230
    X1, X2 = rng.standard_normal((shape[0], 20)), rng.standard_normal((shape[1], 20))
    Y = np.tanh(X1[:, :3] @ X2[:, :3].T) + 0.3 * rng.standard_normal(shape)
    Y[rng.random(shape) > 0.25] = np.nan
    print(f"\n{shape[0]} × {shape[1]}, a quarter known, Gaussian kernels; claimed: at most 10 s on two cores")
    for model in (
        KroneckerRLS(1.0, kernel_rows="rbf", kernel_columns="rbf"),
        KroneckerRankRLS(10.0, kernel_rows="rbf", kernel_columns="rbf"),
        TwoStepRLS(1.0, 1.0, kernel_rows="rbf", kernel_columns="rbf"),
    ):
        start, start_cpu = time.perf_counter(), time.process_time()
        model.fit(X1, X2, Y)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        how = f"{model.n_iter_} iterations of {model.solver_!r}"
        print(f"  {type(model).__name__:<20}{seconds:7.2f} s, CPU {cpu:.2f} s, {how}")


def large() -> tuple[float, int]:
    """Fit to a long list of dyads."""
    rng = np.random.default_rng(2)
    X1, X2 = rng.standard_normal((100_000, 50)), rng.standard_normal((1_000, 50))
    rows, columns = rng.integers(100_000, size=1_000_000), rng.integers(1_000, size=1_000_000)
    rows[:100_000] = np.arange(100_000)
    y = np.einsum("ij,ij->i", X1[rows, :5], X2[columns, :5]) + rng.standard_normal(1_000_000)
    start = time.perf_counter()
    model = KroneckerRLS(10.0).fit_dyads(X1, X2, rows, columns, y)
    return time.perf_counter() - start, model.n_iter_


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.large:
        (seconds, n_iter), megabytes = run_alone(large)
        print(f"10⁵ × 10³, 10⁶ known, 50 features a side: {seconds:.1f} s, {n_iter} iterations, {megabytes:.0f} MB")
        print("  claimed: within 2,000 MB")
    complete(arguments.size, arguments.repeats)
    incomplete()


if __name__ == "__main__":
    main()
