"""Types of what lies on a cluster: Dask's collections, and the blocks that a task sees of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import dask.array as da
from numpy.typing import NDArray

from kernelrank.base.arrays import Matrix

if TYPE_CHECKING:
    # Pandas takes its time, and arrays do without.
    import dask.dataframe as dd
    import pandas as pd

__all__ = ["Collection", "ColumnBlock", "Frame", "ItemBlock"]

Frame: TypeAlias = "dd.DataFrame | dd.Series"
"""A Dask data frame or series."""

Collection: TypeAlias = "da.Array | dd.DataFrame | dd.Series"
"""A Dask array, data frame or series."""

ItemBlock: TypeAlias = "Matrix | pd.DataFrame"
"""The items of one partition."""

ColumnBlock: TypeAlias = "NDArray[Any] | pd.Series | pd.DataFrame"
"""The scores, queries or weights of one partition."""
