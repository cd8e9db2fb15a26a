"""The search by preferences chooses what refitting would choose, and paths are fits."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.data import make_preferences
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RankRLS
from kernelrank.model_selection import RankRLSCV, leave_preferences_out

ALPHAS = 2.0 ** np.arange(-6, 7, 3)


@pytest.fixture
def data():
    X, pairs = make_preferences(n_items=25, n_pairs=90, random_state=1)
    rng = np.random.default_rng(0)
    given = {"magnitude": rng.integers(3, size=90).astype(float), "weight": rng.integers(3, size=90).astype(float)}
    return X, pairs, rng.integers(5, size=90), given


def agreement(estimator, X, pairs, groups, given):
    """Fit anew without each preference, or each group, and count those that agree."""
    groups = np.arange(len(pairs)) if groups is None else groups
    right = np.zeros(len(pairs))
    for group in np.unique(groups):
        kept = groups != group
        scores = estimator.fit_pairs(X, pairs[kept], **{name: one[kept] for name, one in given.items()}).predict(X)
        right[~kept] = (np.sign(scores[pairs[~kept, 0]] - scores[pairs[~kept, 1]]) + 1) / 2
    return np.average(right, weights=given["weight"] * (given["magnitude"] > 0))


@pytest.mark.parametrize("by_judge", [False, True])
def test_candidates_have_the_agreement_of_refits(data, by_judge):
    X, pairs, judges, given = data
    groups = judges if by_judge else None
    gammas = [0.05, 1.0]
    model = RankRLSCV(ALPHAS, kernel="gaussian", kernel_grid={"gamma": gammas}).fit_pairs(
        X, pairs, groups=groups, **given
    )
    candidates = [RankRLS(alpha, kernel="gaussian", gamma=gamma) for gamma in gammas for alpha in ALPHAS]
    expected = [agreement(one, X, pairs, groups, given) for one in candidates]
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, atol=1e-12)
    assert model.best_score_ == pytest.approx(max(expected))
    best = RankRLS(model.alpha_, kernel="gaussian", gamma=model.gamma_).fit_pairs(X, pairs, **given)
    np.testing.assert_allclose(model.predict(X), best.predict(X), rtol=1e-9)


def test_automatic_alphas_hold_the_best_one(data):
    X, pairs, judges, _ = data
    for kernel in ("linear", "gaussian"):
        model = RankRLSCV(kernel=kernel, basis=None if kernel == "linear" else 10, random_state=0)
        model.fit_pairs(X, pairs, groups=judges)
        plain = RankRLS(model.alpha_, kernel=kernel, basis=model.basis_ if kernel == "gaussian" else None)
        held_out = leave_preferences_out(plain, X, pairs, groups=judges)
        assert held_out.agreement.value == pytest.approx(model.best_score_)
        assert model.holdout_scores_ is None


def test_a_path_is_its_fits(data):
    X, pairs, _, given = data
    for kernel in ("linear", "gaussian"):
        for alpha, model in zip(ALPHAS, RankRLS(kernel=kernel).fit_pairs_path(X, pairs, ALPHAS, **given), strict=True):
            alone = RankRLS(alpha, kernel=kernel).fit_pairs(X, pairs, **given)
            np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-8, atol=1e-10)
            assert model.alpha == alpha


@pytest.mark.parametrize(
    ("options", "message"),
    [({"cv": 5}, "Give groups instead"), ({"scoring": "ndcg@10"}, "Expected scoring='pairwise_accuracy'")],
)
def test_other_hold_outs_are_refused(data, options, message):
    X, pairs, _, _ = data
    with pytest.raises(InvalidInputError, match=message):
        RankRLSCV(**options).fit_pairs(X, pairs)


def test_one_group_and_one_preference_choose_nothing(data):
    X, pairs, _, _ = data
    with pytest.raises(InvalidInputError, match="Expected at least two groups to hold out one at a time; got one"):
        RankRLSCV().fit_pairs(X, pairs, groups=["ann"] * len(pairs))
    with pytest.raises(InvalidInputError, match="Expected at least two preferences to hold out one; got one"):
        RankRLSCV().fit_pairs(X, pairs[:1])


def test_only_ties_choose_nothing(data):
    X, pairs, _, _ = data
    with pytest.raises(InvalidInputError, match="alpha cannot be chosen"):
        RankRLSCV().fit_pairs(X, pairs, magnitude=np.zeros(len(pairs)))
