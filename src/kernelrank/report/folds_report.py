"""The report of a folder of folds: what each chose, and how well all test queries are ranked, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelrank.base.arrays import Labels
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Measure, get_measure
from kernelrank.report.baselines import Baselines
from kernelrank.report.measured import MeasuredItems
from kernelrank.report.measured_values import measure_all
from kernelrank.report.page import Page, render
from kernelrank.report.pictures import query_picture

__all__ = ["folds_report"]


def folds_report(
    folds: Sequence[Mapping[str, Any]],
    y: ArrayLike,
    scores: ArrayLike,
    *,
    qid: Labels | None = None,
    X: Any = None,
    feature_names: Labels | None = None,
    measures: Sequence[str | Measure] = ("ndcg@10", "map", "pairwise_accuracy"),
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Write the HTML report of several folds: what each chose, and how well its test items are ranked.

    Parameters
    ----------
    folds : sequence of mappings
        For each fold its name ("fold"), the chosen parameters, their "score", "how" they were chosen, and the value on
        its test items ("test", None without any).
    y : array-like, shape (m,)
        True scores of the test items of all folds.
    scores : array-like, shape (m,)
        Their predictions, each by the model of its fold.
    qid : sequence, shape (m,), optional
        Their queries; those of different folds have different names.
    X : array-like or sparse matrix, shape (m, n_features), optional
        Their features; with them, the best single one stands beside the model.
    feature_names : sequence of str, optional
        Those of the columns of X.
    measures : sequence of str or Measure, default=("ndcg@10", "map", "pairwise_accuracy")
        The first is the measure by which parameters were chosen; it is shown query by query.
    title, command, notes
        As in `ranking_report`.
    random_state : int or None, default=0
        Random seed for resampling queries.

    Returns
    -------
    Page

    Raises
    ------
    MissingExtraError
        If matplotlib or jinja2 is not installed.

    Notes
    -----
    O(m log m) time and O(m) memory in addition to the resampling of the queries.

    Examples
    --------
    >>> from kernelrank.report import folds_report
    >>> folds = [{"fold": "Fold1", "alpha": 1.0, "score": 0.8, "how": "on vali.txt", "test": 0.75}]
    >>> page = folds_report(folds, [2, 1, 0, 1], [3.0, 1.0, 2.0, 4.0], qid=[1, 1, 2, 2], title="One fold")
    >>> "<h1>One fold</h1>" in page.html
    True
    """
    if not folds:
        raise InvalidInputError("Expected at least one fold; got none.")
    truth, predicted = (check_scores(values, len(np.asarray(y))).reshape(-1) for values in (y, scores))
    items = MeasuredItems(
        np.empty((len(truth), 0)) if X is None else X, truth, predicted, qid, None, "the test items of each fold"
    )
    values = measure_all(items, measures, random_state)
    first = next((value.result for value in values if value.result is not None), None)
    tested = [fold["test"] for fold in folds if fold["test"] is not None]
    beside = ("fold", "score", "how", "test")
    return render(
        "folds.html.j2",
        {
            "title": title or "Report of the folds",
            "folds": list(folds),
            "parameters": list(dict.fromkeys(name for fold in folds for name in fold if name not in beside)),
            "measure": get_measure(measures[0]),
            "mean": float(np.mean(tested)) if tested else None,
            "n_items": len(truth),
            "values": values,
            "baselines": Baselines.of(items, values, feature_names),
            "query_picture": None
            if first is None or len(first) < 2
            else query_picture(first, random_state=random_state),
            "warnings": [],
            "notes": list(notes),
            "command": command,
        },
    )
