"""Generators: the truth is known, so it is checked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from kernelrank.data import make_preferences, make_ranking
from kernelrank.errors import InvalidInputError


class TestRanking:
    def test_defaults(self):
        X, y, qid = make_ranking(random_state=0)
        assert X.shape == (400, 10)
        assert y.shape == (400,)
        assert np.array_equal(qid, np.repeat(np.arange(20), 20))

    @pytest.mark.parametrize("make", [make_ranking, make_preferences])
    def test_random_state(self, make):
        for first, second in zip(make(random_state=5), make(random_state=5), strict=True):
            assert np.array_equal(first, second)
        assert not np.array_equal(make(random_state=5)[0], make(random_state=6)[0])
        old = np.random.RandomState(0)
        assert not np.array_equal(make(random_state=old)[0], make(random_state=old)[0])
        same = [make(random_state=np.random.RandomState(0))[0] for _ in range(2)]
        assert np.array_equal(*same)
        generator = np.random.default_rng(0)
        assert not np.array_equal(make(random_state=generator)[0], make(random_state=generator)[0])

    def test_scores_are_what_the_docstring_says(self):
        X, y, _, coef = make_ranking(noise=0.0, return_coef=True, random_state=0)
        assert np.allclose(X @ coef, y, rtol=0, atol=1e-12)
        X, y, qid, coef = make_ranking(50, 40, noise=0.5, query_shift=3.0, return_coef=True, random_state=0)
        residual = y - X @ coef
        means = np.array([residual[qid == q].mean() for q in range(50)])
        assert 2 < means.std() < 4
        assert 0.45 < (residual - means[qid]).std() < 0.55
        assert 0.9 < (X @ coef).std() < 1.1

    def test_sizes(self):
        qid = make_ranking(200, (1, 3), random_state=0)[2]
        assert set(np.bincount(qid)) == {1, 2, 3}

    @pytest.mark.parametrize("n_levels", [2, 3, 5])
    def test_levels(self, n_levels):
        _, y, _ = make_ranking(n_levels=n_levels, random_state=0)
        counts = np.bincount(y.astype(int), minlength=n_levels)
        assert len(counts) == n_levels
        assert counts.max() - counts.min() <= 1

    def test_levels_follow_the_scores(self):
        X, y, _, coef = make_ranking(n_levels=4, noise=0.0, return_coef=True, random_state=0)
        assert np.all(np.diff(y[np.argsort(X @ coef)]) >= 0)

    def test_informative_features(self):
        coef = make_ranking(n_informative=3, return_coef=True, random_state=0)[3]
        assert np.count_nonzero(coef) == 3

    @pytest.mark.parametrize("density", [0.001, 0.2, 1.0])
    def test_sparse(self, density):
        X, y, _, coef = make_ranking(50, 20, 100, density=density, noise=0.0, return_coef=True, random_state=0)
        assert isinstance(X, csr_array)
        X.check_format(full_check=True)
        assert X.has_canonical_format
        assert abs(X.nnz / 100_000 - density) <= 5 * np.sqrt(density * (1 - density) / 100_000)
        assert np.array_equal(X @ coef, y)

    def test_names_and_shuffling(self):
        X, y, qid = make_ranking(5, 4, qid_type="str", shuffle=True, random_state=0)
        assert sorted(set(qid.tolist())) == ["q0", "q1", "q2", "q3", "q4"]
        assert not np.array_equal(qid, np.sort(qid))
        plain, scores, _ = make_ranking(5, 4, random_state=0)
        assert sorted(y.tolist()) == sorted(scores.tolist())
        assert sorted(X[:, 0].tolist()) == sorted(plain[:, 0].tolist())

    @pytest.mark.parametrize(
        "options",
        [
            {"n_queries": 0},
            {"n_items": 0},
            {"n_items": (3, 2)},
            {"n_features": 0},
            {"n_levels": 1},
            {"noise": -1.0},
            {"noise": float("nan")},
            {"n_informative": 11},
            {"query_shift": float("inf")},
            {"density": 0.0},
            {"density": 1.5},
            {"qid_type": "float"},
        ],
        ids=str,
    )
    def test_options(self, options):
        with pytest.raises(InvalidInputError, match=next(iter(options))):
            make_ranking(**options)


class TestPreferences:
    def test_without_noise_all_are_true(self):
        X, pairs, coef = make_preferences(noise=0.0, return_coef=True, random_state=0)
        utility = X @ coef
        assert pairs.shape == (1000, 2)
        assert pairs.dtype == np.int64
        assert np.all(utility[pairs[:, 0]] > utility[pairs[:, 1]])

    def test_noise_is_bradley_terry(self):
        X, pairs, coef = make_preferences(2, 3, 20_000, noise=2.0, return_coef=True, random_state=1)
        utility = X @ coef
        expected = 1 / (1 + np.exp(-(utility[0] - utility[1]) / 2.0))
        assert abs(np.mean(pairs[:, 0] == 0) - expected) < 0.02
        assert 0.02 < expected < 0.98

    def test_all_pairs_occur_and_none_with_itself(self):
        _, pairs = make_preferences(4, 2, 500, noise=5.0, random_state=0)
        assert len(np.unique(pairs, axis=0)) == 12
        assert np.all(pairs[:, 0] != pairs[:, 1])

    def test_what_is_returned(self):
        X, pairs, magnitude, weight, coef = make_preferences(
            noise=0.0, magnitudes=True, weights=True, return_coef=True, random_state=0
        )
        utility = X @ coef
        assert np.allclose(magnitude, utility[pairs[:, 0]] - utility[pairs[:, 1]])
        assert set(weight.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}
        assert len(make_preferences(magnitudes=True)) == len(make_preferences(weights=True)) == 3

    @pytest.mark.parametrize(
        "options", [{"n_items": 1}, {"n_features": 0}, {"n_pairs": 0}, {"noise": float("inf")}], ids=str
    )
    def test_options(self, options):
        with pytest.raises(InvalidInputError, match=next(iter(options))):
            make_preferences(**options)
