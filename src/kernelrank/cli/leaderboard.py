"""``kernelrank leaderboard``: rank items by votes, with intervals of scores and ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

import typer

from kernelrank.base.progress import working
from kernelrank.base.text import pvalue
from kernelrank.cli import shared
from kernelrank.cli.shared import Answer, check_page, counted, grouped, one_of, only, without
from kernelrank.cli.sources import PreferenceFile, SourceFile, command_line

if TYPE_CHECKING:
    from kernelrank.data import Preferences
    from kernelrank.votes import Leaderboard

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

ModelName = Literal["bradley_terry", "least_squares"]


@app.command()
@grouped
def leaderboard(
    *,
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES",
            help="File of votes: CSV, TSV, Parquet, Excel, PrefLib, or lines of winner and loser. - is standard input.",
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            help="Data file with features of the items; items without votes are ranked too.",
            show_default=False,
        ),
    ] = None,
    report: shared.Report = None,
    model: Annotated[
        str,
        shared.option()("Statistical model of the votes.", "--model", "--method", **one_of(*get_args(ModelName))),
    ] = "bradley_terry",
    alpha: Annotated[
        str, typer.Option("--alpha", help="Regularisation strength; auto estimates it from the votes.")
    ] = "auto",
    top: Annotated[int, typer.Option("--top", min=1, help="Number of items to print.")] = 30,
    pairs: Annotated[int, typer.Option("--next", min=1, help="Number of pairs to suggest for the next votes.")] = 5,
    power: Annotated[
        float,
        typer.Option(
            "--power", help="Statistical power for the number of votes needed to tell neighbouring items apart."
        ),
    ] = 0.8,
    confidence: shared.Confidence = 0.95,
    seed: shared.Seed = 0,
    file: Annotated[PreferenceFile, without("pair_weight")],
    weight: shared.PairWeight = None,
    source: Annotated[SourceFile, only("input_format", "id", "features", "exclude")],
    as_json: shared.AsJSON = False,
) -> None:
    """Rank items by votes, with intervals of scores and ranks.

    A vote states which of two items is better, or that they are tied. Columns are guessed from their names. Judges who
    disagree with the others are flagged, and the most informative next votes are suggested.

    kernelrank leaderboard votes.csv

    kernelrank leaderboard votes.csv --judge worker --report page.html

    kernelrank leaderboard votes.csv --items dishes.csv --id dish
    """
    answer = Answer("leaderboard", as_json=as_json)
    check_page(report, [votes, *([] if items is None else [items])])
    file = replace(file, path=votes, pair_weight=weight)
    found, names, X = _read(answer, file, None if items is None else source.at(items))
    board = _board(cast("ModelName", model), alpha, confidence, seed)
    with answer.noting_warnings(), working("ranking"):
        board.fit(
            names[found.pairs[:, 0]],
            names[found.pairs[:, 1]],
            tie=found.tie,
            weight=found.weight,
            judge=found.judge,
            features=None if X is None else (names, X),
        )
    for note in board.notes_:
        answer.note(note)
    with working("comparing items"):
        _answer(answer, board, votes, top, pairs, power)
    if report is not None:
        from kernelrank.report import leaderboard_report

        with working("writing the page"):
            notes = [note for note in answer.notes if note not in board.notes_]
            title, command = f"Leaderboard of {Path(votes).name}", command_line()
            page = leaderboard_report(board, n_pairs=pairs, power=power, title=title, command=command, notes=notes)
            page.save(report)
    answer.saved(report=report)
    answer.show()


def _read(answer: Answer, file: PreferenceFile, source: SourceFile | None) -> tuple[Preferences, Any, Any]:
    """Read the votes; also return the labels of items by their numbers, and features if there are any."""
    import numpy as np

    X = None
    if source is None:
        found = file.read(answer)
        n_items = int(found.pairs.max()) + 1
        names = np.arange(n_items) if found.names is None else found.names
    else:
        items = source.read(answer, needs_target=False)
        found = file.between(items, answer)
        names, X = np.arange(len(items)) if items.ids is None else items.ids, items.X
    if found.magnitude is not None and np.any(found.magnitude[found.magnitude > 0] != 1.0):
        answer.note(f"{file.path}: magnitudes are ignored: a vote says which item is better, not by how much")
    return found, names, X


def _board(model: ModelName, alpha: str, confidence: float, seed: int) -> Leaderboard:
    from kernelrank.errors import InvalidInputError
    from kernelrank.votes import Leaderboard

    if alpha == "auto":
        return Leaderboard(model, confidence=confidence, random_state=seed)
    try:
        return Leaderboard(model, float(alpha), confidence=confidence, random_state=seed)
    except ValueError:
        raise InvalidInputError(f"--alpha: expected auto or a positive number; got {alpha!r}") from None


def _answer(answer: Answer, board: Leaderboard, votes: Path, top: int, n_pairs: int, power: float) -> None:
    """Add the table, the separable items, the judges and the next votes."""
    from kernelrank.report.estimates import neighbours_of, rows_of

    rows = rows_of(board.table())
    neighbours = neighbours_of(board, power)
    groups = board.separable_groups()
    answer.fact("votes", str(votes))
    answer.fact("n_votes", board.n_votes_)
    answer.fact("model", board.model)
    answer.fact("alpha", board.alpha_)
    answer.fact("confidence", board.confidence)
    answer.fact("items", rows)
    answer.fact("groups", groups)
    answer.fact("neighbours", neighbours)
    percent = f"{100 * board.confidence:.4g}%"
    answer.table(
        f"{counted(len(rows), 'item')}, {counted(board.n_votes_, 'vote')} of {votes}",
        ("rank", "item", "score", f"{percent} interval", "ranks", "votes", "wins"),
        [_row(row) for row in rows[:top]],
    )
    if len(rows) > top:
        answer.line(f"{len(rows) - top:,} more items: --top {len(rows)} prints all of them.", style="dim")
    apart = sum(pair["apart"] for pair in neighbours)
    answer.line(
        f"{apart} of {counted(len(neighbours), 'pair')} of neighbours can be told apart; alpha is {board.alpha_:.3g}, "
        f"{'estimated from the votes' if board.alpha == 'auto' else 'as given'}."
    )
    _answer_judges(answer, board)
    pairs = board.next_pair(n_pairs)
    answer.fact("next_pairs", pairs)
    answer.table("Most informative next votes", ("item", "against"), [(str(a), str(b)) for a, b in pairs])


def _answer_judges(answer: Answer, board: Leaderboard) -> None:
    from kernelrank.report.estimates import rows_of

    if board.judges_ is None:
        return
    judges = rows_of(board.judges())
    answer.fact("judges", judges)
    flagged = [judge for judge in judges if judge["flagged"]]
    if not flagged:
        answer.line(f"No judge of {len(judges):,} disagrees with the rest by more than chance.")
        return
    answer.table(
        f"{len(flagged)} of {counted(len(judges), 'judge')} disagree with the rest by more than chance",
        ("judge", "votes", "agreement", "expected", "p"),
        [
            (
                str(judge["judge"]),
                f"{judge['votes']:.6g}",
                f"{judge['agreement']:.0%}",
                f"{judge['expected']:.0%}",
                pvalue(judge["pvalue"]),
            )
            for judge in flagged[:10]
        ],
    )


def _row(row: dict[str, Any]) -> list[str]:
    ranks = f"{row['rank_low']}" if row["rank_low"] == row["rank_high"] else f"{row['rank_low']}-{row['rank_high']}"
    return [
        f"{row['rank']}",
        str(row["item"]),
        f"{row['score']:z.2f}",
        f"[{row['low']:z.2f}, {row['high']:z.2f}]",
        ranks,
        _number_of_votes(row["votes"]),
        _number_of_votes(row["wins"]),
    ]


def _number_of_votes(votes: float) -> str:
    """Write a number of votes, which weights and ties make a fraction."""
    return f"{votes:,.4g}" if abs(votes) < 1e3 else f"{votes:,.0f}" if votes % 1 == 0 else f"{votes:,.1f}"
