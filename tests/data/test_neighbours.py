"""Files of other rankers: side files of LightGBM and XGBoost, models of RankLib and SVM-rank."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelrank as kr
from kernelrank.cli.app import app
from kernelrank.data import read_item_chunks, read_items, read_linear_model, read_table
from kernelrank.errors import FileFormatError, InvalidInputError

ROWS = "2 1:1 2:0.5\n0 1:2\n1 2:3\n0 1:4\n3 1:1 2:1\n"
SVM_RANK = """SVM-light Version V6.20
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
3 # highest feature index
5 # number of training documents
3 # number of support vectors plus 1
0.25 # threshold b, each following line is a SV (starting with alpha*y)
0.5 1:2 3:-1 #
-1 qid:4 1:0.5 2:3 #
"""
RANKLIB = "## Coordinate Ascent\n## Restart = 5\n## MaxIteration = 25\n1:0.5 2:-3.0 3:-0.5\n"
REGRESSION = "## Linear Regression\n## Lambda = 1.0E-10\n0:7.5 1:0.5 2:-3.0 3:-0.5\n"
WEIGHTS = [0.5, -3.0, -0.5]


@pytest.fixture
def train(tmp_path):
    (tmp_path / "train.txt").write_text(ROWS)
    return tmp_path / "train.txt"


@pytest.mark.parametrize("name", ["train.txt.query", "train.txt.group", "train.query", "train.group"])
def test_sizes_of_queries_stand_in_a_side_file(train, name):
    train.with_name(name).write_text("2\n\n3\n")
    for items in (read_items(train), read_table(train)):
        assert items.qid.tolist() == [1, 1, 2, 2, 2]
        assert f"the queries are in {name}" in items.notes


def test_weights_are_of_items_or_of_queries(train, tmp_path):
    (tmp_path / "train.txt.weight").write_text("1\n2\n0.5\n1\n4\n")
    assert read_items(train).weight.tolist() == [1, 2, 0.5, 1, 4]
    (tmp_path / "train.txt.group").write_text("2\n3\n")
    (tmp_path / "train.txt.weight").write_text("3\n7\n")
    assert read_items(train).weight.tolist() == [3, 3, 7, 7, 7]


def test_weights_of_queries_follow_the_file_and_not_the_labels(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:9 1:1\n0 qid:9 1:2\n1 qid:3 1:1\n")
    (tmp_path / "train.weight").write_text("5\n2\n")
    items = read_items(tmp_path / "train.txt")
    assert (items.qid.tolist(), items.weight.tolist()) == ([9, 9, 3], [5, 5, 2])


def test_batches_are_not_read_without_their_queries(train, tmp_path):
    (tmp_path / "train.query").write_text("2\n3\n")
    with pytest.raises(InvalidInputError, match=r"they are in train.query. Join the two: kernelrank convert"):
        kr.RankRLS().fit(train)
    with pytest.raises(InvalidInputError, match=r"they are in train.query"):
        list(read_item_chunks(train))
    model = kr.RLS().fit(train)  # which compares no items
    assert len(model.predict(train)) == 5


def test_compressed_items_have_side_files_too(tmp_path):
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "train.txt.query").write_text("5\n")
    assert read_items(tmp_path / "train.txt.gz").qid.tolist() == [1] * 5


def test_queries_of_the_file_itself_are_kept(tmp_path):
    (tmp_path / "train.txt").write_text("1 qid:4 1:1\n0 qid:4 1:2\n")
    (tmp_path / "train.txt.query").write_text("1\n1\n")
    items = read_items(tmp_path / "train.txt")
    assert items.qid.tolist() == [4, 4]
    assert "train.txt.query was ignored, because the data file has queries itself" in items.notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.txt.query", "2\n2\n", "add up to the 5 items; they add up to 4"),
        ("train.txt.query", "2\nx\n", "train.txt.query, line 2: expected the size of a query, got 'x'"),
        ("train.txt.query", "2.5\n2.5\n", "expected whole numbers"),
        ("train.txt.query", "6\n-1\n", "line 2: expected the size of a query"),
        ("train.txt.weight", "1\n2\n", "a weight for each of the 5 items; it has 2"),
        ("train.txt.weight", "1\nnan\n", "line 2: expected a weight"),
    ],
)
def test_what_is_wrong_in_a_side_file_is_named(train, name, text, message):
    train.with_name(name).write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_items(train)


@pytest.mark.parametrize("text", [SVM_RANK, RANKLIB, REGRESSION])
def test_linear_models_are_read(tmp_path, text):
    (tmp_path / "model.txt").write_text(text)
    model = read_linear_model(tmp_path / "model.txt")
    np.testing.assert_allclose(model.weights, WEIGHTS)
    X = np.array([[1.0, 2.0], [0.0, 1.0]])
    np.testing.assert_allclose(model.scores(X), X @ WEIGHTS[:2])
    wide = np.array([[9.0, 1.0, 2.0, 3.0, 8.0]])
    np.testing.assert_allclose(model.scores(wide, first_index=0), wide[:, 1:4] @ WEIGHTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## LambdaMART\n<ensemble>\n", "the file holds 'LambdaMART'. Score the items with RankLib"),
        (SVM_RANK.replace("0 # kernel type", "2 # kernel type"), "line 2: expected a linear kernel, type 0; got '2'"),
        (SVM_RANK[:60], "the file ends before"),
        ("## Coordinate Ascent\n1:0.5 2\n", "line 2: expected feature:weight, got '2'"),
        ("## Coordinate Ascent\n1:inf\n", "line 2: expected a finite number, got 'inf'"),
        ("## Coordinate Ascent\n", "expected at least one weight"),
        ("## Linear Regression\n0:3\n", "expected at least one weight"),
        ("## Coordinate Ascent\n2000000000:1\n", "a feature number of 2,000,000,000"),
        ("1 qid:1 1:1\n", "expected a model of RankLib or SVM-rank"),
    ],
)
def test_other_models_are_refused(tmp_path, text, message):
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_linear_model(tmp_path / "model.txt")


@pytest.mark.parametrize("text", [SVM_RANK, RANKLIB])
def test_baselines_are_converted_and_compared(tmp_path, monkeypatch, text):
    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.stdout

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 3)), 3)
    lines = [f"{k % 3} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for k, row in enumerate(X)]
    (tmp_path / "test.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "test.txt.query").write_text("20\n20\n")
    (tmp_path / "baseline.txt").write_text(text)
    run("convert", "baseline.txt", "baseline.kr")
    model = kr.load("baseline.kr")
    np.testing.assert_allclose(model.coef_, WEIGHTS)
    np.testing.assert_allclose(model.predict(X), X @ WEIGHTS)
    told = json.loads(run("compare", "baseline.txt", "baseline.kr", "test.txt", "-m", "ndcg@10", "--json"))
    assert told["measures"][0]["difference"] == 0
    assert told["measures"][0]["n_queries"] == 2
    assert CliRunner().invoke(app, ["convert", "baseline.txt", "baseline.csv"]).exit_code == 1
