"""Claim: learning from censored times costs what ridge regression costs, and its hinge 35 times less than elsewhere.

Run: python benchmarks/survival_costs_what_ridge_costs.py [--items 1000000] [--basis-items 100000]

Every time is a whole call of `fit` in CPU seconds on one thread, with validation and the sort of the times. Where
scikit-survival is installed, its FastSurvivalSVM is trained to the same objective, and both objectives are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time as clock

import numpy as np
from harness import report, run_alone, time_interleaved
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from kernelrank.data import event_times
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.metrics import Concordance


def draw(m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return items, times and events, half of the times censored."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    time, followed = rng.exponential(np.exp(X[:, 0] - 0.5 * X[:, 1])), rng.exponential(1.0, m)
    return X, np.minimum(time, followed), time <= followed


def linear(m: int, n: int, limit: float) -> None:
    X, time, event = draw(m, n)
    strata = np.arange(m) % 10
    reference = "Ridge().fit"
    runs = {
        reference: lambda: Ridge().fit(X, time),
        "RankRLS().fit(X, time, event=event)": lambda: RankRLS().fit(X, time, event=event),
        "RankRLS().fit, ten strata": lambda: RankRLS().fit(X, time, event=event, qid=strata),
    }
    repeats = 15 if m < 500_000 else 3
    report(f"linear, m = {m:,}, n = {n}", time_interleaved(runs, repeats, 1), reference, limit)


def hinges(m: int, n: int) -> None:
    """Compare squared hinges at the same objective: ``alpha / 2 Σ hinge² + ½ ‖w‖²``, so that ours is ``1 / alpha``."""
    X, time, event = draw(m, n)
    ours = RankSVM(1.0, loss="squared_hinge").fit(X, time, event=event)
    runs = {"RankSVM(loss='squared_hinge').fit": lambda: RankSVM(1.0, loss="squared_hinge").fit(X, time, event=event)}
    if importlib.util.find_spec("sksurv") is None:
        report(f"squared hinge, m = {m:,}, n = {n}", time_interleaved(runs, 5, 1), next(iter(runs)))
        return
    from sksurv.svm import FastSurvivalSVM

    theirs = FastSurvivalSVM(alpha=1.0, rank_ratio=1.0, random_state=0)
    y = event_times(time, event)
    runs["scikit-survival FastSurvivalSVM.fit"] = lambda: theirs.fit(X, y)
    report(f"squared hinge, m = {m:,}, n = {n}", time_interleaved(runs, 5, 1), next(iter(runs)))
    objectives = [objective(X @ w, w, time, event) for w in (ours.coef_, theirs.coef_)]
    print(f"  objectives: ours {objectives[0]:.12g}, theirs {objectives[1]:.12g}; claimed: 35 × faster, and not higher")


def objective(f: np.ndarray, w: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    """Return the sum of squared hinges over all known orders, and the squared norm; a row of pairs at a time."""
    total = float(w @ w)
    order = np.lexsort((~event, time))
    f, time, event = f[order], time[order], event[order]
    for i in np.flatnonzero(event):
        later = i + 1 + np.searchsorted(time[i + 1 :], time[i], side="right")
        total += float((np.maximum(0.0, 1.0 - (f[later:] - f[i])) ** 2).sum())
    return total


def concordances(m: int) -> None:
    X, time, event = draw(m, 2)
    score = X[:, 0]
    runs = {
        f"Concordance, {m:,} items": lambda: Concordance()(time, score, event=event),
        "with its interval": lambda: Concordance()(time, score, event=event).interval(),
    }
    report("concordance index; claimed: at most 1.5 s", time_interleaved(runs, 3, 1), next(iter(runs)))


def basis(m: int) -> tuple[float, float]:
    X, time, event = draw(m, 32)
    with threadpool_limits(1):
        start = clock.process_time()
        model = RankRLS(kernel="rbf", basis=1000, random_state=0).fit(X, time, event=event)
        seconds = clock.process_time() - start
    return seconds, model.score(X[:5000], time[:5000], event=event[:5000])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--basis-items", type=int, default=100_000)
    arguments = parser.parse_args()
    (seconds, index), megabytes = run_alone(basis, arguments.basis_items)
    print(f"Gaussian kernel, m = {arguments.basis_items:,}, n = 32, a basis of 1,000")
    print(f"  {seconds:.1f} CPU s, peak memory {megabytes:.0f} MB, concordance {index:.3f}; claimed: 60 s and 2,000 MB")
    linear(50_000, 20, 4.0)
    linear(arguments.items, 50, 2.0)
    concordances(arguments.items)
    hinges(50_000, 20)
