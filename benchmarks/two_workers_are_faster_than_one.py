"""Claim: two worker processes fit at least 1.6 × as fast as one, and no worker needs more than three partitions.

Run: python benchmarks/two_workers_are_faster_than_one.py [--items 5000000] [--partitions 20]

Workers have one thread each. The data lie in files, one for each partition, and every fit reads them; queries of 37
items are cut by the partitions. Both clusters run all the time and work in turns; the best of several turns counts.
Where other work keeps the cores busy, no wall-clock time shows what two workers can do, so CPU seconds stand beside it:
those of the only worker over those of the busier one of two are what the ratio would be on free cores.
Memory is the growth of a worker's peak from before the first fit to data of that size. The largest difference from a
local fit is printed as well.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import tempfile
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from kernelrank import RankRLS
from kernelrank.dask import DaskRankRLS

COLUMNS = 50
QUERY_ITEMS = 37
TURNS = 3


def write(folder: Path, n_items: int, n_partitions: int) -> None:
    """Write stacks of NumPy files as Dask has them, one partition after the other, so that this process stays small."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(COLUMNS)
    parts = np.array_split(np.arange(n_items), n_partitions)
    rows = tuple(len(items) for items in parts)
    for name, dtype in (("X", np.float64), ("y", np.float64), ("q", np.int64)):
        (folder / name).mkdir()
        chunks = (rows, (COLUMNS,)) if name == "X" else (rows,)
        (folder / name / "info").write_bytes(pickle.dumps({"chunks": chunks, "dtype": np.dtype(dtype), "axis": 0}))
    for number, items in enumerate(parts):
        X = rng.standard_normal((len(items), COLUMNS))
        np.save(folder / "X" / f"{number}.npy", X)
        np.save(folder / "y" / f"{number}.npy", X @ w + rng.standard_normal(len(items)))
        np.save(folder / "q" / f"{number}.npy", items // QUERY_ITEMS)


def read(folder: Path, name: str) -> da.Array:
    """Read the files anew in each fit, into memory."""
    return da.from_npy_stack(folder / name, mmap_mode=None)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def warm(clients: dict[int, Client]) -> None:
    """Let every worker import what it needs."""
    rng = np.random.default_rng(0)
    X = da.from_array(rng.standard_normal((2_000, COLUMNS)), chunks=(100, COLUMNS))
    for client in clients.values():
        DaskRankRLS(client=client).fit(X, rng.standard_normal(2_000), np.arange(2_000) // QUERY_ITEMS)


def compare(folder: Path, clients: dict[int, Client], n_items: int, n_partitions: int) -> None:
    write(folder, n_items, n_partitions)
    X, y, qid = (read(folder, name) for name in "Xyq")
    partition = 8 * COLUMNS * n_items / n_partitions / 2**20
    before = {number: client.run(peak) for number, client in clients.items()}
    best, busy = dict.fromkeys(clients, float("inf")), dict.fromkeys(clients, float("inf"))
    for _ in range(TURNS):
        for number, client in clients.items():
            used, start = client.run(cpu), time.perf_counter()
            model = DaskRankRLS(client=client).fit(X, y, qid)
            best[number] = min(best[number], time.perf_counter() - start)
            busiest = max(after - used[worker] for worker, after in client.run(cpu).items())
            busy[number] = min(busy[number], busiest)
    print(f"\nm = {n_items:,}, n = {COLUMNS}, {n_partitions} partitions of {partition:.0f} MB")
    for number, client in clients.items():
        grown = max(after - before[number][worker] for worker, after in client.run(peak).items())
        print(
            f"  {number} worker(s) {best[number]:8.2f} s, {busy[number]:6.2f} CPU s of the busiest; peak of a worker "
            f"+ {grown:4.0f} MB, {grown / partition:4.2f} partitions"
        )
    print(f"  two workers are {best[1] / best[2]:.2f} × as fast as one, {busy[1] / busy[2]:.2f} × by CPU seconds")
    print("  claimed: at least 1.6 ×, and below 3 partitions")
    first = [np.load(folder / name / f"{number}.npy") for name in "Xyq" for number in range(2)]
    local = RankRLS().fit(np.concatenate(first[:2]), np.concatenate(first[2:4]), qid=np.concatenate(first[4:]))
    rows = sum(X.chunks[0][:2])
    model = DaskRankRLS(client=clients[2]).fit(X[:rows], y[:rows], qid[:rows])
    gap = np.abs(model.coef_ / local.coef_ - 1).max()
    print(f"  largest relative difference from a local fit to the first two partitions: {gap:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5_000_000)
    parser.add_argument("--partitions", type=int, default=20)
    arguments = parser.parse_args()
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, **options) as one,
        LocalCluster(n_workers=2, **options) as two,
        Client(one, set_as_default=False) as single,
        Client(two, set_as_default=False) as double,
    ):
        clients = {1: single, 2: double}
        warm(clients)
        for part in (5, 1):
            with tempfile.TemporaryDirectory() as folder:
                compare(Path(folder), clients, arguments.items // part, arguments.partitions)
