"""Scored and unscored items, checked, and the bases that views draw from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_scores, check_weight
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators.base import KernelLearner
from kernelrank.estimators.unscored import UnscoredItems
from kernelrank.features import choose_basis
from kernelrank.features.views import View

__all__ = ["CoData"]

DEFAULT_BASIS = 100
"""The largest number of basis items of a view whose basis is not given."""


@dataclass(frozen=True)
class CoData:
    """What `CoRankRLS` is fitted to.

    Parameters
    ----------
    X : array or sparse matrix, shape (m, n)
        The scored items.
    scores : ndarray, shape (m, outputs)
    queries : Queries or None
        Their queries; None if they are one ranking.
    weight : ndarray, shape (m,), or None
    one_output : bool
        Whether y has one dimension.
    unscored : UnscoredItems or None
    pool : list of array or sparse matrix
        The items that a basis is drawn from, one below the other.
    places : ndarray of int64, shape (m,)
        The positions of the scored items in the pool.
    """

    X: Matrix
    scores: Float
    queries: Queries | None
    weight: Float | None
    one_output: bool
    unscored: UnscoredItems | None
    pool: list[Matrix]
    places: Index

    @classmethod
    def read(
        cls,
        learner: KernelLearner,
        X: Any,
        y: Any,
        qid: Any = None,
        X_unscored: Any = None,
        qid_unscored: Any = None,
        sample_weight: Any = None,
    ) -> CoData:
        """Check the arguments of a fit; items with NaN for y are unscored."""
        X = learner._check_items(X, reset=True)
        y = check_scores(y, X.shape[0], allow_missing=True)
        scores = y[:, None] if y.ndim == 1 else y
        weight = check_weight(sample_weight, X.shape[0])
        queries = Queries.from_labels(qid, X.shape[0])
        missing = _unscored_queries(scores, queries)
        if qid_unscored is not None and X_unscored is None:
            raise InvalidInputError("qid_unscored is given without X_unscored")
        if not missing.any():
            unscored = None if X_unscored is None else UnscoredItems.read(learner, X_unscored, qid_unscored)
            pool = [X] if unscored is None else [X, unscored.first]
            told = None if qid is None else queries
            return cls(X, scores, told, weight, y.ndim == 1, unscored, pool, np.arange(X.shape[0]))
        if X_unscored is not None:
            raise InvalidInputError(
                f"y is NaN for {int(missing.sum())} items and X_unscored is given too: use one of the two ways "
                "to pass unscored items"
            )
        scored, others = np.flatnonzero(~missing), np.flatnonzero(missing)
        return cls(
            X[scored],
            scores[scored],
            queries.subset(scored),
            None if weight is None else weight[scored],
            y.ndim == 1,
            UnscoredItems.of_array(X[others], queries.subset(others)),
            [X],
            scored,
        )

    @property
    def pool_size(self) -> int:
        """How many items a basis may be drawn from."""
        return sum(int(part.shape[0]) for part in self.pool)

    def take(self, numbers: Index) -> Matrix:
        """Return some items of the pool, in the order of the numbers."""
        bounds = np.cumsum([0, *(part.shape[0] for part in self.pool)])
        which = np.searchsorted(bounds, numbers, side="right") - 1
        places = [np.flatnonzero(which == k) for k in range(len(self.pool))]
        rows = [part[numbers[at] - start] for part, at, start in zip(self.pool, places, bounds, strict=False)]
        back = np.argsort(np.concatenate(places))
        if any(sparse.issparse(part) for part in rows):
            return sparse.vstack(rows, format="csr")[back]
        return np.concatenate(rows)[back]

    def draw_bases(
        self, views: Sequence[View], default: ArrayLike | None, random_state: np.random.RandomState
    ) -> list[Index | None]:
        """Return the basis of each view as numbers of the pool, or None where the view brings its basis items.

        Bases that are drawn have no item in common, as long as there are enough items for that.
        """
        wanted = [default if view.basis is None else view.basis for view in views]
        sizes = [self._size(number, basis, len(views)) for number, basis in enumerate(wanted)]
        drawn = [size for size in sizes if size is not None]
        apart = sum(drawn) <= self.pool_size
        shuffled, start = random_state.permutation(self.pool_size), 0
        bases: list[Index | None] = []
        for number, (basis, size) in enumerate(zip(wanted, sizes, strict=True)):
            if size is None:
                assert basis is not None
                bases.append(self._given(number, basis))
                continue
            chosen = shuffled[start : start + size] if apart else random_state.permutation(self.pool_size)[:size]
            start += size
            bases.append(np.sort(chosen).astype(np.int64))
        return bases

    def _size(self, number: int, basis: ArrayLike | None, n_views: int) -> int | None:
        """Return how many items a view draws; None if its basis is given."""
        if basis is None:
            return max(1, min(DEFAULT_BASIS, self.pool_size // n_views))
        if isinstance(basis, str):
            if basis != "all":
                raise InvalidInputError(f"view {number}: a basis is a number, 'all', or items, got {basis!r}")
            return self.pool_size
        if np.ndim(basis) > 0 or sparse.issparse(basis):
            return None
        if not isinstance(basis, (int, np.integer)) or isinstance(basis, bool):
            raise InvalidInputError(f"view {number}: a basis is a number, 'all', or items, got {basis!r}")
        if not 1 <= basis <= self.pool_size:
            raise InvalidInputError(
                f"view {number}: a basis of {basis} items cannot be drawn from {self.pool_size} items"
            )
        return int(basis)

    def _given(self, number: int, basis: ArrayLike) -> Index | None:
        """Check numbers of items; basis items themselves have none."""
        if sparse.issparse(basis) or np.ndim(basis) == 2:
            return None
        try:
            return choose_basis(np.asarray(basis), self.pool_size, np.random.RandomState(0))
        except InvalidInputError as error:
            raise InvalidInputError(f"view {number}: {error}") from error


def _unscored_queries(scores: Float, queries: Queries) -> NDArray[np.bool_]:
    """Return which items are unscored; a query has scores for all its items, or for none."""
    gaps = np.isnan(scores)
    missing: NDArray[np.bool_] = np.asarray(gaps.all(axis=1))
    whole = np.bincount(queries.codes, weights=missing, minlength=len(queries)) == queries.sizes
    broken = gaps.any(axis=1) & ~whole[queries.codes]
    if missing.all() and len(missing):
        raise NothingToCompareError("expected at least one scored query; y is NaN for every item")
    if broken.any():
        item = int(np.argmax(broken))
        label = queries.labels.tolist()[queries.codes[item]]
        where = "" if label is None else f" of query {label!r}"
        raise InvalidInputError(
            f"y is NaN for item {item}{where}, but not for the others of its query: score all items of a query, or none"
        )
    return missing
