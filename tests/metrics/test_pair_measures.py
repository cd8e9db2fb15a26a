import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from kernelrank import metrics
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.metrics.pairs import differing_pairs, sort_segments
from tests.oracles import measures as oracle

levels = st.integers(-3, 3).map(float)
# Few levels make ties; the weights are whole so that the sums are exact.
judged = st.lists(st.tuples(levels, levels, st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=60)


def expected_values(function, qid, *columns):
    """The oracle in a loop over the queries, in the order of their first items."""
    values = {}
    for query in dict.fromkeys(qid):
        chosen = [i for i, q in enumerate(qid) if q == query]
        values[query] = function(*([column[i] for i in chosen] for column in columns))
    return values


def assert_values(result, expected):
    measured = {query: value for query, value in expected.items() if not math.isnan(value)}
    assert list(result.queries) == list(measured)
    np.testing.assert_allclose(result.values, list(measured.values()), rtol=1e-12, atol=1e-14)
    assert result.n_left_out == len(expected) - len(measured)
    assert list(result.left_out) == [query for query in expected if query not in measured]


@settings(max_examples=200, deadline=None)
@given(judged)
def test_pair_measures_equal_their_pair_loops(rows):
    y, score, weight, qid = map(list, zip(*rows, strict=True))
    cases = [
        (metrics.PairwiseAccuracy(), None, expected_values(oracle.pairwise_accuracy, qid, y, score)),
        (
            metrics.PairwiseAccuracy(),
            weight,
            expected_values(oracle.pairwise_accuracy, qid, y, score, weight),
        ),
        (metrics.KendallTau(), None, expected_values(oracle.kendall_tau, qid, y, score)),
    ]
    for measure, weights, expected in cases:
        if all(map(math.isnan, expected.values())):
            with pytest.raises(NothingToCompareError):
                measure(y, score, qid=qid, sample_weight=weights)
        else:
            assert_values(measure(y, score, qid=qid, sample_weight=weights), expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(levels, st.integers(1, 3), levels), min_size=2, max_size=25))
def test_a_whole_weight_repeats_the_item(rows):
    y, weight, score = map(np.array, zip(*rows, strict=True))
    if len(np.unique(y)) < 2:
        return
    repeated = metrics.pairwise_accuracy(np.repeat(y, weight), np.repeat(score, weight))
    assert metrics.pairwise_accuracy(y, score, sample_weight=weight) == pytest.approx(repeated, abs=1e-14)


def test_long_queries_are_merged():
    rng = np.random.default_rng(3)
    # Lengths around the run length of 16 and its doubles, where a wrong bound of a merge would show.
    for n in (15, 16, 17, 31, 32, 33, 64, 65, 200):
        y, score = rng.integers(0, n, n), rng.integers(0, n, n)
        assert metrics.pairwise_accuracy(y, score) == pytest.approx(oracle.pairwise_accuracy(y, score), abs=1e-14)
        assert metrics.kendall_tau(y, score) == pytest.approx(kendalltau(y, score).statistic, abs=1e-14)


def test_kendall_tau_equals_scipy_per_query():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(40), 25))
    y, score = rng.integers(0, 6, 1000), rng.normal(size=1000).round(1)
    result = metrics.kendall_tau(y, score, qid=qid, per_query=True)
    expected = [kendalltau(y[qid == q], score[qid == q]).statistic for q in result.queries]
    np.testing.assert_allclose(result.values, expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [(0, 1), (-1, 1)])
def test_auc_equals_scikit_learn(weighted, classes):
    rng = np.random.default_rng(1)
    y, score = rng.choice(classes, 500), rng.normal(size=500).round(1)
    weight = rng.uniform(0, 3, 500) if weighted else None
    expected = roc_auc_score(y, score, sample_weight=weight)
    assert metrics.auc(y, score, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


def test_auc_is_pairwise_accuracy_and_disagreement_is_the_rest():
    rng = np.random.default_rng(2)
    y, score, qid = rng.integers(0, 2, 300), rng.integers(0, 9, 300), rng.integers(0, 20, 300)
    accuracy = metrics.PairwiseAccuracy()(y, score, qid=qid)
    np.testing.assert_array_equal(metrics.AUC()(y, score, qid=qid).values, accuracy.values)
    np.testing.assert_allclose(metrics.Disagreement()(y, score, qid=qid).values, 1 - accuracy.values, atol=1e-15)


def test_auc_refuses_three_levels_in_one_query_only():
    assert metrics.auc([0, 1, 1, 2], [0, 1, 0, 1], qid=[1, 1, 2, 2]) == 1.0
    with pytest.raises(InvalidInputError, match="two levels of y, but there are 3 in query 'b'; pairwise"):
        metrics.auc([0, 1, 0, 1, 2], [0, 1, 0, 1, 2], qid=["a", "a", "b", "b", "b"])


def test_tied_predictions_of_a_whole_query():
    y, score, qid = [1, 2, 3, 1, 2], [5, 5, 5, 1, 2], [1, 1, 1, 2, 2]
    assert list(metrics.PairwiseAccuracy()(y, score, qid=qid).values) == [0.5, 1.0]
    assert list(metrics.KendallTau()(y, score, qid=qid).values) == [0.0, 1.0]


def test_extremes_are_exact_with_uneven_weights():
    rng = np.random.default_rng(4)
    y, weight = rng.normal(size=300), 10.0 ** rng.uniform(-9, 3, 300)
    assert metrics.pairwise_accuracy(y, y, sample_weight=weight) == 1.0
    assert 0 <= metrics.pairwise_accuracy(y, -y, sample_weight=weight) < 1e-14


def test_an_item_of_weight_zero_is_not_there():
    y, score, weight = [1, 2, 3, 9], [1, 3, 2, 0], [1, 1, 1, 0]
    assert metrics.pairwise_accuracy(y, score, sample_weight=weight) == pytest.approx(2 / 3)
    with pytest.raises(NothingToCompareError, match="differ only where a weight is 0"):
        metrics.pairwise_accuracy([1, 2], [1, 2], sample_weight=[1, 0])


def test_reasons_for_nothing_to_compare():
    cases = [
        (([1], [2], None), "there is one item only"),
        (([1, 1], [1, 2], None), "all true scores are tied"),
        (([1, 1, 2], [1, 2, 3], [1, 1, 2]), "queries of one item: 1, queries whose true scores are all tied: 1"),
    ]
    for arguments, reason in cases:
        for measure in (metrics.PairwiseAccuracy(), metrics.KendallTau()):
            with pytest.raises(NothingToCompareError, match=f"{measure.name} cannot be measured: {reason}"):
                measure(*arguments[:2], qid=arguments[2])
    with pytest.raises(NothingToCompareError, match="needs two classes"):
        metrics.auc([1, 1], [1, 2])


def test_counts_of_a_large_query_do_not_overflow():
    # 3·10⁵ items: P·S is beyond 2⁶³, and the counts are known in closed form.
    m = 300_000
    y = np.arange(m, dtype=float)
    score = np.roll(y, m // 3)  # the last third of the items comes first: (m/3)(2m/3) discordant pairs
    disagreement = (m / 3) * (2 * m / 3) / (m * (m - 1) / 2)
    assert metrics.disagreement(y, score) == pytest.approx(disagreement, rel=1e-15)
    assert metrics.kendall_tau(y, score) == pytest.approx(1 - 2 * disagreement, rel=1e-13)


def test_sort_segments_sorts_and_keeps_the_weights_along():
    rng = np.random.default_rng(5)
    bounds = np.array([0, 1, 40, 41, 300])
    values, weight = rng.normal(size=300), rng.uniform(size=300)
    before = dict(zip(values, weight, strict=True))
    sort_segments(values, weight, bounds)
    for start, stop in pairwise(bounds):
        assert (np.diff(values[start:stop]) >= 0).all()
    assert all(before[v] == w for v, w in zip(values, weight, strict=True))


def test_differing_pairs_end_at_their_segment():
    counted = differing_pairs(np.array([1.0, 2.0, 2.0, 2.0, 3.0]), np.ones(5), np.array([0, 2, 4, 5]))
    assert counted.tolist() == [1, 0, 0]


def wrong_by_definition(y, f, weight, ties):
    """Sum the definitions of the papers over ordered pairs: [Air11] 3.2, [PTAJB09], [PSBS07] (1), [TPBSH11] (1)."""

    def sign(r):
        return np.sign(r) if ties == "all_pairs" else (1 if r > 0 else -1)

    wrong = total = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            w = weight[i] * weight[j]
            if i != j and ties in ("all_pairs", "one-sided sign"):
                wrong += w * abs(sign(y[i] - y[j]) - sign(f[i] - f[j])) / 2
                total += w
            elif y[i] > y[j]:
                wrong += w * (f[i] < f[j] or (f[i] == f[j] and ties == "error") or 0.5 * (f[i] == f[j]))
                total += w
    return wrong / total if total > 0 else np.nan


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", ["half", "error", "all_pairs"])
def test_disagreement_with_the_ties_of_each_paper(ties, weighted):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        m = rng.integers(3, 40)
        qid = rng.integers(0, 4, m)
        y, f = rng.integers(0, rng.integers(1, 6), m), rng.integers(0, rng.integers(1, 6), m)
        weight = rng.uniform(0.1, 3, m) if weighted else np.ones(m)
        y[0], y[1], qid[0], qid[1] = 0, 1, 0, 0
        definitions = [ties, "one-sided sign"] if ties == "all_pairs" else [ties]
        found = metrics.Disagreement(ties)(y, f, qid=qid, sample_weight=weight if weighted else None)
        for definition in definitions:
            every = {q: wrong_by_definition(y[qid == q], f[qid == q], weight[qid == q], definition) for q in set(qid)}
            np.testing.assert_allclose(found.values, [every[q] for q in found.queries], atol=1e-12)
            assert found.n_left_out == sum(np.isnan(value) for value in every.values())
        option = metrics.disagreement(y, f, qid=qid, ties=ties)
        assert option == metrics.Disagreement(ties)(y, f, qid=qid).mean


def test_disagreement_names_its_ties():
    assert metrics.get_measure("disagreement", ties="error") == metrics.Disagreement("error")
    assert "tied predictions are errors" in metrics.Disagreement("error").label
    with pytest.raises(InvalidInputError, match="ties must be one of 'half', 'error', 'all_pairs'"):
        metrics.Disagreement("none")
    assert metrics.disagreement([1, 1], [2, 3], ties="all_pairs") == 0.5
    with pytest.raises(NothingToCompareError, match="one item only"):
        metrics.disagreement([1], [2], ties="all_pairs")
