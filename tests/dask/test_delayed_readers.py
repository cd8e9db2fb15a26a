"""Blocks that come from readers of their own are read once."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dask import delayed

from kernelrank.dask import DaskRankRLS
from kernelrank.dask.partitions import Partitions
from kernelrank.dask.statistics import count_queries
from kernelrank.estimators import RankRLS

M, N, PARTS = 60, 3, 4


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((M, N)), rng.standard_normal(M), np.arange(M) // 7


def delayed_array(values, count=None):
    """Blocks that come from readers of their own; `count` hears of every reading."""

    def load(number):
        if count is not None:
            count.append(number)
        return np.array_split(values, PARTS)[number]

    shapes = [block.shape for block in np.array_split(values, PARTS)]
    blocks = [da.from_delayed(delayed(load)(k), shape, values.dtype) for k, shape in enumerate(shapes)]
    return da.concatenate(blocks)


def sizes(number, X, y, qid, weight):
    return number, X.shape, y.shape, None if qid is None else qid.shape


def test_every_reader_is_called_once(data):
    count = []
    partitions = Partitions.of(*(delayed_array(values, count) for values in data))
    tasks = partitions.each(sizes)
    found = list(da.compute(*tasks, scheduler="synchronous"))
    assert found == [(k, (15, N), (15,), (15,)) for k in range(PARTS)]
    assert sorted(count) == sorted(3 * list(range(PARTS)))


def test_what_two_partitions_need_is_done_once(data):
    count = []
    X = delayed_array(data[0], count).rechunk({0: (20, 10, 20, 10)})
    y, qid = (da.from_array(values, chunks=((20, 10, 20, 10),)) for values in data[1:])
    tasks = Partitions.of(X, y, qid).each(sizes)
    found = da.compute(*tasks, scheduler="synchronous")
    assert [one[1] for one in found] == [(20, N), (10, N), (20, N), (10, N)]
    assert sorted(count) == list(range(PARTS)), "each block was read once"


def test_what_is_shared_and_what_lies_on_the_cluster_stays_apart(data, client):
    X = client.persist(delayed_array(data[0]))
    y, qid = delayed_array(data[1]), delayed_array(data[2])
    expected = RankRLS(0.5).fit(data[0], data[1], qid=data[2])
    for items in (X, delayed_array(data[0]), 2.0 * delayed_array(data[0]) / 2.0):
        model = DaskRankRLS(0.5, client=client).fit(items, y, qid=qid)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)


def test_partitions_without_a_reader_of_their_own(data):
    X, y, qid = (da.from_array(values, chunks=(15, *values.shape[1:])) for values in data)
    counted = Partitions.of(X, y, qid).counted().each(count_queries, ("y", "qid", "weight"))
    tables = da.compute(*counted, scheduler="synchronous")
    assert [table.sizes for table in tables] == [{k: 15} for k in range(PARTS)]
