"""What goes wrong, told in one line: exit code 1 for data and requests, 130 for Ctrl-C; `--debug` shows where."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from kernelrank.cli.console import tell

__all__ = ["DEBUG", "failures_told"]

DEBUG = "kernelrank.debug"
"""Where a context keeps whether ``--debug`` was given."""


@contextmanager
def failures_told(ctx: Any) -> Iterator[None]:
    """Turn an exception of a command into a message on standard error and an exit code.

    Usage errors pass: typer tells them and exits with 2.
    """
    try:
        yield
    except KeyboardInterrupt:
        if ctx.meta.get(DEBUG):
            raise
        tell("stopped; nothing was left half written")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # Whoever read the output has seen enough. What Python flushes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:
        if ctx.meta.get(DEBUG) or _is_of_typer(error):
            raise
        tell(_sentence(error))
        raise typer.Exit(1) from None


def _is_of_typer(error: Exception) -> bool:
    """Whether typer knows what to do: usage errors, exits; its click is its own in some versions."""
    return any(kind.__module__.split(".")[0] in ("typer", "click") for kind in type(error).__mro__)


def _sentence(error: Exception) -> str:
    from kernelrank.errors import KernelRankError

    if isinstance(error, KernelRankError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        folder, name = os.path.split(os.fsdecode(error.filename))
        if name.startswith(".kernelrank-"):
            return f"{folder}: nothing can be written here: {error.strerror}"
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"the operating system says: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, (ValueError, UnicodeError, ImportError)):
        # scikit-learn refuses parameters and data with these; its sentences are meant for people.
        return str(error)
    return f"{type(error).__name__}: {error} (this should not happen; --debug shows where)"
