"""An array that is built block by block, without a second copy of what is there already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["ArrayBuilder"]

SMALL = 2**25
"""Up to this many bytes an array is copied into twice the room; beyond it grows in place, by an eighth."""


class ArrayBuilder:
    """A one-dimensional array to which blocks are appended; a full one doubles, and grows by an eighth if it is large.

    Appending n values one block at a time takes O(n) time; the memory of a large result is at most 9/8 of it (and the
    block), where joining the blocks at the end would take twice the result.

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

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        size = self._size + len(values)
        if size > len(self._values):
            self._grow(max(size, 2 * len(self._values) if self._values.nbytes < SMALL else len(self._values) * 9 // 8))
        self._values[self._size : size] = values
        self._size = size

    def _grow(self, room: int) -> None:
        if self._values.nbytes >= SMALL:
            self._values.resize(room, refcheck=False)
            return
        # `resize` fills what is new with zeros, and so pays for memory twice.
        values = np.empty(room, dtype=self._values.dtype)
        values[: self._size] = self._values[: self._size]
        self._values = values

    def finished(self) -> NDArray[Any]:
        """Return the array, cut to its size; nothing may be appended afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values
