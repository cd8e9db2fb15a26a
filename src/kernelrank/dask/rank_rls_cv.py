"""DaskRankRLSCV: alpha chosen by folds of queries, from one pass over the data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from distributed import Client
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from kernelrank.base.arrays import Labels, RandomStateLike
from kernelrank.comparisons.costs import Cost, Ties
from kernelrank.comparisons.scored import QueryWeight
from kernelrank.dask.cluster import connected
from kernelrank.dask.collection_types import Collection
from kernelrank.dask.estimators import DaskLearner
from kernelrank.dask.fold_models import FoldModels
from kernelrank.dask.held_out_accuracy import held_out_accuracy
from kernelrank.dask.partitions import Partitions
from kernelrank.dask.training_data import TrainingData
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.model_selection.alpha_grid import AUTO, AlphaGrid, is_auto
from kernelrank.model_selection.search import Candidates, Measured

__all__ = ["DaskRankRLSCV"]


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
n_features_in_, feature_names_in_
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Collection | str | os.PathLike[str],
        y: Collection | ArrayLike | str,
        *,
        qid: Collection | Labels | str | None,
        sample_weight: Collection | ArrayLike | str | None = None,
    ) -> Self:
        """Choose alpha and fit to scored items.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `DaskRankRLS.fit`; folds need qid.

        Returns
        -------
        self
        """
        given = None if is_auto(self.alphas) else AlphaGrid.given(self.alphas)
        learner, partitions = self._learner(), Partitions.of(X, y, qid, sample_weight)
        with connected(self.client) as client:
            data = TrainingData(client, learner, partitions)
            statistics = data.statistics(int(self.cv))
            grid = given or AlphaGrid.around(data.alpha_scale(statistics), whole=True)
            models = FoldModels.of(statistics, grid.alphas)
            splits = -models.errors if self.scoring == "squared_error" else held_out_accuracy(data, models)
        found = Measured(np.nanmean(splits, axis=0), np.nanstd(splits, axis=0), splits, None)
        candidates = Candidates([{}], per_target=False)
        candidates.search(grid, lambda _: found)
        self._keep(data, statistics, float(candidates.alpha))
        self.alpha_ = float(candidates.alpha)
        self.alphas_ = candidates.alphas
        self.best_score_ = candidates.score
        self.cv_results_ = candidates.table()
        candidates.warn_at_edge()
        return self

    def _alpha(self) -> float:
        return self.alpha_
