"""Claim: a CSV file of 1 GB streams through `read_item_chunks` in less than 1 GB of memory.

A fresh process reads the file in chunks (twice, as `read_item_chunks` does) and sums what it sees; its peak resident
memory counts, the libraries included. The peak for a tenth of the file shows that it does not grow with the file. For
orientation, the time beside that of pyarrow's reader of batches, which reads once and does not say where a fault is.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from harness import peak_megabytes, time_interleaved

LIMIT = 1000.0
"""Megabytes."""

FEATURES = 50


def write_file(path: Path, megabytes: int) -> None:
    """Write queries of 20 items with ids, levels and features of six places, about 100 MB at most in memory."""
    generator = np.random.default_rng(0)
    lines = [
        ",".join(["", f"{level}", *(f"{value:.6f}" for value in row)])
        for level, row in zip(
            generator.integers(0, 3, 20_000), generator.standard_normal((20_000, FEATURES)), strict=True
        )
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(["qid", "id", "relevance", *(f"f{k}" for k in range(FEATURES))]) + "\n")
        item = 0
        while file.tell() < megabytes * 1_000_000:
            file.write("".join(f"{(item + k) // 20},d{item + k}{line}\n" for k, line in enumerate(lines)))
            item += len(lines)


def stream(path: str) -> tuple[int, float]:
    """Read all chunks; return the number of items and a sum over all of them."""
    from kernelrank.data import read_item_chunks

    items, total = 0, 0.0
    for chunk in read_item_chunks(path):
        items += len(chunk)
        total += float(chunk.X.sum()) + float(chunk.y.sum())
    return items, total


def stream_pyarrow(path: str) -> tuple[int, float]:
    """Read all batches with pyarrow on one thread."""
    import pyarrow.csv

    items, total = 0, 0.0
    options = pyarrow.csv.ReadOptions(use_threads=False)
    with pyarrow.csv.open_csv(path, read_options=options) as reader:
        for batch in reader:
            items += batch.num_rows
            total += sum(batch.column(k).to_numpy().sum() for k in range(2, batch.num_columns))
    return items, float(total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    size = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        peaks = {}
        print(f"{'file':>8} {'peak memory':>12}")
        for megabytes in (size // 10, size):
            write_file_in_its_own_process(path, megabytes)
            peaks[megabytes] = peak_megabytes(stream, str(path))
            print(f"{os.path.getsize(path) / 1e6:>5.0f} MB {peaks[megabytes]:>9.0f} MB", flush=True)
        assert peaks[size] < LIMIT, "the claim does not hold"
        write_file(path, size // 10)
        ours, theirs = stream(str(path)), stream_pyarrow(str(path))
        assert ours[0] == theirs[0]
        assert abs(ours[1] - theirs[1]) < 1e-9 * FEATURES * ours[0]
        readers = {"kernelrank": lambda: stream(str(path)), "pyarrow": lambda: stream_pyarrow(str(path))}
        seconds = time_interleaved(readers, 3, threads=1)
        speed = os.path.getsize(path) / 1e6 / seconds["kernelrank"]
        ratio = seconds["kernelrank"] / seconds["pyarrow"]
        print(f"\n{speed:.0f} MB in a CPU second, read twice: {ratio:.1f} × the time of pyarrow, which reads once")


def write_file_in_its_own_process(path: Path, megabytes: int) -> None:
    """Keep this process small: a new one begins with the peak of the one that starts it."""
    peak_megabytes(write_file, path, megabytes)


if __name__ == "__main__":
    main()
