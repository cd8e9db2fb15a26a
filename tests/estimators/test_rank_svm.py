"""RankSVM: what it minimises, what it leaves, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NotConverged, NothingToCompareError
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.model_selection import QueryKFold
from kernelrank.persistence import load, save
from tests.oracles import hinge as oracle
from tests.oracles.pairs import Edges, scored_edges

X, y, qid = make_ranking(n_queries=8, n_items=15, n_features=6, n_levels=4, noise=0.5, random_state=0)
COST = {"hinge": oracle.hinge, "squared_hinge": oracle.squared_hinge}

NOT_A_KERNEL = {
    "check_estimators_dtypes": "the check truncates the kernel to integers; it becomes indefinite and is refused",
    "check_positive_only_tag_during_fit": "the check takes the mean away; the kernel becomes indefinite and is refused",
}
DRAWN = "an integer basis is drawn from other items when items are repeated"

MODELS = [
    RankSVM(),
    RankSVM(loss="squared_hinge"),
    RankSVM(solver="bundle"),
    RankSVM(warm_start=True, query_weight="items"),
    RankSVM(kernel="rbf", loss="squared_hinge", tol=1e-10),
    RankSVM(kernel=RBF(1.5), loss="squared_hinge", tol=1e-10),
    RankSVM(basis=3, random_state=0),
    RankSVM(missing="ignore"),
    RankSVM(kernel="precomputed"),
]


def expected_failures(estimator):
    expected = {}
    if estimator.basis is not None:
        expected |= {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")}
    if estimator.kernel == "precomputed":
        expected |= NOT_A_KERNEL
    return expected


@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    options = getattr(check, "keywords", {})
    if estimator.kernel == "precomputed" and options.get("X_dtype") == "float32":
        # The check passes a kernel of 24 bits off as one of 53, for which it is indefinite.
        with pytest.raises(InvalidInputError, match="indefinite"):
            check(estimator)
    else:
        check(estimator)


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objective_and_gap_are_what_they_say(loss, query_weight):
    model = RankSVM(3.0, loss=loss, query_weight=query_weight).fit(X, y, qid=qid)
    edges = scored_edges(y, qid, cost="unit", query_weight=query_weight)
    value = COST[loss](model.predict(X), edges)[0] + 3.0 * model.coef_ @ model.coef_
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    exact = RankSVM(3.0, loss=loss, query_weight=query_weight, tol=1e-9).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert (1 - model.gap_) * model.objective_ <= exact.objective_ <= model.objective_ * (1 + 1e-9)
    assert model.n_pairs_ == len(edges.h)
    assert (model.n_queries_, model.n_idle_queries_, model.solver_) == (8, 0, "newton")
    assert model.score(X, y, qid=qid) > 0.8


def test_kernel_equals_its_own_features():
    degree_two = np.array([[a[i] * a[j] for i in range(6) for j in range(6)] for a in X])
    options = {"tol": 1e-8, "loss": "squared_hinge"}
    implicit = RankSVM(5.0, kernel="poly", degree=2, gamma=1.0, coef0=0.0, **options).fit(X, y, qid=qid)
    explicit = RankSVM(5.0, **options).fit(degree_two, y, qid=qid)
    assert implicit.objective_ == pytest.approx(explicit.objective_, rel=1e-7)
    np.testing.assert_allclose(implicit.predict(X), explicit.predict(degree_two), atol=1e-3)
    assert implicit.dual_coef_.shape == (len(X),)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_precomputed_kernel_equals_the_kernel(loss):
    from sklearn.metrics.pairwise import rbf_kernel

    K, new = rbf_kernel(X, gamma=0.2), rbf_kernel(X[:5] + 0.1, X, gamma=0.2)
    for basis in (None, [0, 5, 9, 30, 31]):
        options = {"loss": loss, "tol": 1e-8, "basis": basis}
        named = RankSVM(kernel="rbf", gamma=0.2, **options).fit(X, y, qid=qid)
        given = RankSVM(kernel="precomputed", **options).fit(K, y, qid=qid)
        np.testing.assert_allclose(given.predict(new), named.predict(X[:5] + 0.1), atol=1e-3)
        assert given.X_fit_ is None


def test_basis_predicts_with_the_basis_alone():
    model = RankSVM(kernel="rbf", gamma=0.1, basis=[3, 1, 40]).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.basis_, [3, 1, 40])
    np.testing.assert_array_equal(model.X_fit_, X[[3, 1, 40]])
    assert model.dual_coef_.shape == (3,)
    drawn = RankSVM(kernel="rbf", basis=10, random_state=0)
    np.testing.assert_array_equal(drawn.fit(X, y, qid=qid).predict(X), drawn.fit(X, y, qid=qid).predict(X))


def test_features_beyond_the_limit_are_kept(monkeypatch):
    small = RankSVM(kernel="rbf", basis=20, random_state=0).fit(X, y, qid=qid)
    monkeypatch.setattr("kernelrank.features.kernels.KEPT_FEATURE_BYTES", 0)
    large = RankSVM(kernel="rbf", basis=20, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_allclose(large.predict(X), small.predict(X), rtol=1e-6)


def test_every_form_of_data_gives_the_same_scores():
    def model():
        return RankSVM(loss="squared_hinge", tol=1e-10)

    expected = model().fit(X, y, qid=qid).predict(X)
    labels = [f"q{q}" for q in qid]
    order = np.random.default_rng(0).permutation(len(y))
    forms = [
        (sparse.csr_array(X), y, qid),
        (sparse.csc_matrix(X), y, list(qid)),
        (np.asfortranarray(X), y.astype(np.float32), labels),
        (X.astype(np.float32), y, labels),
        (pd.DataFrame(X), pd.Series(y), pd.Series(labels)),
        (pl.DataFrame(X), pl.Series(y), pl.Series(labels)),
    ]
    for A, scores, queries in forms:
        np.testing.assert_allclose(model().fit(A, scores, qid=queries).predict(A), expected, rtol=1e-5, atol=1e-5)
    mixed = model().fit(X[order], y[order], qid=qid[order])
    np.testing.assert_allclose(mixed.predict(X), expected, rtol=1e-6, atol=1e-8)
    frozen = X.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(model().fit(frozen, y, qid=qid).predict(X), expected)


def test_preferences_equal_the_scores_that_they_come_from():
    edges = scored_edges(y, qid, cost="unit")
    pairs = np.column_stack([edges.h, edges.j])
    scored = RankSVM(tol=1e-8).fit(X, y, qid=qid)
    listed = RankSVM(tol=1e-8).fit_pairs(X, pairs)
    assert listed.objective_ == pytest.approx(scored.objective_, rel=1e-7)
    assert listed.score_pairs(X, pairs) == pytest.approx(scored.score_pairs(X, pairs), abs=0.02)
    twice = RankSVM(tol=1e-8).fit_pairs(X, np.vstack([pairs, pairs[:50]]))
    weight = np.ones(len(pairs))
    weight[:50] = 2.0
    weighted = RankSVM(tol=1e-8).fit_pairs(X, pairs, weight=weight)
    assert twice.objective_ == pytest.approx(weighted.objective_, rel=1e-7)
    whole = Edges(len(y), edges.h, edges.j, edges.z, weight)
    assert weighted.objective_ == pytest.approx(
        oracle.hinge(weighted.predict(X), whole)[0] + weighted.coef_ @ weighted.coef_
    )


def test_weights_are_repetitions():
    count = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), count)
    weighted = RankSVM(loss="squared_hinge", tol=1e-10).fit(X, y, qid=qid, sample_weight=count)
    repeated = RankSVM(loss="squared_hinge", tol=1e-10).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)


def test_outputs_are_learnt_alone_and_missing_scores_take_no_part():
    Y = np.column_stack([y, -X[:, 0], y])
    Y[::7, 2] = np.nan
    model = RankSVM(missing="ignore").fit(X, Y, qid=qid)
    assert model.coef_.shape == (3, 6)
    assert model.objective_.shape == (3,)
    scored = ~np.isnan(Y[:, 2])
    for k, rows in ((0, slice(None)), (1, slice(None)), (2, scored)):
        alone = RankSVM().fit(X[rows], Y[rows, k], qid=qid[rows])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-6, atol=1e-9)
        assert model.objective_[k] == pytest.approx(alone.objective_)
    assert 0.7 < model.score(X, Y, qid=qid) <= 1.0


@pytest.mark.parametrize("solver", ["newton", "bundle"])
def test_path_equals_single_fits(solver):
    alphas = [100.0, 1.0, 0.01]
    path = RankSVM(solver=solver, tol=1e-6).fit_path(X, y, alphas, qid=qid)
    for alpha, model in zip(alphas, path, strict=True):
        single = RankSVM(alpha, solver=solver, tol=1e-6).fit(X, y, qid=qid)
        assert model.alpha == alpha
        assert model.gap_ <= 1e-6
        assert model.objective_ == pytest.approx(single.objective_, rel=2e-6)


def test_warm_start_goes_on_from_the_last_fit():
    model = RankSVM(0.1, warm_start=True, tol=1e-6).fit(X, y, qid=qid)
    first = model.n_iter_
    assert model.fit(X, y, qid=qid).n_iter_ < first


def test_alike_to_rank_rls():
    svm, rls = RankSVM(10.0).fit(X, y, qid=qid), RankRLS(10.0).fit(X, y, qid=qid)
    assert svm.score(X, y, qid=qid) == pytest.approx(rls.score(X, y, qid=qid), abs=0.03)


def test_search_and_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), RankSVM()), {"ranksvm__alpha": [0.1, 10.0]}, cv=QueryKFold(4)
        ).fit(X, y, qid=qid)
    assert search.best_score_ > 0.75


@pytest.mark.parametrize("model", [RankSVM(), RankSVM(kernel="rbf", basis=5, random_state=0)], ids=["linear", "rbf"])
def test_saved_model_predicts_the_same(model, tmp_path):
    model.fit(X, y, qid=qid)
    save(model, tmp_path / "model.kr")
    same = load(tmp_path / "model.kr")
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert (same.gap_, same.objective_) == (model.gap_, model.objective_)


def test_gap_that_is_left_is_told():
    with pytest.warns(NotConverged, match="duality gap of .* of the objective, above tol=1e-09"):
        model = RankSVM(0.01, tol=1e-9, max_iter=2).fit(X, y, qid=qid)
    assert model.gap_ > 1e-9
    assert model.n_iter_ == 2


def test_callbacks_find_the_gap_and_may_stop():
    pytest.importorskip("sklearn.callback")
    gaps = []

    class Listener:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "iteration":
                gaps.append(estimator.gap_)
            return len(gaps) >= 3

    model = RankSVM(0.01, tol=1e-9).set_callbacks(Listener()).fit(X, y, qid=qid)
    assert len(gaps) == model.n_iter_ == 3
    assert model.gap_ == pytest.approx(min(gaps[-1], 1.0), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"loss": "logistic"}, "loss"),
        ({"solver": "cholesky"}, "solver"),
        ({"max_iter": None}, "max_iter"),
        ({"solver": "bundle", "loss": "squared_hinge"}, "minimises the hinge only"),
        ({"basis": [99_999]}, "basis has the item 99999"),
    ],
)
def test_bad_options(options, message):
    model = RankSVM(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, qid=qid)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_nothing_to_compare():
    with pytest.raises(NothingToCompareError):
        RankSVM().fit(X, np.ones(len(y)), qid=qid)
    with pytest.raises(NothingToCompareError):
        RankSVM().fit_pairs(X, np.zeros((0, 2), dtype=int))
    with pytest.raises(InvalidInputError, match="points outside X"):
        RankSVM().fit_pairs(X, [[0, 9999]])


def test_score_needs_queries():
    with pytest.raises(InvalidInputError, match="score needs qid"):
        RankSVM().fit(X, y, qid=qid).score(X, y)
