"""Pictures of studies as SVG: the same result makes the same file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["picture"]


@contextmanager
def picture(path: Path, width: float = 6.4, height: float = 4.0) -> Iterator[Any]:
    """Give a figure of matplotlib, and save it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "kernelrank", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        figure.savefig(path, metadata={"Date": None})
