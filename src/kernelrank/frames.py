"""Columns as a data frame: pandas if it is installed, else Polars, else a dict of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

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
            frame_type: Any = import_module(library).DataFrame
        except ImportError:
            continue
        # Labels of several types are Python objects, which Polars takes as a list only.
        return frame_type({name: list(a) if a.dtype == object else a for name, a in arrays.items()})
    return arrays
