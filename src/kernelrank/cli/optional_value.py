"""An option whose value may be omitted: ``--scale`` is ``--scale columns``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["ScaleCommand"]

VALUES = ("columns", "query")


class ScaleCommand(TyperCommand):
    """A command whose ``--scale`` may omit its value, which is then the first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default value after each ``--scale`` that has none."""
        given: list[str] = []
        for word, following in zip(args, [*args[1:], ""], strict=True):
            given.append(word)
            if word == "--scale" and following not in VALUES:
                given.append(VALUES[0])
        rest: list[str] = super().parse_args(ctx, given)
        return rest
