"""The features of partitions: their columns, or the kernels of a basis that was chosen among all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float, Index, Matrix
from kernelrank.dask.collection_types import ItemBlock
from kernelrank.dask.partitions import Partitions
from kernelrank.estimators import RankRLS
from kernelrank.features import KernelMap, KernelRows, basis_stream, choose_basis

__all__ = ["FeatureMap", "choose_map"]


@dataclass(frozen=True)
class FeatureMap:
    """How the rows of a partition become features.

    Parameters
    ----------
    n_columns : int
        The number of features, r.
    map : KernelMap or None
        The empirical kernel map of a basis; None if the features are the columns of X.
    items : array or sparse matrix, shape (r, n), or None
        The basis items that the map takes.
    """

    n_columns: int
    map: KernelMap | None = None
    items: Matrix = None

    def rows(self, X: Matrix) -> Matrix:
        """Return the features of some items, computed on demand."""
        return X if self.map is None else KernelRows(self.map, X, self.items)

    def coefficients(self, w: Float) -> Float:
        """Return the coefficients that predict: of the columns, or of all basis items."""
        return w if self.map is None else self.map.coefficients(w)


@dataclass(frozen=True)
class Basis:
    """The basis items, and their numbers among all items if they are among them."""

    items: Matrix
    numbers: Index | None


def choose_map(
    learner: RankRLS, partitions: Partitions, sizes: Index, gather: Callable[..., list[Any]]
) -> tuple[FeatureMap, Basis | None]:
    """Return the features of a linear learner, or those of a basis.

    A number of basis items is drawn uniformly among all items, as `RankRLS` draws it; the partitions that have one are
    read once for that. Items that are given themselves are taken as they are.

    Parameters
    ----------
    learner : RankRLS
    partitions : Partitions
    sizes : ndarray of int64
        The number of rows of each partition.
    gather : callable
        Computes tasks and returns their results.

    Returns
    -------
    FeatureMap
    Basis or None
    """
    if learner.basis is None:
        return FeatureMap(partitions.n_features), None
    if isinstance(learner.basis, Integral) or np.ndim(learner.basis) == 1:
        given = int(learner.basis) if isinstance(learner.basis, Integral) else np.asarray(learner.basis)
        numbers = choose_basis(given, int(sizes.sum()), basis_stream(learner.random_state))
        basis = Basis(_fetched(partitions, numbers, sizes, gather), numbers)
    else:
        basis = Basis(learner.basis, None)
    items = learner._check_items(basis.items, reset=True, least=1)
    if basis.numbers is None:
        items = items.copy()  # a model keeps them, and those given are the caller's
    kernel_map = KernelMap.of(learner._kernel(), learner._kernel().matrix(items))
    return FeatureMap(kernel_map.rank, kernel_map, items[kernel_map.taken]), Basis(items, basis.numbers)


def _fetched(partitions: Partitions, numbers: Index, sizes: Index, gather: Callable[..., list[Any]]) -> Matrix:
    """Bring some rows here, in the order of their numbers."""
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    home = np.searchsorted(bounds, numbers, side="right") - 1
    places = {int(partition): np.flatnonzero(home == partition) for partition in np.unique(home)}
    wanted = {partition: numbers[place] - bounds[partition] for partition, place in places.items()}
    tasks = partitions.each(_take, ("X",), (wanted,))
    pieces = gather(*(tasks[partition] for partition in places))
    order = np.argsort(np.concatenate(list(places.values())), kind="stable")
    return (sparse.vstack(pieces, format="csr") if sparse.issparse(pieces[0]) else np.concatenate(pieces))[order]


def _take(number: int, X: ItemBlock, wanted: dict[int, Index]) -> Matrix:
    rows = wanted[number]
    return X.iloc[rows].to_numpy() if hasattr(X, "iloc") else X[rows]
