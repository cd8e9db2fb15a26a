# ruff: noqa: SIM300
"""Features with means of 1 to 1,000: every learner equals its oracle, trained on the same items around the origin.

Rankings by linear and Gaussian kernels do not depend on the origin. Features are multiples of 1/64, so a mean is added
without rounding, and the oracle needs no more than double precision. Regression with a linear kernel has no intercept
and depends on the origin: its oracle solves a least-squares problem in which nothing is squared.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

import kernelrank as kr
from tests.oracles import co_rank_rls, greedy_selection, transduction, votes
from tests.oracles.pairs import Edges, centred, fit_regression, fit_weights, root_features, scored_edges
from tests.oracles.survival import censored_edges

MEANS = [1.0, 10.0, 100.0, 1000.0]
GAMMA = 0.25
QID = np.repeat(np.arange(5), [5, 4, 6, 3, 6])
RNG = np.random.default_rng(0)
X = np.round(64 * RNG.standard_normal((len(QID), 3))) / 64
Y = RNG.standard_normal(len(QID))
CLASSES = np.where(Y > np.median(Y), 1.0, -1.0)
EVENT = RNG.random(len(QID)) < 0.6
PAIRS = np.array([(i, j) for i, j in RNG.integers(0, len(QID), (60, 2)) if i != j])
KERNELS = {"linear": {}, "gaussian": {"kernel": "gaussian", "gamma": GAMMA}}
ALPHA = 0.5

pytestmark = [pytest.mark.parametrize("mean", MEANS), pytest.mark.filterwarnings("ignore::UserWarning")]


def features(kernel):
    """Φ around the origin."""
    return X if kernel == "linear" else root_features(rbf_kernel(X, gamma=GAMMA))


def assert_close(found, expected, mean):
    """The products of features are rounded beside the squares of their means."""
    digits = max(1e-9, 1e-14 * mean**2)
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * np.abs(expected).max())


def held_out(Phi, held, edges_of):
    """Scores of held-out items by a model of the pairs of all others."""
    kept = np.setdiff1d(np.arange(len(Phi)), held)
    return Phi[held] @ fit_weights(Phi[kept], edges_of(kept), ALPHA)


def scored(kept):
    return scored_edges(Y[kept], QID[kept])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral", "conjugate_gradient"])
@pytest.mark.parametrize("query_weight", ["pairs", "queries"])
def test_rankings(mean, kernel, solver, query_weight):
    Phi = features(kernel)
    options = KERNELS[kernel] | {"solver": solver, "tol": 1e-13 if solver == "conjugate_gradient" else None}
    expected = Phi @ fit_weights(Phi, scored_edges(Y, QID, query_weight=query_weight), ALPHA)
    model = kr.RankRLS(ALPHA, query_weight=query_weight, **options).fit(X + mean, Y, qid=QID)
    assert_close(centred(model.predict(X + mean), QID), centred(expected, QID), mean)
    for cost in ("unit", "relative"):
        expected = Phi @ fit_weights(Phi, scored_edges(Y, QID, cost=cost), ALPHA)
        model = kr.RankRLS(ALPHA, cost=cost, **options).fit(X + mean, Y, qid=QID)
        assert_close(centred(model.predict(X + mean), QID), centred(expected, QID), mean)
    if solver == "auto":
        found = model.set_params(cost="auto").fit_path(X + mean, Y, [ALPHA * 10, ALPHA], qid=QID)[1]
        expected = Phi @ fit_weights(Phi, scored_edges(Y, QID), ALPHA)
        assert_close(centred(found.predict(X + mean), QID), centred(expected, QID), mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_given_kernels_and_sparse_features(mean, kernel):
    Phi, far = features(kernel), X + mean
    expected = centred(Phi @ fit_weights(Phi, scored_edges(Y, QID), ALPHA), QID)
    K = far @ far.T if kernel == "linear" else rbf_kernel(X, gamma=GAMMA)
    for solver in ("cholesky", "spectral"):
        model = kr.RankRLS(ALPHA, kernel="precomputed", solver=solver).fit(K, Y, qid=QID)
        assert_close(centred(model.predict(K), QID), expected, 10 * mean)
    entries = sparse.csr_array(far)
    model = kr.RankRLS(ALPHA, **KERNELS[kernel]).fit(entries, Y, qid=QID)
    assert_close(centred(model.predict(entries), QID), expected, 10 * mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_preferences(mean, kernel):
    Phi = features(kernel)
    size = len(PAIRS)
    edges = Edges(len(X), PAIRS[:, 0], PAIRS[:, 1], np.ones(size), np.ones(size))
    expected = centred(Phi @ fit_weights(Phi, edges, ALPHA))
    model = kr.RankRLS(ALPHA, **KERNELS[kernel])
    assert_close(centred(model.fit_pairs(X + mean, PAIRS).predict(X + mean)), expected, mean)
    found = kr.leave_preferences_out(model, X + mean, PAIRS[:30], groups=np.arange(30) % 4).difference
    for group in range(4):
        kept = np.flatnonzero(np.arange(30) % 4 != group)
        left = Edges(len(X), *PAIRS[kept].T, np.ones(len(kept)), np.ones(len(kept)))
        f = Phi @ fit_weights(Phi, left, ALPHA)
        held = np.flatnonzero(np.arange(30) % 4 == group)
        assert_close(found[held], f[PAIRS[held, 0]] - f[PAIRS[held, 1]], mean)
    x, *_ = votes.minimum(Phi, PAIRS, ALPHA, ties="half", side_bias=False, judge_effect=None)
    voted = kr.BradleyTerry(ALPHA, tol=1e-13, **KERNELS[kernel]).fit_pairs(X + mean, PAIRS)
    expected = centred(Phi @ x[: Phi.shape[1]])
    np.testing.assert_allclose(
        centred(voted.predict(X + mean)), expected, rtol=0, atol=max(1e-6, 1e-12 * mean**2) * np.abs(expected).max()
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_and_classes(mean, kernel):
    Phi = X + mean if kernel == "linear" else features(kernel)
    for solver in ("auto", "spectral", "conjugate_gradient"):
        tol = 1e-13 if solver == "conjugate_gradient" else None
        model = kr.RLS(ALPHA, solver=solver, tol=tol, **KERNELS[kernel]).fit(X + mean, Y)
        assert_close(model.predict(X + mean), Phi @ fit_regression(Phi, Y, ALPHA), 100 * mean)
    model = kr.RLSClassifier(ALPHA, **KERNELS[kernel]).fit(X + mean, CLASSES)
    expected = Phi @ fit_regression(Phi, CLASSES, ALPHA)
    assert_close(model.decision_function(X + mean), expected, 100 * mean)
    found = kr.leave_one_out(kr.RLS(ALPHA, **KERNELS[kernel]), X + mean, Y)
    each = [np.setdiff1d(np.arange(len(Y)), i) for i in range(len(Y))]
    expected = [Phi[i] @ fit_regression(Phi[kept], Y[kept], ALPHA) for i, kept in enumerate(each)]
    assert_close(found, np.array(expected), 100 * mean)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cv", ["auto", "folds", "queries"])
def test_searches_of_regression_and_classes(mean, kernel, cv):
    Phi, far = X + mean if kernel == "linear" else features(kernel), X + mean
    alphas, qid = [ALPHA / 50, ALPHA, 50 * ALPHA], QID if cv == "queries" else None
    held = {"auto": np.arange(len(Y)), "folds": np.arange(len(Y)) % 4, "queries": QID}[cv]
    folds = [(np.flatnonzero(held != fold), np.flatnonzero(held == fold)) for fold in np.unique(held)]
    options = KERNELS[kernel] | {"cv": {"auto": "auto", "folds": folds, "queries": "leave_query_out"}[cv]}

    def refitted(y, alpha):
        scores = np.empty(len(y))
        for train, test in folds:
            scores[test] = Phi[test] @ fit_regression(Phi[train], y[train], alpha)
        return scores

    expected = {alpha: refitted(Y, alpha) for alpha in alphas}
    search = kr.RLSCV(alphas, **options).fit(far, Y, qid=qid)
    errors = np.array([np.mean((Y - expected[alpha]) ** 2) for alpha in alphas])
    assert_close(search.cv_results_["mean_test_score"], -errors, 100 * mean)
    assert search.alpha_ == alphas[int(np.argmin(errors))]
    assert_close(search.holdout_scores_, expected[search.alpha_], 100 * mean)
    assert_close(search.predict(far), Phi @ fit_regression(Phi, Y, search.alpha_), 100 * mean)
    search = kr.RLSClassifierCV(alphas, **options).fit(far, CLASSES, qid=qid)
    assert_close(search.holdout_scores_, refitted(CLASSES, search.alpha_), 100 * mean)
    assert_close(search.decision_function(far), Phi @ fit_regression(Phi, CLASSES, search.alpha_), 100 * mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_held_out_queries_and_pairs(mean, kernel):
    Phi, model = features(kernel), kr.RankRLS(ALPHA, **KERNELS[kernel])
    expected = np.concatenate([held_out(Phi, np.flatnonzero(QID == q), scored) for q in range(5)])
    found = kr.leave_query_out(model, X + mean, Y, QID)
    assert_close(centred(found, QID), centred(expected, QID), mean)
    search = kr.RankRLSCV([ALPHA], cv="auto", **KERNELS[kernel]).fit(X + mean, Y, qid=QID)
    correct = [
        np.mean(((f[:, None] > f) + 0.5 * (f[:, None] == f))[y[:, None] > y])
        for y, f in ((Y[QID == q], expected[QID == q]) for q in range(5))
    ]
    assert search.best_score_ == pytest.approx(np.mean(correct))
    few = np.array([(0, 1), (3, 7), (10, 2), (23, 5)])
    pairs = kr.leave_pair_out(model, X + mean, CLASSES, pairs=few).difference
    for pair, difference in zip(few, pairs, strict=True):
        f = held_out(Phi, pair, lambda kept: scored_edges(CLASSES[kept]))
        assert_close(difference, f[0] - f[1], mean)
    held = [np.array([0, 1, 6]), np.array([12, 20])]
    for query_weight in ("pairs", "items"):
        parts = kr.holdout(model.set_params(query_weight=query_weight), X + mean, Y, held, qid=QID)
        for items, found in zip(held, parts, strict=True):
            f = held_out(Phi, items, lambda kept: scored_edges(Y[kept], QID[kept], query_weight=query_weight))  # noqa: B023
            assert_close(found - found[0], f - f[0], mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_censored_times(mean, kernel):
    Phi, time = features(kernel), np.exp(Y)
    for cost in ("unit", "magnitude"):
        edges = censored_edges(time, EVENT, QID, cost=cost)
        model = kr.RankRLS(ALPHA, cost=cost, **KERNELS[kernel]).fit(X + mean, time, qid=QID, event=EVENT)
        expected = Phi @ fit_weights(Phi, edges, ALPHA)
        assert_close(centred(model.predict(X + mean), QID), centred(expected, QID), mean)
    found = kr.leave_query_out(model, X + mean, time, QID, event=EVENT)
    expected = np.concatenate(
        [
            held_out(Phi, np.flatnonzero(QID == q), lambda k: censored_edges(time[k], EVENT[k], QID[k], cost=cost))
            for q in range(5)
        ]
    )
    assert_close(centred(found, QID), centred(expected, QID), mean)


def test_streams(mean):
    expected = centred(X @ fit_weights(X, scored_edges(Y, QID), ALPHA), QID)
    model = kr.RankRLS(ALPHA)
    for q in range(5):
        model.partial_fit(X[QID == q] + mean, Y[QID == q], qid=QID[QID == q])
    assert_close(centred(model.predict(X + mean), QID), expected, mean)
    split = kr.RankRLS(ALPHA)
    for items in (slice(0, 7), slice(7, 17), slice(17, None)):
        split.partial_fit(X[items] + mean, Y[items], qid=QID[items], queries="mergeable")
    assert_close(centred(split.predict(X + mean), QID), expected, 10 * mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_basis(mean, kernel):
    basis, far = np.array([0, 3, 6, 9, 13, 16, 20]), X + mean
    Phi = far if kernel == "linear" else None
    if Phi is None:
        K = rbf_kernel(X, gamma=GAMMA)
        Phi = K[:, basis] @ np.linalg.inv(np.linalg.cholesky(K[np.ix_(basis, basis)])).T
    model = kr.RankRLS(ALPHA, basis=basis.tolist(), **KERNELS[kernel])
    expected = centred(Phi @ fit_weights(Phi, scored_edges(Y, QID), ALPHA), QID)
    assert_close(centred(model.fit(far, Y, qid=QID).predict(far), QID), expected, 100 * mean)
    if kernel == "gaussian":
        ranker = make_pipeline(kr.NystromMap(basis.tolist(), gamma=GAMMA), kr.RankRLS(ALPHA))
        ranker.fit(far, Y, rankrls__qid=QID)
        assert_close(centred(ranker.predict(far), QID), expected, 10 * mean)
    found = kr.leave_query_out(model, far, Y, QID)
    for q in range(5):
        kept, held = np.flatnonzero(QID != q), np.flatnonzero(QID == q)
        left = np.setdiff1d(basis, held)
        Psi = Phi
        if kernel == "gaussian":
            Psi = K[:, left] @ np.linalg.inv(np.linalg.cholesky(K[np.ix_(left, left)])).T
        f = Psi[held] @ fit_weights(Psi[kept], scored(kept), ALPHA)
        assert_close(centred(found[held]), centred(f), 100 * mean)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_hinges(mean, loss, kernel):
    edges = scored_edges(Y, QID, cost="unit")
    Phi = features(kernel)

    def objective(model, items):
        f = model.predict(items)
        short = np.maximum(0.0, 1.0 - (f[edges.h] - f[edges.j])) ** (1 if loss == "hinge" else 2)
        w = np.linalg.lstsq(Phi[edges.h] - Phi[edges.j], f[edges.h] - f[edges.j], rcond=1e-9)[0]
        return short.sum() + ALPHA * w @ w

    options = KERNELS[kernel] | {"loss": loss, "tol": 1e-6}
    near = kr.RankSVM(ALPHA, **options).fit(X, Y, qid=QID)
    far = kr.RankSVM(ALPHA, **options).fit(X + mean, Y, qid=QID)
    assert objective(far, X + mean) == pytest.approx(objective(near, X), rel=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_transduction(mean, kernel):
    Phi, unscored = features(kernel), np.flatnonzero(QID == 4)
    y = np.where(QID == 4, np.nan, Y)
    folds = [np.flatnonzero(QID == q) for q in range(5)]
    expected = transduction.minimise(
        lambda f: transduction.objective(f, Phi, Y, QID, unscored, folds, ALPHA, 1.0), len(unscored)
    )
    model = kr.TransductiveRankRLS(ALPHA, 1.0, **KERNELS[kernel]).fit(X + mean, y, qid=QID)
    assert_close(centred(model.transduction_), centred(expected), 100 * mean)


@pytest.mark.parametrize("kernel", KERNELS)
def test_views_that_agree(mean, kernel):
    train, rest = np.flatnonzero(QID < 3), np.flatnonzero(QID >= 3)
    columns, basis = [[0, 1], [2]], [0, 3, 6, 9, 13]

    def kernel_of(part):
        return lambda a, b: (
            a[:, part] @ b[:, part].T if kernel == "linear" else rbf_kernel(a[:, part], b[:, part], GAMMA)
        )

    def refitted(kept, alpha, nu):
        left = [i for i in basis if i in kept]
        views = [co_rank_rls.OracleView.of(kernel_of(part), X[kept], X[rest], X, X[left]) for part in columns]
        found = co_rank_rls.fit_predict(views, Y[kept], QID[kept], QID[rest], alpha, nu)
        return found.mean(axis=1)

    views = [kr.View(columns=part, basis=basis, **{"kernel": kernel, **KERNELS[kernel]}) for part in columns]
    data = {"qid": QID[train], "X_unscored": X[rest] + mean, "qid_unscored": QID[rest]}
    model = kr.CoRankRLS(ALPHA, 0.7, views=views).fit(X[train] + mean, Y[train], **data)
    assert_close(centred(model.predict(X + mean), QID), centred(refitted(train, ALPHA, 0.7), QID), 100 * mean)
    search = kr.CoRankRLSCV([ALPHA / 10, ALPHA], [0.07, 0.7], cv="leave_query_out", views=views)
    search.fit(X[train] + mean, Y[train], **data)
    expected = np.empty(len(train))
    for q in range(3):
        held = train[QID[train] == q]
        expected[held] = refitted(np.setdiff1d(train, held), search.alpha_, search.nu_)[held]
    assert_close(centred(search.holdout_scores_, QID[train]), centred(expected, QID[train]), 100 * mean)
    expected = centred(refitted(train, search.alpha_, search.nu_), QID)
    assert_close(centred(search.predict(X + mean), QID), expected, 100 * mean)


def test_greedy_selection(mean):
    ones = np.ones(len(Y))
    for criterion, options in (
        ("leave_query_out", {"qid": QID}),
        ("leave_pair_out", {}),
    ):
        error = getattr(greedy_selection, criterion)
        y = Y if options else CLASSES

        def measured(columns, alpha, error=error, y=y, options=options):
            return error(columns, y, alpha, weight=ones, query_weight="pairs", **options)

        selected, errors = [], []
        for _ in range(2):
            rest = [j for j in range(X.shape[1]) if j not in selected]
            values = [measured(X[:, [*selected, j]], ALPHA) for j in rest]
            selected.append(rest[int(np.argmin(values))])
            errors.append(min(values))
        model = kr.GreedyRankRLS(2, alpha=ALPHA, criterion=criterion).fit(X + mean, y, **options)
        assert model.selected_.tolist() == selected
        found = np.array([step["criterion"] for step in model.path_])
        assert_close(found / found[0], np.array(errors) / errors[0], 10 * mean)


@pytest.mark.parametrize("criterion", ["leave_one_out", "leave_query_out", "leave_pair_out"])
def test_greedy_selection_of_regression(mean, criterion):
    far, ones = X + mean, np.ones(len(Y))
    qid = {"leave_one_out": np.arange(len(Y)), "leave_query_out": QID}.get(criterion)

    def measured(columns):
        if qid is None:
            return greedy_selection.leave_item_pairs_out(columns, Y, ALPHA, weight=ones)
        return greedy_selection.leave_items_out(columns, Y, ALPHA, qid=qid, weight=ones)

    selected, errors = greedy_selection.select(measured, far, 3)
    model = kr.GreedyRLS(3, alpha=ALPHA, criterion=criterion).fit(far, Y, qid=QID)
    assert model.selected_.tolist() == selected
    assert_close(np.array([step["criterion"] for step in model.path_]), np.array(errors), 100 * mean)
    assert_close(model.predict(far), far @ fit_regression(far, Y, ALPHA), 100 * mean)


def test_clusters(mean):
    near = kr.MaxMarginClustering(alpha=ALPHA, gamma=GAMMA, random_state=0).fit(X)
    far = kr.MaxMarginClustering(alpha=ALPHA, gamma=GAMMA, random_state=0).fit(X + mean)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-8)
    np.testing.assert_array_equal(far.labels_, near.labels_)


def test_given_kernels_of_preferences(mean):
    # Rounding of the size of the squared means is no sign of an indefinite kernel, in a fit or a hold-out.
    far, groups = X + 1e3 * mean, np.arange(30) % 4
    K, pairs = far @ far.T, PAIRS[:30]
    found = kr.leave_preferences_out(kr.RankRLS(ALPHA, kernel="precomputed"), K, pairs, groups=groups).difference
    expected = kr.leave_preferences_out(kr.RankRLS(ALPHA), X, pairs, groups=groups).difference
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * mean**2 * np.abs(expected).max())
