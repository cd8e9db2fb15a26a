"""Preference files of every format: lines, tables of votes, arena logs, rankings of PrefLib."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.progress import track
from kernelrank.data.delimited import DELIMITERS, DelimitedTable
from kernelrank.data.parquet import ParquetTable
from kernelrank.data.preparation import NormalisedText
from kernelrank.data.table import Table, TableBlock, is_missing, left_out, plain_name
from kernelrank.data.text import (
    FileFormat,
    Source,
    file_format,
    first_bytes,
    join_labels,
    read_blocks,
    read_decimal,
    readable,
    rewind,
    shown,
    source_name,
)
from kernelrank.data.vote_contexts import (
    TIMES,
    CovariateColumns,
    as_times,
    covariate_columns,
    in_period,
    json_as_table,
    parquet_as_table,
    read_times,
)
from kernelrank.data.votes import (
    COLUMNS,
    InvalidVotes,
    ItemCodes,
    Preferences,
    is_preflib,
    looks_like_a_line,
    read_lines,
    read_preflib,
)
from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError

FORMATS = ("lines", "csv", "tsv", "json", "parquet", "xlsx", "preflib")


def read_pairs(
    source: Source,
    *,
    items: Iterable[object] | None = None,
    format: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    left: str | None = None,
    right: str | None = None,
    tie: str | None = None,
    weight: str | None = None,
    judge: str | None = None,
    magnitude: str | None = None,
    question: str | None = None,
    skip_invalid: bool = False,
    category: str | None = None,
    time: str | None = None,
    covariates: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
) -> Preferences:
    r"""Read preferences: a table of winners and losers, an arena log, a PrefLib file, or plain lines.

    - A **table** (CSV, TSV, JSON lines, Parquet, Excel) has a column of winners and one of losers, and may have ties,
      weights, judges and magnitudes. Names of nested columns are joined by dots.
    - An **arena log** is a table with two columns of items, such as ``model_a`` and ``model_b`` or ``left`` and
      ``right``, and one that says who won: by the name of the column, by the name of the item, or by a side (left and
      right, a and b, 1 and 2, first and second, home and away); or that it was a tie. In place of the latter, columns
      such as ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` may mark the winner by a 1.
    - A **PrefLib** file has rankings (``.soc``, ``.soi``, ``.toc``, ``.toi``) or weighted preferences (``.wmd``). The
      preferences of one ranking weigh together as much as one vote, and ties in it are ties.
    - A **database** of ``kernelrank collect`` (SQLite) has votes on one or several questions.
    - **Lines** are ``winner loser [magnitude [weight]]``, separated by white space or commas, with the same number of
      columns throughout; what follows a ``#`` is a comment, and a first line of these very words is a header.

    Columns are recognised by their names, and `Preferences.notes` lists them. Winner and loser are item numbers from
    zero if all of them are integers (as Python writes them), and otherwise names.

    Time O(bytes), and O(preferences) for rankings; memory O(preferences). A million votes take about a second as a
    table, and a few as lines.

    Parameters
    ----------
    source : path or file object
        ``-`` is standard input; decompressed if its suffix is ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst``. Text
        is UTF-8.
    items : sequence, optional
        The names of all items, which fixes their numbers; any other name is an error. Otherwise names are numbered as
        they first occur.
    format : {"lines", "csv", "tsv", "json", "parquet", "xlsx", "preflib"}, optional
        Guessed from the suffix and the first line by default.
    winner : str, optional
        The column of the winners; in an arena log, the one that says who won. Guessed: ``winner``, ``preferred``,
        ``better``, ``chosen``; in an arena log also ``outcome``, ``result``, ``vote``, ``choice``, ``preference``,
        ``verdict``, ``judgement``, ``decision``, ``FTR``. It holds the names of the columns, those of the items, or the
        sides (left, 1, a, home, …; H and A for home and away columns), and tie or draw.
    loser : str, optional
        The column of the losers. Guessed: ``loser``, ``dispreferred``, ``worse``, ``rejected``.
    left, right : str, optional
        The columns of the items in an arena log. Guessed: two names that differ by the words left and right, a and b,
        x and y, 1 and 2, first and second, one and two, home and away, white and black, or red and blue.
    tie : str, optional
        A column that says whether it was a tie: 1 or 0, true or false, yes or no. Guessed: ``tie``, ``draw``.
    weight : str, optional
        How much each row counts. Guessed: ``weight``, ``count``, ``multiplicity``, ``frequency``, ``votes``.
    judge : str, optional
        Who was asked. Guessed: ``judge``, ``worker``, ``annotator``, ``rater``, ``voter``, ``user``, ``reviewer`` and
        the like, with ``_id`` or without.
    magnitude : str, optional
        By how much the winner is better. Guessed: ``magnitude``, ``margin``.
    question : str, optional
        The question whose votes are read, from a database that has several.

        Pass an empty string for any of these columns if there is none, although a name would suggest one.
    skip_invalid : bool, default=False
        Leave out votes that cannot be read, such as those without a winner, and note how many of each kind there are.
        Votes of an item against itself are always left out and counted.
    category : str, optional
        The column of categories, such as ``language``.
    time : str, optional
        The column of times: dates such as ``2024-05-31T12:00Z``, Unix times, or numbers. With `since` or `until`
        guessed: ``time``, ``timestamp``, ``tstamp``, ``date``, ``created_at`` and the like.
    covariates : sequence of str, optional
        Names of covariates. ``tokens`` stands for the columns ``tokens_a`` and ``tokens_b`` (or those of other words
        for the two sides; ``tokens_winner`` and ``tokens_loser`` beside columns of these), or one column of that name,
        which is signed: the first side less the second, or the winner less the loser. ``side`` is the side itself.
    since, until : str, optional
        Leave out the votes before a time, and those from a time on.

    Returns
    -------
    Preferences
        ``pairs, magnitude, weight, names, tie, judge, side, notes, category, time, covariates``.

    Raises
    ------
    FileFormatError
        For votes that cannot be read: the message has the number of each kind and the first lines. An error about a
        name that is not among `items` lists similar names.
    MissingExtraError
        For tables without pyarrow.

    See Also
    --------
    write_pairs : write lines.
    kernelrank.Leaderboard : rank the items of such a file.

    Examples
    --------
    >>> import io
    >>> read_pairs(io.StringIO("0 2  # an opinion\n2, 1\n")).pairs
    array([[0, 2],
           [2, 1]])
    >>> chosen = read_pairs(io.StringIO("tea coffee 0.5\n"), items=["coffee", "tea", "water"])
    >>> chosen.pairs, chosen.magnitude, chosen.names
    (array([[1, 0]]), array([0.5]), array(['coffee', 'tea', 'water'], dtype=object))
    >>> log = read_pairs(io.StringIO("left,right,worker,winner\nGPT 4,Llama 2,ann,right\nLlama 2,Alpaca,bob,tie\n"))
    >>> log.names[log.pairs].tolist(), log.tie.tolist(), log.side.tolist(), log.judge.tolist()
    ([['Llama 2', 'GPT 4'], ['Llama 2', 'Alpaca']], [False, True], [-1, 1], ['ann', 'bob'])
    >>> print(*log.notes, sep="\n")
    the items are columns 'left' and 'right'; column 'winner' says the column of the winner
    the judges are column 'worker'
    """
    if format is not None and format not in FORMATS:
        raise InvalidInputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    request = {"winner": winner, "loser": loser, "left": left, "right": right}
    request |= {"tie": tie, "weight": weight, "judge": judge, "magnitude": magnitude}
    request |= {"category": category or "", "time": time if time or since or until else ""}
    about = _About(tuple(covariates), since, until)
    fixed = None if items is None else list(items)
    with readable(source) as opened:
        file = _from_its_beginning(opened)
        is_folder = isinstance(file, (str, os.PathLike)) and os.path.isdir(file)
        if not is_folder and first_bytes(file).startswith(b"SQLite format 3\0"):
            file = _votes_of_database(file, question)
        elif question is not None:
            raise InvalidInputError(
                f"question is {question!r}, but {source_name(file)} is no database of kernelrank collect"
            )
        kinds = [format] if format else _likely_formats(file, request, ItemCodes(fixed))
        named = next(((role, name) for role, name in request.items() if name), None)
        named = named or next(((role, value) for role, value in vars(about).items() if value), None)
        if named and kinds[0] in ("lines", "preflib"):
            raise InvalidInputError(f"{named[0]} is {named[1]!r}, but {source_name(file)} has no columns with names")
        failures: dict[str, Exception] = {}
        for kind in kinds:
            try:
                return _read_as(kind, file, request, ItemCodes(fixed), skip_invalid, about)
            except (FileFormatError, MissingExtraError) as error:
                failures[kind] = error
        raise failures[max(kinds, key=lambda kind: (isinstance(failures[kind], FileFormatError), kind != "lines"))]


@dataclass(frozen=True)
class _About:
    """What else to read of each vote, and of which period."""

    covariates: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


def _read_as(
    kind: str, source: Source, request: VoteRequest, items: ItemCodes, skip_invalid: bool, about: _About
) -> Preferences:
    rewind(source)
    if kind == "preflib":
        return read_preflib(source, items)
    if kind == "lines":
        return read_lines(source, items, skip_invalid=skip_invalid)
    if kind == "json":
        source, kind = json_as_table(source), "csv"
    table = open_votes(source, cast(FileFormat, kind))
    return read_votes(table, request, items, skip_invalid=skip_invalid, about=about)


def _from_its_beginning(source: Source) -> Source:
    """Return what is left of an open file as one that can be read twice."""
    if isinstance(source, (str, os.PathLike)) or not hasattr(source, "read"):
        return source
    with contextlib.suppress(OSError, AttributeError):
        if source.seekable() and source.tell() == 0:
            return source
    rest = io.BytesIO(b"".join(block.text for block in read_blocks(source)))
    rest.name = source_name(source)
    return rest


def _votes_of_database(source: Source, question: str | None) -> Source:
    """Return the votes of a database of ``kernelrank collect`` as a table."""
    path = source_name(source)
    if not isinstance(source, (str, os.PathLike)):
        raise FileFormatError("a database: expected its path, because it cannot be read from a stream", path)
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute('SELECT "left", "right", winner, judge, question FROM counted_votes').fetchall()
            known = [row[0] for row in database.execute("SELECT text FROM questions ORDER BY number")]
    except sqlite3.Error as error:
        raise FileFormatError(f"expected a database of kernelrank collect; {error}", path) from None
    if question is None and len(known) > 1:
        raise InvalidInputError(
            f"{path}: expected one question; the votes are on {len(known)}: {', '.join(map(repr, known))}. Choose one "
            "with question="
        )
    if question is not None and question not in known:
        raise InvalidInputError(f"{path}: expected a question of {', '.join(map(repr, known))}; got {question!r}")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(("left", "right", "winner", "judge"))
    writer.writerows(row[:4] for row in rows if question in (None, row[4]))
    table = io.BytesIO(text.getvalue().encode())
    table.name = path
    return table


def _likely_formats(source: Source, request: VoteRequest, items: ItemCodes) -> list[str]:
    """Distinguish lines, tables and PrefLib files by the suffix and the first line with content.

    A file that begins with the words that are a header of lines too may be either: what fails as the first of the two
    formats is read as the second.
    """
    suffix = None
    with contextlib.suppress(InvalidInputError):
        suffix = file_format(source, sniff=False)
    if suffix in ("parquet", "xlsx"):
        return [suffix]
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        return ["parquet"]
    start = first_bytes(source)
    if is_preflib(source, start):
        return ["preflib"]
    if start.startswith(b"PAR1"):
        return ["parquet"]
    if start.lstrip().startswith((b"{", b"[{")):
        return ["json"]
    table = "tsv" if suffix == "tsv" else "csv"
    header = start.lstrip(b"\r\n").partition(b"\n")[0]
    names = _cells(header, table)
    if any(request.values()):
        return [table]
    if len(names) < 2 or header.startswith(b"#"):
        return ["lines"]
    if VoteColumns.known_by(names) and not any(name in items.code_of for name in names):
        if [name.lower() for name in names] != list(COLUMNS[: len(names)]):
            return [table]
        has_comments = any(b"#" in block.text for block in read_blocks(source))
        return ["lines", table] if has_comments else [table, "lines"]
    return ["lines"] if looks_like_a_line(header) else [table]


def _cells(header: bytes, table: str) -> tuple[str, ...]:
    """Return the fields of a first line; one if it has no delimiter, or open quotes."""
    delimiter = max(DELIMITERS[table], key=lambda mark: header.count(mark.encode()))
    try:
        cells = next(csv.reader([header.decode(errors="replace")], delimiter=delimiter, skipinitialspace=True), [""])
    except csv.Error:
        return ("",)
    return tuple(cell.strip() for cell in cells)


# Vote table -----------------------------------------------------------------------------------------------------------
#
# Tables of votes, CSV, TSV, Parquet or Excel, as preferences.
#
# Cells become numbers of words block by block; what the words of an arena log mean is decided when all are known.


def open_votes(source: Source, kind: FileFormat) -> Table:
    """Open a table of votes."""
    if kind == "parquet":
        return ParquetTable(parquet_as_table(source))
    if kind == "xlsx":
        stream = io.BytesIO(NormalisedText.of(source, kind, numbers=False).text)
        stream.name = source_name(source)
        return DelimitedTable(stream, "csv")
    return DelimitedTable(source, kind)


def read_votes(
    table: Table, request: VoteRequest, items: ItemCodes, *, skip_invalid: bool = False, about: _About | None = None
) -> Preferences:
    """Read the votes of a table. Time O(bytes); memory O(votes)."""
    table.wrong_rows = []
    about = about or _About()
    columns = _ColumnSearch(table, request).columns(about)
    first = table.first_block()
    if first is None:
        raise table.error("the file has no preferences: expected one in each row")
    if columns.loser is not None:
        item_columns = (columns.winner, columns.loser)
    else:
        item_columns = _likeliest_sides(table, first, columns)
    reader = _VoteReader(table, columns, item_columns, items, InvalidVotes(table.path, skip_invalid), about)
    table.wrong_rows.clear()
    others = {role: column for role, column in columns.others.items() if column is not None}
    numbers = {column for role, column in others.items() if role in ("weight", "magnitude")}
    numbers |= {column for pair in columns.covariates.values() for column in pair or () if column is not None}
    table.choose({columns.winner, *columns.marks, *item_columns, *others.values(), *numbers}, numbers)
    blocks = track(table.blocks(), None, f"reading {os.path.basename(table.path)}", size=len, noun="rows")
    with contextlib.closing(blocks):
        for block in blocks:
            reader.add(block)
    return reader.preferences()


def _likeliest_sides(table: Table, first: TableBlock, columns: VoteColumns) -> tuple[int, int]:
    """Return the pair of columns that the words of the winners fit best: as the names of columns, then of items."""
    if len(columns.sides) == 1:
        return columns.sides[0]
    codes, words = first.coded(columns.winner)
    fits = []
    for left, right in columns.sides:
        items = ItemCodes()
        try:
            pairs = np.column_stack([_item_codes(table, first, column, items) for column in (left, right)])
        except FileFormatError:
            # Texts that were compared, some of them empty or very long, say.
            fits.append((-1, 0))
            continue
        winner = WinnerWords(words.tolist(), (table.names[left], table.names[right]), items)
        kind, _, n_explained = winner.reading(codes, pairs)
        fits.append((n_explained, -list(READ_AS).index(kind)))
    best = [pair for pair, fit in zip(columns.sides, fits, strict=True) if fit == max(fits)]
    if len(best) > 1:
        listed = ", or ".join(f"{table.names[left]!r} and {table.names[right]!r}" for left, right in best)
        raise table.error(f"the items could be {listed}: name their columns with left= and right=")
    return best[0]


Fault: TypeAlias = Callable[[FileFormatError, NDArray[np.bool_]], None]


def _raise(error: FileFormatError, rows: NDArray[np.bool_]) -> None:  # noqa: ARG001 - as a reader of votes takes it
    raise error


def _item_codes(
    table: Table, block: TableBlock, column: int, items: ItemCodes, fault: Fault = _raise
) -> NDArray[np.int64]:
    """Return the number of the item in each row; -1 where `fault` is told of an error."""
    codes, words = block.coded(column)
    item_of = np.empty(len(words), dtype=np.int64)
    for number, word in enumerate(words.tolist()):
        known = items.code_of.get(word)
        if known is None:
            place = (int(block.positions[int(np.argmax(codes == number))]), column)
            try:
                if not word:
                    raise table.error("the cell is empty: expected the name of an item", *place)
                known = items.code(word, place, lambda message, place: table.error(message, *place))
            except FileFormatError as error:
                fault(error, codes == number)
        item_of[number] = -1 if known is None else known
    return item_of[codes]


@dataclass
class _VoteReader:
    """The rows read so far."""

    table: Table
    columns: VoteColumns
    item_columns: tuple[int, int]
    items: ItemCodes
    invalid: InvalidVotes
    about: _About
    words: dict[str, int] = field(default_factory=dict)
    positions: NDArray[np.int64] = field(init=False)
    valid: NDArray[np.bool_] = field(init=False)
    pieces: defaultdict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, block: TableBlock) -> None:
        """Read some rows."""
        pieces, columns = self.pieces, self.columns
        self.positions, self.valid = block.positions, np.ones(len(block), dtype=np.bool_)
        pieces["position"].append(block.positions)
        pieces["pair"].append(
            np.column_stack(
                [_item_codes(self.table, block, column, self.items, self._fault) for column in self.item_columns]
            )
        )
        if columns.marks:
            pieces["winner"].append(self._marked(block))
        elif columns.loser is None:
            codes, words = block.coded(columns.winner)
            numbers = [self.words.setdefault(word, len(self.words)) for word in words.tolist()]
            pieces["winner"].append(np.array(numbers, dtype=np.int32)[codes])
        readers = {"tie": self._truths, "judge": self._judges, "weight": self._amounts, "magnitude": self._amounts}
        readers |= {"category": self._judges, "time": lambda block, column: block.words(column)}
        for name, pair in columns.covariates.items():
            values = None if pair is None else [self._values(block, one) for one in pair if one is not None]
            if values is not None:
                pieces[f"covariate {name}"].append(values[0] - values[1] if len(values) == 2 else values[0])
        for role, column in columns.others.items():
            if column is not None:
                pieces[role].append(readers[role](block, column))
        pieces["valid"].append(self.valid)

    def _fault(self, error: FileFormatError, rows: NDArray[np.bool_]) -> None:
        """Let some rows of the block be invalid, but count each once."""
        rows &= self.valid
        self.valid &= ~rows
        places = self.positions[rows]
        if len(places):
            self.invalid.add(error, map(self.table.place_in_words, places[:3].tolist()), len(places))

    def _marked(self, block: TableBlock) -> NDArray[np.int32]:
        """Return which column marks the winner in each row, as a number of its word: a column of items, or a tie."""
        marks = self.columns.marks
        for word in (*(self.table.names[column] for column in self.item_columns), "tie"):
            self.words.setdefault(word, len(self.words))
        marked = np.column_stack([self._truths(block, column) for column in marks])
        wrong = marked.sum(axis=1) != 1
        if wrong.any():
            row = int(np.argmax(wrong))
            names = " and ".join(repr(self.table.names[column]) for column in marks)
            message = f"expected a 1 in exactly one of the columns {names}; found it in {int(marked[row].sum())}"
            self._fault(block.error(message, row, marks[0]), wrong)
        return np.asarray(np.argmax(marked, axis=1), dtype=np.int32)

    def _judges(self, block: TableBlock, column: int) -> NDArray[Any]:
        try:
            return block.labels(column)
        except FileFormatError as error:
            if column == self.columns.others["judge"]:
                error.args = (f"{error}. An empty name for judge= leaves judges out",)
            words = block.words(column)
            self._fault(error, words == "")
            return words

    def _values(self, block: TableBlock, column: int) -> NDArray[np.float64]:
        """Return the numbers of a column; rows where it has none are invalid."""
        try:
            return np.asarray(block.numbers([column])[:, 0], dtype=np.float64)
        except FileFormatError as error:
            read = [read_decimal(word.encode()) for word in block.words(column).tolist()]
            values = np.array([math.nan if value is None else value for value in read])
            self._fault(error, ~np.isfinite(values))
            return values

    def _truths(self, block: TableBlock, column: int) -> NDArray[np.bool_]:
        codes, words = block.coded(column)
        truths = [truth(word) for word in words.tolist()]
        for number, (word, value) in enumerate(zip(words.tolist(), truths, strict=True)):
            if value is None:
                row = int(np.argmax(codes == number))
                message = f"{shown(word)} is neither yes nor no: expected 1 or 0, true or false, yes or no"
                self._fault(block.error(message, row, column), codes == number)
        return np.array(truths, dtype=np.bool_)[codes]

    def _amounts(self, block: TableBlock, column: int) -> NDArray[np.float64]:
        values = self._values(block, column)
        if np.any(values < 0):
            row = int(np.argmax(values < 0))
            what = "weight" if column == self.columns.others["weight"] else "magnitude"
            message = f"the {what} {float(values[row])!r} is negative: expected zero or more"
            self._fault(block.error(message, row, column), values < 0)
        return values

    def preferences(self) -> Preferences:
        """Return what was read."""
        for line, error in self.table.wrong_rows or ():
            self.invalid.add(error, [self.table.place_in_words(line)])
        join = {"judge": join_labels, "category": join_labels}
        read = {role: join.get(role, np.concatenate)(pieces) for role, pieces in self.pieces.items()}
        if not read:
            self.invalid.notes()
            raise self.table.error("the file has no preferences: expected one in each row")
        self.positions, self.valid = read["position"], read["valid"]
        time, said_of_time = self._times(read.get("time"))
        pairs, magnitude = read["pair"], read.get("magnitude")
        tie = read.get("tie", np.zeros(len(pairs), dtype=np.bool_))
        side = None
        if self.columns.loser is None:
            kind, won = self._won(read["winner"], pairs, tie)
            said = self._said_of_sides(kind)
            tie |= won == 0
            side = np.where(won == -1, np.int8(-1), np.int8(1))
            pairs = np.where((side == 1)[:, None], pairs, pairs[:, ::-1])
        else:
            said = f"the winners are column {self._name('winner')}, the losers column {self._name('loser')}"
        against_self = self.valid & (pairs[:, 0] == pairs[:, 1])
        self.invalid.n_against_self = int(np.count_nonzero(against_self))
        notes = (*self.table.notes, said, *self._other_notes(), *said_of_time, *self.invalid.notes())
        keep = self.valid & ~against_self
        if not keep.any():
            why = "compares an item with itself" if against_self.any() else "is invalid or of another time"
            raise self.table.error(f"no preference is left: each row {why}")
        if magnitude is not None:
            tie |= magnitude == 0
        has_ties = bool(tie[keep].any())
        if has_ties:
            magnitude = np.where(tie, 0.0, 1.0 if magnitude is None else magnitude)
        found = Preferences(
            pairs, magnitude, read.get("weight"), None, tie if has_ties else None, read.get("judge"), side, notes
        )._replace(category=read.get("category"), time=time, covariates=self._covariates(read, side))
        return self._with_names(found.chosen(keep))

    def _times(self, words: NDArray[Any] | None) -> tuple[NDArray[Any] | None, list[str]]:
        """Return the times of all rows, and let those of another period be invalid, uncounted."""
        if words is None:
            return None, []
        distinct, codes = np.unique(words.astype(str), return_inverse=True)
        read, dated = read_times(distinct.tolist())
        times = read[codes]
        wrong = ~np.isfinite(times)
        if np.any(wrong & self.valid):
            row = int(np.argmax(wrong & self.valid))
            message = f"{shown(str(words[row]))} is no time: expected a date such as 2024-05-31T12:00Z, or a number"
            self._fault(self.table.error(message, int(self.positions[row]), self.columns.others["time"]), wrong)
        if self.about.since is None and self.about.until is None:
            return as_times(times, dated), []
        keep, said = in_period(times, dated, self.about.since, self.about.until)
        self.valid &= keep
        return as_times(times, dated), [said]

    def _covariates(
        self, read: Mapping[str, NDArray[Any]], side: NDArray[np.int8] | None
    ) -> dict[str, NDArray[np.float64]] | None:
        """Return the covariates, turned towards the winner; a single column beside winners and losers is so already."""
        found: dict[str, NDArray[np.float64]] = {}
        for name, pair in self.columns.covariates.items():
            values: NDArray[np.float64] = np.ones(len(self.positions)) if pair is None else read[f"covariate {name}"]
            found[name] = values if side is None else values * side
        return found or None

    def _with_names(self, found: Preferences) -> Preferences:
        """Let items be numbers if all of them are, and else names."""
        if not self.items.all_integers():
            return found._replace(names=self.items.names())
        numbers = self.items.item_numbers(lambda message, place: self.table.error(message, *place))
        return found._replace(pairs=numbers[found.pairs])

    def _name(self, role: str) -> str:
        return repr(self.table.names[getattr(self.columns, role)])

    def _won(
        self, codes: NDArray[np.int32], pairs: NDArray[np.int64], tie: NDArray[np.bool_]
    ) -> tuple[str, NDArray[np.int8]]:
        """Return how the winners are said, and who won each row: 1 the left, -1 the right, 0 a tie."""
        words = list(self.words)
        left, right = (self.table.names[column] for column in self.item_columns)
        winner = WinnerWords(words, (left, right), self.items)
        kind, won, _ = winner.reading(codes, pairs)
        won = np.where(tie, np.int8(0), won)
        unknown = (won == UNKNOWN) & self.valid
        known = list(self.items.code_of)
        for code in np.unique(codes[unknown]).tolist():
            rows = unknown & (codes == code)
            row = int(np.argmax(rows))
            readings = winner.readings(codes[row : row + 1], pairs[row : row + 1])
            others = next((other for other, said in readings.items() if said[0] != UNKNOWN), None)
            message = winner.fault(words[code], (known[pairs[row, 0]], known[pairs[row, 1]]), kind, others)
            self._fault(self.table.error(message, int(self.positions[row]), self.columns.winner), rows)
        return kind, won

    def _said_of_sides(self, kind: str) -> str:
        left, right = (repr(self.table.names[column]) for column in self.item_columns)
        items = f"the items are columns {left} and {right}"
        if self.columns.marks:
            listed = ", ".join(repr(self.table.names[column]) for column in self.columns.marks)
            return f"{items}; columns {listed} mark the winner"
        return f"{items}; column {self._name('winner')} says {READ_AS[kind]}"

    def _other_notes(self) -> list[str]:
        columns, names, others = self.columns, self.table.names, self.columns.others
        plural = {"category": "categories"}
        notes = [
            f"the {plural.get(role, f'{role}s')} are column {names[column]!r}"
            for role, column in others.items()
            if column is not None
        ]
        used = {columns.winner, *columns.marks, *self.item_columns, *others.values()}
        used |= {column for pair in columns.covariates.values() for column in pair or ()}
        return notes + left_out([name for column, name in enumerate(names) if column not in used])


# Vote columns ---------------------------------------------------------------------------------------------------------
#
# Columns of a table of votes: who won against whom, or which item was on which side and which side won.
#
# A table has one of two layouts. In one, a column has the winners and another the losers. In the other, an arena log,
# two columns have the items that were compared, such as ``model_a`` and ``model_b``, and a third says which of them
# won; or the columns ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` mark the winner by a 1. The columns are
# those that the caller names, or whose names are in `NAMES`; two columns are a pair of sides if their names differ by
# two words of `SIDES` alone.

JUDGES = (
    "judge", "worker", "annotator", "rater", "voter", "assessor", "reviewer", "evaluator", "participant", "respondent",
    "labeler", "labeller", "user", "person", "expert", "referee",
)  # fmt: skip
# As the names are compared: small letters and digits alone, so that "Winner ID", "winner_id" and "winnerId" are one.
NAMES = {
    "winner": ("winner", "winnerid", "winnername", "preferred", "better", "chosen"),
    "loser": ("loser", "loserid", "losername", "dispreferred", "worse", "rejected"),
    "outcome": (
        "outcome", "result", "vote", "choice", "preference", "verdict", "judgement", "judgment", "decision", "ftr",
    ),
    "tie": ("tie", "tied", "istie", "draw", "drawn", "isdraw"),
    "weight": ("weight", "weights", "count", "counts", "multiplicity", "frequency", "votes", "nvotes"),
    "judge": tuple(f"{judge}{end}" for judge in JUDGES for end in ("", "id", "name")),
    "magnitude": ("magnitude", "margin"),
    "category": (),
    "time": TIMES,
}  # fmt: skip
SIDES = (
    ("left", "right"), ("a", "b"), ("x", "y"), ("1", "2"), ("first", "second"), ("one", "two"), ("home", "away"),
    ("white", "black"), ("red", "blue"),
)  # fmt: skip
"""Words for the two sides, in the names of columns and in the column that says who won."""
OPTIONAL = ("tie", "weight", "judge", "magnitude", "category", "time")
VoteRequest: TypeAlias = Mapping[str, str | None]
"""What the user said about columns, by their roles: None leaves it to the names, an empty string says there is none."""


@dataclass(frozen=True)
class VoteColumns:
    """The numbers of the columns, counted from zero."""

    winner: int
    loser: int | None
    sides: tuple[tuple[int, int], ...]
    marks: tuple[int, ...]
    others: Mapping[str, int | None]  # of ties, weights, judges, magnitudes, categories and times
    covariates: CovariateColumns = field(default_factory=dict)

    @staticmethod
    def known_by(names: tuple[str, ...]) -> bool:
        """Return whether these are names of columns, by which each layout can be told."""
        if marked_sides(names) is not None:
            return True
        plain = [plain_name(name) for name in names]
        won = any(name in NAMES["winner"] for name in plain)
        said = won or any(name in NAMES["outcome"] for name in plain)
        return (won and any(name in NAMES["loser"] for name in plain)) or (said and bool(side_pairs(names)))


def side_pairs(names: tuple[str, ...], sides: tuple[tuple[str, str], ...] = ()) -> list[tuple[int, int]]:
    """Return the pairs of columns whose names differ by the words for two sides; bare words first."""
    parts = [_words(name) for name in names]
    column_of = {name: column for column, name in reversed(list(enumerate(parts)))}
    found = []
    for first, words in enumerate(parts):
        for place, word in enumerate(words):
            for left, right in sides or SIDES:
                second = column_of.get((*words[:place], right, *words[place + 1 :])) if word == left else None
                if second is not None:
                    found.append((first, second))
    return sorted(found, key=lambda pair: len(parts[pair[0]]) > 1)


def marked_sides(names: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, ...]] | None:
    """Return two columns of items and the columns that mark the winner: of each of the two, and of a tie, if any."""
    column_of = {_words(name): column for column, name in reversed(list(enumerate(names)))}
    for pair in side_pairs(names):
        marks = [column_of.get(("winner", *_words(names[column]))) for column in pair]
        if None not in marks:
            return pair, tuple(mark for mark in (*marks, column_of.get(("winner", "tie"))) if mark is not None)
    return None


def side_initials(sides: tuple[str, str]) -> dict[str, int]:
    """Return the initials of the words for the two sides in the names of their columns, and d for a draw."""
    first, second = (_words(name) for name in sides)
    for left, right in SIDES:
        if len(left) > 1 and left in first and right in second:
            return {left[0]: 1, right[0]: -1, "d": 0}
    return {}


def _words(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name))


class _ColumnSearch:
    """The search for the columns of one table."""

    def __init__(self, table: Table, request: VoteRequest) -> None:
        self.table = table
        self.request = request
        self.number_of = {name: column for column, name in enumerate(table.names)}
        self.plain = [plain_name(name) for name in table.names]
        self.taken = {role: self.table.column(name, role) for role, name in request.items() if name}
        for role, column in self.taken.items():
            twice = next((other for other, taken in self.taken.items() if taken == column and other != role), None)
            if twice is not None:
                raise table.error(f"column {table.names[column]!r} cannot be both {role} and {twice}")

    def columns(self, about: _About) -> VoteColumns:
        """Return the columns of votes, and of what else is asked."""
        found = self._columns()
        if not about.covariates:
            return found
        pairs = side_pairs(
            self.table.names, SIDES if found.loser is None else (("winner", "loser"), ("chosen", "rejected"))
        )
        return replace(
            found, covariates=covariate_columns(self.table, about.covariates, pairs, sided=found.loser is None)
        )

    def _columns(self) -> VoteColumns:
        if "loser" in self.taken and ("left" in self.taken or "right" in self.taken):
            message = "give either winner= and loser=, or left=, right= and winner=; got loser= with left= or right="
            raise self.table.error(message)
        if ("left" in self.taken) != ("right" in self.taken):
            raise self.table.error("left= and right= name the columns of the two items: give both")
        others = {role: None if self.request[role] == "" else self._guessed(role, NAMES[role]) for role in OPTIONAL}
        loser = None
        if "left" not in self.taken and self.request["loser"] != "":
            loser = self._guessed("loser", NAMES["loser"])
        if loser is not None:
            return VoteColumns(self._winner(), loser, (), (), others)
        said = "left" in self.taken or self._guessed("winner", NAMES["winner"]) is not None
        marked = None if said else marked_sides(self.table.names)
        if marked is not None:
            pair, marks = marked
            return VoteColumns(marks[0], None, (pair,), marks, others)
        sides = self._sides()
        return VoteColumns(self._winner(NAMES["outcome"]), None, sides, (), others)

    def _sides(self) -> tuple[tuple[int, int], ...]:
        if "left" in self.taken:
            return ((self.taken["left"], self.taken["right"]),)
        taken = set(self.taken.values())
        found = tuple(pair for pair in side_pairs(self.table.names) if taken.isdisjoint(pair))
        if not found:
            raise self.table.error(
                "no columns look like winner and loser, or like two sides such as left and right: name them with "
                "winner= and loser=, or with left=, right= and winner=, or write a first line such as 'winner,loser'; "
                f"{self.table.known_names()}"
            )
        return found

    def _winner(self, others: tuple[str, ...] = ()) -> int:
        column = self._guessed("winner", NAMES["winner"])
        column = self._guessed("winner", others) if column is None else column
        if column is None:
            raise self.table.error(f"no column looks like the winner: name it with winner=; {self.table.known_names()}")
        return column

    def _guessed(self, role: str, names: tuple[str, ...]) -> int | None:
        if role in self.taken:
            return self.taken[role]
        taken = self.taken.values()
        free = [column for column, name in enumerate(self.plain) if name in names and column not in taken]
        if len(free) > 1:
            found = " and ".join(repr(self.table.names[column]) for column in free)
            raise self.table.error(f"{found} could each be the {role}: name the right one with {role}=")
        return free[0] if free else None


# Vote words -----------------------------------------------------------------------------------------------------------
#
# Words of votes: which side won in an arena log, and words for yes and no.
#
# The column that says who won holds the names of the two columns, or those of the items, or words for the two sides;
# and words for a tie. Which of the three it holds is the same in all rows: the first that explains every row, in this
# order.

TIES = {
    "tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "bothbad", "bothgood", "neither", "even",
    "nopreference", "nodifference", "undecided", "12-12", "½-½",
}  # fmt: skip
"""Words for a tie, as small letters and digits; so is any word that begins with "tie", as "tie (bothbad)" does."""
FILLERS = {
    "model", "option", "item", "player", "team", "system", "response", "answer", "assistant", "candidate", "choice",
    "side", "is", "better", "wins", "won", "win",
}  # fmt: skip
"""Words that may stand beside one for a side, as in "Model A wins"."""
READ_AS = {"columns": "the column of the winner", "items": "the item that won", "sides": "the side that won"}
"""What the column that says who won may hold."""
TRUE = {"1", "true", "t", "yes", "y", "1.0", *TIES}
FALSE = {"0", "false", "f", "no", "n", "0.0"}
UNKNOWN = 9


def truth(word: str) -> bool | None:
    """Read yes or no: True, or False (also if missing), or None for any other word."""
    small = word.strip().lower()
    if small in FALSE or is_missing(word):
        return False
    return True if small in TRUE else None


def _is_tie(word: str) -> bool:
    kept = re.sub(r"[^a-z0-9½-]", "", word.lower())
    return word.strip() == "=" or kept in TIES or kept.startswith("tie")


def _side_of(word: str) -> int:
    """Return 1 for a word for the left side, -1 for the right, and else `UNKNOWN`."""
    if word.strip() in ("1-0", "0-1"):  # as in chess
        return 1 if word.strip() == "1-0" else -1
    parts = re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word).lower())
    if len(parts) > 1:
        parts = [part for part in parts if part not in FILLERS]
    lefts, rights = zip(*SIDES, strict=True)
    if len(parts) != 1:
        return UNKNOWN
    return 1 if parts[0] in lefts else -1 if parts[0] in rights else UNKNOWN


@dataclass(frozen=True)
class WinnerWords:
    """The words of the column that says which side won."""

    words: Sequence[str]
    sides: tuple[str, str]
    items: ItemCodes

    @cached_property
    def ties(self) -> NDArray[np.bool_]:
        """Which words say that it was a tie."""
        return np.array([_is_tie(word) for word in self.words], dtype=np.bool_)

    def readings(self, codes: NDArray[np.int32], pairs: NDArray[np.int64]) -> dict[str, NDArray[np.int8]]:
        """Return who won each row, in each of three readings: 1 the left, -1 the right, 0 a tie, or `UNKNOWN`."""
        names = {plain_name(self.sides[0]): 1, plain_name(self.sides[1]): -1}
        by_name = np.array([names.get(plain_name(word), UNKNOWN) for word in self.words], dtype=np.int8)
        initials = side_initials(self.sides)
        by_side = np.array([initials.get(word.strip().lower(), _side_of(word)) for word in self.words], dtype=np.int8)
        by_side = np.where(by_side == UNKNOWN, by_name, by_side)
        item = np.array([self.items.code_of.get(word, -1) for word in self.words])[codes]
        by_item = np.where(item == pairs[:, 0], 1, np.where(item == pairs[:, 1], -1, UNKNOWN)).astype(np.int8)
        found = {"columns": by_name[codes], "items": by_item, "sides": by_side[codes]}
        return {kind: np.where(self.ties[codes], np.int8(0), won) for kind, won in found.items()}

    def reading(self, codes: NDArray[np.int32], pairs: NDArray[np.int64]) -> tuple[str, NDArray[np.int8], int]:
        """Return the reading that explains most rows, the first of those that explain as many.

        Shapes: returns won (m,).
        """
        readings = self.readings(codes, pairs)
        counts = {kind: int(np.count_nonzero(won != UNKNOWN)) for kind, won in readings.items()}
        kind = max(counts, key=lambda kind: counts[kind])
        return kind, readings[kind], counts[kind]

    def fault(self, word: str, pair: tuple[str, str], kind: str, others: str | None) -> str:
        """Return the error message for a word that does not name a winner in the reading that explains most rows.

        `others` is a reading that explains it, if there is one.
        """
        left, right = self.sides
        if others is not None:
            what = {"columns": "a column", "items": "an item", "sides": "a side"}[others]
            return f"{shown(word)} is {what}, but other rows have {READ_AS[kind]}: write the same in all rows"
        expected = (
            f"expected {left!r} or {right!r}, {shown(pair[0])} or {shown(pair[1])}, a side (left or right, a or b, "
            "1 or 2, first or second, home or away), or tie"
        )
        if is_missing(word):
            return f"the winner is missing: {expected}"
        hint = "; 0 and 1 may mean either side: write left and right" if word in ("0", "1") else ""
        return f"{shown(word)} does not name a winner: {expected}{hint}"
