"""The command and the table of its commands."""

from __future__ import annotations

import copy
import importlib
import inspect
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from kernelrank import __version__
from kernelrank.cli.failures import failures_told
from kernelrank.cli.options import Debug

# Lazy group -----------------------------------------------------------------------------------------------------------
#
# A group of commands that are imported by name, when they are called, and their help as a terminal shows it.
#
# Help has flowing paragraphs, examples in one block, and no type beside a flag.

EXAMPLE = "kernelrank "
"""A paragraph of a docstring that begins like this is an example."""

LONGEST_TYPE = 16
"""How many characters the choices of an option may take beside its name."""


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
        tidy_help(command)
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help from the table."""
        tidy_help(self)
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


def flowing(text: str) -> str:
    r"""Join the lines of each paragraph, so that the terminal breaks them; put all examples into one block."""
    if "\n  kernelrank " in text:
        return text  # flowing already
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    prose = [part for part in paragraphs if part and not part.startswith(EXAMPLE)]
    examples = [f"  {part}" for part in paragraphs if part.startswith(EXAMPLE)]
    if examples:
        prose.append("\n".join(["Examples:" if len(examples) > 1 else "Example:", *examples]))
    return "\n\n".join(prose)


def tidy_help(command: Any) -> None:
    """Reformat the help of a command, and of the commands of a group, in place."""
    if command.help:
        command.help = flowing(command.help)
    for parameter in command.params:
        _shorten_type(parameter)
    made = command.get_help_option

    def get_help_option(ctx: Any) -> Any:
        option = made(ctx)
        _shorten_type(option)
        return option

    command.get_help_option = get_help_option
    for inner in getattr(command, "commands", {}).values():
        tidy_help(inner)


def _shorten_type(option: Any) -> None:
    """Write no type beside a flag, which takes no value; move a long list of choices into the help.

    An argument that may be repeated says so by its name: newer versions of typer would write the type of a list there.
    """
    if getattr(getattr(option, "type_descriptor", None), "is_list", False) and hasattr(option, "display_type_rich"):
        option.display_type_rich = lambda ctx: option.metavar if option.opts[0].startswith("-") else ""  # noqa: ARG005
    if option is None or getattr(option, "metavar", None) is not None:
        return
    if getattr(option, "is_flag", False):
        option.metavar = ""
    choices = "|".join(map(str, _choices(option)))
    if len(choices) > LONGEST_TYPE:
        option.metavar = "CHOICE"
        words = choices.split("|")
        if not all(word in option.help for word in words):
            option.help = f"One of {', '.join(words)}. {option.help}"
    elif getattr(getattr(option, "type_descriptor", None), "is_ranged", False):
        option.metavar = "NUMBER"


def _choices(option: Any) -> tuple[Any, ...]:
    """Return the words that an option takes; typer keeps them in two places, depending on its version."""
    for holder in ("type_descriptor", "type"):
        found = getattr(getattr(option, holder, None), "choices", None)
        if found:
            return tuple(found)
    return ()


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
        "select": ("kernelrank.cli.select", "Select a few features, and cross-validate the selection."),
        "concordance": (
            "kernelrank.cli.concordance",
            "Estimate the concordance index of survival times, with a confidence interval.",
        ),
        "leaderboard": (
            "kernelrank.cli.leaderboard",
            "Rank items by votes (A is better than B), with confidence intervals.",
        ),
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


@app.callback()
def kernelrank(
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn to rank from examples, and measure how well it works.

    Input files: SVMlight/LETOR, CSV, TSV, Parquet or Excel, also compressed. - means standard input or output.
    Each command has its own help, for example: kernelrank fit --help.
    """
