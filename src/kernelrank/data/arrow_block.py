"""Blocks of rows whose columns are Arrow arrays, whatever file they come from."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.table import Table, TableBlock
from kernelrank.data.words import LONGEST_LABEL, first_long, long_message
from kernelrank.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ArrowBlock"]


class ArrowBlock(TableBlock):
    """Some rows of a table.

    Parameters
    ----------
    table : Table
    positions : ndarray of int64, shape (m,)
    """

    table: Table

    @abstractmethod
    def strings(self, column: int) -> pyarrow.Array:
        """Return a column as strings, nothing missing."""

    def words(self, column: int) -> NDArray[np.object_]:
        """Return a column as strings, one object for all that are equal: labels come in runs."""
        codes, words = self.coded(column)
        return words[codes]

    def coded(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """Return the number of the word in each row, and the words, as they first occur."""
        import pyarrow.compute

        encoded = self.strings(column).cast(pyarrow.large_string()).dictionary_encode()
        lengths = pyarrow.compute.binary_length(encoded.dictionary).to_numpy(zero_copy_only=False)
        codes: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        if first_long(lengths) is not None:
            row = int(np.argmax(lengths[codes] > LONGEST_LABEL))
            raise self.error(long_message("the label", int(lengths[codes[row]])), row, column)
        words: NDArray[np.object_] = encoded.dictionary.to_numpy(zero_copy_only=False)
        return codes, words

    def error(self, message: str, row: int, column: int) -> FileFormatError:
        """Make the error that names file, row and column."""
        return self.table.error(message, int(self.positions[row]), column)
