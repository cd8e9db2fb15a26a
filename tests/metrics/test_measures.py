"""What holds for every measure."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank import metrics
from kernelrank.errors import InvalidInputError, NothingToCompareError

NAMES = [name.replace("@k", "@3") for name in metrics.measure_names()]
MEASURES = [metrics.get_measure(name) for name in NAMES]
FUNCTIONS = {
    metrics.PairwiseAccuracy(): metrics.pairwise_accuracy,
    metrics.Disagreement(): metrics.disagreement,
    metrics.AUC(): metrics.auc,
    metrics.KendallTau(): metrics.kendall_tau,
    metrics.NDCG(): metrics.ndcg,
    metrics.MeanAveragePrecision(): metrics.mean_average_precision,
    metrics.ReciprocalRank(): metrics.reciprocal_rank,
    metrics.ExpectedReciprocalRank(): metrics.expected_reciprocal_rank,
    metrics.ThresholdPrecision(): metrics.threshold_precision,
    metrics.ThresholdRecall(): metrics.threshold_recall,
    metrics.ThresholdF(): metrics.threshold_f,
}
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=NAMES)


@pytest.fixture
def judged():
    """Two levels, so that AUC takes part; tied scores; queries of one item and of one level."""
    rng = np.random.default_rng(0)
    qid = np.concatenate([np.repeat(np.arange(8), 9), [8, 9, 9]])
    y = np.concatenate([rng.integers(0, 2, 72), [1, 0, 0]]).astype(float)
    return y, rng.integers(-4, 5, 75).astype(float), qid


@every_measure
def test_permuting_the_items_changes_nothing(measure, judged):
    y, score, qid = judged
    order = np.random.default_rng(1).permutation(len(y))
    before, after = measure(y, score, qid=qid), measure(y[order], score[order], qid=qid[order])
    again = dict(zip(after.queries, after.values, strict=True))
    assert [again[q] for q in before.queries] == pytest.approx(list(before.values), rel=1e-14)
    assert set(after.left_out) == set(before.left_out)


@every_measure
def test_shifting_and_stretching_the_scores_of_one_query_changes_nothing(measure, judged):
    y, score, qid = judged
    if not measure.by_order:
        pytest.skip("depends on the scores themselves")
    moved = np.where(qid == 3, 1000 + 2 * score, score)
    np.testing.assert_array_equal(measure(y, moved, qid=qid).values, measure(y, score, qid=qid).values)


@every_measure
def test_queries_are_measured_one_by_one(measure, judged):
    y, score, qid = judged
    result = measure(y, score, qid=qid)
    for query, value in zip(result.queries, result.values, strict=True):
        assert measure(y[qid == query], score[qid == query]).mean == pytest.approx(value, rel=1e-14)
    for query in result.left_out:
        with pytest.raises(NothingToCompareError):
            measure(y[qid == query], score[qid == query])
    if not measure.pools_queries:
        assert result.mean == pytest.approx(np.mean(result.values))
    assert len(result) + result.n_left_out == 10


@every_measure
def test_labels_of_any_kind_and_data_frames(measure, judged):
    y, score, qid = judged
    expected = measure(y, score, qid=qid)
    names = [f"query {q}" for q in qid]
    assert list(measure(list(y), list(score), qid=names).queries) == [f"query {q}" for q in expected.queries]
    for frame in (pd.DataFrame, pl.DataFrame):
        table = frame({"y": y, "score": score, "qid": names})
        np.testing.assert_array_equal(measure(table["y"], table["score"], qid=table["qid"]).values, expected.values)
    y.flags.writeable = score.flags.writeable = False
    single = measure(y.astype(bool), score.astype(np.float32), qid=qid)
    np.testing.assert_array_equal(single.values, expected.values)


@every_measure
def test_the_input_is_not_changed(measure, judged):
    copies = [array.copy() for array in judged]
    y, score, qid = judged
    measure(y, score, qid=qid)
    for array, copy in zip(judged, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_measure
def test_the_name_is_read_back_and_the_label_names_the_rules(measure):
    assert metrics.get_measure(measure.name) == measure
    assert metrics.get_measure(str(measure).upper()) == measure
    assert measure.label.startswith(f"{measure.name} (")
    result = measure([1, 0], [2, 1])
    assert str(result).startswith(f"{measure.label} = ")
    assert repr(result) == f"<{type(result).__name__} {result}>"


@pytest.mark.parametrize("measure", FUNCTIONS, ids=str)
def test_functions_give_the_mean_the_values_and_the_mean_over_outputs(measure, judged):
    y, score, qid = judged
    function, result = FUNCTIONS[measure], measure(y, score, qid=qid)
    assert function(y, score, qid=qid) == result.mean == float(result)
    np.testing.assert_array_equal(function(y, score, qid=qid, per_query=True).values, result.values)
    Y, S = np.stack([y, 1 - y], axis=1), np.stack([score, score], axis=1)
    both = (function(y, score, qid=qid) + function(1 - y, score, qid=qid)) / 2
    assert function(Y, S, qid=qid) == pytest.approx(both)
    assert function(Y[:, :1], score, qid=qid) == result.mean
    with pytest.raises(InvalidInputError, match="2 outputs: measure one column at a time"):
        function(Y, S, qid=qid, per_query=True)
    with pytest.raises(NothingToCompareError, match="output 1: "):
        function(np.stack([y, np.zeros_like(y)], axis=1), S, qid=qid)


def test_precision_at_has_its_cutoff_by_name():
    assert metrics.precision_at([1, 0, 1], [3, 2, 1], k=2) == metrics.Precision(2)([1, 0, 1], [3, 2, 1]).mean


@every_measure
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, np.nan], [1, 2]), "y_true is nan for item 1"),
        (([1, 0], [np.inf, 2]), "y_score is inf for item 0"),
        (([1, 0], [2, np.nan]), "y_score is nan for item 1"),
        (([1, 0, 1], [2, 1]), "y_true has 3 items, but y_score has 2"),
        (([1, 0], [2, 1], ["a"]), "qid has 1 entries, but there are 2 items"),
        (([[1, 0], [0, 1]], [2, 1]), "y_true has 2 outputs, but y_score has 1"),
        (([], []), "y_true is empty"),
        ((["a", "b"], [2, 1]), "y_true must hold real numbers"),
        (([1, None], [2, 1]), "y_true is nan for item 1"),
        (([1, {}], [2, 1]), "y_true must hold real numbers"),
        (([1, 1j], [2, 1]), "y_true must hold real numbers"),
        (([[[1]], [[0]]], [2, 1]), r"must have the shape \(m,\) or \(m, outputs\)"),
    ],
)
def test_unusable_input_is_named(measure, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        measure(*arguments[:2], qid=arguments[2] if len(arguments) > 2 else None)


@every_measure
def test_weights_are_taken_or_refused_by_name(measure):
    y, score = [1, 0, 1], [1, 2, 3]
    if not measure.takes_weight:
        with pytest.raises(InvalidInputError, match=f"{measure.name} does not support sample_weight"):
            measure(y, score, sample_weight=[1, 1, 1])
        return
    assert measure(y, score, sample_weight=[2, 2, 2]).mean == measure(y, score).mean
    for weight, message in [
        ([1, 1], "sample_weight has 2 entries, but there are 3 items"),
        ([1, -1, 1], "sample_weight is -1.0 for item 1"),
        ([1, np.nan, 1], "sample_weight is nan for item 1"),
        ([[1, 2]] * 3, "one entry per item"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            measure(y, score, sample_weight=weight)


def test_sparse_scores_are_refused():
    from scipy.sparse import csr_matrix

    with pytest.raises(InvalidInputError, match="y_score is a sparse matrix"):
        metrics.auc([0, 1], csr_matrix([[0.0], [1.0]]))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 4), st.floats(-1e300, 1e300, allow_subnormal=True), st.sampled_from("abc")),
        min_size=1,
        max_size=50,
    )
)
def test_values_stay_in_their_range(rows):
    y, score, qid = map(list, zip(*rows, strict=True))
    for measure in MEASURES:
        if isinstance(measure, (metrics.AUC, metrics.MagnitudePreservingError)):
            continue
        try:
            values = measure(y, score, qid=qid).values
        except NothingToCompareError:
            continue
        lowest, highest = measure.bounds
        assert ((values >= lowest) & (values <= highest)).all()


def test_signed_zeros_are_tied():
    assert metrics.pairwise_accuracy([1, 2], [0.0, -0.0]) == 0.5
    assert metrics.ndcg([1, 0], [-0.0, 0.0]) == metrics.ndcg([1, 0], [0.0, 0.0])
