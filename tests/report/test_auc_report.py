"""The report of an estimated AUC."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kernelrank import RankRLS, estimate_auc, permutation_test, tournament_roc
from kernelrank.errors import InvalidInputError, PooledAUCWarning
from kernelrank.report import auc_report
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
    assert f"{estimate.auc:.4f} {low:.3f} to {high:.3f} {estimate.n_pairs}" in found["estimate"]
    assert f"{curve.auc:.4f}" in found["estimate"]
    assert estimate.interval.method in found["estimate"]
    assert f"p = {test.pvalue:.3g}" in found["permutation"]
    assert "From a file." in found["done"]
    ill = next(n for n in np.argsort(curve.scores, kind="stable") if y[n] == "ill")
    assert f"patient {ill} ill {100 * curve.scores[ill] / 23:.1f}%" in found["roc"]
    well = next(n for n in np.argsort(-curve.scores, kind="stable") if y[n] == "well")
    assert f"patient {well} well {100 * curve.scores[well] / 23:.1f}%" in found["roc"]


def test_the_estimate_alone():
    found = texts(auc_report(estimate_auc(RankRLS(), X, y)))
    assert list(found) == ["done", "estimate", "warnings", "repeat"]
    assert found["warnings"] == "Warnings None."


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
    assert "One class has 6 items only" in found
    assert "The interval holds 0.5" in found
    assert "With 20 permutations no p-value can be below 0.048" in found


def test_refused():
    with pytest.raises(InvalidInputError, match="ids has 2 entries, but the curve has 24"):
        auc_report(estimate_auc(RankRLS(), X, y), tournament_roc(RankRLS(), X, y), ids=[1, 2])
