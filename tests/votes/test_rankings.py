"""Rankings of several items, against SciPy on the written-out likelihood."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from kernelrank import Leaderboard, load, save
from kernelrank.data import read_rankings
from kernelrank.errors import FileFormatError, InvalidInputError, NothingToCompareError

ITEMS = 6


def draw(seed, n=50, f=None):
    """Rankings of two to five of six items, some of them with ties."""
    random = np.random.default_rng(seed)
    f = random.normal(size=ITEMS) if f is None else f
    found = []
    for size in random.integers(2, 6, size=n):
        items = random.choice(ITEMS, size, replace=False)
        found.append(items[np.argsort(-(f[items] + random.gumbel(size=size)))].tolist())
    found[0], found[1] = [0, [1, 2, 3], 4], [[5, 4], 1]
    below = [[] for _ in found]
    below[2] = [item for item in range(ITEMS) if item not in found[2]]
    return found, below


def loss(f, rankings, below, weight):
    """Minus the mean logarithm of the likelihood of all orders of tied items."""
    total = 0.0
    for ranking, rest, size in zip(rankings, below, weight, strict=True):
        tiers = [tier if isinstance(tier, list) else [tier] for tier in ranking]
        orders = [list(itertools.chain(*one)) for one in itertools.product(*map(itertools.permutations, tiers))]
        for order in orders:
            items = order + rest
            chosen = [np.log(np.exp(f[items[k:]]).sum()) - f[items[k]] for k in range(len(order))]
            total += size * sum(chosen) / len(orders)
    return total


def generic(value, size):
    x = minimize(value, np.zeros(size), method="BFGS", options={"gtol": 1e-10}).x
    return minimize(value, x, method="Newton-CG", jac=lambda x: slope(value, x), options={"xtol": 1e-13}).x


def slope(value, x, h=1e-4):
    unit = h * np.eye(len(x))
    return np.array(
        [(8 * (value(x + e) - value(x - e)) - value(x + 2 * e) + value(x - 2 * e)) / (12 * h) for e in unit]
    )


@pytest.mark.parametrize("alpha", [1e-9, 0.5])
def test_scores_are_those_of_a_generic_optimiser(alpha):
    rankings, below = draw(0)
    weight = np.random.default_rng(1).integers(1, 4, size=len(rankings)).astype(float)
    board = Leaderboard(alpha=alpha).fit_rankings(rankings, weight=weight, below=below)
    f = generic(lambda f: loss(f, rankings, below, weight) + alpha * f @ f, ITEMS)
    assert np.abs(board.scores_ - (f - f.mean())[board.items_]).max() < 1e-6


def test_the_mode_is_one_to_rounding():
    rankings, below = draw(2)
    board = Leaderboard(alpha=0.3).fit_rankings(rankings, below=below)
    f = np.empty(ITEMS)
    f[board.items_] = board.scores_
    gradient = slope(lambda f: loss(f, rankings, below, np.ones(len(rankings))) + 0.3 * f @ f, f, 1e-3)
    assert np.abs(gradient).max() < 1e-8  # its curvature is 0.6 or more


def test_features_have_weights_of_their_own():
    rankings, below = draw(3)
    X = np.random.default_rng(3).normal(size=(ITEMS, 2))
    board = Leaderboard(alpha=0.4).fit_rankings(rankings, below=below, features=(list(range(ITEMS)), X))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def value(c):
        return loss(Z @ c[:2] + c[2:], rankings, below, np.ones(len(rankings))) + 0.4 * c @ c

    c = generic(value, ITEMS + 2)
    f = Z @ c[:2] + c[2:]
    assert np.abs(board.scores_ - f + f.mean()).max() < 1e-6


def test_rankings_of_two_are_votes():
    random = np.random.default_rng(4)
    pairs = random.permuted(np.tile(np.arange(ITEMS), (200, 1)), axis=1)[:, :2]
    plain = Leaderboard(alpha=0.7).fit(pairs[:, 0], pairs[:, 1])
    board = Leaderboard(alpha=0.7).fit_rankings(pairs.tolist())
    of = dict(zip(plain.items_, plain.scores_, strict=True))
    assert board.scores_ == pytest.approx([of[item] for item in board.items_], abs=1e-9)
    one, other = plain.table(), board.table()
    assert np.sort(other["std_error"]) == pytest.approx(np.sort(one["std_error"]), rel=1e-6)
    assert list(one["votes"]) == list(other["votes"])


def test_intervals_hold_the_truth_and_pairs_would_not():
    random, inside, of_pairs = np.random.default_rng(5), [], []
    for _ in range(15):
        f = random.normal(size=20)
        items = random.permuted(np.tile(np.arange(20), (30, 1)), axis=1)[:, :8]
        order = np.argsort(-(f[items] + random.gumbel(size=items.shape)), axis=1)
        rankings = np.take_along_axis(items, order, 1).tolist()
        pairs = np.array([pair for one in rankings for pair in itertools.combinations(one, 2)])
        for board, held in ((Leaderboard().fit_rankings(rankings), inside), (Leaderboard().fit(*pairs.T), of_pairs)):
            table = board.table()
            truth = (f - f.mean())[np.asarray(table["item"])]
            held.append(np.mean((table["low"] <= truth) & (truth <= table["high"])))
    assert np.mean(inside) > 0.9
    assert np.mean(of_pairs) < np.mean(inside) - 0.05


def test_what_is_refused():
    for wrong, why in (
        ([["a", "b", "a"]], "twice"),
        ([["a"], ["b"]], "nothing to compare"),
        ([], "empty"),
    ):
        with pytest.raises((InvalidInputError, NothingToCompareError), match=why):
            Leaderboard().fit_rankings(wrong)
    with pytest.raises(InvalidInputError, match="below"):
        Leaderboard().fit_rankings([["a", "b"]], below=[[], []])
    with pytest.raises(InvalidInputError, match="ties='half'"):
        Leaderboard(ties="davidson").fit_rankings([["a", "b"]])
    with pytest.raises(InvalidInputError, match="bradley_terry"):
        Leaderboard("least_squares").fit_rankings([["a", "b"]])
    with pytest.raises(InvalidInputError, match="items of `features`; got 'b'"):
        Leaderboard().fit_rankings([["a", "b"]], features={"a": [1.0], "c": [2.0]})


def test_a_saved_board_of_rankings_is_the_same(tmp_path):
    rankings, below = draw(6)
    board = Leaderboard().fit_rankings(rankings, below=below)
    save(board, tmp_path / "board.kr")
    again = load(tmp_path / "board.kr")
    assert np.array_equal(again.table()["low"], board.table()["low"])
    assert again.next_pair() == board.next_pair()


def test_orders_of_preflib_are_rankings():
    head = ["# DATA TYPE: toi", *(f"# ALTERNATIVE NAME {k}: {name}" for k, name in enumerate("abcd", 1))]
    read = read_rankings(io.StringIO("\n".join([*head, "3: 2,{1,4},3", "1: 3"])))
    assert read.rankings == [["b", ["a", "d"], "c"], ["c"]]
    assert read.weight.tolist() == [3.0, 1.0]
    with pytest.raises(FileFormatError, match="no rankings"):
        read_rankings(io.StringIO("\n".join(head)))
