"""CoRankRLS at home in scikit-learn: its checks, clones, pipelines, routing and model files."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import CoRankRLS
from kernelrank.features import View
from kernelrank.model_selection import CoRankRLSCV, QueryKFold
from kernelrank.persistence import load, save

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

X, y, qid = make_ranking(n_queries=20, n_items=6, n_features=4, noise=0.5, random_state=0)
HALF = np.where(qid < 8, y, np.nan)


class WithUnscored(CoRankRLS):
    """The checks know no unscored items; here the scored ones are both."""

    def fit(self, X, y, qid=None, sample_weight=None):
        return super().fit(X, y, qid=qid, X_unscored=X, qid_unscored=qid, sample_weight=sample_weight)


DRAWN = "an integer basis is drawn from other items when items are repeated"
DRAWN_BASIS = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        CoRankRLS(nu=0.0),
        CoRankRLS(nu=0.0, views=[View(RBF(2.0)), View("linear")]),
        WithUnscored(nu=0.01),
        WithUnscored(nu=0.01, views=3, kernel="linear", query_weight="items"),
        CoRankRLSCV(nus=[0.0], alphas=[0.1, 1.0, 10.0], cv=2),
    ],
    expected_failed_checks=lambda _: DRAWN_BASIS,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_defaults_do_without_options_where_there_are_unscored_items():
    assert CoRankRLS().fit(X, HALF, qid=qid).score(X, y, qid=qid) > 0.5
    assert CoRankRLSCV(random_state=0).fit(X, HALF, qid=qid).score(X, y, qid=qid) > 0.8


def test_score_passes_over_unscored_items_and_needs_queries():
    model = CoRankRLS(random_state=0).fit(X, HALF, qid=qid)
    known = qid < 8
    assert model.score(X, HALF, qid=qid) == pytest.approx(model.score(X[known], y[known], qid=qid[known]), rel=1e-12)
    with pytest.raises(InvalidInputError, match="fitted on 8 queries, so score needs qid"):
        model.score(X, y)


def test_clone():
    views = [View("rbf", gamma=0.5, columns=[0, 1]), {"columns": [2, 3]}]
    model = CoRankRLS(0.3, 0.2, views=views, random_state=0)
    again = clone(model)
    assert repr(again) == repr(model)
    expected = model.fit(X, HALF, qid=qid).predict(X)
    np.testing.assert_array_equal(again.fit(X, HALF, qid=qid).predict(X), expected)


def test_pipeline_with_nan():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), CoRankRLS(random_state=0)).fit(X, HALF, qid=qid)
    scaled = StandardScaler().fit_transform(X)
    by_hand = CoRankRLS(random_state=0).fit(scaled, HALF, qid=qid)
    np.testing.assert_allclose(pipeline.predict(X), by_hand.predict(scaled), rtol=1e-10)


def test_pipeline_that_transforms_unscored_items():
    known = qid < 8
    with sklearn.config_context(enable_metadata_routing=True):
        model = CoRankRLS(random_state=0).set_fit_request(X_unscored=True, qid_unscored=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("rank", model)], transform_input=["X_unscored"])
        pipeline.fit(X[known], y[known], qid=qid[known], X_unscored=X[~known], qid_unscored=qid[~known])
    scaler = StandardScaler().fit(X[known])
    by_hand = CoRankRLS(random_state=0).fit(
        scaler.transform(X[known]),
        y[known],
        qid=qid[known],
        X_unscored=scaler.transform(X[~known]),
        qid_unscored=qid[~known],
    )
    np.testing.assert_allclose(pipeline.predict(X), by_hand.predict(scaler.transform(X)), rtol=1e-10)


def test_search_over_nu_with_routed_queries():
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(CoRankRLS(basis=10, random_state=0), {"nu": [1e-3, 0.1]}, cv=QueryKFold(3))
        search.fit(X, HALF, qid=qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


MODELS = {
    "defaults": CoRankRLS(random_state=0),
    "views": CoRankRLS(views=[View("poly", degree=2, columns=[0, 2], basis=[1, 5, 8]), View(RBF(1.5))], random_state=0),
    "items": CoRankRLS(views=[View(basis=X[:4]), {"columns": slice(0, 2).indices(4)[:2], "basis": [0, 1]}]),
    "search": CoRankRLSCV([0.1, 1.0], [0.0, 0.1], cv=2, views=["rbf", "laplacian"], basis=8, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_model_files(model, tmp_path):
    fitted = clone(model).fit(X, HALF, qid=qid)
    save(fitted, tmp_path / "model.kr")
    again = load(tmp_path / "model.kr")
    assert again.predict_views(X).tobytes() == fitted.predict_views(X).tobytes()
    assert repr(again.views) == repr(fitted.views)
    assert again.disagreement_ == fitted.disagreement_
    if isinstance(fitted, CoRankRLSCV):
        assert again.best_params_ == fitted.best_params_
        assert again.cv_results_["params"] == fitted.cv_results_["params"]


def test_a_kernel_that_is_code_is_not_saved(tmp_path):
    model = CoRankRLS(views=["rbf", View(lambda a, b: float(a @ b))], basis=5).fit(X, HALF, qid=qid)
    with pytest.raises(InvalidInputError, match=r"the parameter views of CoRankRLS\[1\]\['kernel'\]: it is code"):
        save(model, tmp_path / "model.kr")
    assert not list(tmp_path.iterdir())
