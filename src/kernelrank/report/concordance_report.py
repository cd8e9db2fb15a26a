"""The report of a concordance: the index with its interval, and survival curves of held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Labels
from kernelrank.metrics import KaplanMeier, concordance, log_rank_pvalue
from kernelrank.model_selection import ConcordanceEstimate
from kernelrank.report.baselines import BestColumn
from kernelrank.report.environment import parameters_of
from kernelrank.report.page import Page, render
from kernelrank.report.survival_curves import THIRDS, survival_picture

__all__ = ["concordance_report"]

FEW_EVENTS = 20


def concordance_report(
    estimate: ConcordanceEstimate,
    *,
    model: BaseEstimator | None = None,
    X: Any = None,
    feature_names: Labels | None = None,
    time_name: str = "time",
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of an estimated concordance, with survival curves of held-out scores.

    Parameters
    ----------
    estimate : ConcordanceEstimate
        What `estimate_concordance` returns.
    model : estimator, optional
        Its parameters are listed.
    X : array-like or sparse matrix, shape (m, n_features), optional
        All items; with them, the best single feature stands beside the model. Leave it out if the estimate has strata
        or weights, which single features are measured without.
    feature_names : sequence of str, optional
        Those of the columns of X.
    time_name : str, default="time"
        What the times are called.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> from kernelrank import RankRLS, estimate_concordance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> found = estimate_concordance(RankRLS(), X, np.exp(X[:, 0]), event=rng.random(60) < 0.7)
    >>> "Kaplan" in concordance_report(found).html
    True
    """
    third, lifetimes = estimate.thirds(), estimate.lifetimes
    curves = []
    for number, label in enumerate(THIRDS):
        part = third == number
        median = KaplanMeier.of(lifetimes.time[part], lifetimes.event[part]).median()
        curves.append(
            (label, int(part.sum()), int(lifetimes.event[part].sum()), median if np.isfinite(median) else None)
        )
    found = []
    low, high = estimate.interval
    if low <= 0.5 <= high:
        found.append(
            "The interval includes 0.5: these items do not show that the model ranks new ones better than chance."
        )
    if estimate.result.n_events < FEW_EVENTS:
        found.append(f"There are only {estimate.result.n_events} events: estimates from so few vary widely.")
    content = {
        "title": title or "Concordance report",
        "estimate": estimate,
        "n_folds": int(estimate.folds.max()) + 1,
        "curves": curves,
        "feature": None if X is None else _best_feature(estimate, X, feature_names),
        "pvalue": log_rank_pvalue(lifetimes.time, lifetimes.event, third),
        "survival_picture": survival_picture(lifetimes, third, time_name),
        "time_name": time_name,
        "parameters": [] if model is None else parameters_of(model),
        "warnings": found,
        "notes": list(notes),
        "command": command,
    }
    return render("concordance.html.j2", content)


def _best_feature(estimate: ConcordanceEstimate, X: object, names: Labels | None) -> BestColumn | None:
    """Return the single feature with the highest concordance over the pairs inside folds."""
    time, event = estimate.lifetimes.time, estimate.lifetimes.event
    return BestColumn.of(X, lambda scores: concordance(time, scores, event=event, qid=estimate.folds), names)
