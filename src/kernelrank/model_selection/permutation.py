"""A permutation test: whether permuted scores are predicted as well as the true ones.

Permuted scores are further outputs of the same problem [PTAJB09]_, 4.1: RLS, and RankRLS with ties included, compare
items by a graph that does not depend on the scores, so that one decomposition serves the scores and all their
permutations, and a permutation costs what a further output costs, O(m²) for leave-pair-out. They come in blocks.
With ties left out, or the unit or relative cost, the graph follows the scores and every permutation is a problem of
its own; other estimators are refitted.

References
----------
.. [PTAJB09] Pahikkala, Tsivtsivadze, Airola, Järvinen and Boberg (2009). An efficient algorithm for learning to rank
   from preference graphs. Machine Learning 75(1).
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from kernelrank.base.arrays import Float, Index, Labels, is_sparse, one_pool
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.base.sklearn_private import num_samples
from kernelrank.base.text import p_is, pvalue
from kernelrank.base.validation import check_confidence, check_scores
from kernelrank.comparisons.costs import resolved_cost
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import check_alphas
from kernelrank.estimators.rls import RLS, RLSClassifier
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.metrics.intervals import Interval, mean_interval
from kernelrank.metrics.measure import Measure
from kernelrank.metrics.names import get_measure, predicted_scores
from kernelrank.metrics.roc import Components, TwoClasses, score_interval, shared_groups
from kernelrank.model_selection.holdout import holdout, leave_pair_out, takes_shortcut
from kernelrank.model_selection.nested_search import can_be_nested
from kernelrank.model_selection.refits import HoldoutData, QueryKFold, deal_items, settled

BLOCK_BYTES = 2**25
"""The size of a block of permuted scores, and of the held-out scores that belong to it."""

STATISTICS = ("auto", "leave_pair_out", "leave_query_out", "folds")


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest(Result):
    """Result of a permutation test: the held-out accuracy, and those of permuted scores.

    Parameters
    ----------
    statistic : float
        The accuracy of the true scores.
    null : ndarray, shape (n_permutations,)
        The accuracies of the permuted ones.
    pvalue : float
        ``(1 + #{null ≥ statistic}) / (1 + n_permutations)``.
    name : str
        What the statistic is.
    permuted : str
        What was permuted.

    Examples
    --------
    >>> print(PermutationTest(0.9, np.array([0.5, 0.6, 0.4]), 0.25, "leave_pair_out accuracy", "all items"))
    leave_pair_out accuracy 0.900, p = 0.250 (3 permutations of all items, mean 0.500, largest 0.600)
    """

    statistic: float
    null: Float
    pvalue: float
    name: str
    permuted: str

    def __str__(self) -> str:
        return (
            f"{self.name} {self.statistic:.3f}, p {p_is(self.pvalue)} ({len(self.null)} permutations of "
            f"{self.permuted}, mean {self.null.mean():.3f}, largest {self.null.max():.3f})"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [
            (self.name.replace("_", "-"), f"{self.statistic:.3f}"),
            ("p-value", pvalue(self.pvalue)),
            ("permutations", f"{len(self.null):,} of {self.permuted}"),
            ("their accuracy: mean, largest", f"{self.null.mean():.3f}, {self.null.max():.3f}"),
        ]

    def _columns(self) -> dict[str, Any]:
        return {"accuracy": self.null}


@one_pool
def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    statistic: str = "auto",
    groups: Any = None,
    n_permutations: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    alphas: Any = None,
    verbose: bool = False,
) -> PermutationTest:
    """Test whether the held-out accuracy is better than with permuted scores (permutation test).

    Parameters
    ----------
    estimator : estimator
        A ranker, regressor or classifier of two classes. A search, such as `RankRLSCV`, chooses alpha for each
        permutation and in every training set, from the same alphas: the nested accuracy.
    X : array-like or sparse matrix, shape (m, n_features), or (m, m) for a precomputed kernel
    y : array-like, shape (m,)
        Scores, or any two labels.
    qid : sequence, shape (m,), optional
        Queries: scores are permuted inside each, and whole queries are held out.
    statistic : {"auto", "leave_pair_out", "leave_query_out", "folds"}, default="auto"
        The share of held-out pairs in the right order: over all pairs of one ranking, or the mean over queries, each
        held out whole. "folds" holds out ten folds of items, or of queries, and compares the items of a fold: ten
        trainings for each permutation instead of one for each pair. "auto" takes folds for `GreedyRankRLS`
        and `GreedyRLS`, whose selection is repeated each time, and otherwise depends on `qid`.
    groups : sequence, shape (m,), optional
        Items that are not independent, if there are no queries. The groups of a pair are held out with it, and groups
        of the same size exchange their scores in a permutation.
    n_permutations : int, optional
        1,000 unless given where they share a decomposition, 100 where each is refitted.
    n_jobs : int, optional
        The number of parallel refits.
    random_state : int, RandomState or None, default=None
    alphas : array-like of float, optional
        The statistic is then the best accuracy over these alphas, for the scores and for each permutation: the test
        allows for the choice of alpha, still from one decomposition.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    PermutationTest

    Notes
    -----
    RLS, and RankRLS with ``cost="magnitude"`` and ``ties="include"``: one decomposition for each block of permutations,
    and O(m²) time for each permutation in leave-pair-out, O(m s) for queries and a decomposition of size s. Memory 32
    MiB for a block in addition to the decomposition. Otherwise every permutation takes the time of its hold-out.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS, permutation_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 5))
    >>> test = permutation_test(RankRLS(), X, X[:, 0] + rng.standard_normal(30), random_state=0)
    >>> len(test.null), test.pvalue < 0.01
    (1000, True)
    """
    if verbose:
        return verbosely(permutation_test, locals())
    if statistic not in STATISTICS:
        raise InvalidInputError(f"statistic must be one of {', '.join(map(repr, STATISTICS))}, got {statistic!r}")
    m = num_samples(X)
    name = statistic
    if statistic == "auto":
        name = "folds" if _selects_features(estimator) else "leave_pair_out" if qid is None else "leave_query_out"
    _check_fits(name, qid, groups)
    codes = None if groups is None else shared_groups(Queries.from_labels(groups, m, name="groups").codes)
    labels, scores = _read(estimator, y, m)
    values = None if alphas is None else np.array(check_alphas(alphas))
    estimator = settled(estimator, X, qid)
    sample = _Sample(estimator, X, labels, scores, Queries.from_labels(qid, m), codes, values, {"n_jobs": n_jobs})
    shared = _shares_one_graph(estimator) and name != "folds"
    count = (1000 if shared else 100) if n_permutations is None else n_permutations
    if not isinstance(count, Integral) or count < 1:
        raise InvalidInputError(f"n_permutations must be a whole number of at least 1, got {n_permutations!r}")
    permute = _permuter(sample, check_random_state(random_state))
    measure: Callable[[Index], Float] = {
        ("leave_pair_out", True): sample.pairs_together,
        ("leave_query_out", True): sample.queries_together,
        ("leave_pair_out", False): sample.pairs_one_by_one,
        ("leave_query_out", False): sample.queries_one_by_one,
        ("folds", False): sample.folds_one_by_one,
    }[name, shared]
    width = sample.block_width(name) if shared else 1
    observed = float(measure(np.arange(m)[:, None])[0])
    sizes = [min(width, int(count) - start) for start in range(0, int(count), width)]
    orders = (np.stack([permute() for _ in range(size)], axis=1) for size in sizes)
    parts = map(measure, orders)
    if len(sizes) > 1:
        parts = track(parts, int(count), "permuting", size=len, noun="permutations")
    null = np.concatenate(list(parts))
    # Means over queries may differ in the last digit where they are equal.
    extreme = int(np.sum(null >= observed - 1e-12))
    permuted = "items inside queries" if qid is not None else "all items" if codes is None else "groups of one size"
    label = f"{'nested ' if can_be_nested(estimator) else ''}{'ten-fold' if name == 'folds' else name} accuracy"
    if values is not None:
        label = f"best {label} of {len(values)} alphas"
    return PermutationTest(observed, null, (1 + extreme) / (1 + int(count)), label, permuted)


def _selects_features(estimator: Any) -> bool:
    """Return whether this is a greedy selector, or a pipeline that ends with one, without importing their module."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return bool(getattr(last, "selects_features", False))


def _check_fits(name: str, qid: Any, groups: Any) -> None:
    if qid is None and name == "leave_query_out":
        raise InvalidInputError("statistic='leave_query_out' holds out one query at a time: pass qid.")
    if qid is not None and name == "leave_pair_out":
        raise InvalidInputError(
            "statistic='leave_pair_out' is for data without queries: remove qid, or use statistic='leave_query_out'"
        )
    if name == "folds" and groups is not None:
        raise InvalidInputError("statistic='folds' does not support groups: use statistic='leave_pair_out'")
    if qid is not None and groups is not None:
        raise InvalidInputError("give qid or groups, not both: queries are already held out whole")


def _read(estimator: Any, y: Any, m: int) -> tuple[NDArray[Any], Float]:
    """Return what the estimator is fitted to, and the scores that order the items."""
    if is_classifier(estimator) or np.asarray(y).dtype.kind not in "iuf":
        classes = TwoClasses.read(y, m)
        return classes.target(estimator), np.where(classes.positive, 1.0, -1.0)
    scores = check_scores(column_or_1d(y), m)
    if np.all(scores == scores[:1]):
        raise NothingToCompareError("all scores of y are the same: there is nothing to permute")
    return scores, scores


def _shares_one_graph(estimator: Any) -> bool:
    """Return whether permuted scores are further outputs of one problem."""
    if not takes_shortcut(estimator) or estimator.basis is not None:
        return False
    return isinstance(estimator, (RLS, RLSClassifier)) or (
        resolved_cost(getattr(estimator, "cost", "auto")) == "magnitude" and getattr(estimator, "ties", "") == "include"
    )


def _permuter(sample: _Sample, random: np.random.RandomState) -> Callable[[], Index]:
    """Return what draws one order of the items: scores move inside queries, or with whole groups."""
    if sample.groups is None:
        blocks = list(sample.queries)

        def inside_queries() -> Index:
            order = np.arange(sample.queries.n_items)
            for items in blocks:
                order[items] = random.permutation(items)
            return order

        return inside_queries
    groups = list(Queries(sample.groups, np.unique(sample.groups)))
    sizes = np.array([len(items) for items in groups])
    alike = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    if max(map(len, alike)) < 2:
        raise InvalidInputError(
            "a permutation exchanges scores between groups of the same size, and no two groups have the same size"
        )

    def whole_groups() -> Index:
        order = np.arange(len(sample.scores))
        for members in alike:
            for to, source in zip(members, random.permutation(members), strict=True):
                order[groups[to]] = groups[source]
        return order

    return whole_groups


@dataclass(frozen=True)
class _Sample:
    """Items and scores whose permutations are held out from; every method takes orders (m, k) and returns (k,)."""

    estimator: Any
    X: Any
    labels: NDArray[Any]
    scores: Float
    queries: Queries
    groups: Index | None
    alphas: Float | None
    options: dict[str, Any]

    def rows(self, name: str) -> int:
        """How many numbers a permutation takes up at a time."""
        m, n_alphas = len(self.scores), 1 if self.alphas is None else len(self.alphas)
        return n_alphas * (m * m // 2 if name == "leave_pair_out" and self.groups is not None else m)

    def block_width(self, name: str) -> int:
        """Return how many permutations share a decomposition: as memory allows, and a few seconds of work at most."""
        n_alphas = 1 if self.alphas is None else len(self.alphas)
        m = len(self.scores)
        # A block must cost several times its decomposition, which takes time as m³.
        # 50 million pairs take about half a second, so that progress is seen.
        worth = max(50_000_000 // (m * m * n_alphas), 10 * m // n_alphas)
        return max(1, min(worth, BLOCK_BYTES // (8 * self.rows(name))))

    def _tried(self) -> Float:
        return np.array([float(self.estimator.alpha)]) if self.alphas is None else self.alphas

    def _learner(self) -> Any:
        learner = clone(self.estimator)
        return learner._regressor() if isinstance(learner, RLSClassifier) else learner

    def _data(self, orders: Index) -> HoldoutData:
        # A classifier regresses ±1, which has any number of outputs.
        y = self.scores if is_classifier(self.estimator) else self.labels.astype(np.float64)
        return HoldoutData(self._learner(), self.X, y[orders], self.queries.codes if len(self.queries) > 1 else None)

    def pairs_together(self, orders: Index) -> Float:
        alphas = self._tried()
        if self.groups is not None:
            y = self.scores if is_classifier(self.estimator) else self.labels.astype(np.float64)
            held = leave_pair_out(self._learner(), self.X, y[orders], groups=self.groups, alphas=alphas)
            return _best(np.asarray(held.accuracy))
        return _best(np.asarray(self._data(orders).pairs(None, alphas, differences=False).accuracy))

    def queries_together(self, orders: Index) -> Float:
        sets, alphas = ItemSets.of_queries(self.queries), self._tried()
        held = np.empty((*orders.shape, len(alphas)))
        held[sets.items] = self._data(orders).scores(sets, alphas)
        return self._mean_over_queries(orders, held)

    def pairs_one_by_one(self, orders: Index) -> Float:
        found = np.empty(orders.shape[1])
        for k, order in enumerate(orders.T):
            held = leave_pair_out(
                self.estimator, self.X, self.labels[order], groups=self.groups, alphas=self.alphas, **self.options
            )
            found[k] = np.max(held.accuracy)
        return found

    def queries_one_by_one(self, orders: Index) -> Float:
        sets = list(self.queries)
        n_alphas = 1 if self.alphas is None else len(self.alphas)
        held = np.empty((*orders.shape, n_alphas))
        options = {**self.options, "alphas": self.alphas}
        for k, order in enumerate(orders.T):
            found = holdout(self.estimator, self.X, self.labels[order], sets, qid=self.queries.codes, **options)
            held[np.concatenate(sets), k] = np.concatenate(found).reshape(-1, n_alphas)
        return self._mean_over_queries(orders, held)

    def folds_one_by_one(self, orders: Index) -> Float:
        found = np.empty(orders.shape[1])
        qid = self.queries.codes if len(self.queries) > 1 else None
        n_folds = min(10, len(self.scores) if qid is None else len(self.queries))
        for k, order in enumerate(orders.T):
            # The same folds for equal orders: what varies is the scores alone.
            random, y = np.random.RandomState(0), self.scores[order]
            if qid is None:
                folds = deal_items(y, n_folds, random)
            else:
                splits = QueryKFold(n_folds, shuffle=True, random_state=random).split(self.X, groups=qid)
                folds = [test for _, test in splits]
            n_alphas = 1 if self.alphas is None else len(self.alphas)
            options = {**self.options, "qid": qid, "alphas": self.alphas}
            held = holdout(self.estimator, self.X, self.labels[order], folds, **options)
            tally = PairTally(y, n_alphas) if qid is None else QueryTally(y, qid, n_alphas)
            for fold, scores in zip(folds, held, strict=True):
                tally.add(fold, scores.reshape(len(fold), n_alphas))
            found[k] = tally.accuracy().max()
        return found

    def _mean_over_queries(self, orders: Index, held: Float) -> Float:
        measure, codes = PairwiseAccuracy(), self.queries.codes
        means = [
            [measure(self.scores[order], scores, qid=codes).mean for scores in held[:, k].T]
            for k, order in enumerate(orders.T)
        ]
        return _best(np.array(means))


def _best(accuracy: Float) -> Float:
    """Return the best accuracy over the alphas, the last axis."""
    best: Float = accuracy.max(axis=-1)
    return best


# Feature importance ---------------------------------------------------------------------------------------------------
#
# Permutation importance that respects queries: a feature is permuted among the items of each query only.
#
# scikit-learn's `permutation_importance` permutes over all items and takes no `qid`. Items of different queries are
# never compared, so differences of a feature *between* queries do not affect a ranking; permuting over all items would
# include them.


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance(Result):
    """How much a measure falls when one feature is permuted, for each feature.

    Parameters
    ----------
    feature_names : ndarray of str, shape (n_features,)
    importances : ndarray, shape (n_features,)
        The fall of the measure, averaged over repeats and queries. Zero or below: the model does not need the feature.
    low, high : ndarray, shape (n_features,)
        Confidence intervals.
    repeats : ndarray, shape (n_features, n_repeats)
        The fall in each repeat.
    baseline : float
        The measure without permutation.
    label : str
        The measure with its conventions.
    method : str
        What the intervals allow for.
    """

    feature_names: NDArray[Any]
    importances: Float
    low: Float
    high: Float
    repeats: Float
    baseline: float
    label: str
    method: str

    @property
    def order(self) -> Index:
        """The features from the most important to the least."""
        return np.argsort(-self.importances, kind="stable").astype(np.int64)

    def __str__(self) -> str:
        best = ", ".join(f"{self.feature_names[j]} {self.importances[j]:.3g}" for j in self.order[:3])
        more = ", ..." if len(self.importances) > 3 else ""
        return f"fall of {self.label} from {self.baseline:.3f}: {best}{more}"

    def _facts(self) -> list[tuple[str, str]]:
        rows = [
            (str(self.feature_names[j]), f"{self.importances[j]:.4f} ({self.low[j]:.4f} to {self.high[j]:.4f})")
            for j in self.order[:20]
        ]
        return [
            ("measure", self.label),
            ("without permutation", f"{self.baseline:.4f}"),
            *rows,
            ("interval", self.method),
        ]

    def _columns(self) -> dict[str, Any]:
        order = self.order
        return {
            "feature": self.feature_names[order],
            "importance": self.importances[order],
            "low": self.low[order],
            "high": self.high[order],
        }

    def plot(self, ax: Any = None, *, k: int = 20, **line_options: object) -> Any:
        """Draw the k most important features with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        k : int, default=20
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        kernelrank.report.ImportanceDisplay
        """
        from kernelrank.report.displays import ImportanceDisplay

        return ImportanceDisplay(self, k=k).plot(ax=ax, **line_options)


@one_pool
def permutation_importance(
    model: BaseEstimator,
    X: Any,
    y: ArrayLike,
    qid: Labels | None = None,
    *,
    scoring: str | Measure = "pairwise_accuracy",
    n_repeats: int = 5,
    feature_names: Sequence[str] | None = None,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
    verbose: bool = False,
) -> PermutationImportance:
    """Measure how much a ranking needs each feature, by permuting the feature within each query.

    Parameters
    ----------
    model : estimator
        Fitted, with `predict`; a pipeline works too.
    X : array, data frame or sparse matrix, shape (m, n_features)
        Items that the model was not trained on.
    y : array-like, shape (m,)
        Their true scores.
    qid : sequence, optional
        The query of each item. Without it all items are one query.
    scoring : str or Measure, default="pairwise_accuracy"
        As `kernelrank.metrics.get_measure` takes it, such as "ndcg@10".
    n_repeats : int, default=5
        How often each feature is permuted.
    feature_names : sequence of str, optional
        The columns of a data frame, or x0, x1, ..., unless given.
    confidence : float, default=0.95
    random_state : int, RandomState or None
        For the permutations and the bootstrap over queries.
    verbose : bool, default=False
        Whether progress is shown on standard error: a bar on a terminal, lines elsewhere.

    Returns
    -------
    PermutationImportance

    Notes
    -----
    Time: n_features × n_repeats predictions and measurements. Memory: one changed copy of X, dense or sparse.

    With two or more measured queries the intervals are over queries, corrected for skewness: they allow for other
    queries. With one query they are normal intervals over the repeats, which allow for other permutations only.
    Features that are strongly correlated share their importance: permuting one of them leaves the others.

    Examples
    --------
    >>> from kernelrank import RankRLS, make_ranking
    >>> X, y, qid = make_ranking(n_queries=20, n_features=3, random_state=0)
    >>> found = permutation_importance(RankRLS().fit(X, y, qid=qid), X, y, qid, random_state=0)
    >>> found.importances.shape, bool(np.all(found.low <= found.high))
    ((3,), True)
    """
    if verbose:
        return verbosely(permutation_importance, locals())
    measure = get_measure(scoring)
    check_confidence(confidence)
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise InvalidInputError(f"Expected n_repeats as a whole number of at least 1; got {n_repeats!r}.")
    columns = _Columns(X, feature_names)
    random = check_random_state(random_state)
    truth, sign = np.asarray(y), 1.0 if measure.higher_is_better else -1.0
    queries = Queries.from_labels(np.zeros(columns.n_items, dtype=int) if qid is None else qid, columns.n_items)
    base = measure(truth, predicted_scores(model, X), qid=qid)
    falls = np.empty((columns.n_features, int(n_repeats), len(base.values)))
    for feature in track(range(columns.n_features), columns.n_features, "permuting", noun="features"):
        for repeat in range(int(n_repeats)):
            changed = columns.permuted(feature, _within_queries(queries, random))
            values = measure(truth, predicted_scores(model, changed), qid=qid).values
            falls[feature, repeat] = sign * (base.values - values)
    reach = measure.bounds[1] - measure.bounds[0]
    low, high, method = _intervals(falls, confidence, (-reach, reach))
    return PermutationImportance(
        columns.names, falls.mean(axis=(1, 2)), low, high, falls.mean(axis=2), base.mean, base.label, method
    )


def _intervals(falls: Float, confidence: float, bounds: tuple[float, float]) -> tuple[Float, Float, str]:
    """Return intervals over queries, or over repeats if there is one query."""
    n_repeats, n_queries = falls.shape[1:]
    if n_queries > 1:
        found = [tuple(mean_interval(of_queries, confidence, "", bounds)) for of_queries in falls.mean(axis=1)]
        low, high = np.array(found).T
        return low, high, f"{n_queries} queries, corrected for skewness; the model does not vary"
    from scipy.special import ndtri

    of_repeats = falls[:, :, 0]
    spread = of_repeats.std(axis=1, ddof=1) if n_repeats > 1 else np.full(len(falls), np.inf)
    half = float(ndtri((1 + confidence) / 2)) * spread / np.sqrt(n_repeats)
    middle = of_repeats.mean(axis=1)
    return middle - half, middle + half, f"{n_repeats} permutations; other items are not allowed for"


def _within_queries(queries: Queries, random: np.random.RandomState) -> Index:
    """Draw a permutation of the items that keeps each query to itself."""
    permutation = np.empty(len(queries.codes), dtype=np.int64)
    permutation[np.argsort(queries.codes, kind="stable")] = np.lexsort(
        (random.random_sample(len(queries.codes)), queries.codes)
    )
    return permutation


class _Columns:
    """X, and X with one column permuted."""

    def __init__(self, X: Any, feature_names: Sequence[str] | None) -> None:
        self.X = csc_array(X) if is_sparse(X) else X
        self.n_items, self.n_features = self.X.shape
        unnamed = [f"x{number}" for number in range(self.n_features)]  # as explanations and reports call them
        known = getattr(X, "columns", unnamed) if feature_names is None else feature_names
        self.names = np.array([str(name) for name in known], dtype=object)
        if len(self.names) != self.n_features:
            raise InvalidInputError(
                f"Expected one feature name for each of {self.n_features} columns; got {len(self.names)}."
            )

    def permuted(self, feature: int, permutation: Index) -> Any:
        """Return a copy of X in which row i has the value that row permutation[i] had."""
        if is_sparse(self.X):
            changed = self.X.copy()
            entries = slice(changed.indptr[feature], changed.indptr[feature + 1])
            place = np.empty(self.n_items, dtype=np.int64)
            place[permutation] = np.arange(self.n_items)
            rows = place[changed.indices[entries]]
            order = np.argsort(rows)
            changed.indices[entries], changed.data[entries] = rows[order], changed.data[entries][order]
            return changed
        if hasattr(self.X, "iloc"):
            changed = self.X.copy()
            changed[changed.columns[feature]] = self.X.iloc[:, feature].to_numpy()[permutation]
            return changed
        if hasattr(self.X, "with_columns"):  # Polars
            name = self.X.columns[feature]
            return self.X.with_columns(self.X[name].gather(permutation).alias(name))
        changed = np.array(self.X)
        changed[:, feature] = changed[permutation, feature]
        return changed


# Held out tally -------------------------------------------------------------------------------------------------------
#
# Held-out accuracy of several models at once: pairs in the right order, and intervals.
#
# Items or queries are held out again and again, by different models. Of one ranking, each held-out set compares its own
# items; a pair counts as often as it was held out together. The interval rests on the win rates w of the items: for two
# classes on DeLong's variance (`kernelrank.metrics.roc`), else on ``4 var(w) / m``. Of several
# queries, each has a share of pairs in the right order, averaged over the times it was held out; the interval is that
# of their mean, see `kernelrank.metrics.intervals`.

GIVEN_MODELS = "not for others being trained on"


class Tally(ABC):
    """Adds up how held-out items were ordered."""

    label: str
    """What is measured."""

    @abstractmethod
    def add(self, items: Index, scores: Float) -> None:
        """Add the scores of a held-out set by all models, shape (t, models)."""

    @abstractmethod
    def accuracy(self) -> Float:
        """Return the share of pairs in the right order by each model."""

    @abstractmethod
    def intervals(self, confidence: float) -> list[Interval]:
        """Return the interval of each model."""


class PairTally(Tally):
    """Count held-out pairs of a single ranking.

    Shapes: y (m,).
    """

    def __init__(self, y: Float, n_models: int) -> None:
        self.y = y
        self.levels = np.unique(y)
        self.right = np.zeros((len(y), n_models))
        self.count = np.zeros(len(y))
        self.label = "AUC" if len(self.levels) == 2 else "pairwise accuracy"

    def add(self, items: Index, scores: Float) -> None:
        """As in `Tally`; O(t²) time for each model."""
        i, j = np.nonzero(self.y[items][:, None] > self.y[items])
        difference = scores[i] - scores[j]
        right = (difference > 0) + 0.5 * (difference == 0)
        for side in (i, j):
            np.add.at(self.right, items[side], right)
            np.add.at(self.count, items[side], 1.0)

    def _known(self) -> Index:
        known = np.flatnonzero(self.count > 0)
        if len(known) == 0:
            raise NothingToCompareError("Expected held-out sets with different scores; got none. Use fewer folds.")
        return known

    def accuracy(self) -> Float:
        """As in `Tally`."""
        known = self._known()
        return np.asarray(self.right[known].sum(axis=0) / self.count[known].sum())

    def intervals(self, confidence: float) -> list[Interval]:
        """As in `Tally`; of score type, so that they stay between 0 and 1."""
        known = self._known()
        rates = self.right[known] / self.count[known][:, None]
        how = f"allows for other items being scored, {GIVEN_MODELS}"
        found = []
        for value, rate in zip(self.accuracy().tolist(), rates.T, strict=True):
            if len(self.levels) == 2:
                positive = self.y[known] == self.levels[1]
                sizes = int(positive.sum()), int((~positive).sum())
                variance, degrees = Components(rate[positive], rate[~positive]).variance()
            else:
                sizes = len(rate) // 2, len(rate) - len(rate) // 2
                variance, degrees = 4.0 * float(np.var(rate, ddof=1)) / len(rate), len(rate) - 1.0
            found.append(Interval(*score_interval(value, variance, confidence, *sizes, degrees), confidence, how))
        return found


class QueryTally(Tally):
    """Count held-out pairs query by query.

    Shapes: y (m,), qid (m,).
    """

    label = "pairwise accuracy, mean over queries"

    def __init__(self, y: Float, qid: Index, n_models: int) -> None:
        self.y, self.qid = y, qid
        self.right = np.zeros((int(qid.max()) + 1, n_models))
        self.count = np.zeros(len(self.right))

    def add(self, items: Index, scores: Float) -> None:
        """As in `Tally`; one sort for each model."""
        for model, column in enumerate(scores.T):
            found = PairwiseAccuracy()(self.y[items], column, qid=self.qid[items])
            queries = found.queries.astype(np.int64)
            self.right[queries, model] += found.values
            if model == 0:
                self.count[queries] += 1.0

    def _values(self) -> Float:
        known = self.count > 0
        if not np.any(known):
            raise NothingToCompareError("Expected held-out queries with different scores; got none.")
        return np.asarray(self.right[known] / self.count[known][:, None])

    def accuracy(self) -> Float:
        """As in `Tally`."""
        return np.asarray(self._values().mean(axis=0))

    def intervals(self, confidence: float) -> list[Interval]:
        """As in `Tally`: of the mean over queries."""
        values = self._values()
        if len(values) < 2:
            return [Interval(mean, mean, confidence, f"one query, {GIVEN_MODELS}") for mean in values[0].tolist()]
        how = f"{len(values)} queries, corrected for skewness; {GIVEN_MODELS}"
        return [mean_interval(column, confidence, how, PairwiseAccuracy.bounds) for column in values.T]
