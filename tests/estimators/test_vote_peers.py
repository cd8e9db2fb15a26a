"""Bradley-Terry agrees with evalica and choix, where they are installed."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.votes import Leaderboard


def votes(seed, n_items=8, n_votes=200):
    rng = np.random.default_rng(seed)
    cycle = np.arange(n_items)
    first = np.concatenate([cycle, (cycle + 1) % n_items, rng.integers(0, n_items, n_votes)])
    second = np.concatenate([(cycle + 1) % n_items, cycle, np.zeros(n_votes, dtype=int)])
    second[2 * n_items :] = (first[2 * n_items :] + rng.integers(1, n_items, n_votes)) % n_items
    return first, second, rng.random(len(first)) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_choix(seed):
    choix = pytest.importorskip("choix")
    winners, losers, _ = votes(seed)
    board = Leaderboard(alpha=1e-9).fit(winners, losers)
    theirs = choix.opt_pairwise(8, np.column_stack([winners, losers]).tolist(), tol=1e-12)
    np.testing.assert_allclose(board.scores_, (theirs - theirs.mean())[board.items_], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_evalica_with_ties_as_half_votes(seed):
    evalica = pytest.importorskip("evalica")
    winners, losers, tie = votes(seed)
    board = Leaderboard(alpha=1e-9).fit(winners, losers, tie=tie)
    outcome = [evalica.Winner.Draw if tied else evalica.Winner.X for tied in tie]
    given = {"win_weight": 1.0, "tie_weight": 0.5, "tolerance": 1e-13, "limit": 100_000}
    scores = evalica.bradley_terry(winners.tolist(), losers.tolist(), outcome, **given).scores
    theirs = np.log([scores[item] for item in board.items_])
    np.testing.assert_allclose(board.scores_, theirs - theirs.mean(), atol=1e-6)
