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

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, column_or_1d

from kernelrank.base.arrays import Float, Index, one_pool
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.progress import track, verbosely
from kernelrank.base.results import Result
from kernelrank.base.text import p_is, pvalue
from kernelrank.base.validation import check_scores
from kernelrank.comparisons.costs import resolved_cost
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import check_alphas
from kernelrank.estimators.rls import RLS, RLSClassifier
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.metrics.two_classes import TwoClasses, shared_groups
from kernelrank.model_selection.estimator_refit import settled
from kernelrank.model_selection.held_out_tally import PairTally, QueryTally
from kernelrank.model_selection.holdout import holdout, leave_pair_out, takes_shortcut
from kernelrank.model_selection.item_folds import deal_items
from kernelrank.model_selection.nested_search import can_be_nested
from kernelrank.model_selection.query_k_fold import QueryKFold
from kernelrank.model_selection.refits import HoldoutData

__all__ = ["PermutationTest", "permutation_test"]

BLOCK_BYTES = 2**25
"""The size of a block of permuted scores, and of the held-out scores that belong to it."""

BLOCK_PAIRS = 50_000_000
"""Pairs that a block compares, for all alphas together: about half a second, so that progress is seen."""

SHARED, REFITTED = 1000, 100
"""How many permutations there are by default, with one decomposition and with a refit for each."""

FOLDS = 10
"""How many folds the statistic "folds" has, if there are so many items, or queries."""

NAMES = {"folds": "ten-fold"}
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
    m = _num_samples(X)
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
    count = (SHARED if shared else REFITTED) if n_permutations is None else n_permutations
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
    label = f"{'nested ' if can_be_nested(estimator) else ''}{NAMES.get(name, name)} accuracy"
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
        for numbers in alike:
            for to, source in zip(numbers, random.permutation(numbers), strict=True):
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
        worth = max(BLOCK_PAIRS // (m * m * n_alphas), 10 * m // n_alphas)
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
        n_folds = min(FOLDS, len(self.scores) if qid is None else len(self.queries))
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
