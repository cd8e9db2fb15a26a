"""PyTerrier: an Experiment with a kernelrank pipeline gives the scores of a direct fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelrank as kr
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.pyterrier import FittedRanker, RankLearner


def documents(n_queries: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results with features, with string qids, and judgements of most of them."""
    rng = np.random.default_rng(seed)
    rows, judged = [], []
    for query in range(n_queries):
        for number in range(6):
            x = rng.normal(size=3)
            names = {"qid": f"q-{seed}-{query}", "query": "words", "docno": f"d{query}_{number}"}
            rows.append({**names, "score": float(rng.normal()), "rank": number, "features": x})
            if number:
                judged.append({**names, "label": int(np.clip(np.round(x @ [1.0, -0.5, 0.2]), 0, 3))})
    return pd.DataFrame(rows), pd.DataFrame(judged)[["qid", "docno", "label"]]


@pytest.fixture
def terrier():
    return pytest.importorskip("pyterrier", reason="PyTerrier is not installed: pip install 'kernelrank[pyterrier]'")


@pytest.mark.parametrize("unjudged", ["zero", "missing"])
def test_an_experiment_has_the_scores_of_a_direct_fit(terrier, unjudged):
    (train, train_qrels), (test, test_qrels) = documents(12, 0), documents(6, 1)
    pipeline = terrier.Transformer.from_df(pd.concat([train, test])) >> RankLearner(unjudged=unjudged)
    topics, train_topics = (part[["qid", "query"]].drop_duplicates() for part in (test, train))
    pipeline.fit(train_topics, train_qrels)
    table = terrier.Experiment(
        [pipeline], topics, test_qrels, ["ndcg_cut_10", "map"], names=["kernelrank"], perquery=False
    )
    labels = train.merge(train_qrels, how="left", on=["qid", "docno"])
    if unjudged == "missing":
        labels = labels.dropna(subset=["label"])
    X, y = np.vstack(labels["features"]), labels["label"].fillna(0).to_numpy()
    model = kr.RankRLSCV().fit(X, y, qid=labels["qid"].to_numpy())
    expected = test.assign(expected=model.predict(np.vstack(test["features"])))
    found = pipeline.transform(topics).merge(expected[["qid", "docno", "expected"]], on=["qid", "docno"])
    assert len(found) == len(test)
    np.testing.assert_array_equal(found["score"], found["expected"])
    assert (found.groupby("qid")["rank"].apply(list).apply(sorted).str[0] == 0).all()
    assert table["map"][0] > 0.5


def test_a_fitted_ranker_explains_itself(terrier):
    data, qrels = documents(5, 2)
    judged = data.merge(qrels, on=["qid", "docno"])
    model = kr.RankRLS().fit(np.vstack(judged["features"]), judged["label"], qid=judged["qid"])
    ranked = FittedRanker(model, explanations=2, feature_names=["title", "body", "age"]).transform(data)
    assert (ranked["score"].diff().dropna()[ranked["qid"].eq(ranked["qid"].shift())[1:]] <= 0).all()
    assert ranked["explanation"].str.contains("title|body|age").sum() == len(data) - 5
    assert (ranked.groupby("qid")["explanation"].last() == "").all()
    empty = FittedRanker(model).transform(data[:0])
    assert list(empty["score"]) == []


def test_what_cannot_be_learnt_from_is_named(terrier):
    data, qrels = documents(3, 3)
    with pytest.raises(InvalidInputError, match="none of their docnos occurs in qrels"):
        RankLearner().fit(data, qrels.assign(docno="other"))
    with pytest.raises(InvalidInputError, match="equally many features for every document; got 2, 3"):
        RankLearner().fit(data.assign(features=[np.ones(2), *data["features"][1:]]), qrels)
    with pytest.raises(InvalidInputError, match="Expected a fitted pipeline"):
        RankLearner().transform(data)
    with pytest.raises(InvalidInputError, match="Expected unjudged"):
        RankLearner(unjudged="one")


def test_without_pyterrier_the_pip_line_is_what_people_see(monkeypatch):
    monkeypatch.setattr("kernelrank.pyterrier.pyterrier", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelrank\[pyterrier\]'"):
        RankLearner()
