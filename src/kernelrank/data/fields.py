r"""Fields of comma-separated text: where each begins and ends, a block of whole lines at a time.

The format is RFC 4180's, with what people's files have besides: any one-byte delimiter, spaces around a field, ``\n``
or ``\r\n`` after any line, blank lines. A field in quotes may hold delimiters, line ends and doubled quotes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.compiled import compiled

__all__ = ["Fields", "find_fields"]


class Fields(NamedTuple):
    r"""The fields of some records; positions are offsets into the text.

    Parameters
    ----------
    begins, ends : ndarray of int32, shape (n_fields,)
        Without the spaces around them, and without quotes.
    doubled : ndarray of bool, shape (n_fields,)
        Whether the field has quotes inside, which are doubled in the text.
    bounds : ndarray of int64, shape (n_records + 1,)
        The fields of record i are bounds[i] to bounds[i + 1].
    lines : ndarray of int64, shape (n_records,)
        The line of the text where each record begins, counted from zero.
    consumed : int
        How much of the text they take; a record whose quotes stay open is left.
    fault : int
        Where a field in quotes goes on after them; -1: nowhere. Nothing is read from that record on.

    Examples
    --------
    >>> text = np.frombuffer(b'a,"b, c"\n1, 2 \n', dtype=np.uint8)
    >>> fields = Fields.of(text, ",")
    >>> [text[b:e].tobytes() for b, e in zip(fields.begins, fields.ends)], fields.bounds.tolist()
    ([b'a', b'b, c', b'1', b'2'], [0, 2, 4])
    """

    begins: NDArray[np.int32]
    ends: NDArray[np.int32]
    doubled: NDArray[np.bool_]
    bounds: NDArray[np.int64]
    lines: NDArray[np.int64]
    consumed: int
    fault: int

    @classmethod
    def of(cls, text: NDArray[np.uint8], delimiter: str) -> Fields:
        """Find the fields of a text that ends with a newline. Time and memory O(bytes)."""
        n_lines = int(np.count_nonzero(text == 10))
        most = n_lines + int(np.count_nonzero(text == ord(delimiter)))
        spans = np.empty((2, most), dtype=np.int32)
        doubled = np.zeros(most, dtype=np.bool_)
        bounds = np.zeros(n_lines + 1, dtype=np.int64)
        lines = np.empty(n_lines, dtype=np.int64)
        found = find_fields(text, ord(delimiter), spans[0], spans[1], doubled, bounds, lines)
        n_records, consumed, fault = (int(number) for number in found)
        n_fields = int(bounds[n_records])
        return cls(
            spans[0, :n_fields],
            spans[1, :n_fields],
            doubled[:n_fields],
            bounds[: n_records + 1],
            lines[:n_records],
            consumed,
            fault,
        )


@compiled
def find_fields(
    text: NDArray[np.uint8],
    delimiter: int,
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    doubled: NDArray[np.bool_],
    bounds: NDArray[np.int64],
    lines: NDArray[np.int64],
) -> tuple[Any, Any, Any]:
    """Fill the arrays of `Fields` and return the number of records, `consumed` and `fault`."""
    fields = 0
    records = 0
    line = 0
    position = 0
    while position < len(text):
        start = position
        if text[position] == 10 or (text[position] == 13 and text[position + 1] == 10):
            position += 1 if text[position] == 10 else 2
            line += 1
            continue
        lines[records] = line
        more = True
        while more:
            while text[position] == 32 or (text[position] == 9 and delimiter != 9):
                position += 1
            if text[position] == 34:
                position += 1
                begins[fields] = position
                open_quotes = True
                while open_quotes:
                    if position == len(text):
                        return records, start, -1
                    if text[position] == 34:
                        if text[position + 1] == 34:
                            doubled[fields] = True
                            position += 1
                        else:
                            open_quotes = False
                    elif text[position] == 10:
                        line += 1
                    position += 1
                ends[fields] = position - 1
                while text[position] == 32 or (text[position] == 9 and delimiter != 9) or text[position] == 13:
                    position += 1
                if text[position] != delimiter and text[position] != 10:
                    return records, start, position
            else:
                begins[fields] = position
                while text[position] != delimiter and text[position] != 10:
                    position += 1
                end = position
                while end > begins[fields] and (
                    text[end - 1] == 32 or text[end - 1] == 13 or (text[end - 1] == 9 and delimiter != 9)
                ):
                    end -= 1
                ends[fields] = end
            fields += 1
            more = text[position] == delimiter
            position += 1
        line += 1
        records += 1
        bounds[records] = fields
    return records, position, -1
