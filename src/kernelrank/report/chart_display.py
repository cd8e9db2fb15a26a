"""The plot of a result: estimates with intervals, a histogram, bars or curves, all drawn alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelrank.base.results import Bars, Chart, Curves, Estimates, Histogram, Result
from kernelrank.metrics import ConcordanceResult, MeasureResult
from kernelrank.model_selection import PermutationTest
from kernelrank.report.displays import Display, legend_above
from kernelrank.report.query_scores import QueryScoreDisplay
from kernelrank.report.selection import SelectionDisplay
from kernelrank.selection import SelectionCurve, SelectionStability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ChartDisplay", "display_of"]

LONGEST_NAME = 32
"""Characters of a name beside a bar or an interval."""

GREY = "0.5"


class ChartDisplay(Display):
    """Plot of a result, made by its `plot` method.

    Parameters
    ----------
    chart : Estimates, Histogram, Bars or Curves
        What is drawn.

    Attributes
    ----------
    ax_, figure_
        Matplotlib objects, set by `plot`.

    Examples
    --------
    >>> display = ChartDisplay(Estimates([("genes", 0.75, 0.55, 0.9)], "AUC", 0.5))
    >>> display.chart.label
    'AUC'
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    def _n_rows(self) -> int | None:
        match self.chart:
            case Estimates(rows=rows):
                return len(rows)
            case Bars(names=names):
                return len(names)
        return None

    def _draw(self, ax: Axes, line_options: dict[str, Any]) -> None:
        match self.chart:
            case Estimates():
                _draw_estimates(ax, self.chart, line_options)
            case Histogram():
                _draw_histogram(ax, self.chart, line_options)
            case Bars():
                _draw_bars(ax, self.chart, line_options)
            case Curves():
                _draw_curves(ax, self.chart, line_options)


def display_of(result: Result) -> Display:
    """Return the display that draws a result."""
    if isinstance(result, SelectionCurve | SelectionStability | PermutationTest):
        return SelectionDisplay(result)
    if isinstance(result, MeasureResult) and not isinstance(result, ConcordanceResult):
        return QueryScoreDisplay(result, random_state=0)
    return ChartDisplay(result._chart())


def _draw_estimates(ax: Axes, chart: Estimates, line_options: dict[str, Any]) -> None:
    options = {"color": "C0", **line_options}
    for place, (_, value, low, high) in enumerate(chart.rows):
        ax.plot([low, high], [place, place], **{"linewidth": 2, "solid_capstyle": "butt", **options})
        if value is not None:
            ax.plot([value], [place], **{"marker": "s", **options})
    if chart.reference is not None:
        ax.axvline(chart.reference, color=GREY, linestyle=":", linewidth=1)
    _name_rows(ax, [name for name, *_ in chart.rows])
    ax.set(xlabel=chart.label, ylim=(len(chart.rows) - 0.4, -0.6))


def _draw_histogram(ax: Axes, chart: Histogram, line_options: dict[str, Any]) -> None:
    values = np.asarray(chart.values)
    values = values[np.isfinite(values)]
    ax.hist(values, **{"bins": min(40, max(5, round(len(values) ** 0.5))), "color": "C0", "alpha": 0.7, **line_options})
    ax.axvline(chart.mark, color=GREY, linestyle="--", label=chart.meaning)
    ax.set(xlabel=chart.label, ylabel=chart.noun)
    legend_above(ax)


def _draw_bars(ax: Axes, chart: Bars, line_options: dict[str, Any]) -> None:
    ax.barh(range(len(chart.names)), chart.values, **{"color": "C0", **line_options})
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    _name_rows(ax, chart.names)
    ax.set(xlabel=chart.label, ylim=(len(chart.names) - 0.4, -0.6))


def _draw_curves(ax: Axes, chart: Curves, line_options: dict[str, Any]) -> None:
    for name, values in chart.lines.items():
        (line,) = ax.plot(chart.x, values, **{"marker": "o", "markersize": 4, "label": name, **line_options})
        if name in chart.bands:
            ax.fill_between(chart.x, *chart.bands[name], color=line.get_color(), alpha=0.18, linewidth=0)
    if chart.mark is not None:
        ax.axvline(chart.mark[0], color=GREY, linestyle="--", label=chart.mark[1])
    if chart.logarithmic:
        ax.set_xscale("log")
    elif np.all(np.asarray(chart.x) % 1 == 0):
        ax.locator_params(axis="x", integer=True)
    ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
    legend_above(ax)


def _name_rows(ax: Axes, names: Iterable[object]) -> None:
    """Write names beside their rows: text, whatever signs of formulas they hold."""
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in map(str, names)]
    ax.set_yticks(range(len(shown)), shown, parse_math=False)
    ax.tick_params(axis="y", left=False)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
