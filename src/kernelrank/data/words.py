"""Words: spans of a text as an array of strings, or of integers where all of them are integers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.compiled import compiled
from kernelrank.data.tokens import NO_INTEGER, read_integers

__all__ = ["gather_labels", "gather_words", "join_labels", "undecodable"]

CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")


def gather_words(text: bytes, begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.str_]:
    """Return the spans as strings; they must be UTF-8. Time and memory O(spans × longest).

    Examples
    --------
    >>> gather_words(b"one two", np.array([0, 4]), np.array([3, 7]))
    array(['one', 'two'], dtype='<U3')
    """
    width = max(1, int(np.max(ends - begins, initial=0)))
    letters = np.zeros((len(begins), width), dtype=np.uint32)
    if copy_ascii(np.frombuffer(text, dtype=np.uint8), begins, ends, letters):
        return letters.view(f"U{width}")[:, 0]
    return np.array([text[b:e].decode() for b, e in zip(begins.tolist(), ends.tolist(), strict=True)])


def undecodable(text: bytes, begins: NDArray[Any], ends: NDArray[Any]) -> int | None:
    """Return the first span that is not UTF-8, if there is one."""
    if text.isascii():
        return None
    for span, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        try:
            text[begin:end].decode()
        except UnicodeDecodeError:
            return span
    return None


def gather_labels(text: bytes, begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """Return the spans as int64 if each is an integer as Python writes it, else as strings.

    "007" is not how Python writes 7, and stays a string: different labels never become the same one.

    Examples
    --------
    >>> gather_labels(b"10 20", np.array([0, 3]), np.array([2, 5]))
    array([10, 20])
    >>> gather_labels(b"10 q2", np.array([0, 3]), np.array([2, 5]))
    array(['10', 'q2'], dtype='<U2')
    """
    numbers = read_integers(np.frombuffer(text, dtype=np.uint8), begins, ends, True, True)
    for span in np.flatnonzero(numbers == NO_INTEGER).tolist():
        token = text[begins[span] : ends[span]]
        if not (CANONICAL.fullmatch(token) and -(2**63) <= int(token) < 2**63):
            return gather_words(text, begins, ends)
        numbers[span] = int(token)
    return numbers


def join_labels(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Join labels of several texts: integers if all are. Integers go back to strings as they were read.

    Examples
    --------
    >>> join_labels([np.array([10, 20]), np.array(["q2"])])
    array(['10', '20', 'q2'], dtype='<U21')
    """
    if all(piece.dtype.kind == "i" for piece in pieces):
        return np.concatenate(pieces)
    return np.concatenate([piece.astype(str) for piece in pieces])


@compiled
def copy_ascii(text: NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any], letters: NDArray[np.uint32]) -> bool:
    """Copy each span into a row of code points; False as soon as one is not ASCII."""
    for word in range(len(begins)):
        begin = begins[word]
        for letter in range(ends[word] - begin):
            byte = text[begin + letter]
            if byte > 127:
                return False
            letters[word, letter] = byte
    return True
