"""Levels from scores, as they are written: refits for the held-out scores, a general optimiser, all chains."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone


def held_out_scores(learner, X, y, sets, qid=None):
    """Refit without each set, and measure its scores from the mean of that model's scores of all items."""
    options = {} if qid is None else {"qid": qid}
    origin = clone(learner).fit(X, y, **options).predict(X).mean()
    scores = np.empty(len(y))
    for held in sets:
        kept = np.setdiff1d(np.arange(len(y)), held)
        options = {} if qid is None else {"qid": np.asarray(qid)[kept]}
        model = clone(learner).fit(X[kept], y[kept], **options)
        scores[held] = model.predict(X[held]) - model.predict(X).mean() + origin
    return scores


def penalised_likelihood(theta, beta, scores, codes, weight):
    """The log-likelihood of the ordered logistic model, with 1/k of an item of each level at the mean score."""
    k = len(theta) + 1
    mean = np.average(scores, weights=weight)
    s = np.append(scores, np.full(k, mean))
    codes = np.append(codes, np.arange(k))
    weight = np.append(weight, np.full(k, 1 / k))
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    share = expit(ends[codes + 1] - beta * s) - expit(ends[codes] - beta * s)
    return float(weight @ np.log(np.maximum(share, 1e-300)))


def ordered_logistic(scores, codes, weight):
    """Maximise it over θ, by its first entry and the logarithms of its gaps, and β."""
    k = int(codes.max()) + 1

    def thetas(x):
        return x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:-1]))])

    found = minimize(
        lambda x: -penalised_likelihood(thetas(x), x[-1], scores, codes, weight),
        np.concatenate([[-1.0], np.zeros(k - 2), [0.5]]),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 40_000, "maxfev": 40_000, "adaptive": True},
    ).x
    return thetas(found), found[-1]


def share_of_chains(y, scores):
    """Draw every chain; ties of the chain are broken in every way."""
    levels = [np.flatnonzero(y == level) for level in np.unique(y)]
    total = count = 0.0
    for chain in itertools.product(*levels):
        s = scores[list(chain)]
        count += 1
        if (np.diff(s) >= 0).all():
            total += math.prod(1 / math.factorial(run) for run in np.unique(s, return_counts=True)[1])
    return total / count
