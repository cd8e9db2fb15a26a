"""Protein interactions by the all-paths graph kernel, within a corpus and from corpus to corpus.

Tables 1 to 5 of [APBPGS08], on any of its five corpora (``--set corpora=LLL,IEPA``). AIMed has a split by document that
is given; the documents of the others are dealt at random into ten folds, several times. All is nested: alpha and the
threshold of each fold are chosen by leaving out each document of its training part. Features: "article" is the graph
of the article with one norm; "parts" the default, where dependencies, path and order count the same; "article, no
cosine" the graph of the article without a norm. Corpora with more pairs than `basis` have a reduced set of so many;
none has, unless it is asked for, since the exact shortcuts are faster here. AIMed and BioInfer have one alpha, 0.5.

What helps beyond the article, rules for the threshold, splits without chance and learning curves are recorded as text
for the small corpora; ``--set explored=AImed`` adds a large one, which takes half an hour.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelrank.relations import document_folds, read_interaction_xml
from kernelrank.relations.extractor import RULES
from kernelrank.relations.features import linear_kernel
from studies.book.data_folder import MissingDataError
from studies.book.picture import picture
from studies.book.sources import AIMED_SPLIT, corpus
from studies.book.study import Run
from studies.book.study import Study as BookStudy
from studies.interaction_study.corpora import Study, read_split, with_lemmas
from studies.interaction_study.learning_curves import figure_3
from studies.interaction_study.published import CORPORA, TABLE_1, TABLES_2_TO_5
from studies.interaction_study.rules import rules_inside
from studies.interaction_study.splits import show_splits
from studies.interaction_study.tables import NO_COSINE, across, alphas_of, within
from studies.interaction_study.variants import VARIANTS, Kernels, features_of, kernel_of
from studies.interaction_study.what_helps import order_weight_inside, what_helps

PUBLISHED = {
    "within": {
        name: dict(zip(("P", "R", "F", "sd_F", "AUC", "sd_AUC", "P_all", "F_all"), row[2:], strict=True))
        for name, row in TABLE_1.items()
    },
    "across": {
        f"{train} → {test}": dict(zip(("AUC", "training", "best", "proportion"), row, strict=True))
        for (train, test), row in TABLES_2_TO_5.items()
    },
}


def read(run: Run) -> list[Study]:
    """Read the corpora that are there, each with its splits."""
    found = []
    for name in run["corpora"]:
        source = corpus(name)
        if not run.data.has(source):
            run.skipped.append(f"{source.name}: get it from {source.where}")
            continue
        read_corpus = read_interaction_xml(run.data[source])
        if name == "AImed" and run.data.has(AIMED_SPLIT):
            splits = [read_split(run.data[AIMED_SPLIT].parent)]
        else:
            seeds = range(run.seed, run.seed + (run["splits"] if len(read_corpus.candidates) < 2000 else 1))
            splits = [document_folds(read_corpus.documents, 10, random_state=seed) for seed in seeds]
        found.append(Study(name, read_corpus, splits))
    if not found:
        raise MissingDataError("; ".join(run.skipped))
    return found


def captured(work: Callable[[], None]) -> str:
    """Return what some work prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        work()
    return printed.getvalue().strip("\n")


def printed(studies: list[Study]) -> dict[str, str]:
    """Print what was tried beside the article."""
    if not studies:
        return {}
    studies = [Study(study.name, with_lemmas(study.corpus), study.splits) for study in studies]
    kernels: Kernels = {}
    for study in studies:
        kernels[study.name, "article"] = kernel_of(study, VARIANTS[0])
        kernels[study.name, "parts"] = linear_kernel(features_of(study))
    alphas = {study.name: alphas_of(study) for study in studies}
    texts = {}
    for title, show in (
        ("Rules for the threshold", rules_inside),
        ("Splits without chance", show_splits),
        ("The order weight", order_weight_inside),
        ("What helps", what_helps),
    ):
        texts[title] = "\n".join(
            captured(lambda show=show, study=study: show(study, kernels, alphas[study.name])) for study in studies
        )
    texts["Learning curves"] = captured(lambda: figure_3(studies, kernels, None))
    return texts


def protocol(run: Run) -> dict[str, Any]:
    """Make the tables."""
    studies = read(run)
    counts = {
        study.name: {"positive": study.corpus.n_positive, "negative": study.corpus.n_negative} for study in studies
    }
    inside = {
        study.name: {kind: within(study, kind, run["basis"]) for kind in run["kinds"]}
        for study in studies
        if study.name in run["within"]
    }
    crossed = {kind: across(studies, kind, run["basis"]) for kind in run["kinds"] if kind != NO_COSINE}
    texts = printed([study for study in studies if study.name in run["explored"]])
    return {"counts": counts, "within": inside, "across": crossed, "printed": texts, "rules": list(RULES)}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the AUC from corpus to corpus beside the article's."""
    with picture(folder / "protein_interactions.svg", 5.4, 5) as figure:
        ax = figure.subplots()
        for kind, cells in tables["across"].items():
            ax.plot(
                [PUBLISHED["across"][name]["AUC"] for name in cells],
                [cell["AUC"]["mean"] for cell in cells.values()],
                "o",
                label=kind,
            )
        ax.axline((60, 60), (90, 90), color="black", linewidth=0.8)
        ax.set(xlabel="AUC in the article, %", ylabel="AUC here, %", title="From corpus to corpus")
        ax.legend()


STUDY = BookStudy(
    protocol,
    settings={
        "corpora": (CORPORA, ("HPRD50", "IEPA", "LLL")),
        "within": (CORPORA, ("HPRD50", "IEPA", "LLL")),
        "kinds": (("article", "parts", NO_COSINE), ("article", "parts")),
        "splits": (20, 1),
        "basis": (20_000, 20_000),
        "explored": (("HPRD50", "IEPA", "LLL"), ()),
    },
    published=PUBLISHED,
    draw=draw,
)
