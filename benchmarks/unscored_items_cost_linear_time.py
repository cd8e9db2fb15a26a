"""Claim: twice the unscored items cost CoRankRLS at most 2.2 × the time and little memory; 31 alphas cost 1.5 × one.

Run: python benchmarks/unscored_items_cost_linear_time.py [--items 100000] [--basis 200]

Two views with 200 basis items each (Gaussian kernel, 20 columns) learn from 2,000 scored items in queries of 20, and
from 10⁵ and 2·10⁵ unscored ones. Memory is the peak of fresh processes that are given the unscored items as blocks from
a generator, as a Parquet file and as a memory map, whose pages in the file cache count as long as nobody else needs the
memory. Times are CPU seconds of one thread, best of several, on blocks that stand ready.

The line of 1.1 holds for blocks only. With Parquet the peak is 302, 335, 348 and 365 MB for 1, 2, 4 and 8·10⁵ items,
1.11 × at the first doubling and 1.04 to 1.05 × after it; with a memory map 239, 257 and 290 MB, 1.08 and 1.13 ×.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import peak_megabytes, report, time_interleaved

COLUMNS = 20
QUERY_ITEMS = 20
SCORED = 2_000
PIECE = 10_000
ALPHAS = 2.0 ** np.arange(-15, 16)


def scored() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SCORED, COLUMNS))
    y = np.tanh(X[:, :5]).sum(axis=1) + rng.standard_normal(SCORED)
    return {"X": X, "y": y, "qid": np.arange(SCORED) // QUERY_ITEMS}


def unscored(n_items: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks whose last query goes on in the next one."""
    rng = np.random.default_rng(1)
    for start in range(0, n_items, PIECE):
        size = min(PIECE, n_items - start)
        yield rng.standard_normal((size, COLUMNS)), (start + 7 + np.arange(size)) // QUERY_ITEMS


def write_parquet(path: Path, n_items: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for X, qid in unscored(n_items):
        table = pa.table({**{f"x{k}": X[:, k] for k in range(COLUMNS)}, "query": qid})
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None
    writer.close()


def write_array(path: Path, n_items: int) -> None:
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n_items, COLUMNS))
    for number, (block, _) in enumerate(unscored(n_items)):
        X[number * PIECE : number * PIECE + len(block)] = block
    X.flush()


def fit_blocks(n_items: int, basis: int) -> None:
    from kernelrank.estimators import CoRankRLS

    CoRankRLS(1.0, 0.01, basis=basis, random_state=0).fit(**scored(), X_unscored=unscored(n_items))


def fit_parquet(path: str, basis: int) -> None:
    from kernelrank.estimators import CoRankRLS

    CoRankRLS(1.0, 0.01, basis=basis, random_state=0).fit(**scored(), X_unscored=path, qid_unscored="query")


def fit_map(path: str, basis: int) -> None:
    from kernelrank.estimators import CoRankRLS

    X = np.load(path, mmap_mode="r")
    qid = (7 + np.arange(len(X))) // QUERY_ITEMS
    CoRankRLS(1.0, 0.01, basis=basis, random_state=0).fit(**scored(), X_unscored=X, qid_unscored=qid)


def main(n_items: int, basis: int) -> None:
    sizes = (n_items, 2 * n_items)
    peaks: dict[str, list[float]] = {"blocks": [], "Parquet": [], "memory map": []}
    print(f"peak MB of a fresh process{'unscored items':>20}" + "".join(f"{name:>12}" for name in peaks))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path, array = Path(folder) / f"{size}.parquet", Path(folder) / f"{size}.npy"
            peak_megabytes(write_parquet, path, size)
            peak_megabytes(write_array, array, size)
            peaks["blocks"].append(peak_megabytes(fit_blocks, size, basis))
            peaks["Parquet"].append(peak_megabytes(fit_parquet, str(path), basis))
            peaks["memory map"].append(peak_megabytes(fit_map, str(array), basis))
            print(f"{size:>46,}" + "".join(f"{values[-1]:>12.0f}" for values in peaks.values()))
    ratios = ", ".join(f"{after / before:.3f} × with {name}" for name, (before, after) in peaks.items())
    print(f"  twice the items: {ratios}; claimed: 0.9 to 1.1 ×")

    from kernelrank.estimators import CoRankRLS

    learner = CoRankRLS(1.0, 0.01, basis=basis, random_state=0)
    small, large = list(unscored(sizes[0])), list(unscored(sizes[1]))
    one, two = f"fit, {sizes[0]:,} unscored items", f"fit, {sizes[1]:,} unscored items"
    seconds = time_interleaved(
        {
            one: lambda: learner.fit(**scored(), X_unscored=small),
            two: lambda: learner.fit(**scored(), X_unscored=large),
            f"fit_path, 31 alphas, {sizes[0]:,} unscored items": lambda: learner.fit_path(
                alphas=ALPHAS, **scored(), X_unscored=small
            ),
        },
        repeats=3,
        threads=1,
    )
    report(f"CoRankRLS, two views, {basis} basis items each (claimed: 2.2 × and 1.5 ×)", seconds, one)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--basis", type=int, default=200)
    arguments = parser.parse_args()
    main(arguments.items, arguments.basis)
