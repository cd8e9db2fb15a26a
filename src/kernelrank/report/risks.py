"""The page of a model of risks: what a clinical paper reports of it, from one nested cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, clone

from kernelrank.base.arrays import Float, Labels
from kernelrank.base.sklearn_private import safe_split
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.model_selection import TournamentROC
from kernelrank.model_selection.calibration import CalibratedRanker, ScoreUnits
from kernelrank.model_selection.refits import model_scores
from kernelrank.model_selection.risk import RiskEstimate
from kernelrank.report.displays import alpha_curve_of, alpha_picture, draw_chart
from kernelrank.report.estimates import HELD_OUT
from kernelrank.report.explanations import Contributions, Influence, has_contributions
from kernelrank.report.ranking import describe_kernel
from kernelrank.report.roc import ROCDisplay, roc_picture
from kernelrank.report.writing import (
    Page,
    Picture,
    counted,
    drawing,
    parameters_of,
    render,
    versions,
    with_commas,
    with_decimals,
)

MOST_COLUMNS = 15


def risk_report(
    estimate: RiskEstimate,
    curve: TournamentROC | None = None,
    *,
    model: CalibratedRanker | None = None,
    X: Any = None,
    classes: tuple[Any, Any] = ("negative", "positive"),
    missing: Mapping[str, int] | None = None,
    grouped: bool = False,
    feature_names: Labels | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Write the HTML report of a model of risks, which can be an appendix of a paper.

    Parameters
    ----------
    estimate : RiskEstimate
        What `estimate_risk` returns.
    curve : TournamentROC, optional
        What `tournament_roc` returns.
    model : CalibratedRanker, optional
        Fitted to all items; its choices are shown, and with X the columns that move the risk most.
    X : array-like or sparse matrix, shape (m, n_features), optional
        All items.
    classes : tuple, default=("negative", "positive")
        What the two classes are called.
    missing : dict of str to int, optional
        The number of missing cells of each column that has some.
    grouped : bool, default=False
        Whether items were held out by groups, such as those of one patient.
    feature_names : sequence of str, optional
        Those of the columns of X.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Random seed of the band of the ROC curve.

    Returns
    -------
    Page

    Notes
    -----
    With `model` and X, one training for each fold: their weights tell how uncertain those of the columns are.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, estimate_risk
    >>> from kernelrank.report import risk_report
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3 == 0
    >>> found = estimate_risk(RankRLSCV(), rng.standard_normal((60, 4)) + y[:, None], y, interval="components")
    >>> "Decision curve" in risk_report(found).html
    True
    """
    ranker = None if model is None else model.estimator_
    search = None if ranker is None else alpha_curve_of(ranker)
    columns = [] if model is None or X is None else steady_columns(model, X, estimate, feature_names)
    content = {
        "title": title or "Risk report",
        "estimate": estimate,
        "classes": classes,
        "counts": [(classes[1], int(estimate.positive.sum())), (classes[0], int((~estimate.positive).sum()))],
        "missing": sorted((missing or {}).items(), key=lambda one: -one[1]),
        "n_columns": None if X is None else X.shape[1],
        "measures": [(name, estimate.labels[name], one) for name, one in estimate.named().items()],
        "how_auc": HELD_OUT[estimate.auc.method].format(with_commas(estimate.auc.n_pairs)),
        "model": model,
        "kernel": None if ranker is None else describe_kernel(ranker),
        "origin": 0.0 if model is None or abs(model.score_mean_) < 1e-9 * model.score_deviation_ else model.score_mean_,
        "alpha_display": search,
        "alpha_picture": None if search is None else alpha_picture(search),
        "roc_picture": None if curve is None else _roc(estimate, curve, random_state),
        "calibration_picture": _calibration(estimate),
        "decision_picture": _decision(estimate),
        "columns": columns,
        "largest": max((abs(row["value"]) for row in columns), default=0.0),
        "methods": methods_text(estimate, model, X, missing or {}, classes, grouped=grouped),
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _warnings(estimate),
        "notes": list(notes),
        "command": command,
    }
    return render("risk.html.j2", content)


def steady_columns(
    model: CalibratedRanker, X: Any, estimate: RiskEstimate, names: Labels | None
) -> list[dict[str, Any]]:
    """Return the columns that move the risk most, with intervals from the models trained without each fold.

    A column moves the log-odds (the score in its units, where the calibration is isotonic) by its weight times its
    standard deviation. The variance is that of the delete-a-group jackknife over the K folds, with Student's quantile
    for K - 1 degrees.
    """
    ranker = model.estimator_
    if not has_contributions(ranker) or Contributions.of(ranker).kind != "features":
        return []
    factor = getattr(model, "slope_", 1.0) or 1.0
    found = Influence.of(Contributions.of(ranker, feature_names=range(X.shape[1])), X, MOST_COLUMNS)
    target = np.where(estimate.positive, 1.0, 0.0)
    folds = []
    for fold in np.unique(estimate.folds):
        kept = np.flatnonzero(estimate.folds != fold)
        part, y = safe_split(ranker, X, target, kept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)  # the training on all items warns
            without = clone(ranker).fit(part, y)
        unit = ScoreUnits.of(model_scores(without, part)).deviation
        folds.append(np.asarray(Contributions.of(without).coefficients) / unit)
    weights = np.array(folds)
    first = np.argsort(-np.abs(weights) * _deviations(X), axis=1)[:, :MOST_COLUMNS]
    half = stdtrit(len(folds) - 1, 0.5 + estimate.auc.interval.level / 2)
    rows = []
    for number, value, spread in zip(found.names, found.movements / model.score_deviation_, found.spreads, strict=True):
        own = weights[:, number] * spread
        error = np.sqrt((len(own) - 1) / len(own) * np.sum((own - own.mean()) ** 2))
        low, high = sorted(factor * (value + side * half * error) for side in (-1.0, 1.0))
        name = f"column {number}" if names is None else str(list(names)[number])
        row = {"name": name, "value": factor * value, "low": low, "high": high}
        rows.append(row | {"folds": int((first == number).any(axis=1).sum())})
    return rows


def _deviations(X: Any) -> Float:
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
    return np.sqrt(np.maximum(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - mean**2, 0.0))


# Pictures -------------------------------------------------------------------------------------------------------------


def _roc(estimate: RiskEstimate, curve: TournamentROC, random_state: int | None) -> Picture:
    low, high = estimate.auc.interval
    if low <= curve.auc <= high:  # the curve's own interval knows less
        curve = replace(curve, estimate=replace(curve.estimate, interval=estimate.auc.interval))
    noun = "items" if curve.groups is None else "groups"
    caption = (
        "ROC curve of held-out scores (tournament leave-pair-out): every two items are compared by a model that was "
        f"trained without both. The band is where curves of resampled {noun} run; the models do not vary in it."
    )
    return roc_picture(ROCDisplay.of_tournament(curve, random_state=random_state), caption)


def _calibration(estimate: RiskEstimate) -> Picture:
    """Draw the calibration line, the groups, and under it the distribution of the risks of both classes."""
    with drawing("calibration", height=4.6) as canvas:
        ax = canvas.ax
        draw_chart(ax, estimate.calibration_chart(), {"marker": ""})
        ax.lines[0].set(color="0.5", linestyle=":", linewidth=1.0)
        groups = estimate.groups
        middle, observed = ([group[name] for group in groups] for name in ("risk", "observed"))
        ends = [[group["observed"] - group["low"], group["high"] - group["observed"]] for group in groups]
        ax.errorbar(middle, observed, np.array(ends).T, fmt="o", markersize=4, linewidth=1, color="0.4", label="groups")
        edges = np.linspace(0.0, 1.0, 51)
        counts = [np.histogram(estimate.risks[estimate.positive == side], edges)[0] for side in (True, False)]
        unit = 0.07 / max(1, *(int(count.max()) for count in counts))
        for count, sign, colour in zip(counts, (1.0, -1.0), ("C1", "0.5"), strict=True):
            some = count > 0
            centres = (edges[:-1] + 0.01)[some]
            ax.vlines(centres, -0.13, -0.13 + sign * unit * count[some], color=colour, linewidth=2.5)
        ax.axhline(-0.13, color="0.5", linewidth=0.6)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.22, 1.02), yticks=np.arange(0.0, 1.01, 0.2), aspect="equal")
        ax.legend(loc="upper left", fontsize="small")
        told = "; ".join(
            f"risk {with_decimals(group['risk'], 2)}, observed {with_decimals(group['observed'], 2)}"
            for group in groups
        )
        caption = (
            "Calibration of held-out risks: the logistic line of calibration slope and intercept with its band, and "
            "the share of positive items in groups of equal size, with Wilson's intervals. Below, how the risks are "
            "distributed: positive items upwards, negative ones downwards."
        )
        return canvas.picture(f"Calibration plot. Groups by predicted risk: {told}.", caption)


def _decision(estimate: RiskEstimate) -> Picture:
    chart = estimate.decision_chart()
    with drawing("decision") as canvas:
        draw_chart(canvas.ax, chart, {"marker": ""})
        canvas.ax.lines[-1].set(color="0.5", linestyle=":")
        canvas.ax.legend(loc="upper right", fontsize="small")
        top = max(float(chart.lines["model"].max()), float(estimate.positive.mean()))
        canvas.ax.set(ylim=(-0.25 * top, 1.15 * top))
        model, everyone = chart.lines["model"], np.maximum(chart.lines["treat all"], 0.0)
        better = chart.x[model > everyone + 1e-12]
        where = "at no threshold"
        if len(better):
            where = f"at thresholds between {with_decimals(better.min(), 2)} and {with_decimals(better.max(), 2)}"
        alt = f"Decision curve. The held-out net benefit of the model is above that of treating all and none {where}."
        caption = (
            "Decision curve: the net benefit of treating the items whose held-out risk is at least the threshold, "
            "beside treating all and none. One unit is one true positive for each item."
        )
        return canvas.picture(alt, caption)


# Words ----------------------------------------------------------------------------------------------------------------


def methods_text(
    estimate: RiskEstimate,
    model: BaseEstimator | None,
    X: Any,
    missing: Mapping[str, int],
    classes: tuple[Any, Any],
    *,
    grouped: bool = False,
) -> list[str]:
    """Return how the model was developed and validated, in sentences for the methods section of a paper."""
    m, positive = len(estimate.risks), int(estimate.positive.sum())
    packages = dict(versions())
    ranker = getattr(model, "estimator_", None)
    kernel = None if ranker is None else describe_kernel(ranker)
    learner = "a ranking model" if ranker is None else f"a ranking model ({type(ranker).__name__}"
    learner += "" if ranker is None else f"{'' if kernel is None else f', {kernel} kernel'})"
    predictors = "" if X is None else f" from {counted(X.shape[1], 'predictor')}"
    form = "isotonic" if getattr(model, "calibration", "") == "isotonic" else "logistic"
    calibrated = (
        "" if model is None else f" Its scores were turned into risks by {form} calibration of held-out scores."
    )
    tuned = "the choice of the regularisation strength" if hasattr(ranker, "alphas") else "training"
    n_missing = sum(missing.values())
    filled = "There were no missing values."
    if n_missing:
        filled = (
            f"{counted(n_missing, 'missing value')} in {counted(len(missing), 'column')} "
            f"{'was' if n_missing == 1 else 'were'} imputed before cross-validation, without use of the outcome."
        )
    n_folds, level = len(np.unique(estimate.folds)), 100 * estimate.auc.interval.level
    return [
        f"We developed {learner} for the outcome {classes[1]} (against {classes[0]}){predictors} in "
        f"{counted(m, 'participant')}, {with_commas(positive)} ({100 * positive / m:.1f} %) of them with the outcome. "
        f"{filled}{calibrated}",
        f"Risks were validated internally by nested {n_folds}-fold cross-validation, stratified by the outcome"
        f"{', the items of each group being held out together' if grouped else ''}: in each fold, {tuned}, training "
        "and calibration used the other folds only. We report calibration intercept and slope, observed over expected "
        "events, the Brier score and its scaled form, average precision (area under the precision-recall curve), and "
        "sensitivity, specificity, predictive values and net benefit at risk thresholds. "
        f"The AUC was estimated {HELD_OUT[estimate.auc.method].format(with_commas(estimate.auc.n_pairs)).rstrip('.')}.",
        f"Intervals have a level of {level:.4g} %. Those of the AUC: {estimate.auc.interval.method}. All others: "
        f"{estimate.measures['brier'].interval.method}. The presented model was trained on all participants.",
        f"Computed with kernelrank {packages.get('kernelrank', '')} (scikit-learn {packages.get('scikit-learn', '')}, "
        f"NumPy {packages.get('numpy', '')}, Python {packages['Python']}).",
    ]


def _warnings(estimate: RiskEstimate) -> list[str]:
    found = []
    fewest = min(int(estimate.positive.sum()), int((~estimate.positive).sum()))
    if fewest < 20:
        found.append(
            f"One class has only {counted(fewest, 'item')}: calibration and predictive values from so few vary widely, "
            "and their intervals may be too narrow."
        )
    low, high = estimate.auc.interval
    if low <= 0.5 <= high:
        found.append(
            "The interval of the AUC includes 0.5: these items do not show that the model orders new ones better than "
            "chance."
        )
    slope = estimate.measures["calibration_slope"]
    if not np.isfinite(slope.value):
        found.append("The held-out risks are all equal or nearly so: there is no calibration slope.")
    elif slope.interval.high < 1.0:
        found.append("The calibration slope is below 1: risks are too extreme on new items.")
    if np.ptp(estimate.risks) < 0.05:
        found.append("The held-out risks differ little from each other: the model tells patients hardly apart.")
    return found
