"""MaxMarginClustering: the labels that a kernel RLS separates best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import compiled
from kernelrank.base.progress import track
from kernelrank.base.sklearn_private import Interval, StrOptions, fit_context
from kernelrank.comparisons import ItemScores
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import FitProgress, KernelLearner, keep_parameters, whole_or_not_at_all
from kernelrank.features import ColumnFeatures, Features
from kernelrank.kernels import GammaLike, KernelLike
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import check_range


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
        keep_parameters(self, locals())

    @fit_context(prefer_skip_nested_validation=True)
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


# Cluster cost ---------------------------------------------------------------------------------------------------------
#
# What labels cost: the quadratic form of a kernel RLS over clusters, dense or by its columns, and its descent.
#
# the part “Cluster moves” derives the form and what a move changes.

SWEEPS = 200
"""A descent ends after this many sweeps at the latest."""


class ClusterCost(ABC):
    """The cost ``tr(Yᵀ Q Y)`` of labels.

    Shapes: eigenvalues (t,), vectors (m, at most t).

    eigenvalues: The eigenvalues of the kernel matrix that its columns can have, ascending.
    """

    def __init__(self, eigenvalues: Float, vectors: Float, alpha: float) -> None:
        self.eigenvalues = eigenvalues
        self.vectors = vectors
        self.alpha = alpha
        self.n_items = len(vectors)
        # A change must be larger than this; the whole cost is at most one for each item.
        self.threshold = 1e-13 * self.n_items

    @abstractmethod
    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """Move and swap the items of `order` until nothing lowers the cost; labels change in place."""

    @abstractmethod
    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""

    def objective(self, labels: Index, n_clusters: int) -> float:
        """Return the cost of labels: that of ±1 for two clusters, else the sum over the columns of zeros and ones."""
        Y = memberships(labels, n_clusters)
        if n_clusters == 2:
            Y = Y[:, :1] - Y[:, 1:]
        return float(np.vdot(Y, self.apply(Y)))

    def lower_bound(self, n_clusters: int, least: int) -> float:
        """Return a lower bound on the cost of any labels.

        The columns of Y are orthogonal, and their squared lengths are the sizes of the clusters. So the cost is at
        least ``Σ_c s_c λ / (μ_c + λ)``, with the largest cluster beside the largest eigenvalue μ of K and so on. Labels
        of ±1 are one column of squared length m.
        """
        sizes = np.full(n_clusters, least)
        sizes[0] = self.n_items - (n_clusters - 1) * least
        if n_clusters == 2:
            sizes = np.array([self.n_items])
        largest = np.zeros(len(sizes))
        known = self.eigenvalues[::-1][: len(sizes)]
        largest[: len(known)] = known
        return float(np.sum(sizes * self.alpha / (largest + self.alpha)))


class DenseCost(ClusterCost):
    """The cost by the matrix Q, whose descent tries every swap."""

    def __init__(self, features: Features, alpha: float) -> None:
        K = features.centred_kernel(ItemScores(np.zeros((features.n_items, 1))))
        # A kernel is computed to fewer digits than a sum; what is made of columns cannot be indefinite.
        rounding = max(1e-9 * float(np.trace(K)), 100 * len(K) * np.finfo(np.float64).eps * features.kernel_scale)
        eigenvalues, vectors = spectrum(K, rounding)
        super().__init__(eigenvalues, vectors, alpha)
        self.Q = (vectors * (alpha / (eigenvalues + alpha))) @ vectors.T

    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""
        return self.Q @ Y

    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """As in `ClusterCost`; O(m k) for a sweep of moves, O(m²) for one of swaps, and O(m) for each that is made."""
        F = np.ascontiguousarray((self.Q @ memberships(labels, n_clusters)).T)
        sizes = np.bincount(labels, minlength=n_clusters)
        for _ in range(SWEEPS):
            if move_items(self.Q, F, labels, sizes, order, least, self.threshold) == 0 and (
                swap_items(self.Q, F, labels, order, self.threshold) == 0
            ):
                break


class ColumnCost(ClusterCost):
    """The cost by the columns Ψ of features Φ; swaps are tried between the items that would gain most by a move."""

    def __init__(self, features: ColumnFeatures, alpha: float) -> None:
        m = features.n_items
        eigenvalues, W = spectrum(features.gram(ItemScores(np.zeros((m, 1)))), np.inf)
        self.Psi = np.empty((m, len(W)))
        for rows in blocks(m, 8 * len(W), 2**26):
            self.Psi[rows] = features.rows(np.arange(rows.start, rows.stop)) @ W
        self.Psi /= np.sqrt(eigenvalues + alpha)
        # Column c of Ψ has the length √(μ / (μ + λ)); eigenvalues that are nothing but rounding have no eigenvector.
        real = eigenvalues > len(W) * np.finfo(np.float64).eps * eigenvalues[-1]
        vectors = self.Psi[:, real] / np.sqrt(eigenvalues / (eigenvalues + alpha))[real]
        self.squares = np.einsum("ij,ij->i", self.Psi, self.Psi)
        super().__init__(eigenvalues, vectors, alpha)

    def apply(self, Y: Float) -> Float:
        """Return ``Q Y``."""
        return np.asarray(Y - self.Psi @ (self.Psi.T @ Y))

    def descend(self, labels: Index, n_clusters: int, least: int, order: Index) -> None:
        """As in `ClusterCost`; O(m r k) for a sweep of moves or swaps, and O(r) for each that is made."""
        V = memberships(labels, n_clusters).T @ self.Psi
        sizes = np.bincount(labels, minlength=n_clusters)
        for _ in range(SWEEPS):
            active = self._active(V, labels, order)
            moves = 0
            for _ in range(10):
                made = move_by_columns(self.Psi, V, labels, sizes, active, least, self.threshold)
                moves += made
                if made == 0:
                    break
            if moves == 0 and self._swap(V, labels, order) == 0:
                break

    def _active(self, V: Float, labels: Index, order: Index) -> Index:
        """Return the items that a move would help, and a part of the others: those it would cost least."""
        scores = self.Psi @ V.T
        items = np.arange(self.n_items)
        own = scores[items, labels]
        scores[items, labels] = -np.inf
        change = (own - scores.max(axis=1) - self.squares)[order]
        place = int(0.05 * len(order))
        return np.asarray(order[change <= max(np.partition(change, place)[place], 0.0)])

    def _swap(self, V: Float, labels: Index, order: Index) -> int:
        """Swap items of every two clusters; those that would gain most by a move alone come first."""
        scores = self.Psi @ V.T
        moves = 0
        for p in range(len(V)):
            for q in range(p + 1, len(V)):
                gain = scores[:, q] - scores[:, p]
                inside, outside = order[labels[order] == p], order[labels[order] == q]
                first = inside[np.argsort(-gain[inside], kind="stable")]
                second = outside[np.argsort(gain[outside], kind="stable")]
                moves += swap_by_columns(self.Psi, V, labels, first, second, 50, self.threshold)
        return moves


def memberships(labels: Index, n_clusters: int) -> Float:
    """Return Y, a column of zeros and ones for each cluster, shape (m, k)."""
    return np.asarray(labels[:, None] == np.arange(n_clusters), dtype=np.float64)


def cluster_cost(features: Features, alpha: float) -> ClusterCost:
    """Return the cost of labels for a kernel: by columns where these are fewer than many items, else dense.

    O(m³) time and two m × m matrices if dense; O(m r²) and m × r numbers by columns.
    """
    if features.primal is not None and features.n_items > 2_000:  # up to there every swap is tried in O(1)
        return ColumnCost(features.primal, alpha)
    return DenseCost(features, alpha)


# Cluster moves --------------------------------------------------------------------------------------------------------
#
# Moves between clusters: what a move costs, in O(1) or O(r), and the compiled loops that make them.
#
# The labels of m items are a matrix Y (m × k) of zeros and ones, one column for each cluster. What they cost is what a
# kernel RLS leaves of them [GPK09]_:
#
#     ``J(Y) = min over f of Σ_c ‖y_c - f_c‖² + λ‖f_c‖² = tr(Yᵀ Q Y)``, ``Q = λ(K + λI)⁻¹``.
#
# With ``F = Q Y``, item i that moves from cluster p to q changes J by ``2(Q_ii - F_ip + F_iq)``. Items i of p and j of
# q that change places change it by the sum of their moves and ``-4 Q_ij``. For two clusters with labels of ±1, ``λ yᵀ(K
# + λI)⁻¹y = 2 J(Y) - 1ᵀQ1``: the same minimum, and every change twice as large.
#
# * **Dense**: Q and F are kept. A move is tried in O(1), and made in O(m): two columns of F change.
# * **Columns**: with features Φ (m × r), ``Q = I - ΨΨᵀ``, ``ΨᵀΨ = Φᵀ Φ(ΦᵀΦ + λI)⁻¹``, and ``F = Y - ΨV``, ``V = ΨᵀY``.
#   A move costs ``2(ψ_iᵀv_p - ψ_iᵀv_q - ‖ψ_i‖²)``: O(r k) to try, and O(r) to make.
#
# A cluster never falls below `least` items. Each loop is one sweep over some items and returns how many moves it made.
# A move must lower J by more than `threshold`, so that rounding cannot make the search go round in circles.


@compiled
def move_items(Q: Float, F: Float, labels: Index, sizes: Index, order: Index, least: int, threshold: float) -> int:
    """Move each item to the cluster that lowers the cost most; F is ``(Q Y)ᵀ`` (k × m)."""
    moves = 0
    for i in order:
        p = labels[i]
        if sizes[p] <= least:
            continue
        q = p
        for c in range(len(sizes)):
            if c != p and (q == p or F[c, i] < F[q, i]):
                q = c
        if q == p or 2.0 * (Q[i, i] - F[p, i] + F[q, i]) >= -threshold:
            continue
        F[p] -= Q[i]
        F[q] += Q[i]
        labels[i] = q
        sizes[p] -= 1
        sizes[q] += 1
        moves += 1
    return moves


@compiled
def swap_items(Q: Float, F: Float, labels: Index, order: Index, threshold: float) -> int:
    """Swap the clusters of each item and the item that lowers the cost most; F is ``(Q Y)ᵀ`` (k × m)."""
    moves = 0
    for i in order:
        p = labels[i]
        best, other = -threshold, -1
        for j in order:
            q = labels[j]
            if q == p:
                continue
            change = 2.0 * (Q[i, i] - F[p, i] + F[q, i] + Q[j, j] - F[q, j] + F[p, j]) - 4.0 * Q[i, j]
            if change < best:
                best, other = change, j
        if other >= 0:
            q = labels[other]
            F[p] += Q[other] - Q[i]
            F[q] += Q[i] - Q[other]
            labels[i], labels[other] = q, p
            moves += 1
    return moves


@compiled
def move_by_columns(
    Psi: Float, V: Float, labels: Index, sizes: Index, order: Index, least: int, threshold: float
) -> int:
    """Move each item to the cluster that lowers the cost most; V is ``(ΨᵀY)ᵀ`` (k × r)."""
    moves = 0
    for i in order:
        p = labels[i]
        if sizes[p] <= least:
            continue
        psi = Psi[i]
        scores = np.dot(V, psi)
        q = p
        for c in range(len(sizes)):
            if c != p and (q == p or scores[c] > scores[q]):
                q = c
        if q == p or 2.0 * (scores[p] - scores[q] - np.dot(psi, psi)) >= -threshold:
            continue
        V[p] -= psi
        V[q] += psi
        labels[i] = q
        sizes[p] -= 1
        sizes[q] += 1
        moves += 1
    return moves


@compiled
def swap_by_columns(
    Psi: Float, V: Float, labels: Index, first: Index, second: Index, patience: int, threshold: float
) -> int:
    """Swap the clusters of the items of two lists, one by one, where that lowers the cost.

    The lists hold the items of two clusters, those that would gain most in front. The loop ends after `patience` pairs
    in a row that stay. V is ``(ΨᵀY)ᵀ`` (k × r).
    """
    moves, failures = 0, 0
    for place in range(min(len(first), len(second))):
        i, j = first[place], second[place]
        p, q = labels[i], labels[j]
        d = Psi[i] - Psi[j]
        if 2.0 * np.dot(d, V[p] - V[q] - d) < -threshold:
            V[p] -= d
            V[q] += d
            labels[i], labels[j] = q, p
            moves += 1
            failures = 0
        else:
            failures += 1
            if failures == patience:
                break
    return moves


# Cluster search -------------------------------------------------------------------------------------------------------
#
# The search for the cheapest labels: starts, sizes that are allowed, and the best that was found.


def automatic_starts(n_items: int) -> int:
    """Return the number of starts of a search: 50 up to 400 items, fewer for more, down to 5."""
    return max(5, min(50, 20_000 // n_items))


def automatic_kicks(n_items: int) -> int:
    """Return how often the labels of a start are perturbed: 20 times up to 200 items, fewer for more."""
    return max(1, min(20, 4_000 // n_items))


@dataclass(frozen=True)
class ClusterSearch:
    """Searches for the labels with the lowest cost.

    Shapes: given (m,).

    given: Labels that stay as they are; -1 for items that have none.
    """

    cost: ClusterCost
    n_clusters: int
    least: int
    given: Index
    random_state: np.random.RandomState

    def best(self, n_init: int) -> tuple[Index, float]:
        """Return the labels with the lowest cost over several random starts, and this cost.

        Shapes: returns (m,).
        """
        best, least = self.given, np.inf
        for labels in track(self._starts(n_init), n_init, "clustering", noun="starts"):
            value = self._descended(labels)
            for _ in range(automatic_kicks(self.cost.n_items)):
                kicked = self._kicked(labels)
                lower = self._descended(kicked)
                if lower < value - self.cost.threshold:
                    labels, value = kicked, lower
            if value < least - self.cost.threshold:
                best, least = labels, value
        return best, least

    def _descended(self, labels: Index) -> float:
        """Descend from labels, which change, and return what they cost then."""
        order = self.random_state.permutation(np.flatnonzero(self.given < 0))
        self.cost.descend(labels, self.n_clusters, self.least, order)
        return self.cost.objective(labels, self.n_clusters)

    def _kicked(self, labels: Index) -> Index:
        """Return labels with some of them, two to a third, exchanged at random."""
        free = np.flatnonzero(self.given < 0)
        size = self.random_state.randint(2, max(3, len(free) // 3 + 1))
        some = self.random_state.permutation(free)[:size]
        kicked = labels.copy()
        kicked[some] = labels[self.random_state.permutation(some)]
        return kicked

    def _starts(self, n_init: int) -> Iterator[Index]:
        """Yield labels of allowed sizes: from given labels, from eigenvectors, and drawn."""
        made = 0
        for labels in self._informed_starts(max(1, n_init // 2)):
            yield self.allowed(labels)
            made += 1
        for _ in range(made, n_init):
            yield self.allowed(self.random_state.permutation(self.cost.n_items) % self.n_clusters)

    def _informed_starts(self, number: int) -> Iterator[Index]:
        if np.any(self.given >= 0):
            number -= 1
            Y = memberships(self.given, self.n_clusters)
            yield np.argmax(Y - self.cost.apply(Y), axis=1)
        vectors = self.cost.vectors[:, ::-1]
        if number > 0:
            # Rows of several eigenvectors, of any length, for k-means: spectral clustering.
            from sklearn.cluster import KMeans

            rows = vectors[:, : self.n_clusters]
            means = KMeans(self.n_clusters, n_init=1, random_state=self.random_state)
            yield means.fit_predict(rows).astype(np.int64)
        for vector in vectors.T[: max(0, number - 1)]:
            yield self._cut(vector)

    def _cut(self, vector: Float) -> Index:
        """Cut an eigenvector into clusters: two by its sign, more into parts of equal size."""
        if self.n_clusters == 2:
            return np.asarray(vector > 0, dtype=np.int64)
        labels = np.empty(len(vector), dtype=np.int64)
        labels[np.argsort(vector, kind="stable")] = np.arange(len(vector)) * self.n_clusters // len(vector)
        return labels

    def allowed(self, labels: Index) -> Index:
        """Put given labels back, and fill clusters that are too small with items drawn from the others."""
        labels = np.where(self.given >= 0, self.given, labels)
        sizes = np.bincount(labels, minlength=self.n_clusters)
        for item in self.random_state.permutation(np.flatnonzero(self.given < 0)):
            small = int(np.argmin(sizes))
            if sizes[small] >= self.least:
                break
            if sizes[labels[item]] > self.least:
                sizes[labels[item]] -= 1
                sizes[small] += 1
                labels[item] = small
        return labels


def least_size(balance: float, n_items: int, n_clusters: int, given: Index) -> int:
    """Return the smallest size of a cluster; raise an error if given labels do not allow it.

    Shapes: given (m,).
    """
    if n_items < n_clusters:
        raise InvalidInputError(
            f"Expected at least as many items as clusters; got n_samples = {n_items} and n_clusters = {n_clusters}."
        )
    least = max(1, int(np.floor(balance * n_items / n_clusters + 1e-9)))
    counts = np.bincount(given[given >= 0], minlength=n_clusters)
    missing = int(np.maximum(least - counts, 0).sum())
    n_free = int(np.sum(given < 0))
    if missing > n_free:
        raise InvalidInputError(
            f"Expected clusters of at least {least} items each (balance={balance:g}); the given labels leave {n_free} "
            f"items free, and {missing} are needed. Lower balance, or give fewer labels."
        )
    return least
