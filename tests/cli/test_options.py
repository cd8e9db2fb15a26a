"""The commands have the options that they are known for: names, types, defaults and help texts are a contract.

`options.json` is written anew by ``python -m tests.cli.test_options``; what a change of it takes from users is said in
the changelog.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from kernelrank.cli.app import app

RECORDED = Path(__file__).with_name("options.json")


def read_options(command: Any = None, name: str = "kernelrank") -> dict[str, dict[str, Any]]:
    """Return the options of a command and of the commands below it, by name."""
    command = typer.main.get_command(app) if command is None else command
    found = {name: {parameter.name: _describe(parameter) for parameter in command.params}}
    for inner in command.list_commands(None) if hasattr(command, "list_commands") else ():
        found |= read_options(command.get_command(None, inner), f"{name} {inner}")
    return found


def _describe(parameter: Any) -> dict[str, Any]:
    """Return what users know of an option: its help as it was declared, not as a terminal shows it."""
    declared = parameter.type_descriptor
    kind = declared.annotation
    return {
        "flags": [*parameter.opts, *parameter.secondary_opts],
        "type": kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind),
        "smallest": parameter.min,
        "largest": parameter.max,
        "required": bool(parameter.required),
        "default": None if parameter.default is None else str(parameter.default),
        "help": " ".join((declared.parameter_info.help or "").split()),
    }


@pytest.fixture(scope="module")
def options():
    """The options of today; the typer of older versions keeps types elsewhere."""
    pytest.importorskip("typer", minversion="0.29")
    return read_options()


@pytest.mark.parametrize("name", json.loads(RECORDED.read_text(encoding="utf-8")))
def test_options_are_those_that_were_recorded(name, options):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert options[name] == recorded[name]


def test_every_command_is_recorded(options):
    assert sorted(options) == sorted(json.loads(RECORDED.read_text(encoding="utf-8")))


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(read_options(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
