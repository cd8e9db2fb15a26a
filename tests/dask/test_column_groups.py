"""A path of Parquet files is read some columns at a time, in about three partitions of memory."""

from __future__ import annotations

from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

from kernelrank.dask import DaskRankRLS
from kernelrank.dask.partitions import Partitions
from kernelrank.dask.statistics import count_queries

N_ROWS = 200
NAMES = [f"x{k}" for k in range(19)]


@pytest.fixture
def folder(tmp_path):
    """Four files, which cut queries."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((N_ROWS, len(NAMES))), columns=NAMES)
    table = table.assign(grade=rng.integers(4, size=N_ROWS), query=[f"q{k // 7}" for k in range(N_ROWS)])
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 4)):
        table.iloc[rows].to_parquet(tmp_path / f"{number}.parquet")
    return tmp_path


def test_a_reading_takes_some_columns_and_the_counts_none_of_the_items(folder, monkeypatch):
    reads = []
    original = pq.ParquetFile.read

    def read(self, columns=None, **options):
        reads.append([name for name in columns if name is not None])
        return original(self, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", read)
    partitions = Partitions.of(folder, "grade", "query")
    dask.compute(*partitions.counted().each(count_queries, ("y", "qid", "weight")), scheduler="synchronous")
    assert {name for columns in reads for name in columns} == {"query"}
    reads.clear()
    tasks = partitions.each(lambda number, *pieces: [len(piece) for piece in pieces[:3]])
    counts = dask.compute(*tasks, scheduler="synchronous")
    assert counts == 4 * ([N_ROWS // 4] * 3,)
    assert max(len(columns) for columns in reads) == 3
    assert sorted(name for columns in reads for name in columns) == sorted(4 * [*NAMES, "grade", "query"])


def test_types(tmp_path):
    mixed = pd.DataFrame({"a": np.float32([1, 2, 3]), "b": np.int32([4, 5, 6]), "c": pd.array([7, None, 9], "Int64")})
    mixed.assign(y=[1, 2, 3]).to_parquet(tmp_path / "mixed.parquet")
    mixed[["a"]].assign(y=[1, 2, 3]).to_parquet(tmp_path / "single.parquet")
    for name, dtype in (("mixed", np.float64), ("single", np.float32)):
        partitions = Partitions.of(tmp_path / f"{name}.parquet", "y")
        (block,) = dask.compute(*partitions.each(lambda number, X: X, ("X",)), scheduler="synchronous")
        assert block.dtype == dtype
        np.testing.assert_array_equal(block, mixed[list(partitions.names)].to_numpy(np.float64, na_value=np.nan))


def resident(field):
    """Return the bytes that a process has in memory (VmRSS), or the most that it had (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def forget_the_peak():
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can forget the peak of a process")
def test_a_worker_needs_about_three_partitions(tmp_path):
    rng = np.random.default_rng(0)
    rows, width = 60_000, 48
    names = [f"x{k}" for k in range(width)]
    for folder in ("all", "few"):
        (tmp_path / folder).mkdir()
    for number in range(4):
        part = pd.DataFrame(rng.standard_normal((rows, width)), columns=names)
        part = part.assign(y=part["x0"], q=np.arange(number * rows, (number + 1) * rows) // 37)
        part.to_parquet(tmp_path / "all" / f"{number}.parquet")
        part[:50].to_parquet(tmp_path / "few" / f"{number}.parquet")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster, set_as_default=False) as client:
        # What is imported, by this or by the reader, is no part of it.
        DaskRankRLS(client=client).fit(tmp_path / "few", "y", qid="q")
        before = client.run(forget_the_peak)
        DaskRankRLS(client=client).fit(tmp_path / "all", "y", qid="q")
        grown = [after - before[worker] for worker, after in client.run(resident, "VmHWM").items()]
    assert max(grown) < 4 * 8 * rows * width
