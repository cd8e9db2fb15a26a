"""One line of a ranking file, read slowly: the definition of the format, with error messages.

A line is a target, a query label, features and a comment, separated by white space::

    2 qid:10 1:0.03 7:0.5 # docid = GX008-86-4444840 inc = 1
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from kernelrank.data.decimals import read_decimal
from kernelrank.data.words import LONGEST_LABEL, long_message
from kernelrank.errors import FileFormatError

__all__ = ["LARGEST_INDEX", "Line", "read_line", "shown"]

LARGEST_INDEX = 2**31 - 1

SPACE = re.compile(rb"[ \t\n\v\f\r]+")
WORD = re.compile(rb"[\0- ]*(?:docid[\0- ]*=[\0- ]*)?([^\0- ]*)")


class Line(NamedTuple):
    """What a line says.

    Parameters
    ----------
    target : float
    qid : str or None
    features : list of (int, float)
        Indices as in the file, and values.
    docid : str
    """

    target: float
    qid: str | None
    features: list[tuple[int, float]]
    docid: str


def read_line(line: bytes, path: str, number: int, *, allow_nonfinite: bool = False) -> Line | None:
    """Read one line; None if it is blank or a comment. Time O(bytes).

    Examples
    --------
    >>> read_line(b"2 qid:10 1:0.03 7:0.5 # docid = GX08 inc = 1", "train.txt", 1)
    Line(target=2.0, qid='10', features=[(1, 0.03), (7, 0.5)], docid='GX08')
    >>> read_line(b"2 qid:10 1:0.03 1:0.5", "train.txt", 1)
    Traceback (most recent call last):
    kernelrank.errors.FileFormatError: train.txt, line 1: feature 1 occurs twice
    """

    def wrong(message: str) -> FileFormatError:
        return FileFormatError(message, path, number)

    def decimal(token: bytes, what: str) -> float:
        value = read_decimal(token)
        if value is None:
            raise wrong(f"{what} {shown(token)} is not a number")
        if not (allow_nonfinite or math.isfinite(value)):
            raise wrong(f"{what} {shown(token)} is not finite")
        return value

    def refuse_long(word: bytes, column: str, what: str) -> None:
        if len(word) > LONGEST_LABEL:
            raise FileFormatError(long_message(what, len(word)), path, number, column=column)

    data, _, comment = line.partition(b"#")
    tokens = [token for token in SPACE.split(data) if token]
    if not tokens:
        return None
    target = decimal(tokens[0], "the target")
    qid = None
    rest = tokens[1:]
    if rest and rest[0].startswith(b"qid:"):
        qid = _text(rest[0].removeprefix(b"qid:"), wrong("the query label is not UTF-8"))
        if not qid:
            raise wrong("qid: is empty")
        refuse_long(rest[0].removeprefix(b"qid:"), "qid", "the query label")
        rest = rest[1:]
    features: list[tuple[int, float]] = []
    for token in rest:
        if token.startswith(b"qid:"):
            raise wrong(f"{shown(token)} must come once, right after the target")
        name, colon, value = token.partition(b":")
        if not colon:
            raise wrong(f"{shown(token)} is not a feature: expected index:value")
        index = _read_index(name, features, wrong)
        features.append((index, decimal(value, f"the value of feature {index},")))
    word = WORD.match(comment)
    refuse_long(word[1] if word else b"", "docid", "the docid in the comment")
    docid = _text(word[1] if word else b"", wrong("the docid in the comment is not UTF-8"))
    return Line(target, qid, features, docid)


def _read_index(name: bytes, features: list[tuple[int, float]], wrong: Callable[[str], FileFormatError]) -> int:
    if not re.fullmatch(rb"-?[0-9]+", name):
        raise wrong(f"the feature index {shown(name)} is not an integer")
    if name.startswith(b"-"):
        raise wrong(f"the feature index {shown(name)} is negative")
    if len(name) > 18 or int(name) > LARGEST_INDEX:
        raise wrong(f"the feature index {shown(name)} is too large: at most {LARGEST_INDEX}")
    index = int(name)
    if features and index <= features[-1][0]:
        if any(index == earlier for earlier, _ in features):
            raise wrong(f"feature {index} occurs twice")
        raise wrong(f"feature {index} comes after feature {features[-1][0]}: indices must increase")
    return index


def _text(word: bytes, error: FileFormatError) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise error from None


def shown(token: object) -> str:
    """Quote a word for a message, which must stay short and printable whatever the file holds.

    Examples
    --------
    >>> shown(b"qid:"), shown(7)
    ("'qid:'", '7')
    """
    word = token.decode(errors="replace") if isinstance(token, bytes) else token
    text = repr(word) if isinstance(word, str) else str(word)
    return text if len(text) <= 60 else f"{text[:56]}...'"
