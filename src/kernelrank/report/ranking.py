"""The report of a ranker: data, model, measures, explanations, and how to repeat the run, on one page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils import check_array

from kernelrank.base.arrays import Float, Index, Labels, RandomStateLike
from kernelrank.base.labels import Queries
from kernelrank.base.sklearn_private import num_samples, safe_indexing
from kernelrank.base.validation import check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.kernels import Kernel
from kernelrank.kernels.kernel import column_variances
from kernelrank.metrics import Disagreement, Interval, Measure, MeasureResult, get_measure
from kernelrank.model_selection import QueryKFold, leave_query_out
from kernelrank.model_selection.auc_comparison import tournament_scores
from kernelrank.model_selection.holdout import holdout, takes_shortcut
from kernelrank.model_selection.permutation import permutation_importance
from kernelrank.model_selection.search import AlphaSearch
from kernelrank.report.displays import (
    AlphaCurveDisplay,
    QueryScoreDisplay,
    alpha_curve_of,
    alpha_picture,
    chosen_learner,
    importance_picture,
    query_picture,
    query_standard_errors,
)
from kernelrank.report.explanations import (
    Contributions,
    Explanation,
    Influence,
    dense,
    explain,
    has_contributions,
    last_step,
    scores_of,
)
from kernelrank.report.roc import ROCDisplay, query_roc, roc_picture
from kernelrank.report.writing import Page, Picture, counted, parameters_of, render, with_digits

N_REPEATS = 5  # how often each feature is permuted for its importance
CHEAP = 1_000_000  # scores of items that importances may need, which takes about a second
MOST_FEATURES = 200  # features that have importances, and columns that are tried by themselves
TOURNAMENT_ITEMS = 2000  # items of one ranking whose pairs are all held out; their differences take 16 MB
FEW_QUERIES = 20  # with fewer queries a bootstrap interval is too narrow
FOLDS = 5
MOST_WEIGHTS = 30  # columns whose learnt weights are listed


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
    else:
        items = _test_items(model, test)
        summaries.append(DataSummary.of("test set", np.shape(items.X), items.y, items.qid))
    items = items.scored()
    values = measure_all(items, measures, random_state)
    first = _first_result(values)
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
        "kernels": tried_kernels(last_step(model)[1]),
        "column_weights": column_weights(last_step(model)[1], X, feature_names),
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
    how = "a test set that training has not seen"
    return MeasuredItems(X, _truth(model, y, n_items), scores_of(model, X), qid, ids, how)


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
        "kernel_choice": [(name, _value_words(value)) for name, value in chosen.items() if not name.endswith("alpha")],
        "holdout": f"by {describe_holdout(model, queries=queries)}" if alpha_curve is None else alpha_curve.name,
    }


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
    if n_features > MOST_FEATURES or N_REPEATS * n_features * n_items > CHEAP:
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


def _first_result(values: Sequence[MeasuredValue]) -> MeasureResult | None:
    """Return the result of the first measure that fits."""
    return next((value.result for value in values if value.result is not None), None)


def _worst(items: MeasuredItems, result: MeasureResult) -> list[tuple[Any, float, int, int]]:
    """Return the worst queries that are not ranked perfectly: label, value, number of items and of levels."""
    queries = Queries.from_labels(items.qid, len(items.y))
    members = dict(zip(queries.labels.tolist(), queries, strict=True))
    display = QueryScoreDisplay(result, n_worst=min(10, len(result)))
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
    first = _first_result(values)
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
            "query_picture": _query_picture(items, first, random_state),
            "warnings": [],
            "notes": list(notes),
            "command": command,
        },
    )


# Report warnings ------------------------------------------------------------------------------------------------------
#
# The warnings of a report: what makes its numbers less reliable.


def report_warnings(
    model: BaseEstimator,
    summaries: list[DataSummary],
    items: MeasuredItems,
    values: list[MeasuredValue],
    curve: AlphaCurveDisplay | None,
) -> list[str]:
    """List the warnings of a report: what makes its numbers less reliable."""
    found = []
    if curve is not None and curve.at_the_edge:
        side, more = ("smallest", "smaller") if curve.best_alpha == curve.alphas[0] else ("largest", "larger")
        found.append(f"The best alpha, {with_digits(curve.best_alpha)}, is the {side} that was tried: try {more} ones.")
    learner = last_step(model)[1]
    gap, tolerance = getattr(learner, "gap_", None), getattr(learner, "tol", None)
    if gap is not None and tolerance is not None and gap > tolerance:
        found.append(
            f"The solver stopped before it reached its tolerance: the objective may be {100 * gap:.2g}% above the "
            f"minimum, but {100 * tolerance:.2g}% was requested. Raise max_iter."
        )
    if items.chose_alpha:
        found.append(
            "Alpha was chosen by the same held-out items, so the values are slightly too good. A separate test set "
            "avoids this."
        )
    for summary in summaries:
        found += _of_the_data(summary)
    return found + _of_the_values(values, items)


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

    @property
    def largest_part(self) -> float:
        """What the longest bar stands for."""
        return float(np.abs(self.explanation.contributions).max(initial=0.0))

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


# Measured items -------------------------------------------------------------------------------------------------------
#
# The scores that a report measures: of a test set, or of training items by models that did not see them.


@dataclass(frozen=True, eq=False)
class MeasuredItems:
    """Items with true and predicted scores.

    Shapes: X (m, n), y (m,), scores (m,), qid (m,), ids (m,).
    """

    X: Any
    y: Float
    scores: Float
    qid: Labels | None
    ids: Labels | None
    how: str
    chose_alpha: bool = False
    folds: bool = False

    @classmethod
    def held_out(
        cls,
        model: BaseEstimator,
        X: Any,
        y: Float,
        target: ArrayLike,
        qid: Labels | None,
        ids: Labels | None,
        *,
        given: ArrayLike | None = None,
        random_state: RandomStateLike = 0,
    ) -> MeasuredItems:
        """Score the training items by models that did not see them.

        Shapes: y (m,), target (m,), given (m,).

        given: Held-out scores that are known already; NaN where there is none.
        """
        several = qid is not None and len(Queries.from_labels(qid, len(y))) > 1
        if given is not None:
            scores, how = _check_given(given, len(y)), "training items, by held-out scores that were given"
            # The scores of the search itself may be what is given.
            known = getattr(model, "holdout_scores_", None)
            chose = known is not None and np.array_equal(scores, known, equal_nan=True)
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        plain = _plain(model)
        chose = plain is not model
        known = getattr(model, "holdout_scores_", None)
        if several and known is not None:
            how = f"training items, scored by models that did not see them ({describe_holdout(model, queries=True)})"
            return cls(X, y, known, qid, ids, how, chose_alpha=True)
        exact = takes_shortcut(plain)
        if several and exact:
            how = "training items, each query scored by the model trained without it (leave-query-out, exact)"
            return cls(X, y, leave_query_out(plain, X, target, qid), qid, ids, how, chose_alpha=chose)
        if not several and exact and len(y) <= TOURNAMENT_ITEMS:
            how = (
                "training items, each pair ordered by the model trained without both; the score of an item is its "
                "number of wins (leave-pair-out, exact)"
            )
            return cls(X, y, tournament_scores(plain, X, target), None, ids, how, chose_alpha=chose)
        sets = _folds(len(y), qid if several else None, random_state)
        scores = np.full(len(y), np.nan)
        # Routing carries the queries to the last step of a pipeline.
        with sklearn.config_context(enable_metadata_routing=True):
            held = holdout(plain, X, target, sets, qid=qid if several else None)
        for items, part in zip(sets, held, strict=True):
            scores[items] = part
        if several:
            how = f"training items, each of {len(sets)} folds of queries scored by the model trained without it"
            return cls(X, y, scores, qid, ids, how, chose_alpha=chose)
        folds = np.empty(len(y), dtype=np.int64)
        for number, items in enumerate(sets, start=1):
            folds[items] = number
        how = f"training items; each of {len(sets)} folds scored by a model trained without it, and measured by itself"
        return cls(X, y, scores, folds, ids, how, chose_alpha=chose, folds=True)

    def scored(self) -> MeasuredItems:
        """Keep the items that have a true and a predicted score."""
        kept = np.flatnonzero(~(np.isnan(self.y) | np.isnan(self.scores)))
        if len(kept) == len(self.y):
            return self
        if len(kept) == 0:
            raise InvalidInputError("no item has both a true and a held-out score: there is nothing to measure")
        return replace(
            self,
            X=safe_indexing(self.X, kept),
            y=self.y[kept],
            scores=self.scores[kept],
            qid=_taken(self.qid, kept),
            ids=_taken(self.ids, kept),
        )


def _taken(labels: Labels | None, kept: Index) -> list[Any] | None:
    if labels is None:
        return None
    every = list(labels)  # a column of a data frame is read by place, whatever its index says
    return [every[number] for number in kept.tolist()]


def _check_given(given: ArrayLike, n_items: int) -> Float:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape != (n_items,):
        raise InvalidInputError(f"held_out has shape {scores.shape}, but there are {n_items} items")
    return scores


def _plain(model: BaseEstimator) -> BaseEstimator:
    """Return the learner that a search found, without the search."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if not isinstance(model, AlphaSearch):
        return model
    return chosen_learner(model).set_params(alpha=float(model.alpha_), gamma=model.gamma_)


def _folds(n_items: int, qid: Labels | None, random_state: RandomStateLike) -> list[Index]:
    """Cut queries, or the shuffled items of one ranking, into folds."""
    none = np.zeros((n_items, 1))
    if qid is None:
        return [test for _, test in KFold(FOLDS, shuffle=True, random_state=random_state).split(none)]
    queries = Queries.from_labels(qid, n_items)
    return [test for _, test in QueryKFold(min(FOLDS, len(queries))).split(none, groups=queries.codes)]


# Measured values ------------------------------------------------------------------------------------------------------
#
# The rows of a table of measures: value, interval, and what was left out.


@dataclass(frozen=True, eq=False)
class MeasuredValue:
    """A measure with its value, or with the reason why it could not be computed."""

    measure: Measure
    result: MeasureResult | None
    interval: Interval | None
    problem: str = ""

    @property
    def rules(self) -> str:
        """The conventions that the number depends on."""
        return ", ".join(self.measure.rules)


def measure_all(
    items: MeasuredItems, measures: Sequence[str | Measure], random_state: RandomStateLike
) -> list[MeasuredValue]:
    """Compute several measures; one that does not apply gives its reason instead of a value."""
    values = []
    # "AUC" and "auc" are the same measure.
    for measure in dict.fromkeys(get_measure(name) for name in measures):
        try:
            result = measure(items.y, items.scores, qid=items.qid)
        except InvalidInputError as error:
            values.append(MeasuredValue(measure, None, None, str(error)))
            continue
        interval = result.interval(random_state=random_state) if result.has_interval else None
        values.append(MeasuredValue(measure, result, interval))
    return values


# Baselines ------------------------------------------------------------------------------------------------------------
#
# Simple baselines: the random order, and the single feature that ranks best.


@dataclass(frozen=True, eq=False)
class BestColumn:
    """The single column that ranks best, in either direction.

    Shapes: scores (m,).
    """

    name: str
    value: float
    scores: Float

    @classmethod
    def of(
        cls, X: Any, value: Callable[[Float], float], names: Labels | None, *, rising: bool = True
    ) -> BestColumn | None:
        """Try every column in both directions; None if there are too many, or none of finite numbers.

        Shapes: X (m, n_features).
        """
        if not hasattr(X, "shape") or X.shape[1] > MOST_FEATURES:
            return None
        known = list(getattr(X, "columns", ()) if names is None else names)
        if names is None and not (known and all(isinstance(name, str) for name in known)):
            known = [f"x{number}" for number in range(X.shape[1])]  # as the table of weights calls them
        best: BestColumn | None = None
        for column, name in enumerate(known):
            try:
                scores = dense(safe_indexing(X, [column], axis=1)).ravel()
            except (TypeError, ValueError):
                continue  # words, which a pipeline turns into numbers
            if not np.all(np.isfinite(scores)):
                continue
            for sign, one in (("", scores), ("\N{MINUS SIGN}", -scores)):
                found = cls(f"{sign}{name}", value(one), one)
                if best is None or (found.value > best.value if rising else found.value < best.value):
                    best = found
        return best


@dataclass(frozen=True)
class Baselines:
    """What simple rankings reach by the same measures."""

    rows: list[tuple[str, float, float, float]]
    feature: str | None

    @classmethod
    def of(cls, items: MeasuredItems, values: Sequence[MeasuredValue], names: Labels | None) -> Baselines:
        """Measure the baselines on the items of the model. Time O(n_features m log m)."""
        measured = [(value.measure, value.result.mean) for value in values if value.result is not None]
        if not measured:
            return cls([], None)
        first = measured[0][0]
        found = BestColumn.of(
            items.X, lambda scores: _value(first, items, scores), names, rising=first.higher_is_better
        )
        rows = [
            (
                measure.name,
                mean,
                np.nan if found is None else _value(measure, items, found.scores),
                random_order(measure, items.y, items.qid),
            )
            for measure, mean in measured
        ]
        return cls(rows, None if found is None else found.name)


def random_order(measure: Measure, y: Float, qid: Labels | None) -> float:
    """Return the expected value of a random order: that of equal scores, with ties averaged or counted a half."""
    fair: Any = measure
    if hasattr(measure, "ties"):
        fair = replace(fair, ties="half" if isinstance(measure, Disagreement) else "average")
    return float(fair(y, np.zeros(len(y)), qid=qid).mean)


def _value(measure: Measure, items: MeasuredItems, scores: Float) -> float:
    return float(measure(items.y, scores, qid=items.qid).mean)


# Data summary ---------------------------------------------------------------------------------------------------------
#
# A summary of the data: how many queries, items, levels and ties there are, and what is left out.


@dataclass(frozen=True)
class DataSummary:
    """Counts of a set of scored items."""

    name: str
    n_items: int
    n_queries: int
    n_features: int
    query_sizes: tuple[float, float, float]
    n_levels: int
    level_counts: list[tuple[float, int]] | None
    level_range: tuple[float, float]
    n_pairs: int
    n_tied: int
    n_unscored: int
    single_item: list[Any]
    single_level: list[Any]

    @classmethod
    def of(cls, name: str, shape: tuple[int, int], y: Float, qid: Labels | None) -> DataSummary:
        """Count: O(m log m) time, O(m) memory.

        Shapes: y (m,), qid (m,).

        y: True scores; NaN for an item without one.
        """
        queries = Queries.from_labels(qid, len(y))
        scored = ~np.isnan(y)
        levels, level = np.unique(y[scored], return_inverse=True)
        codes = queries.codes[scored]
        sizes = np.bincount(codes, minlength=len(queries))
        # A cell is a level inside a query: the pairs of a cell are tied.
        cells, members = np.unique(codes * max(1, len(levels)) + level, return_counts=True)
        kinds = np.bincount(cells // max(1, len(levels)), minlength=len(queries))
        few = len(levels) <= 10
        counts = list(zip(levels.tolist(), np.bincount(level).tolist(), strict=True)) if few else None
        named = queries.labels.tolist()
        return cls(
            name=name,
            n_items=shape[0],
            n_queries=len(queries),
            n_features=shape[1],
            query_sizes=(float(queries.sizes.min()), float(np.median(queries.sizes)), float(queries.sizes.max())),
            n_levels=len(levels),
            level_counts=counts,
            level_range=(float(levels[0]), float(levels[-1])) if len(levels) else (np.nan, np.nan),
            n_pairs=_pairs(sizes),
            n_tied=_pairs(members),
            n_unscored=int((~scored).sum()),
            single_item=[named[q] for q in np.flatnonzero(sizes < 2).tolist()],
            single_level=[named[q] for q in np.flatnonzero((sizes >= 2) & (kinds == 1)).tolist()],
        )

    @property
    def n_without_pairs(self) -> int:
        """How many queries have nothing to compare."""
        return len(self.single_item) + len(self.single_level)


def _pairs(sizes: Index) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


# Model description ----------------------------------------------------------------------------------------------------
#
# A model in words: its kernel, its hold-out, its measure and its choice of alpha.

HOLDOUTS = {
    "leave_query_out": "leave-query-out, exact",
    "leave_pair_out": "leave-pair-out, exact",
    "leave_one_out": "leave-one-out, exact",
}


def describe_holdout(model: BaseEstimator, *, queries: bool) -> str:
    """Describe what a search held out."""
    cv = getattr(model, "cv", None)
    if isinstance(cv, int):
        return counted(cv, "fold")
    if cv == "auto":
        cv = "leave_query_out" if queries else model._without_queries
    return HOLDOUTS.get(cv, "folds") if isinstance(cv, str) else "folds"


@dataclass(frozen=True)
class TriedKernel:
    """A kernel that a search tried, with the best of its alphas."""

    name: str
    parameters: str
    n_alphas: int
    alpha: float
    score: float
    chosen: bool


def tried_kernels(learner: BaseEstimator) -> list[TriedKernel]:
    """Return the kernels that a search tried, in its order; none if there was one kernel or no search."""
    results, best = getattr(learner, "cv_results_", None), getattr(learner, "best_params_", {})
    if results is None or len(best) < 2:
        return []
    scores = np.asarray(results["mean_test_score"])
    groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for number, one in enumerate(results["params"]):
        groups.setdefault(tuple((name, value) for name, value in one.items() if name != "alpha"), []).append(number)
    found = []
    for setting, numbers in groups.items():
        place = numbers[int(scores[numbers].argmax())]
        own = dict(setting)
        words = ", ".join(f"{name} {_value_words(value)}" for name, value in own.items() if name != "kernel")
        chosen = own == {name: value for name, value in best.items() if name != "alpha"}
        alpha = float(best["alpha"]) if chosen and np.ndim(best["alpha"]) == 0 else results["params"][place]["alpha"]
        name = str(own.get("kernel", getattr(learner, "kernel", "")))
        found.append(TriedKernel(name, words, len(numbers), alpha, float(scores[place]), chosen))
    return found


def _value_words(value: Any) -> str:
    return with_digits(value) if isinstance(value, float) else str(value)


def column_weights(learner: BaseEstimator, X: Any, names: Labels | None) -> list[tuple[str, float]]:
    """Return the columns with the largest learnt weights, each that of the standardised column."""
    if not getattr(learner, "round_", 0):  # without a later round columns are only standardised
        return []
    metric: Float = learner.metric_
    weights = metric * column_variances(check_array(X, accept_sparse=True, dtype=np.float64))
    known = [f"x{number}" for number in range(len(metric))] if names is None else [str(name) for name in names]
    order = np.argsort(-weights, kind="stable")[:MOST_WEIGHTS]
    return [(known[c], float(weights[c])) for c in order.tolist()]


def describe_kernel(learner: BaseEstimator) -> str | None:
    """Name the kernel of a learner, with the parameters that it has; None for one that has no kernel."""
    if not isinstance(learner, KernelLearner):
        return None
    views: list[Kernel] = getattr(learner, "kernels_", [learner._kernel()])
    return ", ".join(dict.fromkeys(_describe(kernel) for kernel in views))


def _describe(kernel: Kernel) -> str:
    if not isinstance(kernel.metric, str):
        return kernel.name
    given = {name: value for name, value in kernel.arguments().items() if isinstance(value, (int, float))}
    words = ", ".join(f"{name} {with_digits(value)}" for name, value in given.items())
    return f"{kernel.metric} ({words})" if words else kernel.metric
