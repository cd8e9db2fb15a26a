"""Data frames from Parquet files are read some columns at a time, and give what they would give at once."""

from __future__ import annotations

import sys
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

from kernelrank.dask import DaskRankRLS, DaskRankRLSCV
from kernelrank.dask import partitions as column_groups
from kernelrank.dask.partitions import Partitions, joined_columns, largest_partition
from kernelrank.dask.statistics import count_queries
from kernelrank.data import make_ranking
from kernelrank.estimators import RankRLS

X, y, qid = make_ranking(n_queries=30, n_items=(1, 12), n_features=19, n_levels=4, random_state=0)
X = np.asarray(X)
NAMES = [f"x{k}" for k in range(19)]
N_ROWS = len(y)


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.fixture
def small(monkeypatch):
    """Let small partitions count as large."""
    monkeypatch.setattr(column_groups, "SMALL_PARTITION", 0)


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame({**dict(zip(NAMES, X.T, strict=True)), "grade": y, "query": [f"q{q}" for q in qid]})


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """Four files of two row groups each, which cut queries."""
    folder = tmp_path_factory.mktemp("files")
    for number, rows in enumerate(np.array_split(np.arange(N_ROWS), 4)):
        table.iloc[rows].to_parquet(folder / f"{number}.parquet", row_group_size=len(rows) // 2 + 1)
    return folder


@pytest.fixture
def reads(monkeypatch):
    """The columns of every reading, in this process."""
    found = []
    original = pq.ParquetFile.read

    def read(self, columns=None, **options):
        found.append([name for name in columns if name is not None])
        return original(self, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", read)
    return found


def blocks(frame):
    """Return the arrays of all partitions."""
    return dask.compute(*frame.to_delayed(), scheduler="synchronous")


@pytest.mark.parametrize("options", [{}, {"split_row_groups": True}, {"filesystem": "arrow"}, {"index": False}])
def test_a_fit_to_files(client, small, folder, table, options):
    data = dd.read_parquet(folder, **options)
    assert joined_columns(data[NAMES], N_ROWS) is not None
    expected = RankRLS(0.3).fit(table[NAMES], y, qid=qid)
    model = DaskRankRLS(0.3, client=client).fit(data[NAMES], data["grade"], qid=data["query"])
    close(model.coef_, expected.coef_)
    assert list(model.feature_names_in_) == NAMES
    assert (model.n_queries_, model.n_pairs_) == (expected.n_queries_, expected.n_pairs_)


def test_weights_a_basis_and_folds(client, small, folder, table):
    data = dd.read_parquet(folder)
    options = {"kernel": "rbf", "gamma": 0.05, "basis": 9, "random_state": 0}
    weight = table["x0"].abs()
    expected = RankRLS(0.3, **options).fit(table[NAMES], y, qid=qid, sample_weight=weight)
    model = DaskRankRLS(0.3, client=client, **options)
    model.fit(data[NAMES], data["grade"], qid=data["query"], sample_weight=data["x0"].abs())
    np.testing.assert_array_equal(model.basis_, expected.basis_)
    close(model.predict(table[NAMES]), expected.predict(table[NAMES]))
    grid = DaskRankRLSCV([0.1, 10.0, 1e3, 1e5, 1e7], cv=3, scoring="pairwise_accuracy", client=client)
    grid.fit(data[NAMES], data["grade"], qid=data["query"])
    close(grid.coef_, RankRLS(grid.alpha_).fit(table[NAMES], y, qid=qid).coef_)


def test_a_reading_takes_some_columns_and_the_counts_none_of_the_items(small, folder, reads):
    data = dd.read_parquet(folder)
    partitions = Partitions.of(data[NAMES], data["grade"], data["query"])
    dask.compute(*partitions.counted().each(count_queries, ("y", "qid", "weight")), scheduler="synchronous")
    assert {name for columns in reads for name in columns} == {"query"}
    reads.clear()
    sizes = np.full(4, N_ROWS // 4)
    tasks = partitions.in_column_groups(sizes).each(lambda number, *pieces: [len(piece) for piece in pieces[:3]])
    assert len(tasks[0].__dask_graph__()) == 4, "one task for each partition"
    counts = dask.compute(*tasks, scheduler="synchronous")
    assert [count[0] for count in counts] == [count[1] for count in counts]
    assert max(len(columns) for columns in reads) == 3
    assert sorted(name for columns in reads for name in columns) == sorted(4 * [*NAMES, "grade", "query"])
    # While one group is read, the columns that were read before are in the array already.
    last = [columns[-1] for columns in reads if columns[0] in NAMES]
    assert last[:8] == [name for name in NAMES if name in last]


@pytest.mark.parametrize("options", [{}, {"split_row_groups": True}, {"filesystem": "arrow"}])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_take_some_columns_at_a_time(client, small, folder, table, reads, options, outputs):
    data = dd.read_parquet(folder, **options)
    truth = y if outputs == 1 else np.c_[y, -X[:, 0]]
    model = DaskRankRLS(0.3, client=client).fit(da.from_array(X), truth, qid=qid)
    # Dask may take the files in another order.
    place = {value: row for row, value in enumerate(X[:, 0].tolist())}
    order = [place[value] for value in data["x0"].compute(scheduler="synchronous")]
    expected = model.to_local().predict(X)[order]
    found = model.predict(data[NAMES])
    assert largest_partition(data[NAMES]) == (27 if "split_row_groups" in options else 52)
    assert found.ndim == outputs
    reads.clear()
    close(found.compute(scheduler="synchronous"), expected)
    if not options:
        assert max(len(columns) for columns in reads) == 3
        assert sorted({name for columns in reads for name in columns}) == sorted(NAMES)
    if outputs == 1:
        scores = [model.score(data[NAMES], data["grade"], qid=data["query"]), model.score(X, y, qid=qid)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    kept = data["x3"] > 0.2
    close(model.predict(data[kept][NAMES]).compute(scheduler="synchronous"), expected[X[order, 3] > 0.2])


def test_how_many_rows_there_are_is_not_always_known(folder, table):
    assert largest_partition(dd.from_pandas(table, npartitions=2)) is None
    assert largest_partition(dd.read_parquet(folder, filters=[("x3", ">", 0.2)])) is None


def test_rows_that_are_filtered_and_columns_that_are_computed(client, small, folder, table):
    data = dd.read_parquet(folder)
    kept = table["x3"] > 0.2
    expected = RankRLS(0.3).fit(table[kept][NAMES], y[kept], qid=qid[kept])
    for some in (data[data["x3"] > 0.2], dd.read_parquet(folder, filters=[("x3", ">", 0.2)])):
        assert joined_columns(some[NAMES], N_ROWS) is not None
        close(DaskRankRLS(0.3, client=client).fit(some[NAMES], some["grade"], qid=some["query"]).coef_, expected.coef_)
    scaled = (data[NAMES] - 1.0).fillna(0.0) / 3
    assert joined_columns(scaled, N_ROWS) is not None
    expected = RankRLS(0.3).fit((table[NAMES] - 1.0) / 3, y, qid=qid)
    close(DaskRankRLS(0.3, client=client).fit(scaled, data["grade"], qid=data["query"]).coef_, expected.coef_)


def test_types(small, table, tmp_path):
    mixed = pd.DataFrame(
        {"a": table["x0"].astype("float32"), "b": np.arange(N_ROWS, dtype=np.int32), "c": y > 1, "d": table["x1"]}
    )
    mixed.to_parquet(tmp_path / "mixed.parquet")
    data = dd.read_parquet(tmp_path / "mixed.parquet")
    (block,) = blocks(joined_columns(data, N_ROWS))
    assert block.dtype == np.float64
    np.testing.assert_array_equal(block, mixed.to_numpy(dtype=np.float64))
    (block,) = blocks(joined_columns(data[["a"]], N_ROWS))
    assert block.dtype == np.float32
    (block,) = blocks(joined_columns(data[["d", "b"]], N_ROWS))
    np.testing.assert_array_equal(block, mixed[["d", "b"]].to_numpy())


def test_what_is_left_to_dask(client, small, folder, table, monkeypatch):
    data = dd.read_parquet(folder)
    names = NAMES
    others = {
        "memory": dd.from_pandas(table, npartitions=3)[names],
        "words": data[[*names, "query"]],
        "a function of whole partitions": data[names].map_partitions(lambda part: part * 2.0),
        "a shuffle": data.set_index("x0")[names[1:]],
        "several sources": dd.concat([data[names], data[names]]),
        "persisted": client.persist(data)[names],
        "fused before": (data[names] + 1.0).optimize(),
        "nullable numbers": dd.read_parquet(folder, dtype_backend="numpy_nullable")[names],
    }
    for reason, frame in others.items():
        assert joined_columns(frame, N_ROWS) is None, reason
    model = DaskRankRLS(0.3, client=client).fit(others["persisted"], data["grade"], qid=data["query"])
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)
    model.fit(others["a function of whole partitions"], data["grade"], qid=data["query"])
    close(model.coef_, RankRLS(0.3).fit(2 * X, y, qid=qid).coef_)
    assert joined_columns(data[names], N_ROWS) is not None
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "dask.dataframe.dask_expr.io.parquet", None)
        assert joined_columns(data[names], N_ROWS) is None, "a Dask whose expressions live elsewhere"
    monkeypatch.undo()
    assert joined_columns(data[names], N_ROWS) is None, "partitions that are small"


def resident(field):
    """Return the bytes that a process has in memory (VmRSS), or the most that it had (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def forget_the_peak():
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux can forget the peak of a process")
def test_a_worker_needs_less_than_three_partitions(tmp_path):
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
    data, few = (dd.read_parquet(tmp_path / folder) for folder in ("all", "few"))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster, set_as_default=False) as client:
        # What is imported, by this or by the reader, is no part of it.
        DaskRankRLS(client=client).fit(few[names], few["y"], qid=few["q"])
        before = client.run(forget_the_peak)
        DaskRankRLS(client=client).fit(data[names], data["y"], qid=data["q"])
        grown = [after - before[worker] for worker, after in client.run(resident, "VmHWM").items()]
    assert max(grown) < 3 * 8 * rows * width
