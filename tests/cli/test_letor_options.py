"""``kernelrank tune`` with the rules of LETOR and trec_eval, scaling inside queries, and a page of all folds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kernelrank as kr
from kernelrank.data import read_items, write_ranking
from kernelrank.data.letor import scale_within_queries
from kernelrank.metrics import NDCG, MeanAveragePrecision
from kernelrank.report import folds_report

ALPHAS = [0.1, 10.0, 1000.0]


@pytest.fixture
def folds(tmp_path):
    for fold in (1, 2):
        folder = tmp_path / "data" / f"Fold{fold}"
        folder.mkdir(parents=True)
        for number, part in enumerate(("train", "vali", "test")):
            X, y, qid = kr.make_ranking(n_queries=8, n_features=4, n_levels=3, random_state=10 * fold + number)
            y[qid == qid[0]] = 0.0  # a query without anything relevant
            ids = [f"d{row}" for row in range(len(y))]
            write_ranking(folder / f"{part}.txt", np.exp(3 * X), y, qid=[f"{fold}{part}{q}" for q in qid], docid=ids)
    return tmp_path / "data"


def chosen(fold, measure):
    """Scale inside queries, train, choose and test by hand."""
    train, vali, test = (read_items(fold / f"{part}.txt") for part in ("train", "vali", "test"))
    models = kr.RankRLS().fit_path(scaled(train), train.y, ALPHAS, qid=train.qid)
    values = [measure(vali.y, model.predict(scaled(vali)), qid=vali.qid).mean for model in models]
    best = models[int(np.argmax(values))]
    return max(values), measure(test.y, best.predict(scaled(test)), qid=test.qid).mean


def scaled(items):
    X = np.asarray(items.X.todense() if hasattr(items.X, "todense") else items.X)
    parts = np.empty_like(X)
    for query in set(items.qid.tolist()):
        rows = items.qid == query
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        parts[rows] = (X[rows] - low) / np.where(high > low, high - low, 1)
    return parts


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        (
            ("-m", "map", "--relevant-from", "2", "--empty", "zero"),
            MeanAveragePrecision(relevant_from=2, empty="zero"),
        ),
        (("-m", "ndcg@5", "--discount", "letor", "--empty", "zero"), NDCG(5, discount="letor", empty="zero")),
    ],
)
def test_published_rules_choose_and_measure(run, folds, words, measure):
    facts = run("tune", folds, "--alphas", "0.1,10,1000", "--scale", "query", *words, "--json").json
    for found in facts["folds"]:
        score, test = chosen(folds / found["fold"], measure)
        assert found["score"] == pytest.approx(score, abs=1e-12)
        assert found["test"] == pytest.approx(test, abs=1e-12)
    shown = {one["measure"]: one["rules"] for one in facts["test_measures"]}
    assert shown[measure.name] == list(measure.rules)


def test_trec_places_ties_by_name_and_counts_empty_queries(run, folds):
    facts = run("tune", folds, "--alphas", "1,10", "-m", "map", "--trec", "--json").json
    rules = {one["measure"]: one["rules"] for one in facts["test_measures"]}
    assert "ties by descending item name" in rules["MAP"]
    assert "empty queries count 0" in rules["MAP"]
    printed = run("tune", folds, "--alphas", "1,10", "-m", "map", "--trec", "--report", "folds.html").out
    assert "ties in input order" not in printed
    page = (folds.parent / "folds.html").read_text(encoding="utf-8")
    assert "sorted by descending item name" in page
    assert f">{next(one['mean'] for one in facts['test_measures'] if one['measure'] == 'MAP'):.3f}<" in page
    one = run("tune", folds / "Fold1" / "train.txt", "--alphas", "1,10", "-m", "map", "--empty", "zero", "--json").json
    train = read_items(folds / "Fold1" / "train.txt")
    search = kr.RankRLSCV([1.0, 10.0], scoring=MeanAveragePrecision(empty="zero")).fit(train.X, train.y, qid=train.qid)
    assert one["best"]["score"] == pytest.approx(search.best_score_, abs=1e-12)


def test_a_folder_of_folds_gives_a_page(run, folds, tmp_path):
    run("tune", folds, "--alphas", "1,10", "--scale", "query", "--report", tmp_path / "folds.html")
    text = (tmp_path / "folds.html").read_text(encoding="utf-8")
    assert "What each fold chose" in text
    assert text.count("Fold1") >= 1
    assert "inside each query" in text
    with pytest.raises(kr.errors.InvalidInputError, match="at least one fold"):
        folds_report([], [1.0], [1.0])


def test_scale_alone_scales_columns(run, folds):
    words = ("tune", folds / "Fold1", "--alphas", "1,10", "--json")
    assert run(*words, "--scale").json == run(*words, "--scale", "columns").json
    before = run("tune", "--scale", folds / "Fold1", "--alphas", "1,10", "--json").json
    assert before == run(*words, "--scale").json


def test_what_cannot_be_scaled_by_query(run, folds, tmp_path):
    assert "cannot scale new items" in run("tune", folds / "Fold1", "--scale", "query", "-o", "m.kr", code=1).err
    table = tmp_path / "plain.csv"
    table.write_text("a,b,score\n1,2,3\n4,5,6\n7,8,8\n")
    assert "Expected queries" in run("tune", table, "--target", "score", "--scale", "query", code=1).err


def test_scaling_takes_sparse_and_dense():
    X, _, qid = kr.make_ranking(n_queries=3, n_features=2, random_state=0)
    np.testing.assert_array_equal(scale_within_queries(sparse.csr_array(X), qid), scale_within_queries(X, qid))
