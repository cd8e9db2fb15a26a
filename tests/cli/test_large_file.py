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
from kernelrank.estimators import streams
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
        for name in ("coef_", "dual_coef_", "X_fit_", "mean_", "scale_"):
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
        ((), ("--basis", "5")),
        ((), ("--kernel", "rbf", "--gamma", "0.1", "--basis", "5", "--scale")),
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
    "case", ["weights", "words", "a positive number", "ids without queries", "scattered", "svm", "a rule for gamma"]
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
        "a rule for gamma": lambda: (write(), ("--kernel", "rbf", "--gamma", "median", "--basis", "5")),
    }[case]()
    found = fitted(path, *options)
    assert not found[1][2]
    assert_same(found)


@pytest.mark.parametrize("rule", ["median", "mean"])
def test_missing_cells_are_imputed_as_in_memory(write, fitted, run, tmp_path, rule):
    path = write(x2=[None if item % 7 == 3 else item**0.5 for item in range(write.m)])
    found = fitted(path, "--missing", rule, "--scale")
    assert found[1][2]
    # In memory the answer has the note on other tables too.
    notes = [facts.pop("notes") for _, facts, _ in found]
    assert f"missing cells became the {rule} of their column ('x2' 9)" in notes[1][0]
    assert notes[1][0] in notes[0][0]
    assert_same(found)
    scores = run("predict", tmp_path / "model.kr", path).out
    scaler, ranker = found[0][0]
    values = pa.csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    X = values.select([f"x{k}" for k in range(4)]).to_pandas().to_numpy(copy=True)
    X[np.isnan(X)] = np.nanmedian(X[:, 2]) if rule == "median" else np.nanmean(X[:, 2])
    np.testing.assert_allclose([float(line) for line in scores.split()], ranker.predict(scaler.transform(X)))


def test_folders_are_learnt_in_batches(run, tmp_path, monkeypatch):
    X, y, qid = make_ranking(n_queries=12, n_items=5, n_features=2, random_state=0)
    (tmp_path / "parts").mkdir()
    for part in (0, 1):
        chosen = (qid > np.median(qid)) == part
        table = {"target": y[chosen], "qid": qid[chosen], "a": X[chosen, 0], "b": X[chosen, 1]}
        pq.write_table(pa.table(table), tmp_path / "parts" / f"{part}.parquet")
    coefficients = []
    for size in (1 << 60, 0):
        monkeypatch.setattr(sources, "LARGE_BYTES", size)
        run("fit", tmp_path / "parts", "-o", tmp_path / "model.kr")
        coefficients.append(load(tmp_path / "model.kr").coef_)
    np.testing.assert_allclose(coefficients[0], coefficients[1], rtol=1e-9)


def test_the_same_command_goes_on_from_a_checkpoint(write, run, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelrank.data.readers.StoredTable.most_rows", 20)
    monkeypatch.setattr(streams, "CHECKPOINT_SECONDS", 0)
    path, model, checkpoint = write(), tmp_path / "model.kr", tmp_path / "fit.checkpoint"
    learn, learnt = streams.StreamLearner._learn_batch, []

    def stop_at_the_third(self, *batch):
        if len(learnt) == 2:
            learnt.append("a power cut")
            raise KeyboardInterrupt
        learnt.append(len(batch[1]))
        learn(self, *batch)

    monkeypatch.setattr(streams.StreamLearner, "_learn_batch", stop_at_the_third)
    options = ("--basis", "5", "--kernel", "rbf", "--scale", "--checkpoint", checkpoint, "-o", model)
    run("fit", path, *options, code=130)
    assert checkpoint.exists()
    assert not model.exists()
    run("fit", path, *options)
    assert learnt == [20, 20, "a power cut", 20]
    assert not checkpoint.exists()
    found = load(model)[-1]
    run("fit", path, *options[:-3], tmp_path / "other", "-o", model)
    np.testing.assert_array_equal(found.dual_coef_, load(model)[-1].dual_coef_)


@pytest.mark.parametrize("options", [("--kernel", "rbf"), ("--method", "ranksvm"), ("--missing-values", "-9")])
def test_a_checkpoint_of_what_is_learnt_in_memory_is_refused(write, run, tmp_path, options):
    told = run("fit", write(), "--checkpoint", tmp_path / "c", *options, code=1).err
    assert "--checkpoint is for fits in batches: expected a Parquet, CSV or TSV file" in told


def test_a_fault_is_told_as_in_memory(write, run, tmp_path, monkeypatch):
    path = write(x2=[None if item == 30 else 1.0 for item in range(write.m)])
    told = []
    for size in (1 << 60, 0):
        monkeypatch.setattr(sources, "LARGE_BYTES", size)
        told.append(run("fit", path, "-o", tmp_path / "model.kr", "--missing", "error", code=1).err)
    assert told[0] == told[1]
    assert "column 'x2'" in told[0]
