"""Nested cross-validation of a feature selection: its accuracy for every number of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Float, Index, one_pool, product
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.base.sklearn_private import safe_indexing
from kernelrank.base.validation import check_confidence, check_scores
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.metrics.roc import TwoClasses
from kernelrank.model_selection.holdout import leave_one_out, leave_query_out
from kernelrank.model_selection.permutation import PairTally, QueryTally, Tally
from kernelrank.model_selection.refits import QueryKFold, deal_items
from kernelrank.selection.estimators import GreedyRLS, GreedySelector
from kernelrank.selection.search import column_units


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
    # How often folds are dealt out by default, if there are no queries.
    repeats = (10 if data.qid is None else 1) if n_repeats is None else n_repeats
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


# Selection path -------------------------------------------------------------------------------------------------------
#
# The path of a greedy selection: one model for each number of features, all from one search.


def selector_of(estimator: Any) -> GreedySelector:
    """Return the selector that an estimator is, or that a pipeline ends with."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, GreedySelector):
        raise InvalidInputError(
            f"Expected GreedyRankRLS, GreedyRLS, or a pipeline that ends with one; got {type(estimator).__name__}."
        )
    return last


@dataclass(frozen=True, eq=False)
class SelectionData:
    """The items, scores and queries that features are selected for.

    Shapes: X (m, n_features), y (m,), qid (m,).
    """

    X: Any
    y: Float
    qid: Index | None

    @classmethod
    def read(cls, estimator: Any, X: Any, y: Any, qid: Any) -> SelectionData:
        """Check the data; two classes that are not numbers become ±1, where the one that sorts last is positive."""
        m = X.shape[0] if hasattr(X, "shape") else len(X)
        values = column_or_1d(y)
        if values.dtype.kind not in "iuf":
            values = TwoClasses.read(values, m).target(selector_of(estimator))
        codes = None if qid is None else Queries.from_labels(qid, m).codes
        return cls(X, check_scores(values, m), codes)

    def __len__(self) -> int:
        return len(self.y)

    def part(self, items: Index) -> SelectionData:
        """Return the data of some items."""
        return SelectionData(safe_indexing(self.X, items), self.y[items], None if self.qid is None else self.qid[items])


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """The models of one path, from the first feature to the last."""

    preparation: Pipeline | None
    selector: GreedySelector
    steps: list[dict[str, Any]]

    @classmethod
    def fitted(cls, estimator: Any, data: SelectionData, n_features: int | None = None) -> SelectionPath:
        """Fit a clone, and keep one model for each number of features, or groups of them."""
        selector: GreedySelector = clone(selector_of(estimator))
        if n_features is not None:
            selector.set_params(n_features_to_select=n_features)
        preparation, X = None, data.X
        if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
            preparation = clone(estimator[:-1])
            X = preparation.fit_transform(X, data.y)
        selector.fit(X, data.y, **({} if data.qid is None else {"qid": data.qid}))
        return cls(preparation, selector, _by_size(selector))

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def names(self) -> list[Any]:
        """The features in the order of their selection: names if the selector has them, else numbers."""
        return [self.name(step["feature"]) for step in self.steps]

    def name(self, column: int) -> Any:
        """Return what a column of the selector is called: its name, or its number."""
        names = getattr(self.selector, "feature_names_in_", None)
        if names is None and self.preparation is not None and hasattr(self.preparation, "get_feature_names_out"):
            try:
                names = self.preparation.get_feature_names_out()
            except (ValueError, AttributeError):  # a step without names
                names = None
            if names is not None and not hasattr(self.preparation, "feature_names_in_"):
                names = None
        return column if names is None else str(names[column])

    def scores(self, X: Any) -> Float:
        """Predict the scores of t items by every model of the path, shape (t, number of models)."""
        X = X if self.preparation is None else self.preparation.transform(X)
        X = self.selector._check_items(X, reset=False)
        used = np.unique(np.concatenate([step["columns"] for step in self.steps]))
        W = np.zeros((len(used), len(self.steps)))
        for number, step in enumerate(self.steps):
            W[np.searchsorted(used, step["columns"]), number] = step["coefficients"]
        return product(X[:, used], W)


def _by_size(selector: GreedySelector) -> list[dict[str, Any]]:
    """Return for each number of units the step with the lowest criterion; a floating search has several."""
    labels = None if selector.feature_groups is None else np.asarray(selector.feature_groups)
    best: dict[int, dict[str, Any]] = {}
    for step in selector.path_:
        columns = step["columns"]
        size = len(columns) if labels is None else len(set(labels[columns].tolist()))
        if size not in best or step["criterion"] < best[size]["criterion"]:
            best[size] = step
    return [best[size] for size in sorted(best)]


def mean_accuracy(y: Float, scores: Float, qid: Index | None) -> float:
    """Return the share of pairs in the right order, as a mean over queries."""
    return PairwiseAccuracy()(y, scores, qid=qid).mean


# Selection frequency --------------------------------------------------------------------------------------------------
#
# How stable a feature selection is: how often each feature is selected from halves of the data.
#
# Stability selection [MB10]_ selects q features from each of many random halves. Of p features, those that at least a
# share π > ½ of the halves select are kept; at most ``q² / ((2π - 1) p)`` of them are expected to be false. The bound
# assumes that all false features are equally likely to be selected, and true ones no less likely.
#
# References
# ----------
# .. [MB10] Meinshausen and Bühlmann (2010). Stability selection. Journal of the Royal Statistical Society B 72(4).


@dataclass(frozen=True, eq=False, repr=False)
class SelectionStability(Result):
    """How often each feature was selected.

    Parameters
    ----------
    features : tuple
        The features that were selected at least once, the most frequent first: names, or columns.
    frequency : ndarray, shape (len(features),)
        The share of the subsamples that selected each.
    n_selected : float
        How many features a subsample selected, on average: q.
    n_features : int
        How many features there were: p.
    n_subsamples : int

    Examples
    --------
    >>> found = SelectionStability(("age", "dose"), np.array([1.0, 0.6]), 2.0, 40, 100)
    >>> found.stable(0.9), round(found.expected_false(0.9), 3)
    (['age'], 0.125)
    >>> print(found)
    1 feature selected by at least 90% of 100 halves, of which at most 0.12 are expected to be false: age
    """

    features: tuple[Any, ...]
    frequency: Float
    n_selected: float
    n_features: int
    n_subsamples: int

    def stable(self, threshold: float = 0.9) -> list[Any]:
        """Return the features that at least a share of the subsamples selected.

        Parameters
        ----------
        threshold : float, default=0.9
            Above a half, at most one.

        Returns
        -------
        list
        """
        _check_threshold(threshold)
        return [name for name, share in zip(self.features, self.frequency, strict=True) if share >= threshold - 1e-12]

    def expected_false(self, threshold: float = 0.9) -> float:
        """Return how many of these are expected to be false, at most: the bound of [MB10].

        Parameters
        ----------
        threshold : float, default=0.9
            Above a half, at most one.

        Returns
        -------
        float
        """
        _check_threshold(threshold)
        return float(self.n_selected**2 / ((2 * threshold - 1) * self.n_features))

    def __str__(self) -> str:
        stable = self.stable()
        names = ", ".join(map(str, stable[:10])) + (", …" if len(stable) > 10 else "")
        return (
            f"{len(stable)} feature{'' if len(stable) == 1 else 's'} selected by at least 90% of {self.n_subsamples} "
            f"halves, of which at most {self.expected_false():.2g} are expected to be false"
            + (f": {names}" if stable else "")
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("halves of the data", f"{self.n_subsamples:,}"),
            ("features selected from each", f"{self.n_selected:.4g} of {self.n_features:,}"),
            *(
                (
                    f"selected by at least {100 * threshold:.0f}%",
                    f"{len(self.stable(threshold))} features, of which at most {self.expected_false(threshold):.2g} "
                    "are expected to be false",
                )
                for threshold in (0.9, 0.75, 0.6)
            ),
            ("most frequent", ", ".join(map(str, self.features[:10]))),
        ]

    def _columns(self) -> dict[str, Any]:
        bound = np.full(len(self.frequency), np.inf)
        often = self.frequency > 0.5
        bound[often] = self.n_selected**2 / ((2 * self.frequency[often] - 1) * self.n_features)
        return {"feature": list(self.features), "frequency": self.frequency, "expected_false": bound}


@one_pool
def selection_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    n_subsamples: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> SelectionStability:
    """Count how often each feature is selected on random halves of the data (stability selection).

    Parameters
    ----------
    estimator : GreedyRankRLS, GreedyRLS, or a pipeline that ends with one
        ``n_features_to_select="auto"`` chooses a number of features from all items; all halves then select so many.
    X : array-like or sparse matrix, shape (m, n_features)
    y : array-like, shape (m,)
        Scores, or any two labels; each half has its share of low and high ones.
    qid : sequence, shape (m,), optional
        The query of each item: halves are then halves of the queries.
    n_subsamples : int, default=100
        How many halves are drawn.
    n_jobs : int, optional
        The number of parallel selections.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the halves.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    SelectionStability

    Notes
    -----
    Time: one selection for each half. A feature with the weight zero does not count as selected: if no feature lowers
    the error any more, the search adds features that are constant in a half. [MB10]_ recommends
    thresholds from 0.6 to 0.9. The fewer features each half selects, the fewer false ones are expected.

    References
    ----------
    .. [MB10] Meinshausen and Bühlmann (2010). Stability selection. Journal of the Royal Statistical Society B 72(4).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRankRLS, selection_stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 30))
    >>> y = X[:, 3] + X[:, 7] + 0.3 * rng.standard_normal(80)
    >>> found = selection_stability(GreedyRankRLS(2), X, y, n_subsamples=20, random_state=0)
    >>> sorted(found.stable(0.9))
    [3, 7]
    """
    if verbose:
        return verbosely(selection_stability, locals())
    if not isinstance(n_subsamples, Integral) or n_subsamples < 1:
        raise InvalidInputError(f"Expected n_subsamples as a whole number of at least 1; got {n_subsamples!r}.")
    random = check_random_state(random_state)
    data = SelectionData.read(estimator, X, y, qid)
    whole = SelectionPath.fitted(estimator, data)
    halves = [_half(data, random) for _ in range(int(n_subsamples))]
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (joblib.delayed(_selected)(estimator, data, half, len(whole)) for half in halves)
    counts = np.zeros(whole.selector.n_features_in_)
    units = column_units(whole.selector.feature_groups, len(counts))
    unit_of = {int(column): unit[0] for unit in units for column in unit}
    for columns in track(parallel(jobs), len(halves), "selecting features", noun="halves"):
        counts[list({unit_of[column] for column in columns.tolist()})] += 1
    # The most frequent first; of equally frequent ones the lowest column.
    order = np.argsort(-counts, kind="stable")[: int(np.sum(counts > 0))]
    return SelectionStability(
        tuple(whole.name(int(column)) for column in order),
        counts[order] / len(halves),
        float(counts.sum() / len(halves)),
        len(units),
        len(halves),
    )


def _half(data: SelectionData, random: np.random.RandomState) -> Index:
    """Draw half of the items, or the items of half of the queries."""
    if data.qid is None:
        return deal_items(data.y, 2, random)[0]
    queries = np.unique(data.qid)
    if len(queries) < 2:
        raise InvalidInputError("Expected at least two queries, because halves of the queries are drawn; got one.")
    return np.flatnonzero(np.isin(data.qid, random.permutation(queries)[: len(queries) // 2]))


def _selected(estimator: Any, data: SelectionData, half: Index, n_features: int) -> Index:
    """Return the columns that are selected from some items and have a weight: one that is constant there has none."""
    last = SelectionPath.fitted(estimator, data.part(half), n_features).steps[-1]
    return np.asarray(last["columns"][last["coefficients"] != 0.0])


def _check_threshold(threshold: float) -> None:
    if not 0.5 < threshold <= 1:
        raise InvalidInputError(f"Expected a threshold above 0.5 and at most 1; got {threshold!r}.")
