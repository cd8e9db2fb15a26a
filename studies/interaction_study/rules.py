"""Rules for the threshold, judged inside training parts."""

from __future__ import annotations

import numpy as np

from kernelrank.relations import document_folds
from kernelrank.relations.evaluation import cross_validate_kernel
from kernelrank.relations.extractor import RULES
from kernelrank.relations.scores import Learning
from studies.interaction_study.corpora import Study
from studies.interaction_study.layout import percent
from studies.interaction_study.variants import Kernels, Variant, kernel_of

N_PARTS, N_PARTS_LARGE = 20, 4
"""Rules are judged in the training parts of so many folds, of corpora with few and with thousands of pairs."""


def rules_inside(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Cross-validate training parts as if each were all there is: what may be looked at to choose a rule."""
    learning = Learning("rls", alphas, "auc", None, 0)
    documents = np.array(study.corpus.documents)
    n_parts = N_PARTS if len(study.labels) < 2000 else N_PARTS_LARGE
    parts = [study.folds(split) != fold for split in study.splits for fold in range(10)][:n_parts]
    halves = kernel_of(study, Variant("halves", {"features": "dependencies+order"}))
    kinds = (("article", kernels[study.name, "article"]), ("halves", halves), ("parts", kernels[study.name, "parts"]))
    print(f"  {'corpus, features (parts)':<26}{'AUC':>7}" + "".join(f"{rule[:6]:>7}" for rule in RULES[:-1]))
    for kind, K in kinds:
        found = []
        for number, part in enumerate(parts):
            inside = document_folds(documents[part].tolist(), 10, random_state=1000 + number // 10)
            folds = np.array([inside[name] for name in documents[part]])
            inner = K[np.ix_(part, part)]
            result = cross_validate_kernel(learning, inner, study.labels[part], documents[part].tolist(), folds)
            # Without "proportion", which looks at the labels of what it decides on.
            found.append([result.mean().auc, *(result.mean(rule).f for rule in RULES[:-1])])
        name = f"{study.name}, {kind} ({len(parts)})"
        print(f"  {name:<26}{percent(*np.mean(found, axis=0))}", flush=True)
