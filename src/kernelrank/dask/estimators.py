"""What the estimators for clusters share: options, coefficients that predict, and the way back to a local model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Client
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Labels, Matrix, RandomStateLike, product
from kernelrank.base.sklearn_private import DocumentationLink, HasMethods, Interval, StrOptions, fit_context
from kernelrank.comparisons.costs import Cost, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dask.partitions import (
    Collection,
    ColumnBlock,
    ItemBlock,
    Partitions,
    column_names,
    connected,
    gathered,
    item_array,
    reduced,
)
from kernelrank.dask.statistics import (
    Basis,
    Batch,
    FeatureMap,
    QueryCounts,
    QuerySummary,
    SpanningQueries,
    Statistics,
    choose_map,
    count_queries,
    merge_counts,
    merge_statistics,
    mergeable,
    partition_statistics,
)
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, is_auto, mean_eigenvalue
from kernelrank.model_selection.search import Candidates, Measured
from kernelrank.solvers import Cholesky
from kernelrank.solvers.direct import NormalEquations, spectrum
from kernelrank.solvers.precision import one_warning, report_error, spectral_error

OPTIONS = (
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "kernel_params",
    "cost",
    "ties",
    "query_weight",
    "basis",
    "random_state",
)
"""The options that a local model has too."""

FITTED = (
    "coef_",
    "dual_coef_",
    "X_fit_",
    "basis_",
    "kernel_",
    "solver_",
    "n_iter_",
    "n_queries_",
    "n_idle_queries_",
    "n_pairs_",
    "n_features_in_",
    "feature_names_in_",
    "fill_values_",
)


class DaskLearner(DocumentationLink, BaseEstimator):
    """A `RankRLS` whose training data are on a cluster."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: RankRLS._parameter_constraints[name] for name in OPTIONS},
        "client": [HasMethods("submit"), str, None],
    }

    client: Client | str | None

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are coefficients."""
        return hasattr(self, "solver_")

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that uses the same client: a connection cannot be copied."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        copies = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**copies, client=client)

    def predict(self, X: Collection | Matrix) -> da.Array | Float:
        """Predict scores; sorting by them ranks the items of any query.

        Parameters
        ----------
        X : dask array or data frame, or anything that `RankRLS.predict` takes, shape (t, n_features)

        Returns
        -------
        dask array or ndarray, shape (t,) or (t, n_outputs)
            A Dask array, not computed yet, if X is a Dask collection.
        """
        model = self.to_local()
        if not is_dask_collection(X):
            return model.predict(X)
        items, names = item_array(X), column_names(X)
        if items.shape[1] != self.n_features_in_:
            raise InvalidInputError(f"X has {items.shape[1]} features, but the model has {self.n_features_in_}")
        expected = getattr(self, "feature_names_in_", None)
        if names is not None and expected is not None and list(names) != list(expected):
            raise InvalidInputError("expected the columns of the training data in the same order; X has other columns")
        model.__dict__.pop("feature_names_in_", None)
        if self._n_outputs() is None:
            return items.map_blocks(_predict, model, drop_axis=1, dtype=np.float64, meta=np.zeros(0))
        chunks = (items.chunks[0], (self._n_outputs(),))
        return items.map_blocks(_predict, model, chunks=chunks, dtype=np.float64, meta=np.zeros((0, 0)))

    def score(
        self,
        X: Collection | Matrix,
        y: Collection | ArrayLike,
        *,
        qid: Collection | Labels | None = None,
        sample_weight: Collection | ArrayLike | None = None,
    ) -> float:
        """Return the pairwise accuracy, averaged over queries (and outputs).

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `fit`, or in memory.

        Returns
        -------
        float

        Notes
        -----
        Predictions are made where the items are; they, y, qid and sample_weight are brought here: O(t) memory.
        """
        model = self.to_local()
        if not is_dask_collection(X):
            return model.score(X, y, qid=qid, sample_weight=sample_weight)
        if qid is None and self.n_queries_ > 1:
            raise InvalidInputError(f"this model was fitted on {self.n_queries_} queries, so score needs qid")
        vectors = [self.predict(X), y, qid, sample_weight]
        with connected(self.client) as client:
            tasks = [client.compute(one) if is_dask_collection(one) else one for one in vectors]
            predicted, truth, queries, weight = client.gather(tasks)
        return PairwiseAccuracy().average(truth, predicted, qid=queries, sample_weight=weight)

    def to_local(self) -> RankRLS:
        """Return the model as a fitted `RankRLS`, which needs no cluster and can be saved."""
        check_is_fitted(self)
        model = RankRLS(self._alpha(), **{name: getattr(self, name) for name in OPTIONS})
        if self.basis is not None and np.ndim(self.basis) == 2:
            model.basis = len(self.dual_coef_)
        for name in FITTED:
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def _alpha(self) -> float:
        """Return the alpha that was fitted."""
        raise NotImplementedError

    def _n_outputs(self) -> int | None:
        """Return the number of outputs, or None if y had one dimension."""
        if hasattr(self, "coef_"):
            return None if self.coef_.ndim == 1 else len(self.coef_)
        return None if self.dual_coef_.ndim == 1 else int(self.dual_coef_.shape[1])

    def _learner(self) -> RankRLS:
        """Return a local learner with the same options, for the workers."""
        learner = RankRLS(**{name: getattr(self, name) for name in OPTIONS})
        if not learner._can_stream():
            raise InvalidInputError(
                f"kernel={self.kernel!r} needs a basis with Dask: set basis=1000, for example, or use kernel='linear'"
            )
        return learner

    def _keep(self, data: TrainingData, statistics: Statistics, alpha: float, fills: Float | None) -> Self:
        """Solve for alpha and store what a local fit would store."""
        partitions: Partitions = data.partitions
        equations = NormalEquations(
            statistics.gram.sum(axis=0), statistics.right.sum(axis=0), data.features.coefficients
        )
        coefficients: Float = Cholesky().solve(equations, alpha, last=True).coefficients
        for name in FITTED:
            self.__dict__.pop(name, None)
        one = partitions.one_output
        if data.basis is None:
            self.coef_ = coefficients[:, 0] if one else np.ascontiguousarray(coefficients.T)
        else:
            self.dual_coef_ = coefficients[:, 0] if one else coefficients
            self.X_fit_ = data.basis.items
            if data.basis.numbers is not None:
                self.basis_ = data.basis.numbers
        self.kernel_ = data.learner._kernel().copied()
        self.solver_, self.n_iter_ = "cholesky", 1
        self.n_queries_ = data.summary.n_queries
        self.n_idle_queries_, self.n_pairs_ = statistics.n_idle_queries, statistics.n_pairs
        self.n_features_in_ = partitions.n_features
        if partitions.names is not None:
            self.feature_names_in_ = partitions.names
        if fills is not None:
            self.fill_values_ = fills
        return self


def _predict(X: ItemBlock, model: RankRLS) -> Float:
    """Predict the scores of one partition, which may be empty."""
    if X.shape[0] == 0:
        return np.zeros((0, *model.predict(np.zeros((1, X.shape[1]))).shape[1:]))
    return model.predict(X)


# Rank RLS -------------------------------------------------------------------------------------------------------------
#
# DaskRankRLS: RankRLS on Dask arrays, data frames and Parquet files of any size.


class DaskRankRLS(DaskLearner):
    """`RankRLS` on a cluster: the same coefficients, whichever partition each item lies in.

    Every partition gives the sums over its queries that `RankRLS.partial_fit` would add; they are merged in a tree on
    the workers. Queries may lie in several partitions, cut anywhere and in any order: their parts are merged exactly.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother models. The loss is a sum (not a mean) over pairs, so more
        pairs need a larger alpha.
    kernel, gamma, degree, coef0, kernel_params
        As in `RankRLS`. A kernel other than the linear one needs a basis.
    cost, ties, query_weight
        As in `RankRLS`. Queries that lie in several partitions need ``cost="magnitude"`` and ``ties="include"``.
    basis : int, list of int or array of shape (r, n_features), optional
        A number of basis items, drawn at random among all items as `RankRLS` does; their row numbers; or the basis
        items themselves, which saves fetching them.
    random_state : int, RandomState or None, default=None
        Random seed for drawing the basis.
    client : distributed.Client, str or None, default=None
        A client, or the address of a scheduler. Default: the current client, or else a local cluster during the fit.
        A script that starts one needs ``if __name__ == "__main__":``.

    Attributes
    ----------
    coef_, dual_coef_, X_fit_, basis_, kernel_, solver_, n_iter_, n_queries_, n_idle_queries_, n_pairs_, \
n_features_in_, feature_names_in_, fill_values_
        As in `RankRLS`.

    Notes
    -----
    Two passes: one over the labels of the queries and one over the items, O(m r²) in all, and r³/3 for the solution; a
    basis that is drawn needs one more to fetch its items. Each thread of a worker holds one partition, r² numbers and r
    for each part of a query that lies in several partitions; one worker holds the labels of all queries for a moment.
    Partitions of Parquet files take about three times their size where X is a path, since some columns are read at a
    time; Dask reads those of a data frame whole, which takes six to nine times their size. The client holds r² numbers.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from kernelrank import RankRLS, make_ranking
    >>> from kernelrank.dask import DaskRankRLS
    >>> X, y, qid = make_ranking(n_queries=6, n_items=5, n_features=3, random_state=0)
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
    ...     model = DaskRankRLS(client=client).fit(da.from_array(X, chunks=(7, 3)), y, qid=qid)
    >>> np.allclose(model.coef_, RankRLS().fit(X, y, qid=qid).coef_, rtol=1e-10)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        **DaskLearner._parameter_constraints,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        cost: Cost = "magnitude",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        random_state: RandomStateLike = None,
        client: Client | str | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cost: Cost = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight
        self.basis = basis
        self.random_state = random_state
        self.client = client

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Collection | str | os.PathLike[str],
        y: Collection | ArrayLike | str,
        *,
        qid: Collection | Labels | str | None = None,
        sample_weight: Collection | ArrayLike | str | None = None,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        impute: Literal["mean"] | None = None,
    ) -> Self:
        """Fit to scored items.

        Parameters
        ----------
        X : dask array or data frame, shape (m, n_features), or path
            The items; the sizes of the partitions need not be known. Blocks may be dense or sparse. Or the path of
            Parquet files that all workers can open: a file, a folder, a pattern such as ``part-*.parquet`` or a URL.
            All other numeric columns are features; a partition is one or more row groups of a file.
        y : dask array, series or data frame, shape (m,) or (m, n_outputs), or str
            Their scores, partitioned like X; or the name of the column, if X is a path.
        qid : dask array or series, shape (m,), or str, optional
            The query of each item: any hashable labels in any order. One query if omitted.
        sample_weight : dask array or series, shape (m,), or str, optional
            Item weights.
        features, exclude, impute
            For paths: as in `RankRLS.fit`, but ``impute="median"``.

        Returns
        -------
        self
        """
        columns: Any = {"features": features, "exclude": exclude, "impute": impute}
        learner, partitions = self._learner(), Partitions.of(X, y, qid, sample_weight, **columns)
        with connected(self.client) as client:
            fills = None
            if impute is not None:
                partitions, fills = partitions.imputed(client)
            data = TrainingData(client, learner, partitions)
            statistics = data.statistics()
        return self._keep(data, statistics, float(self.alpha), fills)

    def _alpha(self) -> float:
        return float(self.alpha)


# Rank RLS CV ----------------------------------------------------------------------------------------------------------
#
# DaskRankRLSCV: alpha chosen by folds of queries, from one pass over the data.


class DaskRankRLSCV(DaskLearner):
    """`DaskRankRLS` with alpha chosen by folds of queries, all alphas and folds from one pass over the data.

    The fold of a query is a hash of its label. Statistics are summed for each fold; those of a training set are the
    sum over the other folds.

    Parameters
    ----------
    alphas : "auto" or array-like of float, default="auto"
        The values of alpha to try. "auto" tries 2⁻²⁵, 2⁻²⁴, ..., 2¹⁰ times the scale of the problem, as in `RankRLSCV`,
        all at once: an additional alpha costs little compared with the pass over the data.
    cv : int, default=5
        The number of folds. They differ from those of `RankRLSCV`, which assigns queries by their size.
    scoring : {"squared_error", "pairwise_accuracy"}, default="squared_error"
        The measure on the held-out fold: the mean squared error over its pairs, which training minimises and which is
        computed from the statistics alone, or the pairwise accuracy averaged over its queries, as in `RankRLSCV`,
        which needs a second pass over the data.
    kernel, gamma, degree, coef0, kernel_params, cost, ties, query_weight, basis, random_state, client
        As in `DaskRankRLS`. A basis is the same for all folds.

    Attributes
    ----------
    alpha_ : float
        The alpha that was chosen.
    alphas_ : ndarray
        The alphas that were tried, in ascending order.
    best_score_ : float
        Its mean score over the folds: the negative squared error, or the accuracy.
    cv_results_ : dict
        Every alpha with its scores, as in scikit-learn's `GridSearchCV`. A fold without a pair has NaN.
    coef_, dual_coef_, X_fit_, basis_, kernel_, solver_, n_iter_, n_queries_, n_idle_queries_, n_pairs_, \
n_features_in_, feature_names_in_, fill_values_
        As in `RankRLS`, of the model for `alpha_` and all data.

    Warns
    -----
    EdgeOfGridWarning
        If the best alpha is the smallest or the largest, and better than all others.

    Notes
    -----
    As `DaskRankRLS`, with r² numbers for each fold, one copy of the rows of a fold while a partition is read, and one
    eigendecomposition of r × r for each fold. The pairwise accuracy takes O(m r a) time more for a alphas, and brings
    the scores of queries that lie in several partitions together.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from kernelrank import make_ranking
    >>> from kernelrank.dask import DaskRankRLSCV
    >>> X, y, qid = make_ranking(n_queries=30, random_state=0)
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0") as client:
    ...     search = DaskRankRLSCV(alphas=[0.01, 1.0, 100.0, 1e4, 1e6], client=client)
    ...     model = search.fit(da.from_array(X), y, qid=qid)
    >>> model.alpha_ in (0.01, 1.0, 100.0, 1e4, 1e6), len(model.cv_results_["mean_test_score"])
    (True, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": [StrOptions({AUTO}), "array-like"],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "scoring": [StrOptions({"squared_error", "pairwise_accuracy"})],
        **DaskLearner._parameter_constraints,
    }

    def __init__(
        self,
        alphas: ArrayLike | str = AUTO,
        *,
        cv: int = 5,
        scoring: str = "squared_error",
        kernel: KernelLike = "linear",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        cost: Cost = "magnitude",
        ties: Ties = "include",
        query_weight: QueryWeight = "pairs",
        basis: int | Sequence[int] | None = None,
        random_state: RandomStateLike = None,
        client: Client | str | None = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.cost: Cost = cost
        self.ties: Ties = ties
        self.query_weight: QueryWeight = query_weight
        self.basis = basis
        self.random_state = random_state
        self.client = client

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Collection | str | os.PathLike[str],
        y: Collection | ArrayLike | str,
        *,
        qid: Collection | Labels | str | None,
        sample_weight: Collection | ArrayLike | str | None = None,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        impute: Literal["mean"] | None = None,
    ) -> Self:
        """Choose alpha and fit to scored items.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `DaskRankRLS.fit`; folds need qid.
        features, exclude, impute
            For paths: as in `RankRLS.fit`, but ``impute="median"``.

        Returns
        -------
        self
        """
        given = None if is_auto(self.alphas) else AlphaGrid.given(self.alphas)
        columns: Any = {"features": features, "exclude": exclude, "impute": impute}
        learner, partitions = self._learner(), Partitions.of(X, y, qid, sample_weight, **columns)
        with connected(self.client) as client:
            fills = None
            if impute is not None:
                partitions, fills = partitions.imputed(client)
            data = TrainingData(client, learner, partitions)
            statistics = data.statistics(int(self.cv))
            grid = given or AlphaGrid.around(data.alpha_scale(statistics), whole=True)
            models = FoldModels.of(statistics, grid.alphas)
            splits = -models.errors if self.scoring == "squared_error" else held_out_accuracy(data, models)
        found = Measured(np.nanmean(splits, axis=0), np.nanstd(splits, axis=0), splits, None)
        candidates = Candidates([{}], per_target=False)
        candidates.search(grid, lambda _: found)
        self._keep(data, statistics, float(candidates.alpha), fills)
        self.alpha_ = float(candidates.alpha)
        self.alphas_ = candidates.alphas
        self.best_score_ = candidates.score
        self.cv_results_ = candidates.table()
        candidates.warn_at_edge()
        return self

    def _alpha(self) -> float:
        return self.alpha_


# Held out accuracy ----------------------------------------------------------------------------------------------------
#
# Held-out accuracy: a second pass, in which every query is ordered by the models that have not seen it.


@dataclass(frozen=True)
class ScoredItems:
    """Items with the scores of models that have not seen them.

    Shapes: query, fold (k,), part, n_parts (k,), truth (k, outputs), scores (k, outputs, alphas).
    """

    query: Index
    fold: Index
    part: Index
    n_parts: Index
    truth: Float
    scores: Float

    @classmethod
    def joined(cls, several: list[ScoredItems]) -> ScoredItems:
        """Concatenate items."""
        return cls(*(np.concatenate([getattr(one, field.name) for one in several]) for field in fields(cls)))

    def rows(self, chosen: NDArray[np.bool_]) -> ScoredItems:
        """Return some items."""
        return ScoredItems(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def complete(self) -> NDArray[np.bool_]:
        """Return which items belong to a query whose items are all present."""
        pairs = np.unique(np.column_stack([self.query, self.part]), axis=0)
        queries, here = np.unique(pairs[:, 0], return_counts=True)
        complete: NDArray[np.bool_] = here[np.searchsorted(queries, self.query)] == self.n_parts
        return complete


@dataclass(frozen=True)
class AccuracySums:
    """Sums over the queries measured so far.

    Shapes: total, count (folds, outputs, alphas).
    """

    total: Float
    count: Float
    waiting: ScoredItems

    @classmethod
    def of(cls, items: ScoredItems, n_folds: int) -> AccuracySums:
        """Measure the queries that are complete."""
        shape = (n_folds, *items.scores.shape[1:])
        total, count = np.zeros(shape), np.zeros(shape)
        complete = items.complete()
        for fold in np.unique(items.fold[complete]):
            here = items.rows(complete & (items.fold == fold))
            for output, alpha in np.ndindex(shape[1:]):
                try:
                    values = PairwiseAccuracy()(
                        here.truth[:, output], here.scores[:, output, alpha], qid=here.query
                    ).values
                except NothingToCompareError:
                    break
                total[fold, output, alpha], count[fold, output, alpha] = values.sum(), len(values)
        return cls(total, count, items.rows(~complete))


def held_out_accuracy(data: TrainingData, models: FoldModels) -> Float:
    """Return the pairwise accuracy of each fold (folds, outputs, alphas), averaged over its queries that have a pair.

    O(m r a) time for a alphas. The items of queries that lie in several partitions meet, with a numbers each.
    """
    parts = data.each(_measure, models.coefficients)
    result: AccuracySums = gathered(data.client, reduced(_merge, parts))[0]
    if not result.count.any():
        raise NothingToCompareError("no fold has two items with different scores to compare")
    nothing = np.full(result.total.shape, np.nan)
    accuracy: Float = np.divide(result.total, result.count, out=nothing, where=result.count > 0)
    return accuracy


def _measure(
    number: int,
    X: ItemBlock,
    y: ColumnBlock,
    qid: ColumnBlock | None,
    weight: ColumnBlock | None,
    spanning: SpanningQueries,
    features: FeatureMap,
    learner: RankRLS,
    coefficients: Float,
) -> AccuracySums:
    """Score the items of one partition by the models without their fold."""
    n_folds, n_columns, n_outputs, n_alphas = coefficients.shape
    if X.shape[0] == 0:
        none = np.zeros(0, dtype=np.int64)
        empty = ScoredItems(none, none, none, none, np.zeros((0, n_outputs)), np.zeros((0, n_outputs, n_alphas)))
        return AccuracySums.of(empty, n_folds)
    batch = Batch.of(learner, X, y, qid, weight)
    m, codes = len(batch.scores), batch.queries.codes
    place = spanning.places(batch.queries.labels)
    n_parts = np.ones(len(place), dtype=np.int64)
    n_parts[place >= 0] = spanning.n_parts[place[place >= 0]]
    # Whole queries need a number that no other query here has; those that span keep theirs everywhere.
    query = np.where(place >= 0, place, -1 - np.arange(len(place)))
    fold, scores = np.zeros(m, dtype=np.int64), np.empty((m, n_outputs * n_alphas))
    for held, items in enumerate(batch.fold_items(n_folds)):
        fold[items] = held
        w = coefficients[held].reshape(n_columns, -1)
        if len(scores[items]):
            scores[items] = product(features.rows(batch.X[items]), w)
    return AccuracySums.of(
        ScoredItems(
            query[codes],
            fold,
            np.full(m, number, dtype=np.int64),
            n_parts[codes],
            batch.scores,
            scores.reshape(m, n_outputs, n_alphas),
        ),
        n_folds,
    )


def _merge(several: list[AccuracySums]) -> AccuracySums:
    """Add up, and measure the queries whose last part has come."""
    found = AccuracySums.of(ScoredItems.joined([one.waiting for one in several]), len(several[0].total))
    return AccuracySums(
        reduce(np.add, [one.total for one in several], found.total),
        reduce(np.add, [one.count for one in several], found.count),
        found.waiting,
    )


# Fold models ----------------------------------------------------------------------------------------------------------
#
# The models of all folds and alphas, from fold-wise statistics.


@dataclass(frozen=True)
class FoldModels:
    """Models that have not seen a fold, for every fold and alpha.

    Shapes: coefficients (folds, r, outputs, alphas), errors (folds, outputs, alphas).

    errors: Their mean squared error over the pairs of the fold, ``(wᵀ A w - 2 wᵀ b + ‖N‖²) / pairs``; NaN without a
    pair.
    """

    coefficients: Float
    errors: Float

    @classmethod
    @one_warning("held-out scores")
    def of(cls, statistics: Statistics, alphas: Float) -> FoldModels:
        """Train without each fold: one eigendecomposition each, O(r³), and O(r²) for each alpha and output."""
        held = np.flatnonzero(statistics.pair_weight > 0)
        n_folds, n_columns, n_outputs = statistics.right.shape
        if len(held) < 2:
            raise InvalidInputError(
                f"only {len(held)} of cv={n_folds} folds have items to compare: use fewer folds or more queries"
            )
        coefficients = np.zeros((n_folds, n_columns, n_outputs, len(alphas)))
        errors = np.full((n_folds, n_outputs, len(alphas)), np.nan)
        for fold in held:
            # The others are added up, not subtracted from the total: a large fold would leave rounding only.
            others = np.arange(n_folds) != fold
            values, vectors = spectrum(statistics.gram[others].sum(axis=0), np.inf)
            rotated = vectors.T @ statistics.right[others].sum(axis=0)  # (r, outputs)
            for alpha in alphas:
                report_error(float(alpha), spectral_error(values, rotated, float(alpha), primal=True))
            w = np.tensordot(vectors, rotated[:, :, None] / (values[:, None] + alphas)[:, None, :], axes=1)
            A, b = statistics.gram[fold], statistics.right[fold]
            squares = np.einsum("roa,roa->oa", w, np.tensordot(A, w, axes=1))
            total = squares - 2 * np.einsum("roa,ro->oa", w, b) + statistics.energy[fold][:, None]
            coefficients[fold] = w
            errors[fold] = np.maximum(total, 0.0) / statistics.pair_weight[fold]
        return cls(coefficients, errors)


# Training data --------------------------------------------------------------------------------------------------------
#
# The training data of a fit: the counts of the queries, a basis if there is one, and one pass over the items.

TABLES = 64
"""How many tables of counts one task merges."""


class TrainingData:
    """The training data of a fit, on a cluster."""

    def __init__(self, client: Client, learner: RankRLS, partitions: Partitions) -> None:
        self.client, self.learner = client, learner
        tables = partitions.counted().each(count_queries, ("y", "qid", "weight"))
        # Tables of labels are small, and one merge of many takes less time than several of a few.
        counts = client.persist(reduced(merge_counts, tables, TABLES))
        self.spanning = client.persist(delayed(QueryCounts.spanning)(counts))
        self.summary: QuerySummary = gathered(client, delayed(QueryCounts.summary)(counts))[0]
        self._check_mergeable(partitions.n_outputs)
        self.partitions = partitions
        self.features: FeatureMap
        self.basis: Basis | None
        self.features, self.basis = choose_map(
            learner, partitions, self.summary.sizes, lambda *tasks: gathered(client, *tasks)
        )

    def _check_mergeable(self, n_outputs: int) -> None:
        if self.summary.n_spanning and not mergeable(self.learner):
            raise InvalidInputError(
                f"{self.summary.n_spanning} queries lie in several partitions, such as {self.summary.example!r}, and "
                "only cost='magnitude' with ties='include' can merge them: repartition the data so that each query "
                "lies in one"
            )
        if n_outputs > 1 and not mergeable(self.learner):
            raise InvalidInputError(
                "several outputs share their statistics only with cost='magnitude' and ties='include': fit them one by "
                "one"
            )

    def each(self, function: Callable[..., Any], *arguments: object) -> list[Delayed]:
        """Apply a function to every partition.

        It is called with ``number, X, y, qid, weight, spanning, features, learner`` and further arguments.
        """
        shared = (self.spanning, self.features, self._bare_learner(), *arguments)
        return self.partitions.each(function, shared=shared)

    def _bare_learner(self) -> RankRLS:
        """Return the learner without its basis, which the features know."""
        learner: RankRLS = clone(self.learner).set_params(basis=None)
        return learner

    def statistics(self, n_folds: int = 1) -> Statistics:
        """Return the statistics of all partitions, merged on the workers: one pass over the items."""
        parts = self.each(partition_statistics, n_folds, self.partitions.n_outputs)
        total: Statistics = gathered(self.client, reduced(merge_statistics, parts))[0]
        if mergeable(self.learner):
            total.n_pairs, total.n_idle_queries = self.summary.n_pairs, self.summary.n_idle_queries
        if not (np.all(np.isfinite(total.gram)) and np.all(np.isfinite(total.right))):
            raise InvalidInputError(
                "X, y or sample_weight has values that are too large: the sums of the fit overflow (limit "
                "1.8e+308). Divide them by a constant"
            )
        tied = total.tied
        if total.n_pairs == 0 or tied.any():
            where = f" in output {int(np.argmax(tied))}" if len(tied) > 1 else ""
            raise NothingToCompareError(
                f"nothing to compare{where}: no query has two items with different scores ({self.summary.n_queries} "
                f"queries, {total.n_idle_queries} of them without a pair)"
            )
        return total

    def alpha_scale(self, statistics: Statistics) -> float:
        """Return the scale of alpha: the trace of ``Φᵀ L Φ`` for all pairs of each query, over its rank."""
        trace = float(np.trace(statistics.gram.sum(axis=0))) if mergeable(self.learner) else statistics.spread
        rank = min(self.features.n_columns, int(self.summary.sizes.sum()) - self.summary.n_queries)
        return mean_eigenvalue(trace, rank)
