"""The laws of moments: any cut and any order of merging give those of the whole, to the last digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelrank.base.arrays import GramSum
from kernelrank.comparisons.moments import QueryMeans, QueryMoments
from tests.oracles.moments import exact_moments

N_COLUMNS, N_OUTPUTS = 3, 2


def items(n_items, far, seed, weighted):
    """Return features and scores around a distant place, the scores on the other side of zero, and weights."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_items, N_COLUMNS)) + far
    scores = rows[:, :N_OUTPUTS] - 2 * far + rng.normal(size=(n_items, N_OUTPUTS))
    weight = rng.choice([0.0, 0.25, 1.0, 3.0, 1e4], size=n_items) if weighted else np.ones(n_items)
    return rows, scores, weight


def of_items(rows, scores, weight):
    query = QueryMoments(N_COLUMNS, N_OUTPUTS)
    query.add(rows.copy(), scores, weight)
    return query


def assert_exact(scatter, moment, rows, scores, weight, digits=2e-14):
    """Compare each entry with the size that Cauchy and Schwarz give it."""
    exact = exact_moments(np.hstack([rows, scores]), weight)
    size = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    found = np.hstack([scatter, moment])
    assert np.all(np.abs(found - exact[:N_COLUMNS]) <= digits * size[:N_COLUMNS])


@settings(max_examples=60)
@given(
    n_items=st.integers(1, 10),
    cuts=st.lists(st.integers(0, 10), max_size=6),
    order=st.randoms(use_true_random=False),
    far=st.sampled_from([0.0, 1e5, -1e8, 1e12]),
    weighted=st.booleans(),
    seed=st.integers(0, 3),
)
def test_any_cut_and_any_order_of_merging_give_the_whole(n_items, cuts, order, far, weighted, seed):
    rows, scores, weight = items(n_items, far, seed, weighted)
    parts = np.split(np.arange(n_items), sorted(min(cut, n_items) for cut in cuts))
    moments = [of_items(rows[part], scores[part], weight[part]) for part in parts if len(part)]
    while len(moments) > 1:
        first, second = (moments.pop(order.randrange(len(moments))) for _ in range(2))
        first.merge(second)
        moments.append(first)
    (query,) = moments
    assert_exact(query.scatter.matrix(), query.moment, rows, scores, weight)
    assert query.n_items == np.count_nonzero(weight)
    assert query.uncompared == pytest.approx(np.minimum(weight, weight**2).sum())
    assert (0.0 if query.means is None else query.means.weight[0]) == pytest.approx(weight.sum())


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(1, 15), max_size=8), far=st.sampled_from([0.0, 1e8, 1e12]))
def test_items_may_be_added_in_blocks(cuts, far):
    rows, scores, weight = items(16, far, 0, weighted=True)
    rows[0] += 1e3  # the origin is far from all the others
    query = QueryMoments(N_COLUMNS, N_OUTPUTS)
    for part in np.split(np.arange(16), sorted(cuts)):
        query.add(rows[part], scores[part], weight[part])
    assert_exact(query.scatter.matrix(), query.moment, rows, scores, weight)


@pytest.mark.parametrize("far", [0.0, 1e8, 1e12])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_tables_of_means_merge_in_any_order(far, sparse_rows):
    """Parts of many queries that meet in tables, as those of partitions do."""
    rng = np.random.default_rng(0)
    rows, scores, weight = items(60, far, 1, weighted=True)
    query = rng.integers(5, size=60)
    weight[query == 4] = 0.0
    table = QueryMeans.none(5, N_COLUMNS, N_OUTPUTS)
    scatter, moment = np.zeros((N_COLUMNS, N_COLUMNS)), np.zeros((N_COLUMNS, N_OUTPUTS))
    for part in np.array_split(rng.permutation(60), 6):
        part = part[np.argsort(query[part], kind="stable")]
        codes, starts = np.unique(query[part], return_index=True)
        Phi = sparse.csr_array(rows) if sparse_rows else rows
        means = QueryMeans.of(Phi, scores, weight, part, np.append(starts, len(part)))
        between, differences = table.merge(means, codes)
        inside = [
            exact_moments(np.hstack([rows, scores])[part], weight[part] * (query[part] == code)) for code in codes
        ]
        scatter += between.T @ between + np.sum(inside, axis=0)[:N_COLUMNS, :N_COLUMNS]
        moment += between.T @ differences + np.sum(inside, axis=0)[:N_COLUMNS, N_COLUMNS:]
    exact = sum(exact_moments(np.hstack([rows, scores]), weight * (query == code)) for code in range(5))
    size = np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))[:N_COLUMNS]
    found = np.hstack([scatter, moment])
    assert np.all(np.abs(found - exact[:N_COLUMNS]) <= 2e-14 * size)
    np.testing.assert_allclose(table.weight, np.bincount(query, weights=weight), rtol=1e-14)


@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
def test_what_a_query_gives_is_the_sum_over_its_pairs(query_weight):
    rows, scores, _ = items(7, 0.0, 2, weighted=False)
    gram, right = of_items(rows, scores, np.ones(7)).scaled(query_weight)
    first, second = np.triu_indices(7, 1)
    difference, gain = rows[first] - rows[second], scores[first] - scores[second]
    c = {"pairs": 1.0, "items": 1 / 7, "queries": 1 / 21}[query_weight]
    np.testing.assert_allclose(gram, c * difference.T @ difference, rtol=1e-13)
    np.testing.assert_allclose(right, c * difference.T @ gain, rtol=1e-13)


def test_a_weight_is_so_many_copies_and_none_takes_no_part():
    rows, scores, _ = items(3, 1e5, 3, weighted=False)
    weighted = of_items(rows, scores, np.array([0.0, 2.0, 3.0]))
    copied = of_items(np.repeat(rows, [0, 2, 3], axis=0), np.repeat(scores, [0, 2, 3], axis=0), np.ones(5))
    for found, expected in zip(weighted.scaled("queries"), copied.scaled("queries"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_copy_is_apart_and_sums_may_be_shared():
    rows, scores, weight = items(9, 1e5, 4, weighted=False)
    query = of_items(rows[:5], scores[:5], weight[:5])
    before = query.scatter.matrix().copy()
    other = query.copy()
    other.add(rows[5:].copy(), scores[5:], weight[5:])
    np.testing.assert_array_equal(query.scatter.matrix(), before)
    total, right = np.zeros((N_COLUMNS, N_COLUMNS)), np.zeros((N_COLUMNS, N_OUTPUTS))
    shared = GramSum.onto(total)
    for part in (slice(0, 5), slice(5, 9)):
        QueryMoments(N_COLUMNS, N_OUTPUTS, shared, right).add(rows[part].copy(), scores[part], weight[part])
    shared.matrix()
    expected = [of_items(rows[part], scores[part], weight[part]) for part in (slice(0, 5), slice(5, 9))]
    np.testing.assert_allclose(total, sum(one.scatter.matrix() for one in expected), rtol=1e-13)
    np.testing.assert_allclose(right, sum(one.moment for one in expected), rtol=1e-13)
