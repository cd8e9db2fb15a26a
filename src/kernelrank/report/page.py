"""A page: one self-contained HTML file, made from a template."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from kernelrank.base.text import printable
from kernelrank.errors import MissingExtraError
from kernelrank.persistence.atomic import atomic_write
from kernelrank.report.environment import today, versions
from kernelrank.report.writing import FILTERS

__all__ = ["Page", "render"]

TEMPLATES = Path(__file__).parent / "templates"


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

    Parameters
    ----------
    template : str
        The name of a file in `templates`.
    content : dict
        What the template asks for; a value that it asks for and does not find is an error. The date and the versions
        of the packages, which every page shows, are added.

    Returns
    -------
    Page

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
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
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    return environment
