"""The report of an estimated AUC."""

from __future__ import annotations

import warnings
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError, PooledAUCWarning
from kernelrank.estimators import RankRLS
from kernelrank.metrics import AUC, Interval, sensitivity_at
from kernelrank.model_selection import AUCEstimate, RankRLSCV, estimate_auc, permutation_test, tournament_roc
from kernelrank.report import AlphaCurveDisplay, auc_report
from kernelrank.report.comparison import Forest
from kernelrank.report.displays import pair_standard_errors
from tests.report.html_page import HTMLPage

rng = np.random.default_rng(0)
y = np.repeat(["well", "ill"], 12)
X = rng.standard_normal((24, 3)) + 1.2 * (y == "ill")[:, None]


def texts(report):
    return {found.attributes["aria-labelledby"]: found.text for found in HTMLPage(report.html).all("section")}


def test_numbers_are_those_of_the_estimate():
    estimate, curve = estimate_auc(RankRLS(), X, y, pos_label="ill"), tournament_roc(RankRLS(), X, y, pos_label="ill")
    test = permutation_test(RankRLS(), X, y, n_permutations=200, random_state=0)
    report = auc_report(estimate, curve, test, ids=[f"patient {n}" for n in range(24)], notes=["From a file."])
    found = texts(report)
    assert list(found) == ["done", "estimate", "roc", "permutation", "warnings", "repeat"]
    low, high = estimate.interval
    assert f"AUC, leave-pair-out {estimate.auc:.3f} {low:.3f} to {high:.3f}" in found["estimate"]
    assert f"{curve.auc:.3f}" in found["estimate"]
    for specificity in (0.9, 0.95):
        rate = sensitivity_at(y, curve.scores, specificity, pos_label="ill")
        ends = f"{rate.value:.3f} {rate.interval.low:.3f} to {rate.interval.high:.3f}"
        assert f"sensitivity at {100 * specificity:.0f}% specificity {ends}" in found["estimate"]
    assert f"each of the {estimate.n_pairs} pairs of one item of each class" in found["done"]
    assert estimate.interval.method in found["estimate"]
    assert f"p = {test.pvalue:.3f}" in found["permutation"]
    assert "From a file." in found["done"]
    ill = next(n for n in np.argsort(curve.scores, kind="stable") if y[n] == "ill")
    assert f"patient {ill} ill {100 * curve.scores[ill] / 23:.1f}%" in found["roc"]
    well = next(n for n in np.argsort(-curve.scores, kind="stable") if y[n] == "well")
    assert f"patient {well} well {100 * curve.scores[well] / 23:.1f}%" in found["roc"]


def test_the_estimate_alone():
    found = texts(auc_report(estimate_auc(RankRLS(), X, y)))
    assert list(found) == ["done", "estimate", "warnings", "repeat"]
    assert found["warnings"] == "Warnings None."


def test_simple_orders_stand_beside_the_estimate():
    estimate, curve = estimate_auc(RankRLS(), X, y, pos_label="ill"), tournament_roc(RankRLS(), X, y, pos_label="ill")
    names = [f"gene {n}" for n in range(X.shape[1])]
    found = texts(auc_report(estimate, curve, X=X, feature_names=names))["estimate"]
    ill = (y == "ill").astype(float)
    tried = {
        f"{sign}{name}": AUC()(ill, part).mean
        for n, name in enumerate(names)
        for sign, part in (("", X[:, n]), ("\N{MINUS SIGN}", -X[:, n]))
    }
    best = max(tried, key=lambda name: tried[name])
    assert f"AUC of the best feature, {best} {tried[best]:.3f}" in found
    assert "AUC of a random order 0.500" in found


def test_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PooledAUCWarning)
        pooled = estimate_auc(RankRLS(), X, y, method="pooled", cv=4)
    found = texts(auc_report(pooled))["warnings"]
    assert pooled.warnings[0][1:] in found
    few = np.arange(24) % 12 < 6
    noise = rng.standard_normal((24, 3))
    test = permutation_test(RankRLS(), noise[few], y[few], n_permutations=20, random_state=0)
    found = texts(auc_report(estimate_auc(RankRLS(), noise[few], y[few]), None, test))["warnings"]
    assert "One class has only 6 items" in found
    assert "The interval includes 0.5" in found
    assert "With 20 permutations no p-value can be below 0.048" in found


def test_refused():
    with pytest.raises(InvalidInputError, match="ids has 2 entries, but the curve has 24"):
        auc_report(estimate_auc(RankRLS(), X, y), tournament_roc(RankRLS(), X, y), ids=[1, 2])


def test_the_date_is_today_or_what_the_environment_says(monkeypatch):
    estimate = estimate_auc(RankRLS(), X, y)
    assert [found.text for found in HTMLPage(auc_report(estimate).html).all("time")] == [date.today().isoformat()]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert [found.text for found in HTMLPage(auc_report(estimate).html).all("time")] == ["1970-01-02"]


def standard_errors_by_hand(alphas, groups=None):
    """Leave-pair-out by refitting, and DeLong's variance of the win rates, or Obuchowski's by patient."""
    positive = y == "well"
    errors = []
    for alpha in alphas:
        wins = np.zeros((12, 12))
        for i, first in enumerate(np.flatnonzero(positive)):
            for j, second in enumerate(np.flatnonzero(~positive)):
                rest = np.delete(np.arange(24), [first, second])
                scores = RankRLS(alpha).fit(X[rest], positive[rest].astype(float)).predict(X[[first, second]])
                wins[i, j] = scores[0] > scores[1]
        parts = [wins.mean(axis=1), wins.mean(axis=0)]
        if groups is None:
            errors.append(np.sqrt(sum(part.var(ddof=1) / 12 for part in parts)))
            continue
        sums = [np.zeros(groups.max() + 1) for _ in parts]
        for total, part, items in zip(sums, parts, (positive, ~positive), strict=True):
            np.add.at(total, groups[items], (part - wins.mean()) / 12)
        n = [len(np.unique(groups[items])) for items in (positive, ~positive)]
        variance = sum(k / (k - 1) * total @ total for k, total in zip(n, sums, strict=True))
        together = len(np.unique(groups))
        errors.append(np.sqrt(variance + 2 * together / (together - 1) * sums[0] @ sums[1]))
    return errors


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(12), 2), np.tile(np.arange(12), 2)])
def test_standard_errors_over_alpha_equal_refits(groups):
    alphas = [0.5, 50.0]
    search = RankRLSCV(alphas).fit(X, (y == "well").astype(float))
    found = pair_standard_errors(search, X, y, alphas, groups)
    np.testing.assert_allclose(found, standard_errors_by_hand(alphas, groups), rtol=1e-9)


def test_no_standard_errors_where_pairs_were_not_held_out():
    assert pair_standard_errors(RankRLSCV([1.0, 2.0], cv=3).fit(X, np.arange(24.0)), X, y, [1.0, 2.0]) is None
    assert pair_standard_errors(RankRLS().fit(X, np.arange(24.0)), X, y, [1.0]) is None


def test_the_choice_of_alpha_has_bars():
    search = RankRLSCV([0.1, 1.0, 10.0])
    fitted = RankRLSCV([0.1, 1.0, 10.0]).fit(X, (y == "ill").astype(float))
    options = {"pos_label": "ill"}
    report = auc_report(
        estimate_auc(search, X, y, **options), tournament_roc(search, X, y, **options), model=fitted, X=X
    )
    found = texts(report)
    assert list(found) == ["done", "estimate", "roc", "alpha", "influence", "warnings", "repeat"]
    assert "one standard error to each side" in found["alpha"]
    assert "among 3 values" in found["alpha"]
    assert "alpha was chosen again in every training set" in found["done"]
    without = texts(auc_report(estimate_auc(search, X, y), model=fitted, X=X))["alpha"]
    assert "standard error" not in without


def test_bars_need_one_error_for_each_score():
    with pytest.raises(InvalidInputError, match="one standard error for each score"):
        AlphaCurveDisplay([1.0, 2.0], [0.5, 0.6], errors=[0.1])


def compared(low, high):
    parts = [AUCEstimate(a, Interval(a - 0.1, a + 0.05, 0.95, ""), "x", 9, 3, 3, (0, 1)) for a in (0.9, 0.4)]
    interval = Interval(low, high, 0.95, "allows for other items being scored")
    return SimpleNamespace(first=parts[0], second=parts[1], difference=0.5, interval=interval, pvalue=0.0123)


def test_compared_models_are_a_forest_plot_with_their_difference_below():
    name = "the <i>marker</i>"
    page = HTMLPage(auc_report(estimate_auc(RankRLS(), X, y), comparisons=[("genes", name, compared(0.2, 0.76))]).html)
    (table,) = [found for found in page.all("table") if found.attributes.get("class") == "forest"]
    assert "genes 0.900 0.800 to 0.950" in table.text
    assert f"{name} 0.400 0.300 to 0.450" in table.text
    assert f"genes − {name} 0.500 0.200 to 0.760" in table.text
    (section,) = [found for found in page.all("section") if found.attributes["aria-labelledby"] == "comparison-1"]
    assert "p-value of no difference is 0.012" in section.text
    assert "does not include 0" in section.text
    styles = [found.attributes["style"] for found in page.all("span") if found.attributes.get("class") == "interval"]
    # From 0.3 to 1 for AUCs, from -0.8 to 0.8 for the difference.
    places = [0.5 / 0.7, 0.6 / 0.7, 0.65 / 0.7, 0.2 / 0.7]
    assert styles[0] == "--low: {:.4f}; --value: {:.4f}; --high: {:.4f}; --reference: {:.4f}".format(*places)
    assert styles[2] == "--low: 0.6250; --value: 0.8125; --high: 0.9750; --reference: 0.5000"


def test_a_difference_that_may_be_none_is_no_proof_of_equality():
    found = texts(auc_report(estimate_auc(RankRLS(), X, y), comparisons=[("a", "b", compared(-0.1, 0.9))]))
    assert "do not show that the two differ, and do not show that they are equally good" in found["comparison-1"]


def test_the_axis_of_a_forest_plot_holds_all_of_it():
    forest = Forest.of([("a", 0.5, Interval(0.0, 1.0, 0.95, ""))], 0.5)
    assert (forest.start, forest.end, forest.rows[0].places) == (0.0, 1.0, (0.0, 0.5, 1.0))
    nothing = Forest.of_differences([("a", 0.0, Interval(0.0, 0.0, 0.95, ""))])
    assert (nothing.start, nothing.end) == (-0.1, 0.1)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    report = auc_report(estimate_auc(RankRLS(), X, y), title="<b>bold</b>")
    (frame,) = HTMLPage(report._repr_html_()).elements
    assert frame.attributes["srcdoc"] == report.html
    assert frame.attributes["sandbox"] == ""
