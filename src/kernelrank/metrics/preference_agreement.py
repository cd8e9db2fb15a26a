"""The agreement of scores with preferences, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Float, Index
from kernelrank.base.results import Estimates, Result
from kernelrank.base.validation import check_pair_values, check_pairs
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.intervals import FIXED, Interval, check_confidence, wilson_interval

__all__ = ["PreferenceAgreement", "agreement_of", "preference_agreement"]

METHOD = f"preferences with an item in common vary together; {FIXED}"


@dataclass(frozen=True, repr=False)
class PreferenceAgreement(Result):
    """The share of preferences that the scores agree with, with a confidence interval.

    Parameters
    ----------
    value : float
        The share, a tie counting a half, weighted where preferences have weights.
    interval : Interval
    n_preferences, n_items, n_ties : int
        How many preferences there are with a weight above zero, between how many items, and how many of them have tied
        scores.

    Examples
    --------
    >>> print(PreferenceAgreement(0.75, Interval(0.5, 0.9, 0.95, METHOD), 40, 20, 0))
    agreement with 40 preferences between 20 items: 0.7500, 95% interval [0.5000, 0.9000] (preferences with an item in
    common vary together; the predictions do not vary)
    """

    value: float
    interval: Interval
    n_preferences: int
    n_items: int
    n_ties: int

    def __str__(self) -> str:
        count = f"{self.n_preferences} preference{'' if self.n_preferences == 1 else 's'}"
        return f"agreement with {count} between {self.n_items} items: {self.value:.4f}, {self.interval}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("agreement", f"{self.value:.4f}"),
            self.interval._fact(".4f"),
            ("preferences", f"{self.n_preferences:,} between {self.n_items:,} items"),
            ("of them with tied scores", f"{self.n_ties:,}"),
            ("about the interval", self.interval.method),
        ]

    def _chart(self) -> Estimates:
        row = f"{self.n_preferences:,} preferences", self.value, *self.interval
        return Estimates([row], "share of preferences that the scores agree with", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {
            "agreement": [self.value],
            **self.interval._columns(),
            "n_preferences": [self.n_preferences],
            "n_items": [self.n_items],
            "n_ties": [self.n_ties],
        }


def preference_agreement(
    pairs: ArrayLike, y_score: ArrayLike, *, weight: ArrayLike | None = None, confidence: float = 0.95
) -> PreferenceAgreement:
    r"""Measure how well scores agree with preferences.

    Preferences that share an item are correlated, so a thousand of them between fifty items are less informative than
    a thousand between two thousand. With ``e_d`` the contribution of preference d to the error of the share, the
    variance includes every two preferences with an item in common [ASA15]_,

        ``Σ_i (Σ_{d with i} e_d)² - Σ_{ij} (Σ_{d of i and j} e_d)²``,

    or, if that is smaller, only those of the same two items. The interval is that of [Wil27]_ for the number of
    independent preferences with this variance. If all preferences agree, or none does, the variance cannot be
    estimated; then half the number of items is taken as the number of independent preferences.

    Parameters
    ----------
    pairs : array-like of int, shape (l, 2)
        Column 0 is preferred to column 1.
    y_score : array-like, shape (m,)
        The scores of the items.
    weight : array-like, shape (l,), optional
        How much each preference counts.
    confidence : float, default=0.95
        Between 0 and 1.

    Returns
    -------
    PreferenceAgreement

    Notes
    -----
    Time O(m + l log l), memory O(m + l). The interval allows for other items and other judges, and takes the scores as
    given. The correlation of preferences of one judge is not included.

    References
    ----------
    .. [ASA15] Aronow, Samii and Assenova (2015). Cluster-robust variance estimation for dyadic data. Political Analysis
       23(4), 564-577.
    .. [Wil27] Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the
       American Statistical Association 22(158), 209-212.

    Examples
    --------
    >>> agreement = preference_agreement([(0, 1), (2, 3), (1, 2), (3, 0)], [0.9, 0.4, 0.7, 0.1])
    >>> agreement.value, agreement.n_ties
    (0.5, 0)
    """
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim != 1 or not np.all(np.isfinite(scores)):
        raise InvalidInputError(f"y_score must be finite numbers, one for each item, got the shape {scores.shape}")
    check_confidence(confidence)
    given = check_pairs(pairs, len(scores))
    checked = check_pair_values(weight, len(given), name="weight")
    weights = np.ones(len(given)) if checked is None else checked
    return agreement_of(given, scores[given[:, 0]] - scores[given[:, 1]], weights, confidence)


def agreement_of(pairs: Index, difference: Float, weights: Float, confidence: float) -> PreferenceAgreement:
    """Measure how well differences, one for each preference, agree with preferences that were checked.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
    difference, weights : ndarray, shape (l,)
    confidence : float

    Returns
    -------
    PreferenceAgreement
    """
    given, difference, weights = pairs[weights > 0], difference[weights > 0], weights[weights > 0]
    if len(given) == 0:
        raise InvalidInputError("there is no preference with a weight above zero: nothing to measure")
    agreed, share = (np.sign(difference) + 1) / 2, weights / weights.sum()
    n_items = len(np.unique(given))
    if np.ptp(agreed) == 0:
        value, independent = float(agreed[0]), n_items / 2
    else:
        value = float(share @ agreed)
        independent = value * (1 - value) / _variance(given, share * (agreed - value), int(given.max()) + 1)
    interval = wilson_interval(value, independent, confidence, METHOD)
    return PreferenceAgreement(value, interval, len(given), n_items, int((difference == 0).sum()))


def _variance(pairs: Index, errors: Float, n_items: int) -> float:
    """Return the variance of the sum of errors, of which those that share an item are not independent."""
    of_item = np.bincount(pairs.ravel(), weights=np.repeat(errors, 2), minlength=n_items)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    _, same = np.unique(low * n_items + high, return_inverse=True)
    of_two = float(np.sum(np.bincount(same, weights=errors) ** 2))
    return max(float(of_item @ of_item) - of_two, of_two)
