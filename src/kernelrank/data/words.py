"""Words: spans of a text as an array of strings, or of integers where all of them are integers.

Strings stand in arrays of objects, one object for a run of equal words: an array of fixed width would make every row as
wide as the longest word of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.compiled import compiled
from kernelrank.data.tokens import NO_INTEGER, read_integers

__all__ = [
    "LONGEST_LABEL",
    "as_strings",
    "first_long",
    "gather_labels",
    "gather_words",
    "join_labels",
    "label_array",
    "labels_as_strings",
    "long_message",
    "undecodable",
]

CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")

LONGEST_LABEL = 1 << 16
"""How many bytes a label, a name or a class may have: what is longer is text that stands in the wrong place."""


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


def join_labels(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Join labels of several texts: integers if all are. Integers go back to strings as they were read.

    Examples
    --------
    >>> join_labels([np.array([10, 20]), np.array(["q2"])])
    array(['10', '20', 'q2'], dtype=object)
    """
    if all(piece.dtype.kind == "i" for piece in pieces):
        return np.concatenate(pieces)
    return np.concatenate([labels_as_strings(piece) for piece in pieces])


def labels_as_strings(labels: NDArray[Any]) -> NDArray[np.object_]:
    """Return labels that were read as strings: integers as they stood in the file, strings as they are.

    Examples
    --------
    >>> labels_as_strings(np.array([10, 20]))
    array(['10', '20'], dtype=object)
    """
    return labels if labels.dtype == object else as_strings(labels)


def as_strings(labels: NDArray[Any] | Iterable[object]) -> NDArray[np.object_]:
    """Return labels as an array of strings, each as long as it is.

    Examples
    --------
    >>> as_strings(np.array([10, 20]))
    array(['10', '20'], dtype=object)
    """
    values: Iterable[object] = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.array([str(value) for value in values], dtype=object)


def label_array(labels: NDArray[Any] | Sequence[object]) -> NDArray[Any]:
    """Return labels as an array without making all strings as wide as the longest.

    Examples
    --------
    >>> label_array(["a", "bc"]), label_array([1, 2])
    (array(['a', 'bc'], dtype=object), array([1, 2]))
    """
    if not isinstance(labels, (list, tuple)):
        return np.asarray(labels)
    return np.array(labels, dtype=object if str in set(map(type, labels)) else None)


def first_long(lengths: NDArray[Any]) -> int | None:
    """Return the place of the first label that is longer than `LONGEST_LABEL`, if there is one."""
    place = int(np.argmax(lengths > LONGEST_LABEL)) if len(lengths) else 0
    return place if len(lengths) and lengths[place] > LONGEST_LABEL else None


def long_message(what: str, length: int) -> str:
    """Say that a label is too long.

    Examples
    --------
    >>> long_message("the query label", 1_000_000)
    'the query label has 1,000,000 bytes: expected at most 65,536'
    """
    return f"{what} has {length:,} bytes: expected at most {LONGEST_LABEL:,}"


@compiled
def differs_from_last(text: NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.bool_]:
    """Say of each span whether its bytes differ from those of the one before."""
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
