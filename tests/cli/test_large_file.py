"""A large file is learnt in batches, and the model is that of all items in memory."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kernelrank.cli import sources
from kernelrank.data import make_ranking
from kernelrank.persistence import load


@pytest.fixture(params=["parquet", "csv"])
def write(tmp_path, request):
    X, y, qid = make_ranking(n_queries=12, n_items=5, n_features=4, random_state=0)
    generator = np.random.default_rng(0)
    columns = {"target": y, "qid": qid, **{f"x{k}": X[:, k] * 3.0**k for k in range(4)}}

    def writer(drop=(), **more):
        order = more.pop("order", np.arange(len(y)))
        kept = {name: np.asarray(values)[order] for name, values in {**columns, **more}.items() if name not in drop}
        path = tmp_path / f"train.{request.param}"
        if request.param == "csv":
            pa.csv.write_csv(pa.table(kept), path)
        else:
            pq.write_table(pa.table(kept), path, row_group_size=17)
        return path

    writer.m, writer.generator = len(y), generator
    return writer


@pytest.fixture
def fitted(run, tmp_path, monkeypatch):
    """Fit in memory and in batches; return both models and answers, and whether the second came in batches."""

    def fit(path, *options):
        found = []
        for size in (1 << 60, 0):
            used = []
            monkeypatch.setattr(sources, "LARGE_BYTES", size)
            of_file = sources.LargeFile
            monkeypatch.setattr(sources, "LargeFile", lambda *a, of=of_file, u=used: u.append(1) or of(*a))
            result = run("fit", path, "-o", tmp_path / "model.kr", "--json", *options)
            monkeypatch.setattr(sources, "LargeFile", of_file)
            found.append((load(tmp_path / "model.kr"), json.loads(result.out), bool(used)))
        return found

    return fit


def assert_same(found):
    (memory, facts, _), (batches, other, _) = found
    steps = [(memory, batches)] if not hasattr(memory, "steps") else zip(memory, batches, strict=True)
    for first, second in steps:
        for name in ("coef_", "mean_", "scale_"):
            if hasattr(first, name):
                np.testing.assert_allclose(getattr(second, name), getattr(first, name), rtol=1e-9, atol=1e-12)
    assert facts == other
    # In batches no medians are known.
    assert {**memory.provenance_, "preparation": None} == {**batches.provenance_, "preparation": None}


@pytest.mark.parametrize(
    ("drop", "options"),
    [
        ((), ()),
        (("qid",), ()),
        ((), ("--scale",)),
        ((), ("--cost", "unit")),
        ((), ("--query-weight", "queries")),
        (("qid",), ("--method", "rls", "--scale")),
    ],
)
def test_the_model_is_that_of_memory(write, fitted, drop, options):
    found = fitted(write(drop), *options)
    assert [in_batches for *_, in_batches in found] == [False, True]
    assert_same(found)


def test_ids_inside_queries(write, fitted):
    found = fitted(write(id=[f"d{item}" for item in range(write.m)]))
    assert found[1][2]
    assert_same(found)


@pytest.mark.parametrize(
    "case", ["weights", "words", "a positive number", "ids without queries", "scattered", "svm", "basis"]
)
def test_what_needs_memory_is_read_into_it(write, fitted, monkeypatch, case):
    monkeypatch.setattr("kernelrank.data.readers.StoredTable.most_rows", 20)
    path, options = {
        "weights": lambda: (write(sample_weight=write.generator.random(write.m)), ()),
        "words": lambda: (write(target=np.where(np.arange(write.m) % 2, "case", "control")), ()),
        "a positive number": lambda: (write(target=np.arange(write.m) % 3), ("--positive", "1")),
        "ids without queries": lambda: (write(("qid",), id=[f"d{item}" for item in range(write.m)]), ()),
        "scattered": lambda: (write(order=write.generator.permutation(write.m)), ()),
        "svm": lambda: (write(), ("--method", "ranksvm")),
        "basis": lambda: (write(), ("--basis", "5")),
    }[case]()
    found = fitted(path, *options)
    assert not found[1][2]
    assert_same(found)


def test_a_fault_is_told_as_in_memory(write, run, tmp_path, monkeypatch):
    path = write(x2=[None if item == 30 else 1.0 for item in range(write.m)])
    told = []
    for size in (1 << 60, 0):
        monkeypatch.setattr(sources, "LARGE_BYTES", size)
        told.append(run("fit", path, "-o", tmp_path / "model.kr", "--missing", "error", code=1).err)
    assert told[0] == told[1]
    assert "column 'x2'" in told[0]
