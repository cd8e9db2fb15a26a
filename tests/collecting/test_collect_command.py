"""The command `collect`: links, exports, designs and plans, and what is refused."""

from __future__ import annotations

import socket

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'kernelrank[collect]'")

from kernelrank.collecting import Item, VoteRow, VoteStore
from kernelrank.serving.service import Server
from tests.cli.conftest import run  # noqa: F401 - a fixture


@pytest.fixture
def drinks(tmp_path):
    """A table of three drinks, and a database with votes on them."""
    (tmp_path / "drinks.csv").write_text("id,text\ntea,Tea\ncoffee,Coffee\nwater,Water\n")
    with VoteStore(tmp_path / "votes.db") as store:
        store.add_items(Item(name, "text", name.title()) for name in ("tea", "coffee", "water"))
        store.ask(["Which is better?"])
        ann, bob = store.judge("a", "Ann"), store.judge("b", "Bob")
        pairs = [(0, 1), (0, 2), (1, 2), (0, 1)]
        rows = (
            VoteRow(f"{judge} {n}", "vote", judge, 0, *pair, "left")
            for judge in (ann, bob)
            for n, pair in enumerate(pairs)
        )
        assert store.append(*rows) == 8
    return tmp_path


@pytest.fixture
def served(monkeypatch):
    """Servers that listen, and end at once."""
    monkeypatch.setattr(Server, "run", lambda *_: None)


def test_the_links_are_the_same_until_new_ones_are_made(run, drinks, served):  # noqa: F811
    words = ["collect", "drinks.csv", "--port", 0, "--json"]
    first, again = run(*words).json, run(*words).json
    assert (first["items"], first["votes"], first["database"]) == (3, 8, "votes.db")
    assert first["judges"].startswith("http://127.0.0.1:")
    assert len({first["judges"].split("/")[4], first["owner"].split("/")[4]}) == 2
    ends = [[found[kind].split("/")[4] for kind in ("judges", "owner")] for found in (first, again)]
    assert ends[0] == ends[1]
    new = run(*words, "--new-links").json
    assert not set(ends[0]) & {new[kind].split("/")[4] for kind in ("judges", "owner")}


def test_links_name_a_machine_that_others_can_reach(run, drinks, served):  # noqa: F811
    found = run("collect", "drinks.csv", "--port", 0, "--host", "0.0.0.0")
    assert f"http://{socket.gethostname()}:" in found.out
    assert "0.0.0.0 can be reached from other machines" in found.err


def test_votes_are_exported_and_a_leaderboard_reads_the_database(run, drinks):  # noqa: F811
    for name, read in (("v.csv", pd.read_csv), ("v.parquet", pd.read_parquet), ("v.jsonl", pd.read_json)):
        run("collect", "drinks.csv", "--export", name)
        found = read(drinks / name, lines=True) if name == "v.jsonl" else read(drinks / name)
        assert found["left"].tolist() == ["tea", "tea", "coffee", "tea"] * 2
        assert found["judge"].tolist() == ["Ann"] * 4 + ["Bob"] * 4
    boards = [run("leaderboard", name, "--json").json for name in ("votes.db", "v.csv", "v.parquet", "v.jsonl")]
    items = [[(row["item"], row["score"]) for row in board["items"]] for board in boards]
    assert [name for name, _ in items[0]] == ["tea", "coffee", "water"]
    assert items[1:] == [items[0]] * 3


def test_a_plan_says_what_a_number_of_votes_tells(run, drinks):  # noqa: F811
    words = ["--votes", 12, "--judges", 8, "--spread", 2, "--seed", 3]
    found = run("collect", "drinks.csv", "--simulate", *words).out
    assert "3 items, 8 simulated judges, adaptive pairs, scores with standard deviation 2" in found
    rows = [line.split() for line in found.splitlines() if "%" in line]
    assert [len(row) for row in rows] == [5] * len(rows)
    assert rows[-1][0] == "12"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["drinks.csv", "--until", "top=x"], "--until: expected top=K with a number of items, such as top=5"),
        (["drinks.csv", "--design", "best"], "--design: expected adaptive, random or a file of pairs; got 'best'"),
        (["drinks.csv", "--design", "drinks.csv"], "there is no item 'Tea'"),
        (["drinks.csv", "--design", "three.csv"], "three.csv, line 2: expected two different items in two columns"),
        (["drinks.csv", "--design", "equal.csv"], "equal.csv, line 3: expected two different items in two columns"),
        (["drinks.csv", "--simulate", "--design", "equal.csv"], "expected adaptive or random with --simulate"),
        (["drinks.csv", "--export", "v.xlsx"], "Expected one of the formats csv, jsonl, parquet; got 'xlsx'"),
        (["drinks.csv", "--export", "v.csv", "--database", "other.db"], "there is no file other.db"),
        (["drinks.csv", "--categories", "kind"], "there is no column 'kind' for the categories"),
        (["drinks.csv", "--question", "Other?"], "expected the questions that votes were collected for"),
        (["ranking.txt"], "expected a CSV, TSV, Parquet or Excel table"),
        (["nothing.csv"], "nothing.csv: there is no such file"),
    ],
)
def test_what_cannot_be_done_is_told(run, drinks, served, words, message):  # noqa: F811
    (drinks / "three.csv").write_text("a,b,c\ntea,coffee,water\n")
    (drinks / "equal.csv").write_text("a,b\ntea,coffee\ntea,tea\n")
    (drinks / "ranking.txt").write_text("1 qid:1 1:0.5\n")
    assert message in " ".join(run("collect", *words, "--port", 0, code=1).err.split())
    assert not (drinks / "other.db").exists()
