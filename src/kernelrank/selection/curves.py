"""Nested cross-validation of a feature selection: its accuracy for every number of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from kernelrank.base.arrays import Float, Index, one_pool
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, GreedyRLS, RankRLS
from kernelrank.metrics.interval import check_confidence
from kernelrank.model_selection.held_out_tally import PairTally, QueryTally, Tally
from kernelrank.model_selection.holdout import leave_one_out, leave_query_out
from kernelrank.model_selection.item_folds import deal_items
from kernelrank.model_selection.query_k_fold import QueryKFold
from kernelrank.model_selection.selection_path import SelectionData, SelectionPath, mean_accuracy

__all__ = ["SelectionCurve", "selection_curve"]

REPEATS = 10
"""How often folds are dealt out by default, if there are no queries."""


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCurve(Result):
    """The accuracy of a feature selection for every number of features.

    Parameters
    ----------
    features : tuple
        The features in the order of their selection when selected from all items: names, or columns.
    criterion : ndarray, shape (k,)
        The held-out squared error that the selection minimised, for one feature, for two, and so on.
    inside : ndarray, shape (k,)
        The held-out accuracy of the same features: pairs, queries or items are held out, but took part in the
        selection. It is optimistic.
    nested : ndarray, shape (k,)
        The accuracy on items that took no part in the selection either.
    low, high : ndarray, shape (k,)
        The ends of the intervals of `nested`.
    level : float
        How often such an interval is meant to hold the accuracy.
    interval_method : str
        What the intervals allow for.
    measure : str
        What the accuracy is.
    held_out : str
        What was held out for `nested`.

    Examples
    --------
    >>> one = np.array([0.9])
    >>> print(SelectionCurve(("age",), one, one, one - 0.1, one - 0.2, one, 0.95, "all", "AUC", "10 folds, 10 times"))
    AUC 0.800 [0.700, 0.900] with 1 feature, the best of 1 (10 folds, 10 times); 0.900 on the data used for selection
    """

    features: tuple[Any, ...]
    criterion: Float
    inside: Float
    nested: Float
    low: Float
    high: Float
    level: float
    interval_method: str
    measure: str
    held_out: str

    @property
    def best(self) -> int:
        """The number of features with the highest nested accuracy, the smallest of several."""
        return int(np.argmax(self.nested)) + 1

    def __str__(self) -> str:
        at, noun = self.best - 1, "feature" if self.best == 1 else "features"
        return (
            f"{self.measure} {self.nested[at]:.3f} [{self.low[at]:.3f}, {self.high[at]:.3f}] with {self.best} {noun}, "
            f"the best of {len(self.nested)} ({self.held_out}); {self.inside[at]:.3f} on the data used for selection"
        )

    def _facts(self) -> list[tuple[str, str]]:
        at = self.best - 1
        return [
            ("measure", self.measure),
            ("features with the highest nested value", f"{self.best} of 1 to {len(self.nested)}"),
            ("nested", f"{self.nested[at]:.3f}"),
            (f"{100 * self.level:.4g}% interval", f"{self.low[at]:.3f} to {self.high[at]:.3f}"),
            ("about the interval", self.interval_method),
            ("where the features were selected", f"{self.inside[at]:.3f}"),
            ("held out", self.held_out),
            ("features", ", ".join(map(str, self.features[: self.best]))),
        ]

    def _columns(self) -> dict[str, Any]:
        return {
            "n_features": np.arange(1, len(self.nested) + 1),
            "feature": list(self.features),
            "criterion": self.criterion,
            "inside": self.inside,
            "nested": self.nested,
            "low": self.low,
            "high": self.high,
        }


@one_pool
def selection_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    cv: Any = 10,
    n_repeats: int | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> SelectionCurve:
    """Cross-validate a feature selection for every number of features; features are selected inside each fold.

    The criterion that a selection minimises is the lowest of very many, so it is far too optimistic for new data. Here
    the selection is repeated in every training set, and the models are measured on the held-out items. One selection
    path serves every number of features.

    Parameters
    ----------
    estimator : GreedyRankRLS, GreedyRLS, or a pipeline that ends with one
        The steps before the selector are refitted in every training set, too. ``n_features_to_select="auto"``
        chooses the largest number of features of the curve from all items.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Scores, or any two labels.
    qid : sequence, shape (m,), optional
        The query of each item. Queries are held out whole.
    cv : int, "leave_pair_out", "leave_query_out", splitter or iterable, default=10
        What is held out: a number of folds, of items stratified by their scores or of queries; every pair of items with
        different scores; every query; or the folds of a scikit-learn splitter.
    n_repeats : int, optional
        How often the folds are drawn: ten times unless given, once if there are queries.
    confidence : float, default=0.95
        Confidence level of the intervals.
    n_jobs : int, optional
        The number of parallel selections.
    random_state : int, RandomState or None, default=None
        Random seed of the folds and of resampled queries.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    SelectionCurve

    See Also
    --------
    kernelrank.selection_stability : How often each feature is selected.
    kernelrank.permutation_test : Whether such an accuracy could be chance.

    Notes
    -----
    Time: one selection for each fold, pair or query; m² time and m numbers for each number of features beside that. The
    intervals allow for other items, or queries, being scored, and not for others being trained on. The best number of
    features is chosen by the same accuracy; where many numbers are compared, its own accuracy is a little optimistic.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS, selection_curve
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> y = X[:, 3] + X[:, 7] + rng.standard_normal(60) > 0
    >>> curve = selection_curve(GreedyRankRLS(5), X, y.astype(int), n_repeats=2, random_state=0)
    >>> sorted(curve.features[:2]), curve.nested.shape
    ([3, 7], (5,))
    >>> bool(curve.nested[-1] < curve.inside[-1])
    True
    """
    if verbose:
        return verbosely(selection_curve, locals())
    check_confidence(confidence)
    random = check_random_state(random_state)
    data = SelectionData.read(estimator, X, y, qid)
    path = SelectionPath.fitted(estimator, data)
    splits, held_out = _splits(cv, n_repeats, data, random)
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (joblib.delayed(_held_out_scores)(estimator, data, train, test, len(path)) for train, test in splits)
    tally: Tally = PairTally(data.y, len(path)) if data.qid is None else QueryTally(data.y, data.qid, len(path))
    found = track(parallel(jobs), len(splits), "selecting features", noun="selections")
    for (_, test), scores in zip(splits, found, strict=True):
        tally.add(test, scores)
    intervals = tally.intervals(confidence)
    return SelectionCurve(
        tuple(path.names),
        np.array([step["criterion"] for step in path.steps]),
        _inside(path, data),
        tally.accuracy(),
        np.array([interval.low for interval in intervals]),
        np.array([interval.high for interval in intervals]),
        confidence,
        intervals[0].method,
        tally.label,
        held_out,
    )


def _held_out_scores(estimator: Any, data: SelectionData, train: Index, test: Index, n_features: int) -> Float:
    """Select without some items, and score them by every model of the path."""
    return SelectionPath.fitted(estimator, data.part(train), n_features).scores(data.part(test).X)


def _splits(
    cv: Any, n_repeats: int | None, data: SelectionData, random: np.random.RandomState
) -> tuple[list[tuple[Index, Index]], str]:
    """Return the training and the held-out items of every model, and what was held out, in words."""
    if isinstance(cv, str):
        if cv not in ("leave_pair_out", "leave_query_out") or (cv == "leave_query_out") != (data.qid is not None):
            raise InvalidInputError(
                f"Expected cv='leave_pair_out' without qid, cv='leave_query_out' with qid, a number of folds or a "
                f"splitter; got cv={cv!r} {'without' if data.qid is None else 'with'} qid."
            )
        held = (
            list(_pairs(data.y)) if data.qid is None else [np.flatnonzero(data.qid == q) for q in np.unique(data.qid)]
        )
        return _with_rest(held, len(data)), f"{len(held):,} {'pairs' if data.qid is None else 'queries'}"
    if not isinstance(cv, Integral):
        splits = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(data.X, data.y, data.qid)]
        return splits, f"{len(splits)} folds"
    repeats = (REPEATS if data.qid is None else 1) if n_repeats is None else n_repeats
    if not isinstance(repeats, Integral) or repeats < 1:
        raise InvalidInputError(f"Expected n_repeats as a whole number of at least 1; got {n_repeats!r}.")
    held = []
    for _ in range(int(repeats)):
        if data.qid is None:
            held += deal_items(data.y, int(cv), random)
        else:
            folds = QueryKFold(int(cv), shuffle=True, random_state=random)
            held += [test for _, test in folds.split(np.zeros((len(data), 1)), groups=data.qid)]
    return _with_rest(held, len(data)), f"{cv} folds, {'once' if repeats == 1 else f'{repeats} times'}"


def _pairs(y: Float) -> Iterator[Index]:
    first, second = np.nonzero(y[:, None] > y)
    return iter(np.column_stack([first, second]))


def _with_rest(held: list[Index], m: int) -> list[tuple[Index, Index]]:
    items = np.arange(m)
    return [(np.delete(items, test), test) for test in held]


def _inside(path: SelectionPath, data: SelectionData) -> Float:
    """Return the accuracy of each model on what was held out, exactly, after a selection on all items."""
    if "pair_accuracy" in path.steps[0]:
        return np.array([step["pair_accuracy"] for step in path.steps])
    X = data.X if path.preparation is None else path.preparation.transform(data.X)
    X = path.selector._check_items(X, reset=False)
    found = []
    for step in path.steps:
        columns, alpha = X[:, step["columns"]], step["alpha"]
        if isinstance(path.selector, GreedyRLS):
            model = RLS(alpha)
            held = (
                leave_one_out(model, columns, data.y)
                if data.qid is None
                else leave_query_out(model, columns, data.y, data.qid)
            )
        else:
            model = RankRLS(alpha, query_weight=path.selector.query_weight)
            held = leave_query_out(model, columns, data.y, data.qid)
        found.append(mean_accuracy(data.y, np.asarray(held), data.qid))
    return np.array(found)
