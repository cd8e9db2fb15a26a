"""Progress: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["track"]

T = TypeVar("T")


def track(steps: Iterable[T], total: int, description: str) -> Iterator[T]:
    """Pass the steps on, and draw a bar while standard error is a terminal and rich is installed.

    Parameters
    ----------
    steps : iterable
    total : int
        How many steps there are.
    description : str
        What stands before the bar.

    Yields
    ------
    The steps.

    Examples
    --------
    >>> list(track(range(3), 3, "counting"))
    [0, 1, 2]
    """
    if total < 2 or not sys.stderr.isatty():
        yield from steps
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield from steps
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        for step in steps:
            yield step
            progress.advance(task)
