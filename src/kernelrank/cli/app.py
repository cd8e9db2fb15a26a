"""The command and the table of its commands."""

from __future__ import annotations

import copy
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from kernelrank import __version__
from kernelrank.base.progress import end_display
from kernelrank.base.text import printable
from kernelrank.cli.shared import remark, tell

# Errors in one line on standard error -----------------------------------------------------------------------------
#
# The exit code is 1 for data and requests, 130 for Ctrl-C; `--debug` shows where.


@contextmanager
def failures_told(ctx: typer.Context | None = None) -> Iterator[None]:
    """Turn an exception of a command into a message on standard error and an exit code.

    Usage errors pass: typer tells them and exits with 2.
    """
    try:
        with _warnings_told():
            yield
    except KeyboardInterrupt as error:
        end_display()
        if _debugging(ctx):
            sys.excepthook(type(error), error, error.__traceback__)
        tell("stopped; nothing was left half written")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        # Whoever read the output has seen enough. What Python flushes at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except Exception as error:
        if _is_of_typer(error):
            if isinstance(message := getattr(error, "message", None), str):
                error.message = printable(message)  # type: ignore[attr-defined]
            raise
        end_display()
        if _debugging(ctx):
            raise
        tell(_sentence(error))
        raise typer.Exit(1) from None


def _debugging(ctx: typer.Context | None) -> bool:
    return ctx is not None and bool(ctx.meta.get("kernelrank.debug"))


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


# Lazy group -------------------------------------------------------------------------------------------------------
#
# A group of commands that are imported by name, when they are called.


class LazyGroup(TyperGroup):
    """A group of commands from a table: name, module with the `app` (or ``module:name``), and the line in the help.

    The help needs the table only. What goes wrong in a command is told here, for all of them; and every command takes
    the options of the group as well, so that people may write ``--debug`` where they think of it.
    """

    table: ClassVar[dict[str, tuple[str, str]]] = {}

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """List the names of the commands in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a command by name; its module is imported only if more than its line in the help is needed."""
        if cmd_name not in self.table:
            return None
        module, line = self.table[cmd_name]
        if self._listing:
            return TyperCommand(name=cmd_name, help=line)
        module, _, name = module.partition(":")
        command = typer.main.get_command(getattr(importlib.import_module(module), name or "app"))
        command.name = cmd_name
        for option in self.params:
            if option.name == "debug":
                shared = copy.copy(option)
                shared.expose_value = False
                command.params.append(shared)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help from the table."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the command line; report errors in one line."""
        with failures_told():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; report errors in one line."""
        with failures_told(ctx):
            return super().invoke(ctx)


# App ------------------------------------------------------------------------------------------------------------------


class Commands(LazyGroup):
    """The commands of kernelrank, in the order in which they are met."""

    table = {  # noqa: RUF012
        "demo": ("kernelrank.cli.demo", "Rank generated data and write an HTML report, in about 10 seconds."),
        "fit": ("kernelrank.cli.fit", "Learn a ranking from a file and save the model."),
        "tune": ("kernelrank.cli.tune", "Choose alpha and kernel parameters by cross-validation, and save the model."),
        "predict": ("kernelrank.cli.fit:predict_app", "Predict scores for the items of a file."),
        "evaluate": ("kernelrank.cli.evaluate", "Measure a model on a file, or a run against qrels."),
        "auc": ("kernelrank.cli.auc", "Estimate the AUC of a classifier, with a confidence interval and a p-value."),
        "risk": ("kernelrank.cli.risk", "Estimate how good predicted risks are: calibration and net benefit."),
        "select": ("kernelrank.cli.select", "Select a few features, and cross-validate the selection."),
        "concordance": (
            "kernelrank.cli.concordance",
            "Estimate the concordance index of survival times, with a confidence interval.",
        ),
        "leaderboard": (
            "kernelrank.cli.leaderboard",
            "Rank items by votes (A is better than B), with confidence intervals.",
        ),
        "collect": ("kernelrank.cli.collect", "Collect votes in the browser, with the next pair chosen well."),
        "compare": (
            "kernelrank.cli.evaluate:compare_app",
            "Test whether one of two models (or TREC runs) ranks better.",
        ),
        "inspect": (
            "kernelrank.cli.inspect",
            "Show what a model file contains, and explain why one item ranks above another.",
        ),
        "export": (
            "kernelrank.cli.fit:export_app",
            "Write a model for another program: ONNX, search engines, SQL, Python.",
        ),
        "serve": ("kernelrank.cli.fit:serve_app", "Rank over HTTP: models as a service."),
        "convert": ("kernelrank.cli.fit:convert_app", "Convert a file of items to another format."),
        "dyads": ("kernelrank.cli.dyads", "Rank the objects of one table for each object of another."),
        "relations": ("kernelrank.cli.relations", "Find interactions in parsed sentences."),
    }


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelrank {__version__}")
        raise typer.Exit


def _remember_debug(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.meta["kernelrank.debug"] = True
    return wanted


@app.callback()
def kernelrank(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the full traceback of an error.", callback=_remember_debug, is_eager=True),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn to rank from examples, and measure how well it works.

    Input files: SVMlight/LETOR, CSV, TSV, Parquet or Excel, also compressed. - means standard input or output.
    Each command has its own help, for example: kernelrank fit --help.
    """
