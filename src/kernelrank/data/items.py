"""Items of a file: features, targets, queries, ids, weights and groups, for every file format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.labels import Queries
from kernelrank.data.chunks import Rows
from kernelrank.data.columns import Classes, ColumnRequest, Roles, RoleSearch
from kernelrank.data.table import Table, TableBlock, is_missing
from kernelrank.data.text import labels_as_strings, shown

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
        Why this class is the target 1, where the classes have names: "as requested", "by its meaning" or "it sorts
        last".
    preparation : TablePreparation or None
        How the columns of the file became X, where `read_table` read it.
    filled : ndarray of bool, shape (m, n_features), or None
        Where a number is missing in the file and X has the median or mean of its column; None if none is.

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

    def __len__(self) -> int:
        return int(self.X.shape[0])

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
    missing_target: int | None = None
    in_words: bool = False

    @classmethod
    def opened(cls, table: Table, request: ColumnRequest) -> Self:
        """Look at the first rows for the roles of the columns; a table without rows is an error."""
        first = table.first_block()
        if first is None:
            raise table.error("the file has no rows, only the names of columns")
        roles = RoleSearch(table, first, request).roles()
        target = roles.target
        in_words = target is not None and (request.pos_label is not None or first.holds_text(target))
        others = (roles.weight, None if in_words else target)
        numbers = {*roles.features, *(column for column in others if column is not None)}
        table.choose(roles.columns, numbers=numbers)
        return cls(table, roles, request, in_words=in_words)

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
            groups=None if roles.groups is None else block.labels(roles.groups),
        )

    def _features(self, block: TableBlock) -> NDArray[Any]:
        return block.numbers(self.roles.features, advice="; leave the column out with exclude", dtype=self.dtype)

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
            raise block.error("the cell is empty: expected an id", int(np.argmax(ids == "")), column)
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
                if word not in self.words and not is_missing(word):
                    self.words[word] = place

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
            classes = Classes.of(self.words, self.table, self.roles.target, pos_label=pos_label, guess=guess)
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
            classes=None if classes is None else classes.names,
            positive_reason=None if classes is None else classes.reason,
            **labels,
        )


def check_ids(table: Table, rows: ItemRows, column: int | None) -> None:
    """Raise an error for an id that occurs twice in a query. Time and memory O(m)."""
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
