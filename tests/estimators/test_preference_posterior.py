"""RankRLS tells how sure it is of differences: the posterior of preferences, or calibrated on held-out pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, ndtr
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from kernelrank.errors import InvalidInputError

ALPHA = 0.7


def votes(seed=0, m=14, n_votes=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3))
    first = rng.integers(m, size=n_votes)
    pairs = np.column_stack([first, (first + rng.integers(1, m, size=n_votes)) % m])
    return X, pairs, {"magnitude": rng.uniform(0, 2, n_votes), "weight": rng.integers(3, size=n_votes).astype(float)}


def posterior(kernel, X, new, pairs, magnitude, weight):
    """The covariance of the scores of new items, and the noise, from the Gaussian process of the votes."""
    used = weight > 0
    D = np.zeros((used.sum(), len(X)))
    D[np.arange(len(D)), pairs[used, 0]] = 1.0
    D[np.arange(len(D)), pairs[used, 1]] = -1.0
    z = magnitude[used]
    S = D @ kernel(X, X) @ D.T / ALPHA + np.diag(1.0 / weight[used])  # in the unit of the noise
    noise = z @ np.linalg.solve(S, z) / len(z)
    across = kernel(new, X) @ D.T / ALPHA
    return noise * (kernel(new, new) / ALPHA - across @ np.linalg.solve(S, across.T)), noise


@pytest.mark.parametrize("name", ["linear", "gaussian", "all items as basis", "wide through a basis"])
def test_compare_is_the_posterior_of_a_gaussian_process(name):
    X, pairs, given = votes()
    new = np.random.default_rng(1).standard_normal((6, 3)) * 2
    options, kernel = {"linear": ({}, lambda A, B: A @ B.T)}.get(
        name, ({"kernel": "gaussian", "gamma": 0.4}, lambda A, B: rbf_kernel(A, B, gamma=0.4))
    )
    if name == "all items as basis":
        options["basis"] = np.arange(len(X))
    if name == "wide through a basis":
        rng = np.random.default_rng(2)
        X, new = rng.standard_normal((14, 20)), rng.standard_normal((6, 20))
        options, kernel = {"basis": np.arange(14)}, lambda A, B: A @ B.T
    model = kr.RankRLS(ALPHA, **options).fit_pairs(X, pairs, **given)
    expected, noise = posterior(kernel, X, new, pairs, **given)
    np.testing.assert_allclose(model.covariance(new), expected, rtol=1e-8, atol=1e-10)
    assert model.noise_ == pytest.approx(noise)
    found = model.compare(new[:5], new[[5]])
    variance = np.diag(expected)[:5] + expected[5, 5] - 2 * expected[:5, 5]
    np.testing.assert_allclose(found.std, np.sqrt(variance), rtol=1e-7)
    scores = model.predict(new)
    np.testing.assert_allclose(found.difference, scores[:5] - scores[5], rtol=1e-10)
    np.testing.assert_allclose(found.probability, ndtr(found.difference / found.std))
    assert "posterior" in found.basis


def test_a_search_compares_too():
    X, pairs, given = votes(1)
    search = kr.RankRLSCV([1.0], kernel="gaussian").fit_pairs(X, pairs, **given)
    plain = kr.RankRLS(search.alpha_, kernel="gaussian").fit_pairs(X, pairs, **given)
    np.testing.assert_allclose(search.compare(X[:3], X[3:6]).std, plain.compare(X[:3], X[3:6]).std)


@pytest.mark.parametrize("options", [{}, {"kernel": "gaussian", "gamma": 0.4}])
def test_a_search_mixes_its_alphas_by_their_evidence(options):
    X, pairs, given = votes(3)
    new = np.random.default_rng(1).standard_normal((6, 3)) * 2
    alphas = np.array([0.01, 0.5, 1.0, 8.0, 100.0])
    search = kr.RankRLSCV(alphas, **options).fit_pairs(X, pairs, **given)
    found = search.compare(new[:3], new[3:])
    kernel = (lambda A: rbf_kernel(A, gamma=0.4)) if options else (lambda A: A @ A.T)
    used = given["weight"] > 0
    D = np.eye(len(X))[pairs[used, 0]] - np.eye(len(X))[pairs[used, 1]]
    z, squares, evidence, probability = given["magnitude"][used], [], [], []
    for alpha in alphas:
        one = kr.RankRLS(alpha, **options).fit_pairs(X, pairs, **given).compare(new[:3], new[3:])
        squares.append(one.std**2 + (one.difference - found.difference) ** 2)
        probability.append(one.probability)
        S = D @ kernel(X) @ D.T / alpha + np.diag(1.0 / given["weight"][used])
        noise = z @ np.linalg.solve(S, z) / len(z)
        evidence.append(-0.5 * (len(z) * np.log(noise) + np.linalg.slogdet(S)[1]))
    share = np.exp(evidence - np.max(evidence)) * np.gradient(np.log(alphas))
    share /= share.sum()
    np.testing.assert_allclose(found.std, np.sqrt(share @ np.array(squares)), rtol=1e-6)
    np.testing.assert_allclose(found.probability, share @ np.array(probability), rtol=1e-6)
    assert found.basis == "posterior of the preferences, over 5 alphas"
    assert np.all(found.difference == search.predict(new[:3]) - search.predict(new[3:]))


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_a_saved_model_compares(tmp_path, kernel):
    X, pairs, given = votes(2)
    model = kr.RankRLS(ALPHA, kernel=kernel).fit_pairs(X, pairs, **given)
    kr.save(model, tmp_path / "model.kr")
    again = kr.load(tmp_path / "model.kr")
    np.testing.assert_allclose(again.compare(X[:4], X[4:8]).std, model.compare(X[:4], X[4:8]).std)
    kr.save(model, tmp_path / "compared.kr")
    np.testing.assert_array_equal(
        kr.load(tmp_path / "compared.kr").compare(X[:4], X[4:8]).std, again.compare(X[:4], X[4:8]).std
    )


def test_nothing_is_left_of_an_earlier_fit():
    X, pairs, given = votes(3)
    model = kr.RankRLS().fit_pairs(X, pairs, **given)
    model.fit(X, X[:, 0])
    assert not hasattr(model, "noise_")
    with pytest.raises(InvalidInputError, match="calibrate_comparisons"):
        model.compare(X[:2], X[2:4])


@pytest.mark.parametrize(
    ("model", "columns", "message"),
    [
        (kr.RankRLS(), 40, "basis=np.arange"),
        (kr.RankRLS(solver="conjugate_gradient"), 3, "conjugate_gradient"),
        (kr.RankRLS(kernel="precomputed"), 14, "precomputed kernel"),
    ],
)
def test_what_cannot_compare_says_what_to_do(model, columns, message):
    _, pairs, _ = votes()
    X = np.random.default_rng(0).standard_normal((14, columns))
    X = X @ X.T if model.kernel == "precomputed" else X
    model.fit_pairs(X, pairs)
    with pytest.raises(InvalidInputError, match=message):
        model.compare(X[:2], X[2:4])


def test_scores_are_calibrated_on_pairs_held_out(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    y = np.round(X[:, 0] + rng.standard_normal(40), 1)
    model = kr.calibrate_comparisons(kr.RankRLS().fit(X, y), X, y)
    held_out = kr.leave_pair_out(kr.RankRLS(), X, y)
    z = y[held_out.first] - y[held_out.second]
    d = np.where(z < 0, -held_out.difference, held_out.difference)
    assert model.comparison_std_ == pytest.approx(np.sqrt(np.mean((np.abs(z) - d) ** 2)))
    d = np.append(d[z != 0], -np.abs(d[z != 0]).mean())

    def loss(kappa):
        return np.logaddexp(0.0, -kappa * d).sum()

    best = model.comparison_scale_
    assert loss(best) < min(loss(0.99 * best), loss(1.01 * best))
    found = model.compare(X[:3], X[3:6])
    np.testing.assert_allclose(found.probability, expit(best * found.difference))
    assert found.basis == f"calibrated on {np.count_nonzero(z):,} pairs by leave-pair-out"
    kr.save(model, tmp_path / "model.kr")
    assert kr.load(tmp_path / "model.kr").compare(X[:3], X[3:6]).basis == found.basis


def test_queries_are_held_out_where_there_are_some():
    X, y, qid = kr.make_ranking(n_queries=12, random_state=0)
    search = kr.RankRLSCV([1.0, 100.0]).fit(X, y, qid=qid)
    model = kr.calibrate_comparisons(search, X, y, qid=qid)
    assert not hasattr(search, "comparison_scale_")
    plain = kr.calibrate_comparisons(kr.RankRLS(search.alpha_).fit(X, y, qid=qid), X, y, qid=qid)
    assert model.comparison_scale_ == pytest.approx(plain.comparison_scale_)
    assert model.comparison_holdout_ == "leave-query-out"


def test_perfect_and_useless_orders_have_finite_scales():
    X = np.arange(12.0)[:, None]
    model = kr.calibrate_comparisons(kr.RankRLS(1e-3).fit(X, X[:, 0]), X, X[:, 0])
    assert 0.9 < model.compare([[11.0]], [[0.0]]).probability[0] < 1.0
    with pytest.raises(InvalidInputError, match="nothing to compare"):
        kr.calibrate_comparisons(model, X, np.ones(12))
