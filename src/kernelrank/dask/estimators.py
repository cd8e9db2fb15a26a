"""What the estimators for clusters share: options, coefficients that predict, and the way back to a local model."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from distributed import Client
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Labels, Matrix
from kernelrank.dask.cluster import connected
from kernelrank.dask.collection_types import Collection, Frame, ItemBlock
from kernelrank.dask.column_groups import joined_columns, largest_partition
from kernelrank.dask.partitions import Partitions, column_names, is_frame, item_array
from kernelrank.dask.statistics import Statistics
from kernelrank.dask.training_data import TrainingData
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.solvers import Cholesky
from kernelrank.solvers.direct import NormalEquations

__all__ = ["DaskLearner"]

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
)


class DaskLearner(BaseEstimator):
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

        Notes
        -----
        A data frame from Parquet files is read by groups of columns, as by `fit`; the footers of its files are read
        at once, to see whether its partitions are large.
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
        rows = largest_partition(X) if is_frame(X) else None
        joined = None if rows is None else joined_columns(X, rows)
        if joined is not None:
            return self._predict_joined(model, joined)
        if self._n_outputs() is None:
            return items.map_blocks(_predict, model, drop_axis=1, dtype=np.float64, meta=np.zeros(0))
        chunks = (items.chunks[0], (self._n_outputs(),))
        return items.map_blocks(_predict, model, chunks=chunks, dtype=np.float64, meta=np.zeros((0, 0)))

    def _predict_joined(self, model: RankRLS, joined: Frame) -> da.Array:
        """Predict where the partitions of a data frame are read by groups of columns."""
        partitions = Partitions(joined, None, None, None, self.n_features_in_, None, 0, one_output=True)
        parts = partitions.each(_predict_partition, ("X",), (model,))
        shape = (np.nan,) if self._n_outputs() is None else (np.nan, self._n_outputs())
        meta = np.zeros((0,) * len(shape))
        arrays = [da.from_delayed(part, shape, meta=meta) for part in parts]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)

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
        from kernelrank.metrics import PairwiseAccuracy

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

    def _keep(self, data: TrainingData, statistics: Statistics, alpha: float) -> Self:
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
        return self


def _predict_partition(_number: int, X: ItemBlock, model: RankRLS) -> Float:
    return _predict(X, model)


def _predict(X: ItemBlock, model: RankRLS) -> Float:
    """Predict the scores of one partition, which may be empty."""
    if X.shape[0] == 0:
        return np.zeros((0, *model.predict(np.zeros((1, X.shape[1]))).shape[1:]))
    return model.predict(X)
