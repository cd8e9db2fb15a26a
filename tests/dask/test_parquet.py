"""A path where the items would stand gives the model that a local fit to the same path gives."""

from __future__ import annotations

import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelrank.dask import DaskRankRLS, DaskRankRLSCV, partitions
from kernelrank.data import make_ranking
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.estimators import RankRLS

X, y, qid = make_ranking(n_queries=40, n_items=(1, 12), n_features=11, n_levels=4, random_state=0)
X = np.asarray(X)


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of several row groups, which cut queries."""
    folder = tmp_path_factory.mktemp("files")
    columns = {f"x{k}": X[:, k] for k in range(9)}
    # A column of integers is a feature, one of words is not.
    columns |= {
        "x9": X[:, 9].astype(np.float32),
        "rank": np.arange(len(y)) % 7,
        "title": [f"t{i}" for i in range(len(y))],
    }
    table = pa.table({**columns, "score": y, "query": qid, "weight": 1.0 + np.arange(len(y)) % 3})
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 3)):
        pq.write_table(table.take(pa.array(rows)), folder / f"{number}.parquet", row_group_size=20)
    return folder


@pytest.mark.parametrize("large", [True, False])
def test_a_path_gives_the_local_model(client, folder, monkeypatch, large):
    if large:
        monkeypatch.setattr(partitions, "BLOCKSIZE", 100)
    names = [f"x{k}" for k in range(10)] + ["rank", "weight"]
    expected = RankRLS(0.3).fit(folder, y="score", qid="query")
    for path in (folder, str(folder / "*.parquet"), f"file://{folder}"):
        model = DaskRankRLS(0.3, client=client).fit(path, "score", qid="query")
        close(model.coef_, expected.coef_)
        assert list(model.feature_names_in_) == list(expected.feature_names_in_) == names
        assert (model.n_queries_, model.n_pairs_) == (expected.n_queries_, expected.n_pairs_)
    first = RankRLS(0.3).fit(folder / "0.parquet", y="score")
    close(DaskRankRLS(0.3, client=client).fit(folder / "0.parquet", "score").coef_, first.coef_)


def test_features_are_named_and_missing_numbers_imputed_as_in_a_local_fit(client, folder, tmp_path):
    chosen = {"features": ["x*", "rank"], "exclude": ["x1", "x9"]}
    expected = RankRLS(0.3).fit(folder, y="score", qid="query", **chosen)
    model = DaskRankRLS(0.3, client=client).fit(folder, "score", qid="query", **chosen)
    close(model.coef_, expected.coef_)
    assert list(model.feature_names_in_) == list(expected.feature_names_in_)
    with pytest.raises(FileFormatError, match="no column is called 'age'; the columns are x0"):
        DaskRankRLS(client=client).fit(folder, "score", qid="query", exclude=["age"])
    holes = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(score=y, query=qid)
    holes.loc[::5, "b"] = np.nan
    holes.to_parquet(tmp_path / "a.parquet", row_group_size=20)
    expected = RankRLS(0.3).fit(tmp_path / "a.parquet", y="score", qid="query", impute="mean")
    model = DaskRankRLS(0.3, client=client).fit(tmp_path / "a.parquet", "score", qid="query", impute="mean")
    close(model.coef_, expected.coef_)
    close(model.to_local().predict(tmp_path / "a.parquet"), expected.predict(tmp_path / "a.parquet"))
    search = DaskRankRLSCV([0.3], client=client, cv=2)
    close(search.fit(tmp_path / "a.parquet", "score", qid="query", impute="mean").coef_, expected.coef_)
    with pytest.raises(InvalidInputError, match="impute must be 'mean' or None, got 'median'"):
        model.fit(tmp_path / "a.parquet", "score", qid="query", impute="median")
    holes.assign(b=np.nan).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="column 'b' has no value: leave it out with exclude"):
        model.fit(tmp_path / "a.parquet", "score", qid="query", impute="mean")


def test_large_files_are_cut_into_row_groups(folder, monkeypatch):
    data, *_ = partitions.read_columns(folder, "score", "query", None)
    assert data.npartitions == 3
    monkeypatch.setattr(partitions, "BLOCKSIZE", 100)
    data, *_ = partitions.read_columns(folder, "score", "query", None)
    assert data.npartitions == sum(pq.ParquetFile(folder / name).num_row_groups for name in os.listdir(folder)) > 3


def test_weights_folds_and_a_basis(client, folder):
    table = pd.read_parquet(folder)
    names = [f"x{k}" for k in range(10)] + ["rank"]
    expected = RankRLS(0.3).fit(table[names], y, qid=qid, sample_weight=table["weight"])
    close(
        DaskRankRLS(0.3, client=client).fit(folder, "score", qid="query", sample_weight="weight").coef_, expected.coef_
    )
    options = {"kernel": "rbf", "gamma": 0.05, "basis": 9, "random_state": 0}
    model = DaskRankRLS(0.3, client=client, **options).fit(folder, "score", qid="query")
    expected = RankRLS(0.3, **options).fit(folder, y="score", qid="query")
    np.testing.assert_array_equal(model.basis_, expected.basis_)
    close(model.dual_coef_, expected.dual_coef_)
    search = DaskRankRLSCV([0.1, 10.0, 1e3, 1e5, 1e7], cv=3, client=client).fit(folder, "score", qid="query")
    close(search.coef_, RankRLS(search.alpha_).fit(folder, y="score", qid="query").coef_)


def test_what_is_wrong_with_a_path_is_said(client, folder, tmp_path):
    model = DaskRankRLS(client=client)
    with pytest.raises(FileFormatError, match="there is no such file or folder"):
        model.fit(folder / "absent.parquet", "score", qid="query")
    with pytest.raises(FileFormatError, match="there is no Parquet file"):
        model.fit(str(folder / "absent-*.parquet"), "score", qid="query")
    (tmp_path / "words.parquet").write_text("these are words")
    with pytest.raises(FileFormatError, match="expected Parquet files"):
        model.fit(tmp_path / "words.parquet", "score", qid="query")
    with pytest.raises(FileFormatError, match=r"there is no column 'grade'; the columns are x0, x1, .*weight"):
        model.fit(folder, "grade", qid="query")
    with pytest.raises(FileFormatError, match="there is no column 'session'"):
        model.fit(folder, "score", qid="session")
    with pytest.raises(
        InvalidInputError, match=r"y must be the name of a column there, got ndarray; the columns are x0"
    ):
        model.fit(folder, y, qid="query")
    with pytest.raises(InvalidInputError, match="qid must be the name of a column there, got ndarray"):
        model.fit(folder, "score", qid=qid)
    with pytest.raises(InvalidInputError, match="the target y is None"):
        model.fit(folder, None, qid="query")
    pq.write_table(pa.table({"score": [1.0, 2.0], "title": ["a", "b"]}), tmp_path / "words.parquet")
    with pytest.raises(FileFormatError, match="no numeric column is left for the features"):
        model.fit(tmp_path / "words.parquet", "score")
    pq.write_table(pa.table({"score": [1.0, 2.0], "x": [1.0, None]}), tmp_path / "holes.parquet")
    with pytest.raises(InvalidInputError, match="partition 0: Input X contains NaN"):
        model.fit(tmp_path / "holes.parquet", "score")
    assert not hasattr(model, "coef_")


def test_decimal_numbers_are_numbers(client, tmp_path):
    def decimals(values):
        return pa.array([Decimal(f"{value:.3f}") for value in values])

    columns = {"price": decimals(X[:, 0]), "x1": X[:, 1], "score": decimals(y), "query": qid}
    pq.write_table(pa.table(columns), tmp_path / "sold.parquet", row_group_size=50)
    expected = RankRLS(0.3).fit(np.c_[np.round(X[:, 0], 3), X[:, 1]], np.round(y, 3), qid=qid)
    for learner in (RankRLS(0.3), DaskRankRLS(0.3, client=client)):
        model = learner.fit(tmp_path / "sold.parquet", y="score", qid="query")
        assert list(model.feature_names_in_) == ["price", "x1"]
        close(model.coef_, expected.coef_, 1e-9)


def test_booleans_are_features(client, tmp_path):
    columns = {"flag": X[:, 0] > 0, "x1": X[:, 1], "score": y, "query": qid}
    pq.write_table(pa.table(columns), tmp_path / "flags.parquet", row_group_size=50)
    expected = RankRLS(0.3).fit(np.c_[X[:, 0] > 0, X[:, 1]], y, qid=qid)
    for learner in (RankRLS(0.3), DaskRankRLS(0.3, client=client)):
        model = learner.fit(tmp_path / "flags.parquet", y="score", qid="query")
        assert list(model.feature_names_in_) == ["flag", "x1"]
        close(model.coef_, expected.coef_, 1e-9)
