"""Scores of other programs: one a line, as a column, and NDCG as LETOR's own script computes it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelrank.data import read_items, read_scores
from kernelrank.errors import FileFormatError


@pytest.fixture
def scored(ranking, run):
    """The scores of a model on test.txt, one a line, and its own measures."""
    run("fit", "train.txt", "-o", "model.kr")
    (ranking / "scores.txt").write_text(run("predict", "model.kr", "test.txt").out)
    return run("evaluate", "model.kr", "test.txt", "--json").json["measures"]


def test_scores_give_what_their_model_gives(scored, ranking, run):
    assert run("evaluate", "scores.txt", "test.txt", "--json").json["measures"] == scored
    run("predict", "model.kr", "test.txt", "--format", "csv", "-o", "scores.csv")
    assert run("evaluate", "scores.csv", "test.txt", "--json").json["measures"] == scored
    run("predict", "model.kr", "test.txt", "--format", "parquet", "-o", "scores.parquet")
    run("fit", "train.txt", "--alpha", 1000, "-o", "other.kr")
    first = run("compare", "model.kr", "other.kr", "test.txt", "--json").json["measures"]
    assert run("compare", "scores.parquet", "other.kr", "test.txt", "--json").json["measures"] == first
    assert run("compare", "scores.csv", "scores.txt", "test.txt", "--json").json["measures"][0]["difference"] == 0


def test_scores_that_do_not_fit(scored, ranking, run):
    lines = (ranking / "scores.txt").read_text().splitlines()
    (ranking / "short.txt").write_text("\n".join(lines[:-1]) + "\n")
    ended = run("evaluate", "short.txt", "test.txt", code=1)
    n = len(lines)
    assert f"short.txt: expected one score for each of the {n} items of test.txt; got {n - 1}" in ended.err
    (ranking / "bad.txt").write_text("\n".join([*lines[:3], "nan", *lines[4:]]) + "\n")
    ended = run("evaluate", "bad.txt", "test.txt", code=1)
    assert "bad.txt, line 4: expected one score, a finite number; got 'nan'" in ended.err
    run("predict", "model.kr", "test.txt", "--format", "csv", "-o", "scores.csv")
    header, first, second, *rest = (ranking / "scores.csv").read_text().splitlines()
    (ranking / "turned.csv").write_text("\n".join([header, second, first, *rest]) + "\n")
    ended = run("evaluate", "turned.csv", "test.txt", code=1)
    assert "turned.csv: expected the items of test.txt in their order; item 1 is " in ended.err


def test_what_is_no_file_of_scores(scored, ranking, run):
    (ranking / "list.json").write_text("[0.5, -1]\n")
    ended = run("evaluate", "list.json", "test.txt", code=1)
    assert "list.json, line 1: 2 columns: expected query Q0 document rank score tag; expected a model file" in ended.err


@pytest.mark.parametrize("name", ["prediction", "y_score", "Score"])
def test_columns_of_scores(tmp_path, name):
    (tmp_path / "a.csv").write_text(f"id,{name},other\na,0.5,1\nb,-2,1\n")
    scores, ids = read_scores(tmp_path / "a.csv")
    assert (scores.tolist(), ids.tolist()) == ([0.5, -2], ["a", "b"])
    (tmp_path / "b.csv").write_text("id,first\na,1\n")
    with pytest.raises(FileFormatError, match="expected one column of scores, called score or prediction; the columns"):
        read_scores(tmp_path / "b.csv")


def script(y, scores, qid, k):
    """NDCG@k by the rule of LETOR's script: 0 for short queries and for those without a relevant document."""
    values = []
    for query in dict.fromkeys(qid.tolist()):
        items = np.flatnonzero(qid == query)
        gains = [(2.0**grade - 1) for grade in y[items][np.argsort(-scores[items])]]
        discounts = [1.0, *(math.log(2) / math.log(place) for place in range(2, len(gains) + 1))]
        found = sum(gain * discount for gain, discount in list(zip(gains, discounts, strict=True))[:k])
        best = sum(gain * discount for gain, discount in list(zip(sorted(gains)[::-1], discounts, strict=True))[:k])
        values.append(found / best if best > 0 and len(items) >= k else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("k", [1, 3, 6, 8])
def test_short_queries_count_as_in_the_script_of_letor(scored, ranking, run, k):
    items = read_items(ranking / "test.txt")
    sizes = np.unique(items.qid, return_counts=True)[1]
    scores = np.array([float(line) for line in (ranking / "scores.txt").read_text().split()])
    rules = ("--discount", "letor", "--short", "zero", "--empty", "zero")
    ended = run("evaluate", "scores.txt", "test.txt", "--measure", f"ndcg@{k}", *rules, "--json")
    np.testing.assert_allclose(ended.json["measures"][0]["mean"], script(items.y, scores, items.qid, k), rtol=1e-12)
    plain = run("evaluate", "scores.txt", "test.txt", "--measure", f"ndcg@{k}", *rules[:2], *rules[4:], "--json")
    assert (plain.json["measures"][0]["mean"] > ended.json["measures"][0]["mean"]) == bool(sizes.min() < k)
