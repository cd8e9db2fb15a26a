r"""Confidence intervals of an AUC.

**Components.** An AUC over P positive and N negative items is a two-sample U-statistic. With ``h_ij`` one if the
positive item i is scored above the negative item j, a half for a tie and zero otherwise, ``a_i = mean_j h_ij`` and
``b_j = mean_i h_ij``, its variance is estimated by [DDC88]_

    ``V = var(a) / P + var(b) / N``,

and, where items come in groups, by sums over groups [Obu97]_: deviations are added up within a group before they are
squared, positive and negative ones together. This treats the scores as given: what varies is the items that are
scored, not those that the models were trained on.

**Interval.** All AUCs t that A does not contradict: those with ``(A - t)² ≤ q² D W(t)``, where q is Student's quantile,
W(t) the variance of an AUC of t over P and N items [New06]_, a function of t alone, and D how many times that large
the variance is here. A variance that is estimated at A says little about t where A is near 1, and a t near 1 allows
only small deviations: the interval stays inside [0, 1] and is wide only towards 0.5. D is estimated by
``(V + ε) / (W(A) + ε)``, with ``ε = W(1 - 1 / 4 (n + 1))`` for the n items of the smaller class: where A is 0 or 1
nothing varies, and D is 1. A quarter was chosen over 1/10 to 1 by width and coverage.

W is Newcombe's for given scores, which may have any distribution. Scores of models that were trained on other items are
sums of many terms: for them W is the variance for normal scores, which is smaller near 0 and 1, half as large at .99
(`kernelrank.model_selection.auc_halves`). Two positive items are both above a negative one with probability
``Q = t - 2 T(Φ⁻¹(t), 1 / √3)``, where T is Owen's [Owe56]_, and with P positive and N negative items

    ``W(t) = (t (1 - t) + (P + N - 2) (Q - t²)) / (P N)``.

References
----------
.. [DDC88] DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver operating
   characteristic curves. Biometrics 44.
.. [Obu97] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53.
.. [New06] Newcombe (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2.
   Statistics in Medicine 25.
.. [Owe56] Owen (1956). Tables for computing bivariate normal probabilities. Annals of Mathematical Statistics 27.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, owens_t, stdtrit
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Float, Index, Labels
from kernelrank.base.labels import Queries
from kernelrank.base.results import Estimates, Result
from kernelrank.base.validation import check_confidence
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.intervals import FIXED, Interval, wilson_interval

VarianceOf: TypeAlias = Callable[[float, float, float], float]
"""The variance of an AUC over so many positive and negative items."""

EDGE = 1e-12
"""How near to 0 or 1 an AUC counts as there."""


@dataclass(frozen=True, eq=False)
class Components:
    """The win rate of each item against the other class.

    Shapes: positive (P,), negative (N,).
    """

    positive: Float
    negative: Float

    @classmethod
    def of_scores(cls, positive: Float, negative: Float) -> Components:
        """Compare every positive score with every negative one: O(m log m) time."""
        return cls(_share_below(positive, negative), 1.0 - _share_below(negative, positive))

    @property
    def auc(self) -> float:
        """The AUC: the mean win rate."""
        return float(self.positive.mean())

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a positive and a negative item."""
        return len(self.positive) * len(self.negative)

    def __sub__(self, other: Components) -> Components:
        """Return the components of the difference of two AUCs of the same items."""
        return Components(self.positive - other.positive, self.negative - other.negative)

    def interval(self, auc: float, confidence: float) -> Interval:
        """Return the interval of an AUC with these components: other items would be scored."""
        sizes = len(self.positive), len(self.negative)
        variance, degrees = self.variance()
        low, high = score_interval(auc, variance, confidence, *sizes, degrees)
        return Interval(low, high, confidence, f"DeLong's variance over {sizes[0]} and {sizes[1]} items; {FIXED}")

    def variance(
        self, positive_groups: Index | None = None, negative_groups: Index | None = None
    ) -> tuple[float, float]:
        """Return V, and the degrees of freedom of its two parts together: Welch's, at most one less than the groups.

        O(m) time. The components of a difference of two AUCs are the differences of theirs: the same formula is
        DeLong's variance of the difference, covariance included.
        """
        deviations = [(part - self.auc) / len(part) for part in (self.positive, self.negative)]
        if positive_groups is None or negative_groups is None:
            counts = [len(part) for part in deviations]
            sums = deviations
            crossed, most = 0.0, np.inf
        else:
            size = int(max(positive_groups.max(), negative_groups.max())) + 1
            groups = (positive_groups, negative_groups)
            totals: list[Float] = [
                np.asarray(np.bincount(g, d, size), dtype=np.float64) for g, d in zip(groups, deviations, strict=True)
            ]
            present = [np.bincount(g, minlength=size) > 0 for g in groups]
            counts = [int(p.sum()) for p in present]
            sums = [t[p] for t, p in zip(totals, present, strict=True)]
            n_groups = int((present[0] | present[1]).sum())
            crossed = 2.0 * n_groups / max(1, n_groups - 1) * float(totals[0] @ totals[1])
            most = n_groups - 1.0  # a group of both classes is in both parts, and yet one group
        if min(counts) < 2:
            return np.inf, 1.0
        parts = [n / (n - 1) * float(s @ s) for n, s in zip(counts, sums, strict=True)]
        total = sum(parts)
        spread = sum(part**2 / (n - 1) for n, part in zip(counts, parts, strict=True))
        degrees = total**2 / spread if spread > 0 else float(sum(counts) - 2)
        return max(total + crossed, 0.0), min(degrees, most)


def _share_below(scores: Float, others: Float) -> Float:
    """Return for each score the share of the others below it, ties counting a half."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    share: Float = (below + up_to) / (2.0 * len(others))
    return share


def score_interval(
    auc: float, variance: float, confidence: float, n_positive: int, n_negative: int, degrees: float = np.inf
) -> tuple[float, float]:
    """Return the AUCs that an estimate with this variance does not contradict; see the head of this file."""
    if not np.isfinite(variance):
        return 0.0, 1.0
    small = small_variance(n_positive, n_negative, variance_at)
    factor = (variance + small) / (variance_at(auc, n_positive, n_negative) + small)
    quantile = float(stdtrit(degrees, 0.5 + confidence / 2))
    return interval_of_factor(auc, factor, quantile, n_positive, n_negative, variance_at)


def small_variance(n_positive: float, n_negative: float, variance_of: VarianceOf) -> float:
    """Return the variance of an AUC near 1, which is added to both variances of a ratio."""
    return variance_of(1.0 - 0.25 / (min(n_positive, n_negative) + 1.0), n_positive, n_negative)


def interval_of_factor(
    auc: float, factor: float, quantile: float, n_positive: int, n_negative: int, variance_of: VarianceOf
) -> tuple[float, float]:
    """Return the ends of the AUCs t with ``(auc - t)² ≤ quantile² · factor · W(t)``."""
    from scipy.optimize import brentq

    def excess(t: float) -> float:
        return (t - auc) ** 2 - quantile**2 * factor * variance_of(t, n_positive, n_negative)

    low = 0.0 if auc <= EDGE else float(brentq(excess, 0.0, min(auc, 1.0 - EDGE)))
    high = 1.0 if auc >= 1 - EDGE else float(brentq(excess, max(auc, EDGE), 1.0))
    return low, high


def variance_at(t: float, n_positive: float, n_negative: float) -> float:
    """Return the variance of an AUC of t, by Newcombe's method 5."""
    size = (n_positive + n_negative) / 2 - 1.0
    return t * (1 - t) * (1 + size * (1 - t) / (2 - t) + size * t / (1 + t)) / (n_positive * n_negative)


def normal_variance(t: float, n_positive: float, n_negative: float) -> float:
    """Return the variance of an AUC of t whose scores are normal, with the same variance in both classes."""
    both = t - 2.0 * float(owens_t(ndtri(t), 1.0 / np.sqrt(3.0)))
    return (t * (1.0 - t) + (n_positive + n_negative - 2.0) * max(both - t * t, 0.0)) / (n_positive * n_negative)


# Two classes ----------------------------------------------------------------------------------------------------------
#
# Two classes: which items are positive, and what an estimator is fitted to.


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Items of two classes.

    Shapes: labels (m,), positive (m,).
    """

    labels: NDArray[Any]
    positive: NDArray[np.bool_]
    names: tuple[Any, Any]
    sign: int

    @classmethod
    def read(cls, y: ArrayLike | None, n_items: int, *, pos_label: Hashable = None) -> TwoClasses:
        """Read any two labels; the one that sorts last is positive, as in scikit-learn, unless `pos_label` is given.

        Shapes: y (m,).
        """
        if y is None:
            raise InvalidInputError("an AUC needs y, the two classes of the items, but y is None")
        labels = column_or_1d(y)
        if len(labels) != n_items:
            raise InvalidInputError(f"y has {len(labels)} entries, but X has {n_items} items")
        assert_all_finite(labels, input_name="y")
        try:
            found = np.unique(labels)
        except TypeError as error:
            raise InvalidInputError(f"y must hold two classes that can be sorted: {error}") from None
        if len(found) != 2:
            count = "one class" if len(found) == 1 else f"{len(found)} classes"
            raise InvalidInputError(f"an AUC compares two classes, and y has {count}: {_short(found)}")
        if pos_label is not None and pos_label not in found.tolist():
            raise InvalidInputError(f"pos_label is {pos_label!r}, but the classes of y are {_short(found)}")
        sign = 1 if pos_label is None or pos_label == found[1] else -1
        names = tuple(found[::sign].tolist())
        return cls(labels, labels == found[::sign][1], (names[0], names[1]), sign)

    def part(self, items: Index) -> TwoClasses:
        """Return the classes of some items."""
        return replace(self, labels=self.labels[items], positive=self.positive[items])

    @property
    def positives(self) -> Index:
        """The numbers of the positive items."""
        return np.flatnonzero(self.positive)

    @property
    def negatives(self) -> Index:
        """The numbers of the negative items."""
        return np.flatnonzero(~self.positive)

    def target(self, estimator: BaseEstimator) -> NDArray[Any]:
        """Return what an estimator is fitted to: the labels, or ±1 if it learns scores and they are not numbers."""
        if is_classifier(estimator):
            return self.labels
        if self.labels.dtype.kind in "iuf":
            return self.labels.astype(np.float64)
        return self.sign * np.where(self.positive, 1.0, -1.0)

    def pairs_need(self, groups: Index | None = None) -> int:
        """Return how many items (or groups) each class needs, so that some remain when a pair is held out.

        Two, or three if a group has items of both classes: then two groups of one class may be held out with a pair.
        """
        return 3 if groups is not None and self.has_mixed(groups) else 2

    def has_mixed(self, groups: Index) -> bool:
        """Return whether a group has items of both classes."""
        return bool(np.isin(groups[self.positive], groups[~self.positive]).any())

    def has(self, least: int, groups: Index | None = None) -> bool:
        """Return whether every class occurs in so many items, or groups."""
        return min(self.counts(groups)) >= least

    def require(self, least: int, what: str, groups: Index | None = None) -> None:
        """Raise an error for a class that occurs in fewer items, or groups, than a method needs."""
        noun = "item" if groups is None else "group"
        for name, count in zip(self.names, self.counts(groups), strict=True):
            if count < least:
                raise InvalidInputError(
                    f"{what} needs at least {least} {noun}s of each class, so that both remain to train on; "
                    f"class {name!r} has {count} {noun if count == 1 else noun + 's'}"
                )

    def counts(self, groups: Index | None) -> tuple[int, int]:
        """Return in how many items, or groups, the negative and the positive class occur."""
        if groups is None:
            return int((~self.positive).sum()), int(self.positive.sum())
        return len(np.unique(groups[~self.positive])), len(np.unique(groups[self.positive]))


def _short(found: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in found[:5].tolist())
    return shown + (", …" if len(found) > 5 else "")


def check_groups(groups: Labels | None, classes: TwoClasses) -> Index | None:
    """Return group numbers, or None.

    Shapes: groups (m,); returns (m,).
    """
    return None if groups is None else Queries.from_labels(groups, len(classes.labels), name="groups").codes


def shared_groups(groups: Index | None) -> Index | None:
    """Return the groups, or None if every group has one item, because such groups have no effect."""
    return None if groups is None or int(groups.max()) + 1 == len(groups) else groups


def units_by_kind(positive: NDArray[np.bool_], units: Index) -> list[Index]:
    """Return the units, items or groups, of positive items only, of negative items only, and of both, if any.

    Shapes: positive (m,), units (m,).
    """
    of_positive, of_negative = (np.bincount(units, weights=of) > 0 for of in (positive, ~positive))
    kinds = (of_positive & ~of_negative, of_negative & ~of_positive, of_positive & of_negative)
    return [np.flatnonzero(kind) for kind in kinds if kind.any()]


# Operating points -----------------------------------------------------------------------------------------------------
#
# Parts of a ROC curve: the sensitivity at a specificity, the reverse, and the area over a range.
#
# Each is a share v between 0 and 1 of given scores. Its variance V is that of curves whose items, or whole groups, were
# drawn anew; both classes are drawn, so the threshold varies too. The interval is Wilson's [Wil27]_ for as many
# independent items as have this variance, and never for more than n, the items or groups of the smaller class: ``v' (1
# - v') / V`` with v' moved towards one half by two successes and two failures, ``(v n + 2) / (n + 4)``, for v may be 0
# or 1. Student's quantile with n - 1 degrees of freedom allows for V being estimated. So the interval stays between 0
# and 1, and is not a point where no draw differs.
#
# References ---------- .. [Wil27] Wilson (1927). Probable inference, the law of succession, and statistical inference.
# Journal of the American Statistical Association 22(158), 209-212.

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


# Rate estimate --------------------------------------------------------------------------------------------------------
#
# A share between 0 and 1 that was estimated from two classes of items, with its interval.


@dataclass(frozen=True, repr=False)
class RateEstimate(Result):
    """A share between 0 and 1, such as a sensitivity or a partial AUC.

    Parameters
    ----------
    label : str
        A description, such as "sensitivity at specificity 0.9".
    value : float
    interval : Interval
    n_positive, n_negative : int
        How many items of each class there are.

    Examples
    --------
    >>> interval = Interval(0.6, 0.9, 0.95, "items resampled 2,000 times")
    >>> print(RateEstimate("sensitivity at specificity 0.9", 0.8, interval, 20, 30))
    sensitivity at specificity 0.9: 0.8000, 95% interval [0.6000, 0.9000] (items resampled 2,000 times; 20 positive and
    30 negative items)
    """

    label: str
    value: float
    interval: Interval
    n_positive: int
    n_negative: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.label}: {self.value:.4f}, {100 * self.interval.level:.4g}% interval [{low:.4f}, {high:.4f}] "
            f"({self.interval.method}; {self.n_positive} positive and {self.n_negative} negative items)"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            (self.label, f"{self.value:.3f}"),
            self.interval._fact(),
            ("about the interval", self.interval.method),
            ("items", f"{self.n_positive:,} positive, {self.n_negative:,} negative"),
        ]

    def _chart(self) -> Estimates:
        items = f"{self.n_positive:,} positive, {self.n_negative:,} negative"
        return Estimates([(items, self.value, *self.interval)], self.label)

    def _columns(self) -> dict[str, Any]:
        return {
            "label": [self.label],
            "value": [self.value],
            **self.interval._columns(),
            "n_positive": [self.n_positive],
            "n_negative": [self.n_negative],
        }


# ROC resamples --------------------------------------------------------------------------------------------------------
#
# ROC curves of given scores, and those of other items drawn from the same ones.


@dataclass(frozen=True, eq=False)
class RocResamples:
    """The scores of two classes, from which items or whole groups can be drawn with replacement.

    Items of each class are drawn by themselves; groups in up to three parts: those of positive items only, of negative
    items only, and of both. So no draw lacks a class.

    Shapes: positive (m,), scores (m,), groups (m,).
    """

    positive: NDArray[np.bool_]
    scores: Float
    groups: Index | None = None

    @property
    def curve(self) -> tuple[Float, Float]:
        """The false and true positive rates at every threshold, from (0, 0) to (1, 1); tied items are one step."""
        return self._curve_of(np.ones(len(self.scores)))

    def draws(self, n_resamples: int, generator: np.random.Generator) -> Iterator[tuple[Float, Float]]:
        """Draw curves, each in O(m) time."""
        ordered = self._units[self._order]
        times = np.zeros(int(ordered.max()) + 1)
        for _ in range(n_resamples):
            for kind in self._kinds:
                times[kind] = np.bincount(generator.integers(len(kind), size=len(kind)), minlength=len(kind))
            yield self._curve_of(times[ordered])

    @cached_property
    def n_units(self) -> tuple[int, int]:
        """How many items, or groups with some, each class has: the positive and the negative one."""
        return len(np.unique(self._units[self.positive])), len(np.unique(self._units[~self.positive]))

    @property
    def _units(self) -> Index:
        return np.arange(len(self.scores)) if self.groups is None else self.groups

    @cached_property
    def _order(self) -> Index:
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def _last(self) -> Index:
        """Where each run of tied items ends."""
        return np.append(np.flatnonzero(np.diff(self.scores[self._order])), len(self._order) - 1)

    @cached_property
    def _kinds(self) -> list[Index]:
        return units_by_kind(self.positive, self._units)

    @cached_property
    def _positive_in_order(self) -> Float:
        return self.positive[self._order].astype(np.float64)

    def _curve_of(self, weight: Float) -> tuple[Float, Float]:
        """Return the curve of items that count as often as `weight` says, in descending order of their scores."""
        up, all_items = np.cumsum(weight * self._positive_in_order), np.cumsum(weight)
        if len(self._last) < len(weight):
            up, all_items = up[self._last], all_items[self._last]
        right = all_items - up  # exact: whole numbers
        return np.append(0.0, right / right[-1]), np.append(0.0, up / up[-1])
