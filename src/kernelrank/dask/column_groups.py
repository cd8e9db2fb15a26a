"""Column groups: a data frame from Parquet files, read some columns at a time into one array for each partition.

Whoever reads all columns of a partition at once has the compressed bytes, the pages, an Arrow table and a data frame of
it in memory together: five to seven times the partition. An eighth of the columns takes an eighth of that beside the
array that they are written to. It is Dask's own reader that reads them, by the projections that it pushes down to the
files, and Dask's own fusion that makes one task of it all.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from numpy.typing import NDArray

from kernelrank.dask.collection_types import Frame

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

__all__ = ["joined_columns", "largest_partition"]

SMALL = 2**24
"""Partitions of less than this many bytes are read at once."""

N_GROUPS = 8
"""Into how many groups columns are divided: fewer need more memory, and more need more openings of the files."""

MOST_READ_AGAIN = 2
"""How often a column may be read on average, for the filters and expressions that the groups have in common."""


def joined_columns(X: dd.DataFrame, n_rows: int) -> Frame | None:
    """Return a data frame whose partitions are arrays read by groups of columns, or None where that does not pay.

    Parameters
    ----------
    X : dask data frame, shape (m, n_features)
    n_rows : int
        The number of rows of the largest partition.

    Returns
    -------
    dask collection or None
        Its partitions are ndarrays with the rows and columns of X. None unless X comes from Parquet files by operations
        on rows that let Dask read single columns, all columns are plain numbers, and some partition is large.

    Notes
    -----
    Nothing is read. A partition takes its array and less than its size again while it is read, instead of six times its
    size.
    """
    names, dtype = list(X.columns), _item_dtype(X)
    if len(set(names)) < len(names) or dtype is None or n_rows * len(names) * dtype.itemsize < SMALL:
        return None
    # Dask joins the partitions of a file by how many columns are read: of each group not the same ones.
    with dask.config.set({"optimization.tune.active": False}):
        groups = [list(group) for group in _column_groups(names)]
        # Each alone: together they would be read as one, with all columns.
        frames = [X[group].optimize(fuse=False) for group in groups]
        whole = _n_columns_read(X.optimize(fuse=False))
    read = [count for frame in frames if (count := _n_columns_read(frame)) is not None]
    if whole is None or len(read) < len(frames) or sum(read) > MOST_READ_AGAIN * whole:
        return None
    options: dict[str, Any] = {"meta": (None, object), "enforce_metadata": False}
    joined = frames[0].map_partitions(_begin, len(names), dtype, **options)
    start = len(groups[0])
    for frame, group in zip(frames[1:], groups[1:], strict=True):
        joined = joined.map_partitions(_fill, frame, start, **options)
        start += len(group)
    return joined


def largest_partition(X: dd.DataFrame) -> int | None:
    """Return the number of rows of the largest partition of a data frame, from the footers of its Parquet files.

    None where they do not: for other data frames, and for files whose rows are filtered as they are read.
    """
    try:
        from dask.dataframe.dask_expr.io.parquet import ReadParquet
    except ImportError:
        return None
    with dask.config.set({"optimization.tune.active": False}):
        files = [node for node in X.optimize(fuse=False).expr.walk() if isinstance(node, ReadParquet)]
    lengths = [node._get_lengths() for node in files]
    if not lengths or any(one is None for one in lengths):
        return None
    return max((int(length) for one in lengths for length in one), default=0)


def _item_dtype(X: dd.DataFrame) -> np.dtype[Any] | None:
    """Return the type of the items of a data frame: float32 if that holds every column, or else float64.

    None if some column is of a type that NumPy has no numbers for.
    """
    types = list(X.dtypes)
    if not types or not all(isinstance(one, np.dtype) and one.kind in "fiub" for one in types):
        return None
    common = np.result_type(*types)
    return common if common == np.float32 else np.dtype(np.float64)


def _column_groups(names: list[Any]) -> list[list[Any]]:
    """Divide columns into groups of neighbours."""
    bounds = np.linspace(0, len(names), min(N_GROUPS, len(names)) + 1).astype(int)
    return [names[start:stop] for start, stop in pairwise(bounds.tolist())]


def _n_columns_read(frame: dd.DataFrame) -> int | None:
    """Count the columns that an optimised data frame reads from Parquet files; None if it takes more than reading."""
    try:
        from dask.dataframe.dask_expr._expr import Blockwise
        from dask.dataframe.dask_expr.io.parquet import ReadParquet
    except ImportError:
        # Dask keeps its expressions elsewhere now: what they read cannot be told, and partitions are read whole.
        return None
    total = 0
    for node in frame.expr.walk():
        if isinstance(node, ReadParquet):
            total += len(node.columns)
        elif not isinstance(node, Blockwise) or not node.dependencies():
            return None
    return total


def _begin(frame: pd.DataFrame, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Make room for all columns, one after the other as in a data frame, and write the first ones."""
    return _fill(np.empty((n_columns, len(frame)), dtype=dtype).T, frame, 0)


def _fill(X: NDArray[Any], frame: pd.DataFrame, start: int) -> NDArray[Any]:
    """Write some columns to their place."""
    X[:, start : start + frame.shape[1]] = frame.to_numpy(dtype=X.dtype)
    return X
