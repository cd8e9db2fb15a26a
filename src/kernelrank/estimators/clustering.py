"""MaxMarginClustering: the labels that a kernel RLS separates best."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from kernelrank.base.arrays import Index
from kernelrank.comparisons import ItemScores
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner, whole_or_not_at_all
from kernelrank.estimators.fit_progress import FitProgress
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.solvers.cluster_cost import cluster_cost, memberships
from kernelrank.solvers.cluster_search import ClusterSearch, automatic_starts, least_size
from kernelrank.solvers.precision import check_range

__all__ = ["MaxMarginClustering"]


class MaxMarginClustering(ClusterMixin, KernelLearner):
    """Cluster items so that a kernel RLS classifier separates the clusters well.

    Searches for the labels that regularised least squares fits best: they minimise
    ``min over f of ‖y - f‖² + alpha ‖f‖²``, with ``y`` of ±1 for two clusters, and with a column of zeros and ones for
    each of more clusters [GPK09]_. Clusters are then separated by wide gaps; unlike in k-means they need not be round.
    `balance` excludes the trivial solution, one cluster of all items.

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    alpha : float, default=1.0
        Regularisation strength: larger values mean smoother boundaries. The loss is a sum (not a mean) over items.
    kernel : str, callable or kernel object, default="rbf"
        The kernel, as in `RankRLS`. There is no intercept: centre the columns of X before you use "linear".
    gamma, degree, coef0, kernel_params
        Parameters of the kernel, as in `RankRLS`.
    basis : int or sequence of int, optional
        Basis items, as in `RankRLS`: for more than a few thousand items.
    balance : float, default=0.5
        The smallest size of a cluster, as a fraction of ``m / n_clusters``: 1 makes all clusters equally large, up to
        rounding; 0 allows any size.
    n_init : int or "auto", default="auto"
        How many descents are started: "auto" takes 50 up to 400 items, and fewer for more items, down to 5. Half of
        the starts, at most, come from the leading eigenvectors of the kernel matrix; the others are drawn.
    random_state : int, RandomState or None, default=None
        Random seed of the starts, the perturbations, the order in which items are tried, and a basis.
    verbose : bool, default=False
        Whether a fit shows its progress on standard error: a bar on a terminal, lines elsewhere.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (m,)
        The cluster of each item, from 0 on. Unless labels were given, clusters are numbered by their first items.
    objective_ : float
        The minimum that was found.
    lower_bound_ : float
        No labels of these sizes have a smaller objective: ``Σ_c s_c alpha / (μ_c + alpha)`` over the clusters, with the
        largest eigenvalues μ of the kernel matrix and the most uneven sizes s that are allowed; for two clusters
        ``m alpha / (μ_1 + alpha)``. The bound is usually not tight.
    n_clusters_ : int
        The number of clusters of the fit.
    coef_, dual_coef_, X_fit_, basis_, kernel_, gamma_, solver_, n_iter_, n_features_in_, feature_names_in_
        The kernel RLS on the labels, with one output for each cluster, as in `RankRLS`; `predict` uses it.

    See Also
    --------
    kernelrank.RLSClassifier : The same model for known classes.

    Notes
    -----
    A move of an item to another cluster is tried in O(1) and made in O(m); with a basis of r items, from 2,000 items
    on, in O(r) both. Two items may also exchange their clusters. The labels of each descent are perturbed and improved
    again, 20 times for up to 200 items, and fewer times for more. Before that: O(m³) time and two m × m arrays; with a
    basis O(m r²) and m × r numbers. The search is a heuristic. ``python benchmarks/clustering_finds_the_optimum.py``
    compares it with all possible labels.

    References
    ----------
    .. [GPK09] Gieseke, Pahikkala and Kramer (2009). Fast evolutionary maximum margin clustering. ICML 26.

    Examples
    --------
    >>> from kernelrank import MaxMarginClustering
    >>> X = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.2], [3.0, 3.1], [3.2, 3.0], [3.1, 2.9]]
    >>> model = MaxMarginClustering(2, gamma=0.5, random_state=0).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> model.predict([[2.9, 3.0]])
    array([1])
    >>> MaxMarginClustering(2, gamma=0.5, random_state=0).fit_predict(X, labels=[1, -1, -1, 0, -1, -1])
    array([1, 1, 1, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: KernelLearner._parameter_constraints[name]
            for name in (
                "alpha",
                "kernel",
                "gamma",
                "degree",
                "coef0",
                "kernel_params",
                "basis",
                "random_state",
                "verbose",
            )
        },
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "balance": [Interval(Real, 0, 1, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        alpha: float = 1.0,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        basis: int | Sequence[int] | None = None,
        balance: float = 0.5,
        n_init: int | Literal["auto"] = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.basis = basis
        self.balance = balance
        self.n_init: int | Literal["auto"] = n_init
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @whole_or_not_at_all
    def fit(self, X: Any, y: Any = None, *, labels: Any = None) -> Self:
        """Find the clusters of items.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (m, n_features), or (m, m) if the kernel is precomputed
            The items.
        y : None
            Not used, present for API consistency by convention: known labels go into `labels`.
        labels : array-like of int, shape (m,), optional
            Clusters that are known, from 0 to ``n_clusters - 1``; -1 for items whose cluster is to be found. Known
            labels stay as they are.

        Returns
        -------
        self
        """
        X = self._check_items(X, reset=True)
        progress = FitProgress(self, X, y)
        given = _check_labels(labels, X.shape[0], self.n_clusters)
        least = least_size(self.balance, X.shape[0], self.n_clusters, given)
        features = self._features(X)
        check_range(features, [ItemScores(np.ones((X.shape[0], 1)))])
        cost = cluster_cost(features, self.alpha)
        n_init = automatic_starts(X.shape[0]) if self.n_init == "auto" else self.n_init
        found, objective = ClusterSearch(cost, self.n_clusters, least, given, self._random()).best(n_init)
        self.labels_ = found if labels is not None else _numbered_by_first_item(found)
        self.objective_ = objective
        self.lower_bound_ = min(objective, cost.lower_bound(self.n_clusters, least))
        self.n_clusters_ = int(self.n_clusters)
        graph = ItemScores(memberships(self.labels_, self.n_clusters))
        solver = self._solver(features, graph)
        solution = solver.solve(solver.prepare(features, graph), self.alpha)
        progress.done()
        outputs = np.arange(self.n_clusters)
        return self._keep(features, [(outputs, graph)], [solution], solver.name, one_output=False)

    def predict(self, X: Any) -> Index:
        """Return the clusters of new items: those with the largest score.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (t, n_features), or (t, m) if the kernel is precomputed

        Returns
        -------
        ndarray of int64, shape (t,)

        Notes
        -----
        Training items get their own labels again, except where given labels or `balance` forced another one.
        """
        return np.asarray(np.argmax(self._raw_scores(X), axis=1))


def _check_labels(labels: object, n_items: int, n_clusters: int) -> Index:
    """Return given labels as integers, -1 where there is none."""
    if labels is None:
        return np.full(n_items, -1, dtype=np.int64)
    values = np.asarray(labels)
    if values.shape != (n_items,):
        raise InvalidInputError(f"Expected one label for each of {n_items} items; got the shape {values.shape}.")
    if values.dtype.kind not in "iu":
        raise InvalidInputError(f"Expected labels as integers, -1 where unknown; got {values.dtype}.")
    wrong = np.flatnonzero((values < -1) | (values >= n_clusters))
    if len(wrong):
        raise InvalidInputError(
            f"Expected labels from -1 (unknown) to {n_clusters - 1}; got {values[wrong[0]]} for item {wrong[0]}."
        )
    return values.astype(np.int64)


def _numbered_by_first_item(labels: Index) -> Index:
    """Return clusters numbers by the order in which they first occur."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which].astype(np.int64)
