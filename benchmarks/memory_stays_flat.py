"""Claim: files larger than memory are fitted with a peak that does not grow with them, at half the speed of reading.

Run: python benchmarks/memory_stays_flat.py [--gigabytes 0.5]

A Parquet file and an SVMlight file of a quarter, half and all of that size are written into a temporary folder, in
pieces. Each is read in chunks of whole queries, and fitted by `RankRLS().fit(path)`, in fresh processes whose peak
memory is that of reading, of fitting, and of importing alone. The times are the best of several, in turns, in
wall-clock seconds; compiled loops are warm. A size of 4 is what the claim of at most 1 GB is about.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import peak_megabytes

COLUMNS = 50
QUERY_ITEMS = 40
PIECE = 40_000
TURNS = 3


def pieces(n_items: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    w = rng.standard_normal(COLUMNS)
    for start in range(0, n_items, PIECE):
        X = rng.standard_normal((min(PIECE, n_items - start), COLUMNS)).round(4)
        yield X, np.round(X @ w, 3), (start + np.arange(len(X))) // QUERY_ITEMS


def write_parquet(path: Path, gigabytes: float) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_items = int(gigabytes * 1e9 / (8 * (COLUMNS + 2)))
    names = [*(f"x{k}" for k in range(COLUMNS)), "y", "q"]
    schema = pa.schema([(name, pa.int64() if name == "q" else pa.float64()) for name in names])
    # Neither compressed nor coded by a dictionary: the file is as large as its numbers.
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for X, y, qid in pieces(n_items):
            writer.write_table(pa.table([*X.T.copy(), y, qid], schema=schema))


def write_svmlight(path: Path, gigabytes: float) -> None:
    form = " ".join(f"{k + 1}:%.4f" for k in range(COLUMNS))
    left = gigabytes * 1e9
    with open(path, "w", encoding="ascii") as file:
        for X, y, qid in pieces(10**12):
            for row, score, query in zip(X.tolist(), y.tolist(), qid.tolist(), strict=True):
                left -= file.write(f"{score} qid:{query} {form % tuple(row)}\n")
            if left <= 0:
                return


def chunks(path: Path) -> Iterator[Any]:
    from kernelrank.data import read_parquet_chunks, read_ranking_chunks

    if path.suffix == ".parquet":
        return read_parquet_chunks(path, target="y", query="q")
    return read_ranking_chunks(path, whole_queries=True, sparse=False, n_features=COLUMNS)


def only_import(_: Path) -> None:
    import kernelrank.data  # noqa: F401
    from kernelrank.estimators import RankRLS  # noqa: F401


def only_read(path: Path) -> None:
    for _ in chunks(path):
        pass


def fit(path: Path) -> None:
    from kernelrank.estimators import RankRLS

    RankRLS().fit(path, **({"y": "y", "qid": "q"} if path.suffix == ".parquet" else {}))


def best_times(path: Path) -> dict[str, float]:
    best = {"read": float("inf"), "fit": float("inf")}
    for _ in range(TURNS):
        for name, run in (("read", only_read), ("fit", fit)):
            start = time.perf_counter()
            run(path)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main(gigabytes: float) -> None:
    sizes = (gigabytes / 4, gigabytes / 2, gigabytes)
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{size:g}.{suffix}" for suffix in ("parquet", "txt") for size in sizes]
        for path in paths:
            write = write_parquet if path.suffix == ".parquet" else write_svmlight
            # Written by a process of its own: one that is started from here begins with the peak of this one.
            peak_megabytes(write, path, float(path.stem))
            measured[path] = [peak_megabytes(run, path) for run in (only_import, only_read, fit)]
        print(f"{'file':<16}{'MB':>8}{'import':>9}{'read':>9}{'fit: peak MB':>14}{'read s':>9}{'fit s':>9}{'speed':>8}")
        for path in paths:
            best = best_times(path)
            imported, read, fitted = measured[path]
            size = path.stat().st_size / 1e6
            print(
                f"{path.suffix[1:]:<16}{size:>8.0f}{imported:>9.0f}{read:>9.0f}{fitted:>14.0f}{best['read']:>9.2f}"
                f"{best['fit']:>9.2f}{best['read'] / best['fit']:>8.2f}"
            )
    print("speed: of fitting over that of reading alone. Claimed: at least 0.5, and below 1,000 MB at 4,000 MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=0.5)
    main(parser.parse_args().gigabytes)
