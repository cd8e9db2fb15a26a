"""Progress: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, TypeVar

from kernelrank.terminal import is_terminal, printable

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["track"]

T = TypeVar("T")


def track(
    steps: Iterable[T],
    total: int | None,
    description: str,
    *,
    size: Callable[[T], int] | None = None,
    noun: str = "steps",
) -> Generator[T, None, None]:
    """Pass the steps on, and draw a bar while standard error is a terminal and rich is installed.

    Where the steps are worked on by the caller, close this generator (`contextlib.closing`), so that the bar is gone
    when an error or Ctrl-C leaves the loop, and not when the garbage is collected.

    Parameters
    ----------
    steps : iterable
    total : int or None
        How many steps there are, or how large they are together; None if nobody knows, and the bar shows how much has
        been done, and how fast.
    description : str
        What stands before the bar.
    size : callable, optional
        How much a step counts for; one unless given.
    noun : str, default="steps"
        What is counted.

    Yields
    ------
    The steps.

    Examples
    --------
    >>> list(track(range(3), 3, "counting"))
    [0, 1, 2]
    >>> list(track([[1, 2], [3]], None, "reading", size=len, noun="rows"))
    [[1, 2], [3]]
    """
    if (total is not None and total < 2) or not is_terminal(sys.stderr):
        yield from steps
        return
    try:
        progress = _bar(noun)
    except ImportError:
        yield from steps
        return
    with progress:
        task = progress.add_task(printable(description), total=total)
        for step in steps:
            yield step
            progress.advance(task, 1 if size is None else size(step))


def _bar(noun: str) -> Progress:
    """Return a bar that leaves nothing behind on standard error."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Count(ProgressColumn):
        """How much has been done, of how much, and how fast."""

        def render(self, task: Task) -> Text:
            done = f"{int(task.completed):,}" + ("" if task.total is None else f" of {int(task.total):,}")
            speed = "" if task.speed is None else f", {task.speed:,.0f}/s"
            return Text(f"{done} {noun}{speed}")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        Count(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
