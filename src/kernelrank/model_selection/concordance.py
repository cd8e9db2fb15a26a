"""An honest concordance: items are scored by models that were chosen and trained without their fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, is_structured, one_pool
from kernelrank.base.labels import Lifetimes, Queries, event_times
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Estimates, Result
from kernelrank.base.sklearn_private import num_samples, safe_split
from kernelrank.base.validation import check_option
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.estimators.base import KernelLearner
from kernelrank.metrics import Concordance, ConcordanceResult, Interval
from kernelrank.model_selection.auc_halves import INTERVALS, trained_share
from kernelrank.model_selection.holdout import holdout
from kernelrank.model_selection.refits import settled
from kernelrank.model_selection.search import AlphaSearch

HALVES = 20
"""How many halves are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class ConcordanceEstimate(Result):
    """The estimated concordance of an estimator on new items, with its interval.

    Parameters
    ----------
    result : ConcordanceResult
        Over the pairs inside folds, and inside strata.
    interval : Interval
    scores : ndarray, shape (m,)
        Held-out scores; those of one fold come from one model.
    folds : ndarray of int64, shape (m,)
    lifetimes : Lifetimes

    Examples
    --------
    >>> from kernelrank import RankRLS, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 2))
    >>> found = estimate_concordance(RankRLS(), X, np.exp(X[:, 0]), event=rng.random(80) < 0.7)
    >>> found.concordance > 0.9, found.thirds().tolist().count(0)
    (True, 30)
    """

    result: ConcordanceResult
    interval: Interval
    scores: Float
    folds: Index
    lifetimes: Lifetimes

    @property
    def concordance(self) -> float:
        """The concordance index."""
        return self.result.mean

    def thirds(self) -> NDArray[np.int64]:
        """Return the third of its fold that each held-out score lies in: 0 lowest, 1, 2 highest."""
        third = np.empty(len(self.scores), dtype=np.int64)
        for fold in np.unique(self.folds):
            items = np.flatnonzero(self.folds == fold)
            rank = np.empty(len(items), dtype=np.int64)
            rank[np.argsort(self.scores[items], kind="stable")] = np.arange(len(items))
            third[items] = 3 * rank // len(items)
        return third

    def __str__(self) -> str:
        return f"held-out {self.result}, {self.interval}"

    def _facts(self) -> list[tuple[str, str]]:
        n_folds = len(np.unique(self.folds))
        facts = [("held-out concordance", f"{self.concordance:.3f}"), self.interval._fact(), ("folds", f"{n_folds}")]
        return [*facts, *self.result._facts()[2:], ("about the interval", self.interval.method)]

    def _chart(self) -> Estimates:
        row = f"{len(np.unique(self.folds))} folds", self.concordance, *self.interval
        return Estimates([row], "held-out concordance", 0.5)

    def _columns(self) -> dict[str, Any]:
        return {"concordance": [self.concordance], **self.interval._columns(), "n_pairs": [self.result.n_pairs]}


@one_pool
def estimate_concordance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    event: Any = None,
    entry: Any = None,
    qid: Any = None,
    cv: int = 5,
    groups: Any = None,
    sample_weight: Any = None,
    confidence: float = 0.95,
    interval: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> ConcordanceEstimate:
    """Estimate the concordance index of an estimator on new items, with a confidence interval.

    For every fold, alpha is chosen and the model is trained on the other folds. Items are compared inside
    a fold only, because scores of different models have no common scale.

    Parameters
    ----------
    estimator : estimator
        `RankRLSCV`, `RankRLS`, `RankSVM`, or any that takes a structured y.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Times, or a structured array of times and events.
    event : array-like of bool, shape (m,), optional
    entry : array-like, shape (m,), optional
        When each item came under observation: an event is compared with those who had entered before it.
    qid : sequence, shape (m,), optional
        Strata: items are compared inside a stratum only.
    cv : int, default=5
        The number of folds.
    groups : sequence, shape (m,), optional
        Items that depend on each other; they are in the same fold, and the interval is by group.
    sample_weight : array-like, shape (m,), optional
    confidence : float, default=0.95
    interval : {"auto", "components", "jackknife"}, default="auto"
        What the interval is computed from: the held-out scores alone, or also the delete-half jackknife, which repeats
        the estimate on 20 random halves of the items (`kernelrank.model_selection.auc_halves`). "auto" takes the
        jackknife up to 1,000 items for the learners of kernelrank whose alpha is given or chosen without refits.
    n_jobs : int, optional
    random_state : int or RandomState, default=0
        Random seed for shuffling the folds.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    ConcordanceEstimate

    Notes
    -----
    One training, or one search, for each fold; the jackknife takes about five times as long. What the interval is for
    is the expected concordance of the whole procedure. From the scores alone it allows for other items being scored,
    not for others being trained on, and is too narrow with weak signal and few items;
    ``benchmarks/held_out_concordance_intervals_cover.py`` compares both.

    Items can have the same score without being the same: with features that are whole numbers, or with categories that
    no training item has. For the learners of kernelrank, held-out scores that differ by no more than 1e-8 of the range
    in their fold are returned equal: a pair of them counts a half, and is not ordered by rounding.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> time = np.exp(X[:, 0]) * rng.exponential(1.0, 60)
    >>> found = estimate_concordance(RankRLSCV(), X, time, event=rng.random(60) < 0.7)
    >>> found.interval.low < found.concordance < found.interval.high
    True
    """
    if verbose:
        return verbosely(estimate_concordance, locals())
    check_option("interval", interval, INTERVALS)
    m, y = num_samples(X), event_times(y, event, entry=entry)
    lifetimes = Lifetimes.of(y, n_items=m) if is_structured(y) else Lifetimes(np.asarray(y, float), np.ones(m, bool))
    labels = None if groups is None else Queries.from_labels(groups, m, name="groups").codes
    options = {"cv": cv, "n_jobs": n_jobs, "random_state": random_state}
    data = _Data(X, y, Queries.from_labels(qid, m).codes if qid is not None else None, labels, sample_weight)
    result, scores, folds = _held_out(estimator, data, **options)
    if interval == "components" or (interval == "auto" and (m > 1_000 or not _repeats_quickly(estimator))):
        return ConcordanceEstimate(result, result.interval(confidence, groups=labels), scores, folds, lifetimes)
    variance, degrees, units = result._variance(labels)
    values, scored = [], []
    halves = [data.part(estimator, items) for items in random_halves(labels, m)]
    fixed = settled(estimator, X, data.qid, sample_weight)
    for number, part in enumerate(track(halves, len(halves), "estimating on halves")):
        with suppress(NothingToCompareError, InvalidInputError):  # a half may have too few events
            other = halves[number ^ 1]
            learner = chosen_learner(fixed, other.X, other.y, qid=other.qid, sample_weight=other.sample_weight)
            found, _, _ = _held_out(learner, part, **options)
            values.append(found.mean)
            scored.append(found._variance(part.groups)[0])
    if len(values) > HALVES // 2:
        variance *= 1.0 + 0.5 * trained_share(values, scored, 0.5)  # V falls as 1/n, and Q as 1/n²
    method = f"jackknife over {units}; allows for others being scored and trained on, choices included"
    ends = result._scored_interval(variance, degrees, confidence, method)
    return ConcordanceEstimate(result, ends, scores, folds, lifetimes)


@dataclass(frozen=True, eq=False)
class _Data:
    """Items with their times; queries and groups as numbers."""

    X: Any
    y: Any
    qid: Index | None
    groups: Index | None
    sample_weight: Any

    def part(self, estimator: Any, items: Index) -> _Data:
        X, y = safe_split(estimator, self.X, self.y, items)
        codes = None if self.groups is None else np.unique(self.groups[items], return_inverse=True)[1]
        weight = None if self.sample_weight is None else np.asarray(self.sample_weight)[items]
        return _Data(X, y, None if self.qid is None else self.qid[items], codes, weight)


def random_halves(groups: Index | None, m: int) -> Iterator[Index]:
    """Split the items, or the groups, into halves, always the same ones; the two of a split follow each other."""
    units = np.arange(m) if groups is None else groups
    random, size = np.random.default_rng(0), int(units.max()) + 1
    for _ in range(HALVES // 2):
        first = np.isin(units, random.permutation(size)[: (size + 1) // 2])
        yield from (np.flatnonzero(first), np.flatnonzero(~first))


def _repeats_quickly(estimator: Any) -> bool:
    """Whether alpha is given or chosen without refits: learnt metrics and sums of kernels refit all they choose."""
    return isinstance(estimator, AlphaSearch) or (isinstance(estimator, KernelLearner) and hasattr(estimator, "alpha"))


def chosen_learner(estimator: Any, X: Any, y: Any, **fit_arguments: Any) -> Any:
    """Return the learner that a search chooses from some items, or the estimator itself."""
    if not isinstance(estimator, AlphaSearch):
        return estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = clone(estimator).fit(X, y, **fit_arguments)
    setting = dict(search.best_params_)
    alpha = setting.pop("alpha")
    return estimator._learner(setting).set_params(alpha=alpha)


def _held_out(
    estimator: Any, data: _Data, *, cv: int, n_jobs: int | None, random_state: Any
) -> tuple[ConcordanceResult, Float, Index]:
    """Return the concordance inside folds, the held-out scores, and the folds."""
    m = num_samples(data.X)
    available = m if data.groups is None else int(data.groups.max()) + 1
    if not 2 <= cv <= available:
        raise InvalidInputError(f"Expected cv between 2 and {available}, one fold for each item or group; got {cv}.")
    splitter = KFold if data.groups is None else GroupKFold
    split = splitter(cv, shuffle=True, random_state=random_state).split(np.zeros(m), groups=data.groups)
    sets = [test for _, test in split]
    folds, scores = np.empty(m, dtype=np.int64), np.empty(m)
    options = {"qid": data.qid, "sample_weight": data.sample_weight, "n_jobs": n_jobs}
    found = holdout(estimator, data.X, data.y, sets, **options)
    for number, (test, held_out) in enumerate(zip(sets, found, strict=True)):
        folds[test], scores[test] = number, held_out
    within = Queries.from_labels(data.qid, m).codes * cv + folds
    return Concordance()(data.y, scores, qid=within, sample_weight=data.sample_weight), scores, folds


# Risk coefficients ----------------------------------------------------------------------------------------------------
#
# The coefficients of a linear ranker of survival times, as those of a hazard model are read.


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoefficients(Result):
    """By how much each feature raises the risk, with intervals.

    Parameters
    ----------
    names : sequence of str
    values, low, high : ndarray, shape (n_features,)
        The change of the risk for one standard deviation of the feature, in standard deviations of the risk; positive
        where larger values go with earlier events. Features that do not vary have 0.
    level : float
        The confidence level.
    alpha : float
        The regularisation strength of all fits.
    """

    names: Sequence[str]
    values: Float
    low: Float
    high: Float
    level: float
    alpha: float

    def rows(self, most: int | None = None) -> list[tuple[str, float, float, float]]:
        """Return name, value and interval of the features, the strongest first."""
        order = np.argsort(-np.abs(self.values), kind="stable")[:most]
        return [(str(self.names[k]), float(self.values[k]), float(self.low[k]), float(self.high[k])) for k in order]

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:+.2f} [{low:+.2f}, {high:+.2f}]" for name, value, low, high in self.rows(5))

    def _facts(self) -> list[tuple[str, str]]:
        return [(name, f"{value:+.2f} [{low:+.2f}, {high:+.2f}]") for name, value, low, high in self.rows()]

    def _chart(self) -> Estimates:
        return Estimates(self.rows(20), "risk for one standard deviation", 0.0)

    def _columns(self) -> dict[str, Any]:
        return {"feature": list(self.names), "risk": self.values, "low": self.low, "high": self.high}


@one_pool
def risk_coefficients(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    event: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> RiskCoefficients:
    """Return the coefficients of a linear ranker of survival times for one standard deviation, with intervals.

    Parameters
    ----------
    estimator : estimator
        `RankRLSCV` or `RankRLS` with a linear kernel; it is not changed.
    X : array-like, shape (m, n_features)
    y : array-like, shape (m,)
        Times, or a structured array of times and events.
    event, qid, sample_weight
        As in `estimate_concordance`.
    feature_names : sequence of str, optional
    confidence : float, default=0.95
    n_resamples : int, default=200
        How many bootstrap samples of the items are fitted.
    random_state : int or RandomState, default=0

    Returns
    -------
    RiskCoefficients

    Notes
    -----
    Alpha is chosen once, on all items; each bootstrap sample is then fitted with it, which takes `n_resamples`
    trainings. The interval is that of the regularised coefficient, which is smaller than a coefficient without
    regularisation: it tells how much the coefficient varies from sample to sample, and is no test of a hazard ratio.

    Examples
    --------
    >>> from kernelrank import RankRLSCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 2))
    >>> time = rng.exponential(np.exp(-X[:, 0]))
    >>> print(risk_coefficients(RankRLSCV(), X, time, event=np.ones(150), feature_names=["stage", "noise"]))
    stage +0.97 [+0.84, +1.01], noise +0.15 [-0.09, +0.44]
    """
    y = event_times(y, event)
    if not is_structured(y):
        raise InvalidInputError("Expected times with events: pass event=, or a structured array as y.")
    X, m = np.asarray(X, dtype=np.float64), num_samples(X)
    beside = {"qid": qid, "sample_weight": sample_weight}
    given = {name: np.asarray(values) for name, values in beside.items() if values is not None}
    fitted = clone(estimator).fit(X, y, **given)
    alpha = float(getattr(fitted, "alpha_", getattr(fitted, "alpha", np.nan)))
    if np.ndim(getattr(fitted, "coef_", 0.0)) != 1 or np.isnan(alpha):
        raise InvalidInputError("Expected a linear model with one output, such as RankRLSCV(); this one has no coef_.")
    model, values = RankRLS(alpha), _risk_of(fitted.coef_, X)
    random, drawn = check_random_state(random_state), []
    for _ in track(range(n_resamples), n_resamples, "resampling coefficients"):
        rows = random.randint(m, size=m)
        with suppress(NothingToCompareError):
            model.fit(X[rows], y[rows], **{name: part[rows] for name, part in given.items()})
            drawn.append(_risk_of(model.coef_, X[rows]))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    names = [f"x{k}" for k in range(X.shape[1])] if feature_names is None else list(feature_names)
    return RiskCoefficients(names, values, low, high, confidence, alpha)


def _risk_of(coefficients: Float, X: Float) -> Float:
    """Return the change of the risk for one standard deviation, in standard deviations of the risk."""
    spread = np.std(X @ coefficients)
    return -coefficients * X.std(axis=0) / spread if spread > 0 else np.zeros_like(coefficients)
