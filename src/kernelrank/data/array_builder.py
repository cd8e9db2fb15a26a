"""An array that is built block by block, without a second copy of what is there already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["ArrayBuilder"]

MARGIN = 33 / 32
"""How much more is reserved than the first block suggests."""


class ArrayBuilder:
    """A one-dimensional array to which blocks are appended; it grows by an eighth when it is full.

    Appending n values one block at a time takes O(n) time; the memory is at most 9/8 of the result (and the
    block), where joining the blocks at the end would take twice the result. Where the first block comes with its
    share of the whole, space for the whole is reserved at once.

    Parameters
    ----------
    dtype : dtype-like

    Examples
    --------
    >>> array = ArrayBuilder(np.float64)
    >>> array.append(np.array([1, 2]))
    >>> array.append(np.array([3]))
    >>> array.finished()
    array([1., 2., 3.])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def append(self, values: NDArray[Any], share: float | None = None) -> None:
        """Append values; `share`, from 0 to 1, is the fraction of all values that is then present."""
        size = self._size + len(values)
        if not self._size and share:
            # Memory that is reserved and never written to is not used.
            self._values = np.empty(max(size, int(size / share * MARGIN)), dtype=self._values.dtype)
        elif size > len(self._values):
            self._values.resize(max(size, len(self._values) * 9 // 8), refcheck=False)
        self._values[self._size : size] = values
        self._size = size

    def finished(self) -> NDArray[Any]:
        """Return the array, cut to its size; nothing may be appended afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values
