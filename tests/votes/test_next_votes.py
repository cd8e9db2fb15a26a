"""The most informative pairs of many items, against a search of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from kernelrank import Leaderboard
from kernelrank.votes import newton
from kernelrank.votes.next_votes import information, promising_pairs


@pytest.mark.parametrize("spread", ["equal", "two kinds", "many kinds"])
@pytest.mark.parametrize("m", [2, 3, 40, 700])
def test_promising_pairs_hold_the_best_of_all_pairs(m, spread):
    r = np.random.default_rng(m)
    f = r.normal(scale=3.0, size=m)
    std = {"equal": np.ones(m), "two kinds": r.choice([0.1, 2.0], m), "many kinds": r.gamma(2.0, size=m)}[spread]
    first, second = np.triu_indices(m, 1)
    gain = information(f[first] - f[second], std[first] ** 2 + std[second] ** 2)
    pairs, found = promising_pairs(f, std)
    assert found[0] >= 0.97 * gain.max()
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert np.all(np.diff(found) <= 0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("variance", [1e-6, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("d", [0.0, 1.0, 3.0])
def test_the_closed_form_is_near_the_mean_curvature(d, variance, scale):
    x, weight = np.polynomial.hermite_e.hermegauss(99)
    logits = scale * (d + np.sqrt(variance) * x)
    exact = scale**2 * (weight * expit(logits) * expit(-logits)).sum() / weight.sum() * variance
    found = float(information(np.array(d), np.array(variance), scale))
    assert abs(found - exact) < 0.25 * exact + 0.02 * scale**2 * variance


def test_many_items_ask_for_about_the_best_of_all_pairs(monkeypatch):
    monkeypatch.setattr(newton, "INVERSE_LIMIT", 10)
    r = np.random.default_rng(5)
    truth = 3.0 * r.normal(size=150)
    a, b = r.integers(150, size=(2, 2500))
    a, b = a[a != b], b[a != b]
    first = r.random(len(a)) < expit(truth[a] - truth[b])
    board = Leaderboard().fit(np.where(first, a, b), np.where(first, b, a))
    assert not board.posterior.knows_covariances
    f, s = board.posterior.scores, board.posterior.std
    i, j = np.triu_indices(150, 1)
    best = information(f[i] - f[j], s[i] ** 2 + s[j] ** 2).max()
    labels = board.items_.tolist()
    chosen = np.array([[labels.index(one), labels.index(other)] for one, other in board.next_pair(3)])
    assert np.all(information(f[chosen[:, 0]] - f[chosen[:, 1]], (s[chosen] ** 2).sum(axis=1)) > 0.8 * best)
