"""Partitions give the statistics of the whole, wherever the queries are cut; no cluster is needed to see that."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed

from kernelrank.dask.partitions import Partitions
from kernelrank.dask.statistics import (
    FeatureMap,
    count_queries,
    fold_of,
    merge_counts,
    merge_statistics,
    partition_statistics,
)
from kernelrank.data import make_ranking
from kernelrank.estimators import RankRLS
from tests.oracles.pairs import scored_edges

X, y, qid = make_ranking(n_queries=12, n_items=(1, 9), n_features=4, n_levels=4, random_state=0)
X = np.asarray(X)


def statistics(parts, labels, weight, learner, n_folds=1, width=3, scores=y, items=X):
    """Do what a fit does, one partition after the other."""
    tables = [
        count_queries(p, scores[part], labels[part], None if weight is None else weight[part])
        for p, part in enumerate(parts)
    ]
    counts = merge_counts(tables)
    level = [
        partition_statistics(
            p,
            items[part],
            scores[part],
            labels[part],
            None if weight is None else weight[part],
            counts.spanning(),
            FeatureMap(X.shape[1]),
            learner,
            n_folds,
            1,
        )
        for p, part in enumerate(parts)
    ]
    while len(level) > 1:
        level = [merge_statistics(level[i : i + width]) for i in range(0, len(level), width)]
    return level[0], counts.summary()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("query_weight", ["pairs", "items", "queries"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_partitioning(seed, query_weight, weighted):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, size=len(y)).astype(float) if weighted else None
    if weighted:
        weight[rng.permutation(len(y))[:5]] = 0.0
    order = rng.permutation(len(y)) if seed % 2 else np.arange(len(y))
    parts = np.split(order, np.sort(rng.integers(0, len(y), size=rng.integers(1, 12))))
    learner = RankRLS(query_weight=query_weight)
    found, summary = statistics(parts, qid, weight, learner)
    (_, graph), *_ = learner._compare(X, y, qid, weight)[0]
    np.testing.assert_allclose(found.gram[0], graph.gram(X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.right[0], X.T @ graph.target(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.energy[0], (graph.root_target() ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(found.pair_weight[0], graph.diagonal().sum() / 2, rtol=1e-12)
    assert (summary.n_pairs, summary.n_idle_queries, summary.n_queries) == (
        graph.n_pairs,
        graph.n_idle_queries,
        graph.n_queries,
    )
    assert len(found.spanning.code) == 0


@pytest.mark.parametrize("options", [{}, {"ties": "exclude"}, {"cost": "unit"}, {"cost": "relative"}])
def test_the_squared_error_of_a_fold_is_that_of_its_pairs(options):
    learner = RankRLS(query_weight="items", **options)
    found, _ = statistics(np.split(np.arange(len(y)), np.flatnonzero(np.diff(qid))[[2, 7]] + 1), qid, None, learner, 3)
    w = np.random.default_rng(0).standard_normal(X.shape[1])
    folds = fold_of(qid, 3)
    for fold in range(3):
        items = np.flatnonzero(folds == fold)
        edges = scored_edges(y[items], qid[items], query_weight="items", **options)
        f = X[items] @ w
        total = np.sum(edges.w2 * (edges.z - (f[edges.h] - f[edges.j])) ** 2)
        error = w @ found.gram[fold] @ w - 2 * w @ found.right[fold][:, 0] + found.energy[fold][0]
        np.testing.assert_allclose([error, found.pair_weight[fold]], [total, edges.w2.sum()], rtol=1e-10)


def test_labels_of_any_type():
    labels = np.empty(len(y), dtype=object)
    labels[:] = [("q", int(q)) if q % 3 else (f"q{q}" if q % 2 else int(q)) for q in qid]
    plain, _ = statistics(np.array_split(np.arange(len(y)), 5), qid, None, RankRLS())
    found, summary = statistics(np.array_split(np.arange(len(y)), 5), labels, None, RankRLS())
    np.testing.assert_allclose(found.gram, plain.gram, rtol=1e-12)
    assert summary.n_queries == len(np.unique(qid))
    assert summary.n_spanning > 0


def test_a_label_has_one_fold_whatever_holds_it():
    boxed = np.empty(5, dtype=object)
    boxed[:] = range(5)
    np.testing.assert_array_equal(fold_of(np.arange(5), 4), fold_of(boxed, 4))
    np.testing.assert_array_equal(fold_of(np.arange(5, dtype=np.int16), 4), fold_of(boxed, 4))
    words = np.array(["a", "bb", "ccc"])
    np.testing.assert_array_equal(fold_of(words, 7), fold_of(words.astype(object), 7))
    counts = np.bincount(fold_of(np.arange(10_000), 5))
    assert counts.min() > 1800


def test_shared_arguments_are_in_the_graph_once():
    values = da.from_array(np.arange(6.0), chunks=2)
    partitions = Partitions.of(values[:, None], values)

    def scaled(number, X, small, large, given):
        return number + small(X).sum() * large[1] * given

    shared = (lambda X: 2 * X, np.arange(1_000.0), delayed(3.0))
    tasks = partitions.each(scaled, ("X",), shared)
    keys = {key for task in tasks for key in task.__dask_graph__() if isinstance(key, str)}
    assert sorted(key.split("-")[0] for key in keys) == ["<lambda>", "float", "ndarray", *3 * ["scaled"]]
    assert dask.compute(*tasks, scheduler="synchronous") == (6.0, 31.0, 56.0)


@pytest.mark.parametrize("level", [np.full(len(y), 1e12), np.array([1e12, -3e9, 0.0, 1e6])[qid % 4]])
@pytest.mark.parametrize("learner", [RankRLS(), RankRLS(cost="relative")])
def test_a_constant_added_to_the_scores_of_a_query_changes_nothing(learner, level):
    rng = np.random.default_rng(0)
    high = rng.normal(size=len(y)) + level
    order = rng.permutation(len(y)) if learner.cost in ("auto", "magnitude") else np.arange(len(y))
    cuts = [9, 20, 33] if learner.cost in ("auto", "magnitude") else np.flatnonzero(np.diff(qid))[[2, 6]] + 1
    parts = np.split(order, cuts)
    found, expected = (statistics(parts, qid, None, learner, scores=scores)[0] for scores in (high, high - level))
    for name in ("gram", "right", "energy"):
        a, b = getattr(found, name), getattr(expected, name)
        assert np.abs(a - b).max() <= 1e-12 * np.abs(b).max(), name


def test_columns_far_from_zero_are_merged_without_loss():
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 5)
    far = X + 1e9
    found, expected = (statistics(parts, qid, None, RankRLS(), items=items)[0] for items in (far, far - 1e9))
    for name in ("gram", "right"):
        a, b = getattr(found, name), getattr(expected, name)
        assert np.abs(a - b).max() <= 1e-13 * np.abs(b).max(), name
