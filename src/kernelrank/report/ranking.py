"""The report of a ranker: data, model, measures, explanations, and how to repeat the run, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from kernelrank.base.arrays import Float, Labels
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import Measure, MeasureResult
from kernelrank.model_selection.permutation import permutation_importance
from kernelrank.report.alpha_curve import AlphaCurveDisplay
from kernelrank.report.alpha_errors import query_standard_errors
from kernelrank.report.baselines import Baselines
from kernelrank.report.data_summary import DataSummary
from kernelrank.report.environment import parameters_of
from kernelrank.report.explained_pair import ExplainedPair
from kernelrank.report.explanations import Contributions, has_contributions, last_step
from kernelrank.report.influence import Influence
from kernelrank.report.measured import MeasuredItems
from kernelrank.report.measured_values import MeasuredValue, measure_all
from kernelrank.report.model_description import alpha_curve_of, describe_holdout, describe_kernel
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture
from kernelrank.report.pictures import alpha_picture, importance_picture, query_picture, roc_picture
from kernelrank.report.query_roc import query_roc
from kernelrank.report.query_scores import QueryScoreDisplay
from kernelrank.report.report_warnings import report_warnings
from kernelrank.report.roc import ROCDisplay

__all__ = ["ranking_report"]

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
    truth = _truth(model, y, _num_samples(X))
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
    n_items = _num_samples(X)
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
