"""RankRLSCV and RLSCV choose what a literal search by refitting chooses."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank import metrics
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.model_selection import RLSCV, QueryKFold, RankRLSCV, RLSClassifierCV, leave_query_out
from kernelrank.persistence import load, save
from tests.oracles.holdout import retrained_difference, retrained_scores

ALPHAS = 2.0 ** np.arange(-6, 13, 3)

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")


def data(seed=0, n_queries=12, size=6, n=4, outputs=0):
    rng = np.random.default_rng(seed)
    m = n_queries * size
    X = rng.normal(size=(m, n))
    shape = (m, outputs) if outputs else (m,)
    y = (X @ rng.normal(size=(n, *shape[1:]))) + 2 * rng.normal(size=shape)
    return X, y, np.repeat(np.arange(n_queries), size)[rng.permutation(m)]


@parametrize_with_checks(
    [RankRLSCV(), RLSCV(), RLSClassifierCV(), RLSClassifierCV(cv=2), RankRLSCV(kernel="rbf", cv=3)]
)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scoring", ["pairwise_accuracy", "ndcg@3", "disagreement"])
def test_queries_left_out_by_refitting(kernel, scoring):
    X, y, qid = data()
    y = np.round(y - y.min())
    model = RankRLSCV(ALPHAS, kernel=kernel, scoring=scoring).fit(X, y, qid=qid)
    measure = metrics.get_measure(scoring)
    expected = []
    for alpha in ALPHAS:
        scores = np.empty(len(y))
        for q in np.unique(qid):
            held = np.flatnonzero(qid == q)
            scores[held] = retrained_scores(RankRLS(kernel=kernel), X, y, held, alpha, qid)
        expected.append(measure.average(y, scores, qid=qid) * (1 if measure.higher_is_better else -1))
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, atol=1e-9)
    assert model.alpha_ == ALPHAS[np.argmax(expected)]
    assert model.best_score_ == pytest.approx(max(expected))
    np.testing.assert_allclose(
        model.holdout_scores_, leave_query_out(RankRLS(model.alpha_, kernel=kernel), X, y, qid), rtol=1e-7
    )
    np.testing.assert_allclose(
        model.predict(X), RankRLS(model.alpha_, kernel=kernel).fit(X, y, qid=qid).predict(X), rtol=1e-9
    )


def test_pairs_left_out_by_refitting():
    X, y, _ = data(n_queries=1, size=14)
    y = np.round(y)
    model = RankRLSCV(ALPHAS).fit(X, y)
    expected = []
    for alpha in ALPHAS:
        right = [
            np.sign(retrained_difference(RankRLS(), X, y, i, j, alpha)) * np.sign(y[i] - y[j])
            for i in range(14)
            for j in range(i)
            if y[i] != y[j]
        ]
        expected.append(0.5 + np.mean(right) / 2)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected)
    assert model.holdout_scores_ is None


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_folds_are_those_of_a_grid_search(kernel):
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankRLS(kernel=kernel), {"alpha": ALPHAS}, cv=QueryKFold(4))
        search.fit(X, y, qid=qid)
    model = RankRLSCV(ALPHAS, kernel=kernel, cv=4).fit(X, y, qid=qid)
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split2_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], search.cv_results_[name], atol=1e-9)
    assert model.best_params_ == search.best_params_
    assert model.cv_results_["params"] == search.cv_results_["params"]


def test_splits_that_train_on_less_than_the_rest():
    X, y, _ = data()
    splits = list(ShuffleSplit(3, test_size=10, train_size=30, random_state=0).split(X))
    model = RankRLSCV(ALPHAS, cv=splits).fit(X, y)
    search = GridSearchCV(RankRLS(), {"alpha": ALPHAS}, cv=splits).fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    tested = np.zeros(len(y), dtype=bool)
    tested[np.concatenate([test for _, test in splits])] = True
    np.testing.assert_array_equal(np.isnan(model.holdout_scores_), ~tested)


def test_rls_is_ridge_with_generalised_cross_validation():
    X, y, _ = data()
    model = RLSCV(ALPHAS).fit(X, y)
    ridge = RidgeCV(ALPHAS, fit_intercept=False).fit(X, y)
    assert model.alpha_ == ridge.alpha_
    assert model.best_score_ == pytest.approx(ridge.best_score_)
    np.testing.assert_allclose(model.coef_, ridge.coef_)


def test_one_alpha_for_each_target():
    X, y, qid = data(outputs=3)
    model = RankRLSCV(ALPHAS, alpha_per_target=True).fit(X, y, qid=qid)
    for k in range(3):
        alone = RankRLSCV(ALPHAS).fit(X, y[:, k], qid=qid)
        assert model.alpha_[k] == alone.alpha_
        np.testing.assert_allclose(model.coef_[k], alone.coef_)
        np.testing.assert_allclose(model.holdout_scores_[:, k], alone.holdout_scores_)
    together = RankRLSCV(ALPHAS).fit(X, y, qid=qid)
    assert together.best_score_ <= model.best_score_
    assert together.cv_results_["mean_test_score_of_targets"].shape == (len(ALPHAS), 3)


def test_kernel_parameters():
    X, y, qid = data()
    grid = {"gamma": [0.01, 0.3]}
    model = RankRLSCV(ALPHAS, kernel="rbf", kernel_grid=grid).fit(X, y, qid=qid)
    each = [RankRLSCV(ALPHAS, kernel="rbf", gamma=gamma).fit(X, y, qid=qid) for gamma in grid["gamma"]]
    best = max(each, key=lambda one: one.best_score_)
    assert model.best_params_ == {"alpha": best.alpha_, "gamma": best.gamma}
    np.testing.assert_allclose(model.predict(X), best.predict(X))
    np.testing.assert_allclose(model.holdout_scores_, best.holdout_scores_)
    assert len(model.cv_results_["params"]) == 2 * len(ALPHAS)
    assert model.gamma is None
    with pytest.raises(InvalidInputError, match="'alpha', which is not a kernel parameter"):
        RankRLSCV(kernel_grid={"alpha": [1.0]}).fit(X, y)


def test_a_function_scores():
    X, y, qid = data()

    def minus_error(truth, score, codes):
        assert len(np.unique(codes)) == 12
        return -np.mean((truth - score) ** 2)

    model = RankRLSCV(ALPHAS, scoring=minus_error).fit(X, y, qid=qid)
    assert model.best_score_ == pytest.approx(-np.mean((y - model.holdout_scores_) ** 2))


def test_warns_at_the_edge_only_if_it_is_better():
    X, y, qid = data()
    with pytest.warns(EdgeOfGridWarning, match="the largest of the grid: try larger"):
        RankRLSCV([1e-9, 1e-8, 1e3], scoring=lambda y, f, qid: -np.abs(f).max()).fit(X, y, qid=qid)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankRLSCV([1.0, 2.0, 3.0], scoring=lambda y, f, qid: 0.0).fit(X, y, qid=qid)


def test_classes():
    X, y, _ = data()
    labels = np.where(y > 0, "well", "ill")
    model = RLSClassifierCV(ALPHAS).fit(X, labels)
    assert set(model.predict(X)) <= {"ill", "well"}
    wrong = np.mean((model.holdout_scores_ > 0) != (labels == "well"))
    assert model.best_score_ == pytest.approx(-wrong)
    pairs = RLSClassifierCV(ALPHAS, cv="leave_pair_out", scoring="auc").fit(X, labels)
    assert 0.5 < pairs.best_score_ <= 1


def test_in_a_pipeline_and_cloned():
    X, y, qid = data()
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankRLSCV(ALPHAS)).fit(X, y, qid=qid)
        assert 0.5 < pipeline.score(X, y, qid=qid) <= 1
    twin = clone(pipeline[-1])
    assert not hasattr(twin, "alpha_")
    assert not hasattr(twin, "fit_path")


def test_missing_scores_and_basis_and_weights():
    X, y, qid = data(outputs=2)
    y[::7, 0] = np.nan
    model = RankRLSCV(ALPHAS[:3], missing="ignore").fit(X, y, qid=qid)
    assert np.isfinite(model.best_score_)
    assert RankRLSCV(ALPHAS[:3], kernel="rbf", basis=10, cv=3, random_state=0).fit(X, y[:, 1], qid=qid).alpha_ > 0
    weight = np.random.default_rng(0).uniform(1, 2, len(X))
    weighted = RankRLSCV(ALPHAS[:3]).fit(X, y[:, 1], qid=qid, sample_weight=weight)
    plain = RankRLS(weighted.alpha_).fit(X, y[:, 1], qid=qid, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "leave_pair_out"}, "several queries"),
        ({"cv": 40}, "between 2 and 12, the number of queries"),
        ({"alphas": [1.0, -1.0]}, "positive"),
        ({"scoring": "nonsense"}, "unknown measure"),
        ({"cv": [(np.arange(72), np.arange(3))]}, "tests items that it trains on"),
    ],
)
def test_bad_input(options, message):
    X, y, qid = data()
    with pytest.raises(InvalidInputError, match=message):
        RankRLSCV(**options).fit(X, y, qid=qid)


def test_bad_input_without_queries():
    X, y, _ = data()
    with pytest.raises(InvalidInputError, match="expected qid with at least two queries"):
        RankRLSCV(cv="leave_query_out").fit(X, y)
    with pytest.raises(InvalidInputError, match="predicts the order of pairs"):
        RankRLSCV(scoring="ndcg").fit(X, y)
    with pytest.raises(NothingToCompareError):
        RankRLSCV(cv=KFold(len(y))).fit(X, y)
    assert RLSCV(cv=KFold(len(y)), alphas=ALPHAS).fit(X, y).alpha_ == RLSCV(ALPHAS).fit(X, y).alpha_
    assert type(RLS()) is RLS


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("options", "m"), [({}, 14), ({"kernel": "rbf", "gamma": 0.3}, 13), ({"outputs": 2}, 12)])
def test_pairs_left_out_are_measured_by_refitting(options, m, ties, monkeypatch):
    options = dict(options)
    X, y, _ = data(3, n_queries=1, size=m, outputs=options.pop("outputs", 0))
    y = np.round(y) if ties else y
    alphas = ALPHAS[::2]
    columns = y.reshape(m, -1).T
    pairs = [(i, j) for i in range(m) for j in range(i)]
    wrong, squares = np.zeros((len(columns), len(alphas))), np.zeros((len(columns), len(alphas)))
    for k, column in enumerate(columns):
        differing = [(i, j) for i, j in pairs if column[i] != column[j]]
        for number, alpha in enumerate(alphas):
            found = {p: retrained_difference(RankRLS(**options), X, column, *p, alpha) for p in pairs}
            squares[k, number] = np.mean([(column[i] - column[j] - found[i, j]) ** 2 for i, j in pairs])
            wrong[k, number] = np.mean([found[i, j] * (column[i] - column[j]) < 0 for i, j in differing])
    monkeypatch.setattr("kernelrank.model_selection.search.PAIR_BYTES", 8 * len(columns) * len(pairs) * 2)
    for scoring, expected in (("disagreement", wrong), ("magnitude_preserving_error", squares)):
        model = RankRLSCV(alphas, cv="leave_pair_out", scoring=scoring, **options).fit(X, y)
        expected = expected.mean(axis=0)
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], -expected, rtol=1e-8, atol=1e-8)
        assert model.alpha_ == alphas[np.argmin(expected)]
        assert model.best_score_ == pytest.approx(-expected.min())


def test_unscored_items_are_no_held_out_pairs():
    X, y, _ = data(4, n_queries=1, size=15)
    missing = y.copy()
    missing[[2, 9]] = np.nan
    options = {"alphas": ALPHAS, "scoring": "magnitude_preserving_error", "missing": "ignore"}
    kept = ~np.isnan(missing)
    found, expected = RankRLSCV(**options).fit(X, missing), RankRLSCV(**options).fit(X[kept], y[kept])
    scores = (model.cv_results_["mean_test_score"] for model in (found, expected))
    np.testing.assert_allclose(*scores, rtol=1e-8)
    with pytest.raises(InvalidInputError, match="predicts the order of pairs"):
        RankRLSCV(scoring=metrics.Disagreement("error")).fit(X, y)


@pytest.mark.parametrize("model", [RankRLSCV([0.1, 1.0, 10.0]), RLSCV([0.1, 1.0, 10.0], cv=3)])
def test_a_search_is_saved_with_its_results(model, tmp_path):
    X, y, qid = data()
    model = clone(model).set_params(kernel="rbf", kernel_grid={"gamma": [0.1, 1.0]}).fit(X, y, qid=qid)
    save(model, tmp_path / "model.kr")
    same = load(tmp_path / "model.kr")
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.best_params_ == model.best_params_
    np.testing.assert_array_equal(same.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
