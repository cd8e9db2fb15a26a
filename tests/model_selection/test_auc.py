"""Estimated AUCs: the definitions by refitting, groups, labels, intervals, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from kernelrank.errors import EdgeOfGridWarning, InvalidInputError, PooledAUCWarning
from kernelrank.estimators import RLS, RankRLS, RLSClassifier
from kernelrank.metrics.roc import Components, TwoClasses, normal_variance, score_interval
from kernelrank.model_selection import RLSCV, RankRLSCV, estimate_auc
from kernelrank.model_selection.auc import Task, auc_folds, held_out_components
from kernelrank.model_selection.auc_halves import MOST_SPLITS, Halves, _draw_halves, hold_out_halves
from tests.oracles import auc as oracle

METHODS = ["leave_pair_out", "averaged", "pooled", "balanced_leave_pair_out"]


def draw(m=14, n_positive=6, n_features=3, shift=0.8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(m) < n_positive).astype(int)
    return rng.standard_normal((m, n_features)) + shift * y[:, None], y


X, y = draw()
GROUPS = np.array(list("aabbccddeeffgg"))


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PooledAUCWarning)
        return estimate_auc(*args, **kwargs)


@pytest.mark.parametrize("estimator", [LogisticRegression(), RLS(2.0), RLSClassifier(), RankRLS(0.5)], ids=str)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["items", "groups"])
def test_leave_pair_out_is_its_definition(estimator, groups):
    found = estimate_auc(estimator, X, y, groups=groups)
    assert found.auc == pytest.approx(oracle.leave_pair_out(estimator, X, y, y == 1, groups), abs=1e-12)
    assert (found.n_pairs, found.n_positive, found.n_negative) == (48, 6, 8)
    assert found.interval.low < found.auc < found.interval.high


@pytest.mark.parametrize("estimator", [LogisticRegression(), RankRLS()], ids=str)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["items", "groups"])
def test_folds_are_their_definitions(estimator, groups):
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    folds = auc_folds(3, X, TwoClasses.read(y, len(y)), codes, 5)
    options = {"cv": 3, "groups": groups, "random_state": 5}
    found = estimate_auc(estimator, X, y, method="averaged", **options)
    assert found.auc == pytest.approx(oracle.averaged(estimator, X, y, y == 1, folds))
    with pytest.warns(PooledAUCWarning, match="scores of different models"):
        found = estimate_auc(estimator, X, y, method="pooled", **options)
    assert found.auc == pytest.approx(oracle.pooled(estimator, X, y, y == 1, folds))
    assert "biased low" in found.warnings[0]


def test_balanced_takes_one_item_of_each_class_away():
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y):
            seen.append((len(y), int(y.sum())))
            return super().fit(X, y)

    found = estimate_auc(Spy(), X, y, method="balanced_leave_pair_out", random_state=0)
    assert seen == [(12, 5)] * 14
    assert found.n_pairs == 48
    same = estimate_auc(Spy(), X, y, method="balanced_leave_pair_out", random_state=0)
    assert same.auc == found.auc


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("estimator", [RidgeClassifier(), RLS(), RLSClassifier(), RankRLS()], ids=str)
def test_labels_have_no_influence(method, estimator):
    options = {"method": method, "random_state": 3}
    words = np.array(["well", "zombie"])[y]
    expected = quietly(estimator, X, 2 * y - 1, **options)
    for labels in (words, words.astype(object), words.tolist(), pd.Series(words), y == 1):
        found = quietly(estimator, X, labels, **options)
        assert found.auc == pytest.approx(expected.auc)
        assert tuple(found.interval) == pytest.approx(tuple(expected.interval))
    assert quietly(estimator, X, words, **options).classes == ("well", "zombie")
    turned = quietly(estimator, X, words, pos_label="well", **options)
    assert turned.classes == ("zombie", "well")
    if method == "leave_pair_out":
        assert turned.auc == pytest.approx(expected.auc)
        assert tuple(turned.interval) == pytest.approx(tuple(expected.interval))


def test_items_in_another_order_have_the_same_auc():
    order = np.random.default_rng(1).permutation(len(y))
    for estimator in (RankRLS(), RidgeClassifier()):
        one, other = estimate_auc(estimator, X, y), estimate_auc(estimator, X[order], y[order])
        assert one.auc == pytest.approx(other.auc)
        # Other halves are drawn.
        assert tuple(one.interval) == pytest.approx(tuple(other.interval), abs=0.06)


def test_forms_of_data():
    expected = estimate_auc(RankRLS(), X, y)
    for form in (X.tolist(), pd.DataFrame(X), sparse.csr_array(X)):
        assert estimate_auc(RankRLS(), form, y).auc == expected.auc
    kernel = estimate_auc(RankRLS(kernel="precomputed"), X @ X.T, y)
    assert kernel.auc == pytest.approx(expected.auc)
    assert tuple(kernel.interval) == pytest.approx(tuple(expected.interval))
    frame = estimate_auc(RidgeClassifier(), pd.DataFrame(X), y)
    assert frame.auc == estimate_auc(RidgeClassifier(), X, y).auc


def test_probabilities_and_processes():
    options = {"method": "averaged", "cv": 2, "random_state": 0}
    alone, shared = (estimate_auc(GaussianNB(), X, y, n_jobs=n_jobs, **options) for n_jobs in (None, 2))
    assert alone == shared
    folds = auc_folds(2, X, TwoClasses.read(y, len(y)), None, 0)
    expected = []
    for fold in folds:
        model = GaussianNB().fit(np.delete(X, fold, axis=0), np.delete(y, fold))
        expected.append(roc_auc_score(y[fold], model.predict_proba(X[fold])[:, 1]))
    assert alone.auc == pytest.approx(np.mean(expected))


def test_nested_choice_sees_only_training_items():
    chosen = GridSearchCV(RLSClassifier(), {"alpha": [0.01, 1.0, 100.0]}, scoring="roc_auc", cv=2)
    few = np.r_[np.flatnonzero(y)[:4], np.flatnonzero(y == 0)[:4]]
    found = estimate_auc(chosen, X[few], y[few])
    assert found.auc == pytest.approx(oracle.leave_pair_out(chosen, X[few], y[few], y[few] == 1))


def test_nested_choice_by_exact_leave_pair_out():
    chosen = RankRLSCV([0.01, 0.1, 1.0, 100.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        found = estimate_auc(chosen, X, y)
        expected = oracle.leave_pair_out(chosen, X, y, y == 1)
    assert found.auc == pytest.approx(expected)


# Groups of both classes, groups of one class whose sizes differ, and one group of two items.
MANY, KINDS = draw(28, 12)
MADE_OF_ONE_CLASS = np.where(KINDS == 1, np.cumsum(KINDS) // 2, 20 + np.cumsum(1 - KINDS) // 3)
PAIR = [np.flatnonzero(KINDS)[1], np.flatnonzero(KINDS == 0)[2]]
ONE_MIXED = np.where(np.isin(np.arange(28), PAIR), 99, np.arange(28))
GROUPINGS = {
    "items": None,
    "mixed": np.arange(28) // 2,
    "of one class": MADE_OF_ONE_CLASS,
    "one of two items": ONE_MIXED,
}


@pytest.mark.parametrize(
    "estimator",
    [RLS(0.3), RLSClassifier(0.3), RankRLS(2.0), RankRLS(kernel="rbf", gamma=0.5), LogisticRegression()],
    ids=str,
)
@pytest.mark.parametrize("groups", GROUPINGS.values(), ids=GROUPINGS)
def test_halves_are_the_estimate_on_fewer_items(estimator, groups, monkeypatch):
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    task = Task(estimator, MANY, TwoClasses.read(KINDS, 28), codes)
    monkeypatch.setattr("kernelrank.model_selection.auc_halves.MOST_SPLITS", 2)
    parts = _draw_halves(task, 2)
    for one, other in (parts[:2], parts[2:]):
        assert sorted([*one, *other]) == list(range(28))
    found = hold_out_halves(task, held_out_components)
    assert found.share == 0.5
    assert len(parts) == 4
    for items, components in zip(parts, found.components, strict=True):
        mine = None if groups is None else groups[items]
        expected = oracle.leave_pair_out(estimator, MANY[items], KINDS[items], KINDS[items] == 1, mine)
        assert components.auc == pytest.approx(expected, abs=1e-12)
        if groups is not None:  # a group is in a half as a whole
            assert not set(groups[items]) & set(np.delete(groups, items))


def test_groups_that_cannot_be_halved_have_the_interval_of_their_components():
    """Seven groups of both classes: a half has two or three of a class, and three are needed."""
    assert "not for others being trained on" in estimate_auc(RankRLS(), X, y, groups=GROUPS).interval.method
    with pytest.raises(InvalidInputError, match="the jackknife needs"):
        estimate_auc(RankRLS(), X, y, groups=GROUPS, interval="jackknife")


@pytest.mark.parametrize("kind", [RankRLSCV, RLSCV])
def test_a_search_chooses_on_the_other_half(kind):
    items, labels = draw(28, 14, 4, 1.0)
    search = kind([1e-3, 1.0, 10.0, 100.0, 1e6])
    task = Task(search, items, TwoClasses.read(labels, 28))
    halves = _draw_halves(task, MOST_SPLITS)
    found = hold_out_halves(task, held_out_components)
    for number in (0, 1, 2, 3):
        mine, other = halves[number], halves[number ^ 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            alpha = clone(search).fit(items[other], labels[other]).alpha_
        learner = (RankRLS if kind is RankRLSCV else RLS)(alpha)
        expected = oracle.leave_pair_out(learner, items[mine], labels[mine], labels[mine] == 1)
        assert found.components[number].auc == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_the_share_of_training_on_parts_is_that_of_a_quadratic_part(share):
    """Sums of a linear and a degenerate quadratic part, whose variances V / k and Q / k² on parts are known."""
    rng = np.random.default_rng(0)
    n, truth = 40, 1.5
    V, Q = 1.0 / n, truth / n
    found = []
    k = int(share * n)
    for _ in range(60):
        x = rng.standard_normal(n)
        h = np.triu(rng.standard_normal((n, n)), 1)  # one number for each pair
        aucs, scored = [], []
        for _ in range(40):
            items = np.sort(rng.permutation(n)[:k])
            pairs = h[np.ix_(items, items)].sum() / np.sqrt(k * (k - 1) / 2)
            aucs.append(0.5 + x[items].mean() * np.sqrt(V * n) + pairs * np.sqrt(Q) * n / k)
            scored.append(V * n / k)
        # Components whose mean and variance are these.
        spread = np.array([1, -1]) / np.sqrt(2)
        ends = [a + np.sqrt(v) * spread for a, v in zip(aucs, scored, strict=True)]
        parts = [Components(both, both) for both in ends]
        found.append(Halves(parts, [(None, None)] * 40, share).trained([0.5]))
    assert np.mean(found) == pytest.approx(truth / share, abs=4 * np.std(found) / np.sqrt(60))


def test_what_training_adds_shrinks_near_one_and_an_auc_below_a_half_does_not_say_that_nothing_varies():
    spread = np.array([1, -1]) / np.sqrt(200)  # a variance of V_k = 0.01
    halves = Halves(
        [Components(a + spread, a + spread) for a in 0.75 + 0.2 * np.sin(np.arange(40))], [(None, None)] * 40, 0.5
    )
    most = halves.trained([0.5])
    assert most > 0.5
    assert halves.trained([0.25]) == most
    assert halves.trained([0.9]) == pytest.approx(0.2 * most)
    assert halves.trained([1.0, 0.75]) == pytest.approx(0.25 * most)
    assert halves.trained([1.0]) == 0.0
    sizes = 20, 20
    plain = halves.factor(0.5, normal_variance(0.5, *sizes), sizes)
    # Two sums of the variance of all items and of that of halves: what was measured, and what normal scores have.
    mean = np.mean([part.auc for part in halves.components])
    small = normal_variance(1 - 0.25 / 21, *sizes)
    measured, normal = normal_variance(0.5, *sizes) + 0.01, normal_variance(0.5, *sizes) + normal_variance(mean, 10, 10)
    assert plain == pytest.approx((measured + small) / (normal + small) * (1 + most))
    assert halves.factor(0.1, 0.0, sizes) > 2 * plain
    assert np.isfinite(halves.factor(0.0, 0.0, sizes))


@pytest.mark.parametrize("auc", [0.5, 0.8, 0.97])
def test_the_variance_of_normal_scores_is_that_of_drawn_ones(auc):
    rng = np.random.default_rng(0)
    shift = np.sqrt(2) * stats.norm.ppf(auc)
    draws = [Components.of_scores(rng.standard_normal(8) + shift, rng.standard_normal(12)).auc for _ in range(4000)]
    assert np.var(draws) == pytest.approx(normal_variance(auc, 8, 12), rel=0.1)
    assert normal_variance(0.0, 8, 12) == normal_variance(1.0, 8, 12) == 0.0


def test_an_auc_near_one_has_an_interval_that_says_something():
    """The choice of alpha changes with single items here: the jackknife said [0.000, 1.000]."""
    from sklearn.datasets import load_breast_cancer

    patients, outcome = load_breast_cancer(return_X_y=True)
    patients = (patients - patients.mean(axis=0)) / patients.std(axis=0)
    rng = np.random.default_rng(0)
    rng.permutation(569)
    items = np.sort(rng.permutation(569)[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        found = estimate_auc(RankRLSCV(), patients[items], outcome[items])
    assert found.auc == pytest.approx(0.997, abs=5e-4)
    assert 0.86 < found.interval.low < 0.95
    assert found.interval.high > 0.999


def test_large_groups_of_equal_items_do_not_widen_the_interval_without_end():
    """Two cells of a table that nearly tie change places with one item: the jackknife had a deviation of .27."""
    rng = np.random.default_rng([3, 1])
    tilted = np.array([1.0, np.exp(0.6)]) / (1.0 + np.exp(0.6))
    shares = [[tilted, tilted, [0.5, 0.5]], [tilted[::-1], tilted[::-1], [0.5, 0.5]]]
    codes = np.concatenate([np.stack([rng.choice(2, 40, p=p) for p in of], axis=1) for of in shares])
    labels = np.repeat([1, 0], 40)
    found = estimate_auc(RankRLS(), codes.astype(float), labels)
    alone = estimate_auc(RankRLS(), codes.astype(float), labels, interval="components")
    wide, narrow = (np.ptp([*one.interval]) for one in (found, alone))
    assert narrow <= wide < 1.8 * narrow


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("interval", ["auto", "components", "jackknife"])
def test_groups_of_one_item_change_nothing(method, interval):
    if interval == "jackknife" and method != "leave_pair_out":
        pytest.skip("the jackknife is for leave-pair-out")
    items, labels = draw(40, 20, 5, 0.5)
    options = {"method": method, "interval": interval, "random_state": 0}
    names = np.random.default_rng(0).permutation([f"patient {i}" for i in range(40)])
    expected = quietly(RankRLS(), items, labels, **options)
    assert quietly(RankRLS(), items, labels, groups=np.arange(40), **options) == expected
    assert quietly(RankRLS(), items, labels, groups=names, **options) == expected


def test_groups_of_one_item_change_nothing_for_any_estimator_and_any_splitter():
    options = {"method": "averaged", "cv": GroupKFold(3), "groups": np.arange(14)}
    assert estimate_auc(RidgeClassifier(), X, y, **options).n_pairs > 0  # the splitter sees the groups
    one, other = (estimate_auc(RidgeClassifier(), X, y, groups=groups) for groups in (None, np.arange(14)))
    assert one == other
    two_positive = np.r_[1, 1, np.zeros(12)].astype(int)
    one, other = (estimate_auc(RankRLS(), X, two_positive, groups=groups) for groups in (None, np.arange(14)))
    assert one == other


@pytest.mark.parametrize("interval", ["auto", "components", "jackknife"])
def test_one_group_of_two_items_changes_little(interval):
    """Groups of nearly one item each give nearly the interval of no groups: the formulas meet."""
    items, labels = draw(40, 20, 5, 0.5)
    alone = estimate_auc(RankRLS(), items, labels, interval=interval)
    codes = np.arange(40)
    for pair in (np.flatnonzero(labels)[:2], np.flatnonzero(labels == 0)[:2], [np.argmax(labels), np.argmin(labels)]):
        groups = codes.copy()
        groups[pair[0]] = pair[1]
        found = estimate_auc(RankRLS(), items, labels, interval=interval, groups=groups)
        assert found.auc == pytest.approx(alone.auc, abs=0.01)
        # Without the jackknife the interval is narrower by a fifth.
        assert np.ptp(logit([*found.interval])) == pytest.approx(np.ptp(logit([*alone.interval])), rel=0.15)


def test_what_varies_is_said():
    assert "being scored and trained on" in estimate_auc(RankRLS(), X, y).interval.method
    for estimator, options in ((RankRLS(), {"interval": "components"}), (LogisticRegression(), {})):
        assert "not for others being trained on" in estimate_auc(estimator, X, y, **options).interval.method
    found = estimate_auc(RankRLS(), X, y, method="averaged", cv=3)
    assert "the 3 folds" in found.interval.method
    line = str(found)
    assert "\n" not in line
    assert f"AUC {found.auc:.3f}, 95% interval" in line
    assert float(found) == found.auc
    assert repr(found) == f"<AUCEstimate {line}>"


def test_components_are_delong():
    rng = np.random.default_rng(0)
    positive, negative = rng.integers(0, 6, 9).astype(float), rng.integers(0, 5, 7).astype(float)
    components = Components.of_scores(positive, negative)
    assert components.auc == pytest.approx(oracle.auc(positive, negative))
    variance, _ = components.variance()
    assert variance == pytest.approx(oracle.component_variance(positive, negative))
    alone, _ = components.variance(np.arange(9), np.arange(9, 16))
    assert alone == pytest.approx(variance)


def test_repeated_items_in_one_group_add_no_certainty():
    rng = np.random.default_rng(0)
    positive, negative = rng.standard_normal(12) + 1, rng.standard_normal(10)
    once, _ = Components.of_scores(positive, negative).variance()
    groups = np.repeat(np.arange(12), 3), np.repeat(np.arange(12, 22), 3)
    repeated = Components.of_scores(np.repeat(positive, 3), np.repeat(negative, 3))
    assert repeated.variance(*groups)[0] == pytest.approx(once)
    assert repeated.variance()[0] < 0.5 * once


@pytest.mark.parametrize("auc", [0.0, 1.0, 0.5, 1.0 - 1e-16])
@pytest.mark.parametrize("variance", [0.0, 0.01, np.inf])
def test_interval_stays_inside(auc, variance):
    low, high = score_interval(auc, variance, 0.95, 10, 12)
    assert 0 <= low < high <= 1
    assert low <= auc <= high
    wider = score_interval(auc, variance, 0.99, 10, 12)
    assert wider[0] <= low
    assert high <= wider[1]


def test_intervals_hold_the_truth_and_pooling_is_low():
    """A small form of the study: no signal, so that the true AUC is a half."""
    rng = np.random.default_rng(0)
    labels = np.repeat([-1.0, 1.0], 12)
    aucs, covered, narrow = {method: [] for method in ("leave_pair_out", "pooled")}, [], []
    for _ in range(150):
        items = np.column_stack([rng.standard_normal((24, 5)), np.ones(24)])
        found = estimate_auc(RLS(), items, labels)
        covered.append(found.interval.low <= 0.5 <= found.interval.high)
        components = estimate_auc(RLS(), items, labels, interval="components")
        narrow.append(components.interval.low <= 0.5 <= components.interval.high)
        aucs["leave_pair_out"].append(found.auc)
        aucs["pooled"].append(quietly(RLS(), items, labels, method="pooled", cv="leave_one_out").auc)
    assert np.mean(covered) >= 0.92
    assert np.mean(narrow) < np.mean(covered)
    gap = np.array(aucs["leave_pair_out"]) - np.array(aucs["pooled"])
    assert gap.mean() > 4 * gap.std() / np.sqrt(len(gap))
    assert abs(np.mean(aucs["leave_pair_out"]) - 0.5) < 3 * np.std(aucs["leave_pair_out"]) / np.sqrt(150)


def test_folds_are_even_whole_and_follow_the_seed():
    classes = TwoClasses.read(y, len(y))
    folds = auc_folds(4, X, classes, None, 0)
    assert sorted(np.concatenate(folds)) == list(range(14))
    assert {len(fold) for fold in folds} == {3, 4}
    assert {int(y[fold].sum()) for fold in folds} == {1, 2}
    again = auc_folds(4, X, classes, None, 0)
    assert all(np.array_equal(one, two) for one, two in zip(folds, again, strict=True))
    assert [fold.tolist() for fold in auc_folds("leave_one_out", X, classes, None, 0)] == [[i] for i in range(14)]
    codes = np.unique(GROUPS, return_inverse=True)[1]
    assert [fold.tolist() for fold in auc_folds("leave_one_out", X, classes, codes, 0)][1] == [2, 3]
    assert len(auc_folds(LeaveOneOut(), X, classes, None, 0)) == 14
    assert len(auc_folds(GroupKFold(3), X, classes, codes, 0)) == 3


def test_folds_with_one_class_are_counted():
    found = estimate_auc(RankRLS(), X, y, method="averaged", cv=10, random_state=0)
    assert found.warnings == ("6 of 10 folds have one class only and were left out",)
    assert "Warning: 6 of 10 folds" in str(found)


ONE = np.r_[1, np.zeros(13)].astype(int)
BAD = {
    "method": ({"method": "bootstrap"}, y, "method must be one of 'leave_pair_out', 'averaged'"),
    "interval": ({"interval": "exact"}, y, "interval must be one of 'auto'"),
    "jackknife": ({"interval": "jackknife", "method": "pooled"}, y, "is for leave-pair-out"),
    "weight": ({"weight": "pairs"}, y, "weight is used by method='averaged' only"),
    "weight word": ({"method": "averaged", "weight": "items"}, y, "weight must be one of 'folds', 'pairs'"),
    "cv": ({"cv": 5}, y, "cv is used by method='averaged' and 'pooled' only"),
    "confidence": ({"confidence": 95}, y, "confidence must lie between 0 and 1"),
    "one class": ({}, np.zeros(14), "two classes, and y has one class: 0.0"),
    "three classes": ({}, np.arange(14) % 3, "two classes, and y has 3 classes: 0, 1, 2"),
    "many classes": ({}, np.arange(14), "14 classes: 0, 1, 2, 3, 4, …"),
    "mixed": ({}, np.array([1, "a"] * 7, dtype=object), "classes that can be sorted"),
    "length": ({}, y[:-1], "y has 13 entries, but X has 14 items"),
    "missing": ({}, np.where(y == 1, np.nan, 0.0), "y contains NaN"),
    "none": ({}, None, "y is None"),
    "pos_label": ({"pos_label": 2}, y, "pos_label is 2, but the classes of y are 0, 1"),
    "one item": ({}, ONE, "needs at least 2 items of each class.*class 1 has 1 item$"),
    "one fold": ({"method": "averaged", "cv": 1}, y, "cv must be at least 2 and at most 14"),
    "whole class": ({"method": "averaged", "cv": 2}, ONE, "fold 0 holds out all items of a class"),
    "no fold": ({"method": "averaged", "cv": "leave_one_out"}, y, "no test fold has items of both classes"),
    "twice": ({"method": "pooled", "cv": ShuffleSplit(2, random_state=0)}, y, "every item in exactly one test fold"),
    "few groups": (
        {"groups": np.where(y == 1, 0, np.arange(14))},
        y,
        "at least 2 groups of each class.*class 1 has 1 group$",
    ),
    "group length": ({"groups": [1, 2]}, y, "groups has 2 entries"),
    "jackknife of few groups": (
        {"interval": "jackknife", "groups": np.where(y == 1, np.arange(14) % 2, 9 + np.arange(14))},
        y,
        "the jackknife needs at least 4 groups of each class.*class 1 has 2 groups$",
    ),
    "mixed groups": (
        {"groups": np.where(y == 1, np.arange(14) % 2, np.arange(14) % 7)},
        y,
        "leave-pair-out needs at least 3 groups of each class",
    ),
    "split group": ({"groups": GROUPS, "method": "averaged", "cv": StratifiedKFold(3)}, y, "splits a group"),
}


@pytest.mark.parametrize(("options", "labels", "message"), BAD.values(), ids=BAD)
def test_bad_input(options, labels, message):
    with pytest.raises(ValueError, match=message):
        estimate_auc(RankRLS(), X, labels, **options)


def test_errors_are_ours():
    with pytest.raises(InvalidInputError):
        estimate_auc(RankRLS(), X, np.zeros(14))


def test_folds_count_by_their_pairs():
    folds = [np.array([0, 1, 2, 3, 4, 5, 6]), np.array([7, 8, 9]), np.array([10, 11, 12, 13])]
    splits = [(np.setdiff1d(np.arange(14), fold), fold) for fold in folds]
    right = pairs = 0.0
    areas, counts = [], []
    for train, test in splits:
        scores = RankRLS(0.5).fit(X[train], y[train]).predict(X[test])
        d = scores[y[test] == 1][:, None] - scores[y[test] == 0]
        right, pairs = right + np.sum(d > 0) + 0.5 * np.sum(d == 0), pairs + d.size
        if d.size:
            areas.append(np.mean((d > 0) + 0.5 * (d == 0)))
            counts.append(d.size)
    found = estimate_auc(RankRLS(0.5), X, y, method="averaged", cv=splits, weight="pairs")
    assert found.auc == pytest.approx(right / pairs, abs=1e-12)
    assert len(set(counts)) > 1
    equal = estimate_auc(RankRLS(0.5), X, y, method="averaged", cv=splits)
    assert equal.auc == pytest.approx(np.mean(areas), abs=1e-12)
    assert (found.weight, equal.weight) == ("pairs", "folds")
    assert "(averaged over folds weighted by their pairs, " in str(found)
    assert "(averaged over equally weighted folds, " in str(equal)
    assert found.n_pairs == equal.n_pairs == pairs
    assert estimate_auc(RankRLS(0.5), X, y).weight is None
