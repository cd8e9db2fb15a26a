"""A display: a plot in scikit-learn's style. matplotlib is imported when something is drawn and not before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from kernelrank.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["Display", "legend_above"]


class Display(ABC):
    """Base class of displays, which draw on given or new axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None, **line_options: object) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        self

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        self.ax_ = _new_axes(self._n_rows()) if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, line_options)
        return self

    def _n_rows(self) -> int | None:
        """Return how many rows of names there are, for the height of a new figure; None where there are none."""
        return None

    @abstractmethod
    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw on the axes, the main line with the options of the user."""


def legend_above(ax: Axes) -> None:
    """Put a legend above the axes, where it covers nothing, unless there is nothing to name."""
    if not ax.get_legend_handles_labels()[0]:
        return
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", borderaxespad=0.2, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # names are text, whatever signs of formulas they hold


def _new_axes(n_rows: int | None) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    width, height = plt.rcParams["figure.figsize"]
    if n_rows is not None:
        height = 0.9 + 0.35 * n_rows
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax
