"""On AIMed alpha is chosen among eight values as on the small corpora, beside the one alpha of the main study.

The study of protein interactions has one alpha for the large corpora. Here alpha is chosen for AIMed as for the small
ones, in each fold by leaving out each document of its training part. ``--set corpora=AImed,BioInfer`` adds BioInfer,
which takes five times as long.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kernelrank.relations import document_folds, read_interaction_xml
from kernelrank.relations.evaluation import cross_validate_kernel
from kernelrank.relations.scores import Learning
from studies.book.sources import AIMED_SPLIT, corpus
from studies.book.study import Run
from studies.book.study import Study as BookStudy
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study, read_split
from studies.interaction_study.tables import kernel_of, row_of

ONE = (0.5,)


def protocol(run: Run) -> dict[str, Any]:
    """Cross-validate with one alpha and with a choice."""
    found: dict[str, Any] = {}
    for name in run["corpora"]:
        read = read_interaction_xml(run.data[corpus(name)])
        given = name == "AImed" and run.data.has(AIMED_SPLIT)
        split = read_split(run.data[AIMED_SPLIT].parent) if given else document_folds(read.documents, 10, run.seed)
        study = Study(name, read, [split])
        for kind in run["kinds"]:
            K = kernel_of(study, kind)
            rows = found.setdefault(name, {}).setdefault(kind, {})
            for label, alphas in (("one", ONE), ("chosen", tuple(ALPHAS))):
                learning = Learning("rls", alphas, "auc", None, 0)
                folds = study.folds(split)
                result = cross_validate_kernel(learning, K, study.labels, read.documents, folds, kind)
                chosen = Counter(f"{choice.alpha:g}" for choice in result.choices)
                rows[label] = {**row_of([result]), "alphas": dict(chosen)}
    return {"corpora": found}


STUDY = BookStudy(
    protocol,
    data=(corpus("AImed"),),
    settings={"corpora": (("AImed",), ("LLL",)), "kinds": (("article",), ("article",))},
)
