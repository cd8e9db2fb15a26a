"""Runs against judgements: what ir_measures says of them, lists that lack relevant items included."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import AUC, get_measure
from kernelrank.metrics.runs import JudgedRun

TREC = {
    "ndcg@5": ("nDCG@5", {"gain": "linear"}),
    "ndcg": ("nDCG", {"gain": "linear"}),
    "map": ("AP", {}),
    "map@3": ("AP@3", {}),
    "p@4": ("P@4", {}),
    "mrr": ("RR", {}),
}


def make(seed: int):
    """A run of some items and judgements of others, with ties, negative grades, missing and unjudged queries."""
    rng = np.random.default_rng(seed)
    run, qrels = [], []
    for query in range(12):
        names = [f"d{number}" for number in range(int(rng.integers(1, 15)))]
        if query not in (3, 7):
            chosen = rng.permutation(names)[: int(rng.integers(1, len(names) + 1))]
            run += [(f"q{query}", name, float(rng.integers(0, 5))) for name in chosen]
        if query != 5:
            judged = rng.permutation(names)[: int(rng.integers(1, len(names) + 1))]
            qrels += [(f"q{query}", name, int(rng.integers(-1, 4))) for name in judged]
    return run, qrels


@pytest.mark.parametrize("name", TREC)
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_ir_measures(name, seed):
    run, qrels = make(seed)
    theirs, options = TREC[name]
    expected = {
        metric.query_id: metric.value
        for metric in ir_measures.iter_calc(
            [ir_measures.parse_measure(theirs)],
            [ir_measures.Qrel(*judgement) for judgement in qrels],
            [ir_measures.ScoredDoc(*document) for document in run],
        )
    }
    judged = JudgedRun.of(tuple(zip(*run, strict=True)), tuple(zip(*qrels, strict=True)))
    order = np.argsort(judged.ids, kind="stable")[::-1]
    result = judged.measure(get_measure(name, ties="order", empty="zero", **options), order=order)
    found = dict(zip(result.queries.tolist(), result.values.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for query, value in expected.items():
        assert found[query] == pytest.approx(value, abs=1e-12), query
    assert judged.unanswered_queries == ("q3", "q7")
    assert judged.unjudged_queries == ("q5",)


def test_label_is_that_of_the_measure():
    judged = JudgedRun.of((["q"], ["a"], [1.0]), (["q", "q"], ["a", "b"], [1, 1]))
    assert judged.measure(get_measure("map")).label == get_measure("map").label
    assert judged.measure(get_measure("map")).mean == 0.5


def test_pairs_see_what_is_missing_at_the_end():
    judged = JudgedRun.of((["q", "q"], ["a", "b"], [1.0, 2.0]), (["q", "q", "q"], ["a", "b", "c"], [0, 1, 1]))
    assert judged.measure(AUC()).mean == 0.5


def test_what_is_not_returned_does_not_reach_a_threshold():
    judged = JudgedRun.of((["q", "q"], ["a", "b"], [1.0, 2.0]), (["q", "q", "q"], ["a", "b", "c"], [0, 1, 1]))
    for threshold in (-5.0, 0.0, 1.0, 1.5):
        assert judged.measure(get_measure("threshold_recall", threshold=threshold)).mean == 0.5
    assert judged.measure(get_measure("threshold_recall", threshold=2.5)).mean == 0.0


def test_the_auc_of_one_query_has_an_interval():
    judged = JudgedRun.of((["q", "q"], ["a", "b"], [1.0, 2.0]), (["q", "q", "q"], ["a", "b", "c"], [0, 1, 1]))
    assert judged.measure(AUC()).interval().method.startswith("DeLong's variance over 2 and 1 items")


def test_what_cannot_be_judged():
    judged = JudgedRun.of((["q", "q"], ["a", "b"], [1.0, 2.0]), (["q", "q", "q"], ["a", "b", "c"], [0, 1, 1]))
    with pytest.raises(InvalidInputError, match="a score for every judged item; the run has none for 1"):
        judged.measure(get_measure("magnitude_preserving_error"))
    with pytest.raises(InvalidInputError, match="the item 'a' of the query 'q' twice"):
        JudgedRun.of((["q", "q"], ["a", "a"], [1, 2]), (["q"], ["a"], [1]))
    with pytest.raises(InvalidInputError, match="no query in common"):
        JudgedRun.of((["p"], ["a"], [1]), (["q"], ["a"], [1]))
