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

PARTS = ("scale", "deviation")
ModelName = Literal["bradley_terry", "least_squares"]


@app.command()
@grouped
def leaderboard(
    *,
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES",
            help="File of votes: CSV, TSV, JSON lines, Parquet, Excel, PrefLib, or lines. - is standard input.",
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
    ties: Annotated[
        str,
        shared.option()(
            "How a tie counts: half a vote each way, or its own outcome.", "--ties", **one_of("half", "davidson")
        ),
    ] = "half",
    scale: Annotated[str, shared.option()("Unit of the scores.", "--scale", **one_of("logit", "elo"))] = "logit",
    anchor: Annotated[
        list[str] | None,
        typer.Option("--anchor", metavar="ITEM=SCORE", help="Score that an item shall have.", show_default=False),
    ] = None,
    covariates: Annotated[
        str | None,
        typer.Option(
            "--covariates",
            metavar="NAME,...",
            help="Control for these: columns such as NAME_a and NAME_b, one signed column, or side.",
            show_default=False,
        ),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="Column of categories: a board for each.", show_default=False)
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="Column of times: scores may move.", show_default=False)
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Leave out votes before.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Leave out votes from then on.", show_default=False)
    ] = None,
    machine_judges: Annotated[
        str | None,
        typer.Option(
            "--machine-judges",
            metavar="NAME,...",
            help="Judges who are machines, whose votes human votes calibrate; * matches any letters.",
            show_default=False,
        ),
    ] = None,
    orders: Annotated[
        str | None,
        shared.option()(
            "How a PrefLib file of orders is read: as rankings, unless another option needs their pairs.",
            "--orders",
            **one_of("rankings", "pairs"),
        ),
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option(
            "--held-out", min=2, help="Compare boards by votes held out in so many parts.", show_default=False
        ),
    ] = None,
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

    kernelrank leaderboard arena.jsonl --covariates tokens,side --category language --scale elo --anchor "model 0=1000"
    """
    answer = Answer("leaderboard", as_json=as_json)
    check_page(report, [votes, *([] if items is None else [items])])
    file = replace(file, path=votes, pair_weight=weight)
    asked = [name.strip() for name in (covariates or "").split(",") if name.strip()]
    about = {"covariates": asked, "category": category, "time": time, "since": since, "until": until}
    from sklearn.base import clone

    rankings = _rankings(answer, votes, orders, [*about.values(), machine_judges, held_out, ties == "davidson"], model)
    if rankings is not None:
        board = _board(cast("ModelName", model), alpha, confidence, seed)
        board.set_params(ties=ties, scale=scale, anchor=_anchors(anchor, None))
        with answer.noting_warnings(), working("ranking"):
            features = _features(answer, None if items is None else source.at(items))
            board.fit_rankings(rankings.rankings, weight=rankings.weight, features=features)
        _finish(answer, board, votes, report, top, pairs, power, None)
        return
    found, names, X = _read(answer, file, None if items is None else source.at(items), about)
    board = _board(cast("ModelName", model), alpha, confidence, seed)
    board.set_params(ties=ties, scale=scale, anchor=_anchors(anchor, names))
    given: dict[str, Any] = {"features": None if X is None else (names, X)}
    given |= {name: getattr(found, name) for name in ("tie", "weight", "judge")}
    winners, losers = names[found.pairs].T
    plain = None
    with answer.noting_warnings(), working("ranking"):
        if found.covariates is not None:
            plain = clone(board).fit(winners, losers, **given)
        controlled = _scaled(answer, found.covariates)
        contexts = {"covariates": controlled, "category": found.category}
        contexts |= {"time": None if time is None else found.time}
        contexts |= {"judge_kind": _kinds(found.judge, machine_judges)}
        board.fit(winners, losers, **given, **contexts)
    if held_out is not None:
        with working("holding votes out"):
            _answer_held_out(answer, board, held_out, winners, losers, given, contexts)
    _finish(answer, board, votes, report, top, pairs, power, plain)


def _finish(
    answer: Answer,
    board: Leaderboard,
    votes: Path,
    report: Path | None,
    top: int,
    pairs: int,
    power: float,
    plain: Leaderboard | None,
) -> None:
    """Answer with the board, and write its page."""
    for note in board.notes_:
        answer.note(note)
    with working("comparing items"):
        _answer(answer, board, votes, top, pairs, power, plain)
    if report is not None:
        from kernelrank.report import leaderboard_report

        with working("writing the page"):
            notes = [note for note in answer.notes if note not in board.notes_]
            title, command = f"Leaderboard of {Path(votes).name}", command_line()
            page = leaderboard_report(
                board, n_pairs=pairs, power=power, title=title, command=command, notes=notes, plain=plain
            )
            page.save(report)
    answer.saved(report=report)
    answer.show()


def _read(
    answer: Answer, file: PreferenceFile, source: SourceFile | None, about: dict[str, Any]
) -> tuple[Preferences, Any, Any]:
    """Read the votes; also return the labels of items by their numbers, and features if there are any."""
    import numpy as np

    X = None
    if source is None:
        found = file.read(answer, **about)
        n_items = int(found.pairs.max()) + 1
        names = np.arange(n_items) if found.names is None else found.names
    else:
        items = source.read(answer, needs_target=False)
        found = file.between(items, answer, **about)
        names, X = np.arange(len(items)) if items.ids is None else items.ids, items.X
    if found.magnitude is not None and np.any(found.magnitude[found.magnitude > 0] != 1.0):
        answer.note(f"{file.path}: magnitudes are ignored: a vote says which item is better, not by how much")
    return found, names, X


def _features(answer: Answer, source: SourceFile | None) -> tuple[Any, Any] | None:
    """Read the features of items with names."""
    if source is None:
        return None
    items = source.read(answer, needs_target=False)
    return [str(name) for name in (range(len(items)) if items.ids is None else items.ids)], items.X


def _rankings(answer: Answer, path: Path, orders: str | None, asked: list[Any], model: str) -> Any:
    """Read the rankings of a PrefLib file of orders; None for other files, and where another option needs votes."""
    from kernelrank.data import read_rankings
    from kernelrank.data.votes import is_preflib
    from kernelrank.errors import InvalidInputError

    orderly = path.is_file() and is_preflib(str(path), b"") and ".wmd" not in path.suffixes
    if not orderly and orders is not None:
        raise InvalidInputError("--orders: expected a PrefLib file of orders, such as votes.soc")
    if not orderly or orders == "pairs" or (orders is None and (any(asked) or model != "bradley_terry")):
        return None
    found = read_rankings(str(path))
    answer.note(f"{path}: {'; '.join(found.notes)}; --orders pairs takes the pairs of rankings as votes")
    return found


def _kinds(judge: Any, machines: str | None) -> dict[Any, str] | None:
    """Return which judges are machines."""
    from fnmatch import fnmatchcase

    from kernelrank.errors import InvalidInputError

    if machines is None:
        return None
    if judge is None:
        raise InvalidInputError("--machine-judges: expected votes with judges; name their column by --judge")
    found: dict[Any, str] = {}
    for pattern in (name.strip() for name in machines.split(",")):
        matching = [one for one in set(judge.tolist()) if fnmatchcase(str(one), pattern)]
        if not matching:
            raise InvalidInputError(f"--machine-judges: no judge of the votes is called {pattern!r}")
        found |= dict.fromkeys(matching, "machine")
    return found


def _answer_held_out(
    answer: Answer,
    board: Leaderboard,
    n_folds: int,
    winners: Any,
    losers: Any,
    given: dict[str, Any],
    contexts: dict[str, Any],
) -> None:
    """Compare boards with and without what votes were about, by the log-loss of held-out votes."""
    import numpy as np

    asked = {name: values for name, values in contexts.items() if values is not None}
    kinds = asked.get("judge_kind", {})
    human = np.ones(len(winners), dtype=bool)
    if kinds:
        human = np.array([kinds.get(one) != "machine" for one in given["judge"].tolist()])

    def losses(**about: Any) -> Any:
        rows = np.flatnonzero(human) if "judge_kind" not in about else np.arange(len(winners))
        chosen = {
            name: values if name in ("features", "judge_kind") else _rows(values, rows)
            for name, values in (given | about).items()
        }
        found = np.full(len(winners), np.nan)
        found[rows] = board.held_out_losses(winners[rows], losers[rows], n_folds=n_folds, **chosen)
        return found[human]

    names = {"judge_kind": "machine judges"}
    tried: dict[str, dict[str, Any]] = {"plain": {}} | {
        names.get(name, name): {name: values} for name, values in asked.items()
    }
    if len(asked) > 1:
        tried["all of these"] = asked
    weight = np.ones(len(winners)) if given["weight"] is None else given["weight"]
    weight = weight[human]
    found = {name: losses(**about) for name, about in tried.items()}
    rows: list[dict[str, float]] = []
    for values in found.values():
        apart = weight * (values - found["plain"]) / weight.mean()
        sizes = (np.average(values, weights=weight), apart.mean(), apart.std() / len(apart) ** 0.5)
        rows.append(dict(zip(("log_loss", "difference", "std_error"), map(float, sizes), strict=True)))
    answer.fact("held_out", [{"board": name, **row} for name, row in zip(found, rows, strict=True)])
    title = f"Log-loss of {counted(len(weight), 'vote')}, held out in {n_folds} parts"
    cells = [
        (name, f"{row['log_loss']:.4f}", f"{row['difference']:+.4f} ± {row['std_error']:.4f}")
        for name, row in zip(found, rows, strict=True)
    ]
    answer.table(title, ("board", "log-loss", "less that of the plain board"), cells)


def _rows(values: Any, rows: Any) -> Any:
    if isinstance(values, dict):
        return {name: column[rows] for name, column in values.items()}
    return None if values is None else values[rows]


def _scaled(answer: Answer, covariates: dict[str, Any] | None) -> dict[str, Any] | None:
    """Divide covariates by their root mean squares, and say so."""
    if covariates is None:
        return None
    sizes = {name: float((values**2).mean() ** 0.5) for name, values in covariates.items()}
    listed = ", ".join(f"{name} {size:.4g}" for name, size in sizes.items())
    answer.note(f"covariates are divided by their root mean squares: {listed}")
    return {name: values / (sizes[name] or 1.0) for name, values in covariates.items()}


def _anchors(anchors: list[str] | None, names: Any) -> dict[Any, float] | None:
    """Read ITEM=SCORE."""
    from kernelrank.errors import InvalidInputError

    found, known = {}, {} if names is None else {str(name): name for name in names.tolist()}
    for text in anchors or []:
        item, _, score = text.rpartition("=")
        try:
            found[known.get(item, item)] = float(score)
        except ValueError:
            raise InvalidInputError(f"--anchor: expected ITEM=SCORE, such as 'tea=1000'; got {text!r}") from None
    return found or None


def _board(model: ModelName, alpha: str, confidence: float, seed: int) -> Leaderboard:
    from kernelrank.errors import InvalidInputError
    from kernelrank.votes import Leaderboard

    if alpha == "auto":
        return Leaderboard(model, confidence=confidence, random_state=seed)
    try:
        return Leaderboard(model, float(alpha), confidence=confidence, random_state=seed)
    except ValueError:
        raise InvalidInputError(f"--alpha: expected auto or a positive number; got {alpha!r}") from None


def _answer(
    answer: Answer, board: Leaderboard, votes: Path, top: int, n_pairs: int, power: float, plain: Leaderboard | None
) -> None:
    """Add the table, the separable items, the judges and the next votes."""
    from kernelrank.report.estimates import neighbours_of, rows_of

    rows = rows_of(board.table())
    if plain is not None:
        rank_of = {row["item"]: row["rank"] for row in rows_of(plain.table())}
        rows = [{**row, "plain_rank": rank_of[row["item"]]} for row in rows]
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
        f"{counted(len(rows), 'item')}, {counted(board.n_votes_, 'ranking' if board.ranked_ else 'vote')} of {votes}",
        (
            "rank",
            "item",
            "score",
            f"{percent} interval",
            "ranks",
            "votes",
            "wins",
            *["plain rank"] * (plain is not None),
        ),
        [_row(row, board.scale) for row in rows[:top]],
    )
    if len(rows) > top:
        answer.line(f"{len(rows) - top:,} more items: --top {len(rows)} prints all of them.", style="dim")
    apart = sum(pair["apart"] for pair in neighbours)
    answer.line(
        f"{apart} of {counted(len(neighbours), 'pair')} of neighbours can be told apart; alpha is {board.alpha_:.3g}, "
        f"{'estimated from the votes' if board.alpha == 'auto' else 'as given'}."
    )
    _answer_contexts(answer, board, top, percent)
    _answer_machines(answer, board)
    _answer_agreement(answer, board)
    _answer_judges(answer, board)
    pairs = board.next_pair(n_pairs)
    answer.fact("next_pairs", pairs)
    answer.table("Most informative next votes", ("item", "against"), [(str(a), str(b)) for a, b in pairs])


def _answer_contexts(answer: Answer, board: Leaderboard, top: int, percent: str) -> None:
    """Add the effects of covariates, the boards of categories, and how scores moved."""
    from kernelrank.report.estimates import rows_of

    size = 0 if board.scale == "elo" else 2
    if board.covariate_names_ is not None:
        effects = rows_of(board.covariates_)
        answer.fact("covariates", effects)
        cells = [(row["covariate"], f"{row['effect']:z.2f}", _interval(row, 2)) for row in effects]
        answer.table("Effects of covariates, in logits", ("covariate", "effect", f"{percent} interval"), cells)
    if board.categories_ is not None:
        boards = {str(one): rows_of(board.table(category=one)) for one in board.categories_.tolist()}
        answer.fact("categories", [{"category": name, "items": rows} for name, rows in boards.items()])
        apart = rows_of(board.category_differences())
        answer.fact("category_differences", apart)
        order = [row["item"] for row in rows_of(board.table())][:top]
        ranks = {name: {row["item"]: f"{row['rank']}" for row in rows} for name, rows in boards.items()}
        in_each: list[tuple[str, ...]] = [(str(item), *[of[item] for of in ranks.values()]) for item in order]
        answer.table("Ranks in each category", ("item", *ranks), in_each)
        differing = [row for row in apart if row["differs"]]
        answer.table(
            f"{counted(len(differing), 'item')} with scores of their own in a category",
            ("category", "item", "difference", f"{percent} interval"),
            [
                (str(row["category"]), str(row["item"]), f"{row['difference']:z.{size}f}", _interval(row, size))
                for row in differing[:10]
            ],
        )
    if board.times_ is not None:
        answer.fact("trajectories", [{**row, "time": str(row["time"])} for row in rows_of(board.trajectories())])
    if board.deviation_names_ is not None:
        parts = rows_of(board.variation())
        answer.fact("variation", parts)
        cells = [(row["part"], f"{row['value']:.3g}", f"[{row['low']:.3g}, {row['high']:.3g}]") for row in parts]
        answer.table("How much scores vary", ("between", "standard deviation", "95% interval"), cells)


def _answer_agreement(answer: Answer, board: Leaderboard) -> None:
    """Add whether judges agree, and whether one score an item can explain the votes."""
    from kernelrank.votes import intransitivity, krippendorff_alpha

    if board.judges_ is not None:
        agreement = krippendorff_alpha(board)
        answer.fact("krippendorff_alpha", agreement if agreement == agreement else None)
        answer.line(f"Krippendorff's alpha of the votes on the same pairs is {agreement:.2f}.")
    one_score = board.board_scores_ is None and board.model == "bradley_terry"
    if one_score and board.posterior.knows_covariances:
        found = intransitivity(board)
        answer.fact("intransitivity", found._asdict())
        if found.pvalue < 0.01:
            answer.note(
                f"pairs deviate from the scores by {found.deviation:.2f} logits (p {pvalue(found.pvalue)}): one score "
                "an item cannot explain these votes; BradleyTerry(relation='reciprocal') learns match-ups from features"
            )


def _answer_machines(answer: Answer, board: Leaderboard) -> None:
    """Add what machine judges are worth."""
    from kernelrank.report.estimates import rows_of

    if board.machines_ is None or board.machine_worth_ is None:
        return
    rows = rows_of(board.machine_judges())
    answer.fact("machine_judges", rows)
    answer.fact("machine_worth", float(board.machine_worth_[-1]))
    cells: list[tuple[str, ...]] = []
    for row in rows:
        parts = [f"{row[part]:.2f} [{row[f'{part}_low']:.2f}, {row[f'{part}_high']:.2f}]" for part in PARTS]
        cells.append((str(row["judge"]), f"{row['votes']:,.6g}", f"{row['worth']:,.0f}", *parts))
    answer.table("What machine judges are worth", ("judge", "votes", "human votes", "scale", "deviation"), cells)
    answer.line(
        f"Together they are worth {board.machine_worth_[-1]:,.0f} human votes. Scores are those of human judges."
    )


def _interval(row: dict[str, Any], size: int) -> str:
    return f"[{row['low']:z.{size}f}, {row['high']:z.{size}f}]"


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


def _row(row: dict[str, Any], scale: str) -> list[str]:
    ranks = f"{row['rank_low']}" if row["rank_low"] == row["rank_high"] else f"{row['rank_low']}-{row['rank_high']}"
    return [
        f"{row['rank']}",
        str(row["item"]),
        f"{row['score']:z.{0 if scale == 'elo' else 2}f}",
        _interval(row, 0 if scale == "elo" else 2),
        ranks,
        _number_of_votes(row["votes"]),
        _number_of_votes(row["wins"]),
        *([f"{row['plain_rank']}"] if "plain_rank" in row else []),
    ]


def _number_of_votes(votes: float) -> str:
    """Write a number of votes, which weights and ties make a fraction."""
    return f"{votes:,.4g}" if abs(votes) < 1e3 else f"{votes:,.0f}" if votes % 1 == 0 else f"{votes:,.1f}"
