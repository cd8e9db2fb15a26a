"""Ranking files: the fast reader is the slow one, line by line, and errors name the line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from kernelrank.data import make_ranking, read_ranking, read_ranking_chunks, write_ranking
from kernelrank.data.letor_rows import LetorLine, read_line, read_rows
from kernelrank.errors import FileFormatError, InvalidInputError

LETOR = b"""\
# a comment alone, then a blank line

2 qid:10 1:0.03 3:-1e-3 #docid = GX01
0 qid:10 2:.5 # docid = GX02 inc = 1 prob = 0.08
1\tqid:20\t1:+7.  3:1E2#GX03 and more
1.5 qid:20 # docid=GX04
-0 qid:3
"""


def load(text, **options):
    return read_ranking(io.BytesIO(text), **options)


def test_letor():
    X, y, qid, docid = load(LETOR, sparse=False)
    assert X.tolist() == [[0.03, 0, -1e-3], [0, 0.5, 0], [7, 0, 100], [0, 0, 0], [0, 0, 0]]
    assert y.tolist() == [2, 0, 1, 1.5, 0]
    assert np.signbit(y[-1])
    assert qid.dtype == np.int64
    assert qid.tolist() == [10, 10, 20, 20, 3]
    assert docid.tolist() == ["GX01", "GX02", "GX03", "GX04", ""]


USUAL = [
    LETOR,
    LETOR.replace(b"\n", b"\r\n"),
    b"1 qid:1  1:2\n0 qid:1 1:2\t2:4\n",
    "1 qid:ä 1:2 # ö\n".encode(),
    b"1 1:2 2:3 7:1e-300\n0\n3 2:+.5\n",
    b"1 qid:007 1:2 # a\n0 qid:q 1:3 # docid = b\n1 qid:-0 1:4 #  docid\t=\n",
    b"1 qid:9223372036854775807 1:2\n0 qid:-9223372036854775808 1:2 # docid c\n",
]
UNUSUAL = [
    b"1 qid:1 1:2:3 4\n",
    b"1 qid:1 1:2 3 4:5:6\n",
    b"1 qid:1 1: 2:3\n",
    b"1 qid:1 :1 2:3\n",
    b"1 qid:1 +1:2\n",
    b"1 qid:1 1:2_0\n",
    b"1 qid:1 1:2 1:3\n",
    b"1 qid:1 2:2 1:3\n",
    b"1 qid:1 99999999999999999999:3\n",
    b"1 qid:1 1:1e999\n",
    b"1 qid:1 1:nan\n",
    b"1 qid:1 1:1-2\n",
    b"1 qid: 1:2\n",
    b"x qid:1 1:2\n",
    b"inf qid:1 1:2\n",
    b"1 qid:1 1:2\n1 1:2\n",
    b"1 qid:1 -0:2\n",
    b"1 qid:1 0x1:2\n",
    b"1 qid:1 1:nan(1)\n",
    b"1 qid:1 1:+-1\n",
    b"# nothing\n\n",
]


@pytest.mark.parametrize("text", [*USUAL, *UNUSUAL])
def test_what_pyarrow_reads_is_what_lines_say(text, monkeypatch):
    def outcome() -> object:
        try:
            pieces = list(read_rows(io.BytesIO(text)))
        except FileFormatError as error:
            return str(error)
        rows = pieces[0].joined(pieces[1:]) if pieces else None
        return rows and [
            column if column is None else (column.dtype, column.tolist()) for column in vars(rows).values()
        ]

    with monkeypatch.context() as only_pyarrow:
        if text in USUAL:
            only_pyarrow.setattr("kernelrank.data.letor_rows.read_line", None)
        by_pyarrow = outcome()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert outcome() == by_pyarrow


def test_sparse_is_a_canonical_csr_array():
    ranking = load(LETOR)
    assert isinstance(ranking.X, csr_array)
    assert ranking.X.indices.dtype == ranking.X.indptr.dtype == np.int32
    assert ranking.X.has_canonical_format
    ranking.X.check_format(full_check=True)
    assert np.array_equal(ranking.X.toarray(), load(LETOR, sparse=False).X)


def test_agrees_with_scikit_learn(tmp_path):
    X, y, qid = make_ranking(30, (1, 20), 12, density=0.3, random_state=0)
    write_ranking(tmp_path / "r.txt", X, y, qid=qid)
    theirs = load_svmlight_file(tmp_path / "r.txt", query_id=True)
    ours = read_ranking(tmp_path / "r.txt")
    assert np.array_equal(ours.X.toarray(), theirs[0].toarray())
    assert np.array_equal(ours.y, theirs[1])
    assert np.array_equal(ours.qid, theirs[2])


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["newline", "no newline"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_line_endings_and_marks(ending, last, mark):
    lines = [b"2 qid:a 1:1 # x", b"", b"1 qid:b 2:5"]
    ranking = load(mark + ending.join(lines) + (ending if last else b""), sparse=False)
    assert ranking.X.tolist() == [[1, 0], [0, 5]]
    assert ranking.qid.tolist() == ["a", "b"]
    assert ranking.docid.tolist() == ["x", ""]


def test_sources(tmp_path):
    for name, opener in {"a.txt": open, "a.gz": gzip.open, "a.xz": lzma.open, "a.bz2": bz2.open}.items():
        with opener(tmp_path / name, "wb") as file:
            file.write(LETOR)
        assert read_ranking(tmp_path / name).y.tolist() == load(LETOR).y.tolist()
        assert read_ranking(str(tmp_path / name)).docid.tolist() == load(LETOR).docid.tolist()
    with open(tmp_path / "a.txt", encoding="utf-8") as file:
        assert read_ranking(file).qid.tolist() == load(LETOR).qid.tolist()
        assert not file.closed
    with pytest.raises(FileNotFoundError):
        read_ranking(tmp_path / "nothing.txt")
    with pytest.raises(InvalidInputError, match="expected a path or an open file, got int"):
        read_ranking(5)


@pytest.mark.parametrize("suffix", ["gz", "xz", "bz2"])
def test_damaged_compression(tmp_path, suffix):
    opener = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open}[suffix]
    path = tmp_path / f"a.{suffix}"
    with opener(path, "wb") as file:
        file.write(LETOR * 20)
    whole = path.read_bytes()
    for damaged in (whole[:-12], b"plain text", whole[:20] + b"\xff" * 9 + whole[29:]):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=rf"a\.{suffix}: the compressed data is damaged"):
            read_ranking(path)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "-5", "0"], [1, -5, 0]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["007", "7"], ["007", "7"]),
        (["-0", "0"], ["-0", "0"]),
        (["a:b", "qid:", "1"], ["a:b", "qid:", "1"]),
        (["größe", "1"], ["größe", "1"]),
        (["+1", "1"], ["+1", "1"]),
        (["1.0", "1"], ["1.0", "1"]),
    ],
)
def test_query_labels(labels, expected):
    qid = load("".join(f"1 qid:{label} 1:1\n" for label in labels).encode()).qid
    assert qid.tolist() == expected
    assert qid.dtype.kind == ("i" if isinstance(expected[0], int) else "O")


def test_labels_of_different_kinds_in_different_blocks():
    text = b"".join(b"1 qid:%d\n" % i for i in range(5)) + b"1 qid:x\n"
    for size in (3, 12, 1000):
        rows = list(read_rows(io.BytesIO(text), block_bytes=size))
        chunks = list(read_ranking_chunks(io.BytesIO(text), chunk_rows=2))
        assert sum(map(len, rows)) == 6
        assert [label for chunk in chunks for label in chunk.qid] == ["0", "1", "2", "3", "4", "x"]


def test_no_queries():
    assert load(b"1 1:2\n0\n").qid is None


def test_names_in_comments():
    comments = ["", "#", "# ", "#docid", "# docid x", "# docid = ", "#docid=a b", "# a#b c", "# docidx = y", "# é"]
    expected = ["", "", "", "docid", "docid", "", "a", "a#b", "docidx", "é"]
    assert load("".join(f"1 1:1 {comment}\n" for comment in comments).encode()).docid.tolist() == expected


class TestNumberOfFeatures:
    def test_first_index(self):
        assert load(b"1 1:5\n1 2:6\n", sparse=False).X.tolist() == [[5, 0], [0, 6]]
        assert load(b"1 1:5\n1 0:6\n", sparse=False).X.tolist() == [[0, 5], [6, 0]]
        assert load(b"1 1:5\n1 2:6\n", sparse=False, zero_based=True).X.tolist() == [[0, 5, 0], [0, 0, 6]]
        with pytest.raises(FileFormatError, match="line 2: feature 0, but the first feature is 1"):
            load(b"1 1:5\n1 0:6\n", zero_based=False)

    def test_given(self):
        assert load(b"1 1:5\n", n_features=3).X.shape == (1, 3)
        with pytest.raises(FileFormatError, match="line 2: feature 4 is beyond the last one, 3: n_features=3"):
            load(b"1 1:5\n1 4:1\n1 2:1\n", n_features=3)
        with pytest.raises(FileFormatError, match="line 1: feature 1 is beyond the last one, 0"):
            load(b"1 1:5\n", n_features=1, zero_based=True)

    def test_none(self):
        assert load(b"1\n2\n").X.shape == (2, 0)
        assert load(b"1\n2\n", n_features=4, sparse=False).X.tolist() == [[0] * 4] * 2

    def test_largest_index(self):
        assert load(b"1 2147483647:1\n").X.shape == (1, 2147483647)
        assert load(b"1 0:1 2147483647:1\n").X.shape == (1, 2147483648)

    @pytest.mark.parametrize("options", [{"n_features": -1}, {"zero_based": "yes"}, {"dtype": int}])
    def test_options(self, options):
        with pytest.raises(InvalidInputError, match=next(iter(options))):
            load(b"1 1:1\n", **options)


def test_float32():
    X = load(b"1 1:0.1 2:1e-60\n", dtype=np.float32).X
    assert X.dtype == np.float32
    assert X.toarray().tolist() == [[np.float32(0.1), 0]]
    with pytest.raises(FileFormatError, match=r"line 2: the value 1e\+39 of feature 2 is too large for float32"):
        load(b"1 1:1\n1 1:1 2:1e39\n", dtype=np.float32)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x qid:2 1:1", "the target 'x' is not a number"),
        (b"1,2 qid:2 1:1", "the target '1,2' is not a number"),
        (b"1_0 qid:2", "the target '1_0' is not a number"),
        (b"qid:2 1:1", "the target 'qid:2' is not a number"),
        (b"nan qid:2 1:1", "the target 'nan' is not finite"),
        (b"1e999 qid:2 1:1", "the target '1e999' is not finite"),
        (b"1 qid: 1:1", "qid: is empty"),
        (b"1 qid:#x", "qid: is empty"),
        (b"1 qid 1:1", "'qid' is not a feature: expected index:value"),
        (b"1 1:1 qid:2", "'qid:2' must come once, right after the target"),
        (b"1 qid:2 qid:3", "'qid:3' must come once"),
        (b"1 1:1", "expected a qid, as in the rows before"),
        (b"1 qid:\xff", "the query label is not UTF-8"),
        (b"1 qid:2 # \xff", "the docid in the comment is not UTF-8"),
        (b"1 qid:2 a:1", "the feature index 'a' is not an integer"),
        (b"1 qid:2 1.0:1", "the feature index '1.0' is not an integer"),
        (b"1 qid:2 :1", "the feature index '' is not an integer"),
        (b"1 qid:2 -1:1", "the feature index '-1' is negative"),
        (b"1 qid:2 2147483648:1", "the feature index '2147483648' is too large: at most 2147483647"),
        (b"1 qid:2 99999999999999999999:1", "is too large"),
        (b"1 qid:2 2:1 1:1", "feature 1 comes after feature 2: indices must increase"),
        (b"1 qid:2 1:1 2:1 1:1", "feature 1 occurs twice"),
        (b"1 qid:2 1:1 1:1", "feature 1 occurs twice"),
        (b"1 qid:2 1:", "the value of feature 1, '' is not a number"),
        (b"1 qid:2 1:x", "the value of feature 1, 'x' is not a number"),
        (b"1 qid:2 1:2:3", "the value of feature 1, '2:3' is not a number"),
        (b"1 qid:2 1:inf", "the value of feature 1, 'inf' is not finite"),
        (b"1 qid:2 1: 2", "the value of feature 1, '' is not a number"),
        (b"1 qid:2 1:1 stray", "'stray' is not a feature"),
        (b"1 qid:2 1:1 // no comment", "'//' is not a feature"),
        ("1 qid:2 1:1\N{NO-BREAK SPACE}2:1".encode(), "is not a number"),
        (b"1 qid:2 1:" + b"9" * 50 + b"x" * 1000, r"9xxxxx\.\.\.' is not a number"),
        (b"1 qid:2 \0", "a NUL byte"),
        (b"1 qid:2 # a\r1 qid:3", "a carriage return inside a line"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, bytes) else "",
)
def test_faulty_lines(line, message, tmp_path):
    path = tmp_path / "train.txt"
    good = [b"# head", b"1 qid:1 1:1", b"", b"0 qid:1 1:2"]
    path.write_bytes(b"\n".join([*good, line, b"broken too", *good]))
    with pytest.raises(FileFormatError, match=rf"train\.txt, line 5: .*{message}") as error:
        read_ranking(path)
    assert error.value.line == 5
    assert error.value.path == str(path)


def test_a_qid_that_comes_too_late():
    for block_bytes in (4, 1000):
        with pytest.raises(FileFormatError, match="line 3: expected no qid, as in the rows before"):
            list(read_rows(io.BytesIO(b"1 1:1\n1 1:1\n1 qid:1 1:1\n"), block_bytes=block_bytes))


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only\n # comments", b"\xef\xbb\xbf"])
def test_empty_files(text):
    with pytest.raises(FileFormatError, match="<stream>: the file has no rows"):
        load(text)
    with pytest.raises(FileFormatError, match="<stream>: the file has no rows"):
        list(read_ranking_chunks(io.BytesIO(text)))


def test_nonfinite_values_if_asked_for():
    X, y, _, _ = load(b"nan 1:inf 2:-Infinity\n1 1:NaN 2:1e999\n", sparse=False, allow_nonfinite=True)
    assert np.array_equal(y, [np.nan, 1], equal_nan=True)
    assert np.array_equal(X, [[np.inf, -np.inf], [np.nan, np.inf]], equal_nan=True)


def slow_twin(text):
    """What the file says, line by line: a list of lines, or the error of the first faulty one."""
    lines, numbers = [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            read = read_line(line, "<stream>", number)
        except FileFormatError as error:
            return str(error)
        if read is None:
            continue
        if lines and (lines[0].qid is None) != (read.qid is None):
            return f"<stream>, line {number}: "
        lines.append(read)
        numbers.append(number)
    return list(zip(numbers, lines, strict=True))


TOKENS = """
1 2.5 -0 1e5 x nan qid:1 qid:a qid: qid:07 1:1 2:0.1 3:-7e-3 3:9007199254740993 7:x 0:1 -1:2 :3 4: 5:nan : # #d
#docid=e é 2:0.30000000000000004 6:123456789012345678901234567890 é:1 qid qid:é
"""
TOKEN = st.sampled_from(TOKENS.split())
GOOD = st.builds(
    lambda qid, cells, comment: f"1 qid:{qid} " + " ".join(f"{i}:{v}" for i, v in sorted(cells.items())) + comment,
    st.sampled_from(["1", "22", "b"]),
    st.dictionaries(st.integers(0, 12), st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    st.sampled_from(["", " # docid = a", "#é"]),
)
LINE = (
    GOOD
    | st.builds(" ".join, st.lists(TOKEN, max_size=5))
    | st.builds("1 ".__add__, st.builds(" ".join, st.lists(TOKEN)))
)
FILE = st.lists(GOOD, max_size=5) | st.lists(LINE, max_size=5)


def fast_twin(text, block_bytes):
    """The same, from the blocks."""
    lines = []
    try:
        for rows in read_rows(io.BytesIO(text), block_bytes=block_bytes):
            for i in range(len(rows)):
                cells = slice(rows.bounds[i], rows.bounds[i + 1])
                features = list(zip(rows.indices[cells].tolist(), rows.values[cells].tolist(), strict=True))
                qid = None if rows.qids is None else str(rows.qids[i])
                lines.append(
                    (int(rows.lines[i]), LetorLine(float(rows.targets[i]), qid, features, str(rows.docids[i])))
                )
    except FileFormatError as error:
        return str(error)
    return lines


@given(FILE, st.integers(3, 60), st.booleans())
@example(["1 q", "1"], 60, False)
@settings(deadline=None, max_examples=300)
def test_fast_is_slow(lines, block_bytes, last_newline):
    text = ("\n".join(lines) + "\n" * last_newline).encode()
    slow, fast = slow_twin(text), fast_twin(text, block_bytes)
    if isinstance(slow, str) and isinstance(fast, str):
        assert fast.startswith(slow)
    else:
        assert fast == slow


def test_a_parquet_file_is_told_by_its_name(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"PAR1\0\n")
    with pytest.raises(FileFormatError, match="expected a text file; got a Parquet file"):
        read_ranking(tmp_path / "items.parquet")
