"""What is written is read back exactly, and what cannot be is refused before anything is written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

from kernelrank.data import read_ranking, write_ranking
from kernelrank.errors import InvalidInputError

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs", "Cc", "Zs"]), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("written") / "ranking.txt"


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_dense_round_trip(path, data):
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    X = data.draw(hnp.arrays(np.float64, (m, n), elements=FLOATS))
    y = data.draw(hnp.arrays(np.float64, m, elements=FLOATS))
    qid = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=m, max_size=m))
    docid = data.draw(st.lists(WORDS | st.just(""), min_size=m, max_size=m))
    write_ranking(path, X, y, qid=qid, docid=docid)
    again = read_ranking(path, sparse=False)
    assert again.X.tobytes() == X.tobytes()
    assert again.y.tobytes() == y.tobytes()
    assert again.qid.tolist() == qid
    assert again.docid.tolist() == docid


@given(st.lists(WORDS.filter(lambda word: "#" not in word), min_size=1, max_size=4))
@settings(deadline=None, max_examples=40)
def test_labels_round_trip(path, qid):
    write_ranking(path, np.ones((len(qid), 1)), np.zeros(len(qid)), qid=qid)
    assert [str(label) for label in read_ranking(path).qid] == qid


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, csc_matrix, coo_array])
def test_sparse_round_trip(path, kind):
    dense = np.array([[0, 1e-300, 0], [0, 0, 0], [-3, 0.1, 0]])
    write_ranking(path, kind(dense), [1, 2, 3])
    assert np.array_equal(read_ranking(path, n_features=3).X.toarray(), dense)
    assert read_ranking(path).X.shape == (3, 2)
    assert read_ranking(path).qid is None


def test_unsorted_and_doubled_entries_are_summed_without_touching_them(path):
    X = csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    write_ranking(path, X, [0])
    assert read_ranking(path, sparse=False).X.tolist() == [[2, 5]]
    assert X.data.tolist() == [1, 2, 4]


@pytest.mark.parametrize("suffix", ["txt", "gz", "xz", "lzma", "bz2"])
def test_compression(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    write_ranking(path, np.eye(3), [1, 2, 3], qid=["a", "a", "b"])
    assert read_ranking(path, sparse=False).X.tolist() == np.eye(3).tolist()
    assert path.read_bytes().startswith(b"1 qid:a") == (suffix == "txt")


def test_frames_float32_and_integers(path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    values = {"a": [1, 2], "b": [0.5, 0.25]}
    for frame in (pandas.DataFrame(values), polars.DataFrame(values)):
        write_ranking(path, frame, frame["a"], qid=frame["a"])
        assert read_ranking(path, sparse=False).X.tolist() == [[1, 0.5], [2, 0.25]]
    X = np.array([[0.1, 3]], dtype=np.float32)
    write_ranking(path, X, np.array([2], dtype=np.int8))
    assert np.array_equal(read_ranking(path, sparse=False, dtype=np.float32).X, X)
    assert np.array_equal(read_ranking(path, sparse=False).X, X.astype(np.float64))


def test_nonfinite_values_if_asked_for(path):
    X = np.array([[np.nan, np.inf, -np.inf]])
    write_ranking(path, X, [np.nan], allow_nonfinite=True)
    again = read_ranking(path, sparse=False, allow_nonfinite=True)
    assert np.array_equal(again.X, X, equal_nan=True)
    assert np.isnan(again.y[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.zeros(2)}, "X must have two dimensions"),
        ({"X": [["a"], ["b"]]}, "X must hold numbers"),
        ({"X": [[np.nan], [1.0]]}, "X has NaN or infinity"),
        ({"X": csr_array([[np.inf], [1.0]])}, "X has NaN or infinity"),
        ({"X": [[2**53 + 1], [0]]}, r"X has integers beyond 2\*\*53"),
        ({"X": np.zeros((0, 2)), "y": []}, "X has no rows"),
        ({"y": [1, 2, 3]}, r"y has shape \(3,\), but X has 2 rows"),
        ({"y": [[1], [2]]}, r"y has shape \(2, 1\)"),
        ({"y": [1, np.inf]}, "y has NaN or infinity"),
        ({"y": ["a", "b"]}, "y must hold numbers"),
        ({"qid": ["a b", "c"]}, "the query label 'a b' is empty or has white space or a #"),
        ({"qid": ["a#", "c"]}, "'a#'"),
        ({"qid": ["", "c"]}, "''"),
        ({"qid": [1, "1"]}, "two query labels, such as 1 and '1', are both written as '1'"),
        ({"qid": [1]}, "qid has 1 entries"),
        ({"docid": ["a b", "c"]}, "the docid 'a b' has white space"),
        ({"docid": ["a\nb", "c"]}, "has white space"),
        ({"docid": ["a"]}, "docid has 1 entries, but X has 2 rows"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:30],
)
def test_refused(tmp_path, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        write_ranking(tmp_path / "r.txt", **{"X": [[1.0], [2.0]], "y": [1, 2], **arguments})
    assert list(tmp_path.iterdir()) == []
