"""The training data of a fit: the counts of the queries, a basis if there is one, and one pass over the items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client
from sklearn.base import clone

from kernelrank.dask.cluster import gathered, reduced
from kernelrank.dask.feature_map import Basis, FeatureMap, choose_map
from kernelrank.dask.partitions import Partitions
from kernelrank.dask.query_counts import QueryCounts, QuerySummary, count_queries, merge_counts
from kernelrank.dask.statistics import Statistics, merge_statistics, mergeable, partition_statistics
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection.alpha_grid import mean_eigenvalue

__all__ = ["TrainingData"]

TABLES = 64
"""How many tables of counts one task merges."""


class TrainingData:
    """The training data of a fit, on a cluster.

    Parameters
    ----------
    client : distributed.Client
    learner : RankRLS
        With the options of the fit; it is not fitted itself.
    partitions : Partitions

    Attributes
    ----------
    summary : QuerySummary
        How many queries there are.
    features : FeatureMap
    basis : Basis or None
    spanning : Delayed
        The table of the queries that lie in several partitions, which stays on the workers.
    """

    def __init__(self, client: Client, learner: RankRLS, partitions: Partitions) -> None:
        self.client, self.learner = client, learner
        tables = partitions.counted().each(count_queries, ("y", "qid", "weight"))
        # Tables of labels are small, and one merge of many takes less time than several of a few.
        counts = client.persist(reduced(merge_counts, tables, TABLES))
        self.spanning = client.persist(delayed(QueryCounts.spanning)(counts))
        self.summary: QuerySummary = gathered(client, delayed(QueryCounts.summary)(counts))[0]
        self._check_mergeable(partitions.n_outputs)
        self.partitions = partitions = partitions.in_column_groups(self.summary.sizes)
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
