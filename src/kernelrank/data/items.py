"""Items of a file: features, targets, queries, ids, weights and groups, for every file format; streams of rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelrank.base.labels import Queries
from kernelrank.data.table import Classes, ColumnRequest, Roles, RoleSearch, Table, TableBlock, is_missing
from kernelrank.data.text import join_labels, labels_as_strings, shown
from kernelrank.errors import InvalidInputError

if TYPE_CHECKING:
    from kernelrank.data.preparation import TablePreparation


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a file: features, targets, queries, ids, weights and groups.

    Parameters
    ----------
    X : ndarray or csr_array, shape (m, n_features)
        The features.
    y : ndarray of float64, shape (m,), or None
        The targets; 0 and 1 for two classes that have names.
    qid : ndarray of int64 or str, shape (m,), or None
        The queries: integers if all labels are (as Python writes them, so that "007" is a string).
    ids : ndarray of str, shape (m,), or None
        The names of the items, unique within a query.
    weight : ndarray of float64, shape (m,), or None
        The sample weight of each item.
    groups : ndarray of int64 or str, shape (m,), or None
        Which items stay together when the data is split, such as those of one patient.
    feature_names : tuple of str, or None
        The names of the columns of X; None in files without names.
    path : str
        The name of the file, for messages.
    notes : tuple of str
        What was guessed and what was left out, in words.
    classes : tuple of str, or None
        The names of the targets 0 and 1, if they have names.
    first_index : int, default=1
        The number of the first column in a file that numbers its columns instead of naming them.
    positive_reason : str or None
        Why this class is the target 1, where the classes have names: "as requested", "by its meaning", "it is
        rarer" or "it sorts last".
    preparation : TablePreparation or None
        How the columns of the file became X, where `read_table` read it.
    filled : ndarray of bool, shape (m, n_features), or None
        Where a number is missing in the file and X has the median or mean of its column; None if none is.
    places : tuple of str
        The line or row of each item in words, if groups may be missing.

    Examples
    --------
    >>> items = Items(np.ones((2, 1)), np.array([0.0, 1.0]), None, None, None, None, ("age",), "a.csv", ())
    >>> len(items), items.n_features
    (2, 1)
    >>> Items(np.ones((1, 2)), None, None, None, None, None, None, "a.txt", ()).column_names
    ('f1', 'f2')
    """

    X: Any
    y: NDArray[np.float64] | None
    qid: NDArray[Any] | None
    ids: NDArray[np.object_] | None
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    path: str
    notes: tuple[str, ...]
    classes: tuple[str, str] | None = None
    first_index: int = 1
    positive_reason: str | None = None
    preparation: TablePreparation | None = None
    filled: NDArray[np.bool_] | None = None
    places: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def chosen(self, keep: NDArray[np.bool_]) -> Items:
        """Return some of the items."""
        named = {name: getattr(self, name) for name in ("X", "y", "qid", "ids", "weight", "groups", "filled")}
        return replace(self, **{name: column[keep] for name, column in named.items() if column is not None})

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int | None:
        """The number of queries; None if the items have none. Time O(m)."""
        return None if self.qid is None else len(set(self.qid.tolist()))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The column names of X, or the feature numbers of the file."""
        first = self.first_index
        return self.feature_names or tuple(f"f{number}" for number in range(first, first + self.n_features))


# Item rows ------------------------------------------------------------------------------------------------------------
#
# Rows of items of a table, and the information that depends on all rows.


@dataclass(frozen=True)
class Rows:
    """Some rows of a file: an array for each column, or None; `labels` names those of labels."""

    labels: ClassVar[tuple[str, ...]] = ()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that the file has."""
        named = {column.name: getattr(self, column.name) for column in fields(self)}
        return {name: column for name, column in named.items() if column is not None}

    def part(self, start: int, stop: int, *, copy: bool = True) -> Self:
        """Return the rows from `start` to before `stop`. Time and memory O(size of the part)."""
        parts = {name: column[start:stop] for name, column in self.columns().items()}
        return replace(self, **{name: part.copy() if copy else part for name, part in parts.items()})

    def chosen(self, keep: NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        return replace(self, **{name: column[keep] for name, column in self.columns().items()})

    def joined(self, others: Sequence[Self], **ready: NDArray[Any]) -> Self:
        """Return these rows and those of others, with columns that are ready. Time and memory O(size)."""
        for name in self.columns().keys() - ready.keys() if others or ready else ():
            pieces = [getattr(piece, name) for piece in (self, *others)]
            ready[name] = join_labels(pieces) if name in self.labels else np.concatenate(pieces)
        return replace(self, **ready)


@dataclass(frozen=True)
class ItemRows(Rows):
    """Some rows of a table.

    Shapes: positions (m,), X (m, n_features), target (m,), qid, groups (m,), ids (m,), weight (m,).
    """

    labels = ("qid", "groups")

    positions: NDArray[np.int64]
    X: NDArray[Any]
    target: NDArray[Any] | None
    qid: NDArray[Any] | None
    ids: NDArray[np.object_] | None
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def query_labels(self) -> NDArray[Any] | None:
        """The queries."""
        return self.qid


EMPTY_ID = "the cell is empty: expected an id"


@dataclass
class TableReader:
    """The reading of one table: `rows` of each block, and `items` when all blocks have been seen."""

    table: Table
    roles: Roles
    request: ColumnRequest
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    n_rows: int = 0
    strings: set[str] = field(default_factory=set)
    words: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    missing_target: int | None = None
    in_words: bool = False
    may_lack: bool = False
    """Whether a feature may be missing, which is NaN then."""

    @classmethod
    def opened(cls, table: Table, request: ColumnRequest) -> Self:
        """Look at the first rows for the roles of the columns; a table without rows is an error."""
        first = table.first_block()
        if first is None:
            raise table.error("the file has no rows, only the names of columns")
        roles = RoleSearch(table, first, request).roles()
        target = roles.target
        in_words = target is not None and (request.pos_label is not None or first.holds_text(target))
        reader = cls(table, roles, request, in_words=in_words)
        reader.choose()
        return reader

    def choose(self) -> None:
        """Let the table read the columns that have a role."""
        others = (self.roles.weight, None if self.in_words else self.roles.target)
        numbers = {*self.roles.features, *(column for column in others if column is not None)}
        self.table.choose(self.roles.columns, numbers=numbers)

    def read(self) -> Iterator[ItemRows]:
        """Read all rows, and take note of what decides how they become items."""
        for block in self.table.blocks():
            rows = self._rows(block)
            self._note(rows)
            yield rows

    def read_all(self) -> ItemRows:
        """Read all rows at once."""
        first, *others = self.read()
        return first.joined(others)

    def _rows(self, block: TableBlock) -> ItemRows:
        roles = self.roles
        return ItemRows(
            positions=block.positions,
            X=self._features(block),
            target=self._target(block),
            qid=None if roles.query is None else block.labels(roles.query),
            ids=None if roles.id is None else self._ids(block, roles.id),
            weight=None if roles.weight is None else self._weight(block, roles.weight),
            groups=None if roles.groups is None else self._groups(block, roles.groups),
        )

    def _groups(self, block: TableBlock, column: int) -> NDArray[Any]:
        return block.words(column) if self.request.missing_groups else block.labels(column)

    def _features(self, block: TableBlock) -> NDArray[Any]:
        advice = "; leave the column out with exclude"
        return block.numbers(self.roles.features, missing=self.may_lack, advice=advice, dtype=self.dtype)

    def _target(self, block: TableBlock) -> NDArray[Any] | None:
        column = self.roles.target
        if column is None:
            return None
        target: NDArray[Any]
        if self.in_words:
            target = block.words(column)
            missing = np.array([is_missing(word) for word in target.tolist()])
        else:
            target = block.numbers([column], missing=not self.request.needs_target)[:, 0]
            missing = np.isnan(target)
        if missing.any():
            row = int(np.argmax(missing))
            if self.request.needs_target:
                raise block.error("the target is missing", row, column)
            self.missing_target = self.missing_target or int(block.positions[row])
        return target

    def _ids(self, block: TableBlock, column: int) -> NDArray[np.object_]:
        ids = block.words(column)
        if "" in ids:
            raise block.error(EMPTY_ID, int(np.argmax(ids == "")), column)
        return ids

    def _weight(self, block: TableBlock, column: int) -> NDArray[np.float64]:
        weight = block.numbers([column])[:, 0]
        if np.any(weight < 0):
            row = int(np.argmax(weight < 0))
            raise block.error(f"the weight {float(weight[row])!r} is negative: expected zero or more", row, column)
        return weight

    def _note(self, rows: ItemRows) -> None:
        self.n_rows += len(rows)
        for name in ItemRows.labels:
            labels = getattr(rows, name)
            if labels is not None and labels.dtype.kind != "i":
                self.strings.add(name)
        if self.in_words and rows.target is not None:
            for word, place in zip(rows.target.tolist(), rows.positions.tolist(), strict=True):
                if not is_missing(word):
                    self.words.setdefault(word, place)
                    self.counts[word] += 1

    def items(self, rows: ItemRows) -> Items:
        """Turn rows into items, all alike whichever rows they are."""
        check_ids(self.table, rows, self.roles.id)
        notes = [*self.table.notes, *self.roles.notes]
        y, classes = rows.target, None
        if self.missing_target is not None:
            place = self.table.place_in_words(self.missing_target)
            notes.append(f"the target was left out: it is missing in {place}")
            y = None
        elif self.in_words and y is not None and self.roles.target is not None:
            pos_label, guess = self.request.pos_label, self.request.guess_positive
            classes = Classes.of(
                self.words, self.counts, self.table, self.roles.target, pos_label=pos_label, guess=guess
            )
            notes.append(classes.note)
            y = classes.targets(y)
        labels = {name: getattr(rows, name) for name in ItemRows.labels}
        labels |= {name: labels_as_strings(labels[name]) for name in self.strings}
        return Items(
            X=rows.X,
            y=y,
            ids=rows.ids,
            weight=rows.weight,
            feature_names=tuple(self.table.names[column] for column in self.roles.features),
            path=self.table.path,
            notes=tuple(notes),
            places=self._places(rows) if self.request.missing_groups else (),
            classes=None if classes is None else classes.names,
            positive_reason=None if classes is None else classes.reason,
            **labels,
        )

    def _places(self, rows: ItemRows) -> tuple[str, ...]:
        return tuple(map(self.table.place_in_words, rows.positions.tolist()))


def check_ids(table: Table, rows: ItemRows, column: int | None) -> None:
    """Raise an error for an id that is missing, or occurs twice in a query. Time and memory O(m)."""
    if rows.ids is not None and "" in rows.ids:
        raise table.error(EMPTY_ID, int(rows.positions[np.argmax(rows.ids == "")]), column)
    pair = None if rows.ids is None else repeated(rows.ids, rows.qid)
    if pair is None or rows.ids is None:
        return
    first = table.place_in_words(int(rows.positions[pair[0]]))
    query = "" if rows.qid is None else f" in query {shown(rows.qid[pair[0]])}"
    message = (
        f"the id {shown(rows.ids[pair[0]])} occurs twice{query}, first in {first}: expected one item for each id; "
        "name the column of the ids, or give an empty name if there is none"
    )
    raise table.error(message, int(rows.positions[pair[1]]), column)


def repeated(ids: NDArray[np.object_], qid: NDArray[Any] | None) -> tuple[int, int] | None:
    """Return the first two rows of one query that have the same id, if there are such. Time and memory O(m)."""
    if len(set(ids.tolist())) == len(ids):
        return None
    codes = Queries.from_labels(qid, len(ids)).codes.tolist()
    first: dict[tuple[int, str], int] = {}
    for row, key in enumerate(zip(codes, ids.tolist(), strict=True)):
        earlier = first.setdefault(key, row)
        if earlier != row:
            return earlier, row
    return None


# Chunks ---------------------------------------------------------------------------------------------------------------
#
# A stream of rows is cut into chunks, optionally between queries only.


def check_chunk_rows(chunk_rows: int) -> None:
    """Raise an error if the chunk size is below 1."""
    if chunk_rows < 1:
        raise InvalidInputError(f"chunk_rows must be at least 1, got {chunk_rows}")


def cut(pieces: Iterable[Any], chunk_rows: int, whole_queries: bool) -> Iterator[Any]:
    """Cut a stream of rows into chunks. Time O(size): a row is joined to others a bounded number of times."""
    pending: list[Any] = []
    waiting, wanted = 0, chunk_rows
    for piece in itertools.chain(pieces, [None]):
        if piece is not None:
            pending.append(piece)
            waiting += len(piece)
            if waiting <= wanted:
                continue
        rows = pending[0].joined(pending[1:]) if pending else None
        if rows is None:
            return
        stops = _find_stops(rows, chunk_rows, whole_queries, last=piece is None)
        for start, stop in itertools.pairwise([0, *stops]):
            yield rows.part(start, stop)
        # What is left is copied when it is joined to what comes.
        rest = rows.part(stops[-1] if stops else 0, len(rows), copy=False)
        pending, waiting = [rest], len(rest)
        # A query larger than a chunk: look again when there is twice as much of it, lest time be quadratic.
        wanted = 2 * waiting if waiting > chunk_rows else chunk_rows


def _find_stops(rows: Any, chunk_rows: int, whole_queries: bool, *, last: bool) -> list[int]:
    """Return where the chunks end that are complete, whatever comes after these rows."""
    if whole_queries and rows.query_labels is not None:
        bounds = np.flatnonzero(rows.query_labels[1:] != rows.query_labels[:-1]) + 1
        bounds = np.append(bounds, len(rows)) if last else bounds
    else:
        bounds = np.arange(1, len(rows) + 1)
    stops: list[int] = []
    start = 0
    while start < len(rows) and (last or len(rows) - start > chunk_rows):
        place = int(np.searchsorted(bounds, start + chunk_rows, side="right"))
        fits = place > 0 and bounds[place - 1] > start
        if not fits and place == len(bounds):
            break
        start = int(bounds[place - 1] if fits else bounds[place])
        stops.append(start)
    return stops


def scattered_row(qids: NDArray[Any], seen: set[Any]) -> int | None:
    """Add the queries of a chunk to those seen; return the first row of one that was seen before, if there is one."""
    starts = np.concatenate([[0], np.flatnonzero(qids[1:] != qids[:-1]) + 1])
    for start, label in zip(starts.tolist(), qids[starts].tolist(), strict=True):
        if label in seen:
            return int(start)
        seen.add(label)
    return None


def scattered_message(label: object) -> str:
    """Return the error message for a query whose rows are not contiguous."""
    return f"the rows of query {shown(label)} are not contiguous, which whole_queries=True needs: sort them by query"


# Array builder --------------------------------------------------------------------------------------------------------
#
# An array that is built block by block, without a second copy of what is there already.


class ArrayBuilder:
    """A one-dimensional array to which blocks are appended; it grows by an eighth when it is full.

    Appending n values one block at a time takes O(n) time; the memory is at most 9/8 of the result (and the
    block), where joining the blocks at the end would take twice the result. Where the first block comes with its
    share of the whole, space for the whole is reserved at once.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def append(self, values: NDArray[Any], share: float | None = None) -> None:
        """Append values; `share`, from 0 to 1, is the fraction of all values that is then present."""
        size = self._size + len(values)
        if not self._size and share:
            # A little more than the first block suggests: memory that is reserved and never written to is not used.
            self._values = np.empty(max(size, int(size / share * (33 / 32))), dtype=self._values.dtype)
        elif size > len(self._values):
            self._values.resize(max(size, len(self._values) * 9 // 8), refcheck=False)
        self._values[self._size : size] = values
        self._size = size

    def finished(self) -> NDArray[Any]:
        """Return the array, cut to its size; nothing may be appended afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values
