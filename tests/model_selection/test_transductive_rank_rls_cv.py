"""TransductiveRankRLSCV: held-out scores are those of new fits, and the choice is that of a literal search."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import kernelrank as kr
from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS, TransductiveRankRLS
from kernelrank.exact_cv import transduction_holdout
from kernelrank.model_selection import TransductiveRankRLSCV

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")

X, Y, QID = kr.make_ranking(
    n_queries=8, n_items=(2, 6), n_features=4, query_shift=3.0, noise=0.3, qid_type="str", shuffle=True, random_state=0
)
HIDDEN = np.isin(QID, ["q1", "q3", "q4"])
y = np.where(HIDDEN, np.nan, Y)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
UNIONS = [["q0", "q1"], ["q2", "q3", "q5"], ["q4"], ["q6", "q7"]]
ANCHORS = [0.01, 1.0, 100.0]
BASIS = [0, 3, 8, 9, 12, 15]


def refitted(model, target, weight, alpha, anchor, unions=None):
    """The scores that a new fit chooses for the scored queries of each union if they are unscored too."""
    names = ("cv", "kernel", "query_weight", "basis")
    plain = TransductiveRankRLS(alpha, anchor, **{name: getattr(model, name) for name in names})
    found = np.full(target.shape, np.nan)
    for union in unions or [[label] for label in np.unique(QID)]:
        held = np.isin(QID, union) & ~HIDDEN
        if held.any():
            without = target.copy()
            without[held] = np.nan
            fitted = clone(plain).fit(X, without, qid=QID, sample_weight=weight)
            filled = np.full(target.shape, np.nan)
            filled[fitted.unscored_] = fitted.transduction_
            found[held] = filled[held]
    return found


def close_inside_queries(found, expected, relative=1e-8):
    """Compare the scores of each query, relative to how much they differ there."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    for label in np.unique(QID[~HIDDEN]):
        own = label == QID
        spread = np.ptp(expected[own], axis=0)
        assert np.all(spread > 0)
        assert np.all(np.abs(found[own] - expected[own]) <= relative * spread)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {}, {"kernel": "rbf", "basis": BASIS}], ids=str)
@pytest.mark.parametrize(("query_weight", "cv"), [("pairs", None), ("queries", None), ("items", UNIONS)])
def test_held_out_scores_are_those_of_new_fits(options, query_weight, cv, weight):
    target = np.column_stack([y, X[:, 0] - y**2])
    for alpha in 2.0 ** np.array([-5, 0, 5, 10]):
        for anchor in ANCHORS:
            model = TransductiveRankRLSCV([alpha], [anchor], query_weight=query_weight, cv=cv, **options)
            model.fit(X, target, qid=QID, sample_weight=weight)
            close_inside_queries(model.holdout_scores_, refitted(model, target, weight, alpha, anchor, cv))


@pytest.mark.parametrize("scoring", ["pairwise_accuracy", "ndcg@3"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_choice_is_that_of_a_literal_search(kernel, scoring):
    alphas, measure = 2.0 ** np.arange(-5.0, 11.0, 3.0), kr.metrics.get_measure(scoring)
    target = np.where(HIDDEN, np.nan, np.round(Y - Y.min()))
    model = TransductiveRankRLSCV(alphas, ANCHORS, kernel=kernel, scoring=scoring).fit(X, target, qid=QID)
    scored = ~HIDDEN
    expected = [
        measure(target[scored], refitted(model, target, None, alpha, anchor)[scored], qid=QID[scored]).mean
        for anchor in ANCHORS
        for alpha in alphas
    ]
    results = model.cv_results_
    np.testing.assert_allclose(results["mean_test_score"], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(results["param_alpha"], np.tile(alphas, 3))
    np.testing.assert_array_equal(results["param_anchor"].astype(float), np.repeat(ANCHORS, len(alphas)))
    best = int(np.argmax(expected))
    assert (model.anchor_, model.alpha_) == (ANCHORS[best // len(alphas)], alphas[best % len(alphas)])
    assert model.best_score_ == pytest.approx(expected[best], abs=1e-12)
    assert model.best_params_ == {"alpha": model.alpha_, "anchor": model.anchor_}
    close_inside_queries(model.holdout_scores_, refitted(model, target, None, model.alpha_, model.anchor_))


def test_the_final_fit_is_that_of_the_plain_learner():
    model = TransductiveRankRLSCV([0.1, 1.0, 10.0], ANCHORS, kernel="rbf").fit(X, y, qid=QID)
    plain = TransductiveRankRLS(model.alpha_, model.anchor_, kernel="rbf").fit(X, y, qid=QID)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.n_splits_ == plain.n_splits_ == 8
    with pytest.raises(AttributeError, match="fit_path"):
        _ = model.fit_path


def test_the_grid_is_that_of_rank_rls_cv_without_more():
    model = TransductiveRankRLSCV(anchors=[1.0]).fit(X, y, qid=QID)
    exponents = np.log2(model.alphas_ / model.alphas_[0])
    np.testing.assert_allclose(exponents, np.arange(21), atol=1e-9)
    assert np.isin(
        np.round(np.log2(model.alphas_), 6), np.round(np.log2(kr.RankRLSCV().fit(X, Y, qid=QID).alphas_), 6)
    ).all()


def test_a_query_without_which_nothing_is_compared_scores_zero():
    target = np.where(HIDDEN, np.nan, 1.0)
    target[QID == "q0"] = Y[QID == "q0"]
    model = TransductiveRankRLSCV([1.0], [1.0]).fit(X, target, qid=QID)
    np.testing.assert_array_equal(model.holdout_scores_[QID == "q0"], 0.0)
    assert model.best_score_ == 0.5


def test_the_primal_form_gives_way_to_the_dual(monkeypatch):
    taken, decompose = [], transduction_holdout.decompose

    def spy(*args, dual=False, **options):
        taken.append(dual)
        return decompose(*args, dual=dual, **options)

    monkeypatch.setattr(transduction_holdout, "decompose", spy)
    # One query alone has the last column, so that it determines a direction.
    columns = np.column_stack([X, np.where(QID == "q2", 10.0 * np.arange(len(y)), 0.0)])
    model = TransductiveRankRLSCV([0.1], [1.0]).fit(columns, y, qid=QID)
    assert taken == [False, False, True]
    dual = TransductiveRankRLSCV([0.1], [1.0], kernel="precomputed").fit(columns @ columns.T, y, qid=QID)
    close_inside_queries(model.holdout_scores_, dual.holdout_scores_)


def test_an_anchor_that_rounding_swallows():
    found = [TransductiveRankRLSCV([1.0], [anchor]).fit(X, y, qid=QID).holdout_scores_ for anchor in (1e-30, 1e-9)]
    for label in np.unique(QID[~HIDDEN]):  # differences inside a query are all that is determined without an anchor
        differences = [own[label == QID] - own[label == QID].mean() for own in found]
        np.testing.assert_allclose(differences[0], differences[1], rtol=0, atol=1e-7)


def test_what_is_refused(monkeypatch):
    one = np.where(QID == "q0", Y, np.nan)
    with pytest.raises(InvalidInputError, match="at least two folds"):
        TransductiveRankRLSCV().fit(X, one, qid=QID)
    with pytest.raises(InvalidInputError, match="at least two folds"):
        TransductiveRankRLSCV(cv=[["q0", "q2", "q5", "q6", "q7"], ["q1", "q3", "q4"]]).fit(X, y, qid=QID)
    with pytest.raises(InvalidInputError, match="anchors must be positive"):
        TransductiveRankRLSCV(anchors=[0.0]).fit(X, y, qid=QID)
    with pytest.raises(InvalidInputError, match="alphas must be positive"):
        TransductiveRankRLSCV([-1.0]).fit(X, y, qid=QID)
    with pytest.raises(NothingToCompareError):
        TransductiveRankRLSCV().fit(X, np.where(HIDDEN, np.nan, 1.0), qid=QID)
    monkeypatch.setattr(transduction_holdout, "DIRECT_LIMIT", 10)
    TransductiveRankRLSCV([1.0]).fit(X, y, qid=QID)  # few columns: nothing of the size of the items squared
    with pytest.raises(InvalidInputError, match="the limit is 10"):
        TransductiveRankRLSCV([1.0], kernel="rbf").fit(X, y, qid=QID)


def close_to_new_fits(model, columns, target, names, **options):
    """Compare differences inside each scored query with those of fits in which it is unscored too."""
    for label in np.unique(names[~np.isnan(target)]):
        own = label == names
        fitted = TransductiveRankRLS(model.alpha_, model.anchor_, **options)
        fitted.fit(columns, np.where(own, np.nan, target), qid=names)
        expected = fitted.transduction_[own[fitted.unscored_]]
        found = model.holdout_scores_[own] - model.holdout_scores_[own].mean()
        np.testing.assert_allclose(found, expected - expected.mean(), rtol=0, atol=1e-8 * np.ptp(expected))


@pytest.mark.parametrize("alpha", 2.0 ** np.array([-15, -3, 15]))
def test_few_columns_take_nothing_of_the_size_of_the_items_squared(monkeypatch, alpha):
    taken = []
    blocks, whole = transduction_holdout.HeldBlocks, transduction_holdout.HeldMinimum
    monkeypatch.setattr(blocks, "of", lambda *args, of=blocks.of: taken.append("blocks") or of(*args))
    monkeypatch.setattr(whole, "of", lambda *args, of=whole.of: taken.append("whole") or of(*args))
    few = X[:, :2]
    for anchor in (1e-4, 1.0, 1e4):
        close_to_new_fits(TransductiveRankRLSCV([alpha], [anchor]).fit(few, y, qid=QID), few, y, QID)
    assert taken == 3 * ["blocks"]
    TransductiveRankRLSCV([alpha], [1.0], cv=UNIONS).fit(few, y, qid=QID)  # folds of scored and unscored queries
    assert taken[3:] == ["whole"]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_unscored_item(kernel):
    rows = np.append(np.flatnonzero(~HIDDEN), 0)
    names, target = np.append(QID[~HIDDEN], "alone"), np.append(Y[~HIDDEN], np.nan)
    model = TransductiveRankRLSCV([1.0], [1.0], kernel=kernel).fit(X[rows], target, qid=names)
    close_to_new_fits(model, X[rows], target, names, kernel=kernel)
    assert model.transduction_.shape == (1,)


def test_the_edge_of_the_grid_is_told():
    target = np.where(HIDDEN, np.nan, X @ [1.0, -2.0, 0.5, 1.0])
    with pytest.warns(EdgeOfGridWarning, match="the best alpha"):
        TransductiveRankRLSCV([1e-3, 1e5, 1e6], [1.0], kernel="rbf").fit(X, target, qid=QID)


def test_it_is_a_ranker(tmp_path):
    model = TransductiveRankRLSCV([0.1, 1.0, 10.0], [0.1, 10.0], kernel="rbf").fit(X, y, qid=QID)
    assert clone(model).get_params()["anchors"] == [0.1, 10.0]
    assert model.score(X, Y, qid=QID) == kr.metrics.PairwiseAccuracy()(Y, model.predict(X), qid=QID).mean
    kr.save(model, tmp_path / "model.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "model.kr").predict(X), model.predict(X))
    inductive = RankRLS(model.alpha_, kernel="rbf").fit(X[~HIDDEN], Y[~HIDDEN], qid=QID[~HIDDEN])
    np.testing.assert_allclose(model.inductive_, inductive.predict(X[HIDDEN]), atol=1e-10)


def test_a_search_can_be_judged_on_queries_that_chose_nothing():
    search = TransductiveRankRLSCV([0.1, 1.0, 10.0], [1.0])
    found = kr.leave_query_out(search, X, y, QID)
    own = QID == "q2"
    alone = clone(search).fit(X[~own], y[~own], qid=QID[~own])
    np.testing.assert_allclose(found[own], alone.predict(X[own]), rtol=0, atol=1e-12)
