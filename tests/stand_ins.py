"""Files that command lines of the documentation name: made up, of realistic size, with words and missing cells.

`FILES` says how each is made. A page that describes a file of another form has its own in `FILES_OF_PAGES`. A model
that a line reads and no earlier line wrote is fitted by the first command of `MODELS` that fits the line.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from kernelrank.collecting import VoteRow, VoteStore
from kernelrank.data import make_ranking, write_ranking
from kernelrank.relations import make_corpus

__all__ = ["FILES", "FILES_OF_PAGES", "MODELS", "make"]

Maker = Callable[[Path], None]


def write_table(path: Path, columns: dict[str, list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])


def with_gaps(rng: np.random.Generator, values: np.ndarray, share: float = 0.05) -> list[object]:
    return ["" if gap else value for gap, value in zip(rng.random(len(values)) < share, values.tolist(), strict=True)]


# Queries --------------------------------------------------------------------------------------------------------------


def documents(seed: int, n_queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, qid = make_ranking(n_queries=80, n_items=(5, 20), n_features=12, n_levels=4, noise=0.7, random_state=0)
    chosen = np.isin(qid, np.random.default_rng(seed).permutation(np.unique(qid))[:n_queries])
    return X[chosen].round(4), y[chosen], qid[chosen]


def letor(seed: int, n_queries: int = 40) -> Maker:
    def make(path: Path) -> None:
        X, y, qid = documents(seed, n_queries)
        write_ranking(path, X, y, qid=qid, docid=np.array([f"d{number}" for number in range(len(y))]))

    return make


def one_score_a_line(path: Path) -> None:
    X, _, _ = documents(1, 40)
    path.write_text("".join(f"{score:.6f}\n" for score in X[:, 0]), encoding="utf-8")


def rows_of_queries(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y, qid = documents(3, 40)
    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    pq.write_table(pa.table({**columns, "score": y, "query": qid}), path)


def compressed(path: Path) -> None:
    plain = path.with_suffix("")
    kept = plain.read_bytes() if plain.exists() else None
    letor(0)(plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    if kept is not None:
        plain.write_bytes(kept)


def side_files(path: Path) -> None:
    """A file of items with the sizes of queries, and weights, in files beside it."""
    X, y, qid = documents(0, 40)
    order = np.argsort(qid, kind="stable")
    write_ranking(path, X[order], y[order])
    sizes = np.unique(qid, return_counts=True)[1]
    Path(f"{path}.query").write_text("".join(f"{size}\n" for size in sizes))
    Path(f"{path}.weight").write_text("".join(f"{1 + number % 3}\n" for number in range(len(y))))


def folds(path: Path) -> None:
    for number in range(1, 6):
        folder = path / f"Fold{number}"
        folder.mkdir(parents=True)
        for part, name in enumerate(("train.txt", "vali.txt", "test.txt")):
            letor(10 * number + part, 40 if part == 0 else 20)(folder / name)


def query_table(seed: int) -> Maker:
    def make(path: Path) -> None:
        rng = np.random.default_rng(seed)
        X, y, qid = documents(seed, 40)
        write_table(
            path,
            {
                "query": [f"q{query}" for query in qid],
                "docid": [f"d{number}" for number in range(len(y))],
                "grade": y.astype(int).tolist(),
                "language": with_gaps(rng, rng.choice(["English", "Suomi", "日本語"], len(y))),
                **{name: with_gaps(rng, X[:, k]) for k, name in enumerate(("bm25", "clicks", "age", "length"))},
            },
        )

    return make


# Patients -------------------------------------------------------------------------------------------------------------


ROWS = 200


def patients(seed: int, *, repeated: bool = False, n_rows: int | None = None) -> Maker:
    """Patients of four centres; with `repeated`, every fourth has a second row."""

    def make(path: Path, n_rows: int | None = n_rows) -> None:
        n_rows = n_rows or ROWS
        rng = np.random.default_rng(seed)
        genes = rng.standard_normal((n_rows, 24)).round(3)
        age, stage = rng.normal(62, 9, n_rows).round(), rng.choice(["I", "II", "III"], n_rows)
        risk = genes[:, 0] - 0.7 * genes[:, 1] + 0.04 * (age - 62) + 0.5 * (stage == "III")
        lasted, followed = rng.exponential(30 * np.exp(-risk)), rng.uniform(5, 60, n_rows)
        write_table(
            path,
            {
                "patient" if repeated else "number": [f"p{k - (repeated and k % 5 == 4)}" for k in range(n_rows)],
                "centre": rng.choice(["Turku", "Helsinki", "Oulu", "Tampere"], n_rows).tolist(),
                "admitted": [f"2019-{1 + number % 12:02d}-{1 + number % 28:02d}" for number in range(n_rows)],
                "outcome": np.where(risk + rng.logistic(size=n_rows) > 0, "case", "control").tolist(),
                "months": np.minimum(lasted, followed).round(1).clip(0.1).tolist(),
                "died": (lasted <= followed).astype(int).tolist(),
                "age": with_gaps(rng, age),
                "sex": with_gaps(rng, rng.choice(["f", "m"], n_rows)),
                "stage": with_gaps(rng, stage),
                "crp": with_gaps(rng, np.exp(0.5 * risk + rng.standard_normal(n_rows)).round(2)),
                "albumin": (40 - 2 * risk + rng.standard_normal(n_rows)).round(1).tolist(),
                **{f"gene{k}": with_gaps(rng, column, 0.01) for k, column in enumerate(genes.T)},
            },
        )

    return make


# Votes ----------------------------------------------------------------------------------------------------------------

DISHES = [f"dish {number}" for number in range(198)] + ["a", "b"]


def dishes(path: Path, names: list[str] = DISHES, seed: int = 3) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(names), 6)).round(3)
    kinds = with_gaps(rng, rng.choice(["soup", "fish", "cake"], len(names)))
    taste = {f"taste{k}": with_gaps(rng, column) for k, column in enumerate(X.T)}
    write_table(path, {"item": list(names), "kind": kinds, **taste})


def wines(seed: int) -> Maker:
    def make(path: Path) -> None:
        rng = np.random.default_rng(seed)
        acid, sugar, alcohol = rng.standard_normal((3, 300)).round(2)
        stars = np.digitize(alcohol - acid + rng.logistic(0, 0.5, 300), [-1.5, -0.3, 0.6, 1.8]) + 1
        write_table(
            path, {"acid": acid.tolist(), "sugar": sugar.tolist(), "alcohol": alcohol.tolist(), "stars": stars.tolist()}
        )

    return make


def new_dishes(path: Path) -> None:
    dishes(path, [f"new dish {number}" for number in range(200)], 4)


def compared_pairs(rng: np.random.Generator, n_items: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    strength = rng.normal(size=n_items)
    a = rng.integers(n_items, size=m)
    b = (a + rng.integers(1, n_items, size=m)) % n_items
    return a, b, rng.random(m) < 1 / (1 + np.exp(strength[b] - strength[a] - 0.3))


def votes(seed: int) -> Maker:
    def make(path: Path) -> None:
        rng, names = np.random.default_rng(seed), np.array(DISHES)
        a, b, won = compared_pairs(rng, len(names), 1_500)
        write_table(
            path,
            {
                "winner": names[np.where(won, a, b)].tolist(),
                "loser": names[np.where(won, b, a)].tolist(),
                "reader": [f"reader {number}" for number in rng.integers(12, size=1_500)],
            },
        )

    return make


def json_arena(path: Path) -> None:
    rng = np.random.default_rng(6)
    a, b, won = compared_pairs(rng, 8, 1_200)
    lengths = rng.integers(20, 400, size=(1_200, 2)).tolist()
    rows = [
        {
            "model_a": f"model {first}",
            "model_b": f"model {second}",
            "winner": "model_a" if first_won else "model_b",
            "tokens_a": length[0],
            "tokens_b": length[1],
            "conversation": {"language": ["en", "fi"][length[0] % 2]},
            "voted_at": f"2024-0{1 + number // 200}-01T12:00:00Z",
        }
        for number, (first, second, first_won, length) in enumerate(
            zip(a.tolist(), b.tolist(), won.tolist(), lengths, strict=True)
        )
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")


def arena(names: list[str], m: int) -> Maker:
    def make(path: Path) -> None:
        rng, known = np.random.default_rng(5), np.array(names)
        a, b, won = compared_pairs(rng, len(known), m)
        winner = np.where(rng.random(m) < 0.2, "tie", np.where(won, "model_a", "model_b"))
        write_table(
            path,
            {
                "model_a": known[a].tolist(),
                "model_b": known[b].tolist(),
                "winner": winner.tolist(),
                "user": [JUDGES[number] for number in rng.integers(len(JUDGES), size=m)],
            },
        )

    return make


JUDGES = [*(f"user {number}" for number in range(38)), "gpt-9", "claude"]
LANGUAGE_MODELS = [f"model {number}" for number in range(30)]


def language_models(path: Path) -> None:
    rng = np.random.default_rng(6)
    size = with_gaps(rng, rng.lognormal(3, 1, 30).round(1))
    write_table(path, {"model": list(LANGUAGE_MODELS), "size": size, "maker": rng.choice(["x", "y"], 30).tolist()})


# Dyads ----------------------------------------------------------------------------------------------------------------


def objects(letter: str, n_objects: int, seed: int) -> Maker:
    def make(path: Path) -> None:
        X = np.random.default_rng(seed).standard_normal((n_objects, 8)).round(3)
        names = [f"{letter}{number}" for number in range(n_objects)]
        write_table(path, {"name": names, **{f"x{k}": column.tolist() for k, column in enumerate(X.T)}})

    return make


def affinities(path: Path) -> None:
    """Scores of 40 drugs and 25 targets, of which one in twenty is unknown."""
    rng = np.random.default_rng(7)
    Y = (rng.standard_normal((40, 3)) @ rng.standard_normal((3, 25))).round(2)
    columns = {f"T{k}": with_gaps(rng, column) for k, column in enumerate(Y.T)}
    write_table(path, {"": [f"D{number}" for number in range(40)], **columns})


def results(path: Path) -> None:
    rng = np.random.default_rng(8)
    first, second = np.triu_indices(30, 1)
    strength = rng.standard_normal(30)
    score = np.where(strength[first] + rng.standard_normal(len(first)) > strength[second], 1, -1)
    names = [f"P{number}" for number in range(30)]
    write_table(
        path,
        {"row": [names[k] for k in first], "column": [names[k] for k in second], "score": score.tolist()},
    )


# Sentences ------------------------------------------------------------------------------------------------------------


def corpus(n_documents: int, seed: int) -> Maker:
    """A corpus of `make_corpus` in the XML of the protein interaction corpora: three pairs in each document."""

    def make(path: Path) -> None:
        made = make_corpus(n_documents, random_state=seed)
        parts = [f'<corpus source="{path.stem}">']
        for number, sentence in enumerate(made.sentences):
            own = made.candidates[3 * number : 3 * number + 3]
            spans = [f"{token.start}-{token.end - 1}" for token in sentence.tokens]
            parts.append(
                f'<document id="{sentence.document}"><sentence id="{sentence.id}" text={quoteattr(sentence.text)}>'
            )
            for mention in sentence.mentions:
                parts.append(
                    f'<entity id="{sentence.id}.{mention.id}" charOffset="{spans[mention.tokens[0]]}"'
                    f' text={quoteattr(mention.text)} type="protein"/>'
                )
            names = [f"{sentence.id}.{mention.id}" for mention in sentence.mentions]
            for pair, (first, second) in zip(own, ((0, 1), (0, 2), (1, 2)), strict=True):
                parts.append(
                    f'<pair id="{pair.id}" e1="{names[first]}" e2="{names[second]}" interaction="{pair.interacts}"/>'
                )
            parts.append('<sentenceanalyses><parses><parse parser="split_parse" tokenizer="split">')
            for link in sentence.dependencies:
                parts.append(f'<dependency t1="t{link.governor}" t2="t{link.dependent}" type="{link.type}"/>')
            parts.append('</parse></parses><tokenizations><tokenization tokenizer="split">')
            for place, token in enumerate(sentence.tokens):
                text, pos = quoteattr(token.text), quoteattr(token.pos)
                parts.append(f'<token id="t{place}" charOffset="{spans[place]}" text={text} POS={pos}/>')
            parts.append("</tokenization></tokenizations></sentenceanalyses></sentence></document>")
        path.write_text("\n".join([*parts, "</corpus>"]))

    return make


def ranklib(path: Path) -> None:
    weights = np.random.default_rng(9).standard_normal(12).round(3)
    path.write_text("## Coordinate Ascent\n" + " ".join(f"{k}:{value}" for k, value in enumerate(weights, 1)) + "\n")


def with_a_title(path: Path) -> None:
    """Patients below three other lines."""
    patients(3)(path)
    path.write_text("Cohort of four centres\nexported on 3 May 2019\n\n" + path.read_text(encoding="utf-8"))


def sheets(path: Path) -> None:
    """An Excel file whose second sheet has the patients."""
    from openpyxl import Workbook

    table = path.with_suffix(".sheet.csv")
    patients(3)(table)
    book = Workbook()
    book.active.append(["what the columns mean"])
    sheet = book.create_sheet("Patients")
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            sheet.append(row)
    book.save(path)


def numbers(names: bool) -> Maker:
    """A table of numbers, with or without names; y, the first column, is 0 or 1."""

    def make(path: Path) -> None:
        rng = np.random.default_rng(5)
        X = rng.standard_normal((ROWS, 5)).round(3)
        y = (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(ROWS) > 0).astype(int)
        columns = {"y": y.tolist(), **{f"a{k}": column.tolist() for k, column in enumerate(X.T)}}
        write_table(path, columns)
        if not names:
            path.write_text(path.read_text(encoding="utf-8").partition("\n")[2], encoding="utf-8")

    return make


def mixtures(path: Path) -> None:
    """The strength of some mixtures, which is not linear in their parts."""
    rng = np.random.default_rng(7)
    X = rng.gamma(2.0, size=(ROWS, 4)).round(3)
    strength = (np.log(X[:, 0]) - np.abs(X[:, 1] - 2.0) + 0.2 * rng.standard_normal(ROWS)).round(3)
    write_table(path, {**{f"part {k}": column.tolist() for k, column in enumerate(X.T)}, "strength": strength.tolist()})


def collected_votes(path: Path) -> None:
    """Let a judge compare the items of a database of `kernelrank collect`, each with the next one."""
    with VoteStore(path) as store:
        judge, names = store.judge("a secret of Ann", "Ann"), [item.name for item in store.items()]
        for number in range(len(names) - 1):
            answer = ("left", "right", "left", "tie")[number % 4]
            store.append(
                VoteRow(f"vote {number}", "vote", judge, 0, number, number + 1, answer, time="2026-01-01T12:00Z")
            )


def sentences(seed: int) -> Maker:
    def make(path: Path) -> None:
        rng = np.random.default_rng(seed)
        interacts = rng.random(200) < 0.4
        verbs = [rng.choice(["activates", "binds"] if yes else ["resembles", "lacks"]) for yes in interacts]
        shown = [f"<e1>Sig{number}</e1> often {verb} <e2>Spo{number}</e2>." for number, verb in enumerate(verbs)]
        documents = [f"d{number // 5}" for number in range(200)]
        known = np.where(interacts, "yes", "no").tolist()
        write_table(path, {"sentence": shown, "interacts": known, "document": documents})

    return make


FILES: dict[str, Maker] = {
    "concrete.csv": mixtures,
    "export.csv": with_a_title,
    "cohort.xlsx": sheets,
    "numbers.csv": numbers(names=False),
    "table.csv": numbers(names=True),
    "train.txt": letor(0),
    "test.txt": letor(1),
    "scores.txt": one_score_a_line,
    "more.txt": letor(2, 10),
    "rows.parquet": rows_of_queries,
    "train.txt.gz": compressed,
    "MQ2008/": folds,
    "OHSUMED/": folds,
    "train.csv": query_table(0),
    "test.csv": query_table(1),
    "new.csv": query_table(2),
    "baseline.txt": ranklib,
    "patients.csv": patients(0),
    "new_patients.csv": patients(1),
    "samples.csv": patients(2, repeated=True),
    "cohort.csv": patients(3),
    "data.csv": patients(4),
    "items.csv": dishes,
    "essays.csv": dishes,
    "new_items.csv": new_dishes,
    "wines.csv": wines(0),
    "new_wines.csv": wines(1),
    "votes.csv": votes(0),
    "later_votes.csv": votes(1),
    "models.csv": language_models,
    "arena.csv": arena(LANGUAGE_MODELS, 600),
    "arena.jsonl": json_arena,
    "drugs.csv": objects("D", 40, 0),
    "new_drugs.csv": objects("N", 20, 1),
    "targets.csv": objects("T", 25, 2),
    "scores.csv": affinities,
    "players.csv": objects("P", 30, 3),
    "results.csv": results,
    "corpus.xml": corpus(70, 0),
    "sentences.csv": sentences(0),
    "new_sentences.csv": sentences(1),
    "one.xml": corpus(70, 1),
    "other.xml": corpus(70, 2),
    "new.xml": corpus(70, 3),
}

FILES_OF_PAGES: dict[tuple[str, str], Maker] = {
    ("README.md", "patients.csv"): patients(0, repeated=True),
    ("files_of_other_rankers.md", "train.txt"): side_files,
    ("leaderboards.md", "votes.csv"): arena(DISHES, 1_500),
}

MODELS = (
    ("wines", "fit wines.csv --target stars --levels -o {}"),
    ("--time", "fit patients.csv --time months --event died -o {}"),
    ("items.csv", "fit items.csv --pairs votes.csv -o {}"),
    ("new_patients.csv", "fit patients.csv --target outcome -o {}"),
    ("", "fit train.txt -o {} --alpha 10"),
)


def make(name: str, page: str, folder: Path) -> None:
    """Make a file, unless it is there."""
    maker = FILES_OF_PAGES.get((page, name), FILES[name])
    if not (folder / name).exists():
        maker(folder / name)
