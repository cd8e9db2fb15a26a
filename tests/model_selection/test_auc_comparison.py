"""Differences of AUCs: DeLong and Obuchowski by their formulas, learnt sides, edges, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import kernelrank as kr
from kernelrank.base.labels import Queries
from kernelrank.base.text import p_is
from kernelrank.errors import InvalidInputError
from kernelrank.metrics.roc import Components, TwoClasses
from kernelrank.model_selection.auc import Task
from kernelrank.model_selection.auc_halves import MOST_SPLITS, Halves, _draw_halves
from tests.oracles import auc as oracle


def draw(m=30, shift=0.8, seed=0, ties=False):
    """Items of two classes in patients of one to four samples, some of both classes, and two markers."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(m) % 2)
    groups = rng.integers(0, m // 2, m)
    X = rng.standard_normal((m, 3)) + shift * y[:, None] + 0.5 * rng.standard_normal((m // 2, 3))[groups]
    return (np.round(2 * X) if ties else X), y, groups


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_markers_have_the_covariance_of_the_papers(ties, clustered):
    X, y, groups = draw(ties=ties)
    first, second, positive = X[:, 0], X[:, 1], y == 1
    if clustered:
        covariance = oracle.obuchowski_covariance([first, second], positive, groups)
    else:
        covariance = oracle.delong_covariance(
            [first[positive], second[positive]], [first[~positive], second[~positive]]
        )
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    one, two = (Components.of_scores(s[positive], s[~positive]) for s in (first, second))
    parts = (groups[positive], groups[~positive]) if clustered else ()
    assert one.variance(*parts)[0] == pytest.approx(covariance[0, 0], rel=1e-12)
    found_variance, degrees = (one - two).variance(*parts)
    assert found_variance == pytest.approx(variance, rel=1e-12)
    found = kr.compare_auc(first, second, None, y, groups=groups if clustered else None)
    aucs = [oracle.auc(s[positive], s[~positive]) for s in (first, second)]
    assert [found.first.auc, found.second.auc] == pytest.approx(aucs)
    assert found.difference == pytest.approx(aucs[0] - aucs[1])
    half = stats.t.ppf(0.975, degrees) * np.sqrt(variance)
    assert tuple(found.interval) == pytest.approx((found.difference - half, found.difference + half))
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(found.difference) / np.sqrt(variance), degrees))
    assert ("groups" if clustered else "items") in found.interval.method
    for side, scores in ((found.first, first), (found.second, second)):
        assert side == kr.estimate_auc(scores, None, y, groups=groups if clustered else None)
        assert side.method == "given scores"


def test_groups_have_no_more_degrees_of_freedom_than_themselves():
    X, y, _ = draw(40)
    groups = np.arange(40) // 4
    one = Components.of_scores(X[y == 1, 0], X[y == 0, 0])
    assert one.variance(groups[y == 1], groups[y == 0])[1] <= 9


SEARCH = kr.RankRLSCV([0.1, 1.0, 10.0])


def win_rates(side, marker, X, y, groups):
    """The components of a side on some items, from held-out pairs or from the marker."""
    positive = y == 1
    if side == "marker":
        return Components.of_scores(marker[positive], marker[~positive])
    held = kr.leave_pair_out(side, X, y, groups=groups)
    wins = np.zeros((len(y), len(y)))
    wins[held.first, held.second] = 0.5 + 0.5 * np.sign(held.difference)
    wins = wins[np.ix_(positive, ~positive)]
    return Components(wins.mean(axis=1), wins.mean(axis=0))


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (kr.RankRLS(), kr.RankRLS(kernel="rbf", gamma=0.4)),
        (kr.RankRLSCV([1.0]), kr.RankRLSCV([1.0], kernel="rbf", gamma=0.4)),
        (kr.RankRLSCV([1.0]), "marker"),
        ("marker", kr.RLS()),
        (kr.RLS(), kr.RankRLSCV([1.0])),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_learnt_sides_compare_the_difference_on_halves(a, b, clustered):
    X, y, groups = draw(20, seed=1)
    # Groups of one class, so that few are enough.
    groups = Queries.from_labels(2 * groups + y, 20).codes if clustered else None
    marker = X[:, 0]
    sides = [marker if isinstance(side, str) else side for side in (a, b)]
    found = kr.compare_auc(*sides, X, y, groups=groups)
    assert [found.first, found.second] == [kr.estimate_auc(side, X, y, groups=groups) for side in sides]

    def difference(items):
        part = None if groups is None else groups[items]
        one, two = (win_rates(side, marker[items], X[items], y[items], part) for side in (a, b))
        codes = (None, None) if part is None else (part[y[items] == 1], part[y[items] == 0])
        return one - two, codes, [one.auc, two.auc]

    everyone, codes, aucs = difference(np.arange(20))
    parts = _draw_halves(Task(None, None, TwoClasses.read(y, 20), groups), MOST_SPLITS)
    differences = [difference(items) for items in parts]
    share = np.mean([len(items) for items in parts]) / 20
    halves = Halves([d for d, _, _ in differences], [c for _, c, _ in differences], share)
    V, degrees = everyone.variance(*codes)
    error = np.sqrt(V * (1 + halves.trained(aucs)))
    student = stats.t(degrees)
    ends = (found.difference + sign * student.ppf(0.975) * error for sign in (-1, 1))
    assert tuple(found.interval) == pytest.approx(tuple(ends))
    assert found.pvalue == pytest.approx(2 * student.sf(abs(found.difference) / error))


def test_an_estimator_without_shortcut_is_refitted_and_its_interval_says_so():
    X, y, _ = draw(12, seed=2)
    found = kr.compare_auc(LogisticRegression(), kr.RankRLS(), X, y)
    assert found.first.auc == pytest.approx(oracle.leave_pair_out(LogisticRegression(), X, y, y == 1))
    assert "not for others being trained on" in found.interval.method
    assert "scored and trained on" in found.second.interval.method
    few = np.r_[np.flatnonzero(y)[:4], np.flatnonzero(y == 0)[:4]]
    wider = kr.compare_auc(LogisticRegression(), X[few, 0], X[few], y[few], interval="jackknife")
    assert "scored and trained on" in wider.interval.method


def test_sides_may_see_different_columns():
    X, y, _ = draw(24)
    found = kr.compare_auc(kr.RankRLS(), kr.RankRLS(), (X, X[:, :1]), y)
    assert found.first.auc == kr.estimate_auc(kr.RankRLS(), X, y).auc
    assert found.second.auc == kr.estimate_auc(kr.RankRLS(), X[:, :1], y).auc


def test_a_comparison_turned_round_is_its_mirror():
    X, y, groups = draw(30)
    for a, b in ((X[:, 0], X[:, 1]), (kr.RankRLS(), X[:, 1])):
        one, other = kr.compare_auc(a, b, X, y, groups=groups), kr.compare_auc(b, a, X, y, groups=groups)
        assert one.difference == -other.difference
        assert tuple(one.interval) == pytest.approx((-other.interval.high, -other.interval.low))
        assert one.pvalue == pytest.approx(other.pvalue)


def test_labels_forms_and_the_positive_class():
    X, y, _ = draw(30)
    expected = kr.compare_auc(X[:, 0], X[:, 1], None, y)
    words = np.array(["well", "zombie"])[y]
    for labels in (words, pd.Series(words), words.tolist()):
        found = kr.compare_auc(X[:, 0].tolist(), pd.Series(X[:, 1]), None, labels)
        assert (found.difference, found.interval) == (expected.difference, expected.interval)
    # Given scores speak for the positive class, so that turning both round changes nothing.
    turned = kr.compare_auc(-X[:, 0], -X[:, 1], None, words, pos_label="well")
    assert turned.difference == pytest.approx(expected.difference)
    assert turned.first.classes == ("zombie", "well")
    assert kr.compare_auc(X[:, 0], X[:, 1], None, y, groups=np.arange(30)) == expected


def test_what_a_comparison_shows():
    X, y, _ = draw(30)
    found = kr.compare_auc(X[:, 0], X[:, 1], None, y)
    assert float(found) == found.difference
    assert f"difference {found.difference:+.3f}, 95% interval [{found.interval.low:+.3f}" in str(found)
    assert f"p {p_is(found.pvalue)}" in str(found)
    assert repr(found) == f"<AUCComparison {found}>"
    frame = found.to_frame()
    assert list(frame["what"]) == ["first", "second", "difference"]
    assert list(frame["value"]) == [found.first.auc, found.second.auc, found.difference]
    assert "p-value (null hypothesis: no difference)" in found._repr_html_()


def separated(P, N):
    """Scores that part the classes, some that do not, and scores that are all the same."""
    y = np.r_[np.ones(P), np.zeros(N)].astype(int)
    rng = np.random.default_rng(0)
    return y, {"parted": 1.0 * y, "reversed": -1.0 * y, "same": np.zeros(P + N), "noise": rng.standard_normal(P + N)}


@pytest.mark.parametrize("sizes", [(1, 1), (1, 8), (8, 1), (2, 2), (6, 8)])
@pytest.mark.parametrize("first", ["parted", "reversed", "same", "noise"])
@pytest.mark.parametrize("second", ["parted", "reversed", "same", "noise"])
@pytest.mark.parametrize("clustered", [False, True])
def test_edges_of_given_scores(sizes, first, second, clustered):
    y, scores = separated(*sizes)
    groups = np.arange(len(y)) // 2 if clustered else None
    found = kr.compare_auc(scores[first], scores[second], None, y, groups=groups)
    low, high = found.interval
    assert -1 <= low <= found.difference <= high <= 1
    assert high - low > 0.02
    assert 0 <= found.pvalue <= 1
    for side in (found.first, found.second):
        assert 0 <= side.interval.low <= side.auc <= side.interval.high <= 1
        assert side.interval.width > 0.02
    if found.difference == 0:
        assert found.pvalue == 1


def test_the_p_value_and_the_interval_of_added_squares_agree():
    y, scores = separated(6, 8)
    found = kr.compare_auc(scores["parted"], scores["same"], None, y)
    assert "as if they were independent" in found.interval.method
    assert 0 < found.pvalue < 0.05
    touching = kr.compare_auc(scores["parted"], scores["same"], None, y, confidence=1 - found.pvalue)
    assert touching.interval.low == pytest.approx(0, abs=1e-8)
    one, two = found.first, found.second
    expected = found.difference - np.hypot(one.auc - one.interval.low, two.interval.high - two.auc)
    assert found.interval.low == pytest.approx(expected)


@pytest.mark.parametrize("P", [2, 3, 5])
@pytest.mark.parametrize("estimator", [kr.RankRLS(), kr.RankRLSCV([0.1, 1.0]), LogisticRegression()], ids=str)
@pytest.mark.filterwarnings("ignore::kernelrank.errors.EdgeOfGridWarning")
def test_edges_of_learnt_sides(estimator, P):
    y = np.r_[np.ones(P), np.zeros(5)].astype(int)
    X = np.c_[10.0 * y + np.arange(len(y)) / 10, np.arange(len(y)) % 3]
    estimate = kr.estimate_auc(estimator, X, y)
    assert estimate.auc == 1
    assert 0 <= estimate.interval.low < 0.95
    assert estimate.interval.high == 1
    for other in (estimator, X[:, 0], X[:, 1]):
        found = kr.compare_auc(estimator, other, X, y)
        low, high = found.interval
        assert -1 <= low <= found.difference <= high <= 1
        assert high - low > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: kr.compare_auc(kr.RankRLS(), X[:, 0], None, y), "RankRLS needs X to train on"),
        (lambda X, y: kr.compare_auc(X[:, 0], X[:5, 0], None, y), "the first has 30, the second 5"),
        (lambda X, y: kr.compare_auc(X[:5, 0], X[:5, 0], X, y), "have 5 entries, but X has 30 items"),
        (lambda X, y: kr.compare_auc(X, X[:, 0], None, y), "one number for each item"),
        (lambda X, y: kr.compare_auc(X[:, 0] * np.nan, X[:, 0], None, y), "finite, and item 0 is not"),
        (lambda X, y: kr.compare_auc(["a"] * 30, X[:, 0], None, y), "an estimator with a fit method, or one score"),
        (lambda X, y: kr.compare_auc(X[:, 0], X[:, 0], None, y * 0), "one class"),
        (lambda X, y: kr.compare_auc(X[:, 0], X[:, 0], None, y, interval="wald"), "interval must be one of"),
        (lambda X, y: kr.compare_auc(X[:, 0], X[:, 0], None, y, interval="jackknife"), "needs estimators"),
        (lambda X, y: kr.compare_auc(X[:, 0], X[:, 0], None, y, confidence=95), "confidence must lie"),
        (lambda X, y: kr.compare_auc(kr.RankRLS(), X[:3, 0], X[:3], [0, 0, 1]), "at least 2 items of each class"),
        (lambda X, y: kr.estimate_auc(X[:, 0], None, y, method="averaged"), "need an estimator; got scores"),
        (lambda X, y: kr.estimate_auc(None, None, y), "one number for each item|an estimator"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(*draw()[:2])


def test_p_values_of_equally_good_markers_are_uniform():
    """A small form of the benchmark."""
    rng = np.random.default_rng(0)
    y, pvalues = np.repeat([0, 1], 25), []
    for _ in range(300):
        common = rng.standard_normal(50)
        one, two = (y + common + rng.standard_normal(50) for _ in range(2))
        pvalues.append(kr.compare_auc(one, two, None, y).pvalue)
    assert stats.kstest(pvalues, "uniform").pvalue > 0.01


def test_parted_groups_are_as_sure_as_their_number():
    """Copies of a patient add no certainty where the AUC is 1, and no variance is known."""
    y = np.repeat([0, 1], [5, 4])
    once = kr.estimate_auc(1.0 * y, None, y)
    copies = np.repeat(np.arange(9), 6)
    again = kr.estimate_auc(1.0 * y[copies], None, y[copies], groups=copies)
    assert tuple(again.interval) == pytest.approx(tuple(once.interval))
    assert again.n_positive == 24
    assert kr.estimate_auc(1.0 * y[copies], None, y[copies]).interval.width < 0.5 * once.interval.width
    scores = 1.0 * y + 0.01 * np.arange(9)
    one = kr.compare_auc(scores, np.arange(9) % 2, None, y)
    other = kr.compare_auc(scores[copies], copies % 2, None, y[copies], groups=copies)
    assert tuple(other.interval) == pytest.approx(tuple(one.interval))
    X = np.c_[10.0 * y + np.arange(9) / 10, np.arange(9) % 3]
    learnt = kr.tournament_roc(kr.RankRLS(), X[copies], y[copies], groups=copies)
    assert learnt.auc == 1
    assert tuple(learnt.interval) == pytest.approx(tuple(kr.tournament_roc(kr.RankRLS(), X, y).interval))
