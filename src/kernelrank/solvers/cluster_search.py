"""The search for the cheapest labels: starts, sizes that are allowed, and the best that was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.progress import track
from kernelrank.errors import InvalidInputError
from kernelrank.solvers.cluster_cost import ClusterCost, memberships

__all__ = ["ClusterSearch", "automatic_kicks", "automatic_starts", "least_size"]

LARGEST_KICK = 1 / 3
"""The largest part of the items that is disturbed."""

SHARE_OF_EIGENVECTORS = 0.5
"""At most this part of the starts comes from eigenvectors; the others are drawn."""


def automatic_starts(n_items: int) -> int:
    """Return the number of starts of a search: 50 up to 400 items, fewer for more, down to 5.

    Examples
    --------
    >>> automatic_starts(100), automatic_starts(2_000), automatic_starts(20_000)
    (50, 10, 5)
    """
    return max(5, min(50, 20_000 // n_items))


def automatic_kicks(n_items: int) -> int:
    """Return how often the labels of a start are perturbed: 20 times up to 200 items, fewer for more.

    Examples
    --------
    >>> automatic_kicks(100), automatic_kicks(2_000), automatic_kicks(20_000)
    (20, 2, 1)
    """
    return max(1, min(20, 4_000 // n_items))


@dataclass(frozen=True)
class ClusterSearch:
    """Searches for the labels with the lowest cost.

    Parameters
    ----------
    cost : ClusterCost
    n_clusters : int
    least : int
        The smallest size of a cluster.
    given : ndarray of int64, shape (m,)
        Labels that stay as they are; -1 for items that have none.
    random_state : numpy.random.RandomState
    """

    cost: ClusterCost
    n_clusters: int
    least: int
    given: Index
    random_state: np.random.RandomState

    def best(self, n_init: int) -> tuple[Index, float]:
        """Return the labels with the lowest cost over several random starts, and this cost.

        Parameters
        ----------
        n_init : int
            The number of starts.

        Returns
        -------
        ndarray of int64, shape (m,)
        float
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
        size = self.random_state.randint(2, max(3, int(LARGEST_KICK * len(free)) + 1))
        some = self.random_state.permutation(free)[:size]
        kicked = labels.copy()
        kicked[some] = labels[self.random_state.permutation(some)]
        return kicked

    def _starts(self, n_init: int) -> Iterator[Index]:
        """Yield labels of allowed sizes: from given labels, from eigenvectors, and drawn."""
        made = 0
        for labels in self._informed_starts(max(1, int(SHARE_OF_EIGENVECTORS * n_init))):
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

    Parameters
    ----------
    balance : float
        The smallest size as a part of ``n_items / n_clusters``.
    n_items, n_clusters : int
    given : ndarray of int64, shape (m,)

    Returns
    -------
    int
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
