"""How far a figure depends on the split."""

from __future__ import annotations

from kernelrank.relations.evaluation import cross_validate_kernel
from kernelrank.relations.scores import Learning, measure
from studies.interaction_study.corpora import Study, splits_without_chance
from studies.interaction_study.layout import percent
from studies.interaction_study.variants import Kernels


def show_splits(study: Study, kernels: Kernels, alphas: tuple[float, ...]) -> None:
    """Print means over folds, and of all folds together with scores compared across folds, for each kind."""
    learning = Learning("rls", alphas, "auc", None, 0)
    head = "".join(f"{name:>7}" for name in ("AUC", "F", "AUC*", "F*"))
    print(f"  {study.name:<30}{head:<30}{head}".rstrip() + "   * all folds together; article, then parts")
    for name, split in splits_without_chance(study):
        cells = ""
        for kind in ("article", "parts"):
            K, folds = kernels[study.name, kind], study.folds(split)
            result = cross_validate_kernel(learning, K, study.labels, study.corpus.documents, folds)
            together = measure(result.labels, result.scores, result.decisions())
            rule = "training" if kind == "article" else "calibrated"
            cells += percent(result.mean().auc, result.mean(rule).f, together.auc, result.pooled(rule).f) + "  "
        print(f"    {name:<28}{cells}", flush=True)
