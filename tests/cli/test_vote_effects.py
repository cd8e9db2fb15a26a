"""Options of models of votes, of ``fit``, ``tune`` and ``evaluate``: the side bias, ties and effects of judges."""

from __future__ import annotations

import numpy as np
import pytest

import kernelrank as kr

LIKELY = ("--method", "bradley_terry")


def write_votes(path, scores, seed, n_votes=240, bias=0.8):
    """Votes of an arena log, of four judges; the first prefers the left side more than the others do."""
    rng = np.random.default_rng(seed)
    rows = ["model_a,model_b,winner,user"]
    for number in range(n_votes):
        a, b = rng.choice(len(scores), 2, replace=False)
        d = scores[a] - scores[b] + bias + (number % 4 == 0)
        chances = np.array([np.exp(d / 2), np.exp(-d / 2), 0.7])
        word = ("model_a", "model_b", "tie")[rng.choice(3, p=chances / chances.sum())]
        rows.append(f"model {a},model {b},{word},judge {number % 4}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def arena(tmp_path):
    """Eight items with two features in items.csv, and their votes in votes.csv and later.csv."""
    X = np.random.default_rng(0).normal(size=(8, 2)).round(2)
    rows = [f"model {number},{a},{b}" for number, (a, b) in enumerate(X.tolist())]
    (tmp_path / "items.csv").write_text("\n".join(["id,size,speed", *rows]) + "\n")
    write_votes(tmp_path / "votes.csv", X @ [1.0, 0.5], 1)
    write_votes(tmp_path / "later.csv", X @ [1.0, 0.5], 2)
    return X


def read(path, X):
    return kr.read_pairs(path, items=[f"model {number}" for number in range(len(X))])


def fitted(X, votes, **options):
    given = {"tie": votes.tie, "side": votes.side, "judge": votes.judge}
    return kr.BradleyTerry(**options).fit_pairs(X, votes.pairs, **given)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--side-bias"], {"side_bias": True}),
        (["--ties", "half"], {}),
        (["--ties", "davidson"], {"ties": "davidson"}),
        (["--judge-effect", "side"], {"judge_effect": "side"}),
        (["--judge-effect", "scale"], {"judge_effect": "scale"}),
        (
            ["--side-bias", "--ties", "davidson", "--judge-effect", "side", "--judge", "user"],
            {"side_bias": True, "ties": "davidson", "judge_effect": "side"},
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_fit_learns_what_the_class_learns(run, arena, tmp_path, words, options):
    told = run("fit", "items.csv", "--pairs", "votes.csv", *LIKELY, *words, "--json").json
    expected = fitted(arena, read("votes.csv", arena), **options)
    model = kr.load(tmp_path / "model.kr")
    inspected = run("inspect", "model.kr", "--json").json
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-10)
    for found in (told, inspected):
        assert ("side_bias" in found) == ("side_bias" in options)
        assert ("ties" in found) == ("ties" in options)
        assert ("judge_effects" in found) == ("judge_effect" in options)
        if "side_bias" in options:
            assert found["side_bias"]["value"] == pytest.approx(expected.side_bias_)
            assert found["side_bias"]["std_error"] == pytest.approx(expected.side_bias_std_)
        if "ties" in options:
            outcomes = expected.predict_proba(arena[[0, 0]], [[0, 1]], side=[1])[0]
            assert found["ties"]["log"] == pytest.approx(expected.tie_log_)
            assert found["ties"]["share_of_equal_items"] == pytest.approx(outcomes[2])
        if "judge_effect" in options:
            effects = dict(zip(expected.judges_, expected.judge_effects_, strict=True))
            assert {one["judge"]: one["effect"] for one in found["judge_effects"]} == pytest.approx(effects)


def test_the_effects_are_printed(run, arena):
    votes = ("fit", "items.csv", "--pairs", "votes.csv", *LIKELY)
    printed = run(*votes, "--side-bias", "--ties", "davidson", "--judge-effect", "side").out
    model = kr.load("model.kr")
    bias, error = model.side_bias_, model.side_bias_std_
    first, second, tie = model.predict_proba(arena[[0, 0]], [[0, 1]], side=[1])[0]
    assert f"{bias:.3f}, standard error {error:.3f}: of two equal items, the one on the first side wins" in printed
    assert f"{first:.1%}" in printed
    assert f"{second:.1%}" in printed
    assert f"{tie:.1%} of the votes between equal items" in printed
    assert "Judges, the strongest preference for a side first" in printed
    assert "added side bias" in printed
    assert f"judge 0           {model.judge_effects_[model.judges_ == 'judge 0'][0]:+.3f}" in printed
    printed = run("inspect", "model.kr").out
    assert f"{bias:.3f}, standard error {error:.3f}" in printed
    assert "judge 0" in printed
    printed = run(*votes, "--judge-effect", "side").out
    assert "added" not in printed
    printed = run(*votes, "--judge-effect", "scale").out
    assert "Judges, the most random votes first" in printed
    assert "factor of the differences" in printed
    assert "side bias" not in printed
    assert "side bias" not in run(*votes).out


def test_only_some_of_many_judges_are_listed(run, arena, tmp_path):
    lines = (tmp_path / "votes.csv").read_text().splitlines()
    rows = [f"{line.rpartition(',')[0]},judge {number % 12}" for number, line in enumerate(lines[1:])]
    (tmp_path / "votes.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    words = ("fit", "items.csv", "--pairs", "votes.csv", *LIKELY, "--judge-effect", "side")
    printed = run(*words).out
    assert "first, 10 of 12 judges" in printed
    assert sum(line.startswith("judge ") for line in printed.splitlines()) == 11  # with the heading
    assert len(run(*words, "--json").json["judge_effects"]) == 12


def test_davidson_without_a_tie_says_so(run, arena, tmp_path):
    rows = [line for line in (tmp_path / "votes.csv").read_text().splitlines() if ",tie," not in line]
    (tmp_path / "votes.csv").write_text("\n".join(rows) + "\n")
    words = ("fit", "items.csv", "--pairs", "votes.csv", *LIKELY, "--ties", "davidson")
    assert "none in the votes" in run(*words).out
    assert run(*words, "--json").json["ties"] == {"log": None, "share_of_equal_items": 0.0}
    told = run("evaluate", "model.kr", "items.csv", "--pairs", "later.csv")
    assert "Log-loss infinite: the model was trained on votes without ties" in told.out
    assert run("evaluate", "model.kr", "items.csv", "--pairs", "later.csv", "--json").json["log_loss"] is None


def test_tune_chooses_with_the_effects(run, arena, tmp_path):
    words = ("tune", "items.csv", "--pairs", "votes.csv", *LIKELY, "--alphas", "0.1,1,10", "-o", "tuned.kr", "--json")
    told = run(*words, "--side-bias", "--ties", "davidson", "--judge-effect", "side").json
    votes = read("votes.csv", arena)
    given = {"tie": votes.tie, "side": votes.side, "judge": votes.judge}
    learner = kr.BradleyTerry(side_bias=True, ties="davidson", judge_effect="side")
    losses = kr.leave_preferences_out(
        learner, arena, votes.pairs, groups=votes.judge, alphas=[0.1, 1.0, 10.0], **given
    ).log_loss
    assert told["log_loss"] == pytest.approx(min(losses))
    model = kr.load(tmp_path / "tuned.kr")
    assert told["side_bias"]["value"] == model.side_bias_
    assert told["judge_effects"][0]["effect"] == pytest.approx(max(model.judge_effects_, key=abs))
    plain = run(*words).json
    assert told["log_loss"] != plain["log_loss"]
    assert "side_bias" not in plain


def test_evaluate_uses_sides_and_ties(run, arena, tmp_path):
    words = ("fit", "items.csv", "--pairs", "votes.csv", *LIKELY)
    judged = ("evaluate", "model.kr", "items.csv", "--pairs", "later.csv")
    later = read("later.csv", arena)
    for options in ([], ["--side-bias"], ["--side-bias", "--ties", "davidson"], ["--scale", "--side-bias"]):
        run(*words, *options)
        model = kr.load("model.kr")
        told = run(*judged, "--json").json
        ranker = model[-1] if "--scale" in options else model
        outcomes = ranker.predict_proba(
            model[:-1].transform(arena) if "--scale" in options else arena, later.pairs, side=later.side
        )
        tie = outcomes[:, 2] if "davidson" in options else np.sqrt(outcomes[:, 0] * outcomes[:, 1])
        expected = -np.log(np.where(later.tie, tie, outcomes[:, 0])).mean()
        assert told["log_loss"] == pytest.approx(expected, rel=1e-12)
        printed = run(*judged).out
        sides = ", with the side of each item" if "--side-bias" in options else ""
        assert f"Log-loss {expected:.4f} of 240 votes, ties included{sides}." in printed
    pairs = later.names[later.pairs[~later.tie]]
    rows = "".join(f"{winner},{loser}\n" for winner, loser in pairs)
    (tmp_path / "plain.csv").write_text("winner,loser\n" + rows)
    ended = run("evaluate", "model.kr", "items.csv", "--pairs", "plain.csv")
    assert "plain.csv: has no sides, so that the log-loss leaves the side bias of the model out" in ended.err
    assert f"of {len(pairs)} votes." in ended.out
    run("fit", "items.csv", "--pairs", "votes.csv", "--method", "rankrls")
    assert "log_loss" not in run(*judged, "--json").json


def test_what_the_file_of_votes_lacks(run, arena, tmp_path):
    votes = read("votes.csv", arena)
    rows = "".join(f"{winner},{loser}\n" for winner, loser in votes.names[votes.pairs[~votes.tie]])
    (tmp_path / "plain.csv").write_text("winner,loser\n" + rows)
    for command in ("fit", "tune"):
        words = (command, "items.csv", "--pairs", "plain.csv", *LIKELY)
        ended = run(*words, "--side-bias", code=1)
        assert "plain.csv: --side-bias needs the side of each item: expected two columns of items" in ended.err
        assert "found winners and losers. Name the columns with --left, --right and --winner" in ended.err
        ended = run(*words, "--judge-effect", "side", code=1)
        assert "plain.csv: --judge-effect side needs the side of each item" in ended.err
        ended = run(*words, "--judge-effect", "scale", code=1)
        assert "plain.csv: --judge-effect scale needs the judge of each vote: expected a column of judges" in ended.err
        assert "Name it with --judge, or remove --judge-effect scale" in ended.err
    assert not (tmp_path / "model.kr").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--side-bias"], "--side-bias needs votes: give their file by --pairs, or remove --side-bias"),
        (["--judge-effect", "scale"], "--judge-effect needs votes: give their file by --pairs"),
        (["--ties", "davidson"], "--ties needs votes: give their file by --pairs"),
        (["--ties", "include"], "--ties: expected half or davidson with --method bradley_terry; got include"),
    ],
)
def test_effects_need_votes(run, ranking, words, message):
    for command in ("fit", "tune"):
        assert message in run(command, "train.txt", *LIKELY, *words, code=1).err


def test_effects_belong_to_bradley_terry(run, arena):
    for command in ("fit", "tune"):
        words = (command, "items.csv", "--pairs", "votes.csv")
        ended = run(*words, "--side-bias", code=1)
        assert "--side-bias belongs to --method bradley_terry, not to rankrls" in ended.err
        ended = run(*words, "--judge-effect", "side", code=1)
        assert "--judge-effect belongs to --method bradley_terry, not to rankrls" in ended.err
        ended = run(*words, "--ties", "davidson", code=1)
        assert "--ties: expected include or exclude with --method rankrls; got davidson" in ended.err
        ended = run(*words, "--method", "ranksvm", "--ties", "half", code=1)
        assert "--ties belongs to --method rankrls or bradley_terry or co_rank_rls, not to ranksvm" in ended.err


def test_fit_refuses_judges_without_an_effect(run, arena):
    words = ("fit", "items.csv", "--pairs", "votes.csv", *LIKELY, "--judge", "user")
    assert "--judge has no effect without --judge-effect: remove it, or use tune" in run(*words, code=1).err


def test_ties_of_one_judge_are_not_tuned_by_davidson(run, arena, tmp_path):
    lines = (tmp_path / "votes.csv").read_text().splitlines()
    rows = [line for line in lines if ",tie," not in line or line.endswith("judge 2")]
    (tmp_path / "votes.csv").write_text("\n".join(rows) + "\n")
    n_ties = len(rows) - sum(",tie," not in line for line in lines)
    words = ("tune", "items.csv", "--pairs", "votes.csv", *LIKELY, "--alphas", "1", "--ties")
    ended = run(*words, "davidson", code=1)
    assert f"--ties davidson needs ties of at least two judges; found {n_ties}, of one judge" in ended.err
    assert "Use --ties half" in ended.err
    run(*words, "half")
    one = [line for line in lines if ",tie," not in line]
    one.append("model 0,model 1,tie,judge 0")
    (tmp_path / "votes.csv").write_text("\n".join(line.rpartition(",")[0] for line in one) + "\n")
    assert "needs ties of at least two folds; found 1, of one fold" in run(*words, "davidson", code=1).err
