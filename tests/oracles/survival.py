"""The slow, obvious twin of censored times: every pair whose order is known, written out."""

from __future__ import annotations

import numpy as np

from tests.oracles.pairs import Edges


def known_orders(time, event, strata=None):
    """Yield (longer, shorter) for every pair whose order is known: the shorter one had the event."""
    m = len(time)
    strata = [0] * m if strata is None else list(strata)
    for i in range(m):
        for j in range(m):
            if i == j or strata[i] != strata[j] or not event[i]:
                continue
            if time[i] < time[j] or (time[i] == time[j] and not event[j]):
                yield j, i


def censored_edges(
    time, event, strata=None, *, cost="unit", weight=None, event_weight=None, query_weight="pairs"
) -> Edges:
    """Write out the edges of censored times."""
    m = len(time)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    event_weight = np.ones(m) if event_weight is None else np.asarray(event_weight, dtype=float)
    strata = np.zeros(m) if strata is None else np.asarray(strata)
    pairs = [(h, j) for h, j in known_orders(time, event, strata) if cost == "unit" or (event[h] and event[j])]
    h, j = (np.array([pair[k] for pair in pairs], dtype=int) for k in (0, 1))
    w2 = event_weight[j] * weight[j] * weight[h]
    taking_part = weight if cost == "unit" else weight * np.asarray(event)
    for stratum in np.unique(strata):
        inside = strata[j] == stratum
        whole = {"pairs": 1.0, "items": taking_part[strata == stratum].sum(), "queries": w2[inside].sum()}[query_weight]
        if whole > 0:
            w2[inside] /= whole
    z = np.ones(len(h)) if cost == "unit" else np.asarray(time)[h] - np.asarray(time)[j]
    return Edges(m, h, j, z, w2)


def hinge_objective(X, w, time, event, alpha, *, power, intercept=None):
    """The survival SVM with rank_ratio=1: ``alpha / 2 Σ max(0, 1 - (f_h - f_l))^power + ½ ‖w‖²`` over known orders.

    This is the formulation of Van Belle and of Pölsterl, in which the longer-lasting item has the higher score.
    """
    assert intercept is None
    f = X @ w
    margins = np.array([f[h] - f[j] for h, j in known_orders(time, event)])
    return 0.5 * w @ w + alpha / 2 * (np.maximum(0.0, 1.0 - margins) ** power).sum()


def concordance(time, event, score, *, strata=None, weight=None, event_weight=None, tied_tol=0.0):
    """The share of the known orders that the scores have right, tied scores counting a half, and their weight."""
    m = len(time)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    event_weight = np.ones(m) if event_weight is None else np.asarray(event_weight, dtype=float)
    right = total = 0.0
    for h, j in known_orders(time, event, strata):
        w = event_weight[j] * weight[j] * weight[h]
        difference = score[h] - score[j]
        total += w
        right += w * (0.5 if abs(difference) <= tied_tol else float(difference > 0))
    return right / total, total
