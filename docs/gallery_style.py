"""How the pictures of the gallery look."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt

STYLE = {
    "figure.figsize": (4.8, 3.4),  # text of the body's size, on a phone readable still
    "figure.dpi": 130,
    "figure.constrained_layout.use": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.25,
}


def apply(_configuration: Any, _file: str) -> None:
    """Begin every example with the same settings and no figure."""
    plt.close("all")
    matplotlib.rcdefaults()
    matplotlib.use("agg")
    plt.rcParams.update(STYLE)
