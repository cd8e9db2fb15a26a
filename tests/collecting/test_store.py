"""The table of votes: once, in order, undone and withdrawn by rows of their own, and read by everything else."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import threading

import numpy as np
import pandas as pd
import pytest

from kernelrank import Leaderboard
from kernelrank.collecting import Item, VoteRow, VoteStore, read_collected_items
from kernelrank.collecting.items import safe_file
from kernelrank.data import read_pairs
from kernelrank.errors import FileFormatError, InvalidInputError

ITEMS = [Item(name, "text", name.upper()) for name in ("tea", "coffee", "water", "=1+1")]


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    return tmp_path / "votes.db" if request.param == "sqlite" else request.getfixturevalue("postgresql")


def filled(where, questions=("Which is better?",)):
    store = VoteStore(where)
    store.add_items(ITEMS)
    store.ask(list(questions))
    ann, bob = store.judge("a", "Ann"), store.judge("b", "")
    for number, (judge, question, left, right, answer) in enumerate(
        [
            (ann, 0, 0, 1, "left"),
            (bob, 0, 0, 1, "right"),
            (ann, 0, 2, 1, "tie"),
            (bob, 0, 2, 0, "cannot say"),
            (ann, 0, 3, 0, "right"),
            (bob, 0, 3, 1, "left"),
        ]
    ):
        assert store.append(VoteRow(str(number), "vote", judge, question, left, right, answer, comment="=cmd()"))
    assert store.append(VoteRow("6", "vote", ann, 0, 1, 0, "right", repeated=1))
    assert store.append(VoteRow("7", "undo", bob, target="1"))
    return store


def test_every_row_is_kept_once_and_those_that_count_are_told(where):
    with filled(where) as store:
        assert not store.append(VoteRow("5", "vote", 1, 0, 3, 1, "right"))
        rows = store.rows()
        assert [number for number, _ in rows] == sorted(number for number, _ in rows)
        assert [row.id for _, row in rows] == [str(number) for number in range(8)]
        assert store.rows(rows[4][0]) == rows[5:]
        counted = pd.read_csv(io.BytesIO(store.export()))
        assert counted[["left", "right", "winner", "judge"]].to_numpy().tolist() == [
            ["tea", "coffee", "left", "Ann"],
            ["water", "coffee", "tie", "Ann"],
            ["=1+1", "tea", "right", "Ann"],
            ["=1+1", "coffee", "left", "judge 2"],
        ]
        assert set(counted["comment"]) == {"'=cmd()"}
        log = [json.loads(line) for line in store.export("jsonl", everything=True).decode().splitlines()]
        assert [row["valid"] for row in log] == [1, 0, 1, 1, 1, 1, 1, 0]
        assert log[0]["comment"] == "=cmd()"
        parquet = pd.read_parquet(io.BytesIO(store.export("parquet")))
        assert parquet[["left", "right", "winner", "judge"]].equals(counted[["left", "right", "winner", "judge"]])
        assert store.append(VoteRow("8", "withdrawal", 0))
        assert pd.read_csv(io.BytesIO(store.export()))["judge"].tolist() == ["judge 2"]


def test_a_database_is_opened_again_and_grows(where):
    filled(where).close()
    with VoteStore(where) as store:
        assert store.items() == ITEMS
        assert store.add_items([ITEMS[0], Item("milk", "text", "Milk")]) == 1
        assert [item.name for item in store.items()] == ["tea", "coffee", "water", "=1+1", "milk"]
        assert store.judge("a", "anything") == 0
        assert store.judge("c", "Ann") == 2
        assert [name for _, name in store.judges()] == ["Ann", "judge 2", "Ann (2)"]
        assert store.setting("token", "one") == "one"
        assert store.setting("token", "two") == "one"
        store.ask(["Which is better?"])
        with pytest.raises(InvalidInputError, match="expected the questions that votes were collected for"):
            store.ask(["Which is clearer?"])
        assert len(store.rows()) == 8


def test_rows_from_several_connections_come_in_the_order_of_their_numbers(where):
    with filled(where) as reader:
        last = reader.rows()[-1][0]

        def write(judge):
            with VoteStore(where) as store:
                for number in range(25):
                    assert store.append(VoteRow(f"{judge} {number}", "vote", judge, 0, 0, 1, "left"))

        writers = [threading.Thread(target=write, args=(judge,)) for judge in (0, 1)]
        for thread in writers:
            thread.start()
        seen = []
        while any(thread.is_alive() for thread in writers) or reader.rows(last):
            for number, row in reader.rows(last):
                assert number > last
                last = number
                seen.append(row.id)
        assert len(seen) == len(set(seen)) == 50


def test_the_server_may_close_the_connection(postgresql):
    with filled(postgresql) as store:
        store._connection.close()
        assert store.append(VoteRow("again", "vote", 0, 0, 0, 1, "left"))
        assert [row.id for _, row in store.rows()][-1] == "again"


def test_the_password_is_not_shown(tmp_path):
    store = VoteStore(tmp_path / "votes.db")
    store.where, store.is_postgresql = "postgresql://ann:secret@host/votes", True
    assert store.shown_name == "postgresql://host/votes"


def test_a_leaderboard_reads_the_database(tmp_path):
    filled(tmp_path / "votes.db").close()
    found = read_pairs(tmp_path / "votes.db")
    names = found.names[found.pairs].tolist()
    assert names == [["tea", "coffee"], ["water", "coffee"], ["tea", "=1+1"], ["=1+1", "coffee"]]
    assert found.tie.tolist() == [False, True, False, False]
    assert found.side.tolist() == [1, 1, -1, 1]
    assert found.judge.tolist() == ["Ann", "Ann", "Ann", "judge 2"]
    board = Leaderboard().fit(*np.array(names).T, tie=found.tie, judge=found.judge)
    assert board.table()["item"][0] == "tea"


def test_a_question_is_chosen(tmp_path):
    with filled(tmp_path / "votes.db", ["clearer?", "better?"]) as store:
        store.append(VoteRow("9", "vote", 0, 1, 1, 2, "left"))
    assert read_pairs(tmp_path / "votes.db", question="better?").names.tolist() == ["coffee", "water"]
    with pytest.raises(InvalidInputError, match="expected one question; the votes are on 2: 'clearer\\?', 'better\\?'"):
        read_pairs(tmp_path / "votes.db")
    with pytest.raises(InvalidInputError, match="got 'nicer'"):
        read_pairs(tmp_path / "votes.db", question="nicer")
    with pytest.raises(InvalidInputError, match="is no database"):
        read_pairs(io.StringIO("tea coffee\n"), question="nicer")


def test_other_databases_are_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("CREATE TABLE things (name TEXT)")
    with pytest.raises(FileFormatError, match=r"other\.db: expected a database of kernelrank collect; no such table"):
        read_pairs(tmp_path / "other.db")
    (tmp_path / "text.db").write_text("no database at all, but some text that is long enough" * 20)
    with pytest.raises(FileFormatError, match=r"text\.db: expected a file of votes"):
        VoteStore(tmp_path / "text.db")


# Items ----------------------------------------------------------------------------------------------------------------


def test_rows_of_a_table_are_items(tmp_path):
    (tmp_path / "items.csv").write_text('id;text;topic\n1;"two\nlines <b>";a\n2; other ;b\n', encoding="utf-8-sig")
    assert read_collected_items(tmp_path / "items.csv", category="topic") == [
        Item("1", "text", "two\nlines <b>", "a"),
        Item("2", "text", "other", "b"),
    ]
    (tmp_path / "many.tsv").write_text("essay\tgrade\tlength\nx\t1\t20\ny\t2\t30\n")
    assert read_collected_items(tmp_path / "many.tsv")[1] == Item("y", "text", "grade: 2\nlength: 30")
    (tmp_path / "one.csv").write_text("drink\ntea\ncoffee\n")
    assert read_collected_items(tmp_path / "one.csv") == [Item("tea", "text", "tea"), Item("coffee", "text", "coffee")]


def test_files_of_a_folder_are_items_and_nothing_outside_is(tmp_path):
    folder = tmp_path / "items"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"picture")
    (folder / "b.md").write_text("# Title\n")
    (folder / ".hidden.png").write_bytes(b"picture")
    (folder / "notes.doc").write_bytes(b"no")
    (tmp_path / "secret.png").write_bytes(b"secret")
    os.symlink(tmp_path / "secret.png", folder / "link.png")
    assert read_collected_items(folder)[:2] == [Item("a.png", "image", "a.png"), Item("b.md", "text", "# Title")]
    assert safe_file(folder, "a.png") == (folder / "a.png").resolve()
    for hostile in ("../secret.png", "link.png", str(tmp_path / "secret.png"), "b.md", "missing.png", "a\0.png", "."):
        assert safe_file(folder, hostile) is None, hostile


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,text\na,1\na,2\n", "two items are called 'a'"),
        ("id,text\na,1\n", "at least two items to compare; found 1"),
        ("id,text\na,1\n,2\n", "line 3.*expected a name of the item"),
        ("id,text\na\n", "line 2: 1 fields, but the first line names 2 columns"),
        ("id,file\na,../a.png\nb,b.png\n", "line 2.*expected a file in the folder of the table"),
        ("id,file\na,run.exe\nb,b.png\n", "run.exe.*that ends with one of .avif"),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_table_of_items_is_told(tmp_path, text, message):
    (tmp_path / "items.csv").write_text(text)
    (tmp_path.parent / "a.png").write_bytes(b"")
    with pytest.raises(FileFormatError, match=message):
        read_collected_items(tmp_path / "items.csv")
