"""The command itself: its help, how it ends, what it leaves, and what it does not import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelrank.cli.app import Commands
from kernelrank.errors import InvalidInputError

NAMES = ["demo", "fit", "tune", "predict", "evaluate", "auc", "risk", "select", "concordance", "leaderboard"]
NAMES += ["collect", "compare", "inspect", "export", "serve", "convert"]


def started(*words: str, code: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    text = f"{code}\nfrom kernelrank.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", text, *words], capture_output=True, text=True, timeout=120, check=False, **options
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_help_lists_every_command(run):
    out = run("--help").out
    for name, (_, line) in Commands.table.items():
        assert name in out
        assert line.split()[0] in out
    assert list(Commands.table)[: len(NAMES)] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(name, run):
    out = run(name, "--help").out
    assert Commands.table[name][1].split(":")[0].rstrip(".").split()[0] in out
    assert "--json" in out
    assert "--debug" in out


def test_help_imports_nothing_heavy():
    report = (
        "import sys, atexit; atexit.register(lambda: print([m for m in HEAVY if m in sys.modules], file=sys.stderr))"
    )
    heavy = "HEAVY = ['numpy', 'scipy', 'sklearn', 'numba', 'matplotlib', 'polars', 'pyarrow', 'jinja2']\n"
    for words in (["--help"], ["fit", "--help"], ["auc", "--help"]):
        ended = started(*words, code=heavy + report)
        assert ended.returncode == 0
        assert ended.stderr.strip() == "[]"


def test_without_typer_the_pip_line_is_what_people_see():
    ended = started("--help", code="import sys; sys.modules['typer'] = None")
    assert ended.returncode == 1
    assert ended.stderr == "kernelrank: typer is not installed; run: pip install 'kernelrank[cli]'\n"


def test_version(run):
    from kernelrank import __version__

    assert run("--version").out == f"kernelrank {__version__}\n"
    for module in ("kernelrank", "kernelrank.cli"):
        words = [sys.executable, "-m", module, "--version"]
        printed = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
        assert printed == f"kernelrank {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["rank"],
        ["fit"],
        ["fit", "train.txt", "--alpha", "many"],
        ["fit", "train.txt", "--method", "boosting"],
        ["predict", "model.kr", "test.txt", "--format", "xml"],
        ["fit", "train.txt", "--depth", "3"],
    ],
    ids=" ".join,
)
def test_usage_errors_end_with_two(words, run, ranking):
    assert "Usage: kernelrank" in run(*words, code=2).err
    assert sorted(path.name for path in ranking.iterdir()) == ["test.txt", "train.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["fit", "empty"], "empty: the folder has no train.txt"),
        (["fit", "train.txt", "-o", "nowhere/model.kr"], "nowhere/model.kr: there is no folder"),
        (["fit", "train.txt", "-o", "."], "is a folder; give the name of a file"),
        (["fit", "train.txt", "-o", "-"], "-: models and reports cannot be written to standard output"),
        (["tune", "train.txt", "-o", "-"], "-: models and reports cannot be written to standard output"),
        (["tune", "train.txt", "--report", "-"], "-: models and reports cannot be written to standard output"),
        (["tune", "train.txt", "-o", "x", "--report", "./x"], "x: is both the model and the report"),
        (["auc", "train.txt", "--report", "-"], "-: models and reports cannot be written to standard output"),
        (["fit", "train.txt", "-o", "train.txt"], "train.txt: is also an input file; write to another file"),
        (["fit", "train.txt", "-o", "./link.txt"], "link.txt: is also an input file"),
        (["fit", "train.txt", "--alpha", "-1"], "--alpha: expected a positive number; got -1"),
        (["fit", "train.txt", "--kernel", "magic"], "magic"),
        (["fit", "train.txt", "--method", "ranksvm", "--cost", "unit"], "--cost belongs to --method rankrls"),
        (["fit", "train.txt", "--method", "rls", "--query-weight", "items"], "belongs to --method rankrls or ranksvm"),
        (["fit", "train.txt", "--basis", "100000"], "train.txt: "),
        (["fit", "train.txt", "--gamma", "0.1"], "--gamma has no effect with the kernel linear: it is for rbf"),
        (["fit", "train.txt", "--kernel", "rbf", "--degree", "2"], "--degree has no effect with the kernel rbf"),
        (["auc", "train.txt", "--coef0", "1"], "--coef0 has no effect with the kernel linear: it is for poly"),
        (["tune", "train.txt", "--gammas", "0.1,1"], "--gammas has no effect with the kernel linear"),
        (["tune", "train.txt", "--kernels", "linear,rbf", "--degrees", "2"], "with the kernel linear, rbf: it is for"),
        (["predict", "train.txt", "test.txt"], "train.txt: not a kernelrank model"),
        (["predict", "model.kr", "test.txt", "--format", "parquet"], "--format parquet needs --output"),
        (["predict", "model.kr", "wide.txt"], "wide.txt"),
        (["evaluate", "model.kr", "test.txt", "-m", "bleu"], "unknown measure 'bleu'"),
        (["evaluate", "model.kr", "test.txt", "-m", "auc", "--gain", "linear"], "--gain has no effect on the measures"),
        (["evaluate", "model.kr", "test.txt", "--confidence", "95"], "confidence must lie between 0 and 1"),
        (["evaluate", "test.txt", "test.txt"], "test.txt, line 1: "),
        (["tune", "train.txt", "--alphas", "1:"], "--alphas: '1:' is not a list or range of numbers"),
        (["tune", "train.txt", "--alphas", "-1,2"], "kernelrank: --alphas: expected positive numbers; got -1"),
        (["tune", "train.txt", "--cv", "magic"], "magic"),
        (["auc", "train.txt", "--positive", "2"], "train.txt: "),
        (["inspect", "train.txt"], "train.txt: not a kernelrank model"),
        (["inspect", "half.kr"], "half.kr: truncated"),
        (["convert", "train.txt", "train.txt"], "is also an input file"),
        (["convert", "train.txt", "x.doc"], "x.doc"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_requests_that_cannot_be_met_end_with_one(words, message, run, ranking):
    run("fit", "train.txt")
    (ranking / "half.kr").write_bytes((ranking / "model.kr").read_bytes()[:500])
    (ranking / "wide.txt").write_text("1 qid:1 9:1\n0 qid:1 1:1\n")
    (ranking / "link.txt").symlink_to("train.txt")
    (ranking / "empty").mkdir()
    before = contents(ranking)
    ended = run(*words, code=1)
    lines = [line for line in ended.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("kernelrank: ")
    assert message in lines[0]
    assert "unexpected error" not in lines[0]
    assert ended.out == ""
    assert contents(ranking) == before


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["tune", "later.txt", "--report", "x.html"], "matplotlib", "report"),
        (["auc", "later.txt", "--report", "x.html"], "jinja2", "report"),
        (["demo"], "matplotlib", "report"),
        (["predict", "later.kr", "later.txt", "-f", "parquet", "-o", "x.parquet"], "pyarrow", "data"),
        (["convert", "later.txt", "x.parquet"], "pyarrow", "data"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_is_not_installed_is_missed_before_the_work(words, package, extra, run, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    told = run(*words, code=1).err
    assert told == f"kernelrank: {package} is not installed; run: pip install 'kernelrank[{extra}]'\n"


def test_a_format_that_nobody_named_is_missed_before_the_work(run):
    assert "x.doc: unknown file suffix" in run("convert", "later.txt", "x.doc", code=1).err


def test_debug_shows_where(run, ranking):
    for words in (["fit", "nowhere.txt", "--debug"], ["--debug", "fit", "nowhere.txt"]):
        with pytest.raises(InvalidInputError):
            run(*words, code=None)


def test_a_bug_is_told_in_one_line(run, ranking, monkeypatch):
    monkeypatch.setattr("kernelrank.data.read_table", lambda *_, **__: {}["x"])
    ended = run("fit", "train.txt", code=1)
    assert ended.err == "kernelrank: KeyError: 'x' (an unexpected error; --debug shows the traceback)\n"


def test_interrupted_it_leaves_nothing(run, ranking, monkeypatch):
    from kernelrank.estimators import RankRLS

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankRLS, "fit", interrupt)
    ended = run("fit", "train.txt", code=130)
    assert ended.err == "kernelrank: stopped; nothing was left half written\n"
    monkeypatch.undo()
    monkeypatch.chdir(ranking)
    monkeypatch.setattr("kernelrank.persistence.model_files.write_container", interrupt)
    run("fit", "train.txt", code=130)
    assert sorted(path.name for path in ranking.iterdir()) == ["test.txt", "train.txt"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_a_folder_that_cannot_be_written_to(run, ranking):
    (ranking / "shut").mkdir(mode=0o500)
    assert "cannot be written to" in run("fit", "train.txt", "-o", "shut/model.kr", code=1).err


@pytest.mark.parametrize("words", [["predict", "model.kr", "test.txt"], ["evaluate", "model.kr", "test.txt"]])
def test_readers_that_have_seen_enough(words, run, ranking):
    run("fit", "train.txt")
    reading, writing = os.pipe()
    os.close(reading)
    text = "from kernelrank.cli import main\nmain()"
    ended = subprocess.run([sys.executable, "-c", text, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_json_is_all_there_is_on_standard_output(run, cohort):
    ended = run("fit", cohort, "--target", "outcome", "--query", "", "--json")
    facts = json.loads(ended.out)
    assert any("the ids are column 'sample'" in note for note in facts["notes"])
    assert ended.err == ""


def test_no_colour_where_none_is_wanted(run, ranking):
    ended = run("fit", "train.txt")
    assert "\x1b" not in ended.out + ended.err


def test_a_stream_that_knows_few_letters_or_takes_no_more(run, tmp_path):
    (tmp_path / "items.csv").write_text("query,score,left\nä,1,2\nä,0,1\n", encoding="utf-8")
    run("fit", "items.csv")

    def ended(*words: str, out: object = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
        text = "from kernelrank.cli import main\nmain()"
        surroundings = {**os.environ, "PYTHONIOENCODING": "ascii"}
        command = [sys.executable, "-c", text, "evaluate", "model.kr", "items.csv", "--by-query", *words]
        return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=surroundings, check=False)

    told = ended()
    assert (told.returncode, b"\\xe4 " in told.stdout) == (0, True)
    assert "ä" in json.loads(ended("--json").stdout)["measures"][0]["by_query"]
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            told = ended(out=full)
        assert told.returncode == 1
        assert told.stderr.splitlines()[-1] == b"kernelrank: standard output: No space left on device"


def test_a_wrong_option_is_not_blamed_on_the_file(run, tmp_path):
    (tmp_path / "items.csv").write_text("y,a\n1,2\n0,1\n")
    ended = run("fit", "items.csv", "--alpha", "-1", code=1)
    assert "--alpha: expected a positive number; got -1" in ended.err
    assert "items.csv" not in ended.err
