"""Whether votes agree: Krippendorff's alpha, intransitive votes, few judges who give most votes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernelrank import Leaderboard
from kernelrank.errors import InvalidInputError
from kernelrank.votes import intransitivity, krippendorff_alpha


def alpha_by_pairs(units, turned):
    """Krippendorff's alpha written out; `turned` are the values of the votes if the items of all pairs are swapped."""
    everyone = [value for unit in units for value in unit]
    n, both = len(everyone), everyone + [turned.get(value, value) for value in everyone]
    observed = sum((a != b) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2))
    shares = [both.count(value) / 2 for value in set(both)]
    return 1 - observed / ((n**2 - sum(share**2 for share in shares)) / (n - 1))


def test_alpha_is_that_of_its_definition():
    published = ("0100000010", "1110010000")  # two observers, ten units: Krippendorff (2011) finds 0.095
    assert alpha_by_pairs(list(zip(*published, strict=True)), {}) == pytest.approx(0.095, abs=5e-4)
    random = np.random.default_rng(0)
    pairs = np.sort(random.integers(5, size=(60, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    value = random.choice([0, 0, 0, 1, 2], len(pairs))  # first, second, tie
    turned = np.where((value == 1)[:, None], pairs[:, ::-1], pairs)
    units = [value[(pairs == one).all(axis=1)].tolist() for one in np.unique(pairs, axis=0)]
    expected = alpha_by_pairs([unit for unit in units if len(unit) > 1], {0: 1, 1: 0})
    assert krippendorff_alpha(Leaderboard().fit(*turned.T, tie=value == 2)) == pytest.approx(expected)
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
    none = np.array([intransitivity(simulate(seed, 0.0, n=2_000)).pvalue for seed in range(100)])
    assert 0.01 <= np.mean(none < 0.05) <= 0.09
    assert 0.35 < np.median(none) < 0.65
    for board in (
        Leaderboard().fit_rankings([[*"abc"]]),
        Leaderboard("least_squares").fit([*"ab"], [*"bc"]),
    ):
        with pytest.raises(InvalidInputError, match=r"bradley_terry.*without covariates"):
            intransitivity(board)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_the_statistic_of_intransitive_votes_is_that_of_dense_matrices(ties):
    random = np.random.default_rng(3)
    a = random.integers(6, size=300)
    b = (a + random.integers(1, 6, size=300)) % 6
    board = Leaderboard(ties=ties).fit(a, b, tie=random.random(300) < 0.3)
    D, (won, lost, tied) = np.eye(6)[board.pairs_[:, 0]] - np.eye(6)[board.pairs_[:, 1]], board.counts_
    n, d, nu = won + lost + tied, D @ board.scores_, np.exp(board.tie_log_ or 0.0)
    if ties == "half":  # the odds at which the mean of a vote is that of the scores
        nu = board.posterior.estimate.model.tie_odds
        p = 1 / (1 + np.exp(-d))
        draw = 4 * p * (1 - p) / (1 + np.sqrt(1 - 4 * p * (1 - p) + 16 * p * (1 - p) / nu**2))
        outcomes = np.array([p - draw / 2, 1 - p - draw / 2, draw])
    else:
        outcomes = np.exp([d / 2, -d / 2, np.full(len(d), np.log(nu))])
        outcomes /= outcomes.sum(axis=0)
    values = np.array([1.0, 0.0, 0.5])[:, None]
    mean = (outcomes * values).sum(axis=0)
    second, fourth = ((outcomes * (values - mean) ** k).sum(axis=0) for k in (2, 4))
    V = np.diag(n * second)
    J = V if ties == "davidson" else np.diag(n * mean * (1 - mean))
    R = V - J @ D @ board.posterior.covariance(np.arange(6)) @ D.T @ J
    variance = 2 * np.trace(R @ R) + np.sum(n * (fourth - 3 * second**2) * (np.diag(R) / np.diag(V)) ** 4)
    statistic = (np.sum((won + tied / 2 - n * mean) ** 2) - np.trace(R)) / variance**0.5
    assert intransitivity(board).statistic == pytest.approx(statistic, rel=1e-6)


def test_few_judges_with_most_votes_are_noted():
    winners, losers = [*"aab"] * 20, [*"bcc"] * 20
    board = Leaderboard().fit(winners, losers, judge=["ann"] * 40 + ["bob", "eve"] * 10)
    assert "1 of 3 judges gives 67 % of the votes" in board.notes_[-1]
    assert not any("judges" in note for note in Leaderboard().fit(winners, losers, judge=[1, 2, 3] * 20).notes_)
