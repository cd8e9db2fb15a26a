"""Models of censored times equal those of the pairs whose order is known, written out one by one."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import kernelrank as kr
from kernelrank.data import event_times
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS, RankSVM
from kernelrank.metrics import Concordance, scorer
from kernelrank.model_selection import RLSCV, RankRLSCV, leave_pair_out, leave_query_out
from kernelrank.model_selection.holdout import holdout
from tests.oracles.pairs import fit_weights
from tests.oracles.survival import censored_edges, hinge_objective, known_orders


def draw(seed, m=30, *, strata=True, share=0.6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 4)) + 3.0
    time = rng.integers(1, 9, m) * 1.0
    event = rng.random(m) < share
    event[:2], time[:2] = True, [1.0, 2.0]
    return X, time, event, rng.integers(0, 3, m) if strata else np.zeros(m, dtype=int), rng.uniform(0.2, 2.0, m)


def only(number):
    """All censored but one: the event at that place in the order of the times."""
    X, time, event, strata, weight = draw(5, strata=False)
    event[:] = False
    event[np.argsort(time, kind="stable")[number]] = True
    return X, time, event, strata, weight


CASES = {
    "ties, strata and weights": draw(0),
    "one stratum": draw(1, strata=False),
    "all events": draw(2, share=1.0),
    "all censored but one": only(3),
    "one event, next to last": only(-2),
}


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cost", ["auto", "magnitude"])
def test_the_model_is_that_of_the_pairs(case, alpha, cost):
    X, time, event, strata, weight = CASES[case]
    model = RankRLS(alpha, cost=cost)
    edges = censored_edges(time, event, strata, cost="unit" if cost == "auto" else cost, weight=weight)
    if len(edges.h) == 0:
        with pytest.raises(NothingToCompareError, match="another event at another time"):
            model.fit(X, time, event=event, qid=strata, sample_weight=weight)
        return
    model.fit(X, time, event=event, qid=strata, sample_weight=weight)
    expected = fit_weights(X, edges, alpha)
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert model.n_pairs_ == len(edges.h)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["linear", "rbf", "poly"]), st.sampled_from([2.0**-10, 1.0, 2.0**10]))
def test_kernels_and_bases(seed, kernel, alpha):
    X, time, event, strata, _ = draw(seed, 16)
    X[5] = X[4]  # a singular kernel
    pairs = np.array(list(known_orders(time, event, strata))).reshape(-1, 2)
    if len(pairs) == 0:
        return
    options = {"kernel": kernel, "gamma": 0.1, "basis": None if seed % 2 else [0, 3, 4, 9]}
    found = RankRLS(alpha, **options).fit(X, time, event=event, qid=strata).predict(X)
    expected = RankRLS(alpha, **options).fit_pairs(X, pairs).predict(X)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-8 * max(1.0, np.abs(expected).max()))


def test_event_weights():
    X, time, event, _, weight = CASES["one stratum"]
    by_time = 1.0 / (1.0 + time)
    edges = censored_edges(time, event, weight=weight, event_weight=by_time)
    found = RankRLS(0.5).fit(X, event_times(time, event, weight=by_time), sample_weight=weight).coef_
    np.testing.assert_allclose(found, fit_weights(X, edges, 0.5), rtol=1e-8)


def test_forms_of_y_and_solvers_agree():
    X, time, event, strata, _ = CASES["ties, strata and weights"]
    expected = RankRLS().fit(X, time, event=event, qid=strata).coef_
    theirs = np.array(list(zip(event, time, strict=True)), dtype=[("Status", bool), ("Days", float)])
    for y in (theirs, event_times(time, event.astype(int)), event_times(time.tolist(), event.tolist())):
        np.testing.assert_allclose(RankRLS().fit(X, y, qid=strata).coef_, expected, rtol=1e-12)
    for solver in ("spectral", "conjugate_gradient"):
        found = RankRLS(solver=solver).fit(X, time, event=event, qid=strata).coef_
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    (model,) = RankRLS().fit_path(X, time, [1.0], event=event, qid=strata)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)
    stream = RankRLS()
    for stratum in range(3):
        part = strata == stratum
        stream.partial_fit(X[part], theirs[part], qid=strata[part])
    np.testing.assert_allclose(stream.coef_, expected, rtol=1e-8)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_a_frame_holds_times_and_events_as_two_columns(package):
    frames = pytest.importorskip(package)
    build = frames.table if package == "pyarrow" else frames.DataFrame
    X, time, event, *_ = draw(7)
    expected = RankRLS(0.3).fit(X, time, event=event)
    for columns in ({"died": event, "months": time}, {"time": time, "event": event.astype(float)}):
        y = build(columns)
        model = RankRLS(0.3).fit(X, y)
        assert np.array_equal(model.coef_, expected.coef_)
        assert model.score(X, y) == expected.score(X, time, event=event)
        assert float(Concordance()(y, time)) == float(Concordance()(time, time, event=event))
        with pytest.raises(InvalidInputError, match="got both"):
            model.fit(X, y, event=event)
    two_outputs = RankRLS(0.3).fit(X, build({"first": time, "second": event.astype(float)}))
    assert two_outputs.coef_.shape == (2, 4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("case", CASES)
def test_hinges_equal_listed_pairs(case, loss):
    X, time, event, strata, weight = CASES[case]
    edges = censored_edges(time, event, strata, weight=weight)
    options = {"alpha": 0.7, "loss": loss, "tol": 1e-9}
    found = RankSVM(**options).fit(X, time, event=event, qid=strata, sample_weight=weight)
    pairs = np.stack([edges.h, edges.j], axis=1)
    expected = RankSVM(**options).fit_pairs(X, pairs, weight=edges.w2)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-3)


@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("squared_hinge", 2)])
def test_the_objective_is_that_of_the_survival_svm(loss, power):
    theirs = 0.25  # alpha / 2 Σ + ½ ‖w‖² has the minimum of Σ + ‖w‖² / alpha
    for X, time, event in (CASES["one stratum"][:3], trial()):
        model = RankSVM(1 / theirs, loss=loss, tol=1e-9).fit(X, time, event=event)
        objective = hinge_objective(X, model.coef_, time, event, theirs, power=power)
        np.testing.assert_allclose(theirs / 2 * model.objective_, objective, rtol=1e-8)


def test_forgotten_strata_must_have_the_same_events():
    X, time, event, strata, _ = CASES["ties, strata and weights"]
    last, other = strata == 2, event.copy()
    other[np.flatnonzero(last)[0]] ^= True
    model = RankRLS(0.5).partial_fit(X, event_times(time, event), qid=strata)
    with pytest.raises(InvalidInputError, match="2"):
        model.forget(X[last], event_times(time, other)[last], qid=strata[last])
    model.forget(X[last], event_times(time, event)[last], qid=strata[last])
    expected = RankRLS(0.5).fit(X[~last], time[~last], event=event[~last], qid=strata[~last])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def trial(m=45):
    """Patients as in a lung cancer trial: age, months since diagnosis, a performance status and two types of cells."""
    rng = np.random.default_rng(11)
    types = rng.integers(3, size=m)
    X = np.stack(
        [rng.normal(58, 10, m), rng.gamma(1.5, 6, m), 10.0 * rng.integers(1, 10, m), types == 1, types == 2], 1
    )
    days = np.ceil(rng.exponential(15 * np.exp(0.03 * X[:, 2] - 0.5 * X[:, 4])))
    return (X - X.mean(axis=0)) / X.std(axis=0), days, rng.random(m) < 0.85


@pytest.mark.parametrize(("loss", "power"), [("hinge", 1), ("squared_hinge", 2)])
def test_the_minimum_is_that_of_scikit_survival(loss, power):
    svm = pytest.importorskip("sksurv.svm")
    X, days, event = trial()
    assert len(np.unique(days)) < len(days)  # it breaks ties at random, so that only untied times have the same minimum
    untied = np.argsort(np.argsort(days, kind="stable")) + 1.0
    theirs, found = 0.25, {}
    for name, time in (("tied", days), ("untied", untied)):
        y = event_times(time, event)
        if loss == "hinge":
            other = svm.HingeLossSurvivalSVM(alpha=theirs / 2, pairs="all").fit(X, y)
            w = np.ravel(other.coef_) @ X
        else:
            w = svm.FastSurvivalSVM(alpha=theirs, rank_ratio=1.0, tol=1e-6, max_iter=1000).fit(X, y).coef_
        model = RankSVM(1 / theirs, loss=loss, tol=1e-9).fit(X, time, event=event)
        ours = hinge_objective(X, model.coef_, time, event, theirs, power=power)
        np.testing.assert_allclose(theirs / 2 * model.objective_, ours, rtol=1e-8)
        found[name] = ours / hinge_objective(X, w, time, event, theirs, power=power) - 1.0
    assert abs(found["untied"]) < 1e-6
    assert found["tied"] < 1e-6


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "gamma": 0.1}, {"kernel": "rbf", "basis": [0, 7, 12, 20]}])
def test_strata_are_held_out_exactly(options):
    X, time, event, strata, weight = CASES["ties, strata and weights"]
    alphas = [2.0**-10, 1.0, 2.0**10]
    model = RankRLS(**options)
    found = leave_query_out(model, X, time, strata, event=event, alphas=alphas, sample_weight=weight)
    for stratum in range(3):
        held, kept = np.flatnonzero(strata == stratum), np.flatnonzero(strata != stratum)
        other = clone(model)
        if "basis" in options:
            other.set_params(basis=np.searchsorted(kept, np.setdiff1d(options["basis"], held)))
        for number, alpha in enumerate(alphas):
            other.set_params(alpha=alpha).fit(
                X[kept], time[kept], event=event[kept], qid=strata[kept], sample_weight=weight[kept]
            )
            expected = other.predict(X[held])
            np.testing.assert_allclose(
                found[held, number] - found[held[0], number],
                expected - expected[0],
                atol=1e-8 * max(1e-3, np.abs(expected).max()),
            )


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_other_sets_are_trained_again(kernel, wide):
    X, time, event, strata, _ = CASES["ties, strata and weights"]
    X = np.hstack([X, np.random.default_rng(0).standard_normal((30, 40))]) if wide else X
    sets = [np.array([0, 4, 9]), np.array([3]), np.arange(10)]
    model = RankRLS(0.5, kernel=kernel, gamma=0.1)
    for held, found in zip(sets, holdout(model, X, time, sets, qid=strata, event=event), strict=True):
        kept = np.setdiff1d(np.arange(30), held)
        again = clone(model).fit(X[kept], time[kept], event=event[kept], qid=strata[kept])
        np.testing.assert_allclose(found, again.predict(X[held]), rtol=1e-8, atol=1e-10)
    svm = RankSVM(0.5, loss="squared_hinge", tol=1e-8)
    (found,) = holdout(svm, X, time, sets[:1], qid=strata, event=event)
    kept = np.setdiff1d(np.arange(30), sets[0])
    again = clone(svm).fit(X[kept], time[kept], event=event[kept], qid=strata[kept])
    np.testing.assert_allclose(found, again.predict(X[sets[0]]), atol=1e-3)


@pytest.mark.filterwarnings("ignore:the best alpha")
def test_the_search_judges_by_the_concordance():
    X, time, event, strata, _ = draw(7, 60)
    alphas = [0.1, 10.0, 1000.0]
    search = RankRLSCV(alphas, cv=KFold(3)).fit(X, time, event=event)
    values = np.zeros((3, 3))
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        for number, alpha in enumerate(alphas):
            scores = RankRLS(alpha).fit(X[train], time[train], event=event[train]).predict(X[test])
            values[fold, number] = Concordance()(time[test], scores, event=event[test]).mean
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], values.mean(axis=0), rtol=1e-12)
    assert search.alpha_ == alphas[int(np.argmax(values.mean(axis=0)))]
    by_strata = RankRLSCV(alphas).fit(X, time, event=event, qid=strata)
    held_out = leave_query_out(RankRLS(by_strata.alpha_), X, time, strata, event=event)
    np.testing.assert_allclose(by_strata.holdout_scores_, held_out, rtol=1e-8)
    automatic = RankRLSCV().fit(X, time, event=event)
    assert automatic.cv_results_["split9_test_score"].shape == automatic.cv_results_["param_alpha"].shape
    nested = holdout(RankRLSCV(alphas), X, time, [np.arange(6)], event=event)
    again = RankRLSCV(alphas).fit(X[6:], time[6:], event=event[6:])
    np.testing.assert_allclose(nested[0], again.predict(X[:6]), rtol=1e-8)


def test_score_and_routing():
    X, time, event, strata, _ = draw(3, 60)
    model = RankRLS().fit(X, time, event=event, qid=strata)
    expected = Concordance()(time, model.predict(X), event=event, qid=strata).mean
    assert model.score(X, time, event=event, qid=strata) == expected
    y = event_times(time, event)
    scores = cross_val_score(RankRLS(), X, y, cv=KFold(3), scoring=scorer("concordance"))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            RankRLS(), X, time, cv=KFold(3), params={"event": event}, scoring=scorer("concordance")
        )
        own = cross_val_score(RankRLS(), X, time, cv=KFold(3), params={"event": event})
    np.testing.assert_allclose(routed, scores)
    np.testing.assert_allclose(own, scores)


def test_a_model_of_times_is_saved(tmp_path):
    X, time, event, _, _ = draw(3)
    for model in (RankRLS(), RankSVM(), RankRLSCV(cv=3)):
        model.fit(X, time, event=event)
        kr.save(model, tmp_path / "model")
        np.testing.assert_array_equal(kr.load(tmp_path / "model").predict(X), model.predict(X))


X, TIME, EVENT, STRATA, _ = draw(0)
CENSORED = event_times(TIME, EVENT)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RankRLS().fit(X, TIME, event=EVENT + 1), "Recode it, for example event="),
        (lambda: RankRLS().fit(X, TIME, event=EVENT[:-1]), r"one event for each of 30 items; got shape \(29,\)"),
        (lambda: RankRLS().fit(X, CENSORED, event=EVENT), "got both. Leave one of them out"),
        (lambda: RankRLS().fit(X, np.c_[TIME, TIME], event=EVENT), "one column of times"),
        (lambda: RankRLS().fit(X, np.where(TIME > 3, np.nan, TIME), event=EVENT), "finite times; got nan for item"),
        (lambda: RankRLS(cost="relative").fit(X, TIME, event=EVENT), "'unit' or 'magnitude' with censored times"),
        (lambda: RankRLS().fit(X, TIME, event=np.zeros(30)), "no event has a later item"),
        (lambda: RankRLS().fit(X, np.zeros(30, [("a", float), ("b", float)])), "a bool field"),
        (lambda: RankRLS().fit("items.csv", "time", event="died"), "event is not supported when X is a path"),
        (lambda: RLS().fit(X, CENSORED), "Use RankRLS, RankRLSCV or RankSVM, which learn from censored times"),
        (lambda: RLSCV().fit(X, CENSORED), "Use RankRLS, RankRLSCV or RankSVM, which learn from censored times"),
        (lambda: holdout(RLS(), X, TIME, [[0]], event=EVENT), "learn from censored times"),
        (lambda: leave_pair_out(RankRLS(), X, CENSORED), "Hold out folds of items"),
        (lambda: RankRLSCV(cv="leave_pair_out").fit(X, CENSORED), "Use a number of folds"),
        (lambda: RankRLSCV(scoring="ndcg").fit(X, CENSORED), "scoring='concordance' with censored times"),
        (lambda: kr.metrics.auc(CENSORED, TIME), "only the measure Concordance supports"),
    ],
)
def test_messages(call, message):
    with pytest.raises((InvalidInputError, NothingToCompareError), match=message):
        call()


def test_items_without_a_time_take_no_part():
    y = event_times(np.where(np.arange(30) % 7 == 0, np.nan, TIME), EVENT)
    kept = np.arange(30) % 7 != 0
    found = RankRLS(missing="ignore").fit(X, y, qid=STRATA).coef_
    np.testing.assert_allclose(found, RankRLS().fit(X[kept], y[kept], qid=STRATA[kept]).coef_, rtol=1e-10)
