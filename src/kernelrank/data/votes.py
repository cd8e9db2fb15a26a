"""Preferences: pairs of items of which the first is preferred, and what else a file says of them."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.labels import Queries
from kernelrank.data.text import (
    LONGEST_LABEL,
    Source,
    as_strings,
    compression_suffix,
    long_message,
    read_blocks,
    read_decimal,
    rewind,
    shown,
    source_name,
)
from kernelrank.errors import FileFormatError, InvalidInputError


class Preferences(NamedTuple):
    """Pairs of items of which the first is preferred to the second.

    Parameters
    ----------
    pairs : ndarray of int64, shape (l, 2)
        Item numbers: winner, loser. In a tie, the two items in the order of the file.
    magnitude : ndarray of float64, shape (l,), or None
        By how much, if the file has magnitudes. Ties have 0, and all others 1 where the file has no magnitudes.
    weight : ndarray of float64, shape (l,), or None
        The weight of each pair, if the file has weights.
    names : ndarray of str, shape (n_items,), or None
        The names of the items in the file; None if it numbers them.
    tie : ndarray of bool, shape (l,), or None
        Which of them are ties; None if there are none.
    judge : ndarray, shape (l,), or None
        Whose preference it is: integers if all labels are, else strings. In a file of rankings, the number of the
        ranking, counted from one.
    side : ndarray of int8, shape (l,), or None
        If the file has sides: 1 if the item of ``pairs[:, 0]`` was on the first side (left, first, home), -1 if the
        other was.
    notes : tuple of str
        What was guessed in order to read the file, and what was left out.
    category : ndarray, shape (l,), or None
        The category of each, if it was asked for.
    time : ndarray of float64 or datetime64, shape (l,), or None
        The time of each, if it was asked for.
    covariates : dict of ndarray of float64, shape (l,), or None
        The value of each covariate for the item of ``pairs[:, 0]`` less that for the other.
    """

    pairs: NDArray[np.int64]
    magnitude: NDArray[np.float64] | None
    weight: NDArray[np.float64] | None
    names: NDArray[np.object_] | None
    tie: NDArray[np.bool_] | None = None
    judge: NDArray[Any] | None = None
    side: NDArray[np.int8] | None = None
    notes: tuple[str, ...] = ()
    category: NDArray[Any] | None = None
    time: NDArray[Any] | None = None
    covariates: dict[str, NDArray[np.float64]] | None = None

    def chosen(self, rows: NDArray[np.bool_]) -> Preferences:
        """Return some of the preferences, with the names of all items."""
        names = ("pairs", "magnitude", "weight", "tie", "judge", "side", "category", "time")
        columns = {name: getattr(self, name) for name in names}
        found = self._replace(**{name: column[rows] for name, column in columns.items() if column is not None})
        if self.covariates is None:
            return found
        return found._replace(covariates={name: values[rows] for name, values in self.covariates.items()})


class Rankings(NamedTuple):
    """Rankings of items, the best first.

    Parameters
    ----------
    rankings : list of list
        The names of the items; a list inside a ranking holds tied ones.
    weight : ndarray of float64, shape (number of rankings,)
        How often each ranking was given.
    notes : tuple of str
    """

    rankings: list[list[Any]]
    weight: NDArray[np.float64]
    notes: tuple[str, ...] = ()


# Clicks ---------------------------------------------------------------------------------------------------------------
#
# A clicked item is preferred to the items above it that were shown and not clicked [Joa02]_: whoever reads a list from
# its top has seen those. A pair is observed when the position of the click is looked at, so that one over the
# probability of that position makes up for pairs that were not observed.


def preferences_from_clicks(query: Any, rank: Any, clicked: Any, *, propensity: Any = None) -> Preferences:
    """Make preferences from a log of clicks: clicked items above items that were shown at a better rank and skipped.

    Items below a click make no preference, because they may not have been seen.

    Parameters
    ----------
    query : sequence, shape (m,)
        For each row of the log, the list in which the item was shown. A list that is shown twice needs two labels.
    rank : array-like of int, shape (m,)
        The position in the list, from 1, which is the top.
    clicked : array-like of bool, shape (m,)
        Whether the item was clicked.
    propensity : array-like, shape (positions,), optional
        The probability that somebody looks at position 1, 2, …. The weight of a preference is then one over that of the
        clicked item. Small probabilities make large weights: limit them from below first.

    Returns
    -------
    Preferences
        The `pairs` have row numbers of the log; with the items of the rows as X they go to `fit_pairs` together with
        `weight`, which is None without propensities. `judge` has the list that a preference is from, to hold lists out.

    Raises
    ------
    InvalidInputError
        When a list has a rank twice, or a clicked rank has no propensity.

    Notes
    -----
    O(m log m + l) time and memory for l preferences.

    Examples
    --------
    >>> from kernelrank.data import preferences_from_clicks
    >>> found = preferences_from_clicks("aaabb", [1, 2, 3, 1, 2], [0, 0, 1, 1, 0], propensity=[1.0, 0.8, 0.5])
    >>> found.pairs.tolist(), found.weight.tolist()
    ([[2, 0], [2, 1]], [2.0, 2.0])
    """
    ranks, clicks = np.asarray(rank), np.asarray(clicked)
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or np.any(ranks < 1):
        raise InvalidInputError("rank must be one position for each row, integers from 1")
    if clicks.shape != ranks.shape or not np.isin(clicks, (0, 1)).all():
        raise InvalidInputError(f"clicked must hold True or False for each of the {len(ranks)} rows")
    queries = Queries.from_labels(list(query) if isinstance(query, str) else query, len(ranks), name="query")
    order = np.lexsort([ranks, queries.codes])
    lists, positions, clicks = queries.codes[order], ranks[order], clicks[order] == 1
    twice = np.flatnonzero((np.diff(lists) == 0) & (np.diff(positions) == 0))
    if len(twice):
        raise InvalidInputError(
            f"query {queries.labels[lists[twice[0]]]!r} has rank {positions[twice[0]]} twice: give each list that was "
            "shown its own label"
        )
    # In the order of lists and ranks, the skipped items above a click are contiguous among all that were not clicked.
    skipped_before = np.cumsum(~clicks)
    first = np.searchsorted(lists[~clicks], lists[clicks])
    counts = skipped_before[clicks] - first
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    upper = np.repeat(np.flatnonzero(clicks), counts)
    lower = np.flatnonzero(~clicks)[np.repeat(first, counts) + within]
    labels = queries.labels[lists[upper]]
    alone = np.count_nonzero(counts == 0)
    judge = labels if labels.dtype.kind in "iu" else as_strings(map(str, labels))
    return Preferences(
        np.column_stack([order[upper], order[lower]]).astype(np.int64),
        None,
        None if propensity is None else _inverse_propensity(propensity, positions[upper]),
        None,
        judge=judge,
        notes=(f"{np.count_nonzero(clicks):,} clicks, {alone:,} of them with no skipped item above",),
    )


def _inverse_propensity(propensity: Any, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    chances = np.asarray(propensity, dtype=np.float64)
    if chances.ndim != 1 or not np.all((chances > 0.0) & (chances <= 1.0)):
        raise InvalidInputError("propensity must be a list of probabilities above 0 and at most 1, from position 1 on")
    if len(positions) and positions.max() > len(chances):
        raise InvalidInputError(f"an item at rank {positions.max()} was clicked, but propensity ends at {len(chances)}")
    return np.asarray(1.0 / chances[positions - 1])


# Item codes -----------------------------------------------------------------------------------------------------------
#
# Names of items as numbers: in the order of a list, or as they first occur.


class ItemCodes:
    """The numbers of items that a file calls by name."""

    def __init__(self, items: Iterable[object] | None = None, kind: str = "items") -> None:
        self.kind = kind
        self.fixed = items is not None
        names = [str(item) for item in (() if items is None else items)]
        self.code_of = {name: code for code, name in enumerate(names)}
        if len(self.code_of) < len(names):
            twice = next(name for code, name in enumerate(names) if self.code_of[name] != code)
            raise InvalidInputError(f"{kind} has {twice!r} twice")
        self.first_places: list[Any] = []

    def code(self, name: str, place: Any, error: Callable[[str, Any], Exception]) -> int:
        """Return the number of a name; `error` makes the exception that names the place of an unknown one."""
        code = self.code_of.get(name)
        if code is None:
            if self.fixed:
                raise error(f"{shown(name)} is not among the {self.kind}{self._nearest(name)}", place)
            code = self.code_of[name] = len(self.code_of)
            self.first_places.append(place)
        return code

    def _nearest(self, name: str) -> str:
        """Return the known names that are spelt like an unknown one, as the end of a message."""
        by_small = {known.lower(): known for known in self.code_of}
        near = difflib.get_close_matches(name.lower()[:200], by_small, n=3) if len(by_small) <= 10**5 else []
        if not near:
            some = ", ".join(shown(known) for known in list(self.code_of)[:3])
            return f", which have names such as {some}" if some else ", of which there are none"
        return f": did you mean {' or '.join(shown(by_small[known]) for known in near)}?"

    def names(self) -> NDArray[np.object_]:
        """Return the names, in the order of their numbers."""
        return as_strings(self.code_of)

    def all_integers(self) -> bool:
        """Return whether no list fixes the items and each name is an integer, as Python writes it."""
        return not self.fixed and bool(self.are_integers().all())

    def are_integers(self) -> NDArray[np.bool_]:
        """Return for each name whether it is an integer, as Python writes it."""
        return np.array([re.fullmatch(r"0|-?[1-9][0-9]*", name) is not None for name in self.code_of])

    def item_numbers(self, error: Callable[[str, Any], FileFormatError]) -> NDArray[np.int64]:
        """Return the names as numbers, where `all_integers`."""
        for name, place in zip(self.code_of, self.first_places, strict=True):
            if name.startswith("-"):
                raise error(f"the item number {shown(name)} is negative", place)
            if len(name) > 19 or int(name) >= 2**63:
                raise error(f"the item number {shown(name)} is too large", place)
        return np.array([int(name) for name in self.code_of], dtype=np.int64)


# Invalid votes --------------------------------------------------------------------------------------------------------
#
# Votes that cannot be read: all are counted, by what is wrong with them, before they are an error or left out.


@dataclass
class InvalidVotes:
    """What is wrong with some votes: for each kind its number, some places, and the first error."""

    path: str
    skip: bool = False
    n_votes: int = 0
    n_against_self: int = 0
    kinds: dict[str, tuple[int, list[str], FileFormatError]] = field(default_factory=dict)

    def add(self, error: FileFormatError, places: Iterable[str] = (), count: int = 1) -> None:
        """Add votes with one fault. Faults are of a kind if they differ in numbers and quoted words only."""
        kind = re.sub(r"'[^']*'|\"[^\"]*\"|[0-9.]+", "", str(error))
        number, found, first = self.kinds.get(kind, (0, [], error))
        self.kinds[kind] = number + count, [*found, *places][:3], first
        self.n_votes += count

    def notes(self) -> list[str]:
        """Return what is left out; raise an error for invalid votes unless they are skipped."""
        left = "votes" if self.n_votes > 1 else "vote"
        if self.kinds and not self.skip:
            (_, _, error), *others = self.kinds.values()
            remedy = f"; skip_invalid=True leaves {'them' if self.n_votes > 1 else 'it'} out"
            if self.n_votes == 1 and not others:
                error.args = (f"{error}{remedy}",)
                raise error
            message = f"{self.n_votes:,} invalid {left}: {self._told('')}{remedy}"
            raise FileFormatError(message, self.path)
        notes = [f"left out: {self.n_votes:,} invalid {left}: {self._told(': expected')}"] if self.kinds else []
        if self.n_against_self:
            plural = "s" * (self.n_against_self > 1)
            notes.append(f"left out: {self.n_against_self:,} vote{plural} between an item and itself")
        return notes

    def _told(self, end: str) -> str:
        told = []
        for number, places, error in self.kinds.values():
            text = str(error).removeprefix(self.path).lstrip(",: ")
            also = f" (also {', '.join(places[1:])}{', ...' * (number > 3)})" if number > 1 else ""
            told.append(f"{number:,} as in {text.partition(end)[0] if end else text}{also}")
        return "; ".join(told)


# Preference lines -----------------------------------------------------------------------------------------------------
#
# Lines of preferences: winner and loser, with a magnitude and a weight, separated by white space or commas.

COLUMNS = ("winner", "loser", "magnitude", "weight")


def _fields(line: bytes) -> list[bytes]:
    return re.split(rb"[ \t\v\f\r]*,[ \t\v\f\r]*|[ \t\v\f\r]+", line.partition(b"#")[0].strip())


def read_lines(source: Source, items: ItemCodes, *, skip_invalid: bool = False) -> Preferences:
    """Read lines of ``winner loser [magnitude [weight]]``. Time O(bytes); memory O(lines)."""
    reader = _LineReader(source_name(source), items, skip_invalid)
    for block in read_blocks(source):
        for number, line in enumerate(block.text.split(b"\n"), start=block.first_line):
            fields = _fields(line)
            if fields == [b""]:
                continue
            try:
                reader.add(fields, number)
            except FileFormatError as error:
                reader.invalid.add(error, [f"line {number}"])
    return reader.preferences()


def looks_like_a_line(line: bytes) -> bool:
    """Return whether a line has two to four columns, numbers in the third and the fourth."""
    fields = _fields(line)
    return 2 <= len(fields) <= len(COLUMNS) and all(read_decimal(field) is not None for field in fields[2:])


class _LineReader:
    """The lines read so far. Words are numbered as they come, and become item numbers in the end."""

    def __init__(self, path: str, items: ItemCodes, skip_invalid: bool) -> None:
        self.path = path
        self.items = items
        self.invalid = InvalidVotes(path, skip_invalid)
        self.code_of: dict[bytes, int] = {}
        self.codes = array("q")
        self.numbers = (array("d"), array("d"))
        self.n_columns = 0

    def add(self, fields: list[bytes], line: int) -> None:
        """Read one line."""
        self._check_columns(fields, line)
        if not self.codes and self._is_header(fields):
            return
        values = []
        for name, cell in zip(COLUMNS[2:], fields[2:], strict=False):
            value = read_decimal(cell)
            if value is None or not (math.isfinite(value) and value >= 0):
                hint = "; names with spaces need a CSV file whose first line is winner,loser" if value is None else ""
                raise self._wrong(f"the {name} {shown(cell)} is not a finite number, zero or more{hint}", line)
            values.append(value)
        winner, loser = (self._code(field, line, place) for place, field in enumerate(fields[:2]))
        if winner == loser:
            self.invalid.n_against_self += 1
            return
        self.codes.extend((winner, loser))
        for column, value in zip(self.numbers, values, strict=False):
            column.append(value)

    def _wrong(self, message: str, line: int | None, column: str | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line, column=column)

    def _check_columns(self, fields: list[bytes], line: int) -> None:
        if not all(fields):
            raise self._wrong("a field is empty: expected text before, between and after commas", line)
        if not 2 <= len(fields) <= len(COLUMNS):
            noun = "column" if len(fields) == 1 else "columns"
            raise self._wrong(f"{len(fields)} {noun}: expected winner loser [magnitude [weight]]", line)
        self.n_columns = self.n_columns or len(fields)
        if len(fields) != self.n_columns:
            raise self._wrong(f"{len(fields)} columns, but the lines before it have {self.n_columns}", line)

    def _is_header(self, fields: list[bytes]) -> bool:
        """Whether these are the names of the columns, and of no items."""
        words = [field.decode(errors="replace") for field in fields]
        is_known = any(word in self.items.code_of for word in words)
        return [word.lower() for word in words] == list(COLUMNS[: len(fields)]) and not is_known

    def _code(self, word: bytes, line: int, place: int) -> int:
        code = self.code_of.get(word)
        if code is None:
            if len(word) > LONGEST_LABEL:
                raise self._wrong(long_message("the name of the item", len(word)), line, COLUMNS[place])
            try:
                name = word.decode()
            except UnicodeDecodeError:
                raise self._wrong(f"{shown(word)} is not UTF-8", line) from None
            code = self.code_of[word] = self.items.code(name, line, self._wrong)
        return code

    def preferences(self) -> Preferences:
        """Return what was read."""
        notes = tuple(self.invalid.notes())
        if not self.codes:
            raise self._wrong("the file has no preferences: expected one in each row", None)
        pairs = np.array(self.codes, dtype=np.int64).reshape(-1, 2)
        magnitude, weight = (np.array(column) if column else None for column in self.numbers)
        tie = None if magnitude is None or magnitude.all() else magnitude == 0
        if self.items.all_integers():
            return Preferences(self.items.item_numbers(self._wrong)[pairs], magnitude, weight, None, tie, notes=notes)
        is_integer = self.items.are_integers()
        others = pairs[1:]
        if not (self.items.fixed or is_integer[pairs[0]].any()) and len(others) and is_integer[others].all():
            line = self.items.first_places[0]
            raise self._wrong("looks like a header, because the other lines have item numbers: begin it with #", line)
        return Preferences(pairs, magnitude, weight, self.items.names(), tie, notes=notes)


# PrefLib --------------------------------------------------------------------------------------------------------------
#
# PrefLib files: rankings with and without ties, complete or not, and weighted graphs of preferences.
#
# Metadata stand in lines that begin with ``#``; after them a ranking is ``count: 3,1,{2,4}``, best first, with ties in
# braces, and an edge of a ``.wmd`` file is ``preferred,other,weight``. A ranking of k items makes k (k - 1) / 2
# preferences, which share its count as their weight: n voters weigh n, however many items each of them ranked. Items
# that a ranking does not name take no part in it.

KINDS = ("soc", "soi", "toc", "toi", "wmd")


def is_preflib(source: Source, start: bytes) -> bool:
    """Return whether the suffix of a file, or its first line, is one of PrefLib's."""
    path = Path(source_name(source))
    suffix = path.with_suffix("").suffix if compression_suffix(path) else path.suffix
    metadata = rb"# (FILE NAME|TITLE|DATA TYPE|NUMBER ALTERNATIVES|ALTERNATIVE NAME [0-9]+):"
    return suffix.lower()[1:] in KINDS or re.match(metadata, start.lstrip()) is not None


def read_preflib(source: Source, items: ItemCodes) -> Preferences:
    """Read a PrefLib file. Time and memory O(preferences), of which a ranking of k items has k (k - 1) / 2."""
    return _read_orders(source).preferences(items)


def read_rankings(source: Source) -> Rankings:
    r"""Read the rankings of a PrefLib file, for `Leaderboard.fit_rankings`; `read_pairs` reads their pairs.

    Parameters
    ----------
    source : path or file object
        As in `read_pairs`: orders (``.soc``, ``.soi``, ``.toc``, ``.toi``).

    Returns
    -------
    Rankings
        ``rankings, weight, notes``.

    Raises
    ------
    FileFormatError
        For a file without rankings; the message has the line.

    Examples
    --------
    >>> import io
    >>> lines = ["# DATA TYPE: toi", *(f"# ALTERNATIVE NAME {k}: {name}" for k, name in enumerate("abc", 1))]
    >>> read_rankings(io.StringIO("\n".join([*lines, "2: 3,1", "1: 2,{1,3}"]))).rankings
    [['c', 'a'], ['b', ['a', 'c']]]
    """
    reader = _read_orders(source)
    if not reader.orders:
        raise reader.wrong("the file has no rankings: expected lines such as '2: 3,1,{2,4}'")
    said = f"{reader.n_voters:,} rankings, {reader.n_lines:,} of them different"
    orders, weight = zip(*reader.orders, strict=True)
    return Rankings(list(orders), np.array(weight), (f"a PrefLib file: {len(reader.names):,} items, {said}",))


def _read_orders(source: Source) -> _PrefLibReader:
    rewind(source)
    reader = _PrefLibReader(source_name(source))
    for block in read_blocks(source):
        try:
            text = block.text.decode()
        except UnicodeDecodeError as error:
            line = block.first_line + block.text.count(b"\n", 0, error.start)
            raise FileFormatError("the line is not UTF-8: save the file as UTF-8 text", reader.path, line) from None
        for number, line_text in enumerate(text.split("\n"), start=block.first_line):
            if line_text.strip():
                reader.add(line_text.strip(), number)
    return reader


@dataclass
class _PrefLibReader:
    """The lines read so far."""

    path: str
    metadata: dict[str, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    name_lines: dict[str, int] = field(default_factory=dict)
    pairs: list[NDArray[np.int64]] = field(default_factory=list)
    ties: list[NDArray[np.bool_]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    orders: list[tuple[list[Any], float]] = field(default_factory=list)
    n_lines: int = 0
    n_voters: int = 0
    n_silent: int = 0
    n_against_self: int = 0

    def wrong(self, message: str, line: int | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line)

    def add(self, text: str, line: int) -> None:
        """Read one line that is not blank."""
        if text.startswith("#"):
            self._add_metadata(text[1:].strip(), line)
            return
        if not self.names:
            expected = "expected lines such as '# ALTERNATIVE NAME 1: tea' before it, as PrefLib writes them since 2022"
            raise self.wrong(f"{shown(text)}: no item has a name yet: {expected}", line)
        self.n_lines += 1
        if self.kind == "wmd":
            self._add_edge(text, line)
        else:
            self._add_order(text, line)

    @property
    def kind(self) -> str:
        suffix = Path(self.path.lower()).suffixes
        return self.metadata.get("DATA TYPE") or next((end[1:] for end in suffix if end[1:] in KINDS), "toi")

    def _add_metadata(self, text: str, line: int) -> None:
        key, _, value = (part.strip() for part in text.partition(":"))
        if not key.startswith("ALTERNATIVE NAME"):
            self.metadata[key] = value
            if key == "DATA TYPE" and value not in KINDS:
                raise self.wrong(f"the data type {shown(value)}: expected one of {', '.join(KINDS)}", line)
            return
        number = key.removeprefix("ALTERNATIVE NAME").strip()
        if not re.fullmatch(r"[0-9]{1,18}", number) or int(number) in self.names or not value:
            raise self.wrong(f"{shown(text)}: expected a new number and a name, as in 'ALTERNATIVE NAME 1: tea'", line)
        if value in self.name_lines:
            raise self.wrong(f"two items are called {shown(value)}: give one of them another name", line)
        self.names[int(number)], self.name_lines[value] = value, line

    def _number(self, text: str, line: int) -> int:
        if not re.fullmatch(r"[0-9]{1,18}", text.strip()) or int(text) not in self.names:
            known = f"expected a number of an item, {min(self.names)} to {max(self.names)}"
            raise self.wrong(f"{shown(text.strip())}: {known}", line)
        return int(text)

    def _add_edge(self, text: str, line: int) -> None:
        fields = text.split(",")
        weight = read_decimal(fields[2].strip().encode()) if len(fields) == 3 else None
        if weight is None or not 0 <= weight < np.inf:
            raise self.wrong(f"{shown(text)}: expected two items and a weight, zero or more, as in '1,2,5'", line)
        pair = [self._number(number, line) for number in fields[:2]]
        if pair[0] == pair[1]:
            self.n_against_self += 1
            return
        self.pairs.append(np.array([pair]))
        self.ties.append(np.zeros(1, dtype=np.bool_))
        self.weights.append(weight)

    def _add_order(self, text: str, line: int) -> None:
        found = re.fullmatch(r"([0-9]{1,15}) *: *(.*)", text)
        parts = re.split(r"\{([^{}]*)\}|([^,{}]+)", found[2] if found else "?")
        tiers = [braced or plain or "" for braced, plain in zip(parts[1::3], parts[2::3], strict=True)]
        if found is None or not tiers or "".join(parts[::3]).replace(" ", "") != "," * (len(tiers) - 1):
            raise self.wrong(f"{shown(text)}: expected a count and a ranking, as in '2: 3,1,{{2,4}}'", line)
        count = int(found[1])
        groups = [[self._number(number, line) for number in tier.split(",")] for tier in tiers]
        order = list(itertools.chain.from_iterable(groups))
        if len(set(order)) < len(order):
            twice = next(item for item in order if order.count(item) > 1)
            raise self.wrong(f"item {twice} is ranked twice", line)
        if self.kind.startswith("s") and len(groups) < len(order):
            raise self.wrong(f"a tie, in a file of type {self.kind}: expected strict orders", line)
        if self.kind.endswith("c") and len(order) < len(self.names):
            message = f"{len(order)} of {len(self.names)} items are ranked, in a file of type {self.kind}"
            raise self.wrong(f"{message}: expected complete orders", line)
        self.n_voters += count
        named = [[self.names[item] for item in group] for group in groups]
        self.orders.append(([group if len(group) > 1 else group[0] for group in named], float(count)))
        tier_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        upper, lower = np.triu_indices(len(order), 1)
        if not len(upper):
            self.n_silent += 1
            return
        self.pairs.append(np.array(order)[np.column_stack([upper, lower])])
        self.ties.append(tier_of[upper] == tier_of[lower])
        self.weights.append(count / len(upper))
        self.numbers.append(self.n_lines)

    def preferences(self, items: ItemCodes) -> Preferences:
        """Return what was read, if it is as much as the metadata say."""
        is_graph = self.kind == "wmd"
        self._check_count("NUMBER ALTERNATIVES", len(self.names), "items have a name")
        self._check_count("NUMBER EDGES" if is_graph else "NUMBER UNIQUE ORDERS", self.n_lines, "lines follow")
        if not is_graph:
            self._check_count("NUMBER VOTERS", self.n_voters, "is the sum of the counts")
        if not self.pairs:
            reason = ": each ranking names a single item, so that nothing is compared" if self.n_silent else ""
            raise self.wrong(f"the file has no preferences{reason}")
        codes = np.zeros(max(self.names) + 1, dtype=np.int64)
        for number, name in self.names.items():
            codes[number] = items.code(name, self.name_lines[name], self.wrong)
        lengths = [len(pairs) for pairs in self.pairs]
        tie = np.concatenate(self.ties)
        return Preferences(
            codes[np.concatenate(self.pairs)],
            None if not tie.any() else np.where(tie, 0.0, 1.0),
            np.repeat(self.weights, lengths),
            items.names(),
            tie if tie.any() else None,
            None if is_graph else np.repeat(np.array(self.numbers, dtype=np.int64), lengths),
            notes=tuple(self._notes(tie)),
        )

    def _check_count(self, key: str, found: int, what: str) -> None:
        said = self.metadata.get(key)
        if said is not None and said != str(found):
            raise self.wrong(f"{key} says {said}, but {found} {what}: lines are missing, or the number is wrong")

    def _notes(self, tie: NDArray[np.bool_]) -> list[str]:
        n_ties = int(np.count_nonzero(tie))
        if self.kind == "wmd":
            notes = [f"a PrefLib file: {len(self.names):,} items, {self.n_lines:,} weighted preferences"]
            return notes + InvalidVotes(self.path, n_against_self=self.n_against_self).notes()
        counts = f"{self.n_voters:,} rankings, {self.n_lines:,} of them different"
        notes = [
            f"a PrefLib file: {len(self.names):,} items, {counts}",
            f"the rankings made {len(tie):,} preferences{f', {n_ties:,} of them ties' if n_ties else ''}; the "
            "preferences of one ranking together weigh as much as one vote",
        ]
        if self.n_silent:
            notes.append(f"left out: {self.n_silent:,} rankings of a single item, which compare nothing")
        return notes
