"""Parquet files are read in chunks, and what has been read is let go."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelrank.data import read_items, read_parquet_chunks
from kernelrank.data.parquet_items import read_parquet_items
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
    ((X, _),) = read_parquet_items(path, query="q", features=None)
    np.testing.assert_array_equal(X, frame[["x", "y"]])
    if name is None:
        np.testing.assert_array_equal(read_items(path, target="y", query="q").X, chunk.X)


def test_decimal_numbers_are_numbers(tmp_path):
    numbers = pa.array([Decimal("1.25"), Decimal("-3.5"), Decimal("0")])
    table = pa.table({"price": numbers, "age": [1.0, 2.0, 3.0], "score": numbers, "query": [1, 1, 2]})
    pq.write_table(table, tmp_path / "sold.parquet")
    chunks = list(read_parquet_chunks(tmp_path / "sold.parquet", target="score", query="query", chunk_rows=2))
    assert np.concatenate([chunk.X for chunk in chunks]).tolist() == [[1.25, 1.0], [-3.5, 2.0], [0.0, 3.0]]
    assert np.concatenate([chunk.y for chunk in chunks]).tolist() == [1.25, -3.5, 0.0]
    ((X, _),) = read_parquet_items(tmp_path / "sold.parquet", query="query", features=["price"])
    assert X.tolist() == [[1.25], [-3.5], [0.0]]
    assert read_items(tmp_path / "sold.parquet").X.tolist() == [[1.25, 1.0], [-3.5, 2.0], [0.0, 3.0]]
