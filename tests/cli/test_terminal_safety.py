"""The command writes nothing of the data that a terminal would obey, and ends as Ctrl-C asks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
import typer

from kernelrank import cli
from kernelrank.cli import interruption
from kernelrank.cli.failures import failures_told
from kernelrank.data import read_items
from kernelrank.terminal import OBEYED

EVIL = "\x1b[31m\x9b2J\u202eevil"


def assert_harmless(ended):
    for text in (ended.out, ended.err):
        assert not OBEYED.search(text.replace("\n", "")), repr(text)
    return ended


@pytest.fixture
def evil(tmp_path):
    """A table with names, ids and queries that a terminal would obey, in a file that is called so, too."""
    rows = [
        f"{grade},{EVIL}{query},{EVIL}{item},{item % 3}.5,{query}"
        for query in range(4)
        for item, grade in enumerate([0, 1, 2])
    ]
    name = f"evil{EVIL}.csv"
    (tmp_path / name).write_text(f"relevance,qid,id,{EVIL}x,z\n" + "\n".join(rows) + "\n")
    return name


@pytest.mark.parametrize("as_json", [False, True])
def test_answers_tables_and_notes(run, evil, as_json):
    model = f"m{EVIL}.kr"
    extra = ["--json"] if as_json else []
    for words in (
        ["tune", evil, "-o", model],
        ["inspect", model],
        ["evaluate", model, evil, "--by-query"],
        ["predict", model, evil, "-o", f"scores{EVIL}.csv", "--format", "csv"],
        ["convert", evil, f"out{EVIL}.parquet"],
        ["compare", model, model, evil],
    ):
        ended = assert_harmless(run(*words, *extra, code=None))
        assert ended.code == 0, ended
        if as_json:
            assert json.loads(ended.out)["command"] == words[0]


def test_what_is_wrong_is_still_named(run):
    assert (
        run("fit", f"{EVIL}.txt", code=1).err == "kernelrank: \\x1b[31m\\x9b2J\\u202eevil.txt: there is no such file\n"
    )


def test_a_pipe_gets_the_data_as_it_is(run, evil, tmp_path):
    assert (
        run("convert", evil, "-", "--to", "csv").out.replace("target", "relevance", 1) == (tmp_path / evil).read_text()
    )


@pytest.mark.parametrize(
    "words",
    [
        ["fit", f"no{EVIL}\nfile.txt"],
        [f"fit{EVIL}"],
        ["fit", f"--option{EVIL}"],
        [f"--option{EVIL}"],
        ["fit", "a", f"b{EVIL}"],
        ["fit", "a", "--alpha", EVIL],
        ["fit", "a", "--method", EVIL],
    ],
)
def test_errors(run, words):
    ended = assert_harmless(run(*words, code=None))
    assert ended.code in (1, 2)
    if ended.code == 1:
        assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    "line", [f"1 qid:{EVIL} 1:x\n", f"{EVIL} 1:1\n", f"1 {EVIL}:1\n", f"1 1:1\n0 1:1 # docid = {EVIL}\n"]
)
def test_faults_of_files(run, tmp_path, line):
    (tmp_path / f"a{EVIL}.txt").write_text(line)
    assert_harmless(run("fit", f"a{EVIL}.txt", code=None))


def test_warnings_become_notes(run, monkeypatch, ranking):
    import warnings

    def warn(*_args, **_keywords):
        warnings.warn(f"of {EVIL}", UserWarning, stacklevel=1)
        raise ValueError(EVIL)

    monkeypatch.setattr("kernelrank.data.read_items", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ended = assert_harmless(run("convert", "train.txt", "a.csv", code=1))
    assert ended.err.startswith("note: of \\x1b")


class TestInterruption:
    @pytest.fixture
    def stopped(self, monkeypatch):
        monkeypatch.setattr(interruption, "_seen", [signal.SIGINT])
        before = signal.getsignal(signal.SIGINT)
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize(
        "error", [SystemError("result with an exception set"), ValueError("x"), OSError(4, "EINTR")]
    )
    def test_whatever_it_is_reported_as(self, stopped, error, capsys):
        with pytest.raises(typer.Exit) as ended, failures_told():
            raise error
        assert ended.value.exit_code == 130
        assert "stopped; nothing was left half written" in capsys.readouterr().err

    def test_before_the_command_runs(self, monkeypatch, capsys):
        def interrupted():
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "_run", interrupted)
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)
        before = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main()
        finally:
            signal.signal(signal.SIGINT, before)
        assert ended.value.code == 130
        assert capsys.readouterr().err == "kernelrank: stopped; nothing was left half written\n"


LOST = """
import os, signal, sys, time
from kernelrank.cli import interruption
interruption.AGAIN_SECONDS = 0.05
interruption.watch_interruption()
times = 0
try:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        times += 1
        time.sleep(0.2)  # handled, and not disturbed
    class Item:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
    Item()  # what is raised while it is deleted is lost
    time.sleep(10)
except KeyboardInterrupt:
    times += 1
    interruption.ignore_interruption()
    time.sleep(0.2)
print(times)
"""


def test_an_interruption_that_is_lost_comes_again():
    ended = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "2\n", "")


@pytest.mark.parametrize("body", ["raise KeyboardInterrupt", "exec('raise KeyboardInterrupt')"])
def test_the_exit_code_of_an_interruption(body):
    # Python itself would end by the signal after an interrupted exec.
    program = f"import kernelrank.cli as cli\ndef run():\n    {body}\ncli._run = run\ncli.main()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "kernelrank: stopped; nothing was left half written\n")


def test_closed_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(typer.Exit) as ended, failures_told():
        read_items("-")
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == (
        "kernelrank: <standard input>: standard input is closed: give the name of a file, or pipe one in\n"
    )


@pytest.mark.parametrize(
    "words", [["fit", "train.txt", "-o", "a"], ["convert", "train.txt", "a"], ["fit", "a"], ["inspect", "a"]]
)
def test_links_that_lead_back(run, ranking, words):
    (ranking / "a").symlink_to(ranking / "b")
    (ranking / "b").symlink_to(ranking / "a")
    ended = run(*words, code=1)
    assert "unexpected error" not in ended.err
    assert "symbolic link" in ended.err
