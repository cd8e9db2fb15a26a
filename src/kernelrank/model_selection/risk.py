"""From rank to risk: how good the risks of a model are on new items, from one nested cross-validation.

Each item gets a risk from a model that was trained, whose alpha was chosen and whose calibration was fitted without its
fold; folds have the same share of each class. Risks have a common scale, so those of all folds are measured together
(`kernelrank.metrics.risks`). The AUC is that of `estimate_auc`.

**Intervals** are for the whole procedure: for the expected measure, on new items, of models that are chosen, trained
and calibrated on as many items as these. With V, the variance of a measure whose risks are given (its effects), and the
same nested cross-validation on random halves of the items, the variance is

    ``V (1 + g Q_k / V_k)``,

with Q_k / V_k what training adds on halves (`kernelrank.model_selection.auc_halves`), and g how much of it is left with
all items: 1 where nothing is learnt, and 0 for perfect risks. That is 1 less the scaled Brier score, and for the
average precision A with the share o of positive items ``(1 - A) / (1 - o)``, both between 0 and 1. On a half, alpha is
chosen on the other half, and there are five folds. Where a class has too few items for halves, Q_k / V_k is `FEW`.

Where the held-out risks happen to be nearly equal, V is far too small. So, but for the measures of lines, it is at
least half of its mean on the halves. And a line that is fitted without any signal costs a scaled Brier score of
``χ²₂ / m``, whose standard deviation 2 / m is the least of that measure, and with ``o (1 - o)`` as factor of the Brier
score. Even so a low scaled Brier score s comes with a small V, as where calibration found no signal. So its upper end
is the largest t with ``(t - s)² ≤ q² V(t) (1 + (1 - t) Q_k / V_k)``, where V(t) is at least that of calibrated risks
with that score, an R²: ``4 t (1 - t)² / m`` for classes of equal size, and with ``4 m o (1 - o)`` for m otherwise. The
average precision has at least the variance of a share of twice the items of the smaller class.

``benchmarks/risk_intervals_cover.py`` measures how often the intervals hold the truth: those of average precision are
too narrow for 60 items with a medium signal and for many columns (they hold it in .80 to .88 of cohorts); those of the
slope, and of scaled Brier scores without signal, are wide.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index, is_structured, one_pool
from kernelrank.base.labels import event_times
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Curves, Result
from kernelrank.base.sklearn_private import num_samples, safe_split
from kernelrank.base.validation import check_confidence, check_option
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.estimators.base import KernelLearner
from kernelrank.metrics.intervals import Interval, wilson_interval
from kernelrank.metrics.risks import CERTAIN, Effects, calibration_line, net_benefit, rates, risk_measures
from kernelrank.metrics.roc import TwoClasses, check_groups, shared_groups
from kernelrank.model_selection.auc import AUCEstimate, Task, estimate_auc
from kernelrank.model_selection.auc_halves import (
    INTERVALS,
    are_cheap,
    halved,
    trained_share,
)
from kernelrank.model_selection.calibration import CalibratedRanker, calibration_folds
from kernelrank.model_selection.refits import settled
from kernelrank.model_selection.searches import RankRLSCV

SPLITS = 10
"""How often the items are split into halves."""

FEW = 1.0
"""What training is taken to add on halves, as a share of the variance of given risks, where it cannot be measured."""

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.5)
"""The risks from which on items are treated, unless others are given."""


@dataclass(frozen=True)
class Estimate:
    """A measure with its interval; NaN where it has no value."""

    value: float
    interval: Interval


@dataclass(frozen=True, eq=False, repr=False)
class RiskEstimate(Result):
    """How good the risks of a model are on new items.

    Parameters
    ----------
    auc : AUCEstimate
    measures : dict of str to Estimate
        "brier", "scaled_brier", "observed_expected", "calibration_intercept", "calibration_slope" and
        "average_precision", each with a `value` and an `interval`.
    thresholds : dict of float to dict of str to Estimate
        For each threshold "sensitivity" (recall), "specificity", "ppv" (precision), "npv", "net_benefit" and
        "treat_all", the net benefit of treating all.
    risks : ndarray, shape (m,)
        Held-out risks.
    positive : ndarray of bool, shape (m,)
    folds : ndarray of int64, shape (m,)
        The fold that each item was held out with.
    curves : dict of str to ndarray
        Rows of the decision curve ("threshold", "net_benefit", "net_benefit_low", "net_benefit_high", "treat_all") and
        of the calibration curve ("risk", "observed", "observed_low", "observed_high").
    groups : list of dict
        Items by held-out risk, in up to five groups: their mean "risk", "n", the share "observed", "low" and "high".
    weights : ndarray, shape (m,), optional
        Of times: weights for what censoring hides, zero where it is not known whether the event happened.
    horizon : float, optional
        Of times: up to when risks are.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLSCV, estimate_risk
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3 == 0
    >>> X = rng.standard_normal((60, 4)) + y[:, None]
    >>> found = estimate_risk(RankRLSCV(), X, y, interval="components")
    >>> sorted(found.measures)[:3], found.measures["brier"].value < 0.2
    (['average_precision', 'brier', 'calibration_intercept'], True)
    """

    auc: AUCEstimate
    measures: dict[str, Estimate]
    thresholds: dict[float, dict[str, Estimate]]
    risks: Float
    positive: NDArray[np.bool_]
    folds: Index
    curves: dict[str, Float] = field(default_factory=dict)
    groups: list[dict[str, float]] = field(default_factory=list)
    weights: Float | None = None
    horizon: float | None = None

    def named(self) -> dict[str, Estimate]:
        """Return the AUC and all measures without a threshold, by name."""
        return {"auc": Estimate(self.auc.auc, self.auc.interval), **self.measures}

    @property
    def labels(self) -> dict[str, str]:
        """The measures as people read them, by name."""
        return LABELS

    def __str__(self) -> str:
        found = self.named()
        shown = ("auc", "calibration_slope", "scaled_brier", "average_precision", "integrated_brier")
        parts = [f"{LABELS[name]} {_written(found[name])}" for name in shown if name in found]
        level, n = f"{100 * self.auc.interval.level:.4g}%", len(self.risks)
        return f"{', '.join(parts)} ({level} intervals; {int(self.positive.sum())} positive of {n} items)"

    def lines(self) -> list[str]:
        """Return one line of text for each measure.

        Returns
        -------
        list of str
        """
        return [f"{name}: {text}" for name, text in self._facts()]

    def _facts(self) -> list[tuple[str, str]]:
        facts = [(LABELS[name], _written(found)) for name, found in self.named().items()]
        for threshold, found in self.thresholds.items():
            parts = [f"{LABELS[name]} {_written(one)}" for name, one in found.items()]
            facts.append((f"risk of at least {threshold:g}", ", ".join(parts)))
        return [*facts, ("about the intervals", self.measures["brier"].interval.method)]

    def _columns(self) -> dict[str, Any]:
        rows = [(name, np.nan, found) for name, found in self.named().items()]
        rows += [(name, t, one) for t, found in self.thresholds.items() for name, one in found.items()]
        return {
            "measure": np.array([name for name, _, _ in rows], dtype=object),
            "threshold": [threshold for _, threshold, _ in rows],
            "value": [one.value for _, _, one in rows],
            "low": [one.interval.low for _, _, one in rows],
            "high": [one.interval.high for _, _, one in rows],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as what JSON can hold: None for a measure without a value.

        Returns
        -------
        dict
        """

        def numbers(found: Estimate) -> dict[str, float | None]:
            values = {"value": found.value, "low": found.interval.low, "high": found.interval.high}
            return {name: float(value) if np.isfinite(value) else None for name, value in values.items()}

        return {
            **{name: numbers(found) for name, found in self.named().items()},
            "thresholds": [
                {"threshold": threshold, **{name: numbers(one) for name, one in found.items()}}
                for threshold, found in self.thresholds.items()
            ],
            "groups": self.groups,
            "horizon": self.horizon,
            "n_items": len(self.risks),
            "n_positive": int(self.positive.sum()),
            "folds": len(np.unique(self.folds)),
            "level": self.auc.interval.level,
            "interval_method": self.measures["brier"].interval.method,
        }

    def _chart(self) -> Curves:
        return self.calibration_chart()

    def calibration_chart(self) -> Curves:
        """Return what `plot` draws: the observed share over the risk, with a band."""
        risk, found = self.curves["risk"], {k: self.curves[k] for k in ("observed", "observed_low", "observed_high")}
        lines = {"perfectly calibrated": risk, "held-out risks": found["observed"]}
        bands = {"held-out risks": (found["observed_low"], found["observed_high"])}
        return Curves(risk, lines, "predicted risk", "share of positive items", bands)

    def decision_chart(self) -> Curves:
        """Return the decision curve: net benefit over the threshold, with a band."""
        found = self.curves
        zero = np.zeros_like(found["threshold"])
        lines = {"model": found["net_benefit"], "treat all": found["treat_all"], "treat none": zero}
        bands = {"model": (found["net_benefit_low"], found["net_benefit_high"])}
        return Curves(found["threshold"], lines, "threshold of the risk", "net benefit", bands)


LABELS = {
    "auc": "AUC",
    "brier": "Brier score",
    "scaled_brier": "scaled Brier score",
    "observed_expected": "observed over expected",
    "calibration_intercept": "calibration intercept",
    "calibration_slope": "calibration slope",
    "average_precision": "average precision",
    "integrated_brier": "integrated Brier score",
    "sensitivity": "sensitivity (recall)",
    "specificity": "specificity",
    "ppv": "positive predictive value (precision)",
    "npv": "negative predictive value",
    "net_benefit": "net benefit",
    "treat_all": "net benefit of treating all",
}
"""The measures as people read them."""


def _written(found: Estimate) -> str:
    if not np.isfinite(found.value):
        return "none"
    return f"{found.value:.3f} [{found.interval.low:.3f}, {found.interval.high:.3f}]"


@one_pool
def estimate_risk(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    pos_label: Any = None,
    event: Any = None,
    entry: Any = None,
    horizon: float | None = None,
    cv: int = 10,
    thresholds: Sequence[float] = THRESHOLDS,
    confidence: float = 0.95,
    interval: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: bool = False,
) -> RiskEstimate:
    """Estimate how good the risks of a model are on new items: discrimination, calibration and usefulness.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`, such as `CalibratedRanker`; any other ranker or classifier is calibrated by
        ``CalibratedRanker(estimator)``. What is to be chosen is chosen inside its `fit`, as in `estimate_auc`.
    X : array-like or sparse matrix, shape (m, n_features), or (m, m) for a precomputed kernel
    y : array-like, shape (m,)
        Any two labels.
    groups : sequence, shape (m,), optional
        Items that must not be split, such as those of one patient; intervals are by group.
    pos_label : label, optional
        The class whose risk is predicted; the one that sorts last unless given.
    event : array-like of bool, shape (m,), optional
        y are times, and this says whether the event happened then; otherwise the time is censored. The risk is that of
        the event up to the horizon.
    entry : array-like, shape (m,), optional
        When each item came under observation (left truncation).
    horizon : float, optional
        A time up to which risks are predicted, which events and items under observation reach.
    cv : int, default=10
        The number of folds, at most the number of items, or groups, of the smaller class.
    thresholds : sequence of float, optional
        Risks between 0 and 1 from which on items are treated.
    confidence : float, default=0.95
    interval : {"auto", "components", "jackknife"}, default="auto"
        What intervals are computed from: the held-out risks alone, or also random halves of the items. "auto" takes
        halves for the learners of kernelrank and up to 1,000 items.
    n_jobs : int, optional
        The number of parallel fits.
    random_state : int, RandomState or None, default=0
        Random seed of the folds.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    RiskEstimate

    Notes
    -----
    For each fold a model is trained, and a `CalibratedRanker` trains one for each of its own folds: 110 trainings of
    small data, and 600 trainings of halves. The AUC is that of leave-pair-out where it has a fast shortcut, else the
    mean of ten folds.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLSCV, estimate_risk
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["well", "ill"], 30)
    >>> X = rng.standard_normal((60, 4)) + (y == "ill")[:, None]
    >>> found = estimate_risk(RankRLSCV(), X, y, pos_label="ill")
    >>> slope = found.measures["calibration_slope"]
    >>> slope.interval.low < slope.value < slope.interval.high
    True
    """
    if verbose:
        return verbosely(estimate_risk, locals())
    check_option("interval", interval, INTERVALS)
    check_confidence(confidence)
    thresholds = check_thresholds(thresholds)
    if event is not None or is_structured(y):
        from kernelrank.model_selection.survival_risk import survival_risk

        options = {"cv": cv, "interval": interval, "n_jobs": n_jobs, "random_state": random_state}
        y = event_times(y, event, entry=entry)
        return survival_risk(estimator, X, y, horizon, groups, thresholds, confidence, **options)
    if entry is not None or horizon is not None:
        raise InvalidInputError("entry and horizon are for times with event=.")
    classes = TwoClasses.read(y, num_samples(X), pos_label=pos_label)
    codes = shared_groups(check_groups(groups, classes))
    model = estimator if hasattr(estimator, "predict_proba") else CalibratedRanker(estimator, random_state=random_state)
    auc = _auc(model, X, y, groups, pos_label, confidence, interval, n_jobs)
    model, X = on_kernel(model, X)
    procedure = Procedure(model, X, classes, codes, cv, random_state, n_jobs)
    risks, folds = procedure.held_out()
    intervals = Intervals.of(procedure, risks, thresholds, confidence, interval)
    found = {name: intervals.estimate(name) for name in intervals.effects}
    return RiskEstimate(
        auc,
        {name: one for (name, threshold), one in found.items() if threshold is None},
        {t: {name: one for (name, threshold), one in found.items() if threshold == t} for t in thresholds},
        risks,
        classes.positive,
        folds,
        {**intervals.decision_curve(risks, classes.positive), **intervals.calibration_curve(risks, classes.positive)},
        risk_groups(risks, classes.positive, confidence),
    )


def check_thresholds(thresholds: Sequence[float]) -> list[float]:
    """Return thresholds as numbers between 0 and 1, in ascending order."""
    try:
        found = sorted({float(value) for value in thresholds})
    except (TypeError, ValueError):
        raise InvalidInputError(f"Expected thresholds between 0 and 1; got {thresholds!r}.") from None
    if not found or not all(0.0 < value < 1.0 for value in found):
        raise InvalidInputError(f"Expected thresholds between 0 and 1; got {list(thresholds)}.")
    return found


def _auc(
    model: Any,
    X: Any,
    y: Any,
    groups: Any,
    pos_label: Any,
    confidence: float,
    interval: str,
    n_jobs: int | None,
) -> AUCEstimate:
    """Estimate the AUC of a ranker that is calibrated, or of a classifier: by leave-pair-out where that is cheap."""
    ranker = (model.estimator or RankRLSCV()) if isinstance(model, CalibratedRanker) else model
    options = {"groups": groups, "pos_label": pos_label, "confidence": confidence, "n_jobs": n_jobs}
    if isinstance(ranker, KernelLearner):
        classes = TwoClasses.read(y, num_samples(X), pos_label=pos_label)
        task = Task(settled(ranker, X), X, classes, shared_groups(check_groups(groups, classes)))
        if are_cheap(task):
            return estimate_auc(ranker, X, y, interval=interval, **options)
    return estimate_auc(ranker, X, y, method="averaged", random_state=0, **options)


def on_kernel(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the same model on the products of the items, computed once, where it has fewer items than columns."""
    ranker: Any = (model.estimator or RankRLSCV()) if isinstance(model, CalibratedRanker) else None
    if type(ranker) not in (RankRLS, RankRLSCV) or not isinstance(X, np.ndarray) or X.ndim != 2:
        return model, X
    plain = ranker.kernel == "linear" and ranker.metric is None and ranker.basis is None
    if not plain or X.dtype.kind not in "iuf" or X.shape[1] <= X.shape[0] or not np.isfinite(X).all():
        return model, X
    fixed: Any = settled(ranker, X)
    fixed = fixed.set_params(kernel="precomputed")
    centred = X - X.mean(axis=0)  # only differences of items count
    return clone(model).set_params(estimator=fixed), centred @ centred.T


# The nested cross-validation ------------------------------------------------------------------------------------------

Key = tuple[str, float | None]
"""A measure, and its threshold if it has one."""

Shares = dict[Key, tuple[float, float, float]]
"""What training adds to the variance of each measure, as a share of it; the least variance for given risks, as a number
and, for a measure t between 0 and 1, over t (1 - t)."""

BOUNDS = {"brier": (0.0, 1.0), "scaled_brier": (-np.inf, 1.0), "observed_expected": (0.0, np.inf)}
"""Between what a measure must lie."""

OF_LINES = ("calibration_intercept", "calibration_slope", "observed_expected")
"""Measures whose variance on halves says little: a line through equal risks has any slope."""


@dataclass(frozen=True)
class Procedure:
    """How a model of risks is trained, and on what."""

    model: Any
    X: Any
    classes: TwoClasses
    groups: Index | None
    cv: int
    random_state: Any
    n_jobs: int | None

    def held_out(self) -> tuple[Float, Index]:
        """Return the risk of each item by a model that was trained without its fold, and the folds."""
        sets = calibration_folds(self.cv, self.X, self.classes, self.groups, self.random_state)
        risks, folds = np.empty((2, len(self.classes.labels)))
        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator")
        jobs = parallel(joblib.delayed(self._risks_of)(held) for held in sets)
        for number, (held, found) in enumerate(zip(sets, track(jobs, len(sets), "predicting risks"), strict=True)):
            risks[held], folds[held] = found, number
        return risks, folds.astype(np.int64)

    def _risks_of(self, held: Index) -> Float:
        kept = np.delete(np.arange(len(self.classes.labels)), held)
        X, y = safe_split(self.model, self.X, self.classes.labels, kept)
        grouped = self.groups is not None and isinstance(self.model, CalibratedRanker)
        groups = {"groups": self.groups[kept]} if grouped and self.groups is not None else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            model = clone(self.model).fit(X, y, **groups)
            risks = model.predict_proba(safe_split(self.model, self.X, None, held, kept)[0])
        found: Float = np.asarray(risks, dtype=np.float64)[:, list(model.classes_).index(self.classes.names[1])]
        return found

    def trained_shares(self, thresholds: list[float], interval: str, keys: Iterable[Key]) -> tuple[Shares, str]:
        """Return Q / V of each measure on halves of the items, and what intervals allow for."""
        noun = "items" if self.groups is None else "groups"
        ranker = (self.model.estimator or RankRLSCV()) if isinstance(self.model, CalibratedRanker) else None
        cheap = isinstance(ranker, KernelLearner) and len(self.classes.labels) <= 1000
        enough = self.classes.has(8, self.groups)
        if interval == "jackknife" and not enough:
            raise InvalidInputError(f"interval='jackknife' needs 8 {noun} of each class; use interval='components'.")
        if interval == "components" or (interval == "auto" and not cheap):
            return shares_of([], noun)
        if not enough:
            how = f"allows for other {noun} being scored, and by a rule of thumb for others being trained on"
            return dict.fromkeys(keys, (FEW, 0.0, 0.0)), f"{how}, as a class has fewer than 8: may be too narrow"
        task = Task(self.model if ranker is None else settled(ranker, self.X), self.X, self.classes, self.groups)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            parts = halved(task, SPLITS)
        found = [self._on(part, thresholds) for part in track(parts, len(parts), "estimating on halves")]
        return shares_of(found, noun)

    def _on(self, part: Task, thresholds: list[float]) -> dict[Key, tuple[float, float]]:
        """Return each measure on a half, with its variance for given risks."""
        model = part.estimator
        if isinstance(self.model, CalibratedRanker):
            model = clone(self.model).set_params(estimator=part.estimator, cv=5)
        mine = replace(self, model=model, X=part.X, classes=part.classes, groups=part.groups, cv=5)
        effects = all_effects(mine.held_out()[0], part.classes.positive, thresholds)
        return {key: (one.value, one.variance(part.groups)) for key, one in effects.items()}


def shares_of(found: list[dict[Key, tuple[float, float]]], noun: str) -> tuple[Shares, str]:
    """Return Q / V and the least V of each measure from halves, and what intervals allow for."""
    if not found:
        return {}, f"allows for other {noun} being scored, not for others being trained on: too narrow"
    shares: Shares = {}
    for key in found[0]:
        known = [one[key] for one in found if key in one and np.isfinite(one[key][0])]
        if len(known) > SPLITS:
            values, scored = np.array(known).T
            least = 0.0 if key[0] in OF_LINES else 0.5 * float(np.mean(scored))
            spread = float(np.mean(values * (1.0 - values)))
            shares[key] = trained_share(list(values), list(scored), 0.5), least, least / spread if spread > 0.0 else 0.0
    return shares, f"allows for other {noun} being scored, trained on and used for all choices"


def all_effects(
    risks: Float, positive: NDArray[np.bool_], thresholds: list[float], weight: Float | None = None
) -> dict[Key, Effects]:
    """Return all measures with the effects of the items."""
    found: dict[Key, Effects] = {(name, None): one for name, one in risk_measures(risks, positive, weight).items()}
    everyone = np.ones(len(risks))
    for t in thresholds:
        own, whole = (net_benefit(chosen, positive, t, weight) for chosen in (risks, everyone))
        measures = rates(risks, positive, t, weight) | {"net_benefit": own, "treat_all": whole}
        found |= {(name, t): one for name, one in measures.items()}
    return found


@dataclass(frozen=True)
class Intervals:
    """What the intervals are made of."""

    confidence: float
    n_units: int
    groups: Index | None
    shares: Shares
    how: str
    effects: dict[Key, Effects]
    share: float

    @classmethod
    def of(
        cls, procedure: Procedure, risks: Float, thresholds: list[float], confidence: float, interval: str
    ) -> Intervals:
        """Measure the held-out risks of a procedure, and what its training adds to their variances."""
        classes, groups = procedure.classes, procedure.groups
        effects = all_effects(risks, classes.positive, thresholds)
        shares, how = procedure.trained_shares(thresholds, interval, effects)
        n_units, share = min(classes.counts(groups)), float(classes.positive.mean())
        return cls(confidence, n_units, groups, shares, how, effects, share)

    def estimate(self, key: Key) -> Estimate:
        """Return a measure with its interval."""
        found = self.effects[key]
        nothing = (0.0, 0.0, 0.0)
        trained, least, ratio = nothing if key[0] == "treat_all" else self.shares.get(key, nothing)
        unit = self.share * (1.0 - self.share) if key[0] == "brier" else 1.0
        if key[0] in ("brier", "scaled_brier"):
            least = max(least, (2.0 * unit / self._n) ** 2)
        if key[0] == "average_precision":
            ratio = max(ratio, 0.5 / self.n_units)
        factor, scored = 1.0 + trained * self._left(key[0]), found.variance(self.groups)
        variance = max(0.0 if found.share else least, scored) * factor
        low, high = found.ends(variance, self.n_units, self.confidence, ratio * factor)
        if key[0] == "scaled_brier":
            high = max(high, self._best(found.value, max(least, scored), trained))
        elif key[0] == "brier":
            best = self._best(1.0 - found.value / unit, max(least, scored) / unit**2, trained)
            low = min(low, unit * (1.0 - best))
        lowest, highest = BOUNDS.get(key[0], (-np.inf, np.inf))
        return Estimate(found.value, Interval(max(low, lowest), min(high, highest), self.confidence, self.how))

    @property
    def _n(self) -> int:
        """The number of items, or groups."""
        return len(self.effects["brier", None].effects) if self.groups is None else int(self.groups.max()) + 1

    def _best(self, value: float, variance: float, trained: float) -> float:
        """Return the largest scaled Brier score t that is not too far from one that was found."""
        t = np.linspace(value, 1.0, 1001)
        of_calibrated = t * (1.0 - t) ** 2 / (self._n * self.share * (1.0 - self.share))
        variances = np.maximum(variance, of_calibrated) * (1.0 + trained * np.clip(1.0 - t, 0.0, 1.0))
        q = stdtrit(max(1, self.n_units - 1), (1.0 + self.confidence) / 2.0)
        return float(t[(t - value) ** 2 <= q**2 * variances].max())

    def _left(self, name: str) -> float:
        """Return g: how much of what training adds on halves is left with all items."""
        scaled = self.effects["scaled_brier", None].value
        left = 1.0 - scaled
        if name == "average_precision":
            left = (1.0 - self.effects[name, None].value) / (1.0 - self.share)
        return min(1.0, max(0.0, left))

    def _bands(self, found: Sequence[Effects], name: str, at: Float) -> Float:
        """Return the lower and the upper ends of the intervals at the points of a curve, shape (2, points)."""
        own = {key[1]: value for key, value in self.shares.items() if key[0] == name}
        shares = [share for share, _, _ in own.values()]
        least = np.zeros(len(at))
        if own and None not in own:
            least = np.interp(at, [t for t in own if t is not None], [value for _, value, _ in own.values()])
        factor = 1.0 + (float(np.mean(shares)) if shares else 0.0) * self._left(name)
        variances = np.maximum(least, [one.variance(self.groups) for one in found]) * factor
        ends = [
            one.ends(float(variance), self.n_units, self.confidence)
            for one, variance in zip(found, variances, strict=True)
        ]
        return np.array(ends).T

    def decision_curve(
        self, risks: Float, positive: NDArray[np.bool_], weight: Float | None = None
    ) -> dict[str, Float]:
        """Return the net benefit at a hundred thresholds up to the largest risk."""
        grid = np.linspace(0.01, max(0.02, min(0.99, float(risks.max()))), 100)
        found = [net_benefit(risks, positive, t, weight) for t in grid]
        low, high = self._bands(found, "net_benefit", grid)
        everyone = np.array([net_benefit(np.ones(len(risks)), positive, t, weight).value for t in grid])
        benefit = np.array([one.value for one in found])
        return {
            "threshold": grid,
            "net_benefit": benefit,
            "net_benefit_low": low,
            "net_benefit_high": high,
            "treat_all": everyone,
        }

    def calibration_curve(
        self, risks: Float, positive: NDArray[np.bool_], weight: Float | None = None
    ) -> dict[str, Float]:
        """Return the observed share over the risk: the logistic line of calibration slope and intercept."""
        z = logit(np.clip(risks, CERTAIN, 1.0 - CERTAIN))
        grid = np.linspace(float(risks.min()), float(risks.max()), 100)
        at = logit(np.clip(grid, CERTAIN, 1.0 - CERTAIN))
        fitted = calibration_line(z, positive, np.ones(len(z)) if weight is None else weight)
        line = [fitted.at(point) for point in at.tolist()]
        low, high = self._bands(line, "calibration_slope", grid)
        names = ("risk", "observed", "observed_low", "observed_high")
        values = (grid, expit(np.array([one.value for one in line])), expit(low), expit(high))
        return dict(zip(names, values, strict=True))


def risk_groups(
    risks: Float, positive: NDArray[np.bool_], confidence: float, weight: Float | None = None
) -> list[dict[str, float]]:
    """Return the items in up to five groups of equal size by their risk, with Wilson's intervals of their shares.

    With weights, items that weigh nothing are left out.
    """
    w = np.ones(len(risks)) if weight is None else weight
    known = np.flatnonzero(w)
    order, found = known[np.argsort(risks[known], kind="stable")], []
    for items in np.array_split(order, min(5, len(order) // 5) or 1):
        share = float(np.average(positive[items], weights=w[items]))
        low, high = wilson_interval(share, len(items), confidence, "")
        mean = float(np.average(risks[items], weights=w[items]))
        found.append({"risk": mean, "n": len(items), "observed": share, "low": low, "high": high})
    return found
