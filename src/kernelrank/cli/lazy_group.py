"""A group of commands that are imported by name, when they are called, and their help as a terminal shows it.

Help has flowing paragraphs, examples in one block, and no type beside a flag.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from kernelrank.cli.failures import failures_told

__all__ = ["LazyGroup", "flowing", "tidy_help"]

EXAMPLE = "kernelrank "
"""A paragraph of a docstring that begins like this is an example."""

LONGEST_TYPE = 16
"""How many characters the choices of an option may take beside its name."""


class LazyGroup(TyperGroup):
    """A group of commands from a table: name, module with the `app`, and the line in the help.

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
        command = typer.main.get_command(importlib.import_module(module).app)
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
    r"""Join the lines of each paragraph, so that the terminal breaks them; put all examples into one block.

    Examples
    --------
    >>> print(flowing("Fit a model.\n\nOne\nparagraph.\n\nkernelrank fit a.csv\n\nkernelrank fit b.csv"))
    Fit a model.
    <BLANKLINE>
    One paragraph.
    <BLANKLINE>
    Examples:
      kernelrank fit a.csv
      kernelrank fit b.csv
    """
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
