"""A stream of batches gives the model of one fit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from kernelrank.data import make_ranking, read_parquet_chunks, read_ranking_chunks, write_ranking
from kernelrank.errors import FileFormatError, InvalidInputError, NothingToCompareError
from kernelrank.estimators import RLS, RankRLS, RLSClassifier

X, y, qid = make_ranking(n_queries=15, n_items=(1, 12), n_features=5, n_levels=4, random_state=0)
X = np.asarray(X)
BASIS = {"kernel": "rbf", "gamma": 0.3}


def cuts(seed, whole=True):
    """Cut the items into batches, between queries or anywhere."""
    rng = np.random.default_rng(seed)
    places = np.flatnonzero(np.diff(qid)) + 1 if whole else np.arange(2, len(y) - 2)
    chosen = np.sort(rng.choice(places, size=4, replace=False))
    return np.split(np.arange(len(y)), chosen)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"cost": "unit"}, {"cost": "relative"}])
def test_batches_of_whole_queries(seed, query_weight, options):
    model = RankRLS(0.3, query_weight=query_weight, **options)
    expected = RankRLS(0.3, query_weight=query_weight, **options).fit(X, y, qid=qid)
    for items in cuts(seed):
        model.partial_fit(X[items], y[items], qid=qid[items])
    close(model.coef_, expected.coef_)
    assert (model.n_queries_, model.n_pairs_) == (expected.n_queries_, expected.n_pairs_)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_queries_that_go_on_are_merged(seed, query_weight):
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, size=len(y))
    order = np.random.default_rng(seed).permutation(len(y))
    model = RankRLS(0.3, query_weight=query_weight)
    for part in np.array_split(order, 3):
        model.partial_fit(X[part], y[part], qid=qid[part], sample_weight=weight[part], queries="mergeable")
    expected = RankRLS(0.3, query_weight=query_weight).fit(X, y, qid=qid, sample_weight=weight)
    close(model.coef_, expected.coef_)


def test_one_ranking_without_queries_is_mergeable():
    model = RankRLS(0.3)
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(X[part], y[part], queries="mergeable")
    close(model.coef_, RankRLS(0.3).fit(X, y).coef_)


def test_several_outputs_and_sparse_items():
    Y = np.column_stack([y, X[:, 0]])
    model = RankRLS(0.3)
    for items in cuts(1):
        model.partial_fit(sparse.csr_array(X[items]), Y[items], qid=qid[items])
    np.testing.assert_allclose(model.coef_, RankRLS(0.3).fit(X, Y, qid=qid).coef_, rtol=1e-8, atol=1e-10)


def test_a_basis_is_chosen_from_the_first_batch_and_stays():
    first = np.concatenate(cuts(2)[:2])
    rest = np.setdiff1d(np.arange(len(y)), first)
    model = RankRLS(0.3, basis=10, random_state=0, **BASIS)
    model.partial_fit(X[first], y[first], qid=qid[first])
    basis = model.basis_
    model.partial_fit(X[rest], y[rest], qid=qid[rest])
    expected = RankRLS(0.3, basis=first[basis], **BASIS).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9, atol=1e-10)


def test_regression_knows_no_queries():
    model = RLS(0.3)
    for part in np.array_split(np.arange(len(y)), 3):
        model.partial_fit(X[part], y[part])
    close(model.coef_, RLS(0.3).fit(X, y).coef_)
    assert not hasattr(RLSClassifier(), "partial_fit")


def test_what_is_forgotten_was_never_learnt():
    model = RankRLS(0.3).partial_fit(X, y, qid=qid)
    gone = np.isin(qid, np.unique(qid)[3:6])
    model.forget(X[gone], y[gone], qid=qid[gone])
    close(model.coef_, RankRLS(0.3).fit(X[~gone], y[~gone], qid=qid[~gone]).coef_)
    with pytest.raises(InvalidInputError, match="was not in any earlier batch"):
        model.forget(X[gone], y[gone], qid=qid[gone])
    model.partial_fit(X[gone], y[gone], qid=qid[gone])
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_what_cannot_be_streamed_says_so():
    model = RankRLS().partial_fit(X, y, qid=qid)
    before = model.coef_.copy()
    with pytest.raises(InvalidInputError, match="was in an earlier batch: give each query in one batch"):
        model.partial_fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(InvalidInputError, match="the first batch had queries='whole'"):
        model.partial_fit(X, y, qid=qid + 100, queries="mergeable")
    with pytest.raises(InvalidInputError, match="2 outputs, but the first batch had 1"):
        model.partial_fit(X, np.column_stack([y, y]), qid=qid + 100)
    assert not hasattr(RankRLS(kernel="rbf"), "partial_fit")
    with pytest.raises(InvalidInputError, match="needs cost='magnitude' and ties='include'"):
        RankRLS(ties="exclude").partial_fit(X, y, qid=qid, queries="mergeable")
    with pytest.raises(InvalidInputError, match="the stream is empty"):
        RankRLS().fit_stream([])
    with pytest.raises(InvalidInputError, match="expected earlier calls of partial_fit"):
        RankRLS().forget(X, y, qid=qid)


def test_a_batch_may_have_nothing_to_compare_but_not_all_of_them():
    lonely = RankRLS(0.3)
    with pytest.raises(NothingToCompareError, match="no query of any batch"):
        lonely.partial_fit(X[:1], y[:1], qid=["alone"])
    assert not hasattr(lonely, "_stream")
    model = RankRLS(0.3).fit_stream([(X[:1], y[:1], ["alone"]), (X, y, [f"q{q}" for q in qid])])
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_a_fit_ends_the_stream():
    model = RankRLS(0.3).partial_fit(X, y, qid=qid).fit(X, y, qid=qid)
    first, rest = np.split(np.arange(len(y)), [np.flatnonzero(np.diff(qid))[4] + 1])
    with pytest.warns(UserWarning, match="partial_fit starts again"):
        model.partial_fit(X[first], y[first], qid=qid[first])
    close(model.coef_, RankRLS(0.3).fit(X[first], y[first], qid=qid[first]).coef_)
    close(model.partial_fit(X[rest], y[rest], qid=qid[rest]).coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_files_larger_than_a_chunk(tmp_path):
    expected = RankRLS(0.3).fit(X, y, qid=qid).coef_
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(5)]).with_columns(
        grade=pl.Series(y), query=pl.Series([f"q{q}" for q in qid]), text=pl.lit("ignored")
    )
    frame.write_parquet(tmp_path / "train.parquet")
    chunks = list(read_parquet_chunks(tmp_path / "train.parquet", target="grade", query="query", chunk_rows=20))
    assert len(chunks) > 2
    close(RankRLS(0.3).fit_stream(chunks).coef_, expected)
    (tmp_path / "parts").mkdir()
    half = int(np.flatnonzero(np.diff(qid))[6]) + 1
    frame[:half].write_parquet(tmp_path / "parts" / "a.parquet")
    frame[half:].write_parquet(tmp_path / "parts" / "b.parquet")
    stream = read_parquet_chunks(tmp_path / "parts", target="grade", query="query")
    close(RankRLS(0.3).fit_stream(stream).coef_, expected)
    write_ranking(tmp_path / "train.txt", X, y, qid=qid)
    stream = read_ranking_chunks(tmp_path / "train.txt", chunk_rows=20, whole_queries=True, sparse=False)
    close(RankRLS(0.3).fit_stream(stream).coef_, expected)


def test_bad_parquet_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    with pytest.raises(FileFormatError, match="no such file"):
        next(read_parquet_chunks(path, target="y"))
    path.write_bytes(b"no parquet at all")
    with pytest.raises(FileFormatError, match="not a Parquet file"):
        next(read_parquet_chunks(path, target="y"))
    pl.DataFrame({"a": [1.0, None], "y": [1.0, 2.0]}).write_parquet(path)
    with pytest.raises(FileFormatError, match="no column 'z' for the target; the columns are 'a', 'y'"):
        next(read_parquet_chunks(path, target="z"))
    with pytest.raises(FileFormatError, match="row 2 in row group 1 of 1, column 'a': the value is missing"):
        next(read_parquet_chunks(path, target="y"))


def test_columns_far_from_zero_are_merged_without_loss():
    far = X + 1e9
    near = far - 1e9  # the same numbers less a constant, exactly
    model = RankRLS(0.3)
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        model.partial_fit(far[part], y[part], qid=qid[part], queries="mergeable")
    np.testing.assert_allclose(model.coef_, RankRLS(0.3).fit(near, y, qid=qid).coef_, rtol=1e-11)
