"""How numbers are written in a report."""

from __future__ import annotations

import io
import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelrank.base.text import p_is, printable, pvalue
from kernelrank.errors import MissingExtraError
from kernelrank.persistence.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def with_commas(number: float) -> str:
    """Write a whole number."""
    return f"{int(number):,}"


def counted(number: float, noun: str) -> str:
    """Write a whole number with its noun."""
    return f"{with_commas(number)} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Write the plural of a noun."""
    return "queries" if noun == "query" else noun + "s"


def with_digits(number: float, digits: int = 4) -> str:
    """Write a number with a few significant digits, large ones to the unit, and a true minus sign."""
    if 10.0**3 <= abs(number) < 10.0**7:
        return f"{number:,.0f}".replace("-", "−")
    return f"{number:.{digits}g}".replace("-", "−")


def signed(number: float, digits: int = 3) -> str:
    """Write a number with its sign."""
    return f"{number:+.{digits}g}".replace("-", "−")


def with_decimals(number: float, decimals: int = 3) -> str:
    """Write a measured value; what is rounded to zero has no sign."""
    return f"{number:z.{decimals}f}".replace("-", "−")


def in_column(numbers: Sequence[float], digits: int = 3, *, sign: bool = False) -> list[str]:
    """Write the numbers of a column with the same number of decimals, so that their decimal points are aligned."""
    values = [float(number) for number in numbers]
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    place = floor(log10(largest)) if largest > 0 else 0
    pattern = f".{digits - 1}e" if not -6 <= place <= 9 else f",.{max(0, digits - 1 - place)}f"
    return [f"{value:{'+' if sign else ''}{pattern}}".replace("-", "−").replace("e−", "e-") for value in values]


FILTERS: dict[str, Callable[..., Any]] = {
    "commas": with_commas,
    "counted": counted,
    "digits": with_digits,
    "signed": signed,
    "column": in_column,
    "decimals": with_decimals,
    "pvalue": pvalue,
    "p_is": p_is,
}
"""What templates may write behind a bar."""


# Environment ----------------------------------------------------------------------------------------------------------
#
# The environment of a run: the parameters of the model, and the versions of Python and its packages.

PACKAGES = ("kernelrank", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")


def today() -> date:
    """Return the date of a report: today, or SOURCE_DATE_EPOCH if it is set, for reproducible pages."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(seconds), UTC).date() if seconds.isdigit() else date.today()


def versions() -> list[tuple[str, str]]:
    """List Python and the packages that numbers depend on, with their versions."""
    found = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found


def parameters_of(model: BaseEstimator) -> list[tuple[str, str]]:
    """List the parameters of an estimator as they would be written; long values are cut."""
    # The steps of a pipeline are listed by their own parameters.
    values = {name: value for name, value in model.get_params(deep=True).items() if not hasattr(value, "get_params")}
    return [(name, _written(value)) for name, value in values.items() if name not in ("steps", "memory", "verbose")]


def _written(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) > 4:
        ends = [*value[:2], *value[-1:]]
        return "{}, {}, …, {} ({} values)".format(*(f"{end!s}" for end in ends), len(value))
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else text[:119] + "…"


# Page -----------------------------------------------------------------------------------------------------------------
#
# A page: one self-contained HTML file, made from a template.


@dataclass(frozen=True)
class Page:
    """A self-contained HTML page, without scripts, external fonts or images.

    Parameters
    ----------
    html : str
        The text of the page.

    Examples
    --------
    >>> Page("<!doctype html>")
    <Page of 15 bytes>
    """

    html: str = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file (atomic write).

        Parameters
        ----------
        path : str or path-like
        """
        with atomic_write(path) as file:
            file.write(self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        # A frame of its own: the style of the page stays inside, and that of the notebook outside.
        style = "width: 100%; height: 40rem; border: 0"
        return f'<iframe title="report" sandbox="" style="{style}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<Page of {len(self.html.encode('utf-8')):,} bytes>"


def render(template: str, content: dict[str, Any]) -> Page:
    """Render a template of the reports; every value is escaped, except pictures marked as such in the template.

    Control characters of names and words are shown escaped, in pictures as well.
    """
    html = _template_reader().get_template(template).render({"versions": versions(), "date": today(), **content})
    return Page(printable(html, lines=True))


@cache
def _template_reader() -> Any:
    """Return what reads templates; they are compiled once."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment


# Picture --------------------------------------------------------------------------------------------------------------
#
# Pictures for a page: SVG that takes its colours from the page, so that it can be read on light, dark and paper.
#
# Displays draw with matplotlib's colours; whatever has one of the colours below is given a variable of the page's style
# sheet instead. Identifiers are numbered anew, for those of two pictures on one page would clash.

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
    """A picture and what it shows, in words."""

    svg: str
    alt: str
    caption: str


class Drawing:
    """Matplotlib axes to draw on; the result is an SVG picture."""

    def __init__(self, figure: Figure, name: str) -> None:
        self.figure, self.ax, self.name = figure, figure.add_subplot(), name

    def picture(self, alt: str, caption: str) -> Picture:
        """Return the finished drawing as an SVG picture with its description."""
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        return Picture(_for_page(file.getvalue(), self.name), alt, caption)


@contextmanager
def drawing(name: str, height: float = 3.2) -> Iterator[Drawing]:
    """Draw without pyplot, in the colours of the page; matplotlib's own settings are as before afterwards."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "report") from None
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_settings())
        # Inches; as wide as a phone at the size of the text, and a screen shows it half as large again.
        figure = Figure(figsize=(5.2, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield Drawing(figure, name)


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
