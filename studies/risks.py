"""Calibration by held-out scores mostly brings slopes nearer to one; no way to risks has the least log-loss everywhere.

Three microarrays (two classes) and three survival data sets (the event up to the median time of the events). Each
patient gets a risk from models that were trained without a fifth of the patients, drawn anew in each repeat; measured
are calibration slope, log-loss and Brier score. All rows but those of hazards use one ranker, `RankRLSCV`, whose alpha
is chosen inside every training set. Classifiers are trained on the patients of whom it is known whether they had the
event; all are judged with weights for what censoring hides. With ``--set peers=yes``, scikit-survival's Cox model is
run on the same folds, if it is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from kernelrank import CalibratedRanker, RankRLSCV
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.metrics.risks import newton_line, risk_measures
from kernelrank.metrics.survival import horizon_weights
from kernelrank.model_selection.survival_risk import SurvivalRisk
from studies.book.cell import spread_cell
from studies.book.picture import legend_above, picture
from studies.book.sources import MICROARRAYS, SURVIVAL
from studies.book.study import Run, Study
from studies.survival import read

LEAST = 1e-3
"""Risks are kept so far from 0 and 1: a single certain error would make the log-loss infinite."""


class Ranker(ClassifierMixin, BaseEstimator):
    """The ranker as a classifier with a decision function, which `CalibratedClassifierCV` takes."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Ranker:
        """Fit to labels of 0 and 1."""
        self.classes_, self.model_ = np.unique(y), RankRLSCV().fit(X, y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return self.model_.predict(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class by the sign of the score."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@dataclass(frozen=True)
class Cohort:
    """Patients with the event or without, a weight for each, and times where there are some."""

    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray
    y: np.ndarray | None = None
    horizon: float | None = None

    def folds(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Deal the patients to five folds with the same shares of events and of unknown outcomes."""
        unknown = self.weight == 0
        kind = self.positive + 2 * (unknown if unknown.sum() >= 5 else np.zeros_like(unknown))
        yield from StratifiedKFold(5, shuffle=True, random_state=seed).split(self.X, kind)


def microarray(path: Path) -> Cohort:
    """Read gene expressions, as coordinates with the same products: the trainings cost less, and are the same."""
    table = pd.read_csv(path)
    positive = pd.factorize(table.pop("class"), sort=True)[0] == 1
    X = table.to_numpy(dtype=float)
    X -= X.mean(axis=0)
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    return Cohort(left * values, positive, np.ones(len(X)))


def survival(path: Path, name: str) -> Cohort:
    """Read times; the horizon is the median time of the events."""
    cohort = read(path, name)
    time, event = cohort.y["time"], cohort.y["event"]
    horizon = float(np.median(time[event]))
    positive, weight = horizon_weights(time, event, horizon)
    return Cohort(cohort.items, positive, weight, cohort.y, horizon)


# Ways to a risk: each is trained on some patients of a cohort, and predicts the risks of others -----------------------

Way = Callable[[Cohort, np.ndarray, np.ndarray], np.ndarray]


def known(cohort: Cohort, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the training patients whose outcome at the horizon is known, and their outcomes."""
    some = train[cohort.weight[train] > 0]
    return cohort.X[some], cohort.positive[some].astype(int)


def share(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the share of the training patients with the event: with times, that of Kaplan and Meier."""
    if cohort.y is None:
        return np.full(len(test), cohort.positive[train].mean())
    part = cohort.y[train]
    positive, weight = horizon_weights(part["time"], part["event"], cohort.horizon)
    return np.full(len(test), weight @ positive / weight.sum())


def plain(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return scores as they are: differences of scores estimate differences of labels of 0 and 1."""
    X, y = known(cohort, train)
    model = RankRLSCV().fit(X, y)
    return y.mean() + model.predict(cohort.X[test]) - model.predict(X).mean()


def of_training_scores(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the logistic line of the scores of the training patients themselves."""
    X, y = known(cohort, train)
    model = RankRLSCV().fit(X, y)
    s, unit = model.predict(X), model.predict(X).std() or 1.0
    a, b = newton_line((s - s.mean()) / unit, y[None].astype(float), firth=True)
    return expit(a[0] + b[0] * (model.predict(cohort.X[test]) - s.mean()) / unit)


def classifier(model: Any) -> Way:
    """Return the way of a classifier with probabilities."""

    def risks(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return model.fit(*known(cohort, train)).predict_proba(cohort.X[test])[:, 1]

    return risks


def hazard(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the risks by `estimate_risk` with ``horizon=``: all times are trained on, censored or not."""
    model = SurvivalRisk(RankRLSCV()).fit(cohort.X[train], cohort.y[train])
    return model.predict(cohort.X[test], np.array([cohort.horizon]))[:, 0]


def cox(cohort: Cohort, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the risks of scikit-survival's Cox model."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    model = CoxPHSurvivalAnalysis(alpha=1e-4).fit(cohort.X[train], cohort.y[train])
    return np.array([1.0 - curve(cohort.horizon) for curve in model.predict_survival_function(cohort.X[test])])


WAYS: dict[str, Way] = {
    "share of events alone": share,
    "plain scores": plain,
    "training scores, logistic": of_training_scores,
    "CalibratedRanker, logistic": classifier(CalibratedRanker(RankRLSCV())),
    "CalibratedRanker, isotonic": classifier(CalibratedRanker(RankRLSCV(), calibration="isotonic")),
    "CalibratedClassifierCV, five models": classifier(CalibratedClassifierCV(Ranker())),
    "CalibratedClassifierCV, one model": classifier(CalibratedClassifierCV(Ranker(), ensemble=False)),
    "CalibratedClassifierCV, isotonic": classifier(CalibratedClassifierCV(Ranker(), method="isotonic")),
}


def measured(way: Way, cohort: Cohort, repeats: int) -> dict[str, Any]:
    """Return the measures of the held-out risks of each repeat: quartiles of the slope, means of the others."""
    found: dict[str, list[float]] = {"auc": [], "slope": [], "log_loss": [], "brier": []}
    w, y = cohort.weight / cohort.weight.sum(), cohort.positive
    for repeat in range(repeats):
        risks = np.empty(len(y))
        for train, test in cohort.folds(repeat):
            risks[test] = way(cohort, train, test)
        risks = np.clip(risks, LEAST, 1.0 - LEAST)
        measures = risk_measures(risks, y, cohort.weight)
        found["auc"].append(measures["auc"].value)
        found["slope"].append(measures["calibration_slope"].value)
        found["brier"].append(measures["brier"].value)
        found["log_loss"].append(-float(w @ (xlogy(y, risks) + xlogy(1 - y, 1 - risks))))
    low, middle, high = np.percentile(found.pop("slope"), [25, 50, 75])
    no_order = way is share
    slope = None if no_order else {"mean": middle, "low": low, "high": high}
    cells = {name: None if no_order and name == "auc" else spread_cell(values) for name, values in found.items()}
    return {"slope": slope, **cells}


def protocol(run: Run) -> dict[str, Any]:
    """Measure every way on every cohort."""
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    cohorts = {name: microarray(run.data[source]) for name, source in MICROARRAYS.items()}
    cohorts |= {name: survival(run.data[source], name) for name, source in SURVIVAL.items()}
    found: dict[str, Any] = {}
    for name, cohort in cohorts.items():
        ways = dict(WAYS)
        if cohort.y is not None:
            ways["hazard of all times"] = hazard
            if run["peers"] and run.package("sksurv") is not None:
                ways["scikit-survival, Cox"] = cox
        rows = {label: measured(way, cohort, run["repeats"]) for label, way in ways.items()}
        unknown = int((cohort.weight == 0).sum())
        events = int(cohort.positive[cohort.weight > 0].sum())
        about = {"patients": len(cohort.X), "events": events, "unknown": unknown, "horizon": cohort.horizon}
        found[name] = {**about, "rows": rows}
    return {"cohorts": found, "least": LEAST}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the log-loss of each way, less that of the share of events."""
    with picture(folder / "risks.svg", 6.8, 4.4) as figure:
        ax = figure.subplots()
        cohorts = tables["cohorts"]
        for label in list(WAYS)[1:]:
            losses = [
                table["rows"][label]["log_loss"]["mean"] - table["rows"]["share of events alone"]["log_loss"]["mean"]
                for table in cohorts.values()
            ]
            ax.plot(list(cohorts), losses, "o", alpha=0.8, label=label)
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set_ylabel("log-loss, less that of the share of events")
        legend_above(figure, ax, 2)


STUDY = Study(
    protocol,
    data=(*MICROARRAYS.values(), *SURVIVAL.values()),
    settings={"repeats": (1, 1), "peers": (False, False)},
    draw=draw,
)
