"""Several models on one page: what stands in its tables is what the tests find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import get_measure, paired_test
from kernelrank.report import comparison_report
from kernelrank.report.comparison import ComparedModels, holm
from kernelrank.report.ranking import random_order
from tests.report.html_page import HTMLPage

_, y, qid = make_ranking(n_queries=30, n_items=(4, 8), n_levels=3, random_state=0)
NOISE = np.random.default_rng(0).standard_normal((3, len(y)))
SCORES = {"bad": NOISE[0], "good": y + 0.3 * NOISE[1], "fair": y + 2.0 * NOISE[2]}


def naive_holm(pvalues):
    """Reject one hypothesis after the other while the smallest p-value left is small enough."""
    left, corrected, largest = list(enumerate(pvalues)), {}, 0.0
    while left:
        number, smallest = min(left, key=lambda one: one[1])
        largest = max(largest, smallest * len(left))
        corrected[number] = min(1.0, largest)
        left.remove((number, smallest))
    return [corrected[number] for number in range(len(pvalues))]


@pytest.mark.parametrize("seed", range(5))
def test_holm_steps_down(seed):
    pvalues = np.random.default_rng(seed).random(7) ** 3
    np.testing.assert_allclose(holm(pvalues), naive_holm(pvalues), rtol=1e-12)
    # Never smaller than what controls the false discovery rate only, nor larger than Bonferroni's.
    assert np.all(np.array(holm(pvalues)) >= false_discovery_control(pvalues) - 1e-12)
    assert np.all(np.array(holm(pvalues)) <= np.minimum(1.0, 7 * pvalues) + 1e-12)


def test_models_are_ordered_and_every_two_are_tested():
    measure = get_measure("ndcg@5")
    results = {name: measure(y, values, qid=qid) for name, values in SCORES.items()}
    (found,) = ComparedModels.all_of([(measure.name, True, results, None)], n_resamples=500)
    assert [name for name, _ in found.results] == ["good", "fair", "bad"]
    assert [(pair.first, pair.second) for pair in found.pairs] == [("good", "fair"), ("good", "bad"), ("fair", "bad")]
    for pair in found.pairs:
        test = paired_test(results[pair.first], results[pair.second], n_resamples=500, random_state=0)
        assert pair.test == test
        assert pair.n_equal == test.n_queries - test.n_first_better - test.n_second_better
    assert [pair.corrected for pair in found.pairs] == holm([pair.test.pvalue for pair in found.pairs])


def test_p_values_are_corrected_for_the_tests_of_all_measures():
    measures = [get_measure(name) for name in ("ndcg@5", "pairwise_accuracy")]
    measured = [
        (one.name, True, {name: one(y, values, qid=qid) for name, values in SCORES.items()}, None) for one in measures
    ]
    both = ComparedModels.all_of(measured, n_resamples=500)
    every = [pair for one in both for pair in one.pairs]
    assert [pair.corrected for pair in every] == holm([pair.test.pvalue for pair in every])


def test_an_error_measure_has_the_lowest_first():
    page = comparison_report(SCORES, y, qid=qid, measures=["disagreement"])
    names = [cell.text for cell in HTMLPage(page.html).all("th") if cell.text in SCORES]
    assert names[:3] == ["good", "fair", "bad"]


def test_the_page_tells_values_differences_and_the_random_order():
    page = comparison_report(SCORES, y, qid=qid, measures=["ndcg@5"], title="Three")
    text = page.html
    measure = get_measure("ndcg@5")
    for values in SCORES.values():
        assert f"{measure(y, values, qid=qid).mean:.3f}" in text
    assert f"{random_order(measure, y, qid):.3f}" in text
    assert "good − fair" in text
    assert "corrected for 3 tests" in text


def test_the_random_order_is_the_mean_over_orders():
    generator = np.random.default_rng(0)
    for name in ("ndcg@3", "map", "pairwise_accuracy"):
        measure = get_measure(name)
        drawn = [measure(y, generator.random(len(y)), qid=qid).mean for _ in range(400)]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert abs(random_order(measure, y, qid) - np.mean(drawn)) < 4 * error


def test_one_model_is_no_comparison():
    with pytest.raises(InvalidInputError, match="Expected 2 to 12 models to compare; got 1"):
        comparison_report({"alone": NOISE[0]}, y, qid=qid)


def test_measures_that_do_not_fit_are_told():
    page = comparison_report(SCORES, y - 5.0, qid=qid, measures=["pairwise_accuracy", "ndcg@5"])
    assert "left out: " in page.html
    with pytest.raises(InvalidInputError, match="No measure fits these scores"):
        comparison_report(SCORES, y - 5.0, qid=qid, measures=["ndcg@5"])
