"""TransductiveRankRLS: what it makes of its data, its place in scikit-learn, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelrank as kr
from kernelrank.comparisons.scored import QUERY_WEIGHTS
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS, TransductiveRankRLS
from kernelrank.kernels import Kernel
from kernelrank.model_selection import QueryKFold
from tests.oracles.pairs import root_features
from tests.oracles.transduction import minimise, objective

X, Y, QID = kr.make_ranking(
    n_queries=7, n_items=(2, 4), n_features=4, query_shift=3.0, noise=0.3, qid_type="str", shuffle=True, random_state=0
)
HIDDEN = np.isin(QID, ["q1", "q3", "q4"])
y = np.where(HIDDEN, np.nan, Y)
ITEMS = np.arange(len(y))


def close(found, expected, relative=1e-8):
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())


def literal_minimum(Phi, held, alpha, anchor, query_weight):
    """Minimise the literal objective over the scores of the unscored items."""
    unscored = np.flatnonzero(HIDDEN)

    def function(candidate):
        return objective(candidate, Phi, Y, QID, unscored, held, alpha, anchor, query_weight)

    return minimise(function, len(unscored))


@pytest.mark.parametrize("query_weight", QUERY_WEIGHTS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_transduction_minimises_the_objective(kernel, query_weight):
    model = TransductiveRankRLS(0.5, 0.2, kernel=kernel, query_weight=query_weight).fit(X, y, qid=QID)
    held = [np.flatnonzero(label == QID) for label in np.unique(QID)]
    expected = literal_minimum(root_features(Kernel(kernel).matrix(X)), held, 0.5, 0.2, query_weight)
    np.testing.assert_array_equal(model.unscored_, np.flatnonzero(HIDDEN))
    close(model.transduction_, expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_folds_are_unions_of_queries(kernel):
    unions = [["q0", "q1"], ("q5", "q2", "q3"), np.array(["q4", "q6"])]
    model = TransductiveRankRLS(0.5, 0.2, kernel=kernel, cv=unions).fit(X, y, qid=QID)
    held = [np.flatnonzero(np.isin(QID, list(union))) for union in unions]
    close(model.transduction_, literal_minimum(root_features(Kernel(kernel).matrix(X)), held, 0.5, 0.2, "pairs"))
    assert model.n_splits_ == 3


def test_a_number_of_folds_keeps_queries_whole():
    model = TransductiveRankRLS(0.5, 0.2, cv=3).fit(X, y, qid=QID)
    held = [test for _, test in QueryKFold(3).split(X, groups=QID)]
    close(model.transduction_, literal_minimum(X, held, 0.5, 0.2, "pairs"))


@pytest.mark.parametrize("basis", [[0, 3, 8], [0, 1, 2, 4, 6, 9, 10, 12]])
def test_a_basis_stays_in_every_fold(basis):
    model = TransductiveRankRLS(0.5, 0.2, kernel="rbf", basis=basis).fit(X, y, qid=QID)
    kernel = Kernel("rbf")
    U = np.linalg.cholesky(kernel.matrix(X[basis])).T
    Phi = np.linalg.solve(U.T, kernel.matrix(X[basis], X)).T
    held = [np.flatnonzero(label == QID) for label in np.unique(QID)]
    close(model.transduction_, literal_minimum(Phi, held, 0.5, 0.2, "pairs"))
    np.testing.assert_array_equal(model.basis_, basis)
    filled = np.where(HIDDEN, 0.0, Y)
    filled[model.unscored_] = model.transduction_
    close(model.predict(X), RankRLS(0.5, kernel="rbf", basis=basis).fit(X, filled, qid=QID).predict(X))


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"kernel": "poly", "degree": 2, "query_weight": "queries"}])
def test_a_large_anchor_is_the_inductive_model(options):
    inductive = RankRLS(0.5, **options).fit(X[~HIDDEN], Y[~HIDDEN], qid=QID[~HIDDEN])
    model = TransductiveRankRLS(0.5, 1e12, **options).fit(X, y, qid=QID)
    close(model.inductive_, inductive.predict(X[HIDDEN]), 1e-12)
    close(model.transduction_, inductive.predict(X[HIDDEN]), 1e-9)
    # Trained on the scores and on its own predictions, the model is the same again.
    new = np.random.default_rng(1).standard_normal((5, X.shape[1]))
    close(model.predict(new), inductive.predict(new), 1e-9)
    small = TransductiveRankRLS(0.5, 0.01, **options).fit(X, y, qid=QID)
    assert np.abs(small.transduction_ - model.transduction_).max() > 1e-3


def test_predict_is_rank_rls_on_given_and_chosen_scores():
    model = TransductiveRankRLS(0.5, 0.1, kernel="rbf", query_weight="items").fit(X, y, qid=QID)
    filled = y.copy()
    filled[model.unscored_] = model.transduction_
    trained = RankRLS(0.5, kernel="rbf", query_weight="items").fit(X, filled, qid=QID)
    close(model.predict(X[:5] + 0.1), trained.predict(X[:5] + 0.1), 1e-12)
    assert (model.n_queries_, model.n_pairs_) == (trained.n_queries_, trained.n_pairs_)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"basis": 2, "random_state": 0}])
def test_fit_path_is_fit_for_every_anchor(options):
    anchors = [0.01, 1.0, 50.0]
    estimator = TransductiveRankRLS(0.5, **options)
    path = estimator.fit_path(X, y, anchors, qid=QID)
    assert not hasattr(estimator, "transduction_")
    for anchor, model in zip(anchors, path, strict=True):
        alone = clone(estimator).set_params(anchor=anchor).fit(X, y, qid=QID)
        assert model.anchor == anchor
        close(model.transduction_, alone.transduction_, 1e-10)
        close(model.predict(X), alone.predict(X), 1e-10)


def test_outputs_and_weights():
    weight = 0.5 + ITEMS % 3
    both = TransductiveRankRLS(0.5).fit(X, np.column_stack([y, -2 * y]), qid=QID, sample_weight=weight)
    one = TransductiveRankRLS(0.5).fit(X, y, qid=QID, sample_weight=weight)
    close(both.transduction_[:, 0], one.transduction_, 1e-12)
    close(both.transduction_, np.column_stack([one.transduction_, -2 * one.transduction_]), 1e-12)
    close(both.predict(X)[:, 1], -2 * one.predict(X), 1e-12)
    assert np.abs(one.transduction_ - TransductiveRankRLS(0.5).fit(X, y, qid=QID).transduction_).max() > 1e-3
    path = TransductiveRankRLS(0.5).fit_path(X, np.column_stack([y, -2 * y]), [1.0, 9.0], qid=QID, sample_weight=weight)
    close(path[0].predict(X), both.predict(X), 1e-10)


@pytest.mark.parametrize("form", [np.asfortranarray, sparse.csr_array, sparse.csc_matrix, lambda X: X.astype("f4")])
def test_forms_of_the_items(form):
    model = TransductiveRankRLS(0.5).fit(form(X), y, qid=QID)
    close(model.transduction_, TransductiveRankRLS(0.5).fit(X, y, qid=QID).transduction_, 1e-6)


def test_a_precomputed_kernel():
    K = Kernel("rbf").matrix(X)
    given = TransductiveRankRLS(0.5, kernel="precomputed").fit(K, y, qid=QID)
    named = TransductiveRankRLS(0.5, kernel="rbf").fit(X, y, qid=QID)
    close(given.transduction_, named.transduction_, 1e-12)
    close(given.predict(K[:4]), named.predict(X[:4]), 1e-12)
    with_object = TransductiveRankRLS(0.5, kernel=RBF(np.sqrt(2.0))).fit(X, y, qid=QID)
    close(with_object.transduction_, named.transduction_, 1e-12)


def test_the_order_of_items_does_not_matter():
    order = np.random.default_rng(0).permutation(len(y))
    model = TransductiveRankRLS(0.5, kernel="rbf").fit(X, y, qid=QID)
    other = TransductiveRankRLS(0.5, kernel="rbf").fit(X[order], y[order], qid=QID[order])
    filled, again = np.empty(len(y)), np.empty(len(y))
    filled[model.unscored_], again[order[other.unscored_]] = model.transduction_, other.transduction_
    close(again[HIDDEN], filled[HIDDEN], 1e-11)


def test_in_a_pipeline_and_a_search():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), TransductiveRankRLS()).fit(X, y, qid=QID)
        scaled = StandardScaler().fit_transform(X)
        by_hand = TransductiveRankRLS().fit(scaled, y, qid=QID)
        close(pipeline.predict(X), by_hand.predict(scaled), 1e-12)
        assert pipeline.score(X, Y, qid=QID) == by_hand.score(scaled, Y, qid=QID)
        # Queries without scores are passed over when a search scores its folds.
        grid = {"transductiverankrls__anchor": [0.1, 10.0]}
        wide_X, wide_y, wide_qid = kr.make_ranking(n_queries=12, n_items=5, n_features=3, random_state=1)
        wide_y[wide_qid % 2 == 1] = np.nan
        search = GridSearchCV(pipeline, grid, cv=QueryKFold(3), error_score="raise").fit(wide_X, wide_y, qid=wide_qid)
        assert np.isfinite(search.best_score_)


def test_clone_and_a_file(tmp_path):
    model = TransductiveRankRLS(0.5, 2.0, kernel="rbf", cv=[["q0", "q1", "q2"], ["q3", "q4", "q5", "q6"]])
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y, qid=QID)
    kr.save(model, tmp_path / "model.kr")
    again = kr.load(tmp_path / "model.kr")
    assert again.get_params() == model.get_params()
    for name in ("transduction_", "unscored_", "inductive_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))


def test_queries_that_compare_nothing():
    # An unscored query of one item takes its inductive score; a scored one is idle.
    qid = np.append(QID, ["single", "alone"])
    items, scores = np.vstack([X, X[:2] + 1.0]), np.append(y, [np.nan, 5.0])
    model = TransductiveRankRLS(0.5).fit(items, scores, qid=qid)
    plain = TransductiveRankRLS(0.5).fit(X, y, qid=QID)
    close(model.transduction_[:-1], plain.transduction_, 1e-11)
    assert model.transduction_[-1] == pytest.approx(model.inductive_[-1], rel=1e-12)
    assert model.n_idle_queries_ == 2


PARTLY = y.copy()
PARTLY[np.flatnonzero(HIDDEN)[0]] = 1.0
OUTPUTS = np.column_stack([y, PARTLY])


@pytest.mark.parametrize(
    ("scores", "qid", "options", "message"),
    [
        (Y, QID, {}, "expected at least one unscored query: set y to NaN"),
        (np.full(len(y), np.nan), QID, {}, "expected at least one scored query; y is NaN everywhere"),
        (
            PARTLY,
            QID,
            {},
            r"query 'q\d' has a score for 1 of its \d items: score all items of a query, or set y to NaN",
        ),
        (y, None, {}, r"the only query \(qid is not given\) has a score for"),
        (OUTPUTS, QID, {}, r"y is NaN in some outputs of item \d+ and not in others"),
        (np.where(HIDDEN, np.inf, Y), QID, {}, "infinity"),
        (y, QID, {"cv": 8}, "cv=8 must be at least two and at most the number of queries, 7"),
        (y, QID, {"cv": ["q0", "q1"]}, "cv must be a number, or a list of lists of query labels"),
        (y, QID, {"cv": [["q0", "q9"], ["q1"]]}, r"cv\[0\] has the query 'q9', which is not in qid"),
        (y, QID, {"cv": [["q0", "q1"], ["q1"]]}, "the query 'q1' is named twice in cv"),
        (y, QID, {"cv": [["q0", "q1"], ["q2"]]}, r"the query 'q\d' is in no fold"),
        (y, QID, {"cv": [["q0"], []]}, r"cv\[1\] has 0 of the 7 queries: leave at least one query out"),
        (y, QID, {"cv": [sorted(set(QID))]}, r"cv\[0\] has 7 of the 7 queries: leave at least one query out"),
        (y, QID, {"cv": 1}, "The 'cv' parameter of TransductiveRankRLS must be"),
        (y, QID, {"anchor": 0.0}, "The 'anchor' parameter of TransductiveRankRLS must be"),
        (y, QID, {"basis": [99]}, "99"),
    ],
)
def test_bad_input_is_named_and_leaves_the_model_as_it_was(scores, qid, options, message):
    model = TransductiveRankRLS().fit(X, y, qid=QID)
    before = model.transduction_.copy()
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X, scores, qid=qid)
    np.testing.assert_array_equal(model.transduction_, before)


def test_scored_queries_without_a_pair():
    with pytest.raises(NothingToCompareError, match="nothing to compare"):
        TransductiveRankRLS().fit(X, np.where(HIDDEN, np.nan, 1.0), qid=QID)


@pytest.mark.parametrize("anchors", [[], [1.0, -1.0], [[1.0]], [np.nan]])
def test_bad_anchors(anchors):
    with pytest.raises(InvalidInputError, match="anchors must be positive numbers"):
        TransductiveRankRLS().fit_path(X, y, anchors, qid=QID)


class HalfScored(TransductiveRankRLS):
    """For scikit-learn's checks, which score every item and know no query: every other two items become unscored."""

    def fit(self, X, y=None, qid=None, sample_weight=None):
        values = np.asarray(y)
        if values.ndim not in (1, 2) or values.dtype.kind not in "iufO" or len(values) < 4:
            return super().fit(X, y, qid=qid, sample_weight=sample_weight)
        hidden = np.arange(len(values)) // 2 % 2
        values = values.astype(float if values.dtype.kind in "iuf" else object)
        values[hidden == 1] = np.nan
        return super().fit(X, values, qid=hidden if qid is None else qid, sample_weight=sample_weight)

    def score(self, X, y, qid=None, sample_weight=None):
        return super().score(X, y, qid=np.arange(len(y)) // 2 % 2 if qid is None else qid, sample_weight=sample_weight)


REPEATED = "repeating or leaving out items changes which of them are unscored"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")}


@parametrize_with_checks([HalfScored(), HalfScored(kernel="rbf")], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_check(estimator, check):
    check(estimator)
