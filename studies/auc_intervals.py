"""The default interval of an estimated AUC holds the expected AUC of the procedure as often as it promises.

The simulation of ``benchmarks/intervals_cover.py``: cohorts of two classes with ten features, one of which tells the
classes apart; `RankRLSCV` chooses among seven alphas inside every training set. How often does the interval of
`estimate_auc` hold the mean true AUC of what is learnt at that size? And: are the p-values of `permutation_test`
uniform where the labels say nothing?
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from benchmarks.intervals_cover import AUCS, measure, shifted, shuffled
from kernelrank.errors import EdgeOfGridWarning
from studies.book.picture import legend_above, picture
from studies.book.study import Run, Study

SHARES = (0.5, 0.1)


def protocol(run: Run) -> dict[str, Any]:
    """Measure all cells, and the p-values."""
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    cells = [
        {**measure(shifted(m, round(share * m), auc, run["calibration"]), draws), "draws": draws}
        for m, draws in zip(run["sizes"], run["draws"], strict=True)
        for share in SHARES
        for auc in AUCS
    ]
    quantiles, uniform = shuffled(run["shuffles"])
    return {"cells": cells, "quantiles": quantiles, "uniform": uniform}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the coverage of both intervals."""
    cells = tables["cells"]
    names = [f"{cell['m']} items, {cell['positive']} positive, AUC {cell['expected']:.2f}" for cell in cells]
    with picture(folder / "auc_intervals.svg", 6.8, 0.24 * len(cells) + 1.2) as figure:
        ax = figure.subplots()
        ax.plot([cell["covers"] for cell in cells], names, "o", label="default")
        ax.plot([cell["components_cover"] for cell in cells], names, "x", label="components alone")
        ax.axvline(0.95, color="black", linewidth=0.8)
        ax.invert_yaxis()
        ax.set(xlabel="share of the cohorts whose 95 % interval holds the expected AUC")
        legend_above(figure, ax)


STUDY = Study(
    protocol,
    settings={
        "sizes": ((30, 60, 100), (30,)),
        "draws": ((1000, 300, 300), (20,)),
        "calibration": (150, 10),
        "shuffles": (200, 20),
    },
    draw=draw,
)
