"""Lines of TREC files: words in a fixed number of columns, separated by white space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.line import shown
from kernelrank.data.source import read_blocks, readable, source_name
from kernelrank.data.words import LONGEST_LABEL, as_strings, long_message
from kernelrank.errors import FileFormatError, InvalidInputError

__all__ = ["TrecLine", "as_words", "read_trec", "refuse_repeated"]

NOT_A_WORD = re.compile(r"[\x00-\x20\x7f]")


class TrecLine(NamedTuple):
    """One line of a TREC file.

    Parameters
    ----------
    words : list of str
    number : int
        The line, counted from one.
    """

    words: list[str]
    number: int


def read_trec(path: str | os.PathLike[str], columns: str, what: str) -> tuple[str, list[TrecLine]]:
    """Read a file whose lines have the columns that `columns` names, and where no query has a document twice.

    Time and memory O(bytes).

    Parameters
    ----------
    path : str or path-like
        ``-`` is standard input; decompressed by suffix.
    columns : str
        Their names, separated by spaces: the first is the query, the third the document.
    what : str
        What a line is, for the message that a file has none.

    Returns
    -------
    name : str
        What messages call the file.
    lines : list of TrecLine
    """
    with readable(path) as source:
        name = source_name(source)
        lines = list(_lines(source, name, columns))
    if not lines:
        raise FileFormatError(f"the file has no {what}: expected lines of {columns}", name)
    first: dict[tuple[str, str], int] = {}
    for line in lines:
        earlier = first.setdefault((line.words[0], line.words[2]), line.number)
        if earlier != line.number:
            message = (
                f"document {shown(line.words[2])} occurs twice in query {shown(line.words[0])}, first in line {earlier}"
            )
            raise FileFormatError(message, name, line.number)
    return name, lines


def _lines(source: Any, name: str, columns: str) -> Iterator[TrecLine]:
    width = len(columns.split())
    for block in read_blocks(source):
        for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
            words = line.split()
            if not words:
                continue
            if len(words) != width:
                raise FileFormatError(f"{len(words)} columns: expected {columns}", name, number)
            long = max(range(width), key=lambda place: len(words[place]))
            if len(words[long]) > LONGEST_LABEL:
                column = columns.split()[long]
                raise FileFormatError(long_message("the word", len(words[long])), name, number, column=column)
            try:
                yield TrecLine([word.decode() for word in words], number)
            except UnicodeDecodeError:
                raise FileFormatError(f"{shown(line)} is not UTF-8", name, number) from None


def as_words(values: Iterable[Any], name: str, m: int | None = None) -> NDArray[np.object_]:
    """Return labels as strings that fit into one column, shape (m,).

    Examples
    --------
    >>> as_words([1, "b"], "ids")
    array(['1', 'b'], dtype=object)
    """
    words = as_strings(values)
    if m is not None and len(words) != m:
        raise InvalidInputError(f"{name} has {len(words)} entries, but there are {m} items")
    for word in words:
        if not word or NOT_A_WORD.search(word):
            raise InvalidInputError(
                f"{name} has {shown(word)}, which is empty or has white space: TREC files cannot hold it"
            )
    return words


def refuse_repeated(qid: NDArray[np.object_], ids: NDArray[np.object_]) -> None:
    """Refuse an item that occurs twice in a query. Time and memory O(m)."""
    seen: set[tuple[str, str]] = set()
    for key in zip(qid.tolist(), ids.tolist(), strict=True):
        if key in seen:
            raise InvalidInputError(f"the id {shown(key[1])} occurs twice in query {shown(key[0])}")
        seen.add(key)
