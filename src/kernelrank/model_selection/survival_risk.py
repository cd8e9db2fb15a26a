r"""Risks of an event up to a horizon, from held-out scores of times, some of them censored.

**The risk.** Held-out scores s in the units of their models (`kernelrank.model_selection.calibration`) have a hazard
that is proportional to ``exp(-b s)``. The slope b maximises Cox's partial likelihood [Cox72]_, stratified by fold, for
scores of one fold come from one model; as for two classes it is multiplied by ``max(0, 1 - (2 / χ²)²)``, with χ² its
likelihood ratio. Breslow's step function [Bre74]_ of all items is the hazard of s = 0,

    ``H(t) = Σ_{t_i ≤ t} δ_i / Σ_{entry_j < t_i ≤ t_j} exp(-b s_j)``,  ``risk(t) = 1 - exp(-H(t) exp(-b s))``.

**Its quality** at a horizon h is measured as that of two classes, had the event up to h or not, with weights for the
items of which it is not known (`kernelrank.metrics.survival.horizon_weights`): the Brier score with inverse
probabilities of censoring [Gra99]_, the cumulative/dynamic AUC, and calibration. The integrated Brier score is the mean
over ten times up to the horizon. Intervals take the weights as known.

References
----------
.. [Bre74] Breslow (1974). Covariance analysis of censored survival data. Biometrics 30.
.. [Cox72] Cox (1972). Regression models and life-tables. Journal of the Royal Statistical Society B 34.
.. [Gra99] Graf, Schmoor, Sauerbrei and Schumacher (1999). Assessment and comparison of prognostic classification
   schemes for survival data. Statistics in Medicine 18.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Lifetimes, Queries
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import num_samples, safe_split
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner
from kernelrank.metrics.risks import Effects, ratio
from kernelrank.metrics.survival import horizon_weights, suffix_sums
from kernelrank.model_selection.auc import AUCEstimate
from kernelrank.model_selection.calibration import ScoreUnits, comparable_scores
from kernelrank.model_selection.concordance import chosen_learner, random_halves
from kernelrank.model_selection.refits import model_scores, settled
from kernelrank.model_selection.risk import Intervals, Key, RiskEstimate, all_effects, risk_groups, shares_of

TIMES = 10
"""The integrated Brier score is the mean over so many times."""


def survival_risk(
    estimator: Any,
    X: Any,
    y: Any,
    horizon: float | None,
    groups: Any,
    thresholds: list[float],
    confidence: float,
    *,
    cv: int,
    interval: str,
    n_jobs: int | None,
    random_state: Any,
) -> RiskEstimate:
    """Do what `estimate_risk` does, for times with events."""
    m = num_samples(X)
    lifetimes = Lifetimes.of(y, n_items=m)
    if horizon is None or not np.isfinite(horizon):
        raise InvalidInputError("Expected horizon=, the time up to which risks are predicted, such as horizon=24.")
    positive, weight = horizon_weights(lifetimes.time, lifetimes.event, horizon, lifetimes.entry)
    codes = None if groups is None else Queries.from_labels(groups, m, name="groups").codes
    procedure = _Procedure(SurvivalRisk(estimator, n_jobs=n_jobs), X, y, lifetimes, codes, horizon, cv, random_state)
    risks, folds = procedure.held_out()
    effects = procedure.effects(risks, thresholds)
    noun = "items" if codes is None else "groups"
    found: list[dict[Key, tuple[float, float]]] = []
    cheap = isinstance(estimator, KernelLearner) and m <= 1000
    if interval == "jackknife" or (interval == "auto" and cheap):
        found = procedure.on_halves(thresholds)
    shares, how = shares_of(found, noun)
    counts = int(positive.sum()), int((weight > 0).sum() - positive.sum())
    share = float(weight @ positive) / float(weight.sum())
    intervals = Intervals(confidence, min(counts), codes, shares, how, effects, share)
    measures = {name: intervals.estimate((name, None)) for name, threshold in effects if threshold is None}
    auc = measures.pop("auc")
    at = f"by time {horizon:g}"
    names = (f"no event {at}", f"event {at}")
    last = risks[:, -1]
    return RiskEstimate(
        AUCEstimate(auc.value, auc.interval, "held-out risks at the horizon", counts[0] * counts[1], *counts, names),
        measures,
        {t: {name: intervals.estimate((name, of)) for name, of in effects if of == t} for t in thresholds},
        last,
        positive,
        folds,
        {**intervals.decision_curve(last, positive, weight), **intervals.calibration_curve(last, positive, weight)},
        risk_groups(last, positive, confidence, weight),
        weight,
        float(horizon),
    )


# The model ------------------------------------------------------------------------------------------------------------


class SurvivalRisk:
    """A ranker of times with the hazard of its scores.

    Parameters
    ----------
    estimator : estimator
        Takes a structured y of times and events; its scores grow with the time.
    cv : int
        Folds of the held-out scores.
    n_jobs : int, optional
    """

    def __init__(self, estimator: Any, cv: int = 10, n_jobs: int | None = None) -> None:
        self.estimator, self.cv, self.n_jobs = estimator, cv, n_jobs

    def fit(self, X: Any, y: Any, groups: Index | None = None) -> Self:
        """Fit the ranker to all items, and the hazard to held-out scores."""
        lifetimes = Lifetimes.of(y)
        folds = dealt(lifetimes.event, self.cv, groups, 0)
        self.model_ = clone(self.estimator).fit(X, y)
        self.units_ = ScoreUnits.of(model_scores(self.model_, X))
        scores = -comparable_scores(self.estimator, X, y, folds, n_jobs=self.n_jobs)
        strata = np.empty(len(y), dtype=np.int64)
        for number, fold in enumerate(folds):
            strata[fold] = number
        self.slope_ = hazard_slope(scores, lifetimes, strata)
        self.times_, self.hazard_ = breslow(self.slope_ * scores, lifetimes)
        return self

    def predict(self, X: Any, times: Float) -> Float:
        """Return the risks up to some times, shape (t, k)."""
        scores = -self.units_.scale(model_scores(self.model_, X))
        hazard = np.append(0.0, self.hazard_)[np.searchsorted(self.times_, times, side="right")]
        risks: Float = -np.expm1(-np.exp(self.slope_ * scores)[:, None] * hazard)
        return risks


def dealt(event: NDArray[np.bool_], cv: int, groups: Index | None, random_state: Any) -> list[Index]:
    """Deal the items, or groups, to folds with the same share of events."""
    random = np.random.RandomState(random_state) if isinstance(random_state, int) else np.random.RandomState(0)
    units = np.arange(len(event)) if groups is None else groups
    had = np.zeros(int(units.max()) + 1, dtype=bool)
    np.logical_or.at(had, units, event)
    order = np.concatenate([random.permutation(np.flatnonzero(had == side)) for side in (True, False)])
    n_folds = min(cv, len(order))
    return [np.flatnonzero(np.isin(units, order[k::n_folds])) for k in range(n_folds)]


def at_risk(values: Float, lifetimes: Lifetimes, times: Float) -> Float:
    """Return the sums of some values over the items under observation at some times: two running sums."""
    total = suffix_sums(lifetimes.time, values, times)
    return total if lifetimes.entry is None else total - suffix_sums(lifetimes.entry, values, times)


def breslow(log_hazard: Float, lifetimes: Lifetimes) -> tuple[Float, Float]:
    """Return the times of events, and Breslow's cumulative hazard of an item whose log-hazard is 0."""
    times, counts = np.unique(lifetimes.time[lifetimes.event], return_counts=True)
    return times, np.cumsum(counts / at_risk(np.exp(log_hazard), lifetimes, times))


def hazard_slope(scores: Float, lifetimes: Lifetimes, strata: Index) -> float:
    """Return the slope of the log-hazard over the scores, as the head of this file says; at least zero."""
    unit = float(scores.std())
    if unit == 0.0:
        return 0.0
    s, slope = scores / unit, 0.0
    parts = [_part(lifetimes, np.flatnonzero(strata == number)) for number in np.unique(strata)]
    for _ in range(50):
        _, gradient, curvature = _likelihood(s, parts, slope)
        step = float(np.clip(gradient / max(curvature, 1e-9), -1.0, 1.0))
        slope += step
        if abs(step) < 1e-10:
            break
    chi = 2.0 * (_likelihood(s, parts, slope)[0] - _likelihood(s, parts, 0.0)[0])
    return slope * (1.0 - (2.0 / chi) ** 2) / unit if slope > 0.0 and chi > 2.0 else 0.0


def _part(lifetimes: Lifetimes, items: Index) -> tuple[Index, Lifetimes]:
    entry = None if lifetimes.entry is None else lifetimes.entry[items]
    return items, Lifetimes(lifetimes.time[items], lifetimes.event[items], None, entry)


def _likelihood(s: Float, parts: list[tuple[Index, Lifetimes]], slope: float) -> tuple[float, float, float]:
    """Return Cox's partial log-likelihood with Breslow's ties, its derivative, and minus the second one."""
    value = gradient = curvature = 0.0
    for items, lifetimes in parts:
        own, times = s[items], lifetimes.time[lifetimes.event]
        hazard = np.exp(slope * own)
        sums = [at_risk(hazard * own**power, lifetimes, times) for power in range(3)]
        mean = sums[1] / sums[0]
        value += float(np.sum(slope * own[lifetimes.event] - np.log(sums[0])))
        gradient += float(np.sum(own[lifetimes.event] - mean))
        curvature += float(np.sum(sums[2] / sums[0] - mean**2))
    return value, gradient, curvature


# The nested cross-validation ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Procedure:
    """How a model of risks of times is trained, and on what."""

    model: SurvivalRisk
    X: Any
    y: Any
    lifetimes: Lifetimes
    groups: Index | None
    horizon: float
    cv: int
    random_state: Any

    @property
    def times(self) -> Float:
        """Ten times up to the horizon, the first at the first event."""
        events = self.lifetimes.time[self.lifetimes.event]
        return np.linspace(min(float(events.min()), self.horizon), self.horizon, TIMES)

    def held_out(self) -> tuple[Float, Index]:
        """Return the risks of each item up to the times, by models trained without its fold, and the folds."""
        m = num_samples(self.X)
        risks, folds = np.empty((m, TIMES)), np.empty(m, dtype=np.int64)
        sets = dealt(self.lifetimes.event, self.cv, self.groups, self.random_state)
        for number, held in enumerate(track(sets, len(sets), "predicting risks")):
            kept = np.delete(np.arange(m), held)
            X, y = safe_split(self.model.estimator, self.X, self.y, kept)
            model = SurvivalRisk(self.model.estimator, self.model.cv, self.model.n_jobs)
            model.fit(X, y, None if self.groups is None else np.unique(self.groups[kept], return_inverse=True)[1])
            risks[held] = model.predict(safe_split(self.model.estimator, self.X, None, held, kept)[0], self.times)
            folds[held] = number
        return risks, folds

    def effects(self, risks: Float, thresholds: list[float]) -> dict[Key, Effects]:
        """Return all measures at the horizon, and the integrated Brier score, with the effects of the items."""
        known = self.lifetimes.time, self.lifetimes.event
        positive, weight = horizon_weights(*known, self.horizon, self.lifetimes.entry)
        found = all_effects(risks[:, -1], positive, thresholds, weight)
        losses = []
        for risk, time in zip(risks.T, self.times, strict=True):
            had, w = horizon_weights(*known, float(time), self.lifetimes.entry)
            losses.append(ratio(w * (risk - had) ** 2, w))
        value = float(np.mean([loss.value for loss in losses]))
        integrated = Effects(value, np.mean([loss.effects for loss in losses], axis=0), share=True)
        return {**found, ("integrated_brier", None): integrated}

    def on_halves(self, thresholds: list[float]) -> list[dict[Key, tuple[float, float]]]:
        """Return all measures and their variances on random halves; alpha is chosen on the other half."""
        found = []
        fixed = settled(self.model.estimator, self.X)
        halves = list(random_halves(self.groups, len(self.y)))
        data = [safe_split(fixed, self.X, self.y, items) for items in halves]
        for number, (items, (X, y)) in enumerate(
            track(list(zip(halves, data, strict=True)), len(halves), "estimating on halves")
        ):
            groups = None if self.groups is None else np.unique(self.groups[items], return_inverse=True)[1]
            with suppress(NothingToCompareError, InvalidInputError):  # a half may have too few events
                model = SurvivalRisk(chosen_learner(fixed, *data[number ^ 1]), 5, self.model.n_jobs)
                part = replace(self, model=model, X=X, y=y, lifetimes=Lifetimes.of(y), groups=groups, cv=5)
                effects = part.effects(part.held_out()[0], thresholds)
                found.append({key: (one.value, one.variance(groups)) for key, one in effects.items()})
        return found
