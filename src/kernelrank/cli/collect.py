"""``kernelrank collect``: votes in the browser."""

from __future__ import annotations

import contextlib
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
        Path, typer.Argument(help="Table of items (CSV), or folder of texts, images and sounds.", show_default=False)
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
    from kernelrank.collecting.items import read_fixed_pairs
    from kernelrank.errors import InvalidInputError

    answer = Answer("collect", as_json=as_json)
    is_free = design in ("adaptive", "random")
    if not is_free and (simulate or not Path(design).is_file()):
        expected = "adaptive or random with --simulate" if simulate else "adaptive, random or a file of pairs"
        raise InvalidInputError(f"--design: expected {expected}; got {design!r}")
    if simulate:
        options = {"n_votes": votes, "spread": spread, "design": design, "n_judges": judges, "minimum": minimum}
        _simulate(answer, items, options | {"random_state": seed or 0})
        return
    if export is not None:
        _export(answer, database, export, items)
        return
    rules = CollectionRules(
        questions=tuple(question or ["Which is better?"]),
        design="random" if design == "random" else "adaptive" if is_free else "fixed",
        fixed=() if is_free else read_fixed_pairs(Path(design)),
        minimum=minimum,
        repeats=repeats,
        per_judge=per_judge,
        until_top=_top(until),
        until_width=until_width,
        seed=seed,
    )
    check_extra("collect", "starlette", "uvicorn", "orjson")
    with VoteStore(database) as store:
        if new_links:
            store.forget_setting("judge token")
            store.forget_setting("owner token")
        _serve_collection(answer, store, items, rules, categories, host, port)


def _serve_collection(
    answer: Answer, store: VoteStore, items: Path, rules: CollectionRules, categories: str | None, host: str, port: int
) -> None:
    from kernelrank.collecting import Collection, create_collection_app
    from kernelrank.serving.service import Server, log_as_json

    collection = Collection(store, items, rules, category=categories)
    app = create_collection_app(collection)
    server = Server.of(app, host, port)
    log_as_json()
    logging.getLogger("kernelrank.serving").setLevel(logging.WARNING)  # a line for each vote helps nobody
    with contextlib.closing(server.listen()) as listening:
        name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        where = f"http://{name}:{listening.getsockname()[1]}"
        links = {kind: f"{where}/{kind}/{token}/" for kind, token in app.state.service.tokens.items()}
        if host not in ("127.0.0.1", "::1", "localhost"):
            answer.note(
                f"{host} can be reached from other machines: whoever has a link can use it, and HTTP can be read"
            )
        answer.add({"judges": links["judge"], "owner": links["owner"], "database": store.shown_name})
        answer.add({"items": len(collection.items), "votes": collection.n_rows})
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


def _export(answer: Answer, database: str, path: Path, items: Path) -> None:
    from kernelrank.collecting import VoteStore
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence.atomic import atomic_write

    check_output(path, [items, Path(database)])
    if "://" not in database and not Path(database).is_file():
        raise InvalidInputError(f"--export: expected a database of votes; there is no file {database}. Give --database")
    with VoteStore(database) as store:
        content = store.export(path.suffix.lower().removeprefix("."))
    with atomic_write(path) as file:
        file.write(content)
    answer.fact("output", str(path))
    answer.line(f"The votes that count are in {path}: {len(content):,} bytes.")
    answer.show()


def _simulate(answer: Answer, items: Path, options: dict[str, Any]) -> None:
    from kernelrank.base.progress import working
    from kernelrank.collecting import read_collected_items, simulate_collection
    from kernelrank.report.estimates import rows_of

    n, design, spread = len(read_collected_items(items)), options["design"], options["spread"]
    with working("simulating"):
        rows = rows_of(simulate_collection(n, **options))
    answer.add({"items": n, "design": design, "spread": spread, "simulated": rows})
    judges = counted(options["n_judges"], "simulated judge")
    answer.table(
        f"{counted(n, 'item')}, {judges}, {design} pairs, scores with standard deviation {spread:g}",
        ("votes", "Kendall's tau", "interval holds the score", "mean width", "reliability"),
        [
            (
                f"{row['votes']:,}",
                *(f"{row[name]:{form}}" for name, form in (("tau", ".2f"), ("coverage", ".0%"), ("width", ".2f"))),
                f"{row['reliability']:.2f}",
            )
            for row in rows
        ],
    )
    answer.show()
