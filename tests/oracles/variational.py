"""The normal distribution nearest to the posterior of scores, by a generic optimiser over its mean and its factor."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def nearest_normal(Phi, pairs, tie, weight, prior):
    """Maximise the evidence lower bound of Bradley and Terry's likelihood, vote by vote; return mean and covariance."""
    p = Phi.shape[1]
    low = np.tril_indices(p)

    def loss(x):
        mean, factor = x[:p], np.zeros((p, p))
        factor[low] = x[p:]
        total = (prior * (mean**2 + (factor**2).sum(axis=1))).sum() / 2 - np.log(np.abs(np.diag(factor))).sum()
        for (h, j), tied, count in zip(pairs, tie, weight, strict=True):
            row = Phi[h] - Phi[j]
            d = row @ mean + np.linalg.norm(row @ factor) * POINTS
            won, lost = WEIGHTS @ np.logaddexp(0, -d), WEIGHTS @ np.logaddexp(0, d)
            total += count * ((won + lost) / 2 if tied else won)
        return total

    start = np.concatenate([np.zeros(p), np.diag(1 / np.sqrt(prior + 1))[low]])
    x = minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x
    factor = np.zeros((p, p))
    factor[low] = x[p:]
    return x[:p], factor @ factor.T
