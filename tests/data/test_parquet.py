"""Parquet files are read in chunks, and what has been read is let go."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelrank.data import read_items, read_parquet_chunks
from kernelrank.data.readers import open_stored
from kernelrank.errors import FileFormatError


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "large.parquet"
    X = np.random.default_rng(0).standard_normal((200_000, 8))
    table = pa.table({**{f"x{k}": X[:, k] for k in range(8)}, "y": X[:, 0], "q": np.arange(len(X)) // 10})
    pq.write_table(table, path, row_group_size=5_000, compression="none", use_dictionary=False)
    del table
    before, held = pa.total_allocated_bytes(), 0
    for _ in read_parquet_chunks(path, target="y", query="q", chunk_rows=5_000):
        time.sleep(0.005)  # as long as a fit may take: what reads ahead would get ahead
        held = max(held, pa.total_allocated_bytes() - before)
    assert held < path.stat().st_size / 4


def test_files_of_a_folder_have_the_same_columns(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1.0, 2.0]}), tmp_path / "b.parquet")
    with pytest.raises(FileFormatError, match=r"b\.parquet: there is no column 'x', which another file"):
        list(read_parquet_chunks(tmp_path, target="y"))


@pytest.mark.parametrize("name", [None, "row"])
def test_the_index_of_a_data_frame_is_no_feature(name, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [3.0, 1.0, 2.0], "q": [0, 0, 0]}).iloc[[2, 0, 1]]
    frame.index.name = name
    path = tmp_path / "sorted.parquet"
    frame.to_parquet(path)
    assert len(pq.read_schema(path).names) == 4
    (chunk,) = read_parquet_chunks(path, target="y", query="q")
    np.testing.assert_array_equal(chunk.X, [[3.0], [1.0], [2.0]])
    ((X, *_),) = open_stored(path, query="q", needs_target=False).chunks(whole_queries=False)
    np.testing.assert_array_equal(X, frame[["x", "y"]])
    np.testing.assert_array_equal(read_items(path, target="y", query="q").X, chunk.X)
    if name is not None:
        assert read_items(path, target="y", query="q", features=[name]).X.tolist() == [[2], [0], [1]]


def test_decimal_numbers_are_numbers(tmp_path):
    numbers = pa.array([Decimal("1.25"), Decimal("-3.5"), Decimal("0")])
    table = pa.table({"price": numbers, "age": [1.0, 2.0, 3.0], "score": numbers, "query": [1, 1, 2]})
    pq.write_table(table, tmp_path / "sold.parquet")
    chunks = list(read_parquet_chunks(tmp_path / "sold.parquet", target="score", query="query", chunk_rows=2))
    assert np.concatenate([chunk.X for chunk in chunks]).tolist() == [[1.25, 1.0], [-3.5, 2.0], [0.0, 3.0]]
    assert np.concatenate([chunk.y for chunk in chunks]).tolist() == [1.25, -3.5, 0.0]
    sold = open_stored(tmp_path / "sold.parquet", query="query", features=["price"], needs_target=False)
    ((X, *_),) = sold.chunks(whole_queries=False)
    assert X.tolist() == [[1.25], [-3.5], [0.0]]
    assert read_items(tmp_path / "sold.parquet").X.tolist() == [[1.25, 1.0], [-3.5, 2.0], [0.0, 3.0]]


def test_booleans_are_features_and_words_are_not(tmp_path):
    flags = [True, False, True]
    table = pa.table({"flag": flags, "age": pa.array([1, 2, 3], pa.int8()), "word": ["a", "b", "c"], "y": flags})
    pq.write_table(table, tmp_path / "flags.parquet")
    (chunk,) = read_parquet_chunks(tmp_path / "flags.parquet", target="y")
    assert chunk.X.tolist() == [[1.0, 1.0], [0.0, 2.0], [1.0, 3.0]]
    assert chunk.y.tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(read_items(tmp_path / "flags.parquet", features=["!word"]).X, chunk.X)
    with pytest.raises(FileFormatError, match="row 1 in row group 1 of 1, column 'word': 'a' is of type string"):
        list(read_parquet_chunks(tmp_path / "flags.parquet", target="y", features=["word"]))


def test_single_precision_stays_if_all_columns_have_it(tmp_path):
    single, double = np.float32([1.5, 2.5]), [0.1, 0.2]
    pq.write_table(pa.table({"a": single, "b": double, "y": double}), tmp_path / "mixed.parquet")
    for features, dtype in ((None, np.float64), (["a"], np.float32)):
        (chunk,) = read_parquet_chunks(tmp_path / "mixed.parquet", target="y", features=features)
        assert chunk.X.dtype == dtype
        assert chunk.X[:, 0].tolist() == [1.5, 2.5]


def test_queries_in_floats_are_the_same_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelrank.data.parquet.BATCH_CELLS", 6)  # two rows a block
    table = pa.table({"x": np.arange(6.0), "y": np.arange(6.0), "q": [1.0, 1.0, 2.0, 2.0, 2.0, 2.5]})
    pq.write_table(table, tmp_path / "q.pq")
    chunks = list(read_parquet_chunks(tmp_path / "q.pq", target="y", query="q", chunk_rows=2))
    assert [chunk.qid.tolist() for chunk in chunks] == [["1", "1"], ["2", "2", "2"], ["2.5"]]


def test_folders_inside_a_folder(tmp_path):
    for name, value in (("year=2/b.parquet", 2.0), ("year=1/a.parquet", 1.0), ("_old/c.parquet", 9.0)):
        (tmp_path / name).parent.mkdir()
        pq.write_table(pa.table({"x": [value], "y": [value]}), tmp_path / name)
    assert [chunk.y.tolist() for chunk in read_parquet_chunks(tmp_path, target="y")] == [[1.0, 2.0]]
    assert read_items(tmp_path).y.tolist() == [1.0, 2.0]
