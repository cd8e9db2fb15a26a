"""Claim: a worker needs less than three partitions of memory, whatever it reads the items from.

Run: python benchmarks/workers_need_less_than_three_partitions.py [--megabytes 24 48 96] [--partitions 6]

Two workers with one thread each fit arrays in files of their own, data frames from Parquet files, and those files by
their path; queries of 37 items are cut by the partitions. Beside them stands Dask's own reader, which does nothing but
read the same columns of the same files. Each begins in a fresh cluster that has imported all it needs. Memory is the
growth of a worker from before to its peak, in partitions of 8 bytes for each number of X. The largest relative
difference from a local fit to the files is printed as well. Linux only: other systems cannot forget a peak.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from kernelrank.dask import DaskRankRLS
from kernelrank.estimators import RankRLS

COLUMNS = 50
QUERY_ITEMS = 37
FEW_ROWS = 40
READER = "Dask's reader alone"
NAMES = [f"x{k}" for k in range(COLUMNS)]


def write(folder: Path, rows: int, n_partitions: int) -> None:
    """Write one partition after the other, as arrays and as Parquet."""
    (folder / "parquet").mkdir(parents=True)
    rng = np.random.default_rng(0)
    w = rng.standard_normal(COLUMNS)
    for number in range(n_partitions):
        X = rng.standard_normal((rows, COLUMNS))
        y = X @ w + rng.standard_normal(rows)
        qid = np.arange(number * rows, (number + 1) * rows) // QUERY_ITEMS
        for name, values in (("X", X), ("y", y), ("q", qid)):
            np.save(folder / f"{name}{number}.npy", values)
        table = pd.DataFrame(X, columns=NAMES).assign(y=y, q=qid)
        table.to_parquet(folder / "parquet" / f"{number:02}.parquet")


def arrays(folder: Path, rows: int, n_partitions: int) -> dict[str, da.Array]:
    def read(name: str, width: tuple[int, ...], dtype: Any) -> da.Array:
        def load(block_info=None):
            return np.load(folder / f"{name}{block_info[None]['chunk-location'][0]}.npy")

        chunks = ((rows,) * n_partitions, *((size,) for size in width))
        return da.map_blocks(load, chunks=chunks, dtype=dtype, meta=np.zeros((0,) * len(chunks), dtype=dtype))

    return {"X": read("X", (COLUMNS,), np.float64), "y": read("y", (), np.float64), "qid": read("q", (), np.int64)}


def resident(field: str) -> float:
    """Return the megabytes that this process has in memory (VmRSS), or the most that it had (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def forget_the_peak() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def count(part: pd.DataFrame) -> int:
    return len(part)


def fits(client: Client, folder: Path, rows: int, n_partitions: int) -> dict[str, Callable[[], Any]]:
    """Return what is measured, by name."""
    data = dd.read_parquet(folder / "parquet")
    readings = data[NAMES].map_partitions(count, meta=(None, int)).to_delayed()
    return {
        "Dask arrays": lambda: DaskRankRLS(client=client).fit(**arrays(folder, rows, n_partitions)),
        "data frames from Parquet": lambda: DaskRankRLS(client=client).fit(data[NAMES], data["y"], qid=data["q"]),
        "a path": lambda: DaskRankRLS(client=client).fit(folder / "parquet", "y", qid="q"),
        READER: lambda: client.gather(client.compute(readings)),
    }


def grown(name: str, folder: Path, few: Path, rows: int, n_partitions: int) -> tuple[float, Any]:
    """Return by how many megabytes a worker of a fresh cluster grows, and the result."""
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster, set_as_default=False) as client:
        for warm in fits(client, few, FEW_ROWS, n_partitions).values():
            warm()
        before = client.run(forget_the_peak)
        result = fits(client, folder, rows, n_partitions)[name]()
        after = client.run(resident, "VmHWM")
    return max(after[worker] - before[worker] for worker in after), result


def measure(folder: Path, few: Path, rows: int, n_partitions: int) -> None:
    partition = 8 * COLUMNS * rows / 2**20
    print(f"\n{n_partitions} partitions of {partition:.0f} MB, {rows:,} × {COLUMNS}")
    local = RankRLS().fit(folder / "parquet", y="y", qid="q")
    for name in ("Dask arrays", "data frames from Parquet", "a path"):
        megabytes, model = grown(name, folder, few, rows, n_partitions)
        gap = np.abs(model.coef_ / local.coef_ - 1).max()
        print(
            f"  {name:<28}{megabytes:6.0f} MB {megabytes / partition:6.2f} partitions, claimed: below 3; "
            f"{gap:.1e} from a local fit"
        )
    megabytes, _ = grown(READER, folder, few, rows, n_partitions)
    print(f"  {READER:<28}{megabytes:6.0f} MB {megabytes / partition:6.2f} partitions, and fits nothing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[24, 48, 96])
    parser.add_argument("--partitions", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        few = Path(name) / "few"
        write(few, FEW_ROWS, arguments.partitions)
        for megabytes in arguments.megabytes:
            rows = int(megabytes * 2**20) // (8 * COLUMNS)
            write(Path(name) / f"{rows}", rows, arguments.partitions)
            measure(Path(name) / f"{rows}", few, rows, arguments.partitions)
