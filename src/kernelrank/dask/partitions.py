"""Partitions: items, scores, queries and weights of Dask collections, brought side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError

__all__ = ["Partitions", "column_names", "item_array"]


@dataclass(frozen=True)
class Partitions:
    """The pieces of the training data, each list with one entry for each partition.

    Parameters
    ----------
    X, y : list of Delayed
        Rows of items as arrays, and their scores.
    qid, weight : list of Delayed or None
        Their query labels and weights.
    n_features : int
    names : ndarray of str, or None
        The names of the columns, if X is a data frame.
    n_outputs : int
    one_output : bool
        Whether y has one dimension.
    """

    X: list[Delayed]
    y: list[Delayed]
    qid: list[Any]
    weight: list[Any]
    n_features: int
    names: NDArray[Any] | None
    n_outputs: int
    one_output: bool

    @classmethod
    def of(cls, X: Any, y: Any, qid: Any = None, weight: Any = None) -> Partitions:
        """Read Dask arrays and data frames; nothing is computed.

        Parameters
        ----------
        X : dask array or data frame, shape (m, n_features)
        y : dask array, series or data frame, shape (m,) or (m, n_outputs)
        qid, weight : dask array or series, shape (m,), optional
            All partitioned like X. Arrays whose sizes are known are partitioned anew where they differ, and local
            arrays are cut likewise.

        Returns
        -------
        Partitions
        """
        if y is None:
            raise InvalidInputError("this estimator requires y to be passed, but the target y is None")
        # Dask joins the partitions of a file by how many columns are read: of X and y not the same ones.
        with dask.config.set({"optimization.tune.active": False}):
            items = item_array(X)
            scores = _beside(y, items, "y")
            n_outputs, one_output = _count_outputs(scores)
            absent = [None] * items.numblocks[0]
            return cls(
                _pieces(items),
                _pieces(scores),
                absent if qid is None else _pieces(_beside(qid, items, "qid")),
                absent if weight is None else _pieces(_beside(weight, items, "sample_weight")),
                int(items.shape[1]),
                column_names(X),
                n_outputs,
                one_output,
            )

    def __len__(self) -> int:
        return len(self.X)


def item_array(X: Any) -> da.Array:
    """Return items as a Dask array of two dimensions whose rows are whole."""
    if _is_frame(X):
        X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise InvalidInputError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; RankRLS takes what is in memory"
        )
    if X.ndim != 2 or math.isnan(X.shape[1]):
        raise InvalidInputError(f"X must have two dimensions and a known number of columns, got shape {X.shape}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def column_names(X: Any) -> NDArray[Any] | None:
    """Return the names of the columns of a data frame, if all are strings."""
    names = list(X.columns) if _is_frame(X) and hasattr(X, "columns") else []
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def _is_frame(collection: Any) -> bool:
    return is_dask_collection(collection) and hasattr(collection, "to_dask_array")


def _beside(values: Any, items: da.Array, name: str) -> Any:
    """Return a collection with the partitions of the items."""
    rows = items.chunks[0]
    known = not any(math.isnan(size) for size in rows)
    if not is_dask_collection(values):
        if not known:
            raise InvalidInputError(
                f"{name} is in memory, and the sizes of X's partitions are not known: make {name} a Dask collection "
                "with the same partitions, or call X.compute_chunk_sizes() first"
            )
        if np.shape(values)[:1] != (sum(rows),):
            raise InvalidInputError(f"{name} has {len(values)} entries, but X has {sum(rows)} items")
        values = np.asarray(values)
        return da.from_array(values, chunks=(rows, *((size,) for size in values.shape[1:])))
    if isinstance(values, da.Array):
        if values.ndim == 2:
            values = values.rechunk({1: -1})
        if known and not any(math.isnan(size) for size in values.chunks[0]):
            if values.shape[0] != sum(rows):
                raise InvalidInputError(f"{name} has {values.shape[0]} entries, but X has {sum(rows)} items")
            return values.rechunk({0: rows})
    count = values.numblocks[0] if isinstance(values, da.Array) else values.npartitions
    if count != len(rows):
        raise InvalidInputError(
            f"{name} has {count} partitions, but X has {len(rows)}: X, y, qid and sample_weight need the same ones"
        )
    return values


def _count_outputs(scores: Any) -> tuple[int, bool]:
    """Return how many outputs y has, and whether it has one dimension."""
    if scores.ndim == 1:
        return 1, True
    if scores.ndim != 2:
        raise InvalidInputError(f"y must have one or two dimensions, got shape {scores.shape}")
    width = len(scores.columns) if hasattr(scores, "columns") else scores.shape[1]
    if math.isnan(width):
        raise InvalidInputError("y must have a known number of columns")
    return int(width), False


def _pieces(collection: Any) -> list[Delayed]:
    return list(np.ravel(np.array(collection.to_delayed(), dtype=object)))
