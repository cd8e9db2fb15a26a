"""``kernelrank demo``: rank generated data and write an HTML report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelrank.base.progress import working
from kernelrank.cli import shared
from kernelrank.cli.shared import Answer, check_file, check_page, facts_of

if TYPE_CHECKING:
    from kernelrank.model_selection import RankRLSCV

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

PAGE, MODEL = "kernelrank-report.html", "kernelrank-demo.kr"
TRAIN, TEST = "kernelrank-demo-train.txt", "kernelrank-demo-test.txt"
MEASURES = ("ndcg@10", "map", "pairwise_accuracy")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Folder for the output files.")] = Path("."),
    seed: shared.Seed = 0,
    as_json: shared.AsJSON = False,
) -> None:
    """Rank generated data and write an HTML report.

    The data: documents of 120 queries, with grades from 0 to 4. Alpha is chosen by exact leave-query-out
    cross-validation on 80 queries; the other 40 queries are the test set.
    """
    from kernelrank.base.compiled import compile_seconds
    from kernelrank.cli.sources import command_line
    from kernelrank.data import write_ranking
    from kernelrank.model_selection import RankRLSCV
    from kernelrank.persistence.model_files import save
    from kernelrank.report import ranking_report

    answer = Answer("demo", as_json=as_json)
    if not folder.exists():
        folder.mkdir(parents=True)
    check_page(folder / PAGE)
    for name in (MODEL, TRAIN, TEST):
        check_file(folder / name)
    train, test = documents(seed)
    with working("holding out 80 queries for all alphas"), answer.noting_warnings():
        model = RankRLSCV().fit(train.X, train.y, qid=train.qid)
    measures = [_measure(name) for name in MEASURES]
    found = _measured(model, train, test, measures, seed)
    with working("drawing the report"), answer.noting_warnings():
        page = ranking_report(
            model,
            train.X,
            train.y,
            qid=train.qid,
            ids=train.ids,
            feature_names=train.names,
            test=(test.X, test.y, test.qid, test.ids),
            measures=measures,
            title="Documents of 120 queries",
            command=command_line(),
            notes=["The data is generated; see kernelrank.make_ranking."],
        )
    model.provenance_ = {
        "file": "generated",
        "items": len(train.y),
        "first_index": 1,
        "command": command_line(),
        "version": _version(),
    }
    save(model, folder / MODEL)
    for name, part in ((TRAIN, train), (TEST, test)):
        write_ranking(folder / name, part.X, part.y, qid=part.qid, docid=part.ids)
    page.save(folder / PAGE)
    _answer(answer, model, train, test, found, folder)
    if loops := compile_seconds():
        answer.note(f"compiling {len(loops)} loops took {sum(loops.values()):.1f} s; later runs read them from disk")
    answer.fact("compile_seconds", loops)
    _what_next(answer, folder)
    answer.show()


def _measured(
    model: RankRLSCV, train: Documents, test: Documents, measures: list[Any], seed: int
) -> list[dict[str, Any]]:
    """Measure the test queries, the held-out ones, and a random order."""
    found = []
    for measure in measures:
        result = measure(test.y, model.predict(test.X), qid=test.qid)
        facts = facts_of(result, measure, confidence=0.95, seed=seed, by_query=False)
        facts["held_out"] = measure(train.y, model.holdout_scores_, qid=train.qid).mean
        facts["random"] = measure(test.y, 0.0 * test.y, qid=test.qid).mean
        found.append(facts)
    return found


def _answer(
    answer: Answer,
    model: RankRLSCV,
    train: Documents,
    test: Documents,
    found: list[dict[str, Any]],
    folder: Path,
) -> None:
    answer.fact("alpha", model.alpha_)
    answer.fact("measures", found)
    files = {"report": PAGE, "model": MODEL, "train": TRAIN, "test": TEST}
    answer.fact("files", {what: str(folder / name) for what, name in files.items()})
    answer.line(
        f"{len(train.y):,} documents of 80 queries for training, {len(test.y):,} of 40 for the test. Alpha "
        f"{model.alpha_:,.4g}, of {len(model.alphas_)} values tried, has the best score on held-out queries."
    )
    answer.table(
        "",
        ("measure", "held out", "test", "95% interval", "random order"),
        [
            [
                facts["measure"],
                f"{facts['held_out']:.3f}",
                f"{facts['mean']:.3f}",
                f"{facts['low']:.3f} to {facts['high']:.3f}",
                f"{facts['random']:.3f}",
            ]
            for facts in found
        ],
    )


@dataclass(frozen=True, eq=False)
class Documents:
    """Generated documents: columns, grades, queries, names."""

    X: Any
    y: Any
    qid: Any
    ids: Any
    names: list[str]


def documents(seed: int) -> tuple[Documents, Documents]:
    """Generate the documents of 80 queries for training, and of 40 for the test."""
    import numpy as np

    from kernelrank.data import make_ranking

    X, y, qid = make_ranking(
        n_queries=120,
        n_items=(8, 20),
        n_features=60,
        n_informative=12,
        n_levels=5,
        noise=0.7,
        query_shift=1.0,
        random_state=seed,
    )
    codes = np.unique(qid, return_inverse=True)[1]
    ids = np.array([f"doc{number}" for number in range(len(y))])
    names = [f"f{number + 1}" for number in range(X.shape[1])]
    X = np.round(X, 4)  # numbers that fit into files that people look at
    parts = [np.flatnonzero(codes < 80), np.flatnonzero(codes >= 80)]
    first, second = (Documents(X[part], y[part], qid[part], ids[part], names) for part in parts)
    return first, second


def _measure(name: str) -> Any:
    from kernelrank.metrics import get_measure

    # The two best of the five grades are relevant.
    return get_measure(name, relevant_from=3) if name == "map" else get_measure(name)


def _version() -> str:
    from kernelrank import __version__

    return __version__


def _what_next(answer: Answer, folder: Path) -> None:
    page, model, train, test = (folder / name for name in (PAGE, MODEL, TRAIN, TEST))
    answer.line(f"The report is in {page}: open it in a browser. The model is in {model}, its data in {train}.")
    answer.line("")
    answer.line("What to try next", style="bold")
    for line in (
        f"kernelrank inspect {model}",
        f"kernelrank evaluate {model} {test} --by-query",
        f"kernelrank tune {train} --kernels rbf -o mine.kr",
        f"kernelrank compare mine.kr {model} {test}",
        "kernelrank fit --help",
    ):
        answer.line(f"  {line}", style="cyan")
