"""Figure 3 of the article: AUC by the number of training pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernelrank.exact_cv.nested import NestedHoldout
from kernelrank.relations.scores import measure
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study
from studies.interaction_study.variants import Kernels


def learning_curve(study: Study, K: np.ndarray) -> list[tuple[int, float]]:
    """Half of the documents to test on; the others are added one after the other, as in figure 3."""
    names = list(dict.fromkeys(study.corpus.documents))
    folds = study.folds(study.splits[0])
    test = np.flatnonzero(folds < 5)
    documents = np.array(study.corpus.documents)
    order = np.random.default_rng(0).permutation([name for name in names if study.splits[0][name] >= 5])
    curve = []
    size = 20
    labels = study.labels
    while True:
        chosen, count = [], 0
        for name in order:
            if count >= size:
                break
            chosen.append(name)
            count += int((documents == name).sum())
        train = np.flatnonzero(np.isin(documents, chosen))
        if 0 < labels[train].sum() < len(train):
            curve.append((len(train), trained_auc(K, labels, documents, train, test)))
        if len(chosen) == len(order):
            return curve
        size *= 2


def trained_auc(K: np.ndarray, labels: np.ndarray, documents: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    y = np.where(labels, 1.0, -1.0)
    best, found = -1.0, 0.5
    for alpha in ALPHAS:
        model = NestedHoldout(K[np.ix_(train, train)], y[train], documents[train].tolist(), alpha)
        inside = measure(labels[train], model.leave_group_out(), labels[train]).auc
        if inside > best:
            best = inside
            scores = K[np.ix_(test, train)] @ model.dual_coef
            found = measure(labels[test], scores, labels[test]).auc
    return found


def figure_3(studies: list[Study], kernels: Kernels, path: Path | None) -> None:
    print("\nFigure 3: AUC by the number of training pairs, half of the documents tested on")
    curves = {
        f"{study.name}, {kind}": learning_curve(study, kernels[study.name, kind])
        for study in studies
        for kind in ("parts", "article")
    }
    for name, curve in curves.items():
        print(f"  {name:<16}" + "  ".join(f"{size}: {100 * auc:.1f}" for size, auc in curve))
    if path is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, curve in curves.items():
        axes.semilogx(*zip(*[(size, 100 * auc) for size, auc in curve], strict=True), marker="o", label=name)
    axes.set_xlabel("training pairs")
    axes.set_ylabel("AUC, %")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"  drawn in {path}")
