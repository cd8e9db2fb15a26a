"""A feature with a huge number: the width is said before memory is asked for."""

import dataclasses

import pytest
from scipy.sparse import csr_array

from kernelrank.data import read_items, read_ranking, read_ranking_chunks, write_items
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.estimators import RLS, NystromMap, RankRLS, RankSVM
from kernelrank.model_selection import RankRLSCV

TEXT = "1 qid:1 1:1\n0 qid:1 2000000000:1\n1 qid:2 5:2\n0 qid:2 7:1\n"


@pytest.fixture
def wide(tmp_path):
    (tmp_path / "wide.txt").write_text(TEXT)
    return tmp_path / "wide.txt"


def test_sparse_reading_costs_nothing(wide):
    assert read_items(wide).X.shape == (4, 2_000_000_000)
    assert read_items(wide).X.nnz == 4


def test_dense_reading_says_how_wide(wide, monkeypatch):
    monkeypatch.setattr("kernelrank.data.letor.available_bytes", lambda: 16 * 10**9)
    message = (
        r"wide.txt, line 2: feature 2000000000 makes a matrix of 4 rows and 2,000,000,000 columns, which needs 64.0 GB"
    )
    with pytest.raises(FileFormatError, match=message):
        read_ranking(wide, sparse=False)
    with pytest.raises(FileFormatError, match=message):
        list(read_ranking_chunks(wide, sparse=False))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "csv.gz"])
def test_tables_are_refused_before_they_are_begun(wide, suffix):
    with pytest.raises(
        InvalidInputError, match=r"wide.txt: as \w+ .* a dense table of 4 rows and 2,000,000,000 columns"
    ):
        write_items(read_items(wide), wide.with_suffix(f".{suffix}"))
    assert list(wide.parent.iterdir()) == [wide]


def test_too_many_cells(tmp_path):
    (tmp_path / "a.txt").write_text("1 1:1\n0 2:1\n")
    tall = dataclasses.replace(read_items(tmp_path / "a.txt"), X=csr_array((10**5, 10**5)))
    with pytest.raises(InvalidInputError, match=r"100,000 rows and 100,000 columns"):
        write_items(tall, tmp_path / "a.csv")


def test_svmlight_takes_any_width(wide):
    write_items(read_items(wide), wide.with_name("again.txt"))
    assert wide.with_name("again.txt").read_text() == TEXT


@pytest.mark.parametrize("learner", [RankRLS(), RankRLS(kernel="rbf"), RankSVM(), RankRLSCV(), RLS(), NystromMap(2)])
def test_learners_say_what_they_need(wide, learner, monkeypatch):
    monkeypatch.setattr("kernelrank.base.validation.available_bytes", lambda: 16 * 10**9)
    items = read_items(wide)
    with pytest.raises(
        InvalidInputError, match=r"X has 2,000,000,000 columns: .* at least 48.0 GB of memory, and 16.0 GB"
    ):
        learner.fit(items.X, items.y)
    assert not hasattr(learner, "coef_")


def test_a_narrow_file_is_not_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 3:1\n")
    items = read_items(tmp_path / "a.txt")
    write_items(items, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "target,qid,f1,f2,f3\n1,1,1,0,0\n0,1,0,0,1\n"
