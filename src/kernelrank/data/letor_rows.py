"""Rows of a ranking file: a block of text at a time, read by compiled loops and checked by whole arrays.

The first mebibytes are read by Python's own words where they are written in the usual way and numba, which takes half a
second to start, is not running yet. Whatever is unusual there, a fault above all, is left to the loops.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import compiled
from kernelrank.data.text import (
    LARGEST_INDEX,
    LONGEST_LABEL,
    Block,
    Source,
    first_long,
    join_labels,
    powers_of_ten,
    read_blocks,
    read_decimal,
    read_decimals,
    read_line,
    source_name,
)
from kernelrank.errors import FileFormatError

FEW_BYTES = 8 << 20
"""So much of a file is read without compiled loops, if they are not running yet: the time that numba takes to start."""

DOCID = re.compile(rb"[\x00-\x20]*(?:docid[\x00-\x20]*=[\x00-\x20]*)?([^\x00-\x20]*)")
NUMBER_BYTES = b"0123456789.eE+-"
COLON_TO_SPACE = bytes.maketrans(b":", b" ")


@dataclass(frozen=True)
class Rows:
    """Some rows of a ranking file.

    Shapes: lines (m,), targets (m,), qids (m,), docids (m,), counts (m,).

    indices: Their indices, increasing within each row.
    """

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

    def part(self, start: int, stop: int, *, copy: bool = True) -> Rows:
        """Return the rows from `start` to before `stop`. Time and memory O(size of the part)."""
        of_cells = ("indices", "values")
        rows, cells = slice(start, stop), slice(self.bounds[start], self.bounds[stop])
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, column in columns.items():
            if column is not None:
                part = column[cells if name in of_cells else rows]
                columns[name] = part.copy() if copy else part
        return Rows(**columns)

    @staticmethod
    def joined(pieces: list[Rows]) -> Rows:
        """Return the rows of several pieces. Time and memory O(size)."""
        if len(pieces) == 1:
            return pieces[0]
        qids = [piece.qids for piece in pieces if piece.qids is not None]
        columns = {
            field.name: np.concatenate([getattr(piece, field.name) for piece in pieces])
            for field in fields(Rows)
            if field.name != "qids"
        }
        return Rows(qids=join_labels(qids) if qids else None, **columns)


def read_rows(source: Source, *, allow_nonfinite: bool = False, block_bytes: int | None = None) -> Iterator[Rows]:
    r"""Read the rows of a ranking file, a block at a time. Time O(bytes), memory O(block_bytes).

    allow_nonfinite: Whether targets and values may be NaN or infinite.
    """
    path = source_name(source)
    labelled: bool | None = None
    seen = 0
    for block in read_blocks(source, block_bytes):
        seen += len(block.text)
        if seen <= FEW_BYTES and "numba" not in sys.modules:
            usual = _usual_rows(block, labelled)
            if usual is not None:
                labelled = usual.qids is not None
                yield usual
                continue
        text = np.frombuffer(block.text, dtype=np.uint8)
        tokens = Tokens.of(text)
        lines = np.flatnonzero(tokens.bounds[1:] > tokens.bounds[:-1])
        if len(lines) == 0:
            continue
        parser = _Parser(block, path, allow_nonfinite, text, tokens, lines)
        rows = parser.rows(labelled)
        labelled = rows.qids is not None
        yield rows


def _usual_rows(block: Block, labelled: bool | None) -> Rows | None:
    """Read a block in which every row is ``target [qid:label] index:value index:value [# docid]``; None if it is not.

    `labelled` is that of `_Parser.rows`. Time O(bytes), some tenths of a microsecond for each number.
    """
    lines, targets, labels, features, comments = [], [], [], [], []
    for number, line in enumerate(block.text.splitlines(), start=block.first_line):
        body, _, comment = line.partition(b"#")
        target, *rest = body.split(None, 1) or [b""]
        if rest and rest[0].startswith(b"qid:"):
            label, *rest = rest[0].split(None, 1)
            labels.append(label[4:])
        if target:
            lines.append(number)
            targets.append(read_decimal(target))
            features.append(rest[0].rstrip() if rest else b"")
            comments.append(comment)
    has_qid = bool(labels)
    if not lines or not block.text.isascii() or has_qid != (has_qid if labelled is None else labelled):
        return None
    counts = np.array([row.count(b":") for row in features])
    docids = [DOCID.match(comment)[1] for comment in comments]  # type: ignore[index]
    cells = _usual_cells(b" ".join(filter(None, features)), counts)
    if (
        cells is None
        or any(target is None or not math.isfinite(target) for target in targets)
        or len(labels) != len(lines) * has_qid
        or not all(0 < len(label) <= LONGEST_LABEL for label in labels)
        or max(map(len, docids)) > LONGEST_LABEL
    ):
        return None
    qids = _usual_labels(labels) if has_qid else None
    return Rows(np.array(lines), np.array(targets), qids, _words(docids), counts, *cells)


def _usual_cells(text: bytes, counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float64]] | None:
    """Read ``index:value index:value``, the features of all rows; None if they are written in another way."""
    size = int(counts.sum())
    if text.translate(None, NUMBER_BYTES) != (b": " * size)[:-1]:
        return None
    words = text.translate(COLON_TO_SPACE).split()
    names = words[::2]
    distinct = set(names)  # the same few in most rows: each is read once
    if len(words) != 2 * size or not all(map(bytes.isdigit, distinct)):
        return None
    try:
        numbers = {name: int(name) for name in distinct}
        indices = np.fromiter(map(numbers.__getitem__, names), dtype=np.int64, count=size)
        values = np.fromiter(map(float, words[1::2]), dtype=np.float64, count=size)
    except (ValueError, OverflowError):
        return None
    if _first_unordered(indices, counts) is not None or not np.isfinite(values).all():
        return None
    return indices.astype(np.int32), values


def _usual_labels(labels: list[bytes]) -> NDArray[Any]:
    """Return labels as `gather_labels` does."""
    if all(len(label) <= 18 and CANONICAL.fullmatch(label) for label in set(labels)):
        return np.fromiter(map(int, labels), dtype=np.int64, count=len(labels))
    text = b" ".join(labels)
    ends = np.cumsum([len(label) + 1 for label in labels]) - 1
    return gather_labels(text, ends - [len(label) for label in labels], ends)


def _words(words: list[bytes]) -> NDArray[np.object_]:
    """Return words as strings, one object for equal ones."""
    texts = {word: word.decode() for word in set(words)}
    return np.array([texts[word] for word in words], dtype=object)


@dataclass(frozen=True)
class _Parser:
    """The reading of one block; `lines` are those with a row, counted from zero in the block."""

    block: Block
    path: str
    allow_nonfinite: bool
    text: NDArray[np.uint8]
    tokens: Tokens
    lines: NDArray[np.intp]

    def rows(self, labelled: bool | None) -> Rows:
        """Read all rows; `labelled` says whether those of the earlier blocks have a qid (None: no row yet)."""
        bounds = self.tokens.bounds
        heads = bounds[self.lines]
        has_qid = self._find_qids(heads)
        is_feature = np.ones(len(self.tokens.begins), dtype=bool)
        is_feature[heads] = False
        is_feature[heads[has_qid] + 1] = False
        begins, colons, ends = (spans[is_feature] for spans in self.tokens[:3])
        counts = bounds[self.lines + 1] - heads - 1 - has_qid
        labels = (self.tokens.colons[heads[has_qid] + 1] + np.int32(1), self.tokens.ends[heads[has_qid] + 1])
        names = find_docids(self.text, self.tokens.comments[self.lines], self.tokens.line_ends[self.lines])

        targets, bad_target = self._read_numbers(self.tokens.begins[heads], self.tokens.ends[heads])
        indices, bad_index = self._read_indices(begins, colons, counts)
        # A token without a colon has no value: an empty span, which is no number.
        values, bad_value = self._read_numbers(np.where(colons < 0, ends, colons + np.int32(1)), ends)
        bad_label = _smallest(
            _first(labels[0] == labels[1]), first_long(labels[1] - labels[0]), undecodable(self.block.text, *labels)
        )
        self._check(
            _smallest(
                bad_target,
                _row_of(_smallest(bad_index, bad_value), counts),
                None if bad_label is None else int(np.flatnonzero(has_qid)[bad_label]),
                first_long(names[1] - names[0]),
                undecodable(self.block.text, *names),
            ),
            _first(has_qid != (has_qid[0] if labelled is None else labelled)),
        )
        return Rows(
            lines=self.lines + self.block.first_line,
            targets=targets,
            qids=gather_labels(self.block.text, *labels) if has_qid[0] else None,
            docids=gather_words(self.block.text, *names),
            counts=counts,
            indices=indices.astype(np.int32),
            values=values,
        )

    def _find_qids(self, heads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows have a second token that begins with ``qid:``."""
        second = np.minimum(heads + 1, len(self.tokens.begins) - 1)
        begins = self.tokens.begins[second]
        found: NDArray[np.bool_] = (heads + 1 < self.tokens.bounds[self.lines + 1]) & (
            self.tokens.colons[second] == begins + 3
        )
        for offset, letter in enumerate(b"qid"):
            # A row that is not found may have no such letter: the last token of a block can be short.
            found &= self.text[np.minimum(begins + offset, len(self.text) - 1)] == letter
        return found

    def _read_indices(
        self, begins: NDArray[np.int32], colons: NDArray[np.int32], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int | None]:
        """Return the indices, and the first that is none or does not increase."""
        indices = read_integers(self.text, begins, colons, False, False)
        return indices, _first_unordered(indices, counts)

    def _read_numbers(
        self, begins: NDArray[np.int32], ends: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], int | None]:
        """Return the numbers, and the first that is none or not finite; those after it are not read."""
        values, certain = read_decimals(self.text, begins, ends, powers_of_ten())
        for token in np.flatnonzero(~certain).tolist():
            value = read_decimal(self.block.text[begins[token] : ends[token]])
            if value is None or not (self.allow_nonfinite or math.isfinite(value)):
                return values, token
            values[token] = value
        return values, None

    def _check(self, faulty: int | None, different: int | None) -> None:
        """Raise the error of the first faulty row, or of the first that differs from those before it in its qid."""
        row = _smallest(faulty, different)
        if row is None:
            return
        number = int(self.lines[row]) + self.block.first_line
        line = read_line(self.block.line(number), self.path, number, allow_nonfinite=self.allow_nonfinite)
        if line is not None and line.qid is None:
            raise FileFormatError("expected a qid, as in the rows before", self.path, number)
        raise FileFormatError("expected no qid, as in the rows before", self.path, number)


def _first_unordered(indices: NDArray[np.int64], counts: NDArray[np.int64]) -> int | None:
    """Return the first index that is too large, negative, or no larger than the one before it in its row."""
    steps_back = np.zeros(len(indices), dtype=bool)
    np.less_equal(indices[1:], indices[:-1], out=steps_back[1:])
    starts = np.cumsum(counts) - counts
    steps_back[starts[counts > 0]] = False
    return _first(steps_back | (indices < 0) | (indices > LARGEST_INDEX))


def _first(faults: NDArray[np.bool_]) -> int | None:
    """Return the position of the first True, if there is one."""
    place = int(np.argmax(faults)) if len(faults) else 0
    return place if len(faults) and faults[place] else None


def _smallest(*places: int | None) -> int | None:
    return min((place for place in places if place is not None), default=None)


def _row_of(cell: int | None, counts: NDArray[np.int64]) -> int | None:
    """Return the row that holds a cell."""
    return None if cell is None else int(np.searchsorted(np.cumsum(counts), cell, side="right"))


# Tokens ---------------------------------------------------------------------------------------------------------------
#
# Tokens of a block of text: their start, colon and end, and their values.
#
# Spans of the text become integers, words or labels, in compiled loops.

CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")
NO_INTEGER = np.iinfo(np.int64).min


class Tokens(NamedTuple):
    r"""The tokens of a block of whole lines; positions are offsets into its text.

    Shapes: begins, colons, ends (n_tokens,), bounds (n_lines + 1,), comments, line_ends (n_lines,).

    begins, colons, ends: The first byte, the first colon (-1: none) and the byte after the last one of each token.
    comments, line_ends: The byte after the ``#`` of each line (-1: none), and its newline.
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
    """Return the spans as strings; they must be UTF-8. Time and memory O(bytes of the spans)."""
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
