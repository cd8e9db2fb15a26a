import math
import shutil
from functools import partial

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from kernelrank import metrics
from kernelrank.errors import InvalidInputError, NothingToCompareError
from tests.oracles import measures as oracle

TIES = ["average", "pessimistic", "optimistic", "order"]
CUTOFFS = st.sampled_from([None, 1, 2, 3, 10])


@st.composite
def measures(draw, ties):
    """A measure of lists and its oracle for one ranked list."""
    k, threshold = draw(CUTOFFS), draw(st.sampled_from([None, 1, 2]))
    gain = draw(st.sampled_from(["exponential", "linear"]))
    binary = {"relevant_from": threshold}
    return draw(
        st.sampled_from(
            [
                (metrics.NDCG(k, gain, ties=ties), partial(oracle.ndcg, k=k, gain=gain)),
                (metrics.NDCG(k, gain, "letor", ties=ties), partial(oracle.ndcg, k=k, gain=gain, discount="letor")),
                (metrics.Precision(k or 5, ties=ties, **binary), partial(oracle.precision, k=k or 5, **binary)),
                (
                    metrics.MeanAveragePrecision(k, ties=ties, **binary),
                    partial(oracle.average_precision, k=k, **binary),
                ),
                (metrics.ReciprocalRank(k, ties=ties, **binary), partial(oracle.reciprocal_rank, k=k, **binary)),
                (
                    metrics.ExpectedReciprocalRank(k, 3, ties=ties),
                    partial(oracle.expected_reciprocal_rank, k=k, max_grade=3),
                ),
            ]
        )
    )


# At most six items a query: the oracle visits every order of the ties.
query = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 1)), min_size=1, max_size=6)


@pytest.mark.parametrize("ties", TIES)
@settings(max_examples=120, deadline=None)
@given(data=st.data(), lists=st.lists(query, min_size=1, max_size=4), shuffle=st.randoms(use_true_random=False))
def test_every_tie_rule_equals_the_orders_of_the_ties(ties, data, lists, shuffle):
    measure, one_list = data.draw(measures(ties))
    rows = [(q, y, score) for q, rows in enumerate(lists) for y, score in rows]
    shuffle.shuffle(rows)
    qid, y, score = map(list, zip(*rows, strict=True))
    expected = {}
    for q in dict.fromkeys(qid):
        chosen = [i for i, other in enumerate(qid) if other == q]
        expected[q] = oracle.by_tie_rule(one_list, [y[i] for i in chosen], [score[i] for i in chosen], ties)
    measured = {q: value for q, value in expected.items() if not math.isnan(value)}
    if not measured:
        with pytest.raises(NothingToCompareError, match="has a relevant item"):
            measure(y, score, qid=qid)
        return
    result = measure(y, score, qid=qid)
    assert list(result.queries) == list(measured)
    np.testing.assert_allclose(result.values, list(measured.values()), rtol=1e-12, atol=1e-14)


def test_long_runs_of_ties_lie_between_the_worst_and_the_best():
    rng = np.random.default_rng(0)
    y, score, qid = rng.integers(0, 3, 900), rng.integers(0, 2, 900), np.repeat([1, 2, 3], 300)
    for name in ("ndcg", "ndcg@10", "map", "p@10", "mrr", "err", "err@10"):
        worst, mean, best = (
            metrics.get_measure(name, ties=ties)(y, score, qid=qid).values
            for ties in ("pessimistic", "average", "optimistic")
        )
        assert (worst < mean).all(), name
        assert (mean < best).all(), name


def test_average_over_long_runs_equals_random_orders():
    rng = np.random.default_rng(1)
    y = (rng.uniform(size=200) < 0.1) * rng.integers(1, 5, 200)
    for name in ("map", "mrr", "err", "ndcg@10"):
        exact = metrics.get_measure(name)(y, np.zeros(200)).mean
        drawn = np.array([metrics.get_measure(name)(y, rng.permutation(200)).mean for _ in range(800)])
        assert abs(exact - drawn.mean()) < 4 * drawn.std() / math.sqrt(len(drawn)), name


def test_err_of_a_long_tied_list_ends_early_without_a_trace():
    # The recurrence stops where the rest is below rounding; with a cutoff beyond that point nothing changes.
    y = np.tile([0, 1, 4], 500)
    full = metrics.expected_reciprocal_rank(y, np.zeros(1500))
    assert full == metrics.expected_reciprocal_rank(y, np.zeros(1500), k=1500)
    assert full == pytest.approx(metrics.expected_reciprocal_rank(y, np.zeros(1500), k=120), rel=1e-14)


@pytest.mark.parametrize("k", [None, 1, 5, 100])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_ndcg_equals_scikit_learn_also_with_ties(k, gain):
    rng = np.random.default_rng(2)
    y, score = rng.integers(0, 5, 40), rng.integers(0, 12, 40)
    gains = y if gain == "linear" else 2**y - 1
    assert metrics.ndcg(y, score, k=k, gain=gain) == pytest.approx(ndcg_score([gains], [score], k=k), rel=1e-12)


def test_average_precision_equals_scikit_learn_without_ties():
    rng = np.random.default_rng(3)
    y, score = rng.integers(0, 2, 60), rng.permutation(60)
    expected = average_precision_score(y, score)
    assert metrics.mean_average_precision(y, score) == pytest.approx(expected, rel=1e-12)


def trec_values(measure, y, score, qid, document):
    qrels = [ir_measures.Qrel(str(q), d, int(g)) for q, d, g in zip(qid, document, y, strict=True)]
    run = [ir_measures.ScoredDoc(str(q), d, float(s)) for q, d, s in zip(qid, document, score, strict=True)]
    return {row.query_id: row.value for row in ir_measures.iter_calc([measure], qrels, run)}


@pytest.mark.parametrize(
    ("name", "options", "theirs"),
    [
        ("ndcg", {"gain": "linear"}, ir_measures.nDCG),
        ("ndcg@5", {"gain": "linear"}, ir_measures.nDCG @ 5),
        ("map", {}, ir_measures.AP),
        ("map@5", {}, ir_measures.AP @ 5),
        ("map", {"relevant_from": 2}, ir_measures.AP(rel=2)),
        ("p@5", {}, ir_measures.P @ 5),
        ("p@50", {}, ir_measures.P @ 50),
        ("mrr", {}, ir_measures.RR),
        ("mrr", {"relevant_from": 2}, ir_measures.RR(rel=2)),
    ],
)
def test_input_order_equals_trec_eval_on_falling_names(name, options, theirs):
    rng = np.random.default_rng(4)
    m = 200
    qid, y, score = rng.integers(0, 12, m), rng.integers(0, 4, m), rng.integers(0, 6, m)
    y[qid == 3] = 0
    document = np.array([f"d{i:03d}" for i in rng.permutation(m)])
    falling = np.argsort(document)[::-1]
    measure = metrics.get_measure(name, ties="order", empty="zero", **options)
    result = measure(y[falling], score[falling], qid=qid[falling])
    expected = trec_values(theirs, y, score, qid, document)
    # trec_eval computes in double precision but keeps its scores in single: these are whole.
    for query_label, value in zip(result.queries, result.values, strict=True):
        assert value == pytest.approx(expected[str(query_label)], rel=1e-6)
    assert len(expected) == len(result)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize(
    ("measure", "theirs"),
    [
        (metrics.ExpectedReciprocalRank(20, 4, empty="zero"), ir_measures.ERR @ 20),
        (metrics.NDCG(5, empty="zero"), ir_measures.nDCG(dcg="exp-log2") @ 5),
    ],
    ids=str,
)
def test_graded_measures_equal_gdeval_without_ties(measure, theirs):
    rng = np.random.default_rng(6)
    m = 150
    qid, y, score = rng.integers(0, 6, m), rng.integers(0, 5, m), rng.permutation(m)
    expected = trec_values(theirs, y, score, qid, [f"d{i}" for i in range(m)])
    result = measure(y, score, qid=qid)
    for query_label, value in zip(result.queries, result.values, strict=True):
        assert value == pytest.approx(expected[str(query_label)], abs=6e-6)  # gdeval prints five digits


def test_empty_queries_are_left_out_or_count_zero_or_one():
    y, score, qid = [1, 0, 0, 0], [1, 2, 1, 2], ["a", "a", "b", "b"]
    for name in ("ndcg", "map", "p@1", "mrr", "err"):
        skip, zero, one = (metrics.get_measure(name, empty=rule)(y, score, qid=qid) for rule in ("skip", "zero", "one"))
        assert (list(skip.queries), list(skip.left_out)) == (["a"], ["b"])
        assert list(zero.values) == [skip.values[0], 0.0]
        assert list(one.values) == [skip.values[0], 1.0]
        assert one.n_left_out == 0
        with pytest.raises(NothingToCompareError, match=r"none of the queries \(1\) has a relevant item"):
            metrics.get_measure(name)([0, 0], [1, 2])
        assert metrics.get_measure(name, empty="one")([0, 0], [1, 2]).mean == 1.0


def test_a_list_of_one_relevant_item_is_perfect():
    for name in ("ndcg", "map", "p@1", "mrr"):
        assert metrics.get_measure(name)([2], [-1.0]).mean == 1.0


def test_a_perfect_order_is_exactly_one():
    rng = np.random.default_rng(5)
    y, qid = rng.uniform(0, 4, 5000), rng.integers(0, 100, 5000)
    assert (metrics.NDCG()(y, y, qid=qid).values <= 1).all()
    assert metrics.ndcg(y, y, qid=qid) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("largest", [1.7e308, 1e-320])
def test_linear_gains_of_any_size_have_the_same_ndcg(ties, largest):
    y, score, qid = np.array([3.0, 0, 1, 2, 0, 1]), [1, 2, 2, 3, 1, 2], [1, 1, 1, 1, 2, 2]
    measure = metrics.NDCG(gain="linear", ties=ties)
    scale = np.ldexp(1.0, int(np.floor(np.log2(largest))) - 2)
    np.testing.assert_allclose(measure(y * scale, score, qid=qid).values, measure(y, score, qid=qid).values, rtol=1e-12)
    assert metrics.ndcg([1e308, 1e308, 0], [2, 1, 3], gain="linear", ties=ties) < 1


def test_letor_does_not_discount_place_two():
    letor, usual = metrics.NDCG(discount="letor"), metrics.NDCG()
    assert letor([1, 0], [1, 2]).mean == 1.0
    assert usual([1, 0], [1, 2]).mean == pytest.approx(1 / np.log2(3))
    assert letor([0, 0, 1], [3, 2, 1]).mean == pytest.approx(1 / np.log2(3))
    assert "place 2 not discounted, as in LETOR" in letor.label
    assert "LETOR" not in usual.label


def test_grades_outside_the_scale_are_refused():
    with pytest.raises(InvalidInputError, match=r"nDCG@3 needs grades of at least 0, but y_true is -1 for item 1"):
        metrics.ndcg([1, -1], [1, 2], k=3)
    with pytest.raises(InvalidInputError, match="ERR needs grades of at most 2, but y_true is 3 for item 0"):
        metrics.expected_reciprocal_rank([3, 1], [1, 2], max_grade=2)
    with pytest.raises(InvalidInputError, match="needs grades of at most 900"):
        metrics.ndcg([1000, 1], [1, 2])
    assert metrics.ndcg([1000, 1], [2, 1], gain="linear") == 1.0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (metrics.NDCG, {"k": 0}, "cutoff k must be a whole number of at least 1, got 0"),
        (metrics.NDCG, {"k": True}, "cutoff k"),
        (metrics.Precision, {"k": None}, "cutoff k"),
        (metrics.MeanAveragePrecision, {"k": 2.5}, "cutoff k"),
        (metrics.NDCG, {"gain": "cubic"}, "gain must be one of 'exponential', 'linear', got 'cubic'"),
        (metrics.ReciprocalRank, {"ties": "first"}, "ties must be one of 'average', 'pessimistic'"),
        (metrics.ExpectedReciprocalRank, {"empty": 0}, "empty must be one of 'skip', 'zero', 'one', got 0"),
        (metrics.ExpectedReciprocalRank, {"max_grade": 0}, "max_grade must lie above 0"),
        (metrics.Precision, {"relevant_from": math.nan}, "relevant_from must be a finite number"),
    ],
)
def test_unusable_options_are_refused_when_the_measure_is_made(kind, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kind(**options)
