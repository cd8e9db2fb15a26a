"""Parquet files as Dask data frames, where X is given as a path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from kernelrank.errors import FileFormatError, InvalidInputError

if TYPE_CHECKING:
    import dask.dataframe as dd

__all__ = ["read_columns"]

BLOCKSIZE = "64MiB"
"""Row groups are joined up to this size, and never cut."""


def read_columns(
    path: str | os.PathLike[str], y: object, qid: object, weight: object
) -> tuple[dd.DataFrame, dd.Series, dd.Series | None, dd.Series | None]:
    """Return the columns of Parquet files as Dask data frames and series; no row is read.

    Parameters
    ----------
    path : str or path-like
        A file, a folder of them, a pattern such as ``part-*.parquet`` or a URL, which all workers must be able to open.
    y : str
        The column of scores.
    qid, weight : str or None
        The columns of queries and of weights.

    Returns
    -------
    X : dask data frame, shape (m, n_features)
        All other columns of numbers, as `kernelrank.data.columns` has it: integers, floats, decimals and booleans.
    y, qid, weight : dask series, shape (m,), or None
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
    if not names:
        raise FileFormatError("no numeric column is left for the features", os.fspath(path))
    return data[names], data[y], None if qid is None else data[qid], None if weight is None else data[weight]


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
