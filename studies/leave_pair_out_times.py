"""Leave-pair-out of every pair costs little more than one training.

[PABS08] derives leave-pair-out for RankRLS at O(m²) for all pairs after one decomposition; its text has no table of
times. Here are CPU seconds of one training and of leave-pair-out over all pairs with a positive and a negative item,
Gaussian kernel, one thread, and what refitting would take: the time of one training times the number of pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from studies.book.picture import picture
from studies.book.study import Run, Study


def cpu_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the least CPU seconds of some repetitions."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return float(best)


def protocol(run: Run) -> dict[str, Any]:
    """Time both at every size."""
    rng = np.random.default_rng(run.seed)
    rows = []
    for m in run["sizes"]:
        X, y = rng.standard_normal((m, 20)), np.repeat([1.0, 0.0], [m // 2, m - m // 2])
        X[: m // 2, 0] += 1.0
        model = kr.RankRLS(1.0, kernel="rbf", gamma=0.05)
        kr.leave_pair_out(model, X[:: m // 10], y[:: m // 10])  # compile first
        fit = cpu_seconds(lambda model=model, X=X, y=y: model.fit(X, y), run["repeats"])
        pairs = cpu_seconds(lambda model=model, X=X, y=y: kr.leave_pair_out(model, X, y), run["repeats"])
        accuracy = kr.leave_pair_out(model, X, y).accuracy
        n_pairs = (m // 2) * (m - m // 2)
        rows.append(
            {"m": m, "pairs": n_pairs, "fit": fit, "leave_pair_out": pairs, "ratio": pairs / fit, "AUC": accuracy,
             "refitting_hours": fit * n_pairs / 3600}
        )  # fmt: skip
    return {"times": rows}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the times over the number of items."""
    rows = tables["times"]
    sizes = [row["m"] for row in rows]
    with picture(folder / "leave_pair_out_times.svg", 5.6, 3.8) as figure:
        ax = figure.subplots()
        ax.loglog(sizes, [row["refitting_hours"] * 3600 for row in rows], marker="o", label="refitting for each pair")
        ax.loglog(sizes, [row["leave_pair_out"] for row in rows], marker="o", label="leave-pair-out, all pairs")
        ax.loglog(sizes, [row["fit"] for row in rows], marker="o", label="one training")
        ax.set(xlabel="items", ylabel="CPU seconds")
        ax.set_xticks(sizes, [str(m) for m in sizes])
        ax.minorticks_off()
        ax.legend()


STUDY = Study(protocol, settings={"sizes": ((250, 500, 1000, 2000), (250, 500)), "repeats": (2, 1)}, draw=draw)
