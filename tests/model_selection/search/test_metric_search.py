"""A learnt metric: its gradients, that no fold has seen its own metric, and that noise stays noise."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelrank import (
    MetricRankRLSCV,
    MetricRLSClassifierCV,
    MetricRLSCV,
    RankRLS,
    RankRLSCV,
    RLSClassifierCV,
    estimate_auc,
    leave_pair_out,
    leave_query_out,
    load,
    permutation_test,
    save,
)
from kernelrank.base.labels import Queries
from kernelrank.data import event_times
from kernelrank.errors import InvalidInputError
from kernelrank.kernels import Kernel
from kernelrank.model_selection.metric_search import gradients

pytestmark = pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
ALPHAS = [0.01, 1.0, 100.0]


UNWEIGHTED = "columns are standardised, and median distances computed, without sample weights"


@parametrize_with_checks(
    [
        MetricRankRLSCV([1.0], rounds=1, cv=2),
        MetricRLSCV([1.0], rounds=1, cv=2),
        MetricRLSClassifierCV([1.0], rounds=1, cv=2),
        RankRLSCV([0.1, 1.0], kernel="auto", cv=3),
        RLSClassifierCV([0.1, 1.0], kernel="auto"),
        RankRLS(kernel="laplacian", metric="variance"),
    ],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{form}_data": UNWEIGHTED for form in ("dense", "sparse")
    },
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def items(m=60, n=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((m, n)) * np.linspace(1.0, 20.0, n)
    return X, np.sin(2 * X[:, 0]) + 0.1 * random.standard_normal(m), np.arange(m) % 6


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_gradients_equal_central_differences(name, offset):
    random = np.random.default_rng(0)
    X, new, a = random.standard_normal((20, 4)) + offset, random.standard_normal((6, 4)) + offset, random.random(20)
    kernel = Kernel(name, gamma=0.3, root=np.array([1.0, 0.0, 2.0, 0.5]))
    found, h = gradients(kernel, new, X, a), 1e-5
    for c in range(4):
        step = h * np.eye(4)[c]
        expected = (kernel.matrix(new + step, X) - kernel.matrix(new - step, X)) @ a / (2 * h)
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-6, atol=1e-6 if offset == 0.0 else 1e-4)
    shift = sparse.csr_array(X - offset)
    np.testing.assert_allclose(gradients(kernel, sparse.csr_array(new - offset), shift, a), found, atol=1e-8)


def slow_metric(X, kernel, gamma, metric, kept, alpha, y, qid, weight):
    """Refit outside a fold with a metric, and return the next metric from differences of its predictions."""
    options = {} if qid is None else {"qid": qid[kept]}
    plain = RankRLS(alpha, kernel=kernel, gamma=gamma, metric=metric)
    plain.fit(X[kept], y[kept], sample_weight=weight[kept], **options)
    squares = np.zeros(X.shape[1])
    for c in range(X.shape[1]):
        h = 1e-6 * X[:, c].std()
        step = h * np.eye(X.shape[1])[c]
        slope = (plain.predict(X[kept] + step) - plain.predict(X[kept] - step)) / (2 * h)
        squares[c] = weight[kept] @ slope**2
    variances = X.var(axis=0)
    if kernel == "laplacian":
        return squares * (X.shape[1] / np.sqrt(squares * variances).sum()) ** 2
    return squares * X.shape[1] / (squares @ variances)


@pytest.mark.parametrize("queries", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_scores_of_a_fold_come_from_a_metric_that_was_refitted_without_it(kernel, queries, monkeypatch):
    """Two rounds by hand: every metric S[u] from the items outside u only, then the scores of u."""
    X, y, qid = items(48)
    qid, weight = (qid if queries else None), 1.0 + np.arange(48) % 3
    tried = []
    from kernelrank.model_selection import metric_search

    original = metric_search._Rounds._try

    def spy(self, setting, metrics):
        found = original(self, setting, metrics)
        tried.append((found, metrics, self.folds))
        return found

    monkeypatch.setattr(metric_search._Rounds, "_try", spy)
    MetricRankRLSCV(ALPHAS, rounds=1, cv=3).fit(X, y, qid=qid, sample_weight=weight)
    first = max(
        (one for one, _, _ in tried if one.setting["round"] == 0 and one.setting["kernel"] == kernel),
        key=lambda one: one.score,
    )
    later = [one for one in tried if one[0].setting["round"] == 1 and one[0].setting["kernel"] == kernel]
    assert len(later) == 3
    for found, metrics, folds in later:
        start = 0
        for number, held in enumerate([*folds, np.zeros(0, dtype=int)]):
            kept = np.setdiff1d(np.arange(48), held)
            expected = slow_metric(
                X, kernel, first.setting["gamma"], 1 / X.var(axis=0), kept, first.alpha, y, qid, weight
            )
            np.testing.assert_allclose(metrics[number], expected, rtol=1e-5, atol=1e-9)
            if len(held) == 0:
                continue
            model = RankRLS(found.alpha, kernel=kernel, gamma=found.setting["gamma"], metric=metrics[number])
            model.fit(X[kept], y[kept], sample_weight=weight[kept], **({} if qid is None else {"qid": qid[kept]}))
            ours = found.scores[start : start + len(held), 0]
            start += len(held)
            np.testing.assert_allclose(ours, model.predict(X[held]), rtol=1e-8, atol=1e-8)


def test_labels_of_a_fold_change_neither_its_metric_nor_its_scores(monkeypatch):
    X, y, _ = items(45)
    from kernelrank.model_selection import metric_search

    folds = [(np.setdiff1d(np.arange(45), np.arange(u, 45, 3)), np.arange(u, 45, 3)) for u in range(3)]
    seen = {}
    for name in ("before", "after"):
        if name == "after":
            y = y.copy()
            y[folds[1][1]] = y[folds[1][1]][::-1]
        model = MetricRankRLSCV([1.0], rounds=1, cv=folds)
        kept = []
        original = metric_search._Rounds._metrics

        def spy(self, best, metrics, original=original, kept=kept):
            fixed = original(self, next(one for one in [best]), metrics)
            kept.append((best.setting["kernel"], best.setting["gamma"], fixed[1]))
            return fixed

        monkeypatch.setattr(metric_search._Rounds, "_metrics", spy)
        model.fit(X, y)
        monkeypatch.setattr(metric_search._Rounds, "_metrics", original)
        seen[name] = kept
    for (kernel, gamma, before), (_, other, after) in zip(seen["before"], seen["after"], strict=True):
        if gamma == other:  # another fold may have led to another gamma, which is a choice and not a leak
            np.testing.assert_array_equal(before, after, err_msg=kernel)


def test_noise_is_not_learnt():
    scores = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, y = random.standard_normal((60, 10)), random.permutation(60) % 2
        model = MetricRankRLSCV([0.1, 10.0], rounds=1, cv=4).fit(X, y)
        scores.append(np.mean(model.cv_results_["mean_test_score"]))
    assert abs(np.mean(scores) - 0.5) < 3 * np.std(scores, ddof=1) / np.sqrt(20)


def test_few_columns_among_many_are_found():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 20))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    model = MetricRankRLSCV(ALPHAS, cv=4).fit(X[:150], y[:150])
    auto = RankRLSCV(ALPHAS, kernel="auto").fit(X[:150], y[:150])
    assert model.round_ > 0
    assert set(np.argsort(-model.metric_)[:2]) == {0, 1}
    assert model.score(X[150:], y[150:]) > auto.score(X[150:], y[150:]) + 0.05
    np.testing.assert_allclose(model.kernel_.root**2, model.metric_, rtol=1e-12)
    assert set(model.cv_results_["param_round"]) == {0, 1, 2}
    assert model.holdout_scores_.shape == (150,)


def test_other_tasks(tmp_path):
    X, y, qid = items()
    time = np.exp(y)
    censored = event_times(time, np.arange(60) % 3 > 0)
    fitted = {
        "basis": MetricRankRLSCV(ALPHAS, rounds=1, cv=3, basis=20, random_state=0).fit(X, y, qid=qid),
        "censored": MetricRankRLSCV(ALPHAS, rounds=1, cv=3).fit(X, censored),
        "regressor": MetricRLSCV(ALPHAS, rounds=1, cv=3).fit(X, y),
        "classifier": MetricRLSClassifierCV(ALPHAS, rounds=1, cv=3).fit(X, qid % 3),
        "sparse": MetricRankRLSCV(ALPHAS, rounds=1, cv=3).fit(sparse.csr_array(X), y),
    }
    for name, model in fitted.items():
        save(model, tmp_path / f"{name}.krank")
        new = sparse.csr_array(X) if name == "sparse" else X
        assert np.array_equal(load(tmp_path / f"{name}.krank").predict(new), model.predict(new)), name
    assert fitted["classifier"].predict(X).shape == (60,)


@pytest.mark.parametrize("queries", [False, True])
@pytest.mark.parametrize("basis", [None, 25])
def test_a_search_on_a_sample_is_judged_by_items_without_a_part_in_it(queries, basis, monkeypatch, tmp_path):
    """The rounds see their sample alone; the last scores equal a refit without the items that judge the basis."""
    from kernelrank.model_selection import metric_search

    monkeypatch.setattr(metric_search, "BASES", (10, 30))
    X, y, qid = items(150, seed=4)
    qid = np.arange(150) % 30 if queries else None
    options = {} if qid is None else {"qid": qid}
    search = MetricRankRLSCV(ALPHAS, rounds=1, cv=3, search_items=60, basis=basis, random_state=1)
    few, held = search._sample(150, None if qid is None else Queries.from_labels(qid, 150))
    assert len(few) == 60
    assert not np.intersect1d(few, held).size
    model = search.fit(X, y, **options)
    inner = MetricRankRLSCV(ALPHAS, rounds=1, cv=3, random_state=1)
    inner.fit(X[few], y[few], **({} if qid is None else {"qid": qid[few]}))
    np.testing.assert_allclose(model.metric_, inner.metric_, rtol=1e-12)
    assert (model.kernel_.metric, model.gamma_, model.n_search_items_) == (inner.kernel_.metric, inner.gamma_, 60)
    assert np.array_equal(np.flatnonzero(~np.isnan(model.holdout_scores_)), held)
    kept = np.setdiff1d(np.arange(150), held)
    own = np.searchsorted(kept, model.basis_[np.isin(model.basis_, kept)])
    plain = RankRLS(model.alpha_, kernel=model.kernel_.metric, gamma=model.gamma_, metric=model.metric_, basis=own)
    plain.fit(X[kept], y[kept], **({} if qid is None else {"qid": qid[kept]}))
    np.testing.assert_allclose(model.holdout_scores_[held], plain.predict(X[held]), rtol=1e-8, atol=1e-9)
    again = RankRLS(model.alpha_, kernel=model.kernel_.metric, gamma=model.gamma_, metric=model.metric_)
    again.set_params(basis=model.basis_).fit(X, y, **options)
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-8, atol=1e-9)
    sizes = None if basis is not None else model.basis_scores_[:, 0].tolist()
    assert sizes in (None, [10.0], [10.0, 30.0])
    assert basis is not None or (model.best_score_ == model.basis_scores_[-1, 1] and len(model.basis_) == sizes[-1])
    save(model, tmp_path / "model.krank")
    assert np.array_equal(load(tmp_path / "model.krank").predict(X), model.predict(X))
    model.fit(X[:50], y[:50])
    assert (model.n_search_items_, model.basis_scores_) == (50, None)


def test_classes_and_times_of_a_sample():
    X, y, _ = items(90)
    model = MetricRLSClassifierCV(ALPHAS, rounds=1, cv=3, search_items=40).fit(X, np.digitize(y, [-0.5, 0.5]))
    assert model.n_search_items_ == 40
    assert model.score(X, np.digitize(y, [-0.5, 0.5])) > 0.6
    times = event_times(np.exp(y), np.arange(90) % 3 > 0)
    assert MetricRankRLSCV(ALPHAS, rounds=0, cv=3, search_items=40).fit(X, times).n_search_items_ == 40
    few = MetricRankRLSCV(ALPHAS, rounds=0, cv=2, search_items=40).fit(X, y, qid=np.arange(90) % 2)
    assert few.n_search_items_ == 90  # two queries cannot be divided


def preferences(m=40, n_pairs=150, seed=0):
    X, y, _ = items(m, seed=seed)
    pairs = np.random.default_rng(seed).integers(0, m, (n_pairs, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    return X, pairs, 1.0 + np.arange(len(pairs)) % 2


@pytest.mark.parametrize("basis", [None, 15])
def test_a_fold_of_preferences_changes_neither_its_metric_nor_its_differences(basis, monkeypatch):
    """The scores of a fold equal refits with the metric of the fold, whichever way its own preferences point."""
    from kernelrank.model_selection import metric_search

    X, pairs, weight = preferences()
    groups, seen, original = np.arange(len(pairs)) % 3, [], metric_search._Rounds._try

    def spy(self, setting, metrics):
        found = original(self, setting, metrics)
        seen.append((found, metrics, self.folds, self.basis))
        return found

    monkeypatch.setattr(metric_search._Rounds, "_try", spy)
    model = MetricRankRLSCV([1.0], rounds=1, cv=3, basis=basis, random_state=0)
    model.fit_pairs(X, pairs, weight=weight, groups=groups)
    first, seen = seen, []
    turned = pairs.copy()
    held = first[0][2][1][:4]
    turned[held] = turned[held][:, ::-1]
    compared = 0
    for found, metrics, folds, own_basis in first:
        start = 0
        for metric, fold in zip(metrics, folds, strict=False):
            kept = np.delete(np.arange(len(pairs)), fold)
            setting = {name: value for name, value in found.setting.items() if name != "round"}
            plain = RankRLS(1.0, metric=metric, basis=own_basis, **setting).fit_pairs(
                X, pairs[kept], weight=weight[kept]
            )
            f = plain.predict(X)
            expected = f[pairs[fold, 0]] - f[pairs[fold, 1]]
            ours = found.scores[start : start + len(fold), 0]
            np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-8)
            start += len(fold)
    MetricRankRLSCV([1.0], rounds=1, cv=3, basis=basis, random_state=0).fit_pairs(
        X, turned, weight=weight, groups=groups
    )
    for (before, metrics, _, _), (after, others, _, _) in zip(first, seen, strict=True):
        if before.setting == after.setting:  # another fold may have led to another gamma: a choice, not a leak
            np.testing.assert_allclose(metrics[1], others[1], rtol=1e-8)
            compared += before.setting["round"]
    assert compared > 0


def test_preferences_have_their_scale_folds_and_errors():
    X, pairs, weight = preferences()
    model = MetricRankRLSCV(rounds=1, cv=4).fit_pairs(X, pairs, weight=weight)
    auto = RankRLSCV(kernel="auto").fit_pairs(X, pairs, weight=weight)
    assert model.best_score_ > 0.6
    assert model.holdout_scores_ is None
    assert model.alphas_[0] < auto.alpha_ < model.alphas_[-1]
    twice = MetricRankRLSCV(rounds=1, cv=4).fit_pairs(
        X, np.repeat(pairs, 2, axis=0), groups=np.arange(2 * len(pairs)) // 2
    )
    assert twice.best_score_ > 0.6
    for options in ({"cv": [([0], [1])]}, {"scoring": "auc"}):
        with pytest.raises(InvalidInputError, match="folds of preferences"):
            MetricRankRLSCV(**options).fit_pairs(X, pairs)
    with pytest.raises(InvalidInputError, match="zero weight"):
        MetricRankRLSCV([1.0], rounds=0, cv=2).fit_pairs(X, pairs[:6], magnitude=np.zeros(6), weight=np.ones(6))


def test_hold_outs_refit_everything():
    X, y, qid = items(24, n=2)
    qid, labels = qid % 4, y > np.median(y)
    model = MetricRankRLSCV([0.1, 10.0], rounds=1, cv=2)
    found = leave_query_out(model, X, y, qid)
    rest = qid != 1
    expected = MetricRankRLSCV([0.1, 10.0], rounds=1, cv=2).fit(X[rest], y[rest], qid=qid[rest]).predict(X[~rest])
    np.testing.assert_allclose(found[~rest], expected, rtol=1e-8, atol=1e-9)
    pair = leave_pair_out(model, X, y, pairs=[[0, 5]])
    rest = np.setdiff1d(np.arange(24), [0, 5])
    scores = MetricRankRLSCV([0.1, 10.0], rounds=1, cv=2).fit(X[rest], y[rest]).predict(X[[0, 5]])
    np.testing.assert_allclose(pair.difference.ravel(), scores[0] - scores[1], rtol=1e-8, atol=1e-9)
    assert 0.0 <= estimate_auc(model, X, labels, method="averaged", cv=3).auc <= 1.0
    assert 0.0 < permutation_test(model, X, y, qid=qid, n_permutations=3, random_state=0).pvalue <= 1.0
