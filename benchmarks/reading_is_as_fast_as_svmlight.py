"""Claim: `read_ranking` and `read_items` read as fast as `load_svmlight_file`, and 100 MB/s of LETOR.

They do more: they keep the docids, any query label, and name the line of an error; `read_items` also sees that no docid
occurs twice in a query. Prints the time of scikit-learn over ours (above 1 is the claim) for four files: decimals of
six places and comments as in LETOR (100 MB/s is the claim), floats as Python writes them, sparse rows, and rows with
signs, tabs and blank lines. All read in turns, and the best of several turns counts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from harness import time_interleaved
from sklearn.datasets import load_svmlight_file

from kernelrank.data import make_ranking, read_items, read_ranking, write_ranking

TURNS = 5
CLAIM = 1.0
LETOR_CLAIM = 100  # MB/s


def write_files(folder: Path) -> dict[str, Path]:
    """Write the four files; each has docids."""
    paths = {name: folder / f"{name}.txt" for name in ("LETOR", "all digits", "sparse", "irregular")}
    X, y, qid = make_ranking(250, 40, 46, n_levels=3, random_state=0)
    docid = [f"GX{item:06d}" for item in range(len(y))]
    write_ranking(paths["LETOR"], X.round(6), y, qid=qid, docid=docid)
    text = paths["LETOR"].read_text().replace("\n", " inc = 1 prob = 0.086622\n")
    paths["LETOR"].write_text(text)
    write_ranking(paths["all digits"], X, y, qid=qid, docid=docid)
    X, y, qid = make_ranking(1000, 40, 10_000, density=0.001, n_levels=3, random_state=0)
    write_ranking(paths["sparse"], X, y, qid=qid, docid=[f"GX{item:06d}" for item in range(len(y))])
    text = paths["sparse"].read_text().replace(" qid", "\tqid").replace(":0.", ":+0.").replace("\n1", "\n\n1")
    paths["irregular"].write_text(text)
    return paths


def best_times(path: Path) -> dict[str, float]:
    """Return the shortest CPU time of the readers, after a turn that warms them and compares what they read."""
    theirs, ours = load_svmlight_file(path, query_id=True), read_ranking(path)
    assert np.array_equal(theirs[0].data, ours.X.data)
    assert np.array_equal(theirs[2], ours.qid)
    readers = {
        "scikit-learn": lambda: load_svmlight_file(path, query_id=True),
        "read_ranking": lambda: read_ranking(path),
        "read_items": lambda: read_items(path),
    }
    return time_interleaved(readers, TURNS, threads=1)


def main() -> None:
    print(f"{'':<12} {'':>6} {'':>6} {'scikit-learn over':>27}")
    print(f"{'file':<12} {'MB':>6} {'MB/s':>6} {'read_ranking':>15} {'read_items':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_files(Path(folder)).items():
            seconds = best_times(path)
            megabytes = path.stat().st_size / 1e6
            ratios = [seconds["scikit-learn"] / seconds[reader] for reader in ("read_ranking", "read_items")]
            speed = megabytes / seconds["read_ranking"]
            print(f"{name:<12} {megabytes:>6.1f} {speed:>6.0f} {ratios[0]:>15.1f} {ratios[1]:>11.1f}")
            assert min(ratios) > CLAIM, "the claim does not hold"
            assert name != "LETOR" or speed >= LETOR_CLAIM, "the claim does not hold"


if __name__ == "__main__":
    main()
