"""alphas="auto": the scale is the mean eigenvalue without labels, and the grid goes where the best alpha is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError
from kernelrank.estimators import CoRankRLS, RankRLS
from kernelrank.features import ExplicitFeatures, FullKernel, ReducedSet
from kernelrank.kernels import Kernel
from kernelrank.kernels.kernel import gamma_by_rule
from kernelrank.model_selection import RLSCV, CoRankRLSCV, RankRLSCV, estimate_auc, leave_pair_out
from kernelrank.model_selection.alpha_grid import AlphaGrid, alpha_scale, centred_trace, edge_of
from kernelrank.model_selection.holdout import holdout
from kernelrank.model_selection.nested_search import NestedSearch
from kernelrank.persistence import load, save

WIDE = 2.0 ** np.arange(-25, 11)


def data(seed=0, n_queries=8, size=6, n=4, outputs=0, noise=2.0):
    rng = np.random.default_rng(seed)
    m = n_queries * size
    X = rng.normal(size=(m, n)) * np.arange(1, n + 1)
    shape = (m, outputs) if outputs else (m,)
    y = X @ rng.normal(size=(n, *shape[1:])) + noise * rng.normal(size=shape)
    return X, y, np.repeat(np.arange(n_queries), size)[rng.permutation(m)]


def graph_of(qid, weight=None, query_weight="pairs"):
    m = len(qid)
    return ScoredQueries(np.zeros((m, 1)), Queries.from_labels(qid, m), weight=weight, query_weight=query_weight)


class TestScale:
    @pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
    @pytest.mark.parametrize(
        "kernel", ["linear", "rbf", "poly", RBF(2.0) + WhiteKernel(0.3), "precomputed"], ids=lambda kernel: str(kernel)
    )
    def test_is_the_mean_eigenvalue(self, kernel, query_weight):
        X, _, qid = data()
        X += 3.0
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
        weight[:3] = 0.0
        if kernel == "precomputed":
            X = Kernel("rbf", 0.1).matrix(X)
        graph = graph_of(qid, weight, query_weight)
        K = X @ X.T if kernel == "linear" else Kernel(kernel, 0.1, degree=5).matrix(X)
        L = graph.apply(np.eye(len(X)))
        values = np.linalg.eigvals(L @ K).real
        rank = int((values > 1e-9 * values.max()).sum())
        features = ExplicitFeatures(X) if kernel == "linear" else FullKernel(Kernel(kernel, 0.1, degree=5), X)
        assert alpha_scale(features, graph) == pytest.approx(np.trace(L @ K) / rank)

    def test_of_plain_least_squares_is_not_centred(self):
        X, *_ = data()
        weight = np.random.default_rng(1).uniform(0.0, 2.0, len(X))
        graph = ItemScores(np.zeros((len(X), 1)), weight=weight)
        assert alpha_scale(ExplicitFeatures(X + 7), graph) == pytest.approx((weight @ (X + 7) ** 2).sum() / 4)
        assert alpha_scale(FullKernel(Kernel("rbf", 0.1), X), graph) == pytest.approx(weight.sum() / len(X))

    @pytest.mark.parametrize("qid", [None, "queries"])
    def test_of_columns_in_any_form(self, qid):
        X, _, labels = data()
        graph = graph_of(labels if qid else [0] * len(X))
        dense = centred_trace(X, graph)
        assert centred_trace(sparse.csr_array(X), graph) == pytest.approx(dense)
        assert centred_trace(X.astype(np.float32), graph) == pytest.approx(dense, rel=1e-6)

        class Rows:
            shape = X.shape

            def __getitem__(self, rows):
                return X[rows]

        assert centred_trace(Rows(), graph) == pytest.approx(dense)
        reduced = ReducedSet(Kernel("rbf", 0.1), X, np.arange(7))
        Phi = reduced.rows(np.arange(len(X)))
        assert alpha_scale(reduced, graph) == pytest.approx(np.trace(Phi.T @ graph.apply(Phi)) / 7)

    def test_far_from_the_origin_keeps_its_digits(self):
        X, _, qid = data()
        near, far = (alpha_scale(ExplicitFeatures(X + shift), graph_of(qid)) for shift in (0.0, 1e7))
        assert far == pytest.approx(near, rel=1e-6)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_a_weight_is_so_many_copies(self, kernel):
        X, _, qid = data(n=40)
        weight = np.random.default_rng(2).integers(1, 4, len(X))
        several = np.repeat(np.arange(len(X)), weight)

        def features(X):
            return ExplicitFeatures(X) if kernel == "linear" else FullKernel(Kernel("rbf", 0.01), X)

        for items, queries in ((None, qid), (qid, qid)):
            labels = [0] * len(X) if items is None else queries
            weighted = alpha_scale(features(X), graph_of(labels, weight.astype(float)))
            copied = alpha_scale(features(X[several]), graph_of(np.asarray(labels)[several]))
            assert weighted == pytest.approx(copied)
        items = ItemScores(np.zeros((len(X), 1)), weight=weight.astype(float))
        assert alpha_scale(features(X), items) == pytest.approx(
            alpha_scale(features(X[several]), ItemScores(np.zeros((len(several), 1))))
        )

    def test_of_nothing_is_one(self):
        assert alpha_scale(ExplicitFeatures(np.ones((4, 2))), graph_of([0, 0, 1, 1])) == 1.0
        assert alpha_scale(ExplicitFeatures(np.full((4, 2), 1e200)), ItemScores(np.zeros((4, 1)))) == 1.0
        assert alpha_scale(ExplicitFeatures(np.eye(3)), graph_of([0, 1, 2])) == 1.0


class TestEdge:
    @pytest.mark.parametrize(
        ("values", "edge"),
        [
            ([3, 2, 1], -1),
            ([1, 2, 3], 1),
            ([1, 2, 2], 0),
            ([2, 2, 1], 0),
            ([1, 1, 1], 0),
            ([1, 3, 1], 0),
            ([3, 1, 3], -1),
        ],
    )
    def test_is_strictly_better_than_the_inside(self, values, edge):
        alphas, values = np.array([1.0, 2.0, 4.0]), np.array(values, dtype=float)
        assert edge_of(alphas, values) == edge
        order = [2, 0, 1]
        if list(values) != [3, 1, 3]:
            assert edge_of(alphas[order], values[order]) == edge

    def test_needs_an_inside(self):
        assert edge_of(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0
        assert edge_of(np.array([1.0]), np.array([1.0])) == 0

    def test_extends_where_the_best_is_and_no_further(self):
        calls = []

        def peak_at(exponent):
            def measure(alphas):
                calls.append(len(alphas))
                return -np.abs(np.log2(alphas) - exponent)

            return measure

        for exponent, low, high, rounds in [(0, -15, 5, 1), (-18, -20, 5, 2), (-24, -25, 5, 3), (8, -15, 10, 2)]:
            calls.clear()
            found = AlphaGrid.around(1.0).explored(peak_at(exponent)).alphas
            np.testing.assert_allclose(np.log2(found), np.arange(low, high + 1))
            assert len(calls) == rounds
            assert sum(calls) == len(found)

    def test_several_choices_extend_both_ends(self):
        grid = AlphaGrid.around(1.0)
        found = grid.explored(lambda alphas: np.stack([alphas, 1 / alphas]))
        np.testing.assert_allclose(found.alphas, WIDE)

    def test_given_alphas_are_never_extended(self):
        grid = AlphaGrid.given([4.0, 1.0, 2.0])
        assert grid.explored(lambda alphas: alphas) is grid
        with pytest.warns(EdgeOfGridWarning, match="the best alpha, 4, is the largest of the grid: try larger ones"):
            grid.warn_at_edge(grid.alphas)
        with pytest.warns(EdgeOfGridWarning, match="goes no further; scale the columns of X, or give smaller alphas"):
            AlphaGrid.around(1.0, whole=True).warn_at_edge(-WIDE)


class TestSearch:
    @pytest.mark.parametrize("search", [RankRLSCV, RLSCV])
    @pytest.mark.parametrize("kernel", ["linear", "poly"])
    @pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
    def test_scaling_the_items_scales_the_grid(self, search, kernel):
        X, y, qid = data()
        options = {"kernel": kernel, "degree": 2, "gamma": 1.0, "coef0": 0.0} if kernel == "poly" else {}
        power = 4 if kernel == "poly" else 2
        one, other = (search(**options).fit(c * X, y, qid=qid) for c in (1.0, 3.0))
        np.testing.assert_allclose(other.alphas_, 3.0**power * one.alphas_)
        assert other.alpha_ == pytest.approx(3.0**power * one.alpha_)
        np.testing.assert_allclose(other.predict(3.0 * X), one.predict(X), rtol=1e-6)

    def test_duplicates_of_all_items(self):
        """Every pair of one ranking is there four times, every item twice."""
        X, y, _ = data()
        twice = np.concatenate([X, X]), np.concatenate([y, y])
        folds = [
            (np.flatnonzero(np.arange(96) % 48 % 5 != k), np.flatnonzero(np.arange(96) % 48 % 5 == k)) for k in range(5)
        ]
        single = [(train[train < 48], test[test < 48]) for train, test in folds]
        for search, times in ((RankRLSCV, 4.0), (RLSCV, 2.0)):
            one, both = search(cv=single).fit(X, y), search(cv=folds).fit(*twice)
            np.testing.assert_allclose(both.alphas_, times * one.alphas_)
            assert both.alpha_ == pytest.approx(times * one.alpha_)
            weighted = search(cv=single).fit(X, y, sample_weight=np.full(48, 2.0))
            np.testing.assert_allclose(weighted.alphas_, both.alphas_)
            np.testing.assert_allclose(weighted.coef_, both.coef_)

    @pytest.mark.parametrize("options", [{}, {"cost": "unit"}, {"cost": "relative"}, {"ties": "exclude"}])
    def test_labels_take_no_part(self, options):
        X, y, qid = data()
        scores = np.round(y - y.min()) + 1.0
        first = RankRLSCV(**options)._settled(X, qid=qid).alphas
        assert len(first) == 36
        model = RankRLSCV(**options).fit(X, scores, qid=qid)
        assert set(np.round(np.log2(model.alphas_), 6)) <= set(np.round(np.log2(first), 6))
        graph = graph_of(qid)
        np.testing.assert_allclose(first, alpha_scale(ExplicitFeatures(X), graph) * WIDE)

    def test_results_follow_the_grid(self):
        X, y, qid = data(noise=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            model = RankRLSCV(scoring=lambda y, f, qid: -np.mean((y - f) ** 2)).fit(X, y, qid=qid)
        assert len(model.alphas_) > 21  # without noise less is always better, so the grid was extended
        np.testing.assert_array_equal(model.cv_results_["param_alpha"], model.alphas_)
        assert np.all(np.diff(model.alphas_) > 0)
        given = RankRLSCV(model.alphas_, scoring=model.scoring)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            given.fit(X, y, qid=qid)
        for name in ("mean_test_score", "std_test_score", "rank_test_score"):
            np.testing.assert_allclose(model.cv_results_[name], given.cv_results_[name], rtol=1e-9)
        np.testing.assert_allclose(model.holdout_scores_, given.holdout_scores_)
        assert model.alpha_ == given.alpha_
        assert model.best_score_ == pytest.approx(given.best_score_)

    def test_warns_only_when_the_range_is_used_up(self):
        X, y, qid = data()
        with pytest.warns(EdgeOfGridWarning, match="the smallest of the grid: alphas='auto' goes no further"):
            model = RankRLSCV(scoring=lambda y, f, qid: np.abs(f).max()).fit(X, y, qid=qid)
        assert len(model.alphas_) == 31
        assert model.alpha_ == model.alphas_[0]

    @pytest.mark.parametrize("basis", [None, 12])
    def test_one_decomposition_serves_the_extension(self, basis, monkeypatch):
        from kernelrank.exact_cv import basis as basis_removal
        from kernelrank.exact_cv import problem

        calls = []
        for module in (problem, basis_removal):
            monkeypatch.setattr(
                module, "spectrum", lambda *args, real=module.spectrum: (calls.append(1), real(*args))[1]
            )
        X, y, qid = data()
        with pytest.warns(EdgeOfGridWarning):
            model = RankRLSCV(
                kernel="rbf", gamma=0.1, basis=basis, random_state=0, scoring=lambda y, f, qid: np.abs(f).max()
            ).fit(X, y, qid=qid)
        assert len(model.alphas_) == 31
        assert len(calls) == 1

    def test_a_grid_for_each_kernel(self):
        X, y, qid = data()
        grid = {"gamma": [0.001, 0.1]}
        model = RankRLSCV(kernel="rbf", kernel_grid=grid).fit(X, y, qid=qid)
        each = [RankRLSCV(kernel="rbf", gamma=gamma).fit(X, y, qid=qid) for gamma in grid["gamma"]]
        assert not np.isclose(each[0].alphas_[0], each[1].alphas_[0])
        np.testing.assert_array_equal(model.cv_results_["param_alpha"], np.concatenate([one.alphas_ for one in each]))
        best = max(each, key=lambda one: one.best_score_)
        np.testing.assert_array_equal(model.alphas_, best.alphas_)
        assert model.best_params_ == {"alpha": best.alpha_, "gamma": best.gamma}
        fixed = RankRLSCV(kernel="rbf", kernel_grid=grid)._settled(X, qid=qid)
        assert fixed.alphas.shape == (2, 36)
        np.testing.assert_array_equal(fixed.fit(X, y, qid=qid).alphas_, fixed.alphas[int(model.gamma_ == 0.1)])
        with pytest.raises(InvalidInputError, match="alphas has 3 rows, and kernel_grid 2 candidates"):
            RankRLSCV(np.ones((3, 4)), kernel="rbf", kernel_grid=grid).fit(X, y, qid=qid)

    def test_several_outputs_and_missing_scores(self):
        X, y, qid = data(outputs=3)
        y[qid == 0] = np.nan
        model = RankRLSCV(alpha_per_target=True, missing="ignore").fit(X, y, qid=qid)
        assert np.isin(model.alpha_, model.alphas_).all()
        scored = qid != 0
        rest = RankRLSCV(alpha_per_target=True).fit(X[scored], y[scored], qid=qid[scored])
        np.testing.assert_allclose(model.alphas_, rest.alphas_)
        np.testing.assert_allclose(model.alpha_, rest.alpha_)

    def test_queries_without_a_comparison(self):
        X, y, qid = data()
        alone = np.arange(100, 103)
        more = np.concatenate([X, 100 * X[:3]]), np.append(y, [1.0, 2.0, 3.0]), np.append(qid, alone)
        np.testing.assert_allclose(
            RankRLSCV(cv=4).fit(*more[:2], qid=more[2]).alphas_, RankRLSCV(cv=4).fit(X, y, qid=qid).alphas_
        )

    def test_is_saved(self, tmp_path):
        X, y, qid = data()
        model = RankRLSCV().fit(X, y, qid=qid)
        save(model, tmp_path / "model.kr")
        same = load(tmp_path / "model.kr")
        assert same.alphas == "auto"
        np.testing.assert_array_equal(same.alphas_, model.alphas_)

    def test_bad_input(self):
        X, y, qid = data()
        with pytest.raises(ValueError, match="alphas"):
            RankRLSCV("automatic").fit(X, y, qid=qid)


class TestHoldOut:
    def test_all_refits_share_a_grid(self, monkeypatch):
        X, y, _ = data(n_queries=2, size=6)
        labels = (y > np.median(y)).astype(int)
        grids = []
        search = RankRLSCV._search

        def noted(self, *args, **options):
            grids.append(np.array(self.alphas))
            return search(self, *args, **options)

        monkeypatch.setattr(RankRLSCV, "_search", noted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            estimate_auc(RankRLSCV(cv=2), X, labels)  # folds of what remains have no shortcut
            leave_pair_out(RankRLSCV(cv=2), X, labels, pairs=[[0, 1]])
        assert len(grids) == 37
        expected = alpha_scale(ExplicitFeatures(X), graph_of([0] * 12)) * WIDE
        np.testing.assert_allclose(NestedSearch(RankRLSCV(), X, labels).kernels[0].alphas, expected)
        for grid in grids:
            np.testing.assert_allclose(grid, expected)

    def test_co_rank_rls_takes_the_whole_range(self):
        X, y, qid = data(n_queries=10)
        y[qid >= 6] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            model = CoRankRLSCV(nus=[0.0, 0.1], cv=2, gamma=0.05, random_state=0).fit(X, y, qid=qid)
            scaled = CoRankRLSCV(nus=[0.0, 0.1], cv=2, gamma=0.05 / 4, random_state=0).fit(2 * X, y, qid=qid)
        assert len(model.alphas_) == 36
        np.testing.assert_allclose(scaled.alphas_, model.alphas_)
        np.testing.assert_array_equal(model.cv_results_["param_alpha"], np.tile(model.alphas_, 2))
        assert model.alpha_ in model.alphas_
        assert RankRLS(model.alpha_).fit(X[qid < 6], y[qid < 6], qid=qid[qid < 6]).coef_.shape == (4,)

    def test_co_rank_rls_draws_its_bases_in_each_training_set(self):
        X, y, qid = data(n_queries=10)
        model = CoRankRLS(nu=0.0, basis=12, gamma="median", random_state=0)
        held = np.flatnonzero(qid == 3)
        (scores,) = holdout(model, X, y, [held], qid=qid)
        rest = np.delete(np.arange(len(y)), held)
        model.fit(X[rest], y[rest], qid=qid[rest])
        np.testing.assert_allclose(scores, model.predict(X[held]))
        assert [len(basis) for basis in model.basis_] == [12, 12]
        assert model.gamma_ == [gamma_by_rule("median", items) for items in model.X_fit_]
