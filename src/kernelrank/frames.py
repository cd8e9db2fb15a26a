"""Columns as a data frame: pandas if it is installed, else Polars, else a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["to_frame"]

LIBRARIES = ("pandas", "polars")
"""The packages to try, in this order."""


def to_frame(columns: Mapping[str, Any]) -> Any:
    """Make a data frame of columns of one length.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns in their order, each a sequence or an array of one dimension.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or dict of ndarray
        The first of them whose library is installed.

    Notes
    -----
    Time and memory O(cells). The library is imported at the first call, and not with kernelrank.

    Examples
    --------
    >>> frame = to_frame({"alpha": [0.5, 1.0], "accuracy": [0.75, 0.8]})
    >>> list(frame["accuracy"])
    [0.75, 0.8]
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    for library in LIBRARIES:
        try:
            frames: Any = import_module(library)
        except ImportError:
            continue
        return frames.DataFrame({name: _column(a, frames) if a.dtype == object else a for name, a in arrays.items()})
    return arrays


def _column(values: NDArray[Any], frames: Any) -> Any:
    """Return a column of Python objects as `pandas` or `polars` takes it."""
    if frames.__name__ == "pandas":
        return list(values)
    try:
        return frames.Series(list(values))
    except TypeError:  # labels of several types
        return frames.Series(list(values), dtype=frames.Object)
