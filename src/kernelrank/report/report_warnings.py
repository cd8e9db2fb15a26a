"""The warnings of a report: what makes its numbers less reliable."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.report.alpha_curve import AlphaCurveDisplay
from kernelrank.report.data_summary import DataSummary
from kernelrank.report.explanations import last_step
from kernelrank.report.measured import MeasuredItems
from kernelrank.report.measured_values import MeasuredValue
from kernelrank.report.writing import counted, with_digits

__all__ = ["report_warnings"]

FEW_QUERIES = 20
"""With fewer queries a bootstrap interval is too narrow."""


def report_warnings(
    model: BaseEstimator,
    summaries: list[DataSummary],
    items: MeasuredItems,
    values: list[MeasuredValue],
    curve: AlphaCurveDisplay | None,
) -> list[str]:
    """List the warnings of a report: what makes its numbers less reliable.

    Parameters
    ----------
    model : estimator
    summaries : list of DataSummary
    items : MeasuredItems
    values : list of MeasuredValue
    curve : AlphaCurveDisplay or None

    Returns
    -------
    list of str
    """
    found = _of_the_search(curve) + _of_the_fit(last_step(model)[1])
    if items.chose_alpha:
        found.append(
            "Alpha was chosen by the same held-out items, so the values are slightly too good. A separate test set "
            "avoids this."
        )
    for summary in summaries:
        found += _of_the_data(summary)
    return found + _of_the_values(values, items)


def _of_the_search(curve: AlphaCurveDisplay | None) -> list[str]:
    if curve is None or not curve.at_the_edge:
        return []
    smallest = curve.best_alpha == curve.alphas[0]
    side, more = ("smallest", "smaller") if smallest else ("largest", "larger")
    return [f"The best alpha, {with_digits(curve.best_alpha)}, is the {side} that was tried: try {more} ones."]


def _of_the_fit(learner: BaseEstimator) -> list[str]:
    gap, tolerance = getattr(learner, "gap_", None), getattr(learner, "tol", None)
    if gap is None or tolerance is None or gap <= tolerance:
        return []
    return [
        f"The solver stopped before it reached its tolerance: the objective may be {100 * gap:.2g}% above the minimum, "
        f"but {100 * tolerance:.2g}% was requested. Raise max_iter."
    ]


def _of_the_data(summary: DataSummary) -> list[str]:
    found = []
    if 2 * summary.n_without_pairs > summary.n_queries:
        found.append(
            f"{summary.n_without_pairs:,} of {counted(summary.n_queries, 'query')} in the {summary.name} have nothing "
            "to compare."
        )
    if summary.n_unscored:
        found.append(f"{counted(summary.n_unscored, 'item')} in the {summary.name} have no score and are left out.")
    return found


def _of_the_values(values: list[MeasuredValue], items: MeasuredItems) -> list[str]:
    found = [f"{value.measure.name} is missing: {value.problem}." for value in values if value.result is None]
    results = [value.result for value in values if value.result is not None]
    sizes = [len(result) for result in results]
    if items.folds:
        found.append(
            "The values are means over folds of one ranking; folds share training items, so intervals are too narrow."
        )
    elif sizes and 1 < min(sizes) < FEW_QUERIES:
        found.append(
            f"Only {counted(min(sizes), 'query')} can be measured: with fewer than {FEW_QUERIES} an interval from "
            "resampled queries is too narrow."
        )
    elif sizes and max(sizes) == 1:
        found.append("There is only one query, so there is no interval from resampled queries.")
    if len(items.scores) > 1 and np.ptp(items.scores) == 0:
        found.append("All predicted scores are the same: the model does not order the items.")
    return found
