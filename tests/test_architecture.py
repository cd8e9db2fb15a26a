"""docs/architecture.md lists every file, and its walks are those that the calls take.

``python tests/test_architecture.py`` writes the walks of the page anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import kernelrank

ROOT = Path(__file__).parents[1]
PACKAGE = Path(kernelrank.__file__).parent
PAGE = ROOT / "docs" / "architecture.md"
QUICK = ("RankRLS().fit", "RankRLSCV().fit", "leave_pair_out", "Leaderboard().fit().table()", "kernelrank fit FILE")
"""Walks that are traced within seconds; `benchmarks/the_tree_is_easy_to_follow.py` counts all of them."""


def listed_files(page: str) -> list[str]:
    """Return the files that a page lists below its rooms."""
    room, files = "", []
    for line in page.partition("## Every file")[2].partition("\n## ")[0].splitlines():
        if found := re.match(r"(  )?(\w+\.py|\w+/) ", line):
            if found[2].endswith("/"):
                room = found[2]
            else:
                files.append((room if found[1] else "") + found[2])
    return files


def walks_as_text(*calls: str) -> str:
    """Trace some walks, or all, and return them as they stand in the page."""
    command = [sys.executable, ROOT / "benchmarks" / "module_walks.py", *calls]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    return "\n".join(
        textwrap.fill(f"{call} ({len(modules)}): {' → '.join(modules)}", 150, subsequent_indent="  ")
        for call, modules in json.loads(ended.stdout).items()
    )


def test_the_page_lists_every_file_once():
    there = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))
    assert sorted(listed_files(PAGE.read_text(encoding="utf-8"))) == sorted(there)


def test_the_page_lists_the_modules_that_a_call_visits():
    page = PAGE.read_text(encoding="utf-8")
    walks = re.split(r"\n(?! )", walks_as_text(*QUICK))
    assert len(walks) == len(QUICK)
    assert [walk for walk in walks if walk not in page] == [], "python tests/test_architecture.py writes the walks anew"


def test_the_page_is_short():
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 320


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`([\w/*]+/[\w*]+\.\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not any(any(home.glob(name)) for home in (PACKAGE, PACKAGE.parent, ROOT))] == []


def test_a_file_is_a_family_of_at_most_a_thousand_lines():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines > 1000} == {}


def test_files_are_listed_by_room():
    page = "## Every file\nerrors.py  the errors\n\nbase/  all\n  text.py  words\n## Next\n  other.py  no\n"
    assert listed_files(page) == ["errors.py", "base/text.py"]


if __name__ == "__main__":
    before, heading, after = PAGE.read_text(encoding="utf-8").partition("## Eight walks")
    after = re.sub(r"```text\n.*?\n```", lambda _: f"```text\n{walks_as_text()}\n```", after, count=1, flags=re.DOTALL)
    PAGE.write_text(before + heading + after, encoding="utf-8")
