"""The report of a ranker: data, model, measures, explanations, and how to repeat the run, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from kernelrank.base.arrays import Float, Index, Labels
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import num_samples, safe_indexing
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Measure, MeasureResult, get_measure
from kernelrank.model_selection.permutation import permutation_importance
from kernelrank.report.displays import AlphaCurveDisplay, QueryScoreDisplay, query_standard_errors
from kernelrank.report.explanations import (
    Contributions,
    Explanation,
    Influence,
    explain,
    has_contributions,
    last_step,
    scores_of,
)
from kernelrank.report.measured import Baselines, DataSummary, MeasuredItems, MeasuredValue, measure_all
from kernelrank.report.pictures import (
    alpha_curve_of,
    alpha_picture,
    describe_holdout,
    describe_kernel,
    importance_picture,
    query_picture,
    roc_picture,
)
from kernelrank.report.roc import ROCDisplay, query_roc
from kernelrank.report.writing import Page, Picture, counted, parameters_of, render, with_digits

N_WORST = 10
N_REPEATS = 5
"""How often each feature is permuted."""
CHEAP = 1_000_000
"""Permutation importances are shown if they need at most this many scores of items, which takes about a second."""
MANY_FEATURES = 200
"""They are not shown for more features than this."""


def ranking_report(
    model: BaseEstimator,
    X: Any,
    y: Any,
    *,
    qid: Labels | None = None,
    ids: Labels | None = None,
    feature_names: Labels | None = None,
    held_out: ArrayLike | None = None,
    test: tuple[Any, Any, Any, Any] | None = None,
    alpha_curve: AlphaCurveDisplay | None = None,
    measures: Sequence[str | Measure] = ("ndcg@10", "map", "pairwise_accuracy"),
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    random_state: int | None = 0,
) -> Page:
    """Write the HTML report of a fitted ranker.

    Parameters
    ----------
    model : estimator
        Fitted RankRLSCV, RLSCV, RankRLS, RankSVM or RLS, or a pipeline or search with one of them at its end.
    X, y, qid
        What it was fitted to; one output.
    ids : sequence, shape (m,), optional
        The names of the training items; their row numbers, counted from 0, unless given.
    feature_names : sequence of str, optional
        The names of the columns of X.
    held_out : array-like, shape (m,), optional
        Held-out scores of the training items, if they are known; NaN where there is none.
    test : tuple (X, y, qid, ids), optional
        A test set to measure. Without one, held-out training items are measured: the held-out scores of the search, or
        exact hold-outs by query (RLS, RankRLS) or pair (without queries), or five folds. With a test set of moderate
        size the page also shows the permutation importances of a linear model.
    alpha_curve : AlphaCurveDisplay, optional
        The scores by which alpha was chosen, if the model itself is not a search: for example those on a validation
        file. Its `name` states how alpha was chosen, such as "on vali.txt".
    measures : sequence of str or Measure, default=("ndcg@10", "map", "pairwise_accuracy")
        The first that can be measured is shown query by query.
    title : str, optional
    command : str, optional
        The command that repeats the run.
    notes : sequence of str, default=()
        Further remarks on the run.
    random_state : int or None, default=0
        Random seed for resampled queries and items, and for folds of items.

    Returns
    -------
    Page
        The same input makes the same page on the same day.

    Raises
    ------
    MissingExtraError
        If matplotlib or jinja2 is not installed.

    Notes
    -----
    O(m log m + m n) time in addition to the hold-out, which costs what `leave_query_out` or `leave_pair_out` does
    unless the search has left its scores.

    Examples
    --------
    >>> from kernelrank import RankRLSCV, make_ranking
    >>> from kernelrank.report import ranking_report
    >>> X, y, qid = make_ranking(n_queries=30, n_levels=3, random_state=0)
    >>> model = RankRLSCV(alphas=[0.01, 1.0, 100.0, 1e4]).fit(X, y, qid=qid)
    >>> page = ranking_report(model, X, y, qid=qid, title="Thirty queries")
    >>> "<h1>Thirty queries</h1>" in page.html
    True
    """
    truth = _truth(model, y, num_samples(X))
    if ids is not None and len(ids) != len(truth):
        raise InvalidInputError(f"ids has {len(ids)} entries, but there are {len(truth)} items")
    summaries = [DataSummary.of("training set", np.shape(X), truth, qid)]
    if test is None:
        items = MeasuredItems.held_out(model, X, truth, y, qid, ids, given=held_out, random_state=random_state)
        items = items.scored()
    else:
        items = _test_items(model, test)
        summaries.append(DataSummary.of("test set", np.shape(items.X), items.y, items.qid))
        items = items.scored()
    values = measure_all(items, measures, random_state)
    first = next((value.result for value in values if value.result is not None), None)
    curve = alpha_curve_of(model) if alpha_curve is None else alpha_curve
    if curve is not None and curve.errors is None and curve.scores.ndim == 1:
        curve.errors = query_standard_errors(model, X, truth, qid, curve.alphas)
    influence = pair = None
    if has_contributions(model):
        influence = Influence.of(Contributions.of(model, feature_names=feature_names, training_ids=ids), X)
        pair = ExplainedPair.of(model, items, first, feature_names=feature_names, training_ids=ids)
    content = {
        "title": title or "Ranking report",
        **_model_description(model, alpha_curve, queries=summaries[0].n_queries > 1),
        "curve": curve,
        "curve_rows": [] if curve is None else list(zip(curve.alphas.tolist(), curve.scores.tolist(), strict=True)),
        "curve_picture": None if curve is None else alpha_picture(curve),
        "summaries": summaries,
        "items": items,
        "values": values,
        "baselines": Baselines.of(items, values, feature_names),
        "first": first,
        "query_picture": _query_picture(items, first, random_state),
        "worst": [] if first is None or items.folds or len(first) < 2 else _worst(items, first),
        "roc_picture": _roc(items, random_state),
        "influence": influence,
        "importance_picture": None if test is None else _importance(model, items, values, influence, feature_names),
        "pair": pair,
        "largest_part": 0.0 if pair is None else _largest_part(pair),
        "tested": test is not None,
        "warnings": report_warnings(model, summaries, items, values, curve),
        "notes": list(notes),
        "command": command,
        "parameters": parameters_of(model),
    }
    return render("ranking.html.j2", content)


def _truth(model: BaseEstimator, y: ArrayLike, n_items: int) -> Float:
    """Return true scores as numbers, the two classes of a classifier as 0 and 1."""
    classes = getattr(last_step(model)[1], "classes_", None)
    if classes is not None and len(classes) > 2:
        raise InvalidInputError(f"expected a model with two classes; got {len(classes)}")
    if classes is not None:
        y = (np.asarray(y) == classes[1]).astype(np.float64)
    scores = check_scores(y, n_items, allow_missing=True)
    if scores.ndim == 2 and scores.shape[1] > 1:
        raise InvalidInputError(f"expected one output; y has {scores.shape[1]}. Write one report per output")
    return scores.reshape(-1)


def _test_items(model: BaseEstimator, test: tuple[Any, Any, Any, Any]) -> MeasuredItems:
    if not isinstance(test, (tuple, list)) or len(test) != 4:
        raise InvalidInputError("test must be a tuple of four: X, y, qid and ids, where qid and ids may be None")
    X, y, qid, ids = test
    n_items = num_samples(X)
    if ids is not None and len(ids) != n_items:
        raise InvalidInputError(f"the ids of test have {len(ids)} entries, but there are {n_items} items")
    return MeasuredItems.of_test(model, X, _truth(model, y, n_items), qid, ids)


def _model_description(model: BaseEstimator, alpha_curve: AlphaCurveDisplay | None, *, queries: bool) -> dict[str, Any]:
    """Return what the first paragraph says of a model."""
    transform, learner = last_step(model)
    found = getattr(learner, "alpha_", getattr(learner, "alpha", None))
    chosen = getattr(model, "best_params_", {})
    return {
        "learner": learner,
        "steps": [] if transform is None else [type(step).__name__ for _, step in transform.steps],
        "kernel": describe_kernel(learner),
        "alpha": float(found) if isinstance(found, Real) else None,
        "kernel_choice": [(name, value) for name, value in chosen.items() if not name.endswith("alpha")],
        "holdout": f"by {describe_holdout(model, queries=queries)}" if alpha_curve is None else alpha_curve.name,
    }


def _largest_part(pair: ExplainedPair) -> float:
    """Return what the longest bar stands for."""
    return float(np.abs(pair.explanation.contributions).max(initial=0.0))


def _importance(
    model: BaseEstimator,
    items: MeasuredItems,
    values: Sequence[MeasuredValue],
    influence: Influence | None,
    feature_names: Labels | None,
) -> Picture | None:
    """Draw the permutation importances of a model with weights on a test set, where they are cheap."""
    measured = next((value.measure for value in values if value.result is not None), None)
    if measured is None or influence is None or influence.kind != "features":
        return None
    n_items, n_features = items.X.shape
    if n_features > MANY_FEATURES or N_REPEATS * n_features * n_items > CHEAP:
        return None
    names = None if feature_names is None else [str(name) for name in feature_names]
    found = permutation_importance(
        model, items.X, items.y, items.qid, scoring=measured, n_repeats=N_REPEATS, feature_names=names, random_state=0
    )
    return importance_picture(found)


def _query_picture(items: MeasuredItems, result: MeasureResult | None, random_state: int | None) -> Picture | None:
    if result is None or len(result) < 2:
        return None
    return query_picture(result, noun="fold" if items.folds else "query", random_state=random_state)


def _worst(items: MeasuredItems, result: MeasureResult) -> list[tuple[Any, float, int, int]]:
    """Return the worst queries that are not ranked perfectly: label, value, number of items and of levels."""
    queries = Queries.from_labels(items.qid, len(items.y))
    members = dict(zip(queries.labels.tolist(), queries, strict=True))
    display = QueryScoreDisplay(result, n_worst=min(N_WORST, len(result)))
    perfect = 0.0 if result.label.startswith("disagreement") else 1.0
    return [
        (label, value, len(members[label]), len(np.unique(items.y[members[label]])))
        for label, value in display.worst
        if value != perfect
    ]


def _roc(items: MeasuredItems, random_state: int | None) -> Picture | None:
    """Draw the ROC curve of two levels, averaged over queries where there are several."""
    levels = np.unique(items.y)
    if len(levels) != 2:
        return None
    positive = items.y == levels[1]
    queries = Queries.from_labels(items.qid, len(items.y))
    measured = [members for members in queries if 0 < positive[members].sum() < len(members)]
    if len(measured) > 1:
        display = query_roc(positive, items.scores, qid=items.qid, random_state=random_state)
        caption = (
            f"The mean of the curves of {len(measured):,} {'folds' if items.folds else 'queries'}: items of different "
            "ones are never compared. The area is the mean of their AUCs."
        )
        return roc_picture(display, caption)
    members = measured[0]
    display = ROCDisplay.of_scores(positive[members], items.scores[members], random_state=random_state)
    return roc_picture(display, f"The interval {display.estimate.interval.method}.")


# Folds report ---------------------------------------------------------------------------------------------------------
#
# The report of a folder of folds: what each chose, and how well all test queries are ranked, on one page.


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


# Report warnings ------------------------------------------------------------------------------------------------------
#
# The warnings of a report: what makes its numbers less reliable.

FEW_QUERIES = 20
"""With fewer queries a bootstrap interval is too narrow."""


def report_warnings(
    model: BaseEstimator,
    summaries: list[DataSummary],
    items: MeasuredItems,
    values: list[MeasuredValue],
    curve: AlphaCurveDisplay | None,
) -> list[str]:
    """List the warnings of a report: what makes its numbers less reliable."""
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


# Explained pair -------------------------------------------------------------------------------------------------------
#
# One pair of a report, explained: two items near the top of a query of median quality.


@dataclass(frozen=True, eq=False)
class ExplainedPair:
    """Two items, and why the first has the higher score."""

    first: Any
    second: Any
    query: Any
    truth: tuple[float, float]
    explanation: Explanation

    @property
    def right(self) -> bool:
        """Whether the true scores order the pair as the model does."""
        return self.truth[0] > self.truth[1]

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        items: MeasuredItems,
        result: MeasureResult | None,
        *,
        feature_names: Labels | None,
        training_ids: Labels | None,
    ) -> ExplainedPair | None:
        """Take the highest item of the query in the middle, and the highest below it with another true score."""
        members, query = _members(items, result)
        scores = scores_of(model, safe_indexing(items.X, members))
        first = int(np.argmax(scores))
        below = np.flatnonzero((items.y[members] != items.y[members[first]]) & (scores < scores[first]))
        if len(below) == 0:
            return None
        second = int(below[np.argmax(scores[below])])
        pair = members[[first, second]]
        explanation = explain(
            model, safe_indexing(items.X, pair), feature_names=feature_names, training_ids=training_ids
        )
        every = None if items.ids is None else list(items.ids)
        names = [f"item {number}" if every is None else every[number] for number in pair.tolist()]
        truth = (float(items.y[pair[0]]), float(items.y[pair[1]]))
        return cls(names[0], names[1], query, truth, explanation)


def _members(items: MeasuredItems, result: MeasureResult | None) -> tuple[Index, Any]:
    """Return the items of the query whose value is the median, and its label."""
    if items.qid is None or items.folds:
        return np.arange(len(items.y)), None
    queries = Queries.from_labels(items.qid, len(items.y))
    labels = queries.labels.tolist()
    if result is None:
        return next(iter(queries)), labels[0]
    middle = result.queries.tolist()[int(np.argsort(result.values, kind="stable")[len(result) // 2])]
    return list(queries)[labels.index(middle)], middle
