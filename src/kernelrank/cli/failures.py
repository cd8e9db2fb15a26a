"""Errors in one line on standard error: exit code 1 for data and requests, 130 for Ctrl-C; `--debug` shows where."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from kernelrank.base.progress import end_display, shown_on
from kernelrank.base.text import printable
from kernelrank.cli import STOPPED
from kernelrank.cli.process import ignore_interruption, interrupted

DEBUG = "kernelrank.debug"
"""Where a context keeps whether ``--debug`` was given."""


@contextmanager
def failures_told(ctx: typer.Context | None = None) -> Iterator[None]:
    """Turn an exception of a command into a message on standard error and an exit code.

    Usage errors pass: typer tells them and exits with 2.
    """
    try:
        with _warnings_told():
            yield
    except KeyboardInterrupt as error:
        _stop(error, ctx)
    except BrokenPipeError:
        # Whoever read the output has seen enough. What Python flushes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:
        if _is_of_typer(error):
            if isinstance(message := getattr(error, "message", None), str):
                error.message = printable(message)  # type: ignore[attr-defined]
            raise
        if interrupted():
            _stop(error, ctx)
        end_display()
        if _debugging(ctx):
            raise
        tell(_sentence(error))
        raise typer.Exit(1) from None


def _debugging(ctx: typer.Context | None) -> bool:
    return ctx is not None and bool(ctx.meta.get(DEBUG))


def _stop(error: BaseException, ctx: typer.Context | None) -> None:
    if interrupted():
        ignore_interruption()
    end_display()
    if _debugging(ctx):
        sys.excepthook(type(error), error, error.__traceback__)
    tell(STOPPED)
    raise typer.Exit(130) from None


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Print warnings that are not in the answer as notes, escaped, because they may quote data."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        remark(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _is_of_typer(error: Exception) -> bool:
    """Whether typer knows what to do: usage errors, exits; its click is its own in some versions."""
    return any(kind.__module__.split(".")[0] in ("typer", "click") for kind in type(error).__mro__)


def _sentence(error: Exception) -> str:
    from kernelrank.errors import KernelRankError

    if isinstance(error, KernelRankError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        return f"{os.fsdecode(error.filename)}: {what}"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"the operating system says: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, (ValueError, UnicodeError, ImportError)):
        # scikit-learn refuses parameters and data with these; its sentences are meant for people, on several lines.
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {error} (an unexpected error; --debug shows the traceback)"


# Console --------------------------------------------------------------------------------------------------------------
#
# Consoles: results on standard output, notes on standard error.

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
