"""Charts as data: what a result has to draw. `kernelrank.report` draws it, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kernelrank.base.arrays import Float

__all__ = ["Bars", "Chart", "Curves", "Estimates", "Histogram"]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with intervals, one below the other.

    Parameters
    ----------
    rows : sequence of (str, float or None, float, float)
        Name, estimate, lower and upper end. An interval alone has no estimate.
    label : str
        What is estimated.
    reference : float, optional
        The value that means no effect.
    """

    rows: Sequence[tuple[str, float | None, float, float]]
    label: str
    reference: float | None = None


@dataclass(frozen=True, eq=False)
class Histogram:
    """How values are distributed, and one that is marked.

    Parameters
    ----------
    values : ndarray
    label, noun : str
        What the values are, and what is counted.
    mark : float
    meaning : str
        What the mark says.
    """

    values: Float
    label: str
    noun: str
    mark: float
    meaning: str


@dataclass(frozen=True, eq=False)
class Bars:
    """One bar for each name, the first at the top.

    Parameters
    ----------
    names : sequence of str
    values : sequence of float
    label : str
        What the values are.
    """

    names: Sequence[str]
    values: Sequence[float]
    label: str


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves over one axis.

    Parameters
    ----------
    x : ndarray
    lines : mapping of str to ndarray
        The curves by their names.
    x_label, y_label : str
    bands : mapping of str to (ndarray, ndarray), optional
        The ends of the intervals of some curves.
    logarithmic : bool, default=False
        Whether x has a logarithmic axis.
    mark : (float, str), optional
        A place on the axis, and what it says.
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
