"""Claim: `load_ranking` reads a file in at most twice the time of scikit-learn's `load_svmlight_file`.

It does more: it keeps the docids, any query label, and names the line of an error. Prints the time of scikit-learn
over ours (above 0.5 is the claim) for three files: decimals of six places as in LETOR, floats as Python writes them,
and sparse rows. Both read in turns, the best of several turns counts, and the compiled loops are warm.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from kernelrank.data import load_ranking, make_ranking, save_ranking

TURNS = 5
CLAIM = 0.5


def write_files(folder: Path) -> dict[str, Path]:
    """Write the three files; each has docids."""
    paths = {name: folder / f"{name}.txt" for name in ("six places", "all digits", "sparse")}
    X, y, qid = make_ranking(250, 40, 46, n_levels=3, random_state=0)
    docid = [f"GX{item:06d}" for item in range(len(y))]
    save_ranking(paths["six places"], X.round(6), y, qid, docid)
    save_ranking(paths["all digits"], X, y, qid, docid)
    X, y, qid = make_ranking(1000, 40, 10_000, density=0.001, n_levels=3, random_state=0)
    save_ranking(paths["sparse"], X, y, qid, [f"GX{item:06d}" for item in range(len(y))])
    return paths


def best_times(path: Path) -> tuple[float, float]:
    """Return the shortest time of both readers, after a turn that warms them and compares what they read."""
    theirs, ours = load_svmlight_file(path, query_id=True), load_ranking(path)
    assert np.array_equal(theirs[0].data, ours.X.data)
    assert np.array_equal(theirs[2], ours.qid)
    best = [float("inf"), float("inf")]
    for _ in range(TURNS):
        start = time.perf_counter()
        load_svmlight_file(path, query_id=True)
        middle = time.perf_counter()
        load_ranking(path)
        best = [min(best[0], middle - start), min(best[1], time.perf_counter() - middle)]
    return best[0], best[1]


def main() -> None:
    print(f"{'file':<12} {'MB':>6} {'MB/s':>6} {'scikit-learn / kernelrank':>27}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_files(Path(folder)).items():
            theirs, ours = best_times(path)
            megabytes = path.stat().st_size / 1e6
            print(f"{name:<12} {megabytes:>6.1f} {megabytes / ours:>6.0f} {theirs / ours:>27.1f}")
            assert theirs / ours > CLAIM, "the claim does not hold"


if __name__ == "__main__":
    main()
