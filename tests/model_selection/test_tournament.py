"""The tournament: wins over every other item, and the curve that they draw."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score, roc_curve

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier
from kernelrank.model_selection import estimate_auc, tournament_roc
from tests.oracles import auc as oracle

rng = np.random.default_rng(0)
y = rng.permutation(np.arange(13) < 5).astype(int)
X = rng.standard_normal((13, 3)) + 0.8 * y[:, None]
GROUPS = np.arange(13) // 2


@pytest.mark.parametrize("estimator", [RLS(0.1), RLSClassifier(), RankRLS(), RidgeClassifier()], ids=str)
def test_scores_are_wins(estimator):
    roc = tournament_roc(estimator, X, y)
    np.testing.assert_allclose(roc.scores, oracle.tournament_wins(estimator, X, y))
    assert roc.scores.sum() == pytest.approx(13 * 12 / 2)
    assert roc.auc == pytest.approx(roc_auc_score(y, roc.scores))
    for found, expected in zip((roc.fpr, roc.tpr, roc.thresholds), roc_curve(y, roc.scores), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert roc.interval.low <= roc.auc <= roc.interval.high


@pytest.mark.parametrize("estimator", [RankRLS(cost="unit"), RankRLS(basis=6, random_state=0)], ids=str)
def test_without_a_shortcut(estimator):
    np.testing.assert_allclose(tournament_roc(estimator, X, y).scores, oracle.tournament_wins(estimator, X, y))


def test_one_feature_is_consistent_so_that_the_auc_is_that_of_leave_pair_out():
    separated = np.column_stack([np.linspace(-1, 1, 13)])
    labels = (np.arange(13) > 6).astype(int)
    labels[[3, 9]] = 1, 0
    roc, found = tournament_roc(RankRLS(), separated, labels), estimate_auc(RankRLS(), separated, labels)
    assert roc.auc == pytest.approx(found.auc)
    assert tuple(roc.interval) == pytest.approx(tuple(found.interval))


def test_turned_labels_turn_the_wins():
    roc, turned = tournament_roc(RankRLS(), X, y), tournament_roc(RankRLS(), X, y, pos_label=0)
    np.testing.assert_allclose(turned.scores, 12 - roc.scores)
    assert turned.auc == pytest.approx(roc.auc)
    assert turned.estimate.classes == (1, 0)


def test_groups_leave_together():
    wins = np.zeros(13)
    for i in range(13):
        for j in range(i):
            f = oracle.scores_without(RankRLS(), X, y, oracle.together([i, j], GROUPS))
            wins[i] += oracle.heaviside(f[0] - f[1])
            wins[j] += oracle.heaviside(f[1] - f[0])
    roc = tournament_roc(RankRLS(), X, y, groups=GROUPS)
    np.testing.assert_allclose(roc.scores, wins)
    assert "groups" in roc.interval.method


@pytest.mark.parametrize("estimator", [RankRLS(), RidgeClassifier()], ids=str)
def test_groups_of_one_item_change_nothing(estimator):
    one, other = (tournament_roc(estimator, X, y, groups=groups) for groups in (None, np.arange(13)))
    assert one.estimate == other.estimate
    np.testing.assert_array_equal(one.scores, other.scores)
    assert other.groups is None


def test_says_what_it_is():
    roc = tournament_roc(RankRLS(), X, y)
    assert str(roc).startswith(f"AUC {roc.auc:.3f}, 95% interval")
    assert "tournament" in str(roc)
    assert repr(roc) == f"<TournamentROC {roc}>"


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({}, np.r_[1, 1, np.zeros(11)].astype(int), "the tournament needs at least 3 items of each class.*has 2 items"),
        ({"interval": "none"}, y, "interval must be one of"),
        ({"confidence": 1.0}, y, "confidence"),
        (
            {"groups": np.where(y == 1, 0, np.arange(13))},
            y,
            "the tournament needs at least 3 groups of each class.*class 1 has 1 group$",
        ),
    ],
)
def test_bad_input(options, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        tournament_roc(RankRLS(), X, labels, **options)
