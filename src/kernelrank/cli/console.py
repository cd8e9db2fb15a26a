"""Consoles: results on standard output, notes on standard error."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from kernelrank.base.progress import shown_on
from kernelrank.base.text import printable

__all__ = ["console", "remark", "tell"]

PIPE_WIDTH = 120
"""Columns of what is not written to a terminal, unless COLUMNS says otherwise."""


def console(*, error: bool = False) -> Any:
    """Return a new console for standard output or standard error, because tests and pipes replace the streams."""
    if error and (shown := shown_on()) is not None:
        return shown  # it writes above the bar
    from rich.console import Console

    class PassingConsole(Console):
        """A console that raises BrokenPipeError when the reader has closed the pipe; the command then ends."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream: Any = sys.stderr if error else sys.stdout
    if stream is None:
        # It was closed before the command began: there is nobody to tell.
        return Console(file=io.StringIO(), width=PIPE_WIDTH)
    if getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
        # A name that the terminal has no letters for is shown by its numbers, and stops nothing.
        stream.reconfigure(errors="backslashreplace")
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return PassingConsole(stderr=error, width=width, highlight=False, soft_wrap=False)


def tell(message: str) -> None:
    """Print an error message to standard error."""
    _line("kernelrank: ", "bold red", message)


def remark(message: str) -> None:
    """Print a note to standard error."""
    _line("note: ", "yellow", message, whole_words=True)


def _line(prefix: str, style: str, message: str, *, whole_words: bool = False) -> None:
    from rich.text import Text

    out = console(error=True)
    # One line, wrapped by the terminal alone: what an error names can be copied and searched for. Notes are longer, and
    # break between words on a terminal.
    soft_wrap = not (whole_words and out.is_terminal)
    out.print(Text.assemble((prefix, style), printable(message)), soft_wrap=soft_wrap)
