r"""Measures of predicted risks, each with the effect of every item, which is what its interval is made of.

With y of 1 for the positive class and 0 for the other, and risks p of m items:

* Brier score ``B = mean (p - y)²``; scaled ``1 - B / (o (1 - o))`` for the share o of positive items: 1 is perfect, and
  0 what the share itself achieves.
* Observed over expected: ``Σ y / Σ p``. Calibration slope b: of ``log-odds(y) = a + b log-odds(p)``; calibration
  intercept: a where b is 1 [CVS16]_.
* Net benefit of treating all items with ``p ≥ t``: ``TP / m - FP / m · t / (1 - t)`` [VE06]_.
* Average precision ``Σ precision(i) y_i / Σ y``, where precision(i) is that of all items with a risk of at least p_i.
* Sensitivity, specificity and predictive values: shares of some items among others.

The *effect* of an item is the derivative of a measure by the weight of that item, over which all effects add up to
zero. The variance of a measure over items drawn anew is ``n / (n - 1)`` times the sum of the squares of n effects;
dependent items are first added up by group: for the AUC this would be DeLong's variance. The intervals of shares are of
score type, with Student's quantile q for one item less than the smaller class: all t with ``(v - t)² ≤ q² r t (1 - t)``
for a value v with the variance ``r v (1 - v)``. Where that variance is less than that of one pair in the wrong order,
``1 / (n (n + 1))²``, r is at least that of a share of 2 n items.

References
----------
.. [CVS16] Van Calster, Nieboer, Vergouwe, De Cock, Pencina and Steyerberg (2016). A calibration hierarchy for risk
   models was defined: from utopia to empirical data. Journal of Clinical Epidemiology 74.
.. [VE06] Vickers and Elkin (2006). Decision curve analysis: a novel method for evaluating prediction models. Medical
   Decision Making 26(6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from kernelrank.base.arrays import Float, Index
from kernelrank.metrics.intervals import FIXED, Interval

CERTAIN = 1e-12
"""Log-odds are those of risks that are at least so far from 0 and 1."""


@dataclass(frozen=True, eq=False)
class Effects:
    """A measure, and the effect of each item on it.

    Shapes: effects (m,).

    share: Whether the measure lies between 0 and 1.
    """

    value: float
    effects: Float
    share: bool = False

    def variance(self, groups: Index | None = None) -> float:
        """Return the variance over items, or groups, that are drawn anew."""
        sums = self.effects if groups is None else np.bincount(groups, self.effects)
        n = len(sums)
        return n / (n - 1) * float(sums @ sums) if n > 1 else np.inf

    def ends(self, variance: float, n: int, confidence: float, ratio: float = 0.0) -> tuple[float, float]:
        """Return the ends of an interval, for a variance and n items, or groups, of the smaller class.

        ratio: The least r of a share.
        """
        if not np.isfinite(self.value):
            return np.nan, np.nan
        q = float(stdtrit(max(1, n - 1), (1.0 + confidence) / 2.0))
        if not self.share:
            half = q * float(np.sqrt(variance))
            return self.value - half, self.value + half
        spread = self.value * (1.0 - self.value)
        if variance <= 1.0 / (n * (n + 1.0)) ** 2:
            ratio = max(ratio, 0.5 / n)
        if spread > 0.0:
            ratio = max(ratio, variance / spread)
        s = q * q * ratio
        middle, half = self.value + s / 2.0, float(np.sqrt(s * (spread + s / 4.0)))
        return min(max(0.0, (middle - half) / (1.0 + s)), self.value), max((middle + half) / (1.0 + s), self.value)


@dataclass(frozen=True, eq=False)
class PrecisionEffects:
    """The effects of the items of one list on its average precision.

    Shapes: effects (m,).
    """

    effects: Float
    n_positive: int

    def interval(self, value: float, confidence: float) -> Interval:
        """Return the interval of an average precision: other items would be ranked."""
        m = len(self.effects)
        found = Effects(value, self.effects, share=True)
        least = max(2, min(self.n_positive, m - self.n_positive))
        ends = found.ends(found.variance(), least, confidence, 0.5 / least)
        how = f"effects of {self.n_positive} relevant and {m - self.n_positive} other items; {FIXED}"
        return Interval(*ends, confidence, how)


def average_precision(scores: Float, positive: NDArray[np.bool_]) -> Effects:
    """Return the average precision, tied items being one step: O(m log m) time.

    Shapes: scores, positive (m,).
    """
    order = np.argsort(-scores, kind="stable")
    ordered, y = scores[order], positive[order].astype(np.float64)
    end = np.searchsorted(-ordered, -ordered, "right") - 1
    start = np.searchsorted(-ordered, -ordered, "left")
    n, precision = end + 1.0, np.cumsum(y)[end] / (end + 1.0)
    P = float(y.sum())
    value = float(y @ precision) / P
    # Item j changes the precision at each i that is not above it by (y_j - precision_i) / n_i.
    first, second = (np.cumsum((y * of / n)[::-1])[::-1][start] for of in (np.ones(len(y)), precision))
    effects = np.empty(len(y))
    effects[order] = (y * (precision - value) + y * first - second) / P
    return Effects(value, effects, share=True)


def ratio(above: Float, below: Float, *, share: bool = True) -> Effects:
    """Return the sum of some numbers over that of others; NaN where that is zero."""
    total = float(below.sum())
    if total == 0.0:
        return Effects(np.nan, np.zeros(len(below)), share)
    value = float(above.sum()) / total
    return Effects(value, (above - value * below) / total, share)


def net_benefit(risks: Float, positive: NDArray[np.bool_], threshold: float, weight: Float | None = None) -> Effects:
    """Return the net benefit of treating the items whose risk is at least the threshold."""
    w = np.ones(len(risks)) if weight is None else weight
    odds = threshold / (1.0 - threshold)
    chosen = (risks >= threshold).astype(np.float64)
    return ratio(w * chosen * np.where(positive, 1.0, -odds), w, share=False)


def rates(
    risks: Float, positive: NDArray[np.bool_], threshold: float, weight: Float | None = None
) -> dict[str, Effects]:
    """Return sensitivity, specificity and predictive values of the items whose risk is at least the threshold."""
    w = np.ones(len(risks)) if weight is None else weight
    chosen, y = (risks >= threshold).astype(np.float64), positive.astype(np.float64)
    return {
        "sensitivity": ratio(w * chosen * y, w * y),
        "specificity": ratio(w * (1.0 - chosen) * (1.0 - y), w * (1.0 - y)),
        "ppv": ratio(w * chosen * y, w * chosen),
        "npv": ratio(w * (1.0 - chosen) * (1.0 - y), w * (1.0 - chosen)),
    }


def auc_effects(risks: Float, positive: NDArray[np.bool_], weight: Float) -> Effects:
    """Return the AUC of items with weights: the effects are those of DeLong's variance.

    Shapes: risks, positive, weight (m,).
    """
    found, sides = np.empty(len(risks)), (positive, ~positive)
    for side, other, sign in ((*sides, 1.0), (*sides[::-1], -1.0)):
        order = np.argsort(sign * risks[other], kind="stable")
        sorted_risks = sign * risks[other][order]
        below = np.append(0.0, np.cumsum(weight[other][order])) / weight[other].sum()
        first, last = (np.searchsorted(sorted_risks, sign * risks[side], end) for end in ("left", "right"))
        found[side] = (below[first] + below[last]) / 2.0
    totals = [float(weight[side].sum()) for side in sides]
    value = float(weight[positive] @ found[positive]) / totals[0]
    return Effects(value, weight * (found - value) / np.where(positive, *totals), share=True)


def risk_measures(risks: Float, positive: NDArray[np.bool_], weight: Float | None = None) -> dict[str, Effects]:
    """Return the measures of risks that need no threshold; the AUC only with weights, and else average precision.

    Shapes: risks, positive, weight (m,).
    """
    y, w = positive.astype(np.float64), np.ones(len(risks)) if weight is None else weight
    loss, share = ratio(w * (risks - y) ** 2, w), ratio(w * y, w)
    most = share.value * (1.0 - share.value)
    scaled = loss.value * (1.0 - 2.0 * share.value) * share.effects / most**2 - loss.effects / most
    z = logit(np.clip(risks, CERTAIN, 1.0 - CERTAIN))
    intercept, _ = newton_line(np.zeros_like(z), y[None], w[None], offset=z)
    fitted = expit(intercept[0] + z)
    own = average_precision(risks, positive) if weight is None else auc_effects(risks, positive, weight)
    return {
        "brier": loss,
        "scaled_brier": Effects(1.0 - loss.value / most, scaled),
        "observed_expected": ratio(w * y, w * risks, share=False),
        "calibration_intercept": Effects(float(intercept[0]), w * (y - fitted) / float((w * fitted) @ (1.0 - fitted))),
        "calibration_slope": calibration_line(z, positive, w).slope,
        "average_precision" if weight is None else "auc": own,
    }


@dataclass(frozen=True, eq=False)
class CalibrationLine:
    """The logistic line of the classes over the log-odds z of the risks, with the effects of the items on it.

    Shapes: effects (2, m), of the intercept and the slope over ``(z - mean) / unit``.
    """

    mean: float
    unit: float
    intercept: float
    scaled_slope: float
    effects: Float

    @property
    def slope(self) -> Effects:
        """The calibration slope; NaN where all risks are equal."""
        if self.unit == 0.0:
            return Effects(np.nan, np.zeros(self.effects.shape[1]))
        return Effects(self.scaled_slope / self.unit, self.effects[1] / self.unit)

    def at(self, z: float) -> Effects:
        """Return the log-odds of the observed share where those of the risk are z."""
        s = (z - self.mean) / self.unit if self.unit else 0.0
        return Effects(self.intercept + self.scaled_slope * s, self.effects[0] + s * self.effects[1])


def calibration_line(z: Float, positive: NDArray[np.bool_], w: Float) -> CalibrationLine:
    """Fit the line by the logistic likelihood with weights w; shapes z, positive, w (m,)."""
    y, mean, unit = positive.astype(np.float64), float(z.mean()), float(z.std())
    unit = unit if unit >= 1e-9 else 0.0
    s = (z - mean) / unit if unit else np.zeros_like(z)
    a, b = newton_line(s, y[None], w[None])
    p = expit(a[0] + b[0] * s)
    design = np.column_stack([np.ones_like(s), s])
    information = (design * (w * p * (1.0 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
    effects = np.linalg.solve(information, design.T * (w * (y - p)))
    return CalibrationLine(mean, unit, float(a[0]), float(b[0]), effects)


def newton_line(
    s: Float, y: Float, weight: Float | None = None, offset: Float | float = 0.0, *, firth: bool = False
) -> tuple[Float, Float]:
    """Maximise the logistic likelihood of ``a + b s + offset`` for several targets or weights at once.

    Shapes: s (m,), y, weight, offset (resamples, m) or what broadcasts to it; returns a, b (resamples,). Where s is
    zero everywhere, b stays 0. At most 50 steps, each of at most 2 in a and in b.
    """
    w = np.ones_like(y) if weight is None else weight
    total = w.sum(axis=1)
    a, b = logit(np.clip((w * y).sum(axis=1) / total, 1e-6, 1.0 - 1e-6)), np.zeros(len(w))
    for _ in range(50):
        p = expit(a[:, None] + b[:, None] * s + offset)
        h = w * p * (1.0 - p)
        h0, h1, h2 = h.sum(axis=1) + 1e-9, h @ s, h @ (s * s) + 1e-9
        determinant = h0 * h2 - h1 * h1
        residual = w * (y - p)
        if firth:
            leverage = h * (h2[:, None] - 2.0 * h1[:, None] * s + h0[:, None] * s * s) / determinant[:, None]
            residual = residual + leverage * (0.5 - p)
        g0, g1 = residual.sum(axis=1), residual @ s
        step_a = np.clip((h2 * g0 - h1 * g1) / determinant, -2.0, 2.0)
        step_b = np.clip((h0 * g1 - h1 * g0) / determinant, -2.0, 2.0)
        a, b = a + step_a, b + step_b
        if max(np.abs(step_a).max(), np.abs(step_b).max()) < 1e-10:
            break
    return a, b
