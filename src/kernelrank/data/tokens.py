"""Tokens of a block of text: their start, colon and end, and their values.

Spans of the text become integers, words or labels, in compiled loops.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import compiled

__all__ = ["Tokens", "find_docids", "gather_labels", "gather_words", "read_integers", "undecodable"]

CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NO_INTEGER = np.iinfo(np.int64).min


class Tokens(NamedTuple):
    r"""The tokens of a block of whole lines; positions are offsets into its text.

    Parameters
    ----------
    begins, colons, ends : ndarray of int32, shape (n_tokens,)
        The first byte, the first colon (-1: none) and the byte after the last one of each token.
    bounds : ndarray of int64, shape (n_lines + 1,)
        The tokens of line i are bounds[i] to bounds[i + 1].
    comments, line_ends : ndarray of int32, shape (n_lines,)
        The byte after the ``#`` of each line (-1: none), and its newline.

    Examples
    --------
    >>> tokens = Tokens.of(np.frombuffer(b"2 qid:7 # x\n", dtype=np.uint8))
    >>> tokens.begins, tokens.colons, tokens.ends
    (array([0, 2], dtype=int32), array([-1,  5], dtype=int32), array([1, 7], dtype=int32))
    """

    begins: NDArray[np.int32]
    colons: NDArray[np.int32]
    ends: NDArray[np.int32]
    bounds: NDArray[np.int64]
    comments: NDArray[np.int32]
    line_ends: NDArray[np.int32]

    @classmethod
    def of(cls, text: NDArray[np.uint8]) -> Tokens:
        """Find the tokens of a text that ends with a newline. Time and memory O(bytes)."""
        n_lines = int(np.count_nonzero(text == 10))
        spans = np.empty((3, len(text) // 2 + 1), dtype=np.int32)
        bounds = np.zeros(n_lines + 1, dtype=np.int64)
        comments = np.full(n_lines, -1, dtype=np.int32)
        line_ends = np.empty(n_lines, dtype=np.int32)
        n_tokens = find_tokens(text, spans[0], spans[1], spans[2], bounds, comments, line_ends)
        return cls(spans[0, :n_tokens], spans[1, :n_tokens], spans[2, :n_tokens], bounds, comments, line_ends)


@compiled
def find_tokens(
    text: NDArray[np.uint8],
    begins: NDArray[np.int32],
    colons: NDArray[np.int32],
    ends: NDArray[np.int32],
    bounds: NDArray[np.int64],
    comments: NDArray[np.int32],
    line_ends: NDArray[np.int32],
) -> int:
    """Fill the arrays of `Tokens` and return the number of tokens."""
    tokens = 0
    line = 0
    position = 0
    while position < len(text):
        byte = text[position]
        if byte == 10:
            line_ends[line] = position
            line += 1
            bounds[line] = tokens
            position += 1
        elif byte == 32 or 9 <= byte <= 13:
            position += 1
        elif byte == 35:  # the comment runs to the end of the line
            comments[line] = position + 1
            while text[position] != 10:
                position += 1
        else:
            begins[tokens] = position
            colon = -1
            while not (byte == 32 or byte == 35 or 9 <= byte <= 13):
                if byte == 58 and colon < 0:
                    colon = position
                position += 1
                byte = text[position]
            colons[tokens] = colon
            ends[tokens] = position
            tokens += 1
    return tokens


@compiled
def read_integers(
    text: NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any], signed: bool, canonical: bool
) -> NDArray[np.int64]:
    """Read each span as an integer of up to 18 digits; other text becomes `NO_INTEGER`.

    Canonical means the one way that Python writes the integer: no leading zero, no "-0".
    """
    values = np.empty(len(begins), dtype=np.int64)
    for token in range(len(begins)):
        position, end = begins[token], ends[token]
        negative = signed and position < end and text[position] == 45
        if negative:
            position += 1
        regular = 0 < end - position <= 18
        if canonical and regular and text[position] == 48 and (negative or end - position > 1):
            regular = False
        value = np.int64(0)
        while regular and position < end:
            digit = np.int64(text[position]) - 48
            regular = 0 <= digit <= 9
            value = 10 * value + digit
            position += 1
        if not regular:
            values[token] = -9223372036854775808
        else:
            values[token] = -value if negative else value
    return values


@compiled
def find_docids(
    text: NDArray[np.uint8], comments: NDArray[Any], ends: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the docid in each comment: the word after ``docid =``, else the first word, else nothing."""
    begins = np.zeros(len(comments), dtype=np.int32)
    stops = np.zeros(len(comments), dtype=np.int32)
    for row in range(len(comments)):
        position, end = comments[row], ends[row]
        if position < 0:
            continue
        while position < end and text[position] <= 32:
            position += 1
        after = position + 5
        if after < end and (  # d o c i d
            text[position] == 100
            and text[position + 1] == 111
            and text[position + 2] == 99
            and text[position + 3] == 105
            and text[position + 4] == 100
        ):
            while after < end and text[after] <= 32:
                after += 1
            if after < end and text[after] == 61:
                position = after + 1
                while position < end and text[position] <= 32:
                    position += 1
        begins[row] = position
        while position < end and text[position] > 32:
            position += 1
        stops[row] = position
    return begins, stops


def gather_words(text: bytes, begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.object_]:
    """Return the spans as strings; they must be UTF-8. Time and memory O(bytes of the spans).

    Examples
    --------
    >>> gather_words(b"one two", np.array([0, 4]), np.array([3, 7]))
    array(['one', 'two'], dtype=object)
    """
    starts = np.flatnonzero(differs_from_last(np.frombuffer(text, dtype=np.uint8), begins, ends))
    spans = zip(begins[starts].tolist(), ends[starts].tolist(), strict=True)
    words = np.array([text[begin:end].decode() for begin, end in spans], dtype=object)
    return np.repeat(words, np.diff(np.append(starts, len(begins))))


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
    array(['10', 'q2'], dtype=object)
    """
    numbers = read_integers(np.frombuffer(text, dtype=np.uint8), begins, ends, True, True)
    for span in np.flatnonzero(numbers == NO_INTEGER).tolist():
        token = text[begins[span] : ends[span]]
        if not (CANONICAL.fullmatch(token) and -(2**63) <= int(token) < 2**63):
            return gather_words(text, begins, ends)
        numbers[span] = int(token)
    return numbers


@compiled
def differs_from_last(text: NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each span whether its bytes differ from those of the one before."""
    differs = np.ones(len(begins), dtype=np.bool_)
    for word in range(1, len(begins)):
        length = ends[word] - begins[word]
        if length != ends[word - 1] - begins[word - 1]:
            continue
        letter = 0
        while letter < length and text[begins[word] + letter] == text[begins[word - 1] + letter]:
            letter += 1
        differs[word] = letter < length
    return differs
