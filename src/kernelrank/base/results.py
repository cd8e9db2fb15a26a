"""A result: what was computed, shown as one line, as a table in a notebook, as a data frame, and as a plot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import Any

from kernelrank.base.text import printable
from kernelrank.charts import Chart
from kernelrank.frames import to_frame

__all__ = ["Result"]


class Result(ABC):
    """Base class of all results: a subclass defines its facts, its columns and `__str__`.

    Dataclasses that inherit from this one pass ``repr=False``, for theirs would print every digit.
    """

    @abstractmethod
    def _facts(self) -> Sequence[tuple[str, str]]:
        """List the names and the values of what was found, as people read them."""

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return the columns of `to_frame`, all of one length."""

    def to_frame(self) -> Any:
        """Return the result as a data frame: pandas if it is installed, else Polars, else a dict of arrays.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of ndarray
            One row for each query, pair, item or point; one row in all for a single estimate.
        """
        return to_frame(self._columns())

    def plot(self, ax: Any = None, **line_options: Any) -> Any:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Created if omitted.
        line_options
            For matplotlib, such as ``color="red"``.

        Returns
        -------
        kernelrank.report.Display
            With `ax_` and `figure_`, which were drawn on.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        from kernelrank.report.chart_display import display_of

        return display_of(self).plot(ax=ax, **line_options)

    def _chart(self) -> Chart:
        """Return what `plot` draws. A result without a chart has a display of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no chart")

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def html_table(caption: str, facts: Sequence[tuple[str, str]]) -> str:
    """Write names and values as a table for a notebook; all text is escaped.

    Parameters
    ----------
    caption : str
    facts : sequence of tuple of str
        Names with their values.

    Returns
    -------
    str

    Examples
    --------
    >>> print(html_table("AUC", [("class", "<ill>")]))
    <table>
    <caption style="text-align: left">AUC</caption>
    <tbody>
    <tr><th scope="row" style="text-align: left">class</th><td style="text-align: left">&lt;ill&gt;</td></tr>
    </tbody>
    </table>
    """
    left = 'style="text-align: left"'
    rows = [
        f'<tr><th scope="row" {left}>{escape(name)}</th><td {left}>{escape(value)}</td></tr>' for name, value in facts
    ]
    table = ["<table>", f"<caption {left}>{escape(caption)}</caption>", "<tbody>", *rows, "</tbody>", "</table>"]
    return printable("\n".join(table), lines=True)
