"""GreedyRLS: a linear regression with few features."""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Matrix
from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredComparisons
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.tasks import Regressor
from kernelrank.selection import SelectionProblem
from kernelrank.selection.estimators import GreedySelector
from kernelrank.selection.search import Criterion

__all__ = ["GreedyRLS"]


class GreedyRLS(GreedySelector, Regressor):
    """Linear RLS on a few features, selected greedily by exact leave-one-out.

    As `GreedyRankRLS`, but each item is compared with its own score, and the model is that of `RLS`, without an
    intercept, on the selected features.

    Parameters
    ----------
    n_features_to_select : int or "auto", default="auto"
        How many features to select, as in `GreedyRankRLS`.
    alpha : float, sequence of float or "auto", default=1.0
        The regularisation strength, as in `RLS`, or several to choose from, as in `GreedyRankRLS`.
    criterion : {"auto", "leave_one_out", "leave_query_out", "leave_pair_out"}, default="auto"
        What is held out: each item, each query, or each pair of items. "auto" holds out queries if qid is given, else
        items. The criterion is the weighted sum of the squared held-out errors, for pairs those of differences.
    floating, feature_groups, required_features, dtype, n_jobs
        As in `GreedyRankRLS`.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    selected_, path_, coef_, criterion_, alpha_
        As in `GreedyRankRLS`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Time O(k m n) for k of n features; memory one array of the size of X, two with queries held out. With pairs held out
    as in `GreedyRankRLS`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import GreedyRLS
    >>> X = np.random.default_rng(0).standard_normal((60, 10))
    >>> GreedyRLS(2).fit(X, X[:, 7] - 2 * X[:, 3]).selected_
    array([3, 7])
    """

    def _criterion(self, queries: Queries) -> Criterion:
        if self.criterion == "auto":
            return "leave_query_out" if len(queries) > 1 else "leave_one_out"
        if self.criterion == "leave_query_out" and len(queries) < 2:
            raise InvalidInputError(
                "Expected at least two queries for criterion='leave_query_out'; got one. Pass qid, or use "
                "criterion='leave_one_out'."
            )
        return self.criterion

    def _problem(self, X: Matrix, graph: ScoredComparisons, queries: Queries, criterion: Criterion) -> SelectionProblem:
        if criterion != "leave_query_out":
            queries = Queries(np.zeros(queries.n_items, dtype=np.int64), queries.labels[:1])
        return SelectionProblem.of_items(X, graph.scores, queries, graph.weight, dtype=self.dtype)
