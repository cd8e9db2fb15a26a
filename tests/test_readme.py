"""What the README shows runs, in its order, the quickstart leaves a page, and links and citations lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_code_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["accuracy"] > 0.7
    assert names["agreement"] > 0.7
    assert len(names["path"]) == 3
    assert type(names["same"]) is type(names["model"])
    printed = capsys.readouterr().out
    assert "nDCG@10 (gain linear, ties averaged, empty queries left out)" in printed
    assert "95% interval" in printed


def test_commands_are_one_line_each():
    commands = re.findall(r"^```sh\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert len(commands) == 2
    for command, last in zip(commands, ("examples/quickstart.py", "-m pytest"), strict=True):
        assert command.count("\n") == 1
        assert command.startswith("python3 -m venv ")
        assert command.strip().endswith(last)


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


def load_quickstart():
    spec = importlib.util.spec_from_file_location("quickstart", ROOT / "examples" / "quickstart.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["quickstart"] = module
    spec.loader.exec_module(module)
    return module


def test_quickstart_leaves_a_page(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    with threadpool_limits(1):
        load_quickstart().main(["--output", str(tmp_path / "page.html")])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == page.count("</svg>") == 2
    assert "gain exponential, ties averaged, empty queries left out" in page
    # One file: nothing is fetched, and the plots take the colour of the page.
    assert not re.search(r"<script|<link|src=|@import|url\(http", page)
    assert "currentColor" in page
    assert "#123456" not in page
    assert "AUC" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "page.kr"]


def test_quickstart_names_the_extra_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"matplotlib is not installed; run: pip install 'kernelrank\[report\]'"):
        load_quickstart().main(["--output", str(tmp_path / "page.html")])
    assert not list(tmp_path.iterdir())
