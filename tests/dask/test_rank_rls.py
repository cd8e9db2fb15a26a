"""A cluster of two processes gives the coefficients of a local fit, whatever the partitions are."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import kernelrank as kr
from kernelrank.dask import DaskRankRLS
from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.estimators import RankRLS
from tests.oracles.pairs import centred, fit_weights, scored_edges

X, y, qid = make_ranking(n_queries=15, n_items=(1, 12), n_features=5, n_levels=4, random_state=0)
X = np.asarray(X)
BASIS = {"kernel": "rbf", "gamma": 0.3}
WHOLE = tuple(int(size) for size in np.diff([0, *(np.flatnonzero(np.diff(qid))[[3, 9]] + 1), len(y)]))
"""Sizes of three partitions that cut no query."""


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def blocks(values, rows):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def frame():
    columns = {f"x{k}": X[:, k] for k in range(5)}
    return pd.DataFrame({**columns, "grade": y, "query": [f"q{q}" for q in qid]})


@pytest.mark.parametrize(("seed", "query_weight"), [(0, "pairs"), (1, "items"), (2, "queries")])
def test_queries_cut_anywhere_and_in_any_order(client, seed, query_weight):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    weight = rng.uniform(0.1, 3.0, size=len(y))
    expected = RankRLS(0.3, query_weight=query_weight).fit(
        X[order], y[order], qid=qid[order], sample_weight=weight[order]
    )
    sizes = np.diff([0, *np.sort(rng.choice(np.arange(1, len(y)), size=9, replace=False)), len(y)])
    items = da.from_array(X[order], chunks=(tuple(sizes.tolist()), 2))
    model = DaskRankRLS(0.3, query_weight=query_weight, client=client)
    model.fit(items, y[order], qid=blocks(qid[order], 13), sample_weight=blocks(weight[order], 50))
    close(model.coef_, expected.coef_)
    for name in ("n_queries_", "n_idle_queries_", "n_pairs_", "n_features_in_", "solver_", "n_iter_"):
        assert getattr(model, name) == getattr(expected, name), name


@pytest.mark.parametrize("mean", [1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_features_far_from_the_origin(client, mean, kernel):
    # Queries are cut, so that their sums are merged. Differences of items do not depend on the origin.
    items, basis = np.round(64 * X) / 64, [0, 5, 11, 30]
    K = rbf_kernel(items, items[basis], gamma=0.3)
    Phi = items if kernel == "linear" else K @ np.linalg.inv(np.linalg.cholesky(K[basis])).T
    options = {} if kernel == "linear" else {**BASIS, "basis": items[basis] + mean}
    expected = centred(Phi @ fit_weights(Phi, scored_edges(y, qid), 0.3), qid)
    model = DaskRankRLS(0.3, client=client, **options).fit(blocks(items + mean, 7), y, qid=blocks(qid, 11))
    digits = max(1e-9, 1e-13 * mean**2)
    close(centred(model.predict(items + mean), qid), expected, digits)
    close(centred(model.predict(blocks(items + mean, 9)).compute(), qid), expected, digits)
    close(centred(model.to_local().predict(items + mean), qid), expected, digits)


def test_a_fitted_model_is_a_value(client):
    basis = X[:4].copy()
    model = DaskRankRLS(0.3, basis=basis, **BASIS, client=client).fit(blocks(X, 40), y, qid=blocks(qid, 40))
    before = model.predict(X)
    basis[:] = 0.0
    model.set_params(kernel="poly", gamma=2.0)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(model.predict(blocks(X, 40)).compute(), before)


def test_sums_that_overflow_are_refused(client):
    model = DaskRankRLS(client=client).fit(blocks(X, 40), y, qid=blocks(qid, 40))
    before = model.coef_.copy()
    with pytest.raises(InvalidInputError, match="too large: the sums of the fit overflow"):
        model.fit(blocks(1e160 * X, 40), y, qid=blocks(qid, 40))
    np.testing.assert_array_equal(model.coef_, before)


def test_sizes_that_are_not_known_and_frames_beside_arrays(client):
    positive = X[:, 0] > 0
    expected = RankRLS(0.3).fit(X[positive], y[positive], qid=qid[positive])
    items, scores, labels = blocks(X, 13), blocks(y, 13), blocks(qid, 13)
    kept = items[:, 0] > 0
    model = DaskRankRLS(0.3, basis=None, client=client).fit(items[kept], scores[kept], qid=labels[kept])
    close(model.coef_, expected.coef_)
    assert (model.n_queries_, model.n_pairs_) == (expected.n_queries_, expected.n_pairs_)
    data = dd.from_pandas(frame(), npartitions=4)
    sizes = tuple(len(part) for part in data.partitions)
    model = DaskRankRLS(0.3, client=client).fit(blocks(X, sizes), data["grade"], qid=data["query"])
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)
    names = [f"x{k}" for k in range(5)]
    model = DaskRankRLS(0.3, client=client).fit(data[names], blocks(y, sizes), qid=data["query"])
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)


def test_one_ranking_without_queries(client):
    model = DaskRankRLS(0.3, client=client).fit(blocks(X, 20), blocks(y, 20))
    close(model.coef_, RankRLS(0.3).fit(X, y).coef_)
    assert model.n_queries_ == 1


@pytest.mark.parametrize(
    "options", [{"ties": "exclude", "query_weight": "queries"}, {"cost": "unit"}, {"cost": "relative"}]
)
def test_other_costs_take_whole_queries(client, options):
    expected = RankRLS(0.3, **options).fit(X, y, qid=qid)
    model = DaskRankRLS(0.3, client=client, **options).fit(blocks(X, WHOLE), y, qid=qid)
    close(model.coef_, expected.coef_)
    assert (model.n_pairs_, model.n_idle_queries_) == (expected.n_pairs_, expected.n_idle_queries_)


def test_a_basis_drawn_counted_or_given(client):
    expected = RankRLS(0.3, basis=10, random_state=0, **BASIS).fit(X, y, qid=qid)
    for basis in (10, expected.basis_[::-1].tolist(), X[expected.basis_]):
        model = DaskRankRLS(0.3, basis=basis, random_state=0, client=client, **BASIS).fit(blocks(X, 11), y, qid=qid)
        close(model.predict(X), expected.predict(X))
        assert model.to_local().basis in (10, basis)
    model = DaskRankRLS(0.3, basis=10, random_state=0, client=client, **BASIS).fit(blocks(X, 30), y, qid=qid)
    np.testing.assert_array_equal(model.basis_, expected.basis_)
    close(model.dual_coef_, expected.dual_coef_)


def test_several_outputs_and_sparse_single_precision(client):
    Y = np.column_stack([y, X[:, 0] ** 2])
    expected = RankRLS(0.3).fit(X, Y, qid=qid)
    items = blocks(X, 19)
    model = DaskRankRLS(0.3, client=client).fit(items, Y, qid=qid)
    close(model.coef_, expected.coef_)
    predicted = model.predict(items)
    assert predicted.shape == Y.shape
    close(predicted.compute(scheduler="synchronous"), expected.predict(X))
    thin = items.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))
    close(DaskRankRLS(0.3, client=client).fit(thin, Y, qid=qid).coef_, expected.coef_, 1e-8)
    single = DaskRankRLS(0.3, client=client).fit(items.astype(np.float32), y, qid=qid)
    close(single.coef_, RankRLS(0.3).fit(X.astype(np.float32), y, qid=qid).coef_)


def test_frames_from_files(client, tmp_path):
    table = frame()
    for number, rows in enumerate(np.array_split(np.arange(len(y)), 4)):
        table.iloc[rows].to_parquet(tmp_path / f"{number}.parquet")
    data = dd.read_parquet(tmp_path)
    names = [f"x{k}" for k in range(5)]
    model = DaskRankRLS(0.3, client=client).fit(data[names], data["grade"], qid=data["query"])
    expected = RankRLS(0.3).fit(table[names], y, qid=qid)
    close(model.coef_, expected.coef_)
    assert list(model.feature_names_in_) == names
    close(client.compute(model.predict(data[names])).result(), expected.predict(table[names]))
    assert model.score(data[names], data["grade"], qid=data["query"]) == expected.score(table[names], y, qid=qid)
    assert model.score(table[names], y, qid=qid) == expected.score(table[names], y, qid=qid)
    with pytest.raises(InvalidInputError, match="expected the columns of the training data in the same order"):
        model.predict(data[names[::-1]])
    with pytest.raises(InvalidInputError, match="so score needs qid"):
        model.score(data[names], data["grade"])
    some = data[data["x0"] > 100.0]
    with pytest.raises(NothingToCompareError, match=r"nothing to compare.*\(0 queries"):
        DaskRankRLS(client=client).fit(some[names], some["grade"], qid=some["query"])


def test_the_local_model_is_a_model(client, tmp_path):
    model = DaskRankRLS(0.3, basis=10, random_state=0, client=client, **BASIS).fit(blocks(X, 40), y, qid=qid)
    local = model.to_local()
    assert isinstance(local, RankRLS)
    with pytest.raises(InvalidInputError, match=r"cannot save DaskRankRLS: .*save what its to_local\(\) returns"):
        kr.save(model, tmp_path / "model.kr")
    kr.save(local, tmp_path / "model.kr")
    np.testing.assert_array_equal(kr.load(tmp_path / "model.kr").predict(X), model.predict(X))
    copy = clone(model)
    assert copy.client is client
    assert not hasattr(copy, "dual_coef_")


def test_what_cannot_be_fitted_says_so(client):
    items, model = blocks(X, 20), DaskRankRLS(client=client)
    unknown = items[items[:, 0] > -100.0]
    with pytest.raises(InvalidInputError, match=r"lie in several partitions, such as .*repartition the data"):
        DaskRankRLS(cost="unit", client=client).fit(items, y, qid=qid)
    with pytest.raises(InvalidInputError, match="y has 2 partitions, but X has 5"):
        model.fit(unknown, blocks(y, 50), qid=blocks(qid, 20))
    with pytest.raises(InvalidInputError, match="qid is in memory, but the sizes of X's partitions are unknown"):
        model.fit(unknown, blocks(y, 20), qid=qid)
    with pytest.raises(InvalidInputError, match=f"y has 7 entries, but X has {len(y)} items"):
        model.fit(items, blocks(y[:7], 20), qid=qid)
    with pytest.raises(InvalidInputError, match=r"partition [01]: y has (19|21) entries, but X has 20"):
        model.fit(unknown, blocks(y, (19, 21, *[20] * (len(y) // 20 - 2), len(y) % 20)), qid=None)
    holes = X.copy()
    holes[45, 0] = np.nan
    with pytest.raises(InvalidInputError, match=r"partition 2: Input X contains NaN"):
        model.fit(blocks(holes, 20), y, qid=qid)
    with pytest.raises(InvalidInputError, match="got ndarray; RankRLS takes what is in memory"):
        model.fit(X, y, qid=qid)
    with pytest.raises(InvalidInputError, match="needs a basis with Dask"):
        DaskRankRLS(kernel="rbf", client=client).fit(items, y, qid=qid)
    with pytest.raises(NothingToCompareError, match="no query has two items with different scores"):
        model.fit(items, np.full(len(y), 0.1), qid=qid)
    assert not hasattr(model, "coef_")


def test_a_killed_worker_costs_time_only(client):
    def slow(block):
        time.sleep(0.15)
        return block

    victims = client.run(os.getpid)

    def kill():
        def begun(dask_scheduler):
            return any(
                task.state == "memory"
                for key, task in dask_scheduler.tasks.items()
                if "partition_statistics" in str(key)
            )

        patience = time.monotonic() + 20
        while not client.run_on_scheduler(begun):
            assert time.monotonic() < patience, "no partition was ever done"
            time.sleep(0.02)
        os.kill(next(iter(victims.values())), signal.SIGKILL)

    items = blocks(X, 5).map_blocks(slow, dtype=float, meta=np.zeros((0, 0)))
    killer = threading.Thread(target=kill)
    killer.start()
    model = DaskRankRLS(0.3, client=client).fit(items, y, qid=qid)
    killer.join()
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != set(victims.values())


def test_a_scheduler_by_its_address_or_the_client_in_use(cluster):
    expected = RankRLS(0.3).fit(X, y, qid=qid).coef_
    close(DaskRankRLS(0.3, client=cluster.scheduler_address).fit(blocks(X, 40), y, qid=qid).coef_, expected)
    with Client(cluster):
        close(DaskRankRLS(0.3).fit(blocks(X, 40), y, qid=qid).coef_, expected)


def test_without_a_client_a_cluster_is_started_and_closed():
    model = DaskRankRLS(0.3).fit(blocks(X, 40), y, qid=qid)
    close(model.coef_, RankRLS(0.3).fit(X, y, qid=qid).coef_)
