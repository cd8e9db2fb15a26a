"""The command writes nothing of the data that a terminal would obey, and ends as Ctrl-C asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from kernelrank.base.text import OBEYED
from kernelrank.cli.app import failures_told
from kernelrank.data import read_items

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

    monkeypatch.setattr("kernelrank.data.write_items", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ended = assert_harmless(run("convert", "train.txt", "a.csv", code=1))
    assert ended.err.startswith("note: of \\x1b")


def test_interruption_of_a_command(capsys):
    with pytest.raises(typer.Exit) as ended, failures_told():
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert "stopped; nothing was left half written" in capsys.readouterr().err


def test_interruption_before_the_command_runs():
    program = "import kernelrank.cli as cli\ndef run():\n    raise KeyboardInterrupt\ncli._run = run\ncli.main()"
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


# Pages ----------------------------------------------------------------------------------------------------------------

NASTY = "\x1b[31m\x00\x9b\u202e$evil$\u2066\ufeff<b>&"
"""For cells; a CSV file may hold a NUL inside quotes."""


def nasty_table(path, columns):
    import csv

    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])


@pytest.fixture
def nasty(tmp_path):
    """Files of every kind, with names of columns, queries, items, classes and files that a terminal would obey."""
    import numpy as np

    rng = np.random.default_rng(0)
    X, bad = rng.standard_normal((48, 3)).round(3), NASTY.replace("\x00", "")
    cells = {f"{bad}{k}": column.tolist() for k, column in enumerate(X.T)}
    ids = [f"{bad} item {k}" for k in range(48)]
    grade = (X[:, 0] + rng.standard_normal(48) > 0).astype(int)
    made = tmp_path / "made"
    made.mkdir()
    names = {
        name: str(made / f"{name}\x1b[2J\u202e.csv")
        for name in ("ranking", "cohort", "survival", "votes", "rows", "columns", "scores")
    }
    nasty_table(
        names["ranking"], {"qid": [f"{bad}{k % 6}" for k in range(48)], "id": ids, "relevance": grade.tolist(), **cells}
    )
    classes = [f"{bad}{'ill' if one else 'well'}" for one in grade]
    nasty_table(
        names["cohort"], {"id": ids, "outcome": classes, f"word{bad}": [f"{bad}{k % 3}" for k in range(48)], **cells}
    )
    times = rng.exponential(size=48).round(3).tolist()
    nasty_table(names["survival"], {"id": ids, "months": times, "died": grade.tolist(), **cells})
    a, b = rng.integers(8, size=300), rng.integers(1, 8, size=300)
    players = {"winner": [ids[k] for k in a], "loser": [ids[k] for k in (a + b) % 8]}
    nasty_table(names["votes"], {**players, "judge": [f"{bad}{k % 3}" for k in range(300)]})
    nasty_table(names["rows"], {"name": ids[:12], **{name: column[:12] for name, column in cells.items()}})
    nasty_table(names["columns"], {"name": ids[20:30], **{name: column[20:30] for name, column in cells.items()}})
    scores = (X[:12] @ X[20:30].T).round(2)
    nasty_table(names["scores"], {"": ids[:12], **dict(zip(ids[20:30], scores.T.tolist(), strict=True))})
    return names


PAGES = {
    "ranking": "tune {ranking} -o m.kr --report {page}",
    "comparison": "compare m.kr m.kr {ranking} --report {page}",
    "auc": "auc {cohort} --target outcome --permutations 20 --report {page}",
    "selection": "select {cohort} --target outcome -k 2 --report {page}",
    "concordance": "concordance {survival} --time months --event died --report {page}",
    "survival": "tune {survival} --time months --event died --report {page}",
    "leaderboard": "leaderboard {votes} --report {page}",
    "dyads": "dyads evaluate --rows {rows} --columns {columns} --scores {scores} --report {page}",
    "card": "inspect m.kr --card {page} --data {ranking}",
}


@pytest.mark.parametrize("kind", PAGES)
def test_pages_hold_nothing_that_a_terminal_or_a_browser_obeys(run, nasty, tmp_path, kind):
    page = tmp_path / f"page{EVIL}.html"
    if "m.kr" in PAGES[kind] and "-o m.kr" not in PAGES[kind]:
        run("fit", nasty["ranking"], "-o", "m.kr")
    words = [word.format(page=page, **nasty) for word in PAGES[kind].split()]
    assert_harmless(run(*words))
    text = page.read_text(encoding="utf-8")
    assert not OBEYED.search(text.replace("\n", "")), sorted(set(OBEYED.findall(text)) - {"\n"})
    assert r"\x1b[31m" in text  # shown, not left out
    if kind != "card":
        assert "<b>&" not in text


# Files that are damaged, and disks that are full ----------------------------------------------------------------------


def test_damaged_parquet_is_one_line(run, ranking):
    run("convert", "train.txt", "train.parquet")
    whole = (ranking / "train.parquet").read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for place in range(footer, len(whole) - 8, 7):
        damaged = bytearray(whole)
        damaged[place : place + 4] = b"\x1b\x07\x00\xe2"
        (ranking / "a.parquet").write_bytes(damaged)
        ended = assert_harmless(run("convert", "a.parquet", "b.csv", code=None))
        if ended.code:
            assert ended.err.count("\n") == 1
            with pytest.raises(ValueError, match=r"a\.parquet") as error:
                read_items("a.parquet")
            assert not OBEYED.search(str(error.value)), repr(str(error.value))


FULL = {
    "model": "fit train.txt -o {}",
    "page": "tune train.txt --report {}",
    "csv": "convert train.txt {}.csv",
    "gz": "convert train.txt {}.csv.gz",
    "parquet": "convert train.txt {}.parquet",
    "scores": "predict m.kr test.txt -o {}",
    "onnx": "export m.kr -o {}.onnx",
    "card": "inspect m.kr --card {}",
}


@pytest.mark.parametrize("kind", FULL)
def test_a_full_disk_names_the_file(run, ranking, monkeypatch, kind):
    import errno
    import os

    from kernelrank.persistence import atomic

    class Full:
        """A file of a disk that takes nothing."""

        def __init__(self, file):
            self.file = file

        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        writelines = write

        def __getattr__(self, name):
            return getattr(self.file, name)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

    if "m.kr" in FULL[kind]:
        run("fit", "train.txt", "-o", "m.kr")
    monkeypatch.setattr(atomic, "open", lambda path, mode: Full(Path(path).open(mode)), raising=False)  # noqa: SIM115
    words = FULL[kind].format("out").split()
    ended = run(*words, code=1)
    assert ended.err.strip().splitlines()[-1] == f"kernelrank: {words[-1]}: No space left on device"
    assert not [
        place.name for place in ranking.iterdir() if "out" in place.name or place.name.startswith(".kernelrank")
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is of Linux")
@pytest.mark.parametrize(
    "words", [["convert", "train.txt", "-", "--to", "csv"], ["fit", "train.txt"], ["fit", "train.txt", "--json"]]
)
def test_full_standard_output(ranking, words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "kernelrank.cli", *words]
        ended = subprocess.run(command, cwd=ranking, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines()[-1] == "kernelrank: standard output: No space left on device"


def test_a_full_device_is_named(run, ranking):
    if sys.platform.startswith("linux"):
        ended = run("convert", "train.txt", "/dev/full", "--to", "csv", code=1)
        assert ended.err.strip().splitlines()[-1] == "kernelrank: /dev/full: No space left on device"
