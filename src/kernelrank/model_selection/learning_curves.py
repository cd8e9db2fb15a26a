r"""How many items? A learning curve for developing a model, and the width of an interval for validating one.

**Developing.** Subsets of several sizes are drawn (whole groups, whole queries; both classes in their shares), each is
estimated by its own hold-outs, and a power law is fitted to the means of the sizes,

    ``value(n) = a - b n^(-c)``,  ``a ≤ 1``, ``b ≥ 0``, ``.3 ≤ c ≤ 1.5``.

c is on a grid; for each, a and b have the least squared errors, weighted by the sizes. Its interval allows for other
items being drawn: the whole curve is refitted to values that are drawn around the fit. Their variance is that of the
estimate from all items, half of which all sizes share, and that of the mean of the subsets. Where the curve does not
reach the value that is asked for, the number of items is infinite, and is told so.

**Validating** is another question: how many new items make the interval of a finished model so narrow? It depends on
the AUC and the shares of the classes alone, and follows from the interval of given scores (`kernelrank.metrics.roc`).
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, is_structured, one_pool
from kernelrank.base.labels import Queries, event_times
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Curves, Result
from kernelrank.base.sklearn_private import num_samples, safe_split
from kernelrank.base.validation import check_confidence
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner
from kernelrank.metrics import get_measure
from kernelrank.metrics.roc import TwoClasses, check_groups, normal_variance, score_interval
from kernelrank.model_selection.auc import Task, estimate_auc
from kernelrank.model_selection.auc_halves import are_cheap
from kernelrank.model_selection.concordance import estimate_concordance
from kernelrank.model_selection.holdout import holdout
from kernelrank.model_selection.refits import settled

RATES = np.linspace(0.3, 1.5, 25)
"""The exponents that are tried."""
REPLICATES = 400
"""How often the curve is refitted for its interval."""


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Held-out accuracy by the number of training items, and its power law.

    Parameters
    ----------
    measure : str
        "AUC", "concordance" or "pairwise accuracy".
    unit : str
        What the sizes count: "items", "groups" or "queries".
    sizes : ndarray of int64, shape (k,)
    values, errors : ndarray, shape (k,)
        Mean over the subsets of a size, and its standard error.
    law : tuple of float
        a, b and c of ``a - b n^(-c)``.
    replicates : ndarray, shape (n_replicates, 3)
        The same of refitted curves.
    confidence : float
    share : float or None
        Of the positive items, for the AUC.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, learning_curve
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(120) % 2
    >>> found = learning_curve(RankRLS(10.0), rng.standard_normal((120, 20)) + 0.4 * y[:, None], y)
    >>> found.measure, bool(found.values[-1] > found.values[0])
    ('AUC', True)
    """

    measure: str
    unit: str
    sizes: Index
    values: Float
    errors: Float
    law: tuple[float, float, float]
    replicates: Float
    confidence: float
    share: float | None = None

    def predict(self, n: Any) -> Float:
        """Return the value at some sizes, by the power law.

        Parameters
        ----------
        n : array-like

        Returns
        -------
        ndarray
        """
        values: Float = _law(np.array([self.law]), np.atleast_1d(np.asarray(n, dtype=np.float64)))[0]
        return values

    def band(self, n: Any) -> tuple[Float, Float]:
        """Return the ends of the interval of the law at some sizes.

        Parameters
        ----------
        n : array-like

        Returns
        -------
        low, high : ndarray
        """
        values = _law(self.replicates, np.atleast_1d(np.asarray(n, dtype=np.float64)))
        tail = 50.0 * (1.0 - self.confidence)
        low, high = np.percentile(values, [tail, 100.0 - tail], axis=0)
        return low, high

    def items_needed(self, value: float | None = None, *, auc: float | None = None) -> Needed:
        """Return how many items a model must be developed on to reach an accuracy.

        Parameters
        ----------
        value : float
            The accuracy of the measure.
        auc : float
            The same, by its name.

        Returns
        -------
        Needed
            With `items` and an interval; infinite where the power law does not reach the value.
        """
        goal = auc if value is None else value
        if (value is None) == (auc is None) or goal is None or not 0.0 < goal < 1.0:
            raise InvalidInputError("Expected one accuracy between 0 and 1, such as items_needed(auc=0.8).")
        if auc is not None and self.measure != "AUC":
            raise InvalidInputError(f"Expected items_needed(value=...), because the measure is the {self.measure}.")
        found = np.sort(_inverse(np.vstack([[self.law], self.replicates]), goal)[1:])
        tail = (1.0 - self.confidence) / 2.0
        low, high = (found[min(len(found) - 1, int(q * len(found)))] for q in (tail, 1.0 - tail))
        return Needed(float(_inverse(np.array([self.law]), goal)[0]), float(low), float(high), self.unit)

    def validation_items(self, half_width: float = 0.05, *, auc: float | None = None) -> int:
        """Return how many new items validate a finished model with an interval of this half width.

        Parameters
        ----------
        half_width : float, default=0.05
        auc : float, optional
            Of the model; that of all items unless given.

        Returns
        -------
        int
            With the share of positive items of these data.

        Notes
        -----
        The interval is that of given scores, with the variance of normal ones.
        """
        share = self.share
        if share is None:
            raise InvalidInputError(
                "validation_items is for an AUC: the width of other measures depends on their pairs."
            )
        if not 0.0 < half_width < 0.5:
            raise InvalidInputError(f"Expected half_width between 0 and 0.5; got {half_width!r}.")
        value = float(self.values[-1]) if auc is None else auc
        if not 0.5 <= value < 1.0:
            raise InvalidInputError(f"Expected an AUC from 0.5 to 1; got {value:.3g}.")
        least = math.ceil(2.0 / min(share, 1.0 - share))

        def is_enough(n: int) -> bool:
            return validation_half_width(value, share, n, self.confidence) <= half_width

        above = least
        while not is_enough(above):
            above *= 2
        return least + bisect_left(range(least, above), True, key=is_enough)

    def __str__(self) -> str:
        a, _, c = self.law
        low, high = self.band([np.inf])
        ends = f"{self.measure} {self.values[0]:.3f} with {self.sizes[0]} {self.unit}, {self.values[-1]:.3f} with "
        level = f"{100 * self.confidence:.4g}% interval [{low[0]:.3f}, {high[0]:.3f}]"
        return f"{ends}{self.sizes[-1]}; the power law tends to {a:.3f}, {level}, as n^-{c:.2g}"

    def _facts(self) -> list[tuple[str, str]]:
        rows = zip(self.sizes, self.values, self.errors, strict=True)
        facts = [(f"{size:,} {self.unit}", f"{value:.3f} ± {error:.3f}") for size, value, error in rows]
        for times in (2, 4):
            n = times * int(self.sizes[-1])
            low, high = self.band([n])
            facts.append((f"{n:,} {self.unit}, by the law", f"{self.predict(n)[0]:.3f} [{low[0]:.3f}, {high[0]:.3f}]"))
        low, high = self.band([np.inf])
        return [*facts, ("at most", f"{self.law[0]:.3f} [{low[0]:.3f}, {high[0]:.3f}]")]

    def _columns(self) -> dict[str, Any]:
        low, high = self.band(self.sizes)
        fitted = self.predict(self.sizes)
        return {
            "size": self.sizes,
            "value": self.values,
            "error": self.errors,
            "fitted": fitted,
            "low": low,
            "high": high,
        }

    def _chart(self) -> Curves:
        n = np.unique(np.geomspace(self.sizes[0], 4 * self.sizes[-1], 60).round()).astype(np.float64)
        measured = np.full(len(n), np.nan)
        measured[np.searchsorted(n, self.sizes).clip(max=len(n) - 1)] = self.values
        lines = {"power law": self.predict(n), "held out": measured}
        return Curves(n, lines, f"training {self.unit}", self.measure, {"power law": self.band(n)})


@dataclass(frozen=True)
class Needed:
    """How many items reach an accuracy, with an interval; infinite where none do."""

    items: float
    low: float
    high: float
    unit: str = "items"

    def __str__(self) -> str:
        words = [
            f"{math.ceil(n):,}" if math.isfinite(n) else "more than any" for n in (self.items, self.low, self.high)
        ]
        return f"{words[0]} {self.unit} (interval from {words[1]} to {words[2]})"


def validation_half_width(auc: float, share: float, n: int, confidence: float = 0.95) -> float:
    """Return half the width of the interval of an AUC of given scores of n items, with a share of positive ones."""
    positive = max(2, round(share * n))
    negative = max(2, n - positive)
    variance = normal_variance(auc, positive, negative)
    low, high = score_interval(auc, variance, confidence, positive, negative, float(min(positive, negative) - 1))
    return (high - low) / 2.0


@one_pool
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    groups: Any = None,
    event: Any = None,
    pos_label: Any = None,
    sizes: Sequence[int] | None = None,
    n_subsets: int = 10,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> LearningCurve:
    """Measure the held-out accuracy over growing subsets, and tell how many items a goal needs.

    Parameters
    ----------
    estimator : estimator
        As in `estimate_auc`; what is to be chosen is chosen inside its `fit`.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Two classes for the AUC; times, with `event`, for the concordance; scores with `qid` for the pairwise accuracy
        of held-out queries.
    qid : sequence, shape (m,), optional
        The query of each item; subsets are of whole queries, and sizes count queries.
    groups : sequence, shape (m,), optional
        Items that must not be split; subsets are of whole groups, and sizes count groups.
    event : array-like of bool, shape (m,), optional
        Whether the event happened at that time.
    pos_label : label, optional
        The positive class.
    sizes : sequence of int, optional
        Numbers of items, groups or queries; six from a quarter to all of them unless given.
    n_subsets : int, default=10
        Subsets of each size; one of all items.
    confidence : float, default=0.95
    n_jobs : int, optional
    random_state : int or RandomState, default=0
        Random seed of the subsets.
    verbose : bool, default=False
        Whether progress is shown on standard error.

    Returns
    -------
    LearningCurve

    Notes
    -----
    `n_subsets` estimates for each size: leave-pair-out for the AUC where it has a fast shortcut (ten folds otherwise),
    five folds for the concordance, ten folds of queries for the pairwise accuracy. Extrapolation assumes more items of
    the same kind, and a power law: more than four times as many items is far.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLSCV, learning_curve
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(80) % 2
    >>> found = learning_curve(RankRLSCV(), rng.standard_normal((80, 10)) + 0.5 * y[:, None], y, n_subsets=4)
    >>> found.validation_items(half_width=0.05) > 80
    True
    """
    if verbose:
        return verbosely(learning_curve, locals())
    check_confidence(confidence)
    y = event_times(y, event)
    data = _CurveData.of(estimator, X, y, qid, groups, pos_label, n_jobs)
    n_units = int(data.units.max()) + 1
    chosen = _sizes(sizes, n_units)
    random = check_random_state(random_state)
    draws = [(size, part) for size in chosen for part in data.subsets(size, n_units, n_subsets, random)]
    found: dict[int, list[float]] = {size: [] for size in chosen}
    scored = np.nan
    for size, part in track(draws, len(draws), "estimating subsets"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EdgeOfGridWarning)
                value, scored = data.estimate(np.flatnonzero(np.isin(data.units, part)), whole=len(part) == n_units)
        except (NothingToCompareError, InvalidInputError):
            if size == chosen[-1]:
                raise
            continue
        found[size].append(value)
    kept = np.array([size for size in chosen if found[size]], dtype=np.int64)
    if len(kept) < 3:
        raise InvalidInputError(
            f"Expected three sizes whose subsets can be measured; got {len(kept)} of {len(chosen)}."
        )
    values = np.array([np.mean(found[size]) for size in kept])
    own = np.array(
        [np.std(found[size], ddof=1) / np.sqrt(len(found[size])) if size < n_units else 0.0 for size in kept]
    )
    own[np.isnan(own)] = np.nanmax(own)  # one subset could be measured
    own = np.hypot(own, math.sqrt(scored / 2.0))
    law = fitted_law(kept, values[None])
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((REPLICATES, len(kept))) * own
    noise += generator.standard_normal((REPLICATES, 1)) * math.sqrt(scored / 2.0)
    replicates = fitted_law(kept, _law(law, kept.astype(np.float64)) + noise)
    a, b, c = law[0].tolist()
    errors = np.hypot(own, math.sqrt(scored / 2.0))
    return LearningCurve(data.measure, data.unit, kept, values, errors, (a, b, c), replicates, confidence, data.share)


def _sizes(sizes: Sequence[int] | None, n_units: int) -> list[int]:
    """Return the sizes in ascending order: six from a quarter to all unless given, and all of them always."""
    given = np.geomspace(max(4.0, n_units / 4.0), n_units, 6).round() if sizes is None else np.asarray(sizes)
    if n_units < 8 or given.ndim != 1 or not all(4 <= size <= n_units for size in given.tolist()):
        raise InvalidInputError(
            f"Expected sizes from 4 to {n_units}, and 8 items, groups or queries; got {given.tolist()}."
        )
    return sorted({int(size) for size in given.tolist()} | {n_units})


# The power law --------------------------------------------------------------------------------------------------------


def _law(laws: Float, n: Float) -> Float:
    """Return ``a - b n^(-c)``, shapes (k, 3) and (s,) to (k, s)."""
    with np.errstate(divide="ignore"):
        return laws[:, :1] - laws[:, 1:2] * n[None] ** -laws[:, 2:]


def fitted_law(sizes: Index, values: Float) -> Float:
    """Return a, b and c of the power law with the least squared errors, weighted by the sizes.

    Shapes: sizes (s,), values (k, s); returns (k, 3). b is at least zero, and a at most 1.
    """
    w = sizes / sizes.sum()
    best, laws = np.full(len(values), np.inf), np.zeros((len(values), 3))
    mean = values @ w
    for c in RATES:
        x = sizes.astype(np.float64) ** -c
        centred = x - w @ x
        b = np.maximum(-(values @ (w * centred)) / (w @ centred**2), 0.0)
        a = mean + b * (w @ x)
        over = a > 1.0  # the line through (0, 1)
        b = np.where(over, np.maximum((1.0 - values) @ (w * x) / (w @ x**2), 0.0), b)
        a = np.minimum(a, 1.0)
        loss = ((values - a[:, None] + b[:, None] * x) ** 2) @ w
        better = loss < best
        best[better] = loss[better]
        laws[better] = np.column_stack([a, b, np.full(len(a), c)])[better]
    return laws


def _inverse(laws: Float, value: float) -> Float:
    """Return the size at which each law reaches a value; infinite where it does not."""
    a, b, c = laws.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        n = (b / (a - value)) ** (1.0 / c)
    return np.where(a <= value, np.inf, np.maximum(n, 0.0))


# Estimates of subsets -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CurveData:
    """Items, and how a subset of them is estimated."""

    estimator: Any
    X: Any
    y: Any
    qid: Index | None
    groups: Index | None
    classes: TwoClasses | None
    n_jobs: int | None

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, qid: Any, groups: Any, pos_label: Any, n_jobs: int | None
    ) -> _CurveData:
        """Read what is compared: times, queries or two classes."""
        m = num_samples(X)
        codes = None if qid is None else Queries.from_labels(qid, m).codes
        timed = is_structured(y)
        classes = None if timed or codes is not None else TwoClasses.read(y, m, pos_label=pos_label)
        if groups is None or classes is not None:
            own = None if classes is None else check_groups(groups, classes)
        else:
            own = Queries.from_labels(groups, m, name="groups").codes
        estimator = settled(estimator, X) if classes is not None else estimator
        return cls(estimator, X, y if timed else np.asarray(y), codes, own, classes, n_jobs)

    @property
    def measure(self) -> str:
        """What is estimated."""
        return "AUC" if self.classes is not None else "concordance" if is_structured(self.y) else "pairwise accuracy"

    @property
    def unit(self) -> str:
        """What sizes count."""
        whole = self.qid is not None and not is_structured(self.y)
        return "queries" if whole else "items" if self.groups is None else "groups"

    @property
    def units(self) -> Index:
        """The unit of each item, shape (m,)."""
        codes = self.qid if self.unit == "queries" else self.groups
        return np.arange(num_samples(self.X)) if codes is None else codes

    @property
    def share(self) -> float | None:
        """The share of the positive items."""
        return None if self.classes is None else float(self.classes.positive.mean())

    def subsets(self, size: int, n_units: int, number: int, random: np.random.RandomState) -> list[Index]:
        """Draw subsets of units; classes of items, and of groups of one class, keep their shares."""
        if size == n_units:
            return [np.arange(n_units)]
        share = np.zeros(n_units)
        if self.classes is not None:
            np.maximum.at(share, self.units, self.classes.positive)
        parts = [np.flatnonzero(share == value) for value in np.unique(share)]
        first = min(max(2, round(size * len(parts[0]) / n_units)), size - 2) if len(parts) > 1 else size
        counts = [first, size - first]
        return [
            np.concatenate([random.permutation(part)[:count] for part, count in zip(parts, counts, strict=False)])
            for _ in range(number)
        ]

    def estimate(self, items: Index, *, whole: bool) -> tuple[float, float]:
        """Return the held-out accuracy of a subset, and for all items its variance."""
        X, y = safe_split(self.estimator, self.X, self.y, items)
        qid, groups = (None if codes is None else codes[items] for codes in (self.qid, self.groups))
        options: dict[str, Any] = {"interval": "auto" if whole else "components", "n_jobs": self.n_jobs}
        if self.classes is not None:
            task = Task(self.estimator, X, TwoClasses.read(y, len(y)), groups)
            method = "leave_pair_out" if isinstance(self.estimator, KernelLearner) and are_cheap(task) else "averaged"
            options |= {"method": method, "random_state": 0, "pos_label": self.classes.names[1]}
            if method == "averaged":
                options["interval"] = "auto"
            found: Any = estimate_auc(self.estimator, X, y, groups=groups, **options)
            return found.auc, _variance(found.interval)
        if is_structured(y):
            found = estimate_concordance(self.estimator, X, y, qid=qid, groups=groups, **options)
            return found.concordance, _variance(found.interval)
        assert qid is not None
        queries = np.unique(qid)
        folds = [np.flatnonzero(np.isin(qid, part)) for part in np.array_split(queries, min(10, len(queries)))]
        scores = np.empty(len(y))
        held = holdout(self.estimator, X, y, folds, qid=qid, n_jobs=self.n_jobs)
        scores[np.concatenate(folds)] = np.concatenate(held)
        result = get_measure("pairwise_accuracy")(y, scores, qid=qid)
        return float(result.mean), float(np.var(result.values) / max(1, len(result.values) - 1))


def _variance(interval: Any) -> float:
    """Return the variance that an interval of normal width would have."""
    return float((interval.width / 2.0 / ndtri(0.5 + interval.level / 2.0)) ** 2)
