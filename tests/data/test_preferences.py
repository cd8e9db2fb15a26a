"""Preference files: numbers or names, two to four columns, errors that name the line."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelrank.data import read_pairs
from kernelrank.errors import FileFormatError, InvalidInputError


def load(text, **options):
    return read_pairs(io.BytesIO(text.encode()), **options)


def test_item_numbers():
    pairs, *others = load("# head\n0 7\n\n7,3 # why not\r\n3 ,\t0\n")
    assert pairs.tolist() == [[0, 7], [7, 3], [3, 0]]
    assert pairs.dtype == np.int64
    assert all(other is None or other == () for other in others)


def test_magnitudes_and_weights():
    preferences = load("0 1 2.5\n1 0 0\n")
    assert preferences.magnitude.tolist() == [2.5, 0]
    assert preferences.weight is None
    preferences = load("0,1,2.5,1e3\n0,1,1,0\n")
    assert preferences.weight.tolist() == [1000, 0]
    assert preferences.pairs.tolist() == [[0, 1], [0, 1]]


def test_names():
    preferences = load("tee Öl\nÖl 3\n")
    assert preferences.pairs.tolist() == [[0, 1], [1, 2]]
    assert preferences.names.tolist() == ["tee", "Öl", "3"]
    padded = load("01 2\n")
    assert padded.names.tolist() == ["01", "2"]


def test_given_items():
    preferences = load("b a\n", items=["a", "b", "c"])
    assert preferences.pairs.tolist() == [[1, 0]]
    assert preferences.names.tolist() == ["a", "b", "c"]
    assert load("20 10\n", items=[10, 20]).pairs.tolist() == [[1, 0]]
    assert load("-1 10\n", items=np.array([10, -1])).pairs.tolist() == [[1, 0]]
    with pytest.raises(FileFormatError, match="<stream>, line 2: 'd' is not among the items"):
        load("b a\na d\n", items=["a", "b"])
    with pytest.raises(InvalidInputError, match="items has 'a' twice"):
        load("a b\n", items=["a", "b", "a"])


def test_paths(tmp_path):
    with gzip.open(tmp_path / "pairs.gz", "wb") as file:
        file.write(b"0 1\n")
    assert read_pairs(tmp_path / "pairs.gz").pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-1 2 1", "the item number '-1' is negative"),
        ("9223372036854775808 2 1", "the item number '9223372036854775808' is too large"),
        (f"{'9' * 5000} 2 1", "is too large"),
        ("1", "1 column: expected winner loser"),
        ("1 2 3 4 5", "5 columns: expected"),
        ("1 2", "2 columns, but the lines before it have 3"),
        ("1,,2", "a field is empty"),
        (",1,2", "a field is empty"),
        ("1,2,", "a field is empty"),
        ("1 2 x", "the magnitude 'x' is not a finite number, zero or more"),
        ("1 2 -1", "the magnitude '-1' is not"),
        ("1 2 nan", "the magnitude 'nan' is not"),
        ("1 2 1e999", "the magnitude '1e999' is not"),
        ("1 2 1_0", "the magnitude '1_0' is not"),
        ("1 \0 1", "a NUL byte"),
    ],
)
def test_faulty_lines(tmp_path, line, message):
    path = tmp_path / "pairs.txt"
    path.write_text(f"# head\n0 1 1\n\n{line}\n2 1 1\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=rf"pairs\.txt, line 4: .*({message})") as error:
        read_pairs(path)
    assert error.value.line == 4


def test_more_faults():
    with pytest.raises(FileFormatError, match="line 1: the weight '-2' is not"):
        load("0 1 1 -2")
    with pytest.raises(FileFormatError, match=r"line 2: .*is not UTF-8"):
        read_pairs(io.BytesIO(b"a b\n\xff b\n"))
    with pytest.raises(FileFormatError, match="line 2: looks like a header"):
        load("#\nbetter,worse\n1,2\n2,3\n")
    for text in ("", "# nothing\n\n"):
        with pytest.raises(FileFormatError, match="<stream>: the file has no preferences"):
            load(text)


def test_the_names_of_the_columns_may_stand_first():
    assert load("# a survey\nWinner,Loser\n1,2\n2,3\n").pairs.tolist() == [[1, 2], [2, 3]]
    named = load("winner loser magnitude weight\na b 1 2\n", items=["a", "b"])
    assert named.pairs.tolist() == [[0, 1]]
    assert (named.magnitude.tolist(), named.weight.tolist()) == ([1.0], [2.0])
    assert load("winner,loser\na,b\n").names.tolist() == ["a", "b"]
    assert load("winner loser\nloser a\n", items=["a", "loser", "winner"]).pairs.tolist() == [[2, 1], [1, 0]]
    with pytest.raises(FileFormatError, match="line 2: 'winner' is not among the items"):
        load("a b\nwinner loser\n", items=["a", "b"])
    with pytest.raises(FileFormatError, match="the file has no preferences"):
        load("winner loser\n")


NAMES = st.sampled_from(["a", "b", "c:d", "é", "7", "x_1"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] != p[1]), min_size=1))
@settings(deadline=None)
def test_any_numbers(pairs):
    assert load("\n".join(f"{a} {b}" for a, b in pairs)).pairs.tolist() == [list(pair) for pair in pairs]


@given(st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1e9)).filter(lambda p: p[0] != p[1]), max_size=9))
@settings(deadline=None)
def test_any_names(triples):
    triples = [("first", "second", 0.5), *triples, ("second", "first", 1.0)]
    preferences = load("\n".join(f"{a},{b},{z!r}" for a, b, z in triples))
    assert [tuple(pair) for pair in preferences.names[preferences.pairs].tolist()] == [t[:2] for t in triples]
    assert preferences.magnitude.tolist() == [z for _, _, z in triples]
    assert len(set(preferences.names.tolist())) == len(preferences.names)
