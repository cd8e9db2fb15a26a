"""Whether votes agree: Krippendorff's alpha, intransitive votes, few judges who give most votes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelrank import Leaderboard
from kernelrank.errors import InvalidInputError
from kernelrank.votes import intransitivity, krippendorff_alpha


def test_alpha_is_one_less_the_disagreement_of_pairs_of_votes_over_that_by_chance():
    random = np.random.default_rng(0)
    pairs = np.sort(random.integers(5, size=(60, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    value = random.choice([0, 0, 0, 1, 2], len(pairs))  # first, second, tie
    turned = np.where((value == 1)[:, None], pairs[:, ::-1], pairs)
    board = Leaderboard().fit(*turned.T, tie=value == 2)
    units = [value[(pairs == one).all(axis=1)] for one in np.unique(pairs, axis=0)]
    units = [unit for unit in units if len(unit) > 1]
    everyone = np.concatenate(units)
    observed = sum(np.mean([a != b for a, b in itertools.permutations(unit, 2)]) * len(unit) for unit in units)
    # A vote for the first item is one for the second if the pair is turned: both are as frequent by chance.
    ties, n = np.sum(everyone == 2), len(everyone)
    same = 2 * ((n - ties) / 2) ** 2 + ties**2
    expected = (n**2 - same) / (n - 1)
    assert krippendorff_alpha(board) == pytest.approx(1 - observed / expected)
    assert krippendorff_alpha(Leaderboard().fit([*"aaab"], [*"bbbc"])) == 1.0
    assert np.isnan(krippendorff_alpha(Leaderboard().fit([*"ab"], [*"bc"])))


def simulate(seed, cyclic, m=10, n=1_500):
    random = np.random.default_rng(seed)
    f, G = random.normal(size=m), np.triu(random.normal(size=(m, m)) * cyclic, 1)
    a = random.integers(m, size=n)
    b = (a + random.integers(1, m, size=n)) % m
    won = random.random(n) < 1 / (1 + np.exp(-(f[a] - f[b] + (G - G.T)[a, b])))
    return Leaderboard().fit(np.where(won, a, b), np.where(won, b, a))


def test_deviations_of_pairs_are_found_where_they_are():
    found = [intransitivity(simulate(seed, 0.6)) for seed in range(4)]
    assert max(one.pvalue for one in found) < 0.01
    assert np.mean([one.deviation for one in found]) == pytest.approx(0.6, abs=0.2)
    none = [intransitivity(simulate(seed, 0.0)).pvalue for seed in range(30)]
    assert np.mean(np.array(none) < 0.05) < 0.2
    assert 0.2 < np.median(none) < 0.8
    with pytest.raises(InvalidInputError, match="without covariates"):
        intransitivity(Leaderboard().fit_rankings([[*"abc"]]))


def test_few_judges_with_most_votes_are_noted():
    winners, losers = [*"aab"] * 20, [*"bcc"] * 20
    board = Leaderboard().fit(winners, losers, judge=["ann"] * 40 + ["bob", "eve"] * 10)
    assert "1 of 3 judges gives 67 % of the votes" in board.notes_[-1]
    assert not any("judges" in note for note in Leaderboard().fit(winners, losers, judge=[1, 2, 3] * 20).notes_)
