"""Unscored items in every form give the same model, wherever blocks cut a query."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kernelrank.data import Ranking, make_ranking
from kernelrank.errors import FileFormatError, InvalidInputError, NothingToCompareError
from kernelrank.estimators import CoRankRLS
from kernelrank.estimators import unscored as unscored_items
from kernelrank.features import View
from tests.oracles.co_rank_rls import OracleView, fit_predict

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

X, y, qid = make_ranking(n_queries=5, n_items=(2, 6), n_features=3, random_state=0)
X_u, _, qid_u = make_ranking(n_queries=9, n_items=(1, 14), n_features=3, random_state=1)
new = np.random.default_rng(2).normal(size=(5, 3))
VIEWS = [View(gamma=0.2, basis=[0, 2, 4]), View("poly", degree=2, basis=[1, 3, 5, 6])]


def fit(unscored, qid_unscored=None, items=X, **options):
    return CoRankRLS(0.1, 0.05, views=VIEWS, **options).fit(
        items, y, qid=qid, X_unscored=unscored, qid_unscored=qid_unscored
    )


@pytest.fixture(params=["pairs", "items", "queries"])
def weight(request):
    return request.param


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Pieces of five rows, so that queries go on from piece to piece."""
    monkeypatch.setattr(unscored_items, "PIECE_BYTES", 8 * 7 * 5)


def expected(weight="pairs", labels=qid_u):
    from sklearn.metrics.pairwise import pairwise_kernels

    kernels = [
        lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.2),
        lambda A, B: pairwise_kernels(A, B, metric="poly", degree=2, coef0=1.0),
    ]
    views = [OracleView.of(k, X, X_u, new, X[view.basis]) for k, view in zip(kernels, VIEWS, strict=True)]
    return fit_predict(views, y, qid, labels, 0.1, 0.05, query_weight=weight)


def assert_same(model, scores):
    np.testing.assert_allclose(model.predict_views(new), scores, rtol=0, atol=1e-8 * np.abs(scores).max())
    assert model.n_unscored_ == len(X_u)


def cuts(*places):
    for start, stop in zip([0, *places], [*places, len(X_u)], strict=True):
        yield X_u[start:stop], qid_u[start:stop]


def test_array_in_any_order(weight):
    order = np.random.default_rng(0).permutation(len(X_u))
    assert_same(fit(X_u, qid_u, query_weight=weight), expected(weight))
    assert_same(fit(X_u[order], [f"q{q}" for q in qid_u[order]], query_weight=weight), expected(weight))


@pytest.mark.parametrize("places", [(), (1,), (7, 8, 9, 30), tuple(range(1, len(X_u)))], ids=str)
def test_blocks_cut_anywhere(weight, places):
    assert_same(fit(cuts(*places), query_weight=weight), expected(weight))
    assert_same(fit(list(cuts(*places)), query_weight=weight), expected(weight))


def test_one_query_larger_than_every_piece(weight):
    one = np.zeros(len(X_u))
    assert_same(fit(X_u, None, query_weight=weight), expected(weight, one))
    assert_same(fit(((X, None) for X, _ in cuts(10, 20, 21)), query_weight=weight), expected(weight, one))


def test_memory_map(tmp_path):
    path = tmp_path / "items.npy"
    np.save(path, X_u)
    assert_same(fit(np.load(path, mmap_mode="r"), qid_u), expected())


def test_sparse_frames_and_chunks():
    assert_same(fit(sparse.csr_array(X_u), qid_u), expected())
    assert_same(fit(((sparse.csr_array(block), labels) for block, labels in cuts(11))), expected())
    assert_same(fit(X_u.tolist(), qid_u.tolist()), expected())
    assert_same(fit(Ranking(block, None, labels, None) for block, labels in cuts(3, 17)), expected())


def table(names=("a", "b", "c"), labels=qid_u, **more):
    columns = {name: X_u[:, k] for k, name in enumerate(names)}
    return pa.table({**columns, "query": labels, **more})


def test_parquet_file_and_folder(tmp_path, weight):
    pq.write_table(table(), tmp_path / "items.parquet", row_group_size=7)
    assert_same(fit(tmp_path / "items.parquet", "query", query_weight=weight), expected(weight))
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(table().slice(0, 20), folder / "0.parquet")
    pq.write_table(table().slice(20), folder / "1.parquet")
    assert_same(fit(str(folder), "query", query_weight=weight), expected(weight))


def test_parquet_columns_are_found_by_name(tmp_path):
    pq.write_table(table(other=np.arange(len(X_u))).select(["c", "query", "other", "b", "a"]), tmp_path / "x.parquet")
    frame = pd.DataFrame(X, columns=[*"abc"])
    model = CoRankRLS(0.1, 0.05, views=VIEWS).fit(
        frame, y, qid=qid, X_unscored=tmp_path / "x.parquet", qid_unscored="query"
    )
    found = model.predict_views(pd.DataFrame(new, columns=[*"abc"]))
    np.testing.assert_allclose(found, expected(), rtol=0, atol=1e-8 * np.abs(expected()).max())


def test_a_stream_gives_its_first_block_to_the_bases():
    model = CoRankRLS(basis=13, random_state=0).fit(X, y, qid=qid, X_unscored=cuts(15, 16))
    same = CoRankRLS(basis=13, random_state=0).fit(X, y, qid=qid, X_unscored=cuts(15))
    assert max(basis.max() for basis in model.basis_) >= len(X)
    np.testing.assert_allclose(model.predict(new), same.predict(new), rtol=1e-9)
    whole = CoRankRLS(basis="all").fit(X, y, qid=qid, X_unscored=cuts(15))
    larger = CoRankRLS(basis=len(X) + 99).fit(X, y, qid=qid, X_unscored=cuts(15))
    np.testing.assert_allclose(larger.predict(new), whole.predict(new), rtol=1e-9)
    shares = CoRankRLS(basis=None, views=3).fit(X, y, qid=qid, X_unscored=cuts(15))
    assert [len(basis) for basis in shares.basis_] == [min(100, (len(X) + 15) // 3)] * 3


def test_a_query_must_not_return():
    blocks = [(X_u[:4], [1, 1, 2, 2]), (X_u[4:8], [2, 3, 1, 1])]
    with pytest.raises(
        InvalidInputError, match=r"X_unscored, block 1: query 1 occurs again after other queries: in a stream"
    ):
        fit(blocks)
    with pytest.raises(InvalidInputError, match=r"block 0: the items of query 'a' are not contiguous"):
        fit([(X_u[:3], ["a", "b", "a"])])


def test_blocks_that_cannot_be_read():
    with pytest.raises(InvalidInputError, match="block 1: X has 2 features, but CoRankRLS is expecting 3"):
        fit([(X_u[:4], qid_u[:4]), (X_u[4:, :2], qid_u[4:])])
    with pytest.raises(InvalidInputError, match=r"block 0: a block must be \(X, qid\)"):
        fit(iter([X_u]))
    with pytest.raises(InvalidInputError, match="block 0: qid has 2 entries, but there are 4 items"):
        fit([(X_u[:4], [1, 1])])
    with pytest.raises(InvalidInputError, match=r"has blocks .* so qid_unscored must not be given"):
        fit(cuts(), qid_u)
    with pytest.raises(InvalidInputError, match="block 1: Input X contains NaN"):
        fit([(X_u[:4], qid_u[:4]), (np.full((2, 3), np.nan), [77, 77])])


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileFormatError, match="there is no such file or folder"):
        fit(tmp_path / "none.parquet", "query")
    pq.write_table(table(), tmp_path / "items.parquet")
    with pytest.raises(FileFormatError, match="there is no column 'q' for the query; the columns are 'a', 'b', 'c'"):
        fit(tmp_path / "items.parquet", "q")
    with pytest.raises(InvalidInputError, match="qid_unscored must be the name of its query column"):
        fit(tmp_path / "items.parquet", qid_u)
    with pytest.raises(InvalidInputError, match="expected 3 feature columns; got 4"):
        fit(tmp_path / "items.parquet")
    holes = [None, *X_u[1:, 0]]
    pq.write_table(table().set_column(0, "a", pa.array(holes)), tmp_path / "holes.parquet")
    with pytest.raises(FileFormatError, match="column 'a': the value is missing"):
        fit(tmp_path / "holes.parquet", "query")


@pytest.mark.parametrize(
    "nothing", [np.zeros((0, 3)), iter(()), [], [(np.zeros((0, 3)), [])]], ids=["rows", "iterator", "list", "block"]
)
def test_nothing_unscored(nothing):
    with pytest.raises(NothingToCompareError, match="no unscored query: X_unscored is empty"):
        fit(nothing)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = fit(X_u, qid_u)
    before = model.predict(new)
    with pytest.raises(InvalidInputError):
        model.fit(X, y, qid=qid, X_unscored=[(X_u[:4], qid_u[:4]), (X_u[4:, :2], qid_u[4:])])
    np.testing.assert_array_equal(model.predict(new), before)
