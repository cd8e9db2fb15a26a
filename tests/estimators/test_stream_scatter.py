"""The scatter of a stream is that of all its rows at once, wherever the stream is cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.estimators.unscored import StreamScatter


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 42), max_size=5),
    query_weight=st.sampled_from(["pairs", "items", "queries"]),
    far=st.sampled_from([0.0, 1e5]),
)
def test_any_cut_gives_the_scatter_of_the_whole(sizes, cuts, query_weight, far):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    Phi = np.random.default_rng(0).normal(size=(len(codes), 3)) + far
    scatter = StreamScatter(3, query_weight)
    bounds = sorted({min(cut, len(codes)) for cut in cuts} | {0, len(codes)})
    for start, stop in pairwise(bounds):
        scatter.add(Phi[start:stop].copy(), codes[start:stop])
    graph = ScoredQueries(np.zeros((len(codes), 1)), Queries.from_labels(codes, len(codes)), query_weight=query_weight)
    centred = graph.centre(Phi)
    # Numbers near 1e5 have eleven digits behind the point, and only their differences from means are squared.
    digits = 1e-9 if far else 1e-12
    np.testing.assert_allclose(scatter.gram(), centred.T @ centred, rtol=0, atol=digits * max(1.0, (centred**2).max()))
    assert scatter.n_pairs == graph.n_pairs
    assert scatter.n_queries == len(sizes)
    assert scatter.n_idle_queries == graph.n_idle_queries
    assert scatter.n_items == len(codes)
    assert scatter.pair_weight == pytest.approx(graph.diagonal().sum() / 2)


def test_nothing():
    scatter = StreamScatter(2, "pairs")
    scatter.add(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    np.testing.assert_array_equal(scatter.gram(), np.zeros((2, 2)))
    assert scatter.n_items == 0
