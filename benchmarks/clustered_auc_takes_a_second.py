"""Claim: the AUC of 140,000 samples of 12,000 patients with its clustered interval takes less than a CPU second.

Run: python benchmarks/clustered_auc_takes_a_second.py

Scores, classes and patients are arrays; patients are numbers or words. What is measured is the whole call of
`estimate_auc`, checks included, and of `compare_auc` for two markers. Time grows as m log m: the last column is the
time divided by that of one sort of the scores.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

import kernelrank as kr

PATIENTS = 12_000


def seconds(call) -> float:
    """Return the CPU time of the second call: the first one imports."""
    call()
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """Print a row for each number of samples."""
    print(f"{'samples':>9} {'patients':>9}   call                             CPU s   sorts")
    for m in (35_000, 140_000, 560_000):
        rng = np.random.default_rng(0)
        groups = rng.integers(0, PATIENTS, m)
        y = rng.integers(0, 2, m)
        one, two = (0.5 * y + rng.standard_normal(PATIENTS)[groups] + rng.standard_normal(m) for _ in range(2))
        names = np.char.add("patient ", groups.astype(str))
        sort = seconds(partial(np.sort, one))
        calls = {
            "estimate_auc, numbers": partial(kr.estimate_auc, one, None, y, groups=groups),
            "estimate_auc, words": partial(kr.estimate_auc, one, None, y, groups=names),
            "compare_auc, numbers": partial(kr.compare_auc, one, two, None, y, groups=groups),
        }
        for name, call in calls.items():
            spent = seconds(call)
            print(f"{m:9,} {PATIENTS:9,}   {name:<32} {spent:5.2f} {spent / sort:7.0f}", flush=True)


if __name__ == "__main__":
    main()
