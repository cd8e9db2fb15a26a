"""Columns of a table of votes: who won against whom, or which item was on which side and which side won.

A table has one of two layouts. In one, a column has the winners and another the losers. In the other, an arena log, two
columns have the items that were compared, such as ``model_a`` and ``model_b``, and a third says which of them won; or
the columns ``winner_model_a``, ``winner_model_b`` and ``winner_tie`` mark the winner by a 1. The columns are those that
the caller names, or whose names are in `NAMES`; two columns are a pair of sides if their names differ by two words of
`SIDES` alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal

from kernelrank.data.columns import plain_name
from kernelrank.data.table import Table

__all__ = ["NAMES", "SIDES", "VoteColumns", "VoteRequest", "marked_sides", "side_initials"]

JUDGES = (
    "judge", "worker", "annotator", "rater", "voter", "assessor", "reviewer", "evaluator", "participant", "respondent",
    "labeler", "labeller", "user", "person", "expert", "referee",
)  # fmt: skip
# As the names are compared: small letters and digits alone, so that "Winner ID", "winner_id" and "winnerId" are one.
NAMES = {
    "winner": ("winner", "winnerid", "winnername", "preferred", "better", "chosen"),
    "loser": ("loser", "loserid", "losername", "dispreferred", "worse", "rejected"),
    "outcome": (
        "outcome",
        "result",
        "vote",
        "choice",
        "preference",
        "verdict",
        "judgement",
        "judgment",
        "decision",
        "ftr",
    ),
    "tie": ("tie", "tied", "istie", "draw", "drawn", "isdraw"),
    "weight": ("weight", "weights", "count", "counts", "multiplicity", "frequency", "votes", "nvotes"),
    "judge": tuple(f"{judge}{end}" for judge in JUDGES for end in ("", "id", "name")),
    "magnitude": ("magnitude", "margin"),
}
SIDES = (
    ("left", "right"), ("a", "b"), ("x", "y"), ("1", "2"), ("first", "second"), ("one", "two"), ("home", "away"),
    ("white", "black"), ("red", "blue"),
)  # fmt: skip
"""Words for the two sides, in the names of columns and in the column that says who won."""
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
Role = Literal["winner", "loser", "left", "right", "tie", "weight", "judge", "magnitude"]
OPTIONAL: tuple[Role, ...] = ("tie", "weight", "judge", "magnitude")


@dataclass(frozen=True)
class VoteRequest:
    """What the user said about the columns; None leaves it to the names, an empty string says that there is none.

    Parameters
    ----------
    winner, loser, left, right, tie, weight, judge, magnitude : str or None
        Names of columns.
    """

    winner: str | None = None
    loser: str | None = None
    left: str | None = None
    right: str | None = None
    tie: str | None = None
    weight: str | None = None
    judge: str | None = None
    magnitude: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The columns that have a name, by their roles."""
        return {role.name: name for role in fields(self) if (name := getattr(self, role.name))}


@dataclass(frozen=True)
class VoteColumns:
    """The numbers of the columns, counted from zero.

    Parameters
    ----------
    winner : int
        The winners, or in an arena log the column that says which side won.
    loser : int or None
        The losers; None in an arena log.
    sides : list of (int, int)
        In an arena log, the pairs of columns that may hold the items; the first is the likeliest by name.
    marks : tuple of int
        In an arena log without a column that says who won: the columns that mark the left and the right item as the
        winner, and a tie, if there is such a column. `winner` is then the first of them.
    tie, weight, judge, magnitude : int or None
    """

    winner: int
    loser: int | None
    sides: tuple[tuple[int, int], ...]
    marks: tuple[int, ...]
    tie: int | None
    weight: int | None
    judge: int | None
    magnitude: int | None

    @classmethod
    def of(cls, table: Table, request: VoteRequest) -> VoteColumns:
        """Find the columns from the request and the names.

        Raises
        ------
        FileFormatError
            Where a column is not there, or may be one of several.
        """
        return _ColumnSearch(table, request).columns()

    @staticmethod
    def known_by(names: tuple[str, ...]) -> bool:
        """Return whether these are names of columns, by which each layout can be told.

        Examples
        --------
        >>> VoteColumns.known_by(("winner", "loser", "judge")), VoteColumns.known_by(("left", "right", "winner"))
        (True, True)
        >>> VoteColumns.known_by(("tea", "coffee"))
        False
        """
        if marked_sides(names) is not None:
            return True
        plain = [plain_name(name) for name in names]
        won = any(name in NAMES["winner"] for name in plain)
        said = won or any(name in NAMES["outcome"] for name in plain)
        return (won and any(name in NAMES["loser"] for name in plain)) or (said and bool(side_pairs(names)))


def side_pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the pairs of columns whose names differ by the words for two sides; bare words first.

    Examples
    --------
    >>> side_pairs(("id", "model_a", "model_b", "left", "right"))
    [(3, 4), (1, 2)]
    """
    parts = [_words(name) for name in names]
    column_of = {name: column for column, name in reversed(list(enumerate(parts)))}
    found = []
    for first, words in enumerate(parts):
        for place, word in enumerate(words):
            for left, right in SIDES:
                second = column_of.get((*words[:place], right, *words[place + 1 :])) if word == left else None
                if second is not None:
                    found.append((first, second))
    return sorted(found, key=lambda pair: len(parts[pair[0]]) > 1)


def marked_sides(names: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, ...]] | None:
    """Return two columns of items and the columns that mark the winner: of each of the two, and of a tie, if any.

    Examples
    --------
    >>> marked_sides(("model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"))
    ((0, 1), (2, 3, 4))
    """
    column_of = {_words(name): column for column, name in reversed(list(enumerate(names)))}
    for pair in side_pairs(names):
        marks = [column_of.get(("winner", *_words(names[column]))) for column in pair]
        if None not in marks:
            return pair, tuple(mark for mark in (*marks, column_of.get(("winner", "tie"))) if mark is not None)
    return None


def side_initials(sides: tuple[str, str]) -> dict[str, int]:
    """Return the initials of the words for the two sides in the names of their columns, and d for a draw.

    Examples
    --------
    >>> side_initials(("HomeTeam", "AwayTeam")), side_initials(("model_a", "model_b"))
    ({'h': 1, 'a': -1, 'd': 0}, {})
    """
    first, second = (_words(name) for name in sides)
    for left, right in SIDES:
        if len(left) > 1 and left in first and right in second:
            return {left[0]: 1, right[0]: -1, "d": 0}
    return {}


def _words(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in PARTS.findall(name))


class _ColumnSearch:
    """The search for the columns of one table."""

    def __init__(self, table: Table, request: VoteRequest) -> None:
        self.table = table
        self.request = request
        self.number_of = {name: column for column, name in enumerate(table.names)}
        self.plain = [plain_name(name) for name in table.names]
        self.taken = {role: self.table.column(name, role) for role, name in request.named.items()}
        for role, column in self.taken.items():
            twice = next((other for other, taken in self.taken.items() if taken == column and other != role), None)
            if twice is not None:
                raise table.error(f"column {table.names[column]!r} cannot be both {role} and {twice}")

    def columns(self) -> VoteColumns:
        if "loser" in self.taken and ("left" in self.taken or "right" in self.taken):
            raise self.table.error(
                "give either winner= and loser=, or left=, right= and winner=; got loser= with left= or right="
            )
        if ("left" in self.taken) != ("right" in self.taken):
            raise self.table.error("left= and right= name the columns of the two items: give both")
        optional = {role: self._optional(role) for role in OPTIONAL}
        loser = None
        if "left" not in self.taken and self.request.loser != "":
            loser = self._guessed("loser", NAMES["loser"])
        if loser is not None:
            return VoteColumns(self._winner(), loser, (), (), **optional)
        said = "left" in self.taken or self._guessed("winner", NAMES["winner"]) is not None
        marked = None if said else marked_sides(self.table.names)
        if marked is not None:
            pair, marks = marked
            return VoteColumns(marks[0], None, (pair,), marks, **optional)
        sides = self._sides()
        return VoteColumns(self._winner(NAMES["outcome"]), None, sides, (), **optional)

    def _sides(self) -> tuple[tuple[int, int], ...]:
        if "left" in self.taken:
            return ((self.taken["left"], self.taken["right"]),)
        taken = set(self.taken.values())
        found = tuple(pair for pair in side_pairs(self.table.names) if taken.isdisjoint(pair))
        if not found:
            message = (
                "no columns look like winner and loser, or like two sides such as left and right: name them with "
                "winner= and loser=, or with left=, right= and winner="
            )
            raise self.table.error(
                f"{message}, or write a first line such as 'winner,loser'; {self.table.known_names()}"
            )
        return found

    def _winner(self, others: tuple[str, ...] = ()) -> int:
        column = self._guessed("winner", NAMES["winner"])
        column = self._guessed("winner", others) if column is None else column
        if column is None:
            raise self.table.error(f"no column looks like the winner: name it with winner=; {self.table.known_names()}")
        return column

    def _optional(self, role: Role) -> int | None:
        return None if getattr(self.request, role) == "" else self._guessed(role, NAMES[role])

    def _guessed(self, role: str, names: tuple[str, ...]) -> int | None:
        if role in self.taken:
            return self.taken[role]
        taken = self.taken.values()
        free = [column for column, name in enumerate(self.plain) if name in names and column not in taken]
        if len(free) > 1:
            found = " and ".join(repr(self.table.names[column]) for column in free)
            raise self.table.error(f"{found} could each be the {role}: name the right one with {role}=")
        return free[0] if free else None
