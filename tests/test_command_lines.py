"""Every command line of the README, the guide and the how-tos runs, on files of realistic size.

The lines are found in the pages: a new one is tested without more work, unless it reads a file that `stand_ins` does
not know. The lines of a page run in one folder and in their order, so that one can read what another has written.
Options are those of the line, and defaults. To save minutes, permutation tests draw fewer permutations, `auc --inside`,
which refits for every pair, has 30 rows, and `select`, which takes three minutes for 200 rows, has 50.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="typer is not installed: pip install 'kernelrank[cli]'")

from typer.testing import CliRunner

from kernelrank import model_selection
from kernelrank.cli.app import app
from kernelrank.errors import MissingExtraError
from tests import stand_ins

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/guide/*.md")), *sorted(ROOT.glob("docs/how_to/*.md"))]
MOST_PERMUTATIONS = 20
FEW_ROWS = {"--inside": 30, "select": 50}
OUTPUTS = ("-o", "--output", "--report", "--card", "--trials")


def lines_of(text: str) -> list[str]:
    """Return the command lines of a page, in their order: of blocks, after `$` in shown output, and in the text."""
    found = []
    pattern = r"^```(?:sh|console|text)\n(?P<block>.*?)^```$|`(?P<inline>kernelrank [a-z]+ [^`]+)`"
    for match in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL):
        block, shown = match["block"], match.group().startswith("```text")
        lines = [match["inline"]] if block is None else block.replace("\\\n", " ").splitlines()
        for line in lines:
            if shown and not line.startswith("$ "):
                continue
            for part in line.removeprefix("$ ").split(" && "):
                program, _, rest = part.partition(" ")
                if program.rpartition("/")[2] == "kernelrank":
                    found.append(" ".join(rest.split()))
    return found


LINES = [(page.name, line) for page in PAGES for line in dict.fromkeys(lines_of(page.read_text(encoding="utf-8")))]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {page.name: tmp_path_factory.mktemp(page.stem) for page in PAGES}


@pytest.mark.parametrize(("page", "line"), LINES)
def test_command_line_runs(page, line, folders, monkeypatch):
    folder = folders[page]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(model_selection, "permutation_test", few_permutations)
    words = shlex.split(line)
    rows = next((FEW_ROWS[word] for word in words if word in FEW_ROWS), None)
    if rows is not None:
        folder = folder / words[0]
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(stand_ins, "ROWS", rows)
    for place, word in enumerate(words):
        if words[place - 1] in OUTPUTS:
            continue
        if word in stand_ins.FILES:
            stand_ins.make(word, page, folder)
        elif word.endswith(".kr") and not (folder / word).exists() and words[0] != "convert":
            fit_model(line, page, folder, word)
    if words[0] == "collect" and "--database" in words:
        pytest.skip("tests/collecting starts a database server of its own")
    if words[0] == "serve" and not words[1].endswith(".kr"):
        (folder / words[1]).mkdir(exist_ok=True)
        fit_model("", page, folder, f"{words[1]}/model.kr")
    if "--simulate" in words:
        words += ["--votes", "60"]
    elif words[0] == "serve" or (words[0] == "collect" and "--export" not in words):
        serve_for_a_moment(words, monkeypatch)
    run(words)
    if words[0] == "collect" and Path("votes.db").exists():
        stand_ins.collected_votes(Path("votes.db"))


def few_permutations(*data, n_permutations=None, test=model_selection.permutation_test, **options):
    return test(*data, n_permutations=min(n_permutations or MOST_PERMUTATIONS, MOST_PERMUTATIONS), **options)


def fit_model(line: str, page: str, folder: Path, name: str) -> None:
    command = next(command for part, command in stand_ins.MODELS if part in line)
    words = command.format(name).split()
    for word in words:
        if word in stand_ins.FILES:
            stand_ins.make(word, page, folder)
    run(words)


def serve_for_a_moment(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a free port, and stop the service as soon as it has started."""
    pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'kernelrank[serve]'")
    from kernelrank.serving.service import Server

    def run_and_stop(server, sockets, run=Server.run):
        server.should_exit = True
        run(server, sockets)

    monkeypatch.setattr(Server, "run", run_and_stop)
    words += ["--port", "0"]


def run(words: list[str]) -> None:
    result = CliRunner().invoke(app, words, prog_name="kernelrank")
    if isinstance(result.exception, MissingExtraError) or "is not installed; run: pip" in result.stderr:
        pytest.skip(result.stderr.strip())
    assert result.exit_code == 0, f"kernelrank {shlex.join(words)}\n{result.stderr}"
    assert "Traceback" not in result.stderr
    for place, word in enumerate(words[:-1]):
        if word in OUTPUTS and words[place + 1] != "-":
            assert Path(words[place + 1]).stat().st_size, f"{words[place + 1]} is empty"


def test_the_lines_of_a_page_are_found():
    page = (
        "```sh\n. x && bin/kernelrank demo\nkernelrank fit a.txt \\\n    -o b\npip install kernelrank\n```\n"
        "`kernelrank auc x.csv\n--scale`\n```text\n$ kernelrank inspect b\nkernelrank: no\n```\n`kernelrank --help`\n"
    )
    assert lines_of(page) == ["demo", "fit a.txt -o b", "auc x.csv --scale", "inspect b"]
    assert len(LINES) > 60
    assert {line.split()[0] for _, line in LINES} >= {
        "fit",
        "tune",
        "auc",
        "dyads",
        "relations",
        "leaderboard",
        "serve",
    }
