"""The likelihood of votes written out vote by vote, and its minimum by SciPy's generic optimisers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, root

LIGHT, JUDGE_ALPHA = 0.005, 0.5


def split(x, n_columns, n_judges, *, davidson, side_bias, judge_effect):
    """Take the unknowns apart: w, θ, the side bias, the effects of judges."""
    w, rest = x[:n_columns], list(x[n_columns:])
    theta = rest.pop(0) if davidson else None
    bias = rest.pop(0) if side_bias else 0.0
    return w, theta, bias, np.array(rest) if judge_effect else np.zeros(n_judges)


def objective(x, Phi, pairs, alpha, *, tie, weight, side, judge, ties, side_bias, judge_effect):
    """Minus the logarithm of the posterior density, but for a constant; x may be complex."""
    n_judges = int(judge.max()) + 1
    davidson = ties == "davidson"
    w, theta, bias, effects = split(
        x, Phi.shape[1], n_judges, davidson=davidson, side_bias=side_bias, judge_effect=judge_effect
    )
    f = Phi @ w
    total = alpha * (w @ w) + JUDGE_ALPHA * (effects @ effects) + LIGHT * bias**2
    total = total + (LIGHT * theta**2 if davidson else 0.0)
    for (h, j), tied, count, stood, k in zip(pairs, tie, weight, side, judge, strict=True):
        d = f[h] - f[j] + stood * bias
        if judge_effect == "side":
            d = d + stood * effects[k]
        if judge_effect == "scale":
            size = np.exp(effects[k] - effects.mean())
            d = 5.0 * size / (4.0 + size) * (f[h] - f[j]) + stood * bias
        if davidson:
            terms = np.array([np.exp(d / 2), np.exp(-d / 2), np.exp(theta)])
            total = total - count * np.log(terms[2 if tied else 0] / terms.sum())
        elif tied:
            total = total + count / 2 * (np.log(1 + np.exp(-d)) + np.log(1 + np.exp(d)))
        else:
            total = total + count * np.log(1 + np.exp(-d))
    return total


def derivative(function, x):
    """The gradient by complex steps, which have no rounding."""
    steps = 1e-30j * np.eye(len(x))
    return np.array([function(x + step).imag / 1e-30 for step in steps])


def minimum(Phi, pairs, alpha, *, tie=None, weight=None, side=None, judge=None, **model):
    """Return the minimiser, the minimum, and the function that was minimised."""
    model = {"ties": "half", "side_bias": False, "judge_effect": None, **model}
    given = {
        "tie": np.zeros(len(pairs), dtype=bool) if tie is None else tie,
        "weight": np.ones(len(pairs)) if weight is None else weight,
        "side": np.zeros(len(pairs)) if side is None else side,
        "judge": np.zeros(len(pairs), dtype=int) if judge is None else judge,
    }

    def value(x):
        return objective(x, Phi, pairs, alpha, **given, **model)

    n_judges = int(given["judge"].max()) + 1
    size = Phi.shape[1] + (model["ties"] == "davidson") + bool(model["side_bias"])
    size += n_judges if model["judge_effect"] else 0
    found = minimize(lambda x: value(x).real, np.zeros(size), jac=lambda x: derivative(value, x), method="BFGS")
    exact = root(lambda x: derivative(value, x), found.x, tol=1e-14)
    return exact.x, float(value(exact.x)), value
