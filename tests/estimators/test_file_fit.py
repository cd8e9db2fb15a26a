"""A file is fitted as its items in memory are."""

from __future__ import annotations

import gzip
import lzma
import sys
import threading
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from kernelrank.data import make_ranking, write_ranking
from kernelrank.data.readers import StoredRanking, open_stored
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.estimators import RLS, RankRLS, RankSVM, RLSClassifier, streams
from kernelrank.estimators.streams import StreamLearner
from kernelrank.model_selection import RLSCV, RankRLSCV
from kernelrank.persistence import load, save

X, y, qid = make_ranking(n_queries=15, n_items=(1, 12), n_features=5, n_levels=4, random_state=0)
X = np.asarray(X)
NAMES = [f"x{k}" for k in range(5)]
FRAME = pl.DataFrame(X, schema=NAMES).with_columns(
    grade=pl.Series(y), query=pl.Series([f"q{q}" for q in qid]), text=pl.lit("passed over")
)
BASIS = {"kernel": "rbf", "gamma": 0.3}


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(StoredRanking, "chunk_rows", 20)


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "train.parquet"
    FRAME.write_parquet(path)
    return path


@pytest.fixture
def svmlight(tmp_path):
    path = tmp_path / "train.txt"
    write_ranking(path, X, y, qid=qid)
    return path


@pytest.fixture
def scattered(tmp_path):
    """The same items in random order, and their path."""
    order = np.random.default_rng(0).permutation(len(y))
    FRAME[order.tolist()].write_parquet(tmp_path / "scattered.pq")
    write_ranking(tmp_path / "scattered.txt", X[order], y[order], qid=qid[order])
    return tmp_path


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"cost": "unit"}, {"cost": "relative"}])
def test_parquet(parquet, options, query_weight):
    options = {"query_weight": query_weight, **options}
    model = RankRLS(0.3, **options).fit(parquet, y="grade", qid="query")
    expected = RankRLS(0.3, **options).fit(X, y, qid=qid)
    close(model.coef_, expected.coef_)
    assert (model.n_pairs_, model.n_queries_) == (expected.n_pairs_, expected.n_queries_)
    assert model.feature_names_in_.tolist() == NAMES
    close(model.predict(FRAME.select(NAMES)), expected.predict(X))


def test_folder_of_parquet(tmp_path):
    half = int(np.flatnonzero(np.diff(qid))[6]) + 1
    FRAME[:half].write_parquet(tmp_path / "a.parquet")
    FRAME[half:].write_parquet(tmp_path / "b.parquet")
    close(RankRLS(0.3).fit(str(tmp_path), "grade", qid="query").coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_svmlight(svmlight):
    expected = RankRLS(0.3).fit(X, y, qid=qid).coef_
    close(RankRLS(0.3).fit(svmlight).coef_, expected)
    for suffix, compress in (("gz", gzip.compress), ("xz", lzma.compress)):
        packed = svmlight.with_suffix(f".txt.{suffix}")
        packed.write_bytes(compress(svmlight.read_bytes()))
        close(RankRLS(0.3).fit(packed).coef_, expected)


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t"), (".txt", ",")])
def test_text_with_named_columns(tmp_path, suffix, separator):
    path = tmp_path / f"train{suffix}"
    FRAME.write_csv(path, separator=separator)
    expected = RankRLS(0.3).fit(X, y, qid=qid)
    model = RankRLS(0.3).fit(path, "grade", qid="query")
    close(model.coef_, expected.coef_)
    assert model.feature_names_in_.tolist() == NAMES
    if suffix != ".txt":
        packed = tmp_path / f"train{suffix}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        close(RankRLS(0.3).fit(packed, "grade", qid="query").coef_, expected.coef_)
    with pytest.raises(FileFormatError, match=rf"train{suffix}, line 2, column 'text': 'passed over' is not a number"):
        RankRLS(0.3).fit(path, "text", qid="query")
    path.write_bytes(path.read_bytes().replace(b"passed over", b"0.5", 1))
    with pytest.raises(FileFormatError, match=rf"train{suffix}, line 3, column 'text': 'passed over' is not a number"):
        RankRLS(0.3).fit(path, "grade", qid="query")


def test_sparse_text_stays_sparse(tmp_path):
    rare = sparse.random_array((60, 80), density=0.03, format="csr", rng=np.random.default_rng(0))
    rare = sparse.csr_array(sparse.hstack([rare, np.ones((60, 1))]))
    write_ranking(tmp_path / "rare.svm", rare, np.arange(60.0), qid=np.arange(60) // 15)
    stored = open_stored(tmp_path / "rare.svm")
    assert all(sparse.issparse(chunk.X) for chunk in stored.chunks(whole_queries=True))
    expected = RankRLS(0.3).fit(rare.toarray(), np.arange(60.0), qid=np.arange(60) // 15).coef_
    close(RankRLS(0.3).fit(tmp_path / "rare.svm").coef_, expected)


@pytest.mark.parametrize("name", ["train.parquet", "train.csv", "train.txt"])
@pytest.mark.parametrize("basis", [12, [70, 3, 41, 55, 20]], ids=["drawn", "given"])
def test_the_basis_is_that_of_all_items(parquet, svmlight, name, basis):
    FRAME.write_csv(parquet.with_name("train.csv"))
    columns = {} if name == "train.txt" else {"y": "grade", "qid": "query"}
    model = RankRLS(0.3, basis=basis, random_state=0, **BASIS).fit(parquet.with_name(name), **columns)
    expected = RankRLS(0.3, basis=basis, random_state=0, **BASIS).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.basis_, expected.basis_)
    np.testing.assert_array_equal(model.X_fit_, expected.X_fit_)
    close(model.dual_coef_, expected.dual_coef_)


def test_without_queries_a_file_is_one_ranking(parquet, tmp_path):
    expected = RankRLS(0.3).fit(X, y).coef_
    close(RankRLS(0.3).fit(parquet, "grade").coef_, expected)
    write_ranking(tmp_path / "plain.svm", X, y)
    close(RankRLS(0.3).fit(tmp_path / "plain.svm").coef_, expected)
    with pytest.raises(InvalidInputError, match="the only query was in an earlier batch"):
        RankRLS(0.3, ties="exclude").fit(parquet, "grade")


def test_features_are_named_or_left_out(parquet):
    expected = RankRLS(0.3).fit(X[:, [1, 3]], y, qid=qid)
    for chosen in (
        {"features": ["x1", "x3"]},
        {"exclude": ["x0", "x2", "x4"]},
        {"features": ["x*"], "exclude": ["x[024]"]},
    ):
        model = RankRLS(0.3).fit(parquet, "grade", qid="query", **chosen)
        close(model.coef_, expected.coef_)
        assert model.feature_names_in_.tolist() == ["x1", "x3"]
        close(model.predict(parquet), expected.predict(X[:, [1, 3]]))
    close(RLS(0.3).fit(parquet, "grade", features=["x1", "x3"]).coef_, RLS(0.3).fit(X[:, [1, 3]], y).coef_)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("rule", ["median", "mean"])
def test_missing_cells_are_imputed(tmp_path, rule, kind):
    holes = X.copy()
    holes[::7, 1], holes[3::5, 4] = np.nan, np.nan
    frame = pl.DataFrame(holes, schema=NAMES).fill_nan(None).with_columns(grade=pl.Series(y), query=pl.Series(qid))
    path = tmp_path / f"train.{kind}"
    frame.write_parquet(path, row_group_size=10) if kind == "parquet" else frame.write_csv(path)
    fills = np.nanmedian(holes, axis=0) if rule == "median" else np.nanmean(holes, axis=0)
    filled = np.where(np.isnan(holes), fills, holes)
    model = RankRLS(0.3).fit(path, "grade", qid="query", impute=rule)
    close(model.coef_, RankRLS(0.3).fit(filled, y, qid=qid).coef_)
    close(model.predict(path), filled @ model.coef_)
    save(model, tmp_path / "model.kr")
    close(load(tmp_path / "model.kr").predict(path), filled @ model.coef_)
    with pytest.raises(FileFormatError, match=r"column 'x1': the (value is missing|cell is empty)"):
        RankRLS(0.3).fit(path, "grade", qid="query")
    other = frame.with_columns(x0=pl.when(pl.col("x0") > 0).then(pl.col("x0")))
    other.write_parquet(path) if kind == "parquet" else other.write_csv(path)
    if rule == "median":
        with pytest.raises(FileFormatError, match="column 'x0': the value is missing"):
            model.predict(path)
    else:
        assert np.isfinite(model.predict(path)).all()


def test_a_column_without_values_cannot_be_imputed(tmp_path):
    FRAME.with_columns(x2=pl.lit(None, pl.Float64)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="column 'x2': no row has a value: leave the column out with exclude"):
        RankRLS().fit(tmp_path / "a.parquet", "grade", qid="query", impute="mean")


def test_options_of_files_are_refused_in_memory_and_for_svmlight(svmlight):
    for option in ({"features": ["x1"]}, {"exclude": ["x1"]}, {"impute": "mean"}, {"checkpoint": "c.kr"}):
        with pytest.raises(InvalidInputError, match=f"{next(iter(option))} is for files"):
            RankRLS().fit(X, y, qid=qid, **option)
        if "checkpoint" not in option:
            with pytest.raises(InvalidInputError, match="are for files with named columns"):
                RankRLS().fit(svmlight, **option)
    with pytest.raises(InvalidInputError, match="impute must be 'median', 'mean' or None, got 'mode'"):
        RankRLS().fit(svmlight, impute="mode")


@pytest.mark.parametrize("name", ["train.parquet", "train.txt"])
@pytest.mark.parametrize("options", [{}, {"basis": 12, "random_state": 0, **BASIS}], ids=["linear", "basis"])
def test_a_checkpoint_is_gone_on_from(parquet, svmlight, tmp_path, monkeypatch, name, options):
    monkeypatch.setattr(streams, "CHECKPOINT_SECONDS", 0)
    columns = {} if name == "train.txt" else {"y": "grade", "qid": "query"}
    path, checkpoint, learn, learnt = parquet.with_name(name), tmp_path / "c.kr", StreamLearner._learn_batch, []

    def stop_at_the_third(self, *batch):
        learnt.append(len(batch[1]))
        if len(learnt) == 3:
            raise KeyboardInterrupt
        learn(self, *batch)

    monkeypatch.setattr(StreamLearner, "_learn_batch", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        RankRLS(0.3, **options).fit(path, **columns, checkpoint=checkpoint)
    part = load(checkpoint)  # which is a model already
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it has no names of columns yet
        assert part.predict(X).shape == y.shape
    for other, message in (
        (RLS(0.3, **options), "c.kr is no checkpoint of RLS"),
        (RankRLS(0.3, cost="unit", **options), "cost='auto' in the first batch and cost='unit' now"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            other.fit(path, **({"y": "grade"} if columns else {}), checkpoint=checkpoint)
    model = RankRLS(0.3, **options).fit(path, **columns, checkpoint=checkpoint)
    assert sum(learnt) == len(y) + learnt[2]
    assert not checkpoint.exists()
    whole = RankRLS(0.3, **options).fit(path, **columns)
    np.testing.assert_array_equal(model.predict(path), whole.predict(path))
    assert vars(model).keys() == vars(whole).keys()


def test_a_checkpoint_of_other_items_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(streams, "CHECKPOINT_SECONDS", 0)

    def batches(factor=1.0, stop=15, shift=0):
        for q in range(stop):
            if q == 9 and factor == 1.0 and stop == 15 and not shift:
                raise KeyboardInterrupt
            yield X[qid == q] * factor, y[qid == q], qid[qid == q] + shift

    with pytest.raises(KeyboardInterrupt):
        RankRLS().fit_stream(batches(), checkpoint=tmp_path / "c.kr")
    for other in (batches(2.0), batches(stop=5), batches(shift=100)):
        with pytest.raises(InvalidInputError, match="the checkpoint of a fit to other items, or in other batches"):
            RankRLS().fit_stream(other, checkpoint=tmp_path / "c.kr")
    assert (tmp_path / "c.kr").exists()
    save(RankRLS().fit(X, y, qid=qid), tmp_path / "c.kr")
    with pytest.raises(InvalidInputError, match="no checkpoint of RankRLS: give another file"):
        RankRLS().fit_stream(batches(), checkpoint=tmp_path / "c.kr")


def test_regression_from_files(parquet, scattered):
    close(RLS(0.3).fit(parquet, "grade").coef_, RLS(0.3).fit(X, y).coef_)
    np.testing.assert_allclose(RLS(0.3).fit(scattered / "scattered.txt").coef_, RLS(0.3).fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize(("name", "columns"), [("scattered.pq", {"y": "grade", "qid": "query"}), ("scattered.txt", {})])
def test_a_query_that_comes_back(scattered, name, columns):
    with pytest.raises(
        InvalidInputError, match=rf"{name}, from row \d+ on: query .* was in an earlier batch: .*mergeable"
    ):
        RankRLS(0.3).fit(scattered / name, **columns)
    merged = RankRLS(0.3).fit(scattered / name, **columns, queries="mergeable")
    close(merged.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_mapped_arrays(tmp_path):
    for name, values in (("X", X), ("y", y), ("q", qid)):
        np.save(tmp_path / f"{name}.npy", values)
    for model in (RankRLS(0.3), RankRLS(0.3, cost="unit", solver="spectral")):
        expected = model.fit(X, y, qid=qid).coef_.copy()
        close(model.fit(tmp_path / "X.npy", y, qid=qid).coef_, expected)
        close(model.fit(tmp_path / "X.npy", tmp_path / "y.npy", qid=str(tmp_path / "q.npy")).coef_, expected)
    close(RLS(kernel="rbf").fit(tmp_path / "X.npy", y).dual_coef_, RLS(kernel="rbf").fit(X, y).dual_coef_)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(FileFormatError, match=r"text\.npy: expected a NumPy array file"):
        RankRLS().fit(tmp_path / "text.npy", y)
    with pytest.raises(FileFormatError, match=r"absent\.npy: there is no such file"):
        RankRLS().fit(tmp_path / "absent.npy", y)


def test_what_is_wrong_is_named(parquet, svmlight, tmp_path):
    for name in ("absent.parquet", "absent.txt", "absent"):
        with pytest.raises(FileFormatError, match=f"{name}: there is no such file or folder"):
            RankRLS().fit(tmp_path / name, "grade")
    with pytest.raises(FileFormatError, match="there is no column 'score' for the target; the columns are 'x0', 'x1'"):
        RankRLS().fit(parquet, "score", qid="query")
    with pytest.raises(FileFormatError, match="there is no column 'topic'"):
        RankRLS().fit(parquet, "grade", qid="topic")
    with pytest.raises(
        InvalidInputError, match="y must be the name of its column of scores, got NoneType; the columns"
    ):
        RankRLS().fit(parquet)
    with pytest.raises(InvalidInputError, match="qid must be the name of its column of queries, got ndarray"):
        RankRLS().fit(parquet, "grade", qid=qid)
    with pytest.raises(InvalidInputError, match=r"y was given, but .*train\.txt holds the scores"):
        RankRLS().fit(svmlight, y)
    with pytest.raises(InvalidInputError, match=r"qid was given, but .*train\.txt holds the scores"):
        RankRLS().fit(svmlight, qid="query")
    with pytest.raises(InvalidInputError, match="sample_weight is not supported when X is a path"):
        RankRLS().fit(svmlight, sample_weight=np.ones(len(y)))
    (tmp_path / "notes.doc").write_bytes(b"PK\x03\x04")
    with pytest.raises(FileFormatError, match=r"notes\.doc: a zip file, as Excel sheets"):
        RankRLS().fit(tmp_path / "notes.doc")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match="the folder has no Parquet file"):
        RankRLS().fit(tmp_path / "empty", "grade")
    FRAME[:0].write_parquet(tmp_path / "rowless.parquet")
    with pytest.raises(FileFormatError, match="the file has no rows"):
        RankRLS().fit(tmp_path / "rowless.parquet", "grade")
    (tmp_path / "broken.txt").write_text("1 qid:1 1:1\n1 qid:1 one:1\n")
    with pytest.raises(FileFormatError, match=r"broken\.txt, line 2"):
        RankRLS().fit(tmp_path / "broken.txt")


def test_what_cannot_be_learnt_in_batches_is_named(svmlight):
    with pytest.raises(InvalidInputError, match=r"kernel='rbf' without a basis .* give basis=1000"):
        RankRLS(kernel="rbf").fit(svmlight)
    with pytest.raises(InvalidInputError, match="precomputed"):
        RankRLS(kernel="precomputed").fit(svmlight)
    for model in (RankRLSCV(), RLSCV(), RLSClassifier(), RankSVM()):
        with pytest.raises(InvalidInputError, match="Expected an array of items; got the path"):
            model.fit(str(svmlight), y)
    for name in ("fit_stream", "forget", "partial_fit"):
        assert not hasattr(RankRLSCV(), name)


def test_too_many_columns_for_a_stream():
    wide = sparse.csr_array(([1.0], ([0], [30_000])), shape=(2, 30_001))
    with pytest.raises(InvalidInputError, match=r"streaming 30,001 columns would keep .* 7 GB"):
        RankRLS().partial_fit(wide, [1.0, 2.0], qid=["a", "a"])


@pytest.mark.parametrize("fitted", [True, False])
def test_an_interrupt_leaves_the_estimator_as_it_was(fitted):
    def batches():
        yield X[:20], y[:20], qid[:20] + 100
        raise KeyboardInterrupt

    model = RankRLS(0.3)
    if fitted:
        model.partial_fit(X, y, qid=qid)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(batches())
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    if fitted:
        model.forget(X[qid == 0], y[qid == 0], qid=qid[qid == 0])
        close(model.coef_, RankRLS(0.3).fit(X[qid != 0], y[qid != 0], qid=qid[qid != 0]).coef_)


def test_a_terminal_shows_the_rows(parquet, svmlight, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    model = RankRLS(0.3, basis=5, random_state=0, **BASIS).fit(parquet, "grade", qid="query")
    shown = capsys.readouterr().err
    for words in ("basis of train.parquet", "learning train.parquet", f"{len(y)} of {len(y)} rows"):
        assert words in shown
    RankRLS(0.3).fit(svmlight)
    assert "looking through train.txt" in capsys.readouterr().err
    model.fit_stream([(X[:30], y[:30], qid[:30])])
    assert "30 rows" in capsys.readouterr().err


def test_an_error_ends_the_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    before = set(threading.enumerate())
    drawing = set()

    def batches():
        yield X[:20], y[:20], qid[:20]
        drawing.update(set(threading.enumerate()) - before)
        yield X[:20], y[:20], qid[:20]

    with pytest.raises(InvalidInputError, match=r"batch 1: query .* was in an earlier batch") as caught:
        RankRLS().fit_stream(batches())
    assert drawing
    for thread in drawing:
        thread.join(5)  # with the traceback, and so the loop's frame, still alive
        assert not thread.is_alive(), caught.traceback
    assert "learning batches" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train.parquet", "train.csv", "train.txt"])
@pytest.mark.parametrize("kind", [RankRLS, RLS, RLSClassifier, RankSVM], ids=lambda kind: kind.__name__)
def test_a_file_is_predicted_and_scored_as_its_items_are(parquet, svmlight, name, kind):
    path = parquet.with_name(name)
    FRAME.select(["text", *NAMES[::-1], "query", "grade"]).write_csv(parquet.with_name("train.csv"))
    named = FRAME.select(NAMES) if name != "train.txt" else X
    model = kind().fit(named, y, qid=qid)
    close(model.predict(path), model.predict(named))
    columns = {"y": None} if name == "train.txt" else {"y": "grade", "qid": "query"}
    close(model.score(path, **columns), model.score(named, y, qid=qid))


def test_prediction_of_files_without_known_names(parquet, svmlight, tmp_path):
    model = RankRLS(0.3).fit(X, y, qid=qid)
    FRAME.select(NAMES).write_csv(tmp_path / "new.csv")
    close(model.predict(tmp_path / "new.csv"), model.predict(X))
    with pytest.raises(FileFormatError, match=r"train\.parquet: expected 5 feature columns; got 6"):
        model.predict(parquet)
    np.save(tmp_path / "X.npy", X)
    close(model.predict(str(tmp_path / "X.npy")), model.predict(X))
    close(model.score(tmp_path / "X.npy", y, qid=qid), model.score(X, y, qid=qid))
    with pytest.raises(InvalidInputError, match="so score needs qid"):
        RankRLS(0.3).fit(parquet, "grade", qid="query").score(parquet, "grade")
    with pytest.raises(InvalidInputError, match="y must be the name of its column of scores, got NoneType"):
        RankRLS(0.3).fit(parquet, "grade", qid="query").score(parquet, None, qid="query")
    FRAME.drop("x0").write_csv(tmp_path / "less.csv")
    with pytest.raises(FileFormatError, match="there is no column 'x0' for the features"):
        RankRLS(0.3).fit(parquet, "grade", qid="query").predict(tmp_path / "less.csv")


def test_a_column_that_is_empty_at_first_is_not_left_out_in_silence(tmp_path):
    path = tmp_path / "late.csv"
    rows = [f"{row % 3},{row},{'' if row < 9_000 else row}" for row in range(10_000)]
    path.write_text("\n".join(["y,age,late", *rows]))
    with pytest.raises(FileFormatError, match="line 2, column 'late': the cell is empty"):
        RankRLS().fit(path, "y")
