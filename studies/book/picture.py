"""Pictures of studies as SVG: the same result makes the same file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["legend_above", "picture"]


@contextmanager
def picture(path: Path, width: float = 6.4, height: float = 4.0) -> Iterator[Any]:
    """Give a figure of matplotlib, and save it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "kernelrank", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(path, metadata={"Date": None})


def legend_above(figure: Any, ax: Any, columns: int = 3) -> None:
    """Write the labels of a plot above all plots of a figure, where they cover no point."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=columns, frameon=False)
