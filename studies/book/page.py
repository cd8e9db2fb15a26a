"""The page of a study, made from its template and its recorded result alone.

Templates stand in ``studies/pages``. They see ``r``, the tables of the result; ``published``, the figures of the
papers; ``settings``; ``record``; and ``changed``, the full settings where the run had others. A figure is written by
``{{ r.map.RankRLS | f(3) }}``: no template has a figure of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from studies.book.record import Record, plain
from studies.book.study import Study

__all__ = ["TEMPLATES", "render"]

TEMPLATES = Path(__file__).parents[1] / "pages"


def f(value: Any, digits: int = 3, sign: bool = False) -> str:
    """Write a number with so many digits behind the point, and thousands apart; a dash for none."""
    if value is None:
        return "–"
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if not text.strip("+-0.,"):
        text = text.lstrip("-+") if not sign else text.replace("-", "+")
    return text.replace("-", "−")


def interval(cell: Any, digits: int = 3, sign: bool = False) -> str:
    """Write a mean with its interval, from ``{"mean", "low", "high"}``."""
    if cell is None:
        return "–"
    if cell.get("low") is None:
        return f(cell["mean"], digits, sign)
    return f"{f(cell['mean'], digits, sign)} [{f(cell['low'], digits, sign)}, {f(cell['high'], digits, sign)}]"


def spread(cell: Any, digits: int = 3) -> str:
    """Write a mean with its standard deviation, from ``{"mean", "sd"}``."""
    return "–" if cell is None else f"{f(cell['mean'], digits)} ± {f(cell['sd'], digits)}"


def render(record: Record, study: Study) -> str:
    """Return the page of a recorded result."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(f=f, interval=interval, spread=spread)
    environment.globals.update(f=f, interval=interval, spread=spread, zip=zip, enumerate=enumerate)
    template = environment.get_template(f"{record.study}.md.j2")
    full = plain(study.chosen(quick=False, given={}))
    return template.render(
        r=record.tables,
        published=record.published,
        settings=record.settings,
        record=record,
        changed={name: value for name, value in full.items() if record.settings.get(name) != value},
    )
