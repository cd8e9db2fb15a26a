"""Match-ups of `BradleyTerry(relation="reciprocal")`, against their written-out kernel and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root

from kernelrank import BradleyTerry, Leaderboard, leave_preferences_out, load, save
from kernelrank.errors import InvalidInputError
from kernelrank.votes import intransitivity


def cast(seed, n=300, m=12):
    """Votes that depend on both items: a third of a circle ahead wins."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, 3))
    pairs = (random.integers(m, size=n)[:, None] + [[0, 1]] * random.integers(1, m, size=n)[:, None]) % m
    a, b = X[pairs].transpose(1, 0, 2)
    d = (a - b)[:, 2] + 2.0 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    turned = random.random(n) > 1 / (1 + np.exp(-d))
    pairs[turned] = pairs[turned][:, ::-1]
    return X, pairs


def kernel_of_pairs(K, own, first, second):
    """The kernel of scores plus the reciprocal one of centred columns, written out; `own` are training items."""
    centred = K - K[:, own].mean(axis=1)[:, None] - K[own].mean(axis=0) + K[np.ix_(own, own)].mean()
    (a, b), (c, d) = first.T, second.T
    scores = K[np.ix_(a, c)] + K[np.ix_(b, d)] - K[np.ix_(a, d)] - K[np.ix_(b, c)]
    G = centred
    return scores + (G[np.ix_(a, c)] * G[np.ix_(b, d)] - G[np.ix_(a, d)] * G[np.ix_(b, c)]) / 2.0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_differences_are_those_of_the_written_out_kernel(kernel):
    X, pairs = cast(0, 80, m=10)
    new = np.vstack([X, np.random.default_rng(1).normal(size=(3, 3))])
    asked = np.array([[10, 11], [11, 12], [0, 12], [3, 4]])
    K = new @ new.T if kernel == "linear" else np.exp(-0.3 * np.square(new[:, None] - new).sum(axis=2))
    own, alpha = np.arange(10), 0.4
    A, B = (kernel_of_pairs(K, own, rows, pairs) for rows in (pairs, asked))

    def slope(b):
        return A @ (2.0 * alpha * b - 1.0 / (1.0 + np.exp(A @ b)))

    b = np.zeros(len(pairs))
    for _ in range(50):  # b is fixed where the gradient is zero: 2 alpha b = 1 / (1 + exp(A b))
        size = 1.0 / (1.0 + np.exp(A @ b))
        step = np.linalg.solve(
            2.0 * alpha * np.eye(len(b)) + (size * (1.0 - size))[:, None] * A, size - 2.0 * alpha * b
        )
        b = b + step
    assert np.abs(slope(b)).max() < 1e-12
    model = BradleyTerry(alpha, kernel=kernel, gamma=0.3, relation="reciprocal", tol=1e-14).fit_pairs(X, pairs)
    assert model.gap_ < 1e-12
    p = model.predict_proba(new, asked)
    assert np.log(p[:, 0] / p[:, 1]) == pytest.approx(B @ b, abs=1e-8)
    assert model.predict_proba(new, asked[:, ::-1])[:, 1] == pytest.approx(p[:, 0], abs=1e-12)
    # Scores are the means over match-ups with all training items.
    ahead = np.zeros((13, 10))
    everyone = np.argwhere(~np.eye(13, 10, dtype=bool))
    p = model.predict_proba(new, everyone)
    ahead[tuple(everyone.T)] = np.log(p[:, 0] / p[:, 1])
    f, mean = model.predict(new), ahead.mean(axis=1)
    assert mean - mean[0] == pytest.approx(f - f[0], abs=1e-8)


def test_davidson_with_a_side_is_the_minimum_of_scipy():
    X, pairs = cast(1, 60, m=6)
    random = np.random.default_rng(2)
    tie, side, C = random.random(60) < 0.2, random.choice([-1, 1], 60), random.normal(size=(60, 1))
    model = BradleyTerry(0.7, relation="reciprocal", ties="davidson", side_bias=True, tol=1e-14)
    model.fit_pairs(X, pairs, tie=tie, side=side, covariates=C)
    G, unit = X - X.mean(axis=0), np.sqrt(np.mean(C**2))
    (a, b), (u, v) = G[pairs].transpose(1, 0, 2), np.triu_indices(3, 1)
    Z = np.hstack([a - b, (a[:, u] * b[:, v] - a[:, v] * b[:, u]) / np.sqrt(2), side[:, None], C / unit])

    def gradient(x):
        d, theta = Z @ x[:-1], x[-1]
        terms = np.exp([d / 2, -d / 2, np.full(60, theta)])
        win, lose, draw = terms / terms.sum(axis=0)
        by_d = (win - lose) / 2 - np.where(tie, 0.0, 0.5)
        a = np.array([0.7] * 6 + [0.005] * 3)
        return np.append(Z.T @ by_d, (draw - tie).sum()) + 2 * a * x

    x = root(gradient, np.zeros(9), tol=1e-13).x
    assert np.abs(gradient(x)).max() < 1e-9
    assert model.coef_ == pytest.approx(x[:3], abs=1e-7)
    assert np.sqrt(2) * model.match_ups_[u, v] == pytest.approx(x[3:6], abs=1e-7)
    found = [model.side_bias_, model.covariate_effects_[0] * unit, model.tie_log_]
    assert found == pytest.approx(x[6:], abs=1e-7)


def test_held_out_votes_are_refits_and_match_ups_help():
    X, pairs = cast(2, 400)
    groups = np.arange(400) % 5
    losses = {}
    for relation in (None, "reciprocal"):
        model = BradleyTerry(0.3, relation=relation)
        held = leave_preferences_out(model, X, pairs, groups=groups)
        losses[relation] = held.log_loss
        own = groups == 3
        p = model.fit_pairs(X, pairs[~own]).predict_proba(X, pairs[own])
        assert held.probability[own] == pytest.approx(p[:, 0], abs=1e-9)
        assert held.difference[own] == pytest.approx(np.log(p[:, 0] / p[:, 1]), abs=1e-8)
    assert losses["reciprocal"] < losses[None] - 0.1
    # One score an item cannot explain these votes, and the test says so.
    assert intransitivity(Leaderboard().fit(*pairs.T)).pvalue < 1e-3


def test_a_circle_without_features_is_learnt_from_its_items():
    items, circle = np.eye(3), [[0, 1], [1, 2], [2, 0]] * 20
    model = BradleyTerry(0.01, relation="reciprocal").fit_pairs(items, circle)
    assert (model.predict_proba(items, [[0, 1], [1, 2], [2, 0]])[:, 0] > 0.95).all()
    assert np.ptp(model.predict(items)) < 1e-9


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "basis": 8}, {"metric": [1.0, 0.5, 2.0]}])
def test_a_saved_model_and_a_path_are_the_same(tmp_path, options):
    X, pairs = cast(3)
    model = BradleyTerry(0.2, relation="reciprocal", random_state=0, **options).fit_pairs(X, pairs)
    save(model, tmp_path / "model.kr")
    p = model.predict_proba(X, pairs)
    assert np.array_equal(load(tmp_path / "model.kr").predict_proba(X, pairs), p)
    path = BradleyTerry(relation="reciprocal", random_state=0, **options).fit_pairs_path(X, pairs, [1.0, 0.2])
    assert path[1].predict_proba(X, pairs) == pytest.approx(p, abs=1e-7)
    assert path[1].covariance(X) == pytest.approx(model.covariance(X), rel=1e-5)
    plain = model.set_params(relation=None).fit_pairs(X, pairs)
    assert not hasattr(plain, "match_ups_")


def test_what_match_ups_cannot_be_learnt_from():
    X, pairs = cast(4)
    with pytest.raises(InvalidInputError, match="needs votes"):
        BradleyTerry(relation="reciprocal").fit(X, X[:, 0])
    wide = np.random.default_rng(0).normal(size=(12, 141))
    with pytest.raises(InvalidInputError, match=r"at most 140 columns.*basis=100"):
        BradleyTerry(relation="reciprocal").fit_pairs(wide, pairs)
