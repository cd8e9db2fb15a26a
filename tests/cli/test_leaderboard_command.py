"""``kernelrank leaderboard``: what it reads, prints and writes."""

from __future__ import annotations

import json
import re

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
    assert facts["n_votes"] == 5
    assert "3 items, 5 rankings of teas.soc" in run("leaderboard", "teas.soc", "--report", "page.html").out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<dt>rankings</dt>" in page
    assert "Plackett–Luce model of rankings" in page
    pairs = run("leaderboard", "teas.soc", "--orders", "pairs", "--json").json
    assert pairs["n_votes"] == 6
    assert run("leaderboard", "teas.soc", "--method", "least_squares", "--json").json["n_votes"] == 6
    assert "ties='half'" in run("leaderboard", "teas.soc", "--orders", "rankings", "--ties", "davidson", code=1).err


def test_machine_judges_are_calibrated_and_votes_held_out(run, arena):
    facts = run(
        "leaderboard", arena, "--machine-judges", "judge 4,*3", "--held-out", 3, "--json", "--report", "page.html"
    ).json
    assert {row["judge"] for row in facts["machine_judges"]} == {"judge 3", "judge 4"}
    assert facts["machine_worth"] < 160
    assert [row["board"] for row in facts["held_out"]] == ["plain", "machine judges"]
    assert 0.2 < facts["held_out"][0]["log_loss"] < 0.7
    assert "human votes" in (arena.parent / "page.html").read_text()
    said = run("leaderboard", arena, "--machine-judges", "judge 4", "--held-out", 3).out
    assert "What machine judges are worth" in said
    assert "called 'gpt'" in run("leaderboard", arena, "--machine-judges", "gpt", code=1).err
    assert "PrefLib" in run("leaderboard", arena, "--orders", "pairs", code=1).err


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


@pytest.fixture
def json_arena(tmp_path):
    """Records of JSON with nested names: longer answers win more, and are given by the worse models."""
    rng, rows = np.random.default_rng(0), []
    for number in range(900):
        a, b = rng.choice(6, 2, replace=False)
        length = rng.integers(1, 40, 2) + 10 * np.array([a, b])
        chance = 1 / (1 + np.exp(0.4 * (a - b) - 0.06 * (length[0] - length[1])))
        row = {"model_a": f"m<{a}>", "model_b": f"m<{b}>", "winner": "model_a" if rng.random() < chance else "model_b"}
        if number % 10 == 0:
            row["winner"] = "tie"
        row |= {"tokens_a": int(length[0]), "tokens_b": int(length[1]), "texts": ["long", "texts"]}
        row |= {"conversation": {"language": ["fi", "en"][number % 2]}, "voted_at": f"2024-0{1 + number // 100}-01"}
        rows.append(json.dumps(row))
    path = tmp_path / "arena.jsonl"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_what_votes_were_about(run, json_arena):
    about = ["--covariates", "tokens,side", "--category", "conversation.language", "--time", "voted_at"]
    scaled = ["--scale", "elo", "--anchor", "m<0>=1000", "--ties", "davidson"]
    facts = run("leaderboard", json_arena, *about, *scaled, "--json", "--report", "page.html").json
    effects = {row["covariate"]: row for row in facts["covariates"]}
    assert effects["tokens"]["low"] > 0.3
    assert effects["side"]["low"] < 0.1
    assert facts["items"][0]["item"] == "m<0>"
    assert facts["items"][0]["score"] == pytest.approx(1000.0)
    assert facts["items"][0]["plain_rank"] > 1
    assert [board["category"] for board in facts["categories"]] == ["fi", "en"]
    assert len(facts["trajectories"]) == 9 * 6
    assert facts["trajectories"][0]["time"].startswith("2024-01-01")
    assert [row["part"] for row in facts["variation"]] == ["items", "categories", "drift", "length"]
    assert any("root mean squares: tokens" in note for note in facts["notes"])
    page = (json_arena.parent / "page.html").read_text()
    assert "m<0>" not in page
    sections = {found.attributes["aria-labelledby"]: found.text for found in HTMLPage(page).all("section")}
    assert {"covariates", "categories", "times"} <= set(sections)
    assert "m<0> has 1000" in sections["ranking"].replace(",", "")
    start = re.search(r'class="axis".*?<i>(\d+)</i>', page)
    assert abs(int(start[1]) - min(row["low"] for row in facts["items"])) < 2  # points of Elo, from the lowest end on
    ended = run("leaderboard", json_arena, *about)
    assert "Effects of covariates, in logits" in ended.out
    assert "Ranks in each category" in ended.out


def test_votes_of_a_period(run, json_arena):
    facts = run("leaderboard", json_arena, "--since", "2024-03-01", "--until", "2024-05", "--json").json
    assert facts["n_votes"] == 200
    assert any("since 2024-03-01 until 2024-05: 200 of 900 votes" in note for note in facts["notes"])
    assert "trajectories" not in facts
    for wrong, said in (
        (["--since", "spring"], "--since is 'spring': expected a date"),
        (["--covariates", "words"], "no column 'words'"),
        (["--anchor", "m<0>"], "expected ITEM=SCORE"),
        (["--anchor", "m9=1"], "item of the votes"),
        (["--time", "conversation.language"], "is no time"),
    ):
        assert said in " ".join(run("leaderboard", json_arena, *wrong, code=1).err.split())
