"""An answer: the same facts as tables for people and as JSON for programs."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kernelrank.base.text import escaped_json, printable
from kernelrank.cli.console import console, remark

__all__ = ["Answer", "plain"]


def plain(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become null.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"mean": np.float64(0.5), "worst": float("nan"), "queries": np.array(["a"])})
    {'mean': 0.5, 'worst': None, 'queries': ['a']}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


class Answer:
    """What a command found.

    Parameters
    ----------
    command : str
        Its name.
    as_json : bool
        Whether to speak JSON, and nothing else, on standard output.
    quiet : bool, default=False
        Whether standard output is the data itself, so that the answer goes to standard error.

    Examples
    --------
    >>> answer = Answer("count", as_json=True)
    >>> answer.fact("items", 3)
    >>> answer.show()
    {
      "command": "count",
      "items": 3,
      "notes": []
    }
    """

    def __init__(self, command: str, *, as_json: bool, quiet: bool = False) -> None:
        self.facts: dict[str, Any] = {"command": command}
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []
        self._parts: list[tuple[str, Any, bool]] = []

    def fact(self, name: str, value: object) -> None:
        """Add a value to the JSON output."""
        self.facts[name] = value

    def line(self, text: str, style: str = "") -> None:
        """Add a sentence to the text output; JSON output leaves it out."""
        if not self.as_json:
            self._add("text", _text(text, style))

    def _add(self, kind: str, part: object) -> None:
        """Add a part, with a blank line between texts, titles and tables."""
        before = self._parts[-1][0] if self._parts else None
        apart = before == "table" or (before == "text" and kind != "text")
        self._parts.append((kind, part, apart))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table to the text output: a column of text, then columns of numbers or of words.

        Columns without names make a sheet of facts.
        """
        if self.as_json:
            return
        if title:
            # A line of its own, which a narrow table does not fold.
            self._add("title", _text(title, "bold"))
        self._add("table", _table(columns, rows) if any(columns) else _sheet(rows))

    def note(self, text: str) -> None:
        """Add a note: printed to standard error at once, or listed in the JSON output."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.as_json:
            remark(text)

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Turn the warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if not issubclass(warning.category, (DeprecationWarning, FutureWarning, ResourceWarning)):
                self.note(str(warning.message))

    def show(self) -> None:
        """Write the answer."""
        from kernelrank.persistence.atomic import naming

        with naming("standard error" if self.quiet else "standard output"):
            self._write()

    def _write(self) -> None:
        if self.as_json:
            stream = sys.stderr if self.quiet else sys.stdout
            if stream is None:
                return
            # JSON has an ASCII form of every character, for streams that know few.
            unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
            facts = plain({**self.facts, "notes": self.notes})
            text = json.dumps(facts, indent=2, ensure_ascii=not unicode, allow_nan=False)
            stream.write(escaped_json(text) + "\n")
            stream.flush()
            return
        place = console(error=self.quiet)
        for _, part, apart in self._parts:
            if apart:
                place.print()
            place.print(part)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """Draw a table with a line under its header."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for number, column in enumerate(columns):
        right = number > 0 and all(_is_number(row[number]) for row in rows)
        drawn.add_column(_text(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*map(_text, row))
    return drawn


def _sheet(rows: Sequence[Sequence[str]]) -> Any:
    """Draw names with their values, without a header."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 3))
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in rows:
        drawn.add_row(*map(_text, row))
    return drawn


def _text(text: str, style: str = "") -> Any:
    from rich.text import Text

    return Text(printable(text), style=style)


def _is_number(text: str) -> bool:
    return not text[:1].isalpha()
