"""Items are written in every format and read back exactly, or what is lost is said."""

from __future__ import annotations

import io
import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from kernelrank.data import Items, read_items, write_items
from kernelrank.errors import FileFormatError, InvalidInputError

SUFFIXES = [".txt", ".csv", ".tsv", ".parquet", ".svmlight.gz", ".csv.xz", ".tsv.zst", ".csv.bz2"]


def make_items(sparse=False, **changes):
    X = np.array([[0.1, 0, 1e300], [-0.5, 2, 0], [1 / 3, 0, 7]])
    parts = {
        "X": csr_array(X) if sparse else X,
        "y": np.array([2.0, 0.0, 0.1]),
        "qid": np.array(["a", "a", "b"]),
        "ids": np.array(["d1", "d2", "d1"]),
        "weight": None,
        "groups": None,
        "feature_names": None,
        "path": "memory",
        "notes": (),
    }
    return Items(**(parts | changes))


def equal(first, second):
    dense = [items.X.toarray() if issparse(items.X) else items.X for items in (first, second)]
    return np.array_equal(*dense) and all(
        np.array_equal(getattr(first, name), getattr(second, name))
        if getattr(first, name) is not None
        else getattr(second, name) is None
        for name in ("y", "qid", "ids", "weight", "groups")
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sparse", [False, True])
def test_round_trips(suffix, sparse, tmp_path):
    items = make_items(sparse)
    assert write_items(items, tmp_path / f"a{suffix}") == ()
    assert equal(read_items(tmp_path / f"a{suffix}"), items)


@pytest.mark.parametrize(("first", "second"), list(itertools.product([".txt", ".csv", ".tsv", ".parquet"], repeat=2)))
def test_from_format_to_format(first, second, tmp_path):
    write_items(make_items(), tmp_path / f"a{first}")
    write_items(read_items(tmp_path / f"a{first}"), tmp_path / f"b{second}")
    assert equal(read_items(tmp_path / f"b{second}"), make_items())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_weights_groups_and_names(suffix, tmp_path):
    items = make_items(
        weight=np.array([1.0, 0.5, 2.0]), groups=np.array([1, 1, 2]), feature_names=("a, b", 'the "c"', "größe")
    )
    assert write_items(items, tmp_path / f"a{suffix}") == ()
    read = read_items(tmp_path / f"a{suffix}")
    assert equal(read, items)
    assert read.feature_names == items.feature_names
    assert write_items(items, tmp_path / "a.txt") == (
        "the weights were left out: SVMlight has no place for them",
        "the groups were left out: SVMlight has no place for them",
        "the names of the features were left out: SVMlight has no place for them",
    )


def test_names_that_mislead(tmp_path):
    items = make_items(feature_names=("score", "weight", "x"))
    assert write_items(items, tmp_path / "a.csv") == (
        "the feature 'score' looks like the target: name the columns when you read the file",
        "the feature 'weight' looks like the weight: name the columns when you read the file",
    )
    with pytest.raises(FileFormatError, match="could each be the target"):
        read_items(tmp_path / "a.csv")
    assert equal(read_items(tmp_path / "a.csv", target="target", weight=""), items)
    assert len(write_items(make_items(feature_names=("a", "weight", "x"), qid=None, ids=None), tmp_path / "a.csv")) == 0


WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5).map(str.strip).filter(bool)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    st.lists(WORD, min_size=3, max_size=3, unique=True),
    st.lists(WORD | st.integers(-5, 5).map(str), min_size=3, max_size=3),
)
def test_any_words_and_numbers(tmp_path_factory, values, ids, labels):
    path = tmp_path_factory.mktemp("items") / "a.csv"
    items = make_items(X=np.array([values, [1.0, 2.0, 3.0], [0.0, -0.0, 1.0]]), ids=np.array(ids), qid=np.array(labels))
    write_items(items, path)
    read = read_items(path)
    assert np.array_equal(read.X, items.X)
    assert read.ids.tolist() == ids
    assert [str(label) for label in read.qid.tolist()] == labels


def test_standard_output(monkeypatch):
    for format in ("csv", "tsv", "svmlight", "parquet"):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        write_items(make_items(), "-", format=format)
        written = sys.stdout.buffer.getvalue()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
        assert equal(read_items("-"), make_items())


def test_refused(tmp_path):
    for path, options, message in (
        ("a", {}, "unknown file suffix: give format as one of svmlight, csv, tsv, parquet"),
        ("-", {}, "unknown file suffix"),
        ("a.csv", {"format": "xls"}, "format must be one of"),
        ("a.csv", {"format": "xlsx"}, "Excel files cannot be written"),
        ("none/a.csv", {}, "there is no folder"),
        ("a.parquet.gz", {}, "Parquet files are compressed inside; leave .gz out"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            write_items(make_items(), path if path == "-" else tmp_path / path, **options)
    with pytest.raises(InvalidInputError, match="memory has no target, which SVMlight files need"):
        write_items(make_items(y=None), tmp_path / "a.txt")
    with pytest.raises(InvalidInputError, match="two columns are called 'target'"):
        write_items(make_items(feature_names=("target", "a", "b")), tmp_path / "a.csv")
    with pytest.raises(InvalidInputError, match="this is a folder, and cannot be written"):
        write_items(make_items(), tmp_path, format="csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".csv.xz", ".tsv.zst", ".csv.bz2", ".parquet"])
def test_nothing_half_written(suffix, tmp_path):
    class Broken(np.ndarray):
        def __getitem__(self, key):
            raise KeyboardInterrupt

        def __iter__(self):
            raise KeyboardInterrupt

    (tmp_path / f"a{suffix}").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_items(make_items(X=make_items().X.view(Broken)), tmp_path / f"a{suffix}")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
