"""Roles: which column of a table is the target, the query, the id, and which are features.

A column is a feature if it is named as one. Unless features are named, each column is one that has no other role and
is not the index of a data frame. Features hold numbers: integers, floats, decimals and booleans. What becomes of a
column that holds none, `ColumnRequest.numbers_only` says: it is left out, or an error.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelrank.data.table import Table, TableBlock
from kernelrank.errors import InvalidInputError

__all__ = ["NAMES", "ColumnRequest", "Roles", "plain_name"]

# As the names are compared: small letters and digits alone, so that "Query ID", "query_id" and "queryId" are one.
NAMES = {
    "target": (
        "target",
        "label",
        "labels",
        "relevance",
        "rel",
        "relevancelabel",
        "y",
        "score",
        "grade",
        "outcome",
        "class",
        "diagnosis",
    ),
    "query": (
        "qid",
        "query",
        "queryid",
        "qids",
        "topic",
        "topicid",
    ),
    "id": (
        "id",
        "docid",
        "documentid",
        "itemid",
        "sampleid",
        "rowid",
        "indexlevel0",
        "sample",
        "name",
        "item",
        "document",
        "doc",
    ),
    "weight": (
        "sampleweight",
        "itemweight",
        "caseweight",
        "weights",
        "weight",
    ),
    "groups": (
        "group",
        "groups",
        "groupid",
        "patient",
        "patientid",
        "subject",
        "subjectid",
    ),
}
# Names that say so only in the first column, and only of text.
FIRST_COLUMN_IDS = {"", "sample", "name", "item", "document", "doc"}
SPOKEN = {
    "target": "the target is",
    "query": "the query is",
    "id": "the ids are",
    "weight": "the weights of the items are",
    "groups": "the groups are",
}


def plain_name(name: str) -> str:
    """Normalise a column name for the look-up in `NAMES`: lower case, without punctuation.

    Examples
    --------
    >>> plain_name("Query ID")
    'queryid'
    """
    if name.isascii() and name.isalnum():
        return name.lower()
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True)
class ColumnRequest:
    """The columns named by the user; None: guess from the names, an empty string: there is no such column.

    Parameters
    ----------
    target, query, id, weight, groups : str or None
        Names of columns.
    features : sequence of str, or None
        Names or patterns (``gene*``) of columns; ``!name`` leaves columns out. None: all that are left.
    exclude : sequence of str
        Names or patterns of columns that are no features.
    n_features : int or None
        How many features there must be.
    pos_label : str or None
        The class of the target that counts as 1.
    guess_positive : bool
        Whether that class is guessed from the words where it is not given.
    needs_target : bool
        Whether a file without a target is an error.
    numbers_only : bool
        Whether columns without numbers are left out; else they are an error, unless they have a role.
    """

    target: str | None = None
    query: str | None = None
    id: str | None = None
    weight: str | None = None
    groups: str | None = None
    features: Sequence[str] | None = None
    n_features: int | None = None
    pos_label: str | None = None
    needs_target: bool = True
    guess_positive: bool = False
    numbers_only: bool = False
    exclude: Sequence[str] = ()

    @classmethod
    def exactly(
        cls, target: str, query: str, *, features: Sequence[str] | None = None, n_features: int | None = None
    ) -> ColumnRequest:
        """Name the target and the query, and let no other column have a role; columns without numbers are left out."""
        return cls(target, query, "", "", "", features, n_features, numbers_only=True)


@dataclass(frozen=True)
class Roles:
    """The numbers of the columns that have a role, counted from zero.

    Parameters
    ----------
    target, query, id, weight, groups : int or None
    features : list of int
    notes : tuple of str
        What was guessed and what was left out, in words.
    """

    target: int | None
    query: int | None
    id: int | None
    weight: int | None
    groups: int | None
    features: list[int]
    notes: tuple[str, ...]

    @property
    def columns(self) -> set[int]:
        """All columns that have a role."""
        single = (self.target, self.query, self.id, self.weight, self.groups)
        return {*self.features, *(column for column in single if column is not None)}

    @classmethod
    def of(cls, table: Table, first: TableBlock, request: ColumnRequest) -> Roles:
        """Find the roles from the request, the names and the first rows. Time O(columns)."""
        return _RoleSearch(table, first, request).roles()


class _RoleSearch:
    """The search for the roles of one table."""

    def __init__(self, table: Table, first: TableBlock, request: ColumnRequest) -> None:
        self.table = table
        self.first = first
        self.request = request
        self.number_of = {name: column for column, name in enumerate(table.names)}
        self.plain = [plain_name(name) for name in table.names]
        listed = [request.features] if isinstance(request.features, str) else list(request.features or ())
        unwanted = [name[1:] for name in listed if name.startswith("!") and name not in self.number_of]
        unwanted += request.exclude
        self.wanted = [name for name in listed if not name.startswith("!") or name in self.number_of]
        self.left_out = {column for name in unwanted for column in self._matching(name)}
        # A column that is named as a feature is nothing else; one that a pattern matches may be.
        self.named_features = {self.number_of[name] for name in self.wanted if name in self.number_of}
        self.taken: dict[str, int | None] = {}
        self.notes: list[str] = []

    def roles(self) -> Roles:
        for role in NAMES:
            name = getattr(self.request, role)
            if name:
                self._take_requested(role, self.table.column(name, role))
            elif name == "":
                self.taken[role] = None
        for role in NAMES:
            if role not in self.taken:
                self.taken[role] = self._guess(role)
        if self.taken["target"] is None and self.request.needs_target:
            raise self.table.error(f"no column looks like the target: name it; {self.table.known_names()}")
        features = self._features()
        return Roles(**self.taken, features=features, notes=tuple(self.notes))

    def _take_requested(self, role: str, column: int) -> None:
        for other, taken in self.taken.items():
            # Groups may be the queries or the ids: then no split cuts a query.
            if taken == column and "groups" not in (role, other):
                raise InvalidInputError(f"column {self.table.names[column]!r} cannot be both {other} and {role}")
        self.taken[role] = column

    def _guess(self, role: str) -> int | None:
        taken = {*self.taken.values(), *self.named_features, *self.left_out}
        known = frozenset(NAMES[role])
        free = [column for column, name in enumerate(self.plain) if name in known and column not in taken]
        if role == "id":
            free = self._likely_ids(free)
        if role == "weight":
            free = self._likely_weights(free)
        if len(free) > 1:
            if role == "target" and not self.request.needs_target and self.named_features:
                return None
            names = " and ".join(repr(self.table.names[column]) for column in free)
            raise self.table.error(f"{names} could each be the {role}: name the right one")
        if not free:
            return None
        name = self.table.names[free[0]]
        self.notes.append(
            f"{SPOKEN[role]} column {name!r}" if name else "the ids are the first column, which has no name"
        )
        return free[0]

    def _likely_ids(self, free: list[int]) -> list[int]:
        sure = [column for column in free if self.plain[column] not in FIRST_COLUMN_IDS]
        if sure or 0 in self.taken.values():
            return sure
        if not self.table.names[0]:
            return [0]
        return [0] if self.plain[0] in FIRST_COLUMN_IDS and self.first.holds_text(0) else []

    def _likely_weights(self, free: list[int]) -> list[int]:
        """Leave out a plain "weight" where there are no queries: it is as likely to be measured in kilograms."""
        bare = [column for column in free if self.plain[column] == "weight"]
        if bare and self.taken["query"] is None:
            name = self.table.names[bare[0]]
            self.notes.append(f"column {name!r} is used as a feature: name it as the weights if it holds item weights")
            return [column for column in free if column not in bare]
        return free

    def _matching(self, pattern: str) -> list[int]:
        if pattern in self.number_of:
            return [self.number_of[pattern]]
        found = [column for column, name in enumerate(self.table.names) if fnmatch.fnmatchcase(name, pattern)]
        return found if found else [self.table.column(pattern, "features")]

    def _features(self) -> list[int]:
        roles = {column: role for role, column in self.taken.items() if column is not None}
        for column in self.named_features:
            if column in roles:
                name = self.table.names[column]
                raise InvalidInputError(f"column {name!r} cannot be both {roles[column]} and a feature")
        wanted = dict.fromkeys(column for name in self.wanted for column in self._matching(name))
        columns = wanted if self.wanted else self._unnamed()
        features = [column for column in columns if column not in roles and column not in self.left_out]
        self._note_absent({*roles, *features})
        if not features:
            used = "".join(f"; {self.table.names[column]!r} is the {role}" for column, role in roles.items())
            raise self.table.error(f"no column is left for the features: expected at least one{used}")
        if self.request.n_features not in (None, len(features)):
            raise self.table.error(
                f"expected {self.request.n_features} feature columns; got {len(features)}: "
                f"{self.table.named(features)}. Remove the columns that are not features, or name them."
            )
        return features

    def _unnamed(self) -> list[int]:
        """Return the columns that may be features by default."""
        return [
            column
            for column in range(len(self.table.names))
            if column not in self.table.index_columns
            and (not self.request.numbers_only or self.first.holds_numbers(column))
        ]

    def _note_absent(self, used: set[int]) -> None:
        absent = [name for column, name in enumerate(self.table.names) if column not in used]
        if absent:
            shown = ", ".join(repr(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
            self.notes.append(f"left out: {len(absent)} column{'s' * (len(absent) > 1)} ({shown})")
