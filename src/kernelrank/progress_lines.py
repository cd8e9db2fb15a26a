"""Progress as lines on standard error, for notebooks and log files."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from kernelrank.base.text import printable

__all__ = ["ProgressLines", "duration", "write_line"]

FIRST = 1.0
"""Seconds before the first line of a row."""

GROWTH = 0.1
"""A line is written after this part of the time since the first one: an hour has some sixty lines, not thousands."""


class ProgressLines:
    """Rows as lines, each written when enough time has passed; the same calls as those of the bars.

    Of rows inside rows the innermost is written, so that iterations say nothing while folds are counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[object] = []

    @contextmanager
    def row(self, description: str, total: int | None, noun: str | None) -> Iterator[Callable[[int], None]]:
        """Return the function that counts the steps of a row; without a noun nothing is counted.

        Parameters
        ----------
        description : str
        total : int or None
            How many steps there are, or None if unknown.
        noun : str or None
            What is counted.

        Yields
        ------
        callable
            Takes the number of steps that were done.
        """
        begin, done, row = time.monotonic(), 0, object()
        due = begin + FIRST

        def advance(steps: int) -> None:
            nonlocal done, due
            with self._lock:
                done += steps
                now = time.monotonic()
                if noun is None or now < due or self._rows[-1] is not row:
                    return
                due = now + max(FIRST, GROWTH * (now - begin))
            write_line(f"{description}: {_counted(done, total, noun, now - begin)}")

        if noun is not None:
            self._rows.append(row)
        try:
            yield advance
        finally:
            if noun is not None:
                self._rows.remove(row)


def _counted(done: int, total: int | None, noun: str, seconds: float) -> str:
    """Describe how much has been done, and how long the rest will take, or how long it took where that is unknown."""
    if total is None or not done:
        return f"{done:,} {noun}, {duration(seconds)}"
    return f"{done:,} of {total:,} {noun}, {duration(seconds * max(0, total - done) / done)} left"


def duration(seconds: float) -> str:
    """Write a number of seconds: with a decimal up to a minute, then as hours, minutes and seconds.

    Examples
    --------
    >>> duration(1.234), duration(75)
    ('1.2 s', '0:01:15')
    """
    return f"{seconds:.1f} s" if seconds < 60 else f"{timedelta(seconds=round(seconds))}"


def write_line(text: str) -> None:
    """Write one line to standard error, if there is one."""
    # Notebooks frame what comes by standard error in red, as if it were one.
    stream = sys.stdout if "ipykernel" in sys.modules else sys.stderr
    if stream is not None:
        print(printable(text), file=stream, flush=True)
