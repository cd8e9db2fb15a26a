"""The report of a leaderboard: scores with intervals, separable items, judges, and the next votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.metrics import Interval
from kernelrank.report.environment import parameters_of, today, versions
from kernelrank.report.forest_rows import Forest
from kernelrank.report.page import Page, render
from kernelrank.votes import Leaderboard

__all__ = ["Neighbours", "leaderboard_report", "neighbours_of", "rows_of"]

MOST_ITEMS, MOST_NEIGHBOURS, MOST_IN_MATRIX, MOST_JUDGES = 100, 30, 12, 10
"""How many rows tables have at most, and how many items the matrix of probabilities."""


@dataclass(frozen=True)
class Neighbours:
    """An item and the next one in the ranking.

    Parameters
    ----------
    above, below : str
    difference : float
        That of their scores.
    probability : float
        That the one above has the higher score.
    apart : bool
        Whether the interval of their difference excludes zero.
    votes : float
        How many more votes between them would tell them apart; zero if they are.
    """

    above: str
    below: str
    difference: float
    probability: float
    apart: bool
    votes: float


def leaderboard_report(
    board: Leaderboard,
    *,
    n_pairs: int = 5,
    power: float = 0.8,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Page:
    """Write the HTML report of a leaderboard.

    Parameters
    ----------
    board : Leaderboard
        Fitted.
    n_pairs : int, default=5
        How many pairs to ask next.
    power : float, default=0.8
        As in `Leaderboard.votes_needed`.
    title, command, notes
        As in `ranking_report`.

    Returns
    -------
    Page
        The same input makes the same page on the same day. The first 100 items are shown.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.

    Examples
    --------
    >>> from kernelrank import Leaderboard
    >>> page = leaderboard_report(Leaderboard().fit(["tea", "tea", "mate"], ["mate", "milk", "milk"]))
    >>> "tea" in page.html
    True
    """
    table = board.table()
    names = [str(item) for item in table["item"]]
    neighbours = neighbours_of(board, power)
    judges = [] if board.judges_ is None else rows_of(board.judges())
    content = {
        "title": title or "Leaderboard",
        "board": board,
        "n_items": len(names),
        "forest": _forest(board, table),
        "table": rows_of(table)[:MOST_ITEMS],
        "n_groups": len(board.separable_groups()),
        "neighbours": neighbours[:MOST_NEIGHBOURS],
        "n_apart": sum(pair.apart for pair in neighbours),
        "n_neighbours": len(neighbours),
        "power": power,
        "matrix_names": names[:MOST_IN_MATRIX],
        "matrix": _matrix(board, list(table["item"])[:MOST_IN_MATRIX]),
        "judges": judges[: max(MOST_JUDGES, sum(bool(judge["flagged"]) for judge in judges))],
        "n_judges": len(judges),
        "n_flagged": sum(bool(judge["flagged"]) for judge in judges),
        "next_pairs": [(str(a), str(b), board.probability(a, b)) for a, b in board.next_pair(n_pairs)],
        "parameters": parameters_of(board),
        "warnings": list(board.notes_),
        "notes": list(notes),
        "command": command,
        "versions": versions(),
        "date": today(),
    }
    return render("leaderboard.html.j2", content)


def neighbours_of(board: Leaderboard, power: float) -> list[Neighbours]:
    """Return each item with the next one in the ranking."""
    from scipy.special import ndtr

    found = rows_of(board.votes_needed(power))
    limit = board.posterior.quantile(board.confidence)
    return [
        Neighbours(
            str(row["above"]),
            str(row["below"]),
            float(row["difference"]),
            float(ndtr(row["difference"] / row["std_error"])),
            bool(row["difference"] > limit * row["std_error"]),
            0.0 if row["difference"] > limit * row["std_error"] else float(row["votes"]),
        )
        for row in found
    ]


def _forest(board: Leaderboard, table: Any) -> Forest:
    columns = [np.asarray(table[name])[:MOST_ITEMS].tolist() for name in ("item", "score", "low", "high")]
    intervals = [Interval(low, high, board.confidence, "") for low, high in zip(*columns[2:], strict=True)]
    return Forest.of_scores([str(item) for item in columns[0]], columns[1], intervals)


def _matrix(board: Leaderboard, items: list[Any]) -> list[list[float | None]]:
    """Return the probability that each item beats each other; None for an item and itself."""
    found: Float = board.probabilities(items, items)
    size = range(len(items))
    return [[None if i == j else float(found[i, j]) for j in size] for i in size]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return a data frame as one dict for each row."""
    names = list(table.columns) if hasattr(table, "columns") else list(table)
    columns = [list(table[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
