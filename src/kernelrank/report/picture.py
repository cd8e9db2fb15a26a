"""Pictures for a page: SVG that takes its colours from the page, so that it can be read on light, dark and paper.

Displays draw with matplotlib's colours; whatever has one of the colours below is given a variable of the page's style
sheet instead. Identifiers are numbered anew, for those of two pictures on one page would clash.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelrank.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "drawing"]

WIDTH = 5.2
"""Inches; as wide as a phone at the size of the text, and a screen shows it half as large again."""

INK, FIRST, SECOND, PAPER = "#123456", "#1a2b3c", "#3c2b1a", "#fedcba"
"""Stand-ins that no display uses by itself."""

VARIABLES = {
    INK: "var(--ink)",
    FIRST: "var(--first)",
    SECOND: "var(--second)",
    PAPER: "var(--paper)",
    # The greys of the displays: 0.3, 0.4 and 0.5.
    "#4d4d4d": "var(--soft)",
    "#666666": "var(--soft)",
    "#808080": "var(--soft)",
}


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows, in words.

    Parameters
    ----------
    svg : str
    alt : str
        The alternative text, for readers who cannot see the picture.
    caption : str
        The caption below it.
    """

    svg: str
    alt: str
    caption: str


class Drawing:
    """Matplotlib axes to draw on; the result is an SVG picture.

    Parameters
    ----------
    figure, ax
        Of matplotlib; the figure belongs to no window and to no list of open figures.
    name : str
        What identifiers begin with; its own for each picture of a page.

    Attributes
    ----------
    second : str
        The colour of what stands out from the first.
    """

    def __init__(self, figure: Figure, ax: Axes, name: str) -> None:
        self.figure, self.ax, self.name = figure, ax, name
        self.second = SECOND

    def picture(self, alt: str, caption: str) -> Picture:
        """Return the finished drawing as an SVG picture with its description."""
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        return Picture(_for_page(file.getvalue(), self.name), alt, caption)


@contextmanager
def drawing(name: str, height: float = 3.2) -> Iterator[Drawing]:
    """Draw without pyplot, in the colours of the page; matplotlib's own settings are as before afterwards.

    Parameters
    ----------
    name : str
        What identifiers begin with.
    height : float, default=3.2
        Inches.

    Yields
    ------
    Drawing

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_settings())
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield Drawing(figure, figure.add_subplot(), name)


def _settings() -> dict[Any, Any]:
    from cycler import cycler

    coloured = ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color")
    return {
        **dict.fromkeys(coloured, INK),
        "axes.prop_cycle": cycler(color=[FIRST, SECOND]),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 11.5,
        "legend.facecolor": PAPER,
        "legend.edgecolor": PAPER,
        "legend.framealpha": 0.85,
        "svg.fonttype": "none",
        "svg.hashsalt": "kernelrank",
    }


def _for_page(text: str, name: str) -> str:
    """Cut a stand-alone SVG file down to what an HTML page needs, which has no namespaces."""
    svg = text[text.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style[^>]*>.*?</style>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(xmlns(:\w+)?|version|width="[\d.]+pt" height)="[^"]*"', "", svg)
    svg = svg.replace("xlink:href", "href")
    svg = _number_identifiers(svg, name)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    return re.sub(r"\n\s*", "\n", svg)


def _number_identifiers(svg: str, name: str) -> str:
    """Keep identifiers that something refers to, as ``name-1``, ``name-2`` and so on, and drop the others."""
    referred = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    numbers = {
        old: f"{name}-{number}" for number, old in enumerate(re.findall(r'\sid="([^"]+)"', svg)) if old in referred
    }
    svg = re.sub(r'\sid="([^"]+)"', lambda found: f' id="{numbers[found[1]]}"' if found[1] in numbers else "", svg)
    return re.sub(r'(href="|url\()#([^")]+)', lambda found: f"{found[1]}#{numbers[found[2]]}", svg)
