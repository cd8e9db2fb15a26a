"""Axes to draw on: the user's, or new ones; matplotlib is imported here and nowhere earlier."""

from __future__ import annotations

from typing import Any

from kernelrank.errors import MissingExtraError

__all__ = ["get_axes"]


def get_axes(ax: Any = None) -> Any:
    """Return the axes given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    _, ax = plt.subplots(layout="constrained")
    return ax
