r"""Parts of a ROC curve: the sensitivity at a specificity, the reverse, and the area over a range.

Each is a share v between 0 and 1 of given scores. Its variance V is that of curves whose items, or whole groups, were
drawn anew; both classes are drawn, so the threshold varies too. The interval is Wilson's [Wil27]_ for as many
independent items as have this variance, and never for more than n, the items or groups of the smaller class:
``v' (1 - v') / V`` with v' moved towards one half by two successes and two failures, ``(v n + 2) / (n + 4)``, for v may
be 0 or 1. Student's quantile with n - 1 degrees of freedom allows for V being estimated. So the interval stays between
0 and 1, and is not a point where no draw differs.

References
----------
.. [Wil27] Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
   Statistical Association 22(158), 209-212.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Labels
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.intervals import FIXED, check_confidence, wilson_interval
from kernelrank.metrics.rate_estimate import RateEstimate
from kernelrank.metrics.roc_resamples import RocResamples
from kernelrank.metrics.two_classes import TwoClasses, check_groups, shared_groups

__all__ = ["partial_auc", "sensitivity_at", "specificity_at"]

ROUNDING = 1e-12
"""How far below a wanted rate one may lie that is equal to it but for rounding."""


def sensitivity_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    specificity: float,
    *,
    groups: Labels | None = None,
    pos_label: Hashable = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | None = 0,
) -> RateEstimate:
    """Return the sensitivity at a given specificity.

    Parameters
    ----------
    y_true : array-like, shape (m,)
        Any two labels.
    y_score : array-like, shape (m,)
        Larger scores indicate the positive class.
    specificity : float
        Between 0 and 1: the share of negative items that are to be called negative.
    groups : sequence, shape (m,), optional
        Items that vary together, such as several samples of one patient.
    pos_label : label, optional
        The positive class; the one that sorts last unless given.
    confidence : float, default=0.95
    n_resamples : int, default=2000
        How many curves are drawn for the interval.
    random_state : int or None, default=0

    Returns
    -------
    RateEstimate

    Notes
    -----
    O(m log m + m n_resamples) time, O(m) memory. The scores are taken as given: if a model was trained on the same
    items, pass held-out scores.

    Examples
    --------
    >>> y, scores = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> found = sensitivity_at(y, scores, 0.9)
    >>> found.value, [round(end, 2) for end in found.interval]
    (0.75, [0.16, 0.98])
    """
    _check_rate("specificity", specificity)

    def rate(fpr: Float, tpr: Float) -> float:
        return float(tpr[fpr <= 1.0 - specificity + ROUNDING].max())

    label = f"sensitivity at specificity {specificity:g}"
    return _estimate(label, rate, y_true, y_score, groups, pos_label, confidence, n_resamples, random_state)


def specificity_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sensitivity: float,
    *,
    groups: Labels | None = None,
    pos_label: Hashable = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | None = 0,
) -> RateEstimate:
    """Return the specificity at a given sensitivity.

    Parameters
    ----------
    y_true, y_score
        As in `sensitivity_at`.
    sensitivity : float
        Between 0 and 1: the share of positive items that are to be called positive.
    groups, pos_label, confidence, n_resamples, random_state
        As in `sensitivity_at`.

    Returns
    -------
    RateEstimate

    Examples
    --------
    >>> specificity_at([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8], 1.0).value
    0.75
    """
    _check_rate("sensitivity", sensitivity)

    def rate(fpr: Float, tpr: Float) -> float:
        return float(1.0 - fpr[tpr >= sensitivity - ROUNDING].min())

    label = f"specificity at sensitivity {sensitivity:g}"
    return _estimate(label, rate, y_true, y_score, groups, pos_label, confidence, n_resamples, random_state)


def partial_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    specificity: tuple[float, float] | None = None,
    sensitivity: tuple[float, float] | None = None,
    groups: Labels | None = None,
    pos_label: Hashable = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | None = 0,
) -> RateEstimate:
    """Return the partial AUC over a range of specificities or sensitivities.

    This is the partial area under the ROC curve divided by the width of its range, so that 1 is the best for every
    range. For the area itself multiply by the width.

    Parameters
    ----------
    y_true, y_score
        As in `sensitivity_at`.
    specificity, sensitivity : tuple of two floats, optional
        The range of one of the two, from low to high: ``specificity=(0.9, 1)`` looks at few false positives. One must
        be given.
    groups, pos_label, confidence, n_resamples, random_state
        As in `sensitivity_at`.

    Returns
    -------
    RateEstimate

    Notes
    -----
    O(m log m + m n_resamples) time, O(m) memory. For a range of specificities from s to 1 and the area a this returns
    a / (1 - s); scikit-learn's ``roc_auc_score(max_fpr=1 - s)`` rescales the same area so that chance is 0.5.

    Examples
    --------
    >>> y, scores = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> partial_auc(y, scores, specificity=(0.5, 1.0)).value
    0.875
    >>> partial_auc(y, scores, sensitivity=(0.75, 1.0)).value
    0.75
    """
    if (specificity is None) == (sensitivity is None):
        raise InvalidInputError(
            "partial_auc needs exactly one range: specificity=(low, high) or sensitivity=(low, high)"
        )
    name = "specificity" if sensitivity is None else "sensitivity"
    given: Any = specificity if sensitivity is None else sensitivity
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a range (low, high), got {given!r}") from None
    if not 0.0 <= low < high <= 1.0:
        raise InvalidInputError(f"{name} must be a range (low, high) with 0 <= low < high <= 1, got {given!r}")

    def rate(fpr: Float, tpr: Float) -> float:
        if sensitivity is None:
            return _mean_height(fpr, tpr, 1.0 - high, 1.0 - low)
        return _mean_height(tpr, 1.0 - fpr, low, high)

    other = "sensitivity" if sensitivity is None else "specificity"
    label = f"mean {other} at {name} {low:g} to {high:g}"
    return _estimate(label, rate, y_true, y_score, groups, pos_label, confidence, n_resamples, random_state)


def _mean_height(along: Float, height: Float, start: float, end: float) -> float:
    """Return the mean height of a curve of rising `along`, whose vertical steps have the same place, between two."""
    left, right = np.maximum(along[:-1], start), np.minimum(along[1:], end)
    inside = right > left
    left, right = left[inside], right[inside]
    width = (along[1:] - along[:-1])[inside]
    slope = (height[1:] - height[:-1])[inside] / width
    middle = height[:-1][inside] + slope * ((left + right) / 2 - along[:-1][inside])
    return float(np.sum(middle * (right - left)) / (end - start))


def _estimate(
    label: str,
    rate: Callable[[Float, Float], float],
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: Labels | None,
    pos_label: Hashable,
    confidence: float,
    n_resamples: int,
    random_state: int | None,
) -> RateEstimate:
    check_confidence(confidence)
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1 or not np.all(np.isfinite(scores)):
        raise InvalidInputError(f"y_score must be finite numbers, one for each item, got the shape {scores.shape}")
    classes = TwoClasses.read(y_true, len(scores), pos_label=pos_label)
    codes = shared_groups(check_groups(groups, classes))
    roc = RocResamples(classes.positive, scores, codes)
    value = min(1.0, max(0.0, rate(*roc.curve)))
    generator = np.random.default_rng(random_state)
    variance = float(np.var([rate(*curve) for curve in roc.draws(n_resamples, generator)]))
    most = float(min(roc.n_units))
    moved = (value * most + 2.0) / (most + 4.0)
    spread = moved * (1.0 - moved)
    independent = most if variance <= spread / most else spread / variance
    noun = "items" if codes is None else "groups"
    method = f"{noun} of both classes resampled {n_resamples:,} times; {FIXED}"
    interval = wilson_interval(value, independent, confidence, method, degrees=max(1.0, most - 1.0))
    return RateEstimate(label, value, interval, len(classes.positives), len(classes.negatives))


def _check_rate(name: str, rate: float) -> None:
    if not isinstance(rate, (int, float)) or not 0.0 <= rate <= 1.0:
        raise InvalidInputError(f"{name} must lie between 0 and 1, got {rate!r}")
