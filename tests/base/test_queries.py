"""Queries: a partition of the items, whatever the labels are."""

from __future__ import annotations

import datetime
from collections import namedtuple
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.errors import InvalidInputError

Place = namedtuple("Place", ["city", "year"])
DAY = datetime.date(2020, 1, 1)


def codes_by_dict(labels):
    """The obvious way: number the labels as they come."""
    numbers = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels], list(numbers)


def read(qid, n_items=None):
    return Queries.from_labels(qid, len(qid) if n_items is None else n_items)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 3, 2, 1],
        ["b", "a", "b"],
        [1, "1", 1, "1"],
        [(1, 2), (2, 1), (1, 2)],
        ((1, 2), (1, 2)),
        [(1,)],
        ["a", (1, 2), "a"],
        [Place("Turku", 2009), Place("Turku", 2010), Place("Turku", 2009)],
        [frozenset([1]), frozenset([1, 2]), frozenset([1])],
        [True, False, True],
        [1.5, 0.0, -0.0, 1.5],
        [2**70, 1, 2**70],
        [2**63, 2**63 + 1, 1],
        [2**63, -1, 2**63],
        [2**64 - 1, 2**64 - 2],
        [-(2**63), 2**63 - 1],
        [DAY, datetime.datetime(2020, 1, 1), DAY],
        ["a", "a\0", "a"],
        [b"x", b"y", b"x"],
        [np.int64(1), 1, np.str_("1")],
        [Decimal("1.5"), Decimal("1.50")],
        range(3),
    ],
    ids=lambda labels: repr(labels)[:40],
)
def test_any_hashable_labels(labels):
    codes, names = codes_by_dict(labels)
    queries = read(labels)
    assert queries.codes.tolist() == codes
    assert queries.codes.dtype == np.int64
    assert list(queries.labels) == names
    assert len(queries) == len(names)
    assert queries.n_items == len(labels)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 3], dtype=np.int8),
        np.array([2**64 - 1, 0, 2**64 - 1], dtype=np.uint64),
        np.array([1.5, -1.0, 1.5], dtype=np.float32),
        np.array(["b", "a", "b"]),
        np.array([True, False, True]),
        np.array(["2020", "2019", "2020"], dtype="M8[D]"),
        np.array([5, 4, 5], dtype="m8[s]"),
        np.array(["b", 1, "b"], dtype=object),
        np.array([[7], [8], [7]]),
        np.array([(1, 2.0), (1, 3.0), (1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array(["b", "a", "b"], dtype=np.dtypes.StringDType()),
        np.array([3, 0, 1, 0, 3, 0])[::2],
        np.ma.masked_array([3, 1, 3], mask=[False, False, False]),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels.shape}",
)
def test_arrays(labels):
    assert read(labels).codes.tolist() == [0, 1, 0]


def frame_columns():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    days = pandas.to_datetime(["2020", "2019", "2020"])
    return [
        pandas.Series([2, 1, 2], index=[7, 8, 9]),
        pandas.Series([2**53 + 1, 2**53, 2**53 + 1], dtype="Int64"),
        pandas.Series(["b", "a", "b"]),
        pandas.Series(["b", "a", "b"], dtype="string"),
        pandas.Series(["b", "a", "b"], dtype="category"),
        pandas.Series([2, 1, 2], dtype="category"),
        pandas.Categorical(["b", "a", "b"]),
        pandas.Series([True, False, True], dtype="boolean"),
        pandas.Series([1, "1", 1]),
        pandas.Series(days),
        pandas.Series(days).dt.tz_localize("UTC"),
        pandas.Index([2, 1, 2]),
        pandas.MultiIndex.from_tuples([(1, 2), (2, 1), (1, 2)]),
        pandas.DataFrame({"qid": [2, 1, 2]}),
        polars.Series([2**53 + 1, 2**53, 2**53 + 1]),
        polars.Series(["b", "a", "b"]),
        polars.Series(["b", "a", "b"], dtype=polars.Categorical),
        polars.Series(["b", "a", "b"], dtype=polars.Enum(["a", "b"])),
        polars.Series([True, False, True]),
        polars.Series([DAY, DAY.replace(year=2019), DAY]),
    ]


def test_data_frame_columns():
    for column in frame_columns():
        assert read(column).codes.tolist() == [0, 1, 0], column


def missing_labels():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    return [
        ["a", None],
        [1, float("nan")],
        [1, np.float32("nan")],
        [1, Decimal("nan")],
        [np.datetime64("2020"), np.datetime64("NaT", "D")],
        [1, pandas.NA],
        [1, pandas.NaT],
        np.array([1, np.nan]),
        np.array([1, complex("nan")]),
        np.array(["2020", "NaT"], dtype="M8[D]"),
        np.array([1, None], dtype=object),
        np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None)),
        np.ma.masked_array([1, 2], mask=[False, True]),
        pandas.Series([1, None]),
        pandas.Series([1, None], dtype="Int64"),
        pandas.Series(["a", None]),
        pandas.Series(["a", None], dtype="string"),
        pandas.Series(["a", None], dtype="category"),
        pandas.Series(pandas.to_datetime(["2020", None])),
        polars.Series([1, None]),
        polars.Series(["a", None]),
        polars.Series(["a", None], dtype=polars.Categorical),
    ]


def test_missing_labels_are_refused():
    for labels in missing_labels():
        with pytest.raises(InvalidInputError, match="qid is missing for item 1: every item needs a query"):
            read(labels)


@pytest.mark.parametrize(
    ("qid", "n_items", "message"),
    [
        ([1, 2], 3, "qid has 2 entries, but there are 3 items"),
        (np.arange(4), 3, "qid has 4 entries, but there are 3 items"),
        (np.zeros((3, 2)), 3, r"shape \(3, 2\)"),
        (np.array(1), 1, r"shape \(\)"),
        ("abc", 3, "got str"),
        (b"abc", 3, "got bytes"),
        ({1, 2}, 2, "got set"),
        ({1: 2}, 1, "got dict"),
        (5, 1, "got int"),
        (iter([1, 2]), 2, "got list_iterator"),
        ([[1], [2]], 2, "not hashable: unhashable type: 'list'"),
        ([np.zeros(2), np.zeros(2)], 2, "not hashable"),
    ],
    ids=lambda value: repr(value)[:30].split(" at 0x")[0],
)
def test_what_is_no_column_of_labels(qid, n_items, message):
    with pytest.raises(InvalidInputError, match=message):
        Queries.from_labels(qid, n_items)


def test_polars_columns_of_lists_and_structs_are_refused():
    polars = pytest.importorskip("polars")
    for column in (polars.Series([[1, 2], [1, 2]]), polars.Series([{"a": 1}, {"a": 1}])):
        with pytest.raises(InvalidInputError, match="not hashable"):
            read(column)


def test_the_message_uses_the_callers_name():
    with pytest.raises(InvalidInputError, match="groups has 1 entries"):
        Queries.from_labels([1], 2, name="groups")


def test_no_labels_mean_one_query():
    queries = Queries.from_labels(None, 4)
    assert queries.codes.tolist() == [0, 0, 0, 0]
    assert queries.labels.tolist() == [None]
    assert [items.tolist() for items in queries] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("qid", [None, [], (), np.array([]), np.array([], dtype=object)])
def test_no_items(qid):
    queries = Queries.from_labels(qid, 0)
    assert len(queries) == 0
    assert queries.n_items == 0
    assert queries.bounds.tolist() == [0]
    assert queries.contiguous
    assert list(queries) == []


def test_queries_compare_by_identity():
    queries = read([1, 1, 2])
    assert queries == queries
    assert queries != read([1, 1, 2])
    assert len({queries}) == 1


LABELS = st.one_of(
    st.lists(st.integers(0, 4), max_size=20),
    st.lists(st.sampled_from([2**63, 2**63 + 1, -1, 2**70, 0]), max_size=12),
    st.lists(st.text("ab\0", max_size=2), max_size=12),
    st.lists(st.one_of(st.integers(0, 2), st.sampled_from(["0", "1", (0,), False, 0.5])), max_size=20),
)


@given(LABELS)
def test_a_partition_in_the_order_of_first_items(labels):
    queries = read(labels)
    codes, names = codes_by_dict(labels)
    assert queries.codes.tolist() == codes
    assert list(queries.labels) == names
    members = [[i for i, code in enumerate(codes) if code == query] for query in range(len(names))]
    assert [items.tolist() for items in queries] == members
    assert queries.sizes.tolist() == [len(items) for items in members]
    assert queries.order.tolist() == [i for items in members for i in items]
    assert np.diff(queries.bounds).tolist() == queries.sizes.tolist()
    assert queries.contiguous == (codes == sorted(codes))


@given(LABELS, st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(labels, random):
    order = list(range(len(labels)))
    random.shuffle(order)
    shuffled = read([labels[i] for i in order])
    together = {frozenset(items.tolist()) for items in read(labels)}
    assert {frozenset(order[i] for i in items.tolist()) for items in shuffled} == together


@given(LABELS, st.data())
def test_a_subset_is_what_its_labels_say(labels, data):
    items = data.draw(st.lists(st.sampled_from(range(len(labels))), max_size=10)) if labels else []
    kept = read(labels).subset(np.array(items, dtype=np.int64))
    codes, names = codes_by_dict([labels[i] for i in items])
    assert kept.codes.tolist() == codes
    assert list(kept.labels) == names
    assert kept.codes.dtype == np.int64


def test_a_subset_by_a_mask():
    kept = read(["a", "b", "a", "c"]).subset(np.array([False, True, False, True]))
    assert kept.codes.tolist() == [0, 1]
    assert kept.labels.tolist() == ["b", "c"]
