"""Machine judges beside human ones, and votes that are held out."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank import Leaderboard, load, save
from kernelrank.errors import InvalidInputError

ITEMS = 15


def cast(seed, judges):
    """Winners, losers and judges: of each judge the number of votes, the scale and the deviation; human ones first."""
    random = np.random.default_rng(seed)
    f = random.normal(size=ITEMS)
    parts = []
    for name, (n, scale, deviation) in judges.items():
        s = scale * (f + deviation * random.normal(size=ITEMS))
        pairs = (
            random.integers(ITEMS, size=n)[:, None] + [[0, 1]] * random.integers(1, ITEMS, size=n)[:, None]
        ) % ITEMS
        turned = random.random(n) > 1 / (1 + np.exp(s[pairs[:, 1]] - s[pairs[:, 0]]))
        pairs[turned] = pairs[turned][:, ::-1]
        parts.append((pairs, np.full(n, name)))
    return f, np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])


def hits(board, f):
    table = board.table()
    truth = (f - f.mean())[np.asarray(table["item"])]
    return np.mean((table["low"] <= truth) & (truth <= table["high"])), float(np.mean(table["std_error"]))


def test_the_truth_stays_covered_under_planted_bias_and_intervals_are_no_wider():
    found = []
    for seed in range(4):
        f, pairs, judge = cast(seed, {"ann": (250, 1.0, 0.0), "m": (2_000, 2.0, 0.7), "k": (1_000, 0.6, 0.2)})
        human = judge == "ann"
        boards = [
            Leaderboard().fit(*pairs[human].T),
            Leaderboard().fit(*pairs.T, judge=judge, judge_kind={"m": "machine", "k": "machine"}),
            Leaderboard().fit(*pairs.T),
        ]
        found.append([hits(board, f) for board in boards])
        table = boards[1].machine_judges()
    (human, wide), (both, narrow), (pooled, _) = np.mean(found, axis=0)
    assert both > 0.9
    assert human > 0.9
    assert pooled < 0.6  # votes as if all judges were alike
    assert narrow < 0.9 * wide
    assert max(table["worth"]) < boards[1].machine_worth_[-1] < 3_000
    scale = dict(zip(table["judge"], table["scale"], strict=True))
    assert scale["k"] < 1.0 < scale["m"]


def test_a_judge_like_human_ones_is_worth_its_votes_and_a_random_one_nothing():
    _, pairs, judge = cast(20, {"ann": (1_500, 1.0, 0.0), "like": (600, 1.0, 0.0), "random": (600, 0.0, 0.0)})
    board = Leaderboard().fit(*pairs.T, judge=judge, judge_kind={"like": "machine", "random": "machine"})
    table = board.machine_judges()
    worth = dict(zip(table["judge"], table["worth"], strict=True))
    assert 300 < worth["like"] < 800
    assert worth["random"] < 60
    assert list(board.variation()["part"]) == ["items"]


def test_kinds_by_vote_are_those_by_judge_and_effects_of_machines_are_covariates(tmp_path):
    _, pairs, judge = cast(1, {"ann": (300, 1.0, 0.0), "m": (900, 1.0, 0.3)})
    longer = np.random.default_rng(0).normal(size=len(pairs)) + 0.5  # winners are longer
    kind = np.where(judge == "m", "machine", "human")
    given = {"judge": judge, "covariates": {"length of machines": longer * (judge == "m")}}
    board = Leaderboard().fit(*pairs.T, judge_kind=kind, **given)
    other = Leaderboard().fit(*pairs.T, judge_kind={"m": "machine"}, **given)
    assert np.array_equal(board.scores_, other.scores_)
    assert float(board.covariates_["low"][0]) > 0.5
    save(board, tmp_path / "board.kr")
    again = load(tmp_path / "board.kr")
    assert np.array_equal(again.machine_judges()["worth"], board.machine_judges()["worth"])
    assert list(board.judges()["judge"])
    category = np.where(np.arange(len(pairs)) % 2, "x", "y")
    both = Leaderboard().fit(*pairs.T, judge=judge, judge_kind=kind, category=category)
    assert list(both.variation()["part"]) == ["items", "categories"]
    assert len(both.table(category="x")["item"]) == ITEMS


def test_what_is_refused():
    _, pairs, judge = cast(2, {"ann": (60, 1.0, 0.0), "m": (60, 1.0, 0.3)})
    for given, why in (
        ({"judge_kind": {"m": "machine"}}, "together with `judge`"),
        ({"judge": judge, "judge_kind": {"m": "robot"}}, "'human' or 'machine'"),
        ({"judge": judge, "judge_kind": {"n": "machine"}}, "judges of the votes"),
        ({"judge": judge, "judge_kind": {"m": "machine", "ann": "machine"}}, "human judges"),
        ({"judge": judge, "judge_kind": np.arange(120) % 2}, "one kind for each judge"),
    ):
        with pytest.raises(InvalidInputError, match=why):
            Leaderboard().fit(*pairs.T, **given)
    with pytest.raises(InvalidInputError, match="Pass `judge_kind`"):
        Leaderboard().fit(*pairs.T).machine_judges()


def test_held_out_losses_are_those_of_refits():
    _, pairs, judge = cast(3, {"ann": (200, 1.0, 0.0), "bob": (100, 1.0, 0.0)})
    tie = np.arange(len(pairs)) % 7 == 0
    found = Leaderboard().held_out_losses(*pairs.T, tie=tie, groups=judge, n_folds=2)
    for one in ("ann", "bob"):
        rows = judge == one
        board = Leaderboard().fit(*pairs[~rows].T, tie=tie[~rows])
        p = np.array([board.probability(a, b) for a, b in pairs[rows]])
        assert found[rows] == pytest.approx(-np.where(tie[rows], 0.5 * np.log(p * (1 - p)), np.log(p)))
    three = Leaderboard(ties="davidson").held_out_losses(*pairs.T, tie=tie, n_folds=3)
    assert np.isfinite(three).all()


def test_additions_help_held_out_votes_where_they_are_true():
    random = np.random.default_rng(4)
    gains = []
    for seed in range(4):
        _, pairs, judge = cast(seed, {"ann": (120, 1.0, 0.0), "m": (2_000, 1.5, 0.2)})
        human = judge == "ann"
        alone = Leaderboard().held_out_losses(*pairs[human].T, n_folds=3)
        both = Leaderboard().held_out_losses(*pairs.T, judge=judge, judge_kind={"m": "machine"}, n_folds=3)
        assert np.isnan(both[~human]).all()
        gains.append(alone - both[human])
    assert np.mean(gains) > 2 * np.std(gains) / np.size(gains) ** 0.5

    time = random.integers(8, size=1_500)
    s = random.normal(size=ITEMS) + 3.0 * np.outer(time / 8, np.where(np.arange(ITEMS) % 2, 1, -1))
    pairs = (
        random.integers(ITEMS, size=1_500)[:, None] + [[0, 1]] * random.integers(1, ITEMS, size=(1_500, 1))
    ) % ITEMS
    d = (np.take_along_axis(s, pairs, 1) * [1, -1]).sum(axis=1)
    turned = random.random(1_500) > 1 / (1 + np.exp(-d))
    pairs[turned] = pairs[turned][:, ::-1]
    plain = Leaderboard().held_out_losses(*pairs.T, n_folds=2)
    moving = Leaderboard().held_out_losses(*pairs.T, time=time, n_folds=2)
    assert moving.mean() < plain.mean() - 0.01
    category = np.where(time < 4, "early", "late")
    own = Leaderboard().held_out_losses(*pairs.T, category=category, n_folds=2)
    assert own.mean() < plain.mean() - 0.01
    crossed = Leaderboard().held_out_losses(*pairs.T, time=time // 2, category=np.arange(1_500) % 2, n_folds=2)
    assert crossed.mean() < plain.mean()
