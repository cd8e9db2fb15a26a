"""What the README shows runs, in its order, and links and citations lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_code_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["result"].mean > 0.8
    assert Path("model.kr").exists()
    printed = capsys.readouterr().out
    assert "nDCG@10 (gain exponential, ties averaged, empty queries left out)" in printed
    assert "95% interval" in printed


def test_the_front_page_is_short():
    assert len(README.splitlines()) <= 150


def test_commands_are_one_line_each():
    commands = re.findall(r"^```sh\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert len(commands) == 2
    for command, last in zip(commands, (".venv/bin/kernelrank demo", "-m pytest -n auto --dist loadfile"), strict=True):
        assert command.count("\n") == 1
        assert command.startswith("python3 -m venv ")
        assert command.strip().endswith(last)


def test_commands_of_the_table_exist():
    from kernelrank.cli.app import Commands

    named = set(re.findall(r"`kernelrank ([a-z]+)[ `]", README))
    assert named | {"demo"} == set(Commands.table)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/notation.md"])
def test_links_lead_somewhere(document):
    path = ROOT / document
    targets = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
    assert targets
    for target in targets:
        assert (path.parent / target).is_file(), target


def test_references_cited_in_the_code_are_listed():
    listed = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    key = re.compile(r"\[[A-Z][A-Za-z]*\d\d\]")
    cited = {match for path in (ROOT / "src").rglob("*.py") for match in key.findall(path.read_text(encoding="utf-8"))}
    assert "[PTAJB09]" in cited
    assert cited <= set(key.findall(listed))
