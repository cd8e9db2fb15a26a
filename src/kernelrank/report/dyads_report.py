"""The report of dyads: a comparison of the four settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sklearn.base import BaseEstimator

from kernelrank.errors import InvalidInputError
from kernelrank.metrics import DyadicConcordance
from kernelrank.report.environment import parameters_of
from kernelrank.report.forest import ForestDisplay
from kernelrank.report.page import Page, render
from kernelrank.report.picture import Picture, drawing
from kernelrank.report.writing import with_decimals, with_digits

__all__ = ["dyads_report"]

SETTINGS = {
    "cell": ("new score", "the score alone: row and column are known by other scores"),
    "row": ("new row", "the object of the row, with all its scores"),
    "column": ("new column", "the object of the column, with all its scores"),
    "both": ("both new", "both objects, with all their scores"),
}
"""The name of each setting, and what is held out."""


def dyads_report(
    concordances: Mapping[str, DyadicConcordance],
    alphas: Mapping[str, Mapping[str, float]] | None = None,
    *,
    model: BaseEstimator | None = None,
    shape: tuple[int, int] | None = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of held-out concordances in the four settings of dyads.

    Parameters
    ----------
    concordances : mapping from {"cell", "row", "column", "both"} to DyadicConcordance
        What `dyadic_concordance` returns for the held-out scores of `dyadic_holdout`.
    alphas : mapping from setting to mapping from str to float, optional
        The regularisation strengths of each setting, by name.
    model : estimator, optional
        Its parameters are listed.
    shape : tuple of int, optional
        The number of rows and of columns.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import KroneckerRLS, dyadic_holdout
    >>> from kernelrank.metrics import dyadic_concordance
    >>> rng = np.random.default_rng(0)
    >>> drugs, targets = rng.standard_normal((8, 2)), rng.standard_normal((6, 2))
    >>> Y = drugs @ targets.T + rng.standard_normal((8, 6))
    >>> held_out = dyadic_holdout(KroneckerRLS(), drugs, targets, Y, setting=["cell", "both"])
    >>> page = dyads_report({name: dyadic_concordance(Y, scores) for name, scores in held_out.items()})
    >>> "both new" in page.html
    True
    """
    unknown = [setting for setting in concordances if setting not in SETTINGS]
    if unknown or not concordances:
        raise InvalidInputError(
            f"Expected concordances of the settings {', '.join(SETTINGS)}; got {', '.join(unknown) or 'none'}."
        )
    settings = [setting for setting in SETTINGS if setting in concordances]
    some = concordances[settings[0]]
    strengths = {} if alphas is None else alphas
    rows = [
        {
            "name": SETTINGS[name][0],
            "option": name,
            "what": SETTINGS[name][1],
            "value": concordances[name].value,
            "interval": concordances[name].interval,
            "alpha": ", ".join(with_digits(value, 3) for value in strengths.get(name, {}).values()),
        }
        for name in settings
    ]
    content = {
        "title": title or "Dyads: the four settings",
        "rows": rows,
        "picture": _picture([(SETTINGS[name][0], concordances[name]) for name in settings]),
        "has_alphas": len(strengths) > 0,
        "some": some,
        "each": "" if some.per == "overall" else f" of each {some.per}",
        "shape": shape,
        "parameters": [] if model is None else parameters_of(model),
        "warnings": _warnings({SETTINGS[name][0]: concordances[name] for name in settings}),
        "notes": list(notes),
        "command": command,
    }
    return render("dyads.html.j2", content)


def _picture(named: Sequence[tuple[str, DyadicConcordance]]) -> Picture:
    with drawing("settings", height=0.9 + 0.4 * len(named)) as canvas:
        ForestDisplay(named).plot(ax=canvas.ax)
        values = ", ".join(f"{name} {with_decimals(found.value)}" for name, found in named)
        caption = (
            "Squares are concordances, lines their intervals, and the dotted line is chance. The intervals allow for "
            f"dyads that share an object: {named[0][1].interval.method}."
        )
        return canvas.picture(f"The concordance of each setting with its interval: {values}.", caption)


def _warnings(concordances: Mapping[str, DyadicConcordance]) -> list[str]:
    return [
        f"The interval of “{name}” includes 0.5, from {with_decimals(found.interval.low)} to "
        f"{with_decimals(found.interval.high)}: these scores do not show that it orders better than chance."
        for name, found in concordances.items()
        if found.interval.low <= 0.5
    ]
