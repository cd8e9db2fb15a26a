"""Words: labels as an array of strings, or of integers where all of them are integers.

Strings stand in arrays of objects, one object for a run of equal words: an array of fixed width would make every row as
wide as the longest word of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LONGEST_LABEL",
    "as_strings",
    "first_long",
    "join_labels",
    "label_array",
    "labels_as_strings",
    "long_message",
]

LONGEST_LABEL = 1 << 16
"""How many bytes a label, a name or a class may have: what is longer is text that stands in the wrong place."""


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
    """Return the error message for a label that is too long.

    Examples
    --------
    >>> long_message("the query label", 1_000_000)
    'the query label has 1,000,000 bytes: expected at most 65,536'
    """
    return f"{what} has {length:,} bytes: expected at most {LONGEST_LABEL:,}"
