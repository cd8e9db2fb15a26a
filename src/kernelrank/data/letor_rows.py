"""Rows of a ranking file: a block of text at a time, read by pyarrow, or line by line where it does not know better.

A line is a target, a query label, features and a comment, separated by white space::

    2 qid:10 1:0.03 7:0.5 # docid = GX008-86-4444840 inc = 1

`read_line` defines the format, with error messages. The features of a whole block are read at once: white space becomes
line ends, so that pyarrow finds two columns, indices and values, divided by colons. A block that it refuses, or that
has a fault, is read by `read_line`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.items import Rows
from kernelrank.data.text import (
    LONGEST_LABEL,
    Block,
    Source,
    long_message,
    read_blocks,
    read_decimal,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError

LARGEST_INDEX = 2**31 - 1
DOCID = re.compile(rb"[\0- ]*(?:docid[\0- ]*=[\0- ]*)?([^\0- ]*)")


class LetorLine(NamedTuple):
    """What a line says."""

    target: float
    qid: str | None
    features: list[tuple[int, float]]
    docid: str


def read_line(line: bytes, path: str, number: int, *, allow_nonfinite: bool = False) -> LetorLine | None:
    """Read one line; None if it is blank or a comment. Time O(bytes)."""

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
    tokens = data.split()
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
    word = DOCID.match(comment)[1]  # type: ignore[index]
    refuse_long(word, "docid", "the docid in the comment")
    docid = _text(word, wrong("the docid in the comment is not UTF-8"))
    return LetorLine(target, qid, features, docid)


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


@dataclass(frozen=True)
class LetorRows(Rows):
    """Some rows of a ranking file: `counts` says how many of the indices and values each has, in order.

    Shapes: lines (m,), targets (m,), qids (m,), docids (m,), counts (m,).
    """

    labels = ("qids",)

    lines: NDArray[np.int64]
    targets: NDArray[np.float64]
    qids: NDArray[Any] | None
    docids: NDArray[np.object_]
    counts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def query_labels(self) -> NDArray[Any] | None:
        """The queries."""
        return self.qids

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """Where the features of each row begin; one more entry closes the last."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    def line_of_cell(self, cell: int) -> int:
        """Return the line that holds an entry of `values`. Time O(m)."""
        return int(self.lines[np.searchsorted(self.bounds, cell, side="right") - 1])

    def part(self, start: int, stop: int, *, copy: bool = True) -> LetorRows:
        """Return the rows from `start` to before `stop`. Time and memory O(size of the part)."""
        cells = slice(self.bounds[start], self.bounds[stop])
        rows = Rows.part(replace(self, indices=self.indices[:0], values=self.values[:0]), start, stop, copy=copy)
        indices, values = self.indices[cells], self.values[cells]
        return replace(rows, indices=indices.copy() if copy else indices, values=values.copy() if copy else values)


def read_rows(source: Source, *, allow_nonfinite: bool = False, block_bytes: int | None = None) -> Iterator[LetorRows]:
    r"""Read the rows of a ranking file, a block at a time. Time O(bytes), memory O(block_bytes).

    allow_nonfinite: Whether targets and values may be NaN or infinite.
    """
    path = source_name(source)
    labelled: bool | None = None
    for block in read_blocks(source, block_bytes):
        rows = _read_block(block, labelled, allow_nonfinite) or _read_lines(block, path, labelled, allow_nonfinite)
        if rows is not None:
            labelled = rows.qids is not None
            yield rows


def _read_block(block: Block, labelled: bool | None, allow_nonfinite: bool) -> LetorRows | None:
    """Read a block with pyarrow; None if it has a fault, or no row.

    labelled: Whether the rows of earlier blocks have a qid (None: no row yet).
    """
    lines, words, labels, features, docids = [], [], [], [], []
    for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
        body, _, comment = line.partition(b"#")
        tokens = body.split(None, 2)
        if not tokens:
            continue
        lines.append(number)
        words.append(tokens[0])
        docids.append(DOCID.match(comment)[1])  # type: ignore[index]
        if len(tokens) > 1 and tokens[1].startswith(b"qid:"):
            labels.append(tokens[1][4:])
            features.append(tokens[2] if len(tokens) > 2 else b"")
        else:
            features.append(b" ".join(tokens[1:]))
    cells = _read_cells(features, allow_nonfinite) if lines else None
    targets = {word: read_decimal(word) for word in set(words)}
    if (
        cells is None
        or any(value is None or not (allow_nonfinite or math.isfinite(value)) for value in targets.values())
        or len(labels) != len(lines) * (bool(labels) if labelled is None else labelled)
        or not all(0 < len(label) <= LONGEST_LABEL for label in set(labels))
        or max(map(len, docids)) > LONGEST_LABEL
    ):
        return None
    try:
        qids, names = _label_array(labels) if labels else None, _word_array(docids)
    except UnicodeDecodeError:
        return None
    return LetorRows(np.array(lines), np.array([targets[word] for word in words]), qids, names, *cells)


def _read_cells(
    features: list[bytes], allow_nonfinite: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]] | None:
    """Read the features of some rows: how many each has, their indices and values; None where pyarrow cannot."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    counts = np.array([row.count(b":") for row in features])
    text = b"\n".join([b"", *features]).translate(bytes.maketrans(b" \t\v\f\r", b"\n" * 5))
    if b"+" in text:
        text = re.sub(rb":[+](?=[0-9.])", b":", text)
    # Hexadecimals, nan(1) and -0 as an index are numbers for pyarrow, and for `read_line` they are not.
    if any(mark in text for mark in (b"x", b"X", b"(")):
        return None
    if not text.strip():
        return counts, np.empty(0, dtype=np.int32), np.empty(0)
    try:
        indices, values = csv.read_csv(
            pyarrow.py_buffer(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=["index", "value"]),
            csv.ParseOptions(delimiter=":", quote_char=False),
            csv.ConvertOptions(column_types={"index": pyarrow.int32(), "value": pyarrow.float64()}, null_values=[]),
        ).columns
    except pyarrow.ArrowInvalid:
        return None
    cells = counts, indices.to_numpy(), values.to_numpy()
    increases = np.diff(cells[1], prepend=-1) > 0
    increases[(np.cumsum(counts) - counts)[counts > 0]] = True
    if cells[1].min() < 1 and b"\n-" in text:
        return None
    return cells if increases.all() and (allow_nonfinite or np.isfinite(cells[2]).all()) else None


def _read_lines(block: Block, path: str, labelled: bool | None, allow_nonfinite: bool) -> LetorRows | None:
    """Read a block line by line, up to its first fault; None if it has no row."""
    numbers, found = [], []
    for number, text in enumerate(block.text.split(b"\n"), start=block.first_line):
        line = read_line(text, path, number, allow_nonfinite=allow_nonfinite)
        if line is None:
            continue
        if labelled is not None and labelled != (line.qid is not None):
            raise FileFormatError(f"expected {'a' if labelled else 'no'} qid, as in the rows before", path, number)
        labelled = line.qid is not None
        numbers.append(number)
        found.append(line)
    if not found:
        return None
    cells = [cell for line in found for cell in line.features]
    return LetorRows(
        np.array(numbers),
        np.array([line.target for line in found]),
        _label_array([line.qid.encode() for line in found if line.qid is not None]) if labelled else None,
        np.array([line.docid for line in found], dtype=object),
        np.array([len(line.features) for line in found]),
        np.array([index for index, _ in cells], dtype=np.int32),
        np.array([value for _, value in cells], dtype=np.float64),
    )


def _label_array(labels: list[bytes]) -> NDArray[Any]:
    """Return labels as int64 if each is an integer as Python writes it, else as strings.

    "007" is not how Python writes 7, and stays a string: different labels never become the same one.
    """
    if all(re.fullmatch(rb"0|-?[1-9][0-9]{0,18}", label) and -(2**63) <= int(label) < 2**63 for label in set(labels)):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return _word_array(labels)


def _word_array(words: list[bytes]) -> NDArray[np.object_]:
    """Return words as strings, one object for equal ones."""
    texts = {word: word.decode() for word in set(words)}
    return np.array([texts[word] for word in words], dtype=object)
