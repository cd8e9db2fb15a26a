"""A group of commands that are imported by name, when they are called."""

from __future__ import annotations

import copy
import importlib
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from kernelrank.cli.failures import failures_told
from kernelrank.cli.help_text import tidy_help

__all__ = ["LazyGroup"]


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
