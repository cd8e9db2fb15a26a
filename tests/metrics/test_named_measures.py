import pytest

from kernelrank import metrics
from kernelrank.errors import InvalidInputError
from kernelrank.metrics import get_measure


@pytest.mark.parametrize(
    ("name", "options", "measure"),
    [
        ("ndcg@10", {}, metrics.NDCG(10)),
        ("nDCG", {}, metrics.NDCG()),
        ("NDCG@ 5", {"gain": "linear", "ties": "order"}, metrics.NDCG(5, "linear", ties="order")),
        ("ndcg", {"k": 7}, metrics.NDCG(7)),
        ("map", {}, metrics.MeanAveragePrecision()),
        ("AP@3", {}, metrics.MeanAveragePrecision(3)),
        ("P@3", {"relevant_from": 2}, metrics.Precision(3, relevant_from=2)),
        ("precision@3", {}, metrics.Precision(3)),
        ("mrr@10", {"empty": "zero"}, metrics.ReciprocalRank(10, empty="zero")),
        ("err@20", {"max_grade": 2}, metrics.ExpectedReciprocalRank(20, 2)),
        ("Pairwise Accuracy", {}, metrics.PairwiseAccuracy()),
        ("pairwise-accuracy", {}, metrics.PairwiseAccuracy()),
        ("disagreement", {}, metrics.Disagreement()),
        ("ROC AUC", {}, metrics.AUC()),
        ("tau_b", {}, metrics.KendallTau()),
        ("ndcg@5", {"discount": "letor"}, metrics.NDCG(5, discount="letor")),
        ("Magnitude-preserving error", {}, metrics.MagnitudePreservingError()),
        ("threshold F", {"threshold": 0.5, "beta": 2}, metrics.ThresholdF(0.5, 2)),
    ],
)
def test_names_as_people_type_them(name, options, measure):
    assert get_measure(name, **options) == measure


def test_a_measure_passes_and_its_options_can_be_changed():
    measure = metrics.NDCG(10)
    assert get_measure(measure) == measure
    assert get_measure(measure, gain="linear") == metrics.NDCG(10, "linear")
    assert len({measure, metrics.NDCG(10), metrics.NDCG(5)}) == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ndgc@10", {}, r"unknown measure 'ndgc@10'; expected one of pairwise_accuracy, .*ndcg@k, map@k"),
        ("", {}, "unknown measure ''"),
        ("auc@3", {}, "auc has no cutoff"),
        ("ndcg@ten", {}, "the cutoff of 'ndcg@ten' is not a whole number"),
        ("ndcg@", {}, "the cutoff of 'ndcg@'"),
        ("ndcg@-1", {}, "the cutoff of 'ndcg@-1'"),
        ("ndcg@0", {}, "cutoff k must be a whole number of at least 1, got 0"),
        ("ndcg@3", {"k": 4}, "'ndcg@3' has a cutoff already; got k=4"),
        (
            "ndcg",
            {"gains": "linear"},
            "ndcg has no option 'gains'; its options are discount, empty, gain, k, short, ties",
        ),
        ("auc", {"ties": "order"}, "auc has no option 'ties'; it has none"),
        (metrics.AUC(), {"k": 1}, "AUC has no option 'k'"),
        (3, {}, "a measure is a name or a Measure, got int"),
    ],
)
def test_what_cannot_be_read_is_named(name, options, message):
    with pytest.raises(InvalidInputError, match=message):
        get_measure(name, **options)
