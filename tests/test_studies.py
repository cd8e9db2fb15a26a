"""Every study is listed with its title, and tells what it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from studies.__main__ import titles

ROOT = Path(__file__).parents[1]


def studies(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "studies", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_list():
    found = studies("list")
    assert found.returncode == 0, found.stderr
    assert "protein_interactions" in titles()
    for name, title in titles().items():
        assert title.endswith((".", "?"))
        assert f"{name}\n    {title}\n" in found.stdout


@pytest.mark.parametrize("name", titles())
def test_a_study_has_one_entry_and_tells_its_options(name):
    found = studies("run", name, "--help")
    assert found.returncode == 0, found.stderr
    assert f"usage: studies run {name}" in found.stdout


def test_unknown_studies_and_commands():
    assert "Expected one of" in studies("run", "alchemy").stderr
    assert studies("run", "alchemy").returncode == studies().returncode == 2
