"""Partitions: items, scores, queries and weights of Dask collections, side by side."""

from __future__ import annotations

import fnmatch
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Client, LocalCluster, get_client, progress
from numpy.typing import ArrayLike, NDArray

from kernelrank.base.arrays import Labels, Matrix
from kernelrank.base.validation import is_path, refuse_file_options
from kernelrank.errors import FileFormatError, InvalidInputError

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

NAMES = ("X", "y", "qid", "weight")


@dataclass(frozen=True)
class Partitions:
    """Items, scores, queries and weights as Dask collections, all data frames or all arrays, with the same partitions.

    Parameters
    ----------
    X, y, qid, weight : dask collections
        Items, their scores, their query labels and weights; the last two may be None. The partitions of X are
        arrays where it was a path.
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
        *,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        impute: str | None = None,
    ) -> Partitions:
        """Read Dask arrays and data frames; nothing is computed.

        Shapes: X (m, n_features), y (m,) or (m, n_outputs), qid, weight (m,).
        """
        if impute not in (None, "mean"):
            raise InvalidInputError(
                f"impute must be 'mean' or None, got {impute!r}: a median needs all values of a column in one place"
            )
        if y is None:
            raise InvalidInputError("this estimator requires y to be passed, but the target y is None")
        if is_path(X):
            items, *beside = read_columns(X, y, qid, weight, features, exclude)
            return replace(cls._of_collections(items, *beside), X=_in_column_groups(items))
        refuse_file_options(features=features, exclude=exclude, impute=impute)
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

    def imputed(self, client: Client) -> tuple[Partitions, NDArray[np.float64]]:
        """Replace missing numbers by the mean of their column; return the means too. They take one more reading."""
        totals, counts = zip(*gathered(client, *self.each(_known_sums, ("X",))), strict=True)
        known = np.sum(counts, axis=0)
        if not known.all():
            name = f"column {self.names[np.argmin(known)]!r}" if self.names is not None else "a column"
            raise InvalidInputError(f"{name} has no value: leave it out with exclude")
        means = np.sum(totals, axis=0) / known
        options: dict[str, Any] = {"meta": (None, object), "enforce_metadata": False}
        return replace(self, X=self.X.map_partitions(_with_means, means, **options)), means

    def counted(self) -> Partitions:
        """Return what the items are counted by: where they have labels, scores need not be read for that."""
        return self if self.qid is None else replace(self, y=None)

    def each(
        self, function: Callable[..., Any], names: Sequence[str] = NAMES, shared: Sequence[Any] = ()
    ) -> list[Delayed]:
        """Apply a function to the number, the pieces and some shared arguments of every partition."""
        pieces = [repeat(None) if (piece := getattr(self, name)) is None else _blocks(piece) for name in names]
        once = [one if isinstance(one, Delayed) else delayed(one, traverse=False) for one in shared]
        call = delayed(function)
        return [call(number, *blocks, *once) for number, blocks in enumerate(zip(*pieces, strict=False))]


def _blocks(collection: Collection) -> list[Delayed]:
    """Return each partition of a collection."""
    # Dask joins the partitions of a file by how many columns are read: of X and of y not the same ones.
    with dask.config.set({"optimization.tune.active": False}):
        return list(np.ravel(collection.to_delayed()))


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


# Parquet columns ------------------------------------------------------------------------------------------------------
#
# Parquet files as Dask data frames, where X is given as a path.

BLOCKSIZE = "64MiB"
"""Row groups are joined up to this size, and never cut."""


def read_columns(
    path: str | os.PathLike[str],
    y: object,
    qid: object,
    weight: object,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> tuple[dd.DataFrame, dd.Series, dd.Series | None, dd.Series | None]:
    """Return the columns of Parquet files as Dask data frames and series; no row is read.

    Shapes: returns X (m, n_features), returns y, qid, weight (m,).

    path: A file, a folder of them, a pattern such as ``part-*.parquet`` or a URL, which all workers must be able to
    open.
    """
    data = _with_floats(_opened(os.fspath(path)))
    known = [str(name) for name in data.columns]
    if not known:
        raise FileFormatError("there is no Parquet file", os.fspath(path))
    for argument, name in (("y", y), ("qid", qid), ("sample_weight", weight)):
        if name is None and argument != "y":
            continue
        if not isinstance(name, str):
            raise InvalidInputError(
                f"X is the path {os.fspath(path)!r}: {argument} must be the name of a column there, got "
                f"{type(name).__name__}; the columns are {', '.join(known)}"
            )
        if name not in known:
            raise FileFormatError(f"there is no column {name!r}; the columns are {', '.join(known)}", os.fspath(path))
    names = [
        name
        for name, dtype in data.dtypes.items()
        if getattr(dtype, "kind", "O") in "biuf" and name not in (y, qid, weight)
    ]
    unwanted = [name for pattern in exclude for name in _matching(pattern, known, path)]
    wanted = names if features is None else [name for one in features for name in _matching(one, known, path)]
    names = [name for name in dict.fromkeys(wanted) if name in names and name not in unwanted]
    if not names:
        raise FileFormatError("no numeric column is left for the features", os.fspath(path))
    return data[names], data[y], None if qid is None else data[qid], None if weight is None else data[weight]


def _matching(pattern: str, known: list[str], path: str | os.PathLike[str]) -> list[str]:
    """Return the columns with a name, or with one that matches a pattern such as gene*."""
    found = [pattern] if pattern in known else fnmatch.filter(known, pattern)
    if not found:
        raise FileFormatError(f"no column is called {pattern!r}; the columns are {', '.join(known)}", os.fspath(path))
    return found


def _known_sums(_: int, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the sum and the number of the values of each column that are not missing."""
    return np.nansum(X, axis=0, dtype=np.float64), np.count_nonzero(~np.isnan(X), axis=0)


def _with_means(X: NDArray[Any], means: NDArray[np.float64]) -> NDArray[Any]:
    """Replace missing numbers."""
    return np.where(np.isnan(X), means.astype(X.dtype), X)


def _in_column_groups(X: dd.DataFrame) -> Frame:
    """Read the items of each partition as one array, an eighth of the columns at a time.

    Whoever reads all columns at once has the compressed bytes, the pages, an Arrow table and a data frame of them in
    memory together: six times the partition.
    """
    names = list(X.columns)
    dtype = np.dtype(np.float32 if all(one == np.float32 for one in X.dtypes) else np.float64)
    groups = [group.tolist() for group in np.array_split(np.array(names, dtype=object), min(8, len(names)))]
    options: dict[str, Any] = {"meta": (None, object), "enforce_metadata": False}
    with dask.config.set({"optimization.tune.active": False}):
        # Each alone: together they would be read as one, with all columns.
        frames = [X[group].optimize(fuse=False) for group in groups]
    joined, start = frames[0].map_partitions(_begin, len(names), dtype, **options), len(groups[0])
    for frame, group in zip(frames[1:], groups[1:], strict=True):
        joined = joined.map_partitions(_fill, frame, start, **options)
        start += len(group)
    return joined


def _begin(frame: pd.DataFrame, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Make room for all columns, one after the other as in a data frame, and write the first ones."""
    return _fill(np.empty((n_columns, len(frame)), dtype=dtype).T, frame, 0)


def _fill(X: NDArray[Any], frame: pd.DataFrame, start: int) -> NDArray[Any]:
    """Write some columns to their place."""
    X[:, start : start + frame.shape[1]] = frame.to_numpy(dtype=X.dtype, na_value=np.nan)
    return X


def _with_floats(data: dd.DataFrame) -> dd.DataFrame:
    """Turn decimal numbers, as databases write them, and booleans into floats, as a local fit does."""
    import pandas as pd
    import pyarrow as pa

    names = [
        name
        for name, dtype in data.dtypes.items()
        if getattr(dtype, "kind", "O") == "b"
        or (isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype))
    ]
    return data.astype(dict.fromkeys(names, np.float64)) if names else data


def _opened(path: str) -> dd.DataFrame:
    """Open Parquet files; no row is read."""
    # Pandas takes its time, and arrays do without.
    import dask.dataframe as dd

    try:
        return dd.read_parquet(path, blocksize=BLOCKSIZE)
    except FileNotFoundError:
        raise FileFormatError("there is no such file or folder", path) from None
    except (OSError, ValueError) as error:
        raise FileFormatError(f"expected Parquet files: {error}", path) from None


# Collection types -----------------------------------------------------------------------------------------------------
#
# Types of what lies on a cluster: Dask's collections, and the blocks that a task sees of them.

Frame: TypeAlias = "dd.DataFrame | dd.Series"
"""A Dask data frame or series."""

Collection: TypeAlias = "da.Array | dd.DataFrame | dd.Series"
"""A Dask array, data frame or series."""

ItemBlock: TypeAlias = "Matrix | pd.DataFrame"
"""The items of one partition."""

ColumnBlock: TypeAlias = "NDArray[Any] | pd.Series | pd.DataFrame"
"""The scores, queries or weights of one partition."""


# Cluster --------------------------------------------------------------------------------------------------------------
#
# The cluster: which client does the work, how results are gathered, and reductions in a tree.

WIDTH = 8
"""How many results one task of a reduction merges."""


@contextmanager
def connected(client: Client | str | None) -> Iterator[Client]:
    """Provide a client, and close again what was opened for it."""
    if isinstance(client, Client):
        yield client
    elif client is not None:
        with Client(client, set_as_default=False) as opened:
            yield opened
    elif (current := _current()) is not None:
        yield current
    else:
        # Nothing listens beyond this machine, and no port is asked for that another program may have. Nobody knows
        # where the dashboard of a cluster is that lives for one fit, and starting it takes time.
        local: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        with LocalCluster(**local) as cluster, Client(cluster, set_as_default=False) as opened:
            yield opened


def _current() -> Client | None:
    try:
        return get_client()
    except ValueError:
        return None


def gathered(client: Client, *tasks: Delayed) -> list[Any]:
    """Compute tasks on the cluster and bring their results here, with Dask's progress bar on a terminal.

    Whatever stops the wait, Ctrl-C included, cancels the work.
    """
    # The map of a large basis is sent with the graph on purpose: what the scheduler holds survives any worker.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        futures = client.compute(list(tasks))
    try:
        if sys.stdout.isatty():
            progress(futures, notebook=False)
        results: list[Any] = client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise
    return results


def reduced(function: Callable[[list[Any]], Any], parts: Sequence[Delayed], width: int = WIDTH) -> Delayed:
    """Merge the results of many tasks in a tree on the workers, eight (or a given number) at a time."""
    level = list(parts)
    while len(level) > 1:
        level = [delayed(function)(level[start : start + width]) for start in range(0, len(level), width)]
    return level[0]
