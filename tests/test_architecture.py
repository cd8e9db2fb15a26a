"""docs/architecture.md: the files that it names are there, and its walks are those that the calls take."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kernelrank

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CALLS = ["RankRLS().fit", "RankRLSCV().fit", "leave_pair_out"]


def listed(page: str, call: str) -> dict[str, str]:
    """Return the modules that a page lists below a call, and what it says of each."""
    below = page.partition(f"### `{call}`")[2].partition("\n#")[0]
    return dict(re.findall(r"^\d+\. `([\w/]+)`: (.*)$", below, flags=re.MULTILINE))


def first_words(module: str) -> str:
    """Return the first sentence of a module."""
    source = (Path(kernelrank.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0].rstrip(".")


def ready_to_paste(visited: list[str], known: dict[str, str]) -> str:
    """Return the list as it should stand in the page; a module that is new there says what its docstring does."""
    return "\n".join(
        f"{number}. `{module}`: {known.get(module) or first_words(module)}"
        for number, module in enumerate(visited, start=1)
    )


@pytest.fixture(scope="module")
def walks():
    command = [sys.executable, ROOT / "benchmarks" / "module_walks.py", *CALLS]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_the_page_lists_the_modules_that_a_call_visits(walks, call):
    known, visited = listed(PAGE, call), walks[call]["visited"]
    assert list(known) == visited, f"put this below {call} in docs/architecture.md:\n{ready_to_paste(visited, known)}"


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`([\w/*]+/[\w*]+\.\w+)`", PAGE)
    homes = (Path(kernelrank.__file__).parent, Path(kernelrank.__file__).parents[1], ROOT)
    assert len(named) > 20
    assert [name for name in named if not any(any(home.glob(name)) for home in homes)] == []


def test_a_file_is_a_family_of_at_most_a_thousand_lines():
    package = Path(kernelrank.__file__).parent
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in package.rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines > 1000} == {}


def test_a_list_is_read_and_written():
    page = "### `f`\n\n1. `queries`: what belongs together\n2. `solvers/cholesky`: a factor\n\n## Next\n1. `a`: b\n"
    known = listed(page, "f")
    assert known == {"queries": "what belongs together", "solvers/cholesky": "a factor"}
    assert ready_to_paste(["queries", "errors"], known) == (
        f"1. `queries`: what belongs together\n2. `errors`: {first_words('errors')}"
    )
