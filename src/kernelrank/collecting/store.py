"""The table of votes: rows are added and never changed, in SQLite or PostgreSQL.

A vote is one transaction. SQLite runs in WAL mode with ``synchronous=FULL``, so that what is committed is on the disk.
An undone vote and a withdrawn judge are rows of their own. The id of a row is known before it is sent, so that a row
that arrives twice is kept once.

The same statements run on both, by the driver of each: they differ in the mark of a parameter, the key of a table and
the word that begins a transaction, which is less than a toolkit for both would need.

PostgreSQL numbers rows before they are committed. A lock for the time of a transaction keeps the numbers in the order
of the commits, so that a server that reads from a number on misses no row.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from kernelrank.errors import FileFormatError, InvalidInputError, MissingExtraError

ANSWERS = ("left", "right", "tie", "cannot say")
FORMATS = ("csv", "jsonl", "parquet")
T = TypeVar("T")


class Item(NamedTuple):
    """What judges compare: a text, or a file of the folder of items.

    Parameters
    ----------
    name : str
        Its name on the leaderboard; judges do not see it.
    kind : {"text", "image", "audio", "video"}
    content : str
        The text, or the path of the file in the folder.
    category : str
        Only items of one category are compared.
    """

    name: str
    kind: str
    content: str
    category: str = ""


class VoteRow(NamedTuple):
    """One row of the table.

    ``kind`` is ``vote``, ``undo`` (of the vote `target`) or ``withdrawal`` (of all votes of a judge). ``repeated`` is 1
    where the judge had compared the two items before.
    """

    id: str
    kind: str
    judge: int
    question: int = 0
    left_item: int = 0
    right_item: int = 0
    answer: str = ""
    repeated: int = 0
    target: str = ""
    comment: str = ""
    milliseconds: int = 0
    time: str = ""


STATEMENTS = (
    "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS items (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, "
    "content TEXT NOT NULL, category TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS questions (number INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL)",
    "CREATE TABLE IF NOT EXISTS judges (number INTEGER PRIMARY KEY, secret TEXT UNIQUE NOT NULL, name TEXT UNIQUE NOT "
    "NULL)",
    "CREATE TABLE IF NOT EXISTS votes (number {key}, id TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, judge INTEGER NOT "
    "NULL, question INTEGER NOT NULL, left_item INTEGER NOT NULL, right_item INTEGER NOT NULL, answer TEXT NOT NULL, "
    "repeated INTEGER NOT NULL, target TEXT NOT NULL, comment TEXT NOT NULL, milliseconds INTEGER NOT NULL, time TEXT "
    "NOT NULL)",
    "CREATE INDEX IF NOT EXISTS votes_by_target ON votes (target) WHERE target <> ''",
    "CREATE INDEX IF NOT EXISTS withdrawals ON votes (judge) WHERE kind = 'withdrawal'",
)
VIEWS = {
    "vote_log": """
SELECT votes.number, votes.kind, "left".name AS "left", "right".name AS "right", votes.answer AS winner,
    judges.name AS judge, questions.text AS question, "left".category AS category, votes.repeated,
    CASE WHEN votes.kind = 'vote'
        AND NOT EXISTS (SELECT 1 FROM votes AS undone WHERE undone.target = votes.id AND undone.target <> '')
        AND NOT EXISTS (SELECT 1 FROM votes AS gone WHERE gone.judge = votes.judge AND gone.kind = 'withdrawal')
        THEN 1 ELSE 0 END AS valid,
    votes.comment, votes.milliseconds, votes.time, votes.id, votes.target
FROM votes JOIN judges ON judges.number = votes.judge JOIN questions ON questions.number = votes.question
    LEFT JOIN items AS "left" ON "left".number = votes.left_item AND votes.kind = 'vote'
    LEFT JOIN items AS "right" ON "right".number = votes.right_item AND votes.kind = 'vote'""",
    "counted_votes": """
SELECT "left", "right", winner, judge, question, category, comment, milliseconds, time
FROM vote_log WHERE valid = 1 AND repeated = 0 AND winner <> 'cannot say'""",
}
"""What people read: every row with its names, and the votes that count for a leaderboard."""


class VoteStore:
    """A database of items, judges and votes.

    Parameters
    ----------
    where : str or path
        A file of SQLite, which is made if there is none, or ``postgresql://user:password@host/database``.

    Examples
    --------
    >>> store = VoteStore(":memory:")
    >>> store.add_items([Item("tea", "text", "Tea"), Item("coffee", "text", "Coffee")])
    2
    >>> store.ask(["Which is better?"])
    >>> judge = store.judge("a secret", "Ann")
    >>> store.append(VoteRow("1", "vote", judge, 0, 0, 1, "left"))
    1
    >>> store.append(VoteRow("1", "vote", judge, 0, 0, 1, "left"))
    0
    >>> store.export("csv").decode().splitlines()[1][:37]
    'tea,coffee,left,Ann,Which is better?,'
    """

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        self.is_postgresql = self.where.startswith(("postgresql://", "postgres://"))
        self._lock = threading.RLock()
        self._lost: tuple[type[Exception], ...] = ()
        self._connect()
        self._write(self._make_tables)

    def _connect(self) -> None:
        if self.is_postgresql:
            try:
                import psycopg
            except ImportError:
                raise MissingExtraError("psycopg", "postgresql") from None
            self._lost = (psycopg.OperationalError, psycopg.InterfaceError)
            try:
                self._connection: Any = psycopg.connect(self.where, autocommit=True, connect_timeout=10)
            except psycopg.OperationalError as error:
                reason = " ".join(str(error).split())  # which has no password in it
                raise InvalidInputError(
                    f"Expected a PostgreSQL server at the address of --database; {reason}"
                ) from None
            return
        try:
            self._connection = sqlite3.connect(self.where, isolation_level=None, check_same_thread=False, timeout=30.0)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error as error:
            raise FileFormatError(f"expected a file of votes or a new name for one; {error}", self.where) from None

    def _make_tables(self) -> None:
        key = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY" if self.is_postgresql else "INTEGER PRIMARY KEY"
        make = "CREATE OR REPLACE VIEW" if self.is_postgresql else "CREATE VIEW IF NOT EXISTS"
        for statement in STATEMENTS:
            self._run(statement.format(key=key))
        for name, query in VIEWS.items():
            self._run(f"{make} {name} AS {query}")

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self._connection.execute(statement.replace("?", "%s") if self.is_postgresql else statement, values)

    def _again(self, work: Callable[[], T]) -> T:
        """Do some work, and once more with a new connection where the server of the database has closed it."""
        with self._lock:
            try:
                return work()
            except self._lost:
                self._connect()
                return work()

    def _read(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._again(lambda: list(self._run(statement, values).fetchall()))

    def _write(self, work: Callable[[], T]) -> T:
        """Do some work in one transaction, and return once it is on the disk."""

        def transaction() -> T:
            self._run("BEGIN" if self.is_postgresql else "BEGIN IMMEDIATE")
            try:
                if self.is_postgresql:
                    self._run("SELECT pg_advisory_xact_lock(hashtext('kernelrank'))")
                found = work()
                self._run("COMMIT")
            except BaseException:
                with contextlib.suppress(*self._lost, sqlite3.Error):
                    self._run("ROLLBACK")
                raise
            return found

        return self._again(transaction)

    # Votes

    def append(self, *rows: VoteRow) -> int:
        """Add rows, and return once they are on the disk; return how many are new."""
        statement = (
            f"INSERT INTO votes ({', '.join(VoteRow._fields)}) VALUES ({', '.join('?' * len(VoteRow._fields))}) "
            "ON CONFLICT (id) DO NOTHING"
        )
        return self._write(lambda: sum(int(self._run(statement, row).rowcount) for row in rows))

    def rows(self, after: int = 0) -> list[tuple[int, VoteRow]]:
        """Return the rows after a number, each with its own number."""
        statement = f"SELECT number, {', '.join(VoteRow._fields)} FROM votes WHERE number > ? ORDER BY number"
        return [(row[0], VoteRow(*row[1:])) for row in self._read(statement, (after,))]

    # Items, questions, judges, settings

    def add_items(self, items: Iterable[Item]) -> int:
        """Add the items whose names are new; return how many."""
        by_name = {item.name: item for item in items}

        def add() -> int:
            known = {row[0] for row in self._run("SELECT name FROM items").fetchall()}
            new = [item for name, item in by_name.items() if name not in known]
            for number, item in enumerate(new, start=len(known)):
                self._run("INSERT INTO items VALUES (?, ?, ?, ?, ?)", (number, *item))
            return len(new)

        return self._write(add)

    def items(self) -> list[Item]:
        """Return the items in the order of their numbers."""
        return [Item(*row) for row in self._read("SELECT name, kind, content, category FROM items ORDER BY number")]

    def ask(self, questions: Sequence[str]) -> None:
        """Fix the questions; those of a database that has votes must be the same."""

        def fix() -> None:
            known = self.questions()
            if known and known != list(questions):
                raise InvalidInputError(
                    f"{self.shown_name}: expected the questions that votes were collected for, {known}; got "
                    f"{list(questions)}. Use another database for other questions."
                )
            for number, text in enumerate(questions[len(known) :]):
                self._run("INSERT INTO questions VALUES (?, ?)", (number, text))

        self._write(fix)

    def questions(self) -> list[str]:
        """Return the questions."""
        return [row[0] for row in self._read("SELECT text FROM questions ORDER BY number")]

    def judge(self, secret: str, name: str) -> int:
        """Return the number of a judge, who is added if the secret is new; a name that is taken gets a number."""

        def find() -> int:
            for row in self._run("SELECT number FROM judges WHERE secret = ?", (secret,)).fetchall():
                return int(row[0])
            names = {row[0] for row in self._run("SELECT name FROM judges").fetchall()}
            wanted, twice = name or f"judge {len(names) + 1}", 2
            free = wanted
            while free in names:
                free, twice = f"{wanted} ({twice})", twice + 1
            self._run("INSERT INTO judges VALUES (?, ?, ?)", (len(names), secret, free))
            return len(names)

        return self._write(find)

    def judges(self) -> list[tuple[str, str]]:
        """Return the secrets and the names of the judges in the order of their numbers."""
        return [(row[0], row[1]) for row in self._read("SELECT secret, name FROM judges ORDER BY number")]

    def setting(self, name: str, first: str) -> str:
        """Return a setting; the first value that was given for it stays."""

        def find() -> str:
            self._run("INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, first))
            return str(self._run("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()[0])

        return self._write(find)

    def forget_setting(self, name: str) -> None:
        """Remove a setting, so that the next value that is given for it stays."""
        self._write(lambda: self._run("DELETE FROM settings WHERE name = ?", (name,)))

    @property
    def shown_name(self) -> str:
        """The name of the database for messages, without a password."""
        kind, separator, rest = self.where.partition("://")
        return f"{kind}://{rest.rpartition('@')[2]}" if separator and self.is_postgresql else self.where

    # Export

    def export(self, format: str = "csv", *, everything: bool = False) -> bytes:
        """Return the votes as a file.

        Parameters
        ----------
        format : {"csv", "jsonl", "parquet"}
        everything : bool, default=False
            Whether to return all rows, those of undone votes, repeated pairs and "cannot say" too, rather than the
            votes that count for a leaderboard.

        Notes
        -----
        In CSV, a comment or a name that a spreadsheet would execute as a formula gets an apostrophe in front.
        """
        if format not in FORMATS:
            raise InvalidInputError(f"Expected one of the formats {', '.join(FORMATS)}; got {format!r}.")
        query = "SELECT * FROM vote_log ORDER BY number" if everything else "SELECT * FROM counted_votes ORDER BY time"

        def read() -> tuple[list[str], list[Any]]:
            cursor = self._run(query)
            return [column[0] for column in cursor.description], list(cursor.fetchall())

        names, rows = self._again(read)
        if format == "parquet":
            return _parquet(names, rows)
        if format == "jsonl":
            lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
            return "".join(lines).encode()
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_no_formula(name, value) for name, value in zip(names, row, strict=True)] for row in rows)
        return text.getvalue().encode()


def _no_formula(name: str, value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; names of items are the owner's and stay."""
    if name in ("comment", "judge") and isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def _parquet(names: list[str], rows: list[Any]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "data") from None
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table({name: list(column) for name, column in zip(names, columns, strict=True)}), sink)
    return bytes(sink.getvalue())
