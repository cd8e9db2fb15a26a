"""DaskRankRLS: RankRLS on Dask arrays, data frames and Parquet files of any size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

from distributed import Client
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from kernelrank.base.arrays import Labels, RandomStateLike
from kernelrank.comparisons.costs import Cost, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dask.cluster import connected
from kernelrank.dask.collection_types import Collection
from kernelrank.dask.estimators import DaskLearner
from kernelrank.dask.partitions import Partitions
from kernelrank.dask.training_data import TrainingData
from kernelrank.kernels import GammaLike, KernelLike

__all__ = ["DaskRankRLS"]


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
n_features_in_, feature_names_in_
        As in `RankRLS`.

    Notes
    -----
    Two passes: one over the labels of the queries and one over the items, O(m r²) in all, and r³/3 for the solution; a
    basis that is drawn needs one more to fetch its items. Each thread of a worker holds one partition, r² numbers and r
    for each part of a query that lies in several partitions; one worker holds the labels of all queries for a moment.
    Partitions of Parquet files, by a path or by `dask.dataframe.read_parquet`, take about twice their size, since some
    columns are read at a time; where a data frame does not allow that, Dask reads it whole, which takes six to nine
    times the size of a partition. The client holds r² numbers.

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Collection | str | os.PathLike[str],
        y: Collection | ArrayLike | str,
        *,
        qid: Collection | Labels | str | None = None,
        sample_weight: Collection | ArrayLike | str | None = None,
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

        Returns
        -------
        self
        """
        learner, partitions = self._learner(), Partitions.of(X, y, qid, sample_weight)
        with connected(self.client) as client:
            data = TrainingData(client, learner, partitions)
            statistics = data.statistics()
        return self._keep(data, statistics, float(self.alpha))

    def _alpha(self) -> float:
        return float(self.alpha)
