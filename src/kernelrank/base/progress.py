"""Progress: a bar on a terminal, nothing elsewhere; with `verbose=True`, lines elsewhere.

There is one display in a process, whoever asks for it. A step without an end in sight (`working`) shows a bar that
swings, and gives way to the bars of steps that are counted (`track`) inside it; these stand one below the other. So two
displays never draw over each other. Each bar is one line, however narrow the terminal, and leaves nothing behind.

Whatever runs inside `verbose_progress` is shown without a terminal too, as lines, and ends with
one line that says how long it took.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any, TypeVar

from kernelrank.base.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task, TaskID

# Progress lines -------------------------------------------------------------------------------------------------------
#
# Progress as lines on standard error, for notebooks and log files.

FIRST = 1.0  # seconds before the first line of a row
GROWTH = 0.1  # a line comes after this part of the time since the first one: an hour has some sixty, not thousands


class ProgressLines:
    """Rows as lines, each written when enough time has passed; the same calls as those of the bars.

    Of rows inside rows the innermost is written, so that iterations say nothing while folds are counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[object] = []

    @contextmanager
    def row(self, description: str, total: int | None, noun: str | None) -> Iterator[Callable[[int], None]]:
        """Return the function that counts the steps of a row; without a noun nothing is counted."""
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
    """Write a number of seconds: with a decimal up to a minute, then as hours, minutes and seconds."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{timedelta(seconds=round(seconds))}"


def write_line(text: str) -> None:
    """Write one line to standard error, if there is one."""
    # Notebooks frame what comes by standard error in red, as if it were one.
    stream = sys.stdout if "ipykernel" in sys.modules else sys.stderr
    if stream is not None:
        print(printable(text), file=stream, flush=True)


# Progress -------------------------------------------------------------------------------------------------------------

T = TypeVar("T")


def track(
    steps: Iterable[T],
    total: int | None,
    description: str,
    *,
    size: Callable[[T], int] | None = None,
    noun: str = "steps",
) -> Generator[T, None, None]:
    """Yield the steps, with a progress bar if standard error is a terminal and rich is installed.

    Where the steps are worked on by the caller, close this generator (`contextlib.closing`), so that the bar is gone
    when an error or Ctrl-C leaves the loop, and not when the garbage is collected.
    """
    display = _display()
    if (total is not None and total < 2) or display is None:
        yield from steps
        return
    with display.row(description, total, noun) as advance:
        for step in steps:
            yield step
            advance(1 if size is None else size(step))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a label and the elapsed time, until a progress bar inside replaces them."""
    display = _display()
    with nullcontext() if display is None else display.row(what, None, None):
        yield


@contextmanager
def verbose_progress(what: str) -> Iterator[None]:
    """Show the progress of the enclosed work (as lines without a terminal), and how long it took.

    Calls inside another one, and in processes that work for another, add nothing of their own.
    """
    if multiprocessing.parent_process() is not None or not _VERBOSE.begin():
        yield
        return
    begin = time.monotonic()
    try:
        display = _display()
        assert display is not None
        if display is _VERBOSE.lines:
            write_line(f"{what}: started")
        with display.row(what, None, "iterations") as _VERBOSE.advance:
            yield
        count = f"{_VERBOSE.n_iterations:,} iterations, " if _VERBOSE.n_iterations else ""
    finally:
        _VERBOSE.end()
    write_line(f"{what}: {count}{duration(time.monotonic() - begin)}")


def verbosely(function: Callable[..., T], arguments: dict[str, Any]) -> T:
    """Call a function again with its arguments, and show its progress."""
    with verbose_progress(function.__name__):
        return function(**{**arguments, "verbose": False})


def count_iteration() -> None:
    """Count an iteration of a solver, if `verbose_progress` shows them."""
    _VERBOSE.count()


def shown_on() -> Console | None:
    """Return the console that a bar is shown on now, which writes above it; None if there is no bar."""
    return _DISPLAY.console


def end_display() -> None:
    """Remove the progress display, so that an error message can be printed."""
    _DISPLAY.end()


def _display() -> _Display | ProgressLines | None:
    """Return where progress is shown: on a terminal, as lines if they were asked for, or nowhere."""
    return _DISPLAY if _can_draw() else _VERBOSE.lines if _VERBOSE.begun else None


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is open and a terminal; None (a stream closed before Python started) is not."""
    # What a progress bar puts in the place of a stream says that it is none.
    stream = getattr(stream, "rich_proxied_file", stream)
    return stream is not None and bool(stream.isatty())


def _can_draw() -> bool:
    """Whether someone looks: processes that work for another one leave the terminal to it."""
    if not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb" or multiprocessing.parent_process() is not None:
        return False
    try:
        import rich.console
        import rich.progress  # noqa: F401
    except ImportError:
        return False
    return True


class _Display:
    """The rows that are shown now; the display is there while there is one."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._rows: list[TaskID] = []
        self._lock = threading.RLock()

    @property
    def console(self) -> Console | None:
        return None if self._progress is None else self._progress.console

    @contextmanager
    def row(self, description: str, total: int | None, noun: str | None) -> Iterator[Callable[[int], None]]:
        """Show a row, and return the function that counts its steps; without a noun nothing is counted."""
        with self._lock:
            progress = self._progress
            if progress is None:
                progress = self._progress = _new_progress()
                progress.start()
            self._hide_waits()
            row = progress.add_task(printable(description), total=total, noun=noun)
            self._rows.append(row)
        try:
            yield lambda steps: progress.advance(row, steps)
        finally:
            self._remove(progress, row)

    def _hide_waits(self) -> None:
        """Hide the rows that count nothing, for one is about to show more."""
        assert self._progress is not None
        for row in self._progress.tasks:
            if row.fields["noun"] is None:
                row.visible = False

    def _remove(self, progress: Progress, row: TaskID) -> None:
        with self._lock:
            if progress is not self._progress:
                return  # the display has ended
            if len(self._rows) == 1:
                self.end()
                return
            self._rows.remove(row)
            progress.remove_task(row)
            progress.tasks[-1].visible = True

    def end(self) -> None:
        with self._lock:
            progress, self._progress = self._progress, None
            self._rows.clear()
            if progress is not None:
                progress.stop()


_DISPLAY = _Display()


class _Verbose:
    """The state of `verbose_progress`: one call at a time, from any thread."""

    def __init__(self) -> None:
        self.lines = ProgressLines()
        self._lock = threading.Lock()
        self.begun, self.n_iterations = False, 0
        self.advance: Callable[[int], None] = lambda steps: None  # noqa: ARG005

    def begin(self) -> bool:
        """Start a call; return whether it is the outermost one, whose progress is shown."""
        with self._lock:
            first, self.begun = not self.begun, True
            return first

    def count(self) -> None:
        if self.begun:
            self.n_iterations += 1
            self.advance(1)

    def end(self) -> None:
        self.begun, self.n_iterations = False, 0


_VERBOSE = _Verbose()


def _new_progress() -> Progress:
    """Return a display of rows, one line each and no wider than the terminal, that leaves nothing behind."""
    from rich.console import Console
    from rich.constrain import Constrain
    from rich.progress import BarColumn, Progress, ProgressColumn
    from rich.table import Column
    from rich.text import Text

    class Words(ProgressColumn):
        def __init__(self, write: Callable[[Task], str], *, no_wrap: bool) -> None:
            super().__init__(Column(no_wrap=no_wrap))
            self.write = write

        def render(self, task: Task) -> Text:
            return Text(self.write(task), no_wrap=True, overflow="ellipsis")

    class NarrowProgress(Progress):
        def get_renderables(self) -> Iterable[Constrain]:
            # Ctrl-C writes ^C at the end, and a line that it made longer would not be erased whole.
            yield Constrain(self.make_tasks_table(self.tasks), max(1, console.width - 3))

    console = Console(stderr=True, highlight=False)
    # The description and the bar are cut where there is no room.
    columns = Words(lambda task: task.description, no_wrap=False), BarColumn()
    counts = Words(_count, no_wrap=True), Words(_time, no_wrap=True)
    return NarrowProgress(*columns, *counts, console=console, transient=True)


def _count(task: Task) -> str:
    """Describe how much has been done, of how much, and how fast where there is no end in sight."""
    noun = task.fields["noun"]
    if noun is None or (task.total is None and not task.completed):
        return ""
    done = f"{int(task.completed):,}"
    if task.total is not None:
        return f"{done} of {int(task.total):,} {noun}"
    return f"{done} {noun}" + ("" if task.speed is None else f", {task.speed:,.0f}/s")


def _time(task: Task) -> str:
    """Describe how long it will take, or has taken where it is unknown."""
    if task.time_remaining is not None and not task.finished:
        return f"{timedelta(seconds=int(task.time_remaining))} left"
    return f"{timedelta(seconds=int(task.elapsed or 0))}"
