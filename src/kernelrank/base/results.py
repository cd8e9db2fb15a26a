"""A result: what was computed, shown as one line, as a table in a notebook, as a data frame, and as a plot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float
from kernelrank.base.text import printable


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
        from kernelrank.report.displays import display_of

        return display_of(self).plot(ax=ax, **line_options)

    def _chart(self) -> Chart:
        """Return what `plot` draws. A result without a chart has a display of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no chart")

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def html_table(caption: str, facts: Sequence[tuple[str, str]]) -> str:
    """Write names and values as a table for a notebook; all text is escaped."""
    left = 'style="text-align: left"'
    rows = [
        f'<tr><th scope="row" {left}>{escape(name)}</th><td {left}>{escape(value)}</td></tr>' for name, value in facts
    ]
    table = ["<table>", f"<caption {left}>{escape(caption)}</caption>", "<tbody>", *rows, "</tbody>", "</table>"]
    return printable("\n".join(table), lines=True)


# Charts ---------------------------------------------------------------------------------------------------------------
#
# Charts as data: what a result has to draw. `kernelrank.report` draws it, with matplotlib.


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with intervals, one below the other."""

    rows: Sequence[tuple[str, float | None, float, float]]
    label: str
    reference: float | None = None


@dataclass(frozen=True, eq=False)
class Histogram:
    """How values are distributed, and one that is marked."""

    values: Float
    label: str
    noun: str
    mark: float
    meaning: str


@dataclass(frozen=True, eq=False)
class Bars:
    """One bar for each name, the first at the top."""

    names: Sequence[str]
    values: Sequence[float]
    label: str


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves over one axis.

    logarithmic: Whether x has a logarithmic axis.
    """

    x: Float
    lines: Mapping[str, Float]
    x_label: str
    y_label: str
    bands: Mapping[str, tuple[Float, Float]] = field(default_factory=dict)
    logarithmic: bool = False
    mark: tuple[float, str] | None = None


Chart: TypeAlias = Estimates | Histogram | Bars | Curves
"""What a result draws."""


# Frames ---------------------------------------------------------------------------------------------------------------
#
# Columns as a data frame: pandas if it is installed, else Polars, else a dict of arrays.

LIBRARIES = ("pandas", "polars")
"""The packages to try, in this order."""


def to_frame(columns: Mapping[str, Any]) -> Any:
    """Make a data frame of columns of one length.

    Time and memory O(cells). The library is imported at the first call, and not with kernelrank.
    """
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    for library in LIBRARIES:
        try:
            frames: Any = import_module(library)
        except ImportError:
            continue
        return frames.DataFrame({name: _column(a, frames) if a.dtype == object else a for name, a in arrays.items()})
    return arrays


def _column(values: NDArray[Any], frames: Any) -> Any:
    """Return a column of Python objects as `pandas` or `polars` takes it."""
    if frames.__name__ == "pandas":
        return list(values)
    try:
        return frames.Series(list(values))
    except TypeError:  # labels of several types
        return frames.Series(list(values), dtype=frames.Object)
