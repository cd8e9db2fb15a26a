"""Claim: with groups, too, a 95% interval of leave-pair-out holds the true AUC in about 95 of 100 cases.

Run: python benchmarks/auc_intervals_hold_with_groups.py [--draws 1000]

Linear RLS (alpha = 1, a constant feature for the intercept) on 10 features. Every patient has an effect of their own on
all features, with a variance of `effect`, and every row a deviation with variance 1 - effect; the means of the classes
differ by `shift` in one feature. Patients have one, three, or one to five rows, of one class (by turns) or of either
class at random. The truth is the AUC on items of new patients of the model trained on all items:
Φ(w·δ / (√2 ‖w‖)). "Without groups" is what comes out where the groups are not said.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from kernelrank.estimators import RLS
from kernelrank.model_selection import estimate_auc

ROWS = {"one row": (1, 1), "three rows": (3, 3), "one to five rows": (1, 5)}


def draw(patients: int, rows: tuple[int, int], mixed: bool, shift: float, effect: float, rng: np.random.Generator):
    """Return items, classes and patients."""
    counts = rng.integers(rows[0], rows[1] + 1, patients)
    groups = np.repeat(np.arange(patients), counts)
    y = rng.integers(0, 2, len(groups)) if mixed else groups % 2
    own = np.sqrt(effect) * rng.standard_normal((patients, 10))
    X = own[groups] + np.sqrt(1 - effect) * rng.standard_normal((len(groups), 10))
    X[:, 0] += shift * (y - 0.5)
    return np.column_stack([X, np.ones(len(y))]), 2.0 * y - 1.0, groups


def holds(estimate, truth: float) -> bool:
    """Tell whether the interval holds the truth."""
    return truth in estimate.interval


def coverage(draws: int, **setting) -> dict[str, float]:
    """Return how often each interval holds the truth, and the mean of estimate minus truth."""
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {"default": [], "components": [], "without groups": [], "bias": []}
    while len(found["bias"]) < draws:
        X, y, groups = draw(rng=rng, **setting)
        if min(len(np.unique(groups[y == label])) for label in (-1.0, 1.0)) < 4:
            continue
        w = RLS(1.0).fit(X, y).coef_[:-1]
        truth = float(norm.cdf(setting["shift"] * w[0] / (np.sqrt(2) * np.linalg.norm(w))))
        estimate = estimate_auc(RLS(1.0), X, y, groups=groups)
        found["default"].append(holds(estimate, truth))
        found["components"].append(holds(estimate_auc(RLS(1.0), X, y, groups=groups, interval="components"), truth))
        found["without groups"].append(holds(estimate_auc(RLS(1.0), X, y), truth))
        found["bias"].append(estimate.auc - truth)
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    print(f"{'patients':>8} {'rows':<17} {'classes':<8} {'shift':>5}  {'bias':>7} default components without groups")
    for shift in (0.0, 1.0):
        for patients in (20, 40):
            for name, rows in ROWS.items():
                for mixed in (False, True):
                    setting = {"patients": patients, "rows": rows, "mixed": mixed, "shift": shift, "effect": 0.5}
                    found = coverage(draws, **setting)
                    kind = "mixed" if mixed else "one"
                    shares = f"{found['default']:7.3f} {found['components']:10.3f} {found['without groups']:14.3f}"
                    print(
                        f"{patients:8d} {name:<17} {kind:<8} {shift:5.1f}  {found['bias']:+7.3f} {shares}", flush=True
                    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
