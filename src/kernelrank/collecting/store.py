"""The table of votes: rows are added and never changed, in SQLite or PostgreSQL.

A vote is one transaction. SQLite runs in WAL mode with ``synchronous=FULL``, so that what is committed is on the disk.
An undone vote and a withdrawn judge are rows of their own. The id of a row is known before it is sent, so that a row
that arrives twice is kept once.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    True
    >>> store.append(VoteRow("1", "vote", judge, 0, 0, 1, "left"))
    False
    >>> store.export("csv").decode().splitlines()[1][:37]
    'tea,coffee,left,Ann,Which is better?,'
    """

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        self.is_postgresql = self.where.startswith(("postgresql://", "postgres://"))
        self._lock = threading.RLock()
        self._lost: tuple[type[Exception], ...] = ()
        self._connect()
        self._make_tables()

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
            self._connection = sqlite3.connect(
                self.where, isolation_level=None, check_same_thread=False, timeout=30.0, cached_statements=256
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error as error:
            raise FileFormatError(f"expected a file of votes or a new name for one; {error}", self.where) from None

    def _make_tables(self) -> None:
        key = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY" if self.is_postgresql else "INTEGER PRIMARY KEY"
        with self._transaction():
            for statement in STATEMENTS:
                self._run(statement.format(key=key))
            for name, query in VIEWS.items():
                make = "CREATE OR REPLACE VIEW" if self.is_postgresql else "CREATE VIEW IF NOT EXISTS"
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
        if self.is_postgresql:
            statement = statement.replace("?", "%s")
        return self._connection.execute(statement, values)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._run("BEGIN" if self.is_postgresql else "BEGIN IMMEDIATE")
            try:
                if self.is_postgresql:
                    self._run("SELECT pg_advisory_xact_lock(hashtext('kernelrank'))")
                yield
            except BaseException:
                with contextlib.suppress(*self._lost, sqlite3.Error):
                    self._run("ROLLBACK")
                raise
            self._run("COMMIT")

    def _again(self, work: Callable[[], T]) -> T:
        """Do some work, and once more with a new connection where the server of the database has closed it."""
        with self._lock:
            try:
                return work()
            except self._lost:
                self._connect()
                return work()

    # Votes

    def append(self, row: VoteRow) -> bool:
        """Add a row, and return once it is on the disk; return whether it is new."""
        statement = (
            f"INSERT INTO votes ({', '.join(VoteRow._fields)}) VALUES ({', '.join('?' * len(row))}) "
            "ON CONFLICT (id) DO NOTHING"
        )

        def add() -> bool:
            with self._transaction():
                added: int = self._run(statement, row).rowcount
            return added == 1

        return self._again(add)

    def rows(self, after: int = 0) -> list[tuple[int, VoteRow]]:
        """Return the rows after a number, each with its own number."""
        statement = f"SELECT number, {', '.join(VoteRow._fields)} FROM votes WHERE number > ? ORDER BY number"
        found = self._again(lambda: self._run(statement, (after,)).fetchall())
        return [(row[0], VoteRow(*row[1:])) for row in found]

    # Items, questions, judges, settings

    def add_items(self, items: Iterable[Item]) -> int:
        """Add the items whose names are new; return how many."""

        def add() -> int:
            with self._transaction():
                known = {row[0] for row in self._run("SELECT name FROM items").fetchall()}
                new = [item for item in {item.name: item for item in items}.values() if item.name not in known]
                for number, item in enumerate(new, start=len(known)):
                    self._run("INSERT INTO items VALUES (?, ?, ?, ?, ?)", (number, *item))
            return len(new)

        items = list(items)
        return self._again(add)

    def items(self) -> list[Item]:
        """Return the items in the order of their numbers."""
        rows = self._again(
            lambda: self._run("SELECT name, kind, content, category FROM items ORDER BY number").fetchall()
        )
        return [Item(*row) for row in rows]

    def ask(self, questions: Sequence[str]) -> None:
        """Fix the questions; those of a database that has votes must be the same."""
        with self._transaction():
            known = self.questions()
            if known and known != list(questions):
                raise InvalidInputError(
                    f"{self.shown_name}: expected the questions that votes were collected for, {known}; got "
                    f"{list(questions)}. Use another database for other questions."
                )
            for number, text in enumerate(questions[len(known) :]):
                self._run("INSERT INTO questions VALUES (?, ?)", (number, text))

    def questions(self) -> list[str]:
        """Return the questions."""
        found = self._again(lambda: self._run("SELECT text FROM questions ORDER BY number").fetchall())
        return [row[0] for row in found]

    def judge(self, secret: str, name: str) -> int:
        """Return the number of a judge, who is added if the secret is new; a name that is taken gets a number."""

        def find() -> int:
            with self._transaction():
                row = self._run("SELECT number FROM judges WHERE secret = ?", (secret,)).fetchone()
                if row is None:
                    names = {row[0] for row in self._run("SELECT name FROM judges").fetchall()}
                    number, wanted, twice = len(names), name or f"judge {len(names) + 1}", 2
                    free = wanted
                    while free in names:
                        free, twice = f"{wanted} ({twice})", twice + 1
                    self._run("INSERT INTO judges VALUES (?, ?, ?)", (number, secret, free))
                    return number
                return int(row[0])

        return self._again(find)

    def judges(self) -> list[tuple[str, str]]:
        """Return the secrets and the names of the judges in the order of their numbers."""
        found = self._again(lambda: self._run("SELECT secret, name FROM judges ORDER BY number").fetchall())
        return [(row[0], row[1]) for row in found]

    def setting(self, name: str, first: str) -> str:
        """Return a setting; the first value that was given for it stays."""

        def find() -> str:
            with self._transaction():
                self._run("INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, first))
                return str(self._run("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()[0])

        return self._again(find)

    def forget_setting(self, name: str) -> None:
        """Remove a setting, so that the next value that is given for it stays."""
        with self._transaction():
            self._run("DELETE FROM settings WHERE name = ?", (name,))

    @property
    def shown_name(self) -> str:
        """The name of the database for messages, without a password."""
        if not self.is_postgresql:
            return self.where
        start, _, end = self.where.rpartition("@")
        return f"{start.partition('://')[0]}://{end}" if start else self.where

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
        view = "vote_log" if everything else "counted_votes"

        def read() -> tuple[list[str], list[Any]]:
            cursor = self._run(f"SELECT * FROM {view}{' ORDER BY number' if everything else ' ORDER BY time'}")
            return [column[0] for column in cursor.description], cursor.fetchall()

        names, rows = self._again(read)
        if format == "parquet":
            return _parquet(names, rows)
        text = io.StringIO(newline="")
        if format == "csv":
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([_no_formula(name, value) for name, value in zip(names, row, strict=True)] for row in rows)
        else:
            for row in rows:
                text.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
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
