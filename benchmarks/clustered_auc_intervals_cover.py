"""Claim: the 95% interval of the AUC of given scores holds the true AUC in 93 to 97 of 100 cases with clusters, too.

Run: python benchmarks/clustered_auc_intervals_cover.py [--draws 4000]

40 patients with 5 samples each. A score is ``shift · class + patient + sample``, two normal variables whose variances
add up to one. The samples of a patient are of one class (patients by turns), of either class at random, or one of five
is positive. The truth is the AUC of samples of two patients, Φ(shift / √2); pairs within a patient, whose effect they
share, move the AUC of all pairs by less than .005. "Without groups" is what comes out where patients are not said.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm

import kernelrank as kr

PATIENTS, SAMPLES = 40, 5
CLASSES = ("one class", "either class", "one of five")


def draw(kind: str, shift: float, within: float, rng: np.random.Generator):
    """Return scores, classes and patients."""
    groups = np.repeat(np.arange(PATIENTS), SAMPLES)
    y = groups % 2
    if kind == "either class":
        y = rng.integers(0, 2, len(groups))
    elif kind == "one of five":
        y = (np.arange(len(groups)) % SAMPLES == 0).astype(int)
    patient = np.sqrt(within) * rng.standard_normal(PATIENTS)
    scores = shift * y + patient[groups] + np.sqrt(1 - within) * rng.standard_normal(len(groups))
    return scores, y, groups


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    print(f"{'classes':<13} {'AUC':>5} {'variance of patients':>20}   clustered  width   without groups")
    for kind in CLASSES:
        for auc in (0.5, 0.7, 0.9):
            for within in (0.2, 0.8):
                rng = np.random.default_rng(0)
                shift = float(np.sqrt(2) * norm.ppf(auc))
                held, width, plain = [], [], []
                for _ in range(draws):
                    scores, y, groups = draw(kind, shift, within, rng)
                    found = kr.estimate_auc(scores, None, y, groups=groups).interval
                    held.append(auc in found)
                    width.append(found.width)
                    plain.append(auc in kr.estimate_auc(scores, None, y).interval)
                shares = f"{np.mean(held):9.3f}  {np.mean(width):.3f} {np.mean(plain):16.3f}"
                print(f"{kind:<13} {auc:5.2f} {within:20.1f}   {shares}", flush=True)


if __name__ == "__main__":
    main()
