"""Claim: `read_items` reads a CSV file of numbers in at most 1.6 times the CPU time of `pyarrow.csv.read_csv`.

pyarrow is the limit: it knows the types of the columns, reads the whole file at once with one thread, and ends with a
matrix of float64. `read_items` also finds the roles of the columns, checks the bytes, keeps the line of each row, and
reads in blocks. Prints the ratio for long, wide, quoted and small files. All are read in turns and the best turn
counts. A small file is not part of the claim: there most of the time is that of opening it, about a millisecond.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
from harness import time_interleaved
from pyarrow import csv

from kernelrank.data import read_items

TURNS = 7
CLAIM = 1.6


def write_file(path: Path, n_rows: int, n_features: int, *, digits: int = 6, ids: str = "") -> None:
    """Write queries of 20 rows, a target and features; `ids` is the pattern of an id in the first column."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, n_features))
    with path.open("w") as file:
        names = ["docid"] * bool(ids) + ["qid", "y"] + [f"f{column}" for column in range(n_features)]
        file.write(",".join(names) + "\n")
        for row, features in enumerate(X):
            start = (ids.format(row) + ",") * bool(ids)
            file.write(f"{start}{row // 20},{row % 3}," + ",".join(f"{value:.{digits}g}" for value in features) + "\n")


def write_files(folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """Write the files one by one; yield the name, the path, and whether the claim is about it."""
    files = {
        "200 × 20": {"n_rows": 200, "n_features": 20},
        "100,000 × 20": {"n_rows": 100_000, "n_features": 20},
        "1,000,000 × 10": {"n_rows": 1_000_000, "n_features": 10},
        "500 × 7,129": {"n_rows": 500, "n_features": 7129},
        "17 digits": {"n_rows": 50_000, "n_features": 20, "digits": 17},
        "quoted ids": {"n_rows": 100_000, "n_features": 20, "ids": '"doc {}"'},
        "text ids": {"n_rows": 100_000, "n_features": 20, "ids": "doc{}"},
    }
    for name, options in files.items():
        path = folder / "file.csv"
        write_file(path, **options)
        yield name, path, options["n_rows"] > 200


def read_by_pyarrow(path: Path) -> np.ndarray:
    """Read the features of a file, whose columns have known types."""
    with path.open("rb") as file:
        names = file.readline().decode().strip().split(",")
    types = {name: pyarrow.string() if name in ("qid", "docid") else pyarrow.float64() for name in names}
    options = csv.ReadOptions(use_threads=False), csv.ParseOptions(), csv.ConvertOptions(column_types=types)
    table = csv.read_csv(path, *options).combine_chunks()
    return table.select(names[names.index("y") + 1 :]).to_batches()[0].to_tensor().to_numpy()


def main() -> None:
    print(f"{'file':<16} {'MB':>6} {'pyarrow, ms':>12} {'read_items, ms':>15} {'ratio':>6}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, claimed in write_files(Path(folder)):
            assert np.array_equal(read_by_pyarrow(path), read_items(path).X)
            runs = {"pyarrow": lambda p=path: read_by_pyarrow(p), "read_items": lambda p=path: read_items(p)}
            seconds = time_interleaved(runs, TURNS, threads=1)
            theirs, ours = seconds["pyarrow"], seconds["read_items"]
            size = path.stat().st_size / 1e6
            print(
                f"{name:<16} {size:>6.1f} {theirs * 1e3:>12.1f} {ours * 1e3:>15.1f} {ours / theirs:>6.2f}", flush=True
            )
            ratios += [ours / theirs] * claimed
    assert max(ratios) <= CLAIM, "the claim does not hold"


if __name__ == "__main__":
    main()
