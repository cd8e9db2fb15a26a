"""``kernelrank leaderboard``: what it reads, prints and writes."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr
from tests.report.html_page import HTMLPage


@pytest.fixture
def arena(tmp_path):
    """An arena log of six models and five judges, of whom the last votes at random."""
    rng = np.random.default_rng(0)
    rows = ["model_a,model_b,worker,winner"]
    for number in range(400):
        a, b = rng.choice(6, 2, replace=False)
        chance = 0.5 if number % 5 == 4 else 1 / (1 + np.exp(a - b))
        word = "tie" if rng.random() < 0.1 else ("model_a" if rng.random() < chance else "model_b")
        rows.append(f'"model, {a}",model {b},judge {number % 5},{word}'.replace("model, ", "model "))
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_answer_is_that_of_the_class(run, arena):
    facts = run("leaderboard", arena, "--json", "--next", 3).json
    votes = kr.read_pairs(arena)
    winners, losers = votes.names[votes.pairs].T
    board = kr.Leaderboard().fit(winners, losers, tie=votes.tie, judge=votes.judge)
    table = board.table()
    assert [row["item"] for row in facts["items"]] == table["item"].tolist() == [f"model {k}" for k in range(6)]
    np.testing.assert_allclose([row["low"] for row in facts["items"]], table["low"])
    assert facts["groups"] == board.separable_groups()
    assert facts["next_pairs"] == [list(pair) for pair in board.next_pair(3)]
    assert facts["alpha"] == board.alpha_
    assert [judge["judge"] for judge in facts["judges"] if judge["flagged"]] == ["judge 4"]
    assert len(facts["neighbours"]) == 5
    assert any("the judges are column 'worker'" in note for note in facts["notes"])


def test_the_page_and_the_table(run, arena):
    ended = run("leaderboard", arena, "--report", "page.html", "--top", 2)
    assert "4 more items: --top 6 prints all of them." in ended.out
    assert "1 of 5 judges disagree with the rest" in ended.out
    assert "The report is in page.html." in ended.out
    page = HTMLPage((arena.parent / "page.html").read_text())
    sections = {found.attributes["aria-labelledby"]: found.text for found in page.all("section")}
    assert list(sections) == ["ranking", "apart", "probabilities", "judges", "next", "warnings", "repeat"]
    assert "1. model 0" in sections["ranking"]
    assert "1 judge of 5 is flagged" in sections["judges"]


def test_items_without_votes_are_ranked_by_features(run, arena):
    (arena.parent / "items.csv").write_text("id,size\n" + "".join(f"model {k},{10 - k}\n" for k in range(8)))
    facts = run("leaderboard", arena, "--items", "items.csv", "--json").json
    assert {row["item"] for row in facts["items"] if row["votes"] == 0} == {"model 6", "model 7"}
    assert facts["items"][-1]["item"] in ("model 6", "model 7")
    (arena.parent / "few.csv").write_text("id,size\nmodel 0,1\nmodel 1,2\n")
    assert "model" in run("leaderboard", arena, "--items", "few.csv", code=1).err


def test_a_preflib_file_needs_no_options(run, tmp_path):
    lines = ["# FILE NAME: teas.soc", "# DATA TYPE: soc", "# NUMBER ALTERNATIVES: 3", "# NUMBER VOTERS: 5"]
    lines += ["# NUMBER UNIQUE ORDERS: 2", *(f"# ALTERNATIVE NAME {k}: tea {k}" for k in (1, 2, 3))]
    (tmp_path / "teas.soc").write_text("\n".join([*lines, "4: 1,2,3", "1: 2,3,1"]) + "\n")
    facts = run("leaderboard", "teas.soc", "--json").json
    assert [row["item"] for row in facts["items"]] == ["tea 1", "tea 2", "tea 3"]


def test_what_is_refused(run, arena):
    assert (
        "--alpha: expected auto or a positive number; got 'much'"
        in run("leaderboard", arena, "--alpha", "much", code=1).err
    )
    assert run("leaderboard", arena, "--alpha", -1, code=1).err
    assert "is also an input file" in run("leaderboard", arena, "--report", arena, code=1).err


def test_methods_are_spelt_as_in_fit(run, arena):
    assert run("leaderboard", arena, "--method", "bradleyterry", "--json").json["model"] == "bradley_terry"
    assert run("leaderboard", arena, "--model", "least_squares", "--json").json["model"] == "least_squares"
    assert "'elo' is not one of 'bradley_terry'" in run("leaderboard", arena, "--model", "elo", code=2).err


def test_faults_of_a_file_name_the_options(run, tmp_path):
    (tmp_path / "votes.csv").write_text("left,right,thing here\na,b,left\n")
    assert (
        "no column looks like the winner: name it with --winner; the columns"
        in run("leaderboard", "votes.csv", code=1).err
    )


def test_numbers_of_votes_are_written_out(run, tmp_path):
    rows = "".join(f"a,b,{weight}\nb,a,{weight}\n" for weight in (12_345, 0.5, 0.125))
    (tmp_path / "votes.csv").write_text("winner,loser,weight\n" + rows)
    printed = run("leaderboard", "votes.csv").out
    assert "24,691.2" in printed
    assert "e+04" not in printed
    assert "-0.00" not in printed
