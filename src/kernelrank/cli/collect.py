"""``kernelrank collect``: votes in the browser."""

from __future__ import annotations

import contextlib
import csv
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelrank.cli import shared
from kernelrank.cli.shared import Answer, check_extra, check_output, counted

if TYPE_CHECKING:
    from kernelrank.collecting import CollectionRules, VoteStore

app = typer.Typer(rich_markup_mode="rich", add_completion=False)
_ask = shared.option("What judges are asked")
_stop = shared.option("When it is enough")
_serve = shared.option("Server")
_plan = shared.option("Planning")


@app.command()
def collect(
    items: Annotated[
        Path, typer.Argument(help="CSV file of items, or folder of texts, images and sounds.", show_default=False)
    ],
    database: Annotated[
        str,
        typer.Option("--database", help="File of votes (SQLite), or postgresql://user:password@host/database."),
    ] = "votes.db",
    question: Annotated[
        list[str] | None,
        _ask("What judges are asked. May be repeated.", "--question", "-q", default="Which is better?"),
    ] = None,
    design: Annotated[
        str,
        _ask("adaptive: the most informative pairs. random: any pairs. Or a CSV file with two columns of items."),
    ] = "adaptive",
    categories: Annotated[
        str | None, _ask("Column of categories; only items of one category are compared.", metavar="COLUMN")
    ] = None,
    per_judge: Annotated[int | None, _ask("Number of pairs of each judge. Default: no limit.", min=1)] = None,
    minimum: Annotated[int, _ask("Votes that every item gets before pairs are chosen by information.", min=0)] = 2,
    repeats: Annotated[float, _ask("Share of pairs that a judge is asked twice.", min=0.0, max=0.5)] = 0.05,
    until: Annotated[
        str | None, _stop("Stop by a rule: top=5 once the first five are told apart.", metavar="top=K")
    ] = None,
    until_width: Annotated[float | None, _stop("Stop once no interval of a score is wider.", min=0.0)] = None,
    host: Annotated[str, _serve("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, _serve("Port; 0 chooses a free one.", min=0, max=65535)] = 8000,
    new_links: Annotated[bool, _serve("Make new links; the old ones end.", "--new-links")] = False,
    export: Annotated[
        Path | None, _serve("Write the votes that count to this file (.csv, .jsonl or .parquet) and end.")
    ] = None,
    simulate: Annotated[bool, _plan("Simulate judges in place of a server: how many votes?", "--simulate")] = False,
    judges: Annotated[int, _plan("Number of simulated judges.", min=1)] = 10,
    spread: Annotated[float, _plan("Standard deviation of the simulated scores, in logits.", min=0.0)] = 1.0,
    votes: Annotated[int | None, _plan("Number of simulated votes. Default: 30 for each item.", min=2)] = None,
    seed: Annotated[int | None, _plan("Random seed. Default: another one each time.")] = None,
    as_json: shared.AsJSON = False,
) -> None:
    """Collect votes in the browser: a page for judges, a page for you, and the next pair chosen well.

    Two links are printed: send the first one to judges, keep the second. Every vote is on the disk before it is
    acknowledged. Ctrl-C ends the server; the same command continues where it stopped, with new items if there are any.

    kernelrank collect essays.csv --question "Which essay is clearer?"

    kernelrank collect photos --until top=5 --per-judge 40

    kernelrank collect essays.csv --simulate --judges 12 --spread 2
    """
    from kernelrank.collecting import CollectionRules, VoteStore

    answer = Answer("collect", as_json=as_json)
    if simulate:
        _simulate(answer, items, design, judges, spread, votes, minimum, seed)
        return
    check_output(export, [items])
    fixed = () if design in ("adaptive", "random") else _pairs_of(Path(design))
    rules = CollectionRules(
        questions=tuple(question or ["Which is better?"]),
        design="fixed" if fixed else "random" if design == "random" else "adaptive",
        fixed=fixed,
        minimum=minimum,
        repeats=repeats,
        per_judge=per_judge,
        until_top=_top(until),
        until_width=until_width,
        seed=seed,
    )
    if export is None:
        check_extra("collect", "starlette", "uvicorn", "orjson")
    with VoteStore(database) as store:
        if export is not None:
            _export(answer, store, export)
        else:
            _serve_collection(answer, store, items, rules, categories, host, port, new_links)


def _serve_collection(
    answer: Answer,
    store: VoteStore,
    items: Path,
    rules: CollectionRules,
    categories: str | None,
    host: str,
    port: int,
    new_links: bool,
) -> None:
    from kernelrank.collecting import Collection, create_collection_app
    from kernelrank.serving.service import Server, log_as_json

    if new_links:
        store.forget_setting("judge token")
        store.forget_setting("owner token")
    collection = Collection(store, items, rules, category=categories)
    app = create_collection_app(collection)
    server = Server.of(app, host, port)
    log_as_json()
    logging.getLogger("kernelrank.serving").setLevel(logging.WARNING)  # a line for each vote helps nobody
    with contextlib.closing(server.listen()) as listening:
        shown = f"[{host}]" if ":" in host else host
        where = f"http://{shown}:{listening.getsockname()[1]}"
        tokens = app.state.service.tokens
        links = {kind: f"{where}/{kind}/{tokens[kind]}/" for kind in ("judge", "owner")}
        if host not in ("127.0.0.1", "::1", "localhost"):
            answer.note(
                f"{host} can be reached from other machines: whoever has a link can use it, and HTTP can be read"
            )
        answer.fact("judges", links["judge"])
        answer.fact("owner", links["owner"])
        answer.fact("database", store.shown_name)
        answer.fact("items", len(collection.items))
        answer.fact("votes", collection.n_rows)
        answer.line(f"{counted(len(collection.items), 'item')}; votes are kept in {store.shown_name}.")
        answer.line(f"For judges:   {links['judge']}")
        answer.line(f"For you only: {links['owner']}")
        answer.line("Ctrl-C ends the server; the same command continues.")
        answer.show()
        server.run([listening])


def _top(until: str | None) -> int | None:
    from kernelrank.errors import InvalidInputError

    if until is None:
        return None
    name, _, number = until.partition("=")
    if name != "top" or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise InvalidInputError(f"--until: expected top=K with a number of items, such as top=5; got {until!r}")
    return int(number)


def _pairs_of(path: Path) -> tuple[tuple[str, str], ...]:
    """Read the pairs of a fixed design."""
    from kernelrank.errors import FileFormatError, InvalidInputError

    if not path.is_file():
        raise InvalidInputError(f"--design: expected adaptive, random or a CSV file of pairs; got {str(path)!r}")
    rows = [row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if row][1:]
    for line, row in enumerate(rows, start=2):
        if len(row) != 2 or not all(cell.strip() for cell in row) or row[0].strip() == row[1].strip():
            raise FileFormatError("expected two different items in two columns", str(path), line)
    if not rows:
        raise FileFormatError("expected a first line with names, and a pair of items in each further line", str(path))
    return tuple((first.strip(), second.strip()) for first, second in rows)


def _export(answer: Answer, store: VoteStore, path: Path) -> None:
    from kernelrank.persistence.atomic import atomic_write

    content = store.export(path.suffix.lower().removeprefix("."))
    with atomic_write(path) as file:
        file.write(content)
    answer.fact("output", str(path))
    answer.line(f"The votes that count are in {path}: {len(content):,} bytes.")
    answer.show()


def _simulate(
    answer: Answer,
    items: Path,
    design: str,
    judges: int,
    spread: float,
    votes: int | None,
    minimum: int,
    seed: int | None,
) -> None:
    from kernelrank.base.progress import working
    from kernelrank.collecting import read_collected_items, simulate_collection
    from kernelrank.errors import InvalidInputError
    from kernelrank.report.estimates import rows_of

    if design not in ("adaptive", "random"):
        raise InvalidInputError(f"--design: expected adaptive or random with --simulate; got {design!r}")
    n = len(read_collected_items(items))
    with working("simulating"):
        found = simulate_collection(
            n,
            n_votes=votes,
            spread=spread,
            design="random" if design == "random" else "adaptive",
            n_judges=judges,
            minimum=minimum,
            random_state=seed or 0,
        )
    rows = rows_of(found)
    answer.fact("items", n)
    answer.fact("design", design)
    answer.fact("spread", spread)
    answer.fact("simulated", rows)
    answer.table(
        f"{counted(n, 'item')}, {counted(judges, 'simulated judge')}, {design} pairs, scores with standard deviation "
        f"{spread:g}",
        ("votes", "Kendall's tau", "interval holds the score", "mean width", "reliability"),
        [
            (
                f"{row['votes']:,}",
                f"{row['tau']:.2f}",
                f"{row['coverage']:.0%}",
                f"{row['width']:.2f}",
                f"{row['reliability']:.2f}",
            )
            for row in rows
        ],
    )
    answer.show()
