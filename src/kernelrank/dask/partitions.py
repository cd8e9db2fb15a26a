"""Partitions: items, scores, queries and weights of Dask collections, side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pickle import PickleBuffer
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from dask.layers import ArrayBlockIdDep
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Index, Labels
from kernelrank.base.validation import is_path
from kernelrank.dask.collection_types import Collection, ColumnBlock, ItemBlock
from kernelrank.dask.column_groups import joined_columns
from kernelrank.dask.fused_tasks import fused_tasks
from kernelrank.dask.parquet_columns import read_columns
from kernelrank.errors import InvalidInputError

__all__ = ["Partitions", "column_names", "is_frame", "item_array"]

NAMES = ("X", "y", "qid", "weight")

SMALL_ARGUMENT = 4096
"""Arguments of fewer bytes are sent with each task."""


@dataclass(frozen=True)
class Partitions:
    """Items, scores, queries and weights as Dask collections, all data frames or all arrays, with the same partitions.

    Parameters
    ----------
    X, y, qid, weight : dask collections
        Items, their scores, their query labels and weights; the last two may be None. The partitions of X may be arrays
        even if the others are series (see `column_groups`).
    n_features : int
    names : ndarray of str, or None
        The names of the columns, if X is a data frame.
    n_outputs : int
    one_output : bool
        Whether y has one dimension.
    """

    X: Collection
    y: Collection | None
    qid: Collection | None
    weight: Collection | None
    n_features: int
    names: NDArray[Any] | None
    n_outputs: int
    one_output: bool

    @classmethod
    def of(
        cls,
        X: Collection | str | os.PathLike[str],
        y: Collection | ArrayLike | str | None,
        qid: Collection | Labels | str | None = None,
        weight: Collection | ArrayLike | str | None = None,
    ) -> Partitions:
        """Read Dask arrays and data frames; nothing is computed.

        Parameters
        ----------
        X : dask array or data frame, shape (m, n_features), or path
        y : dask array, series or data frame, shape (m,) or (m, n_outputs)
        qid, weight : dask array or series, shape (m,), optional
            All partitioned like X. Arrays whose sizes are known are partitioned anew where they differ, and local
            arrays are cut likewise. With a path they are the names of columns.

        Returns
        -------
        Partitions
        """
        if y is None:
            raise InvalidInputError("this estimator requires y to be passed, but the target y is None")
        if is_path(X):
            return cls._of_collections(*read_columns(X, y, qid, weight))
        return cls._of_collections(X, y, qid, weight)

    @classmethod
    def _of_collections(
        cls,
        X: Collection,
        y: Collection | ArrayLike,
        qid: Collection | Labels | None,
        weight: Collection | ArrayLike | None,
    ) -> Partitions:
        items = item_array(X)
        given = {"y": y, "qid": qid, "weight": weight}
        beside = {
            name: None if one is None else _partitioned_like(one, items, "sample_weight" if name == "weight" else name)
            for name, one in given.items()
        }
        n_outputs, one_output = _count_outputs(beside["y"])
        if is_frame(X) and all(one is None or is_frame(one) for one in beside.values()):
            items = X
        else:
            beside = {name: _as_array(one) for name, one in beside.items()}
        n_features = len(X.columns) if is_frame(X) else int(X.shape[1])
        return cls(
            items,
            beside["y"],
            beside["qid"],
            beside["weight"],
            n_features,
            column_names(X),
            n_outputs,
            one_output,
        )

    def counted(self) -> Partitions:
        """Return what the items are counted by: where they have labels, scores need not be read for that."""
        return self if self.qid is None else replace(self, y=None)

    def in_column_groups(self, sizes: Index) -> Partitions:
        """Return the same data, with large partitions of Parquet files read some columns at a time.

        Parameters
        ----------
        sizes : ndarray of int64
            The number of rows of each partition.
        """
        joined = joined_columns(self.X, int(sizes.max(initial=0))) if is_frame(self.X) else None
        return self if joined is None else replace(self, X=joined)

    def each(
        self, function: Callable[..., Any], names: Sequence[str] = NAMES, shared: Sequence[Any] = ()
    ) -> list[Delayed]:
        """Apply a function to every partition, in one task with whatever makes the partition, where Dask can.

        Parameters
        ----------
        function : callable
            Called with the number of the partition, its pieces, and what is shared.
        names : sequence of str
            The pieces; None is passed for one that is not given.
        shared : sequence
            Further arguments. Large ones get a key that all tasks share: they are sent once, and a worker fetches them
            once. Small ones travel with each task, which spares the workers a task and a transfer before they begin.

        Returns
        -------
        list of Delayed
        """
        pieces = [getattr(self, name) for name in names]
        present = [piece for piece in pieces if piece is not None]
        keys = [one if _is_sent_with_tasks(one) else delayed(one, traverse=False) for one in shared]
        given = tuple(piece is not None for piece in pieces)
        if isinstance(present[0], da.Array):
            return _calls_on_blocks(present, keys, function, given)
        return _calls_on_frames(present, keys, function, given)


def _is_sent_with_tasks(shared: object) -> bool:
    """Whether an argument is a task already, or so small that each task may have a copy of its own."""
    if isinstance(shared, Delayed):
        return True
    # Arrays are measured, not copied.
    arrays: list[PickleBuffer] = []
    head: bytes = cloudpickle.dumps(shared, protocol=5, buffer_callback=arrays.append)
    return len(head) + sum(memoryview(array).nbytes for array in arrays) < SMALL_ARGUMENT


def _calls_on_frames(
    pieces: list[Any], shared: list[Any], function: Callable[..., Any], given: tuple[bool, ...]
) -> list[Delayed]:
    # Dask joins the partitions of a file by how many columns are read: of X and of y not the same ones.
    with dask.config.set({"optimization.tune.active": False}):
        calls = pieces[0].map_partitions(
            _call_with_frames,
            *pieces[1:],
            *shared,
            function=function,
            given=given,
            token=function.__name__.strip("_"),
            meta=(None, object),
            enforce_metadata=False,
        )
        return list(calls.to_delayed())


def _calls_on_blocks(
    pieces: list[Any], shared: list[Any], function: Callable[..., Any], given: tuple[bool, ...]
) -> list[Delayed]:
    # Blocks are matched by their number, whether their sizes are known or not; columns are never cut.
    indexed = [part for piece in pieces for part in (piece, "ij"[: piece.ndim])]
    out = "ij" if any(piece.ndim == 2 for piece in pieces) else "i"
    calls = da.blockwise(
        _call_with_blocks,
        out,
        ArrayBlockIdDep((pieces[0].chunks[0],)),
        "i",
        *indexed,
        function=function,
        given=given,
        shared=shared,
        token=function.__name__.strip("_"),
        dtype=object,
        meta=np.empty((0,) * len(out), dtype=object),
        align_arrays=False,
    )
    return fused_tasks(calls)


def _call_with_frames(
    *arguments: object, function: Callable[..., Any], given: tuple[bool, ...], partition_info: dict[str, Any]
) -> Any:
    rest = iter(arguments)
    pieces = [next(rest) if one else None for one in given]
    return function(partition_info["number"], *pieces, *rest)


def _call_with_blocks(
    number: tuple[int, ...],
    *blocks: ItemBlock | ColumnBlock,
    function: Callable[..., Any],
    given: tuple[bool, ...],
    shared: list[Any],
) -> Any:
    rest = iter(blocks)
    return function(number[0], *(next(rest) if one else None for one in given), *shared)


def item_array(X: Collection) -> da.Array:
    """Return items as a Dask array of two dimensions whose rows are whole."""
    if is_frame(X):
        with dask.config.set({"optimization.tune.active": False}):
            X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise InvalidInputError(
            f"X must be a Dask array or data frame, got {type(X).__name__}; RankRLS takes what is in memory"
        )
    if X.ndim != 2 or math.isnan(X.shape[1]):
        raise InvalidInputError(f"X must have two dimensions and a known number of columns, got shape {X.shape}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def column_names(X: Collection) -> NDArray[Any] | None:
    """Return the names of the columns of a data frame, if all are strings."""
    names = list(X.columns) if is_frame(X) and hasattr(X, "columns") else []
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def is_frame(collection: object) -> bool:
    """Whether this is a Dask data frame or series."""
    return is_dask_collection(collection) and hasattr(collection, "to_dask_array")


def _as_array(collection: Collection | None) -> da.Array | None:
    """Return a series or data frame as an array; labels of a type that NumPy does not know become objects."""
    if collection is None or not is_frame(collection):
        return collection
    if collection.ndim == 1 and not isinstance(collection.dtype, np.dtype):
        collection = collection.astype(object)
    with dask.config.set({"optimization.tune.active": False}):
        return collection.to_dask_array()


def _partitioned_like(values: Collection | ArrayLike | Labels, items: da.Array, name: str) -> Collection:
    """Return a collection with the partitions of the items."""
    rows = items.chunks[0]
    known = not any(math.isnan(size) for size in rows)
    if not is_dask_collection(values):
        if not known:
            raise InvalidInputError(
                f"{name} is in memory, but the sizes of X's partitions are unknown: make {name} a Dask "
                "collection with the same partitions, or call X.compute_chunk_sizes() first"
            )
        array = np.atleast_1d(np.asarray(values))
        if len(array) != sum(rows):
            raise InvalidInputError(f"{name} has {len(array)} entries, but X has {sum(rows)} items")
        return da.from_array(array, chunks=(rows, *((size,) for size in array.shape[1:])))
    collection: Collection = values
    if isinstance(collection, da.Array):
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        if known and not any(math.isnan(size) for size in collection.chunks[0]):
            if collection.shape[0] != sum(rows):
                raise InvalidInputError(f"{name} has {collection.shape[0]} entries, but X has {sum(rows)} items")
            return collection.rechunk({0: rows})
    count = collection.numblocks[0] if isinstance(collection, da.Array) else collection.npartitions
    if count != len(rows):
        raise InvalidInputError(
            f"{name} has {count} partitions, but X has {len(rows)}: X, y, qid and sample_weight need the same ones"
        )
    return collection


def _count_outputs(scores: Collection) -> tuple[int, bool]:
    """Return how many outputs y has, and whether it has one dimension."""
    if scores.ndim == 1:
        return 1, True
    if scores.ndim != 2:
        raise InvalidInputError(f"y must have one or two dimensions, got shape {scores.shape}")
    width = len(scores.columns) if hasattr(scores, "columns") else scores.shape[1]
    if math.isnan(width):
        raise InvalidInputError("y must have a known number of columns")
    return int(width), False
