"""A forest plot: AUCs or concordances, one below the other, and below a line how two AUCs differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from kernelrank.metrics import DyadicConcordance, Interval
from kernelrank.model_selection import AUCComparison, AUCEstimate
from kernelrank.report.displays import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ForestDisplay"]

DIFFERENCE_PLACE, LOWEST = -1.1, -2.2
"""Where the difference is drawn below the rows 0, 1, ..., and where the plot ends."""


class ForestDisplay(Display):
    """Forest plot of AUCs or concordances with their confidence intervals.

    Parameters
    ----------
    estimates : sequence of tuple
        Names and estimates: what `estimate_auc` or `dyadic_concordance` returns.
    difference : tuple, optional
        A name, a difference of two AUCs and its interval, which is drawn below on an axis of its own.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.
    difference_ax_ : matplotlib Axes or None
        The axis of the difference.

    Examples
    --------
    >>> estimate = AUCEstimate(0.75, Interval(0.55, 0.9, 0.95, ""), "leave_pair_out", 100, 10, 10, (0, 1))
    >>> display = ForestDisplay([("genes", estimate)])
    >>> [name for name, _ in display.estimates]
    ['genes']
    """

    difference_ax_: Axes | None

    def __init__(
        self,
        estimates: Sequence[tuple[str, AUCEstimate | DyadicConcordance]],
        *,
        difference: tuple[str, float, Interval] | None = None,
    ) -> None:
        self.estimates = list(estimates)
        self.difference = difference

    @classmethod
    def from_comparison(
        cls,
        comparison: AUCComparison,
        *,
        names: tuple[str, str] = ("first", "second"),
        ax: Axes | None = None,
        **line_options: object,
    ) -> Self:
        """Draw what `compare_auc` returns.

        Parameters
        ----------
        comparison : AUCComparison
        names : tuple of str, default=("first", "second")
            The names of the two.
        ax : matplotlib Axes, optional
        line_options
            For matplotlib's `plot`.

        Returns
        -------
        ForestDisplay
        """
        first, second = names
        difference = (f"{first} − {second}", comparison.difference, comparison.interval)
        display = cls([(first, comparison.first), (second, comparison.second)], difference=difference)
        return display.plot(ax=ax, **line_options)

    def _n_rows(self) -> int:
        return len(self.estimates) + (0 if self.difference is None else 3)

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        """Draw the AUCs, and the difference below a line."""
        rows = [(name, float(estimate), estimate.interval) for name, estimate in self.estimates]
        n = len(rows)
        _draw_rows(ax, rows, {"color": "C0", **line_options})
        names = [name for name, _, _ in rows]
        places = [float(place) for place in range(n)[::-1]]
        self.difference_ax_ = None
        if self.difference is None:
            ax.axvline(0.5, color="0.5", linestyle=":", linewidth=1)
            shared = any(isinstance(estimate, DyadicConcordance) for _, estimate in self.estimates)
            ax.set(xlabel="concordance" if shared else "AUC", ylim=(-0.6, n - 0.4))
        else:
            # The axis of the AUCs moves to the top: the lowest rows of the plot have one of their own.
            names, places = [*names, self.difference[0]], [*places, DIFFERENCE_PLACE]
            ax.set(xlabel="AUC", ylim=(LOWEST, n - 0.4))
            ax.xaxis.set(label_position="top", ticks_position="top")
            ax.spines["bottom"].set_visible(False)
            height = n - 0.4 - LOWEST
            ax.plot([0.5, 0.5], [-0.5, n - 0.4], color="0.5", linestyle=":", linewidth=1)
            ax.axhline(-0.5, color="0.5", linewidth=0.8)
            below = ax.inset_axes((0.0, (DIFFERENCE_PLACE - 0.5 - LOWEST) / height, 1.0, 1 / height))
            _draw_rows(below, [self.difference], {"color": "C1", **line_options})
            below.axvline(0.0, color="0.5", linestyle=":", linewidth=1)
            below.set(xlabel="difference of the AUCs", ylim=(-0.5, 0.5), yticks=[])
            _without_frame(below, "top")
            self.difference_ax_ = below
        # Names are text, whatever signs of formulas they hold.
        ax.set_yticks(places, names, parse_math=False)
        _without_frame(ax, "top" if self.difference is None else "bottom")


def _draw_rows(ax: Axes, rows: Sequence[tuple[str, float, Interval]], options: dict[str, Any]) -> None:
    """Draw one line with a mark for each row, the first at the top."""
    for place, (_, value, interval) in zip(range(len(rows))[::-1], rows, strict=True):
        ax.plot([interval.low, interval.high], [place, place], **options)
        ax.plot([value], [place], marker="s", **options)


def _without_frame(ax: Axes, side: str) -> None:
    for name in (side, "left", "right"):
        ax.spines[name].set_visible(False)
    ax.tick_params(left=False)
