"""``kernelrank auc --inside``: imputation and scaling are repeated in every training set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelrank.base.progress import working
from kernelrank.cli.model_rows import counted

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelrank.cli.answer import Answer
    from kernelrank.cli.cohort import Cohort
    from kernelrank.cli.learner import LearnerOptions
    from kernelrank.data import Items
    from kernelrank.metrics import Interval
    from kernelrank.model_selection import AUCEstimate, TournamentROC

__all__ = ["estimated_inside", "moved"]

AS_WIDE = "its width was computed with columns imputed and scaled once, for all training sets"


def _prepared_inside(items: Items, learner: LearnerOptions, estimator: BaseEstimator) -> tuple[Any, Any]:
    """Return a pipeline that fills, scales and learns, and the columns that it takes: NaN where a number is missing.

    A category that a training set does not have is a column of zeros there, so that categories need nothing anew.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline

    from kernelrank.errors import InvalidInputError

    steps: list[tuple[str, Any]] = []
    X = items.X
    if items.filled is not None and items.preparation is not None:
        steps.append(("fill", SimpleImputer(strategy=items.preparation.missing, keep_empty_features=True)))
        X = np.where(items.filled, np.nan, X)
    if learner.scale:
        steps.append(("scale", clone(learner.scaler(items.X))))
    if not steps:
        raise InvalidInputError(
            "--inside has no effect: there is nothing to impute or scale. Remove it, or add --scale"
        )
    return Pipeline([*steps, ("rank", estimator)]), X


def estimated_inside(
    answer: Answer,
    items: Items,
    learner: LearnerOptions,
    estimator: BaseEstimator,
    cohort: Cohort,
    common: dict[str, Any],
    *,
    with_roc: bool,
) -> tuple[AUCEstimate, TournamentROC | None]:
    """Refit a preparation and its learner without every pair.

    A jackknife of refits would take hours, so the interval is that of the estimate with columns that were prepared
    once, moved to this one.

    Parameters
    ----------
    answer : Answer
    items : Items
        The columns as they were read.
    learner : LearnerOptions
    estimator : estimator
        The learner.
    cohort : Cohort
        The same items with columns that were prepared once.
    common : dict
        Further arguments of `estimate_auc`.
    with_roc : bool
        Whether all pairs of items are held out, for the ROC curve.

    Returns
    -------
    estimate : AUCEstimate
    curve : TournamentROC or None
    """
    from kernelrank.model_selection import estimate_auc, tournament_roc

    pipeline, X = _prepared_inside(items, learner, estimator)
    answer.note(
        "for the AUC and its curve, columns were imputed and scaled inside every training set; "
        "permutations and comparisons use columns imputed and scaled once"
    )
    once, y = estimate_auc(estimator, cohort.X, cohort.y, **common), cohort.y
    options = {**common, "interval": "components"}
    m = len(y)
    n_pairs = m * (m - 1) // 2 if with_roc else once.n_pairs
    with working(f"preparing columns and choosing alpha without {counted(n_pairs, 'pair')}"):
        if not with_roc:
            found = estimate_auc(pipeline, X, y, **options)
            return replace(found, interval=moved(once, found.auc)), None
        curve = tournament_roc(pipeline, X, y, **options)
    curve = replace(
        curve,
        estimate=replace(curve.estimate, interval=moved(once, curve.auc)),
        leave_pair_out=replace(curve.leave_pair_out, interval=moved(once, curve.leave_pair_out.auc)),
    )
    return curve.leave_pair_out, curve


def moved(once: AUCEstimate, auc: float) -> Interval:
    """Move an interval to another estimate, with the same width on the logit scale; unchanged at 0 and 1."""
    from scipy.special import expit, logit

    low, high = once.interval
    method = f"{once.interval.method}; {AS_WIDE}"
    if not 0.0 < low < once.auc < high < 1.0 or not 0.0 < auc < 1.0:
        return replace(once.interval, low=min(low, auc), high=max(high, auc), method=method)
    below, above = logit(low) - logit(once.auc), logit(high) - logit(once.auc)
    return replace(
        once.interval, low=float(expit(logit(auc) + below)), high=float(expit(logit(auc) + above)), method=method
    )
