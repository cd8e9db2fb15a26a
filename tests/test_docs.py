"""The pages are executed: Python with its output compared, of commands the options."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
import typer

import kernelrank
from kernelrank import data, errors, metrics, relations, report
from kernelrank.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted(DOCS.glob("how_to/*.md")), *sorted(DOCS.glob("extend/*.md"))]
GUIDE = sorted(DOCS.glob("guide/*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, list[str]]]:
    pages = [*PAGES, *GUIDE, ROOT / "README.md"]
    lines = [(page.name, line) for page in pages for block in blocks(page, "sh") for line in block.splitlines()]
    lines += [
        (page.name, line) for page in pages for line in re.findall(r"`(kernelrank [a-z]+ [^`]+)`", page.read_text())
    ]
    return [(f"{page}: {line}", shlex.split(line)[1:]) for page, line in lines if line.startswith("kernelrank ")]


@pytest.mark.parametrize("page", [*PAGES, *GUIDE], ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_pages_show_what_their_python_prints(page, tmp_path, monkeypatch, capsys):
    # How-tos may break long lines and leave some out (...); the guide shows all, letter by letter.
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    flags = 0 if page in GUIDE else doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", text, flags=re.MULTILINE | re.DOTALL)
    for code, expected in shown:
        exec(compile(code, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(expected, printed, flags), f"{code}\nprints\n{printed}"


def test_pictures_of_the_pages_are_there():
    for page in [*PAGES, *GUIDE]:
        for place in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / place).exists(), f"{page.name}: {place}"


@pytest.mark.parametrize(("line", "words"), commands())
def test_commands_have_these_options(line, words):
    # Parsing refuses an unknown command, option, choice or number; nothing is read or run.
    command = typer.main.get_command(app)
    context = command.make_context("kernelrank", list(words))
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)


def test_there_are_commands_to_check():
    assert len(commands()) > 20


def test_an_unknown_option_is_found():
    with pytest.raises(Exception, match="--no-such-option"):
        test_commands_have_these_options("", ["fit", "train.txt", "--no-such-option"])


def test_reference_names_everything_public():
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("api/*.rst"))
    listed = {line.strip().rpartition(".")[2] for line in text.splitlines()}
    wanted = set(kernelrank.__all__) - {"dask", "metrics", "relations", "testing"}
    for module in (metrics, data, report, relations, errors):
        wanted |= set(module.__all__)
    assert wanted - listed == set()
