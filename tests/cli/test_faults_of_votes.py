"""Files of votes with faults, in ``leaderboard``, ``fit``, ``tune`` and ``evaluate``: what the messages say."""

from __future__ import annotations

import pytest

METHODS = ("rankrls", "bradley_terry")


@pytest.fixture
def drinks(tmp_path):
    """Four items in drinks.csv."""
    rows = ["ice tea,1,2", "black coffee,2,1", "water,0,0", "milk,3,1"]
    (tmp_path / "drinks.csv").write_text("\n".join(["name,size,price", *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_tuned_on_one_judge_or_vote(run, drinks, method):
    words = ("tune", "drinks.csv", "--pairs", "votes.csv", "--method", method, "-o", "model.kr")
    rows = "ice tea,water,ann\nmilk,water,ann\nice tea,milk,ann\n"
    (drinks / "votes.csv").write_text("winner,loser,judge\n" + rows)
    ended = run(*words, code=1)
    assert "votes.csv: expected at least two judges to hold out one at a time; found 'ann' only" in ended.err
    assert "An empty --judge holds out votes instead" in ended.err
    assert not (drinks / "model.kr").exists()
    run(*words, "--judge", "")
    (drinks / "votes.csv").write_text("winner,loser,weight\nice tea,water,1\nmilk,water,0\n")
    ended = run(*words, code=1)
    assert "votes.csv: expected at least two votes to hold out; found 1. Use kernelrank fit with --alpha" in ended.err


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_tuned_on_ties(run, drinks, method):
    (drinks / "votes.csv").write_text("left,right,winner\nice tea,water,tie\nmilk,water,tie\n")
    ended = run("tune", "drinks.csv", "--pairs", "votes.csv", "--method", method, code=1)
    assert "votes.csv: has only ties, which neither order agrees with, so that alpha cannot be chosen" in ended.err


def test_weights_of_zero_are_a_fault_of_the_votes(run, drinks):
    (drinks / "votes.csv").write_text("winner,loser\nice tea,water\nmilk,water\n")
    run("fit", "drinks.csv", "--pairs", "votes.csv")
    (drinks / "votes.csv").write_text("winner,loser,weight\nice tea,water,0\nmilk,water,0\n")
    commands = [
        ["leaderboard", "votes.csv"],
        ["evaluate", "model.kr", "drinks.csv", "--pairs", "votes.csv"],
        *(["fit", "drinks.csv", "--pairs", "votes.csv", "--method", method] for method in (*METHODS, "ranksvm")),
        *(["tune", "drinks.csv", "--pairs", "votes.csv", "--method", method] for method in METHODS),
        ["tune", "drinks.csv", "--pairs", "votes.csv", "--method", "bradley_terry", "--alphas", "1,2"],
    ]
    for words in commands:
        ended = run(*words, code=1)
        assert "kernelrank: votes.csv: every weight is zero: expected a vote with a weight above zero" in ended.err


@pytest.mark.parametrize("flag", ["--winner", "--loser", "--left", "--right", "--tie", "--judge", "--pair-weight"])
def test_columns_of_votes_need_votes(run, ranking, flag):
    run("fit", "train.txt")
    for words in (["fit", "train.txt"], ["tune", "train.txt"], ["evaluate", "model.kr", "test.txt"]):
        if words[0] == "evaluate" and flag == "--judge":
            continue
        ended = run(*words, flag, "column", code=1)
        assert f"{flag} names a column of preferences: give their file by --pairs, or remove {flag}" in ended.err


def test_invalid_votes_are_skipped_when_asked(run, drinks):
    rows = "ice tea,water,left\nmilk,water,invalid\nmilk,ice tea,right\nmilk,milk,left\nmilk,water,\n"
    (drinks / "votes.csv").write_text("left,right,winner\n" + rows)
    ended = run("leaderboard", "votes.csv", code=1)
    assert "votes.csv: 2 invalid votes: 1 as in line 3, column 'winner': 'invalid' does not name a winner" in ended.err
    assert ended.err.endswith("; --skip-invalid leaves them out\n")
    board = run("leaderboard", "votes.csv", "--skip-invalid", "--json").json
    assert board["n_votes"] == 2
    assert "left out: 2 invalid votes" in board["notes"][0]
    assert "left out: 1 vote between an item and itself" in board["notes"][0]
    model = ("drinks.csv", "--pairs", "votes.csv", "--skip-invalid")
    assert "left out: 2 invalid votes" in run("fit", *model).err
    assert "--skip-invalid names a column" not in run("evaluate", "model.kr", *model).err
    assert "--skip-invalid is for preferences" in run("fit", "drinks.csv", "--skip-invalid", code=1).err


def test_one_tie_is_one(run, drinks):
    (drinks / "votes.csv").write_text("left,right,winner\nice tea,water,tie\nmilk,water,left\n")
    assert "left out: 1 tie, which" in run("fit", "drinks.csv", "--pairs", "votes.csv", "--method", "ranksvm").err
    told = run("evaluate", "model.kr", "drinks.csv", "--pairs", "votes.csv")
    assert "left out: 1 tie, which" in told.err


def test_a_missing_judge_can_be_left_out(run, drinks):
    (drinks / "votes.csv").write_text("winner,loser,user\nice tea,water,ann\nmilk,water,\n")
    ended = run("leaderboard", "votes.csv", code=1)
    assert "votes.csv, line 3, column 'user': the cell is empty: expected a label" in ended.err
    assert "An empty name for --judge leaves judges out" in ended.err
    run("leaderboard", "votes.csv", "--judge", "")


def test_names_with_spaces_need_a_table(run, drinks):
    (drinks / "votes.txt").write_text("ice tea water\nmilk water\n")
    ended = run("leaderboard", "votes.txt", code=1)
    assert "the magnitude 'water' is not a finite number, zero or more" in ended.err
    assert "names with spaces need a CSV file whose first line is winner,loser" in ended.err


def test_a_file_without_votes(run, drinks):
    for text in ("", "\n", "winner,loser\n", "model_a,model_b,winner\n"):
        (drinks / "votes.csv").write_text(text)
        ended = run("leaderboard", "votes.csv", code=1)
        assert ended.err == "kernelrank: votes.csv: the file has no preferences: expected one in each row\n"
    (drinks / "votes.csv").write_text("winner\nice tea\n")
    assert "line 1: 1 column: expected winner loser" in run("leaderboard", "votes.csv", code=1).err
