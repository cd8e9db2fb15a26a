"""Learning curves of five corpora of protein interactions, and why the AUC across corpora is above the article's.

Figure 3 of [APBPGS08]: half of the documents are set aside to test on; the others are added in random order, and the
AUC is measured each time the number of training pairs has doubled. At each size alpha is chosen by leaving out each
training document. Means over several random halves, below `most` pairs.

The second table asks why the AUC across corpora is above the article's (`studies.protein_interactions`), for the
corpora that are small enough to train on in seconds: vectors of the length one or as they are, which the article does
not say, and the maximum or the sum over walks, between which the article and its errata differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelrank.estimators import AllPathsVectorizer
from kernelrank.exact_cv.nested import NestedHoldout
from kernelrank.metrics import PairwiseAccuracy
from kernelrank.relations import Corpus, document_folds, read_interaction_xml
from kernelrank.relations.features import FeatureSet
from studies.book.data_folder import MissingDataError
from studies.book.picture import picture
from studies.book.sources import corpus
from studies.book.study import Run, Study
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.published import CORPORA, TABLES_2_TO_5

FIRST = 20
"""The number of training pairs that a curve begins with, about."""
SMALL = 1000
"""Corpora with fewer pairs are trained on in the second table."""
WAYS = (("max", True), ("max", False), ("sum", True), ("sum", False))


def way_name(combine: str, normalize: bool) -> str:
    """Return the name of a column."""
    return f"{combine}, {'length one' if normalize else 'as they are'}"


def read(run: Run) -> dict[str, Corpus]:
    """Read the corpora that are there."""
    found = {}
    for name in run["corpora"]:
        source = corpus(name)
        if run.data.has(source):
            found[name] = read_interaction_xml(run.data[source])
        else:
            run.skipped.append(f"{source.name}: get it from {source.where}")
    if not found:
        raise MissingDataError("; ".join(run.skipped))
    return found


def vectors(kind: str, corpora: list[Corpus]) -> list[Any]:
    """Return the vectors of the pairs of some corpora; labels that the first does not have are left out."""
    one = FeatureSet.named(kind)
    return transformed(one.vectorizer("max"), [one.graphs(each.candidates, None) for each in corpora])


def transformed(vectorizer: Any, graphs: list[Any]) -> list[Any]:
    """Return vectors whose squared length is one on average over the first graphs."""
    vectorizer.fit(graphs[0])
    found = [sparse.csr_array(vectorizer.transform(each)) for each in graphs]
    length = float(np.sqrt((found[0] ** 2).sum() / found[0].shape[0]))
    return [each / length for each in found]


def learnt(X: Any, labels: np.ndarray, documents: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the alpha with the best AUC by leaving out each document, and the weights of the model."""
    K, y = (X @ X.T).toarray(), np.where(labels, 1.0, -1.0)
    best = (-1.0, 0.0, np.empty(0))
    for alpha in ALPHAS:
        model = NestedHoldout(K, y, documents.tolist(), alpha)
        inside = auc(labels, model.leave_group_out())
        if inside > best[0]:
            best = (inside, alpha, np.asarray(X.T @ model.dual_coef))
    return best[1], best[2]


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the AUC."""
    return float(PairwiseAccuracy()(labels.astype(float), scores).mean)


def curve(X: Any, each: Corpus, seed: int, most: int) -> list[dict[str, float]]:
    """Return the number of training pairs, the AUC and alpha, each time that number has doubled."""
    labels, documents = each.labels, np.array(each.documents)
    fold = document_folds(each.documents, 2, random_state=seed)
    folds = np.array([fold[name] for name in documents])
    tested = np.flatnonzero(folds == 0)
    order = np.random.default_rng(seed).permutation(sorted(name for name in fold if fold[name] == 1))
    counts = np.cumsum([np.count_nonzero(documents == name) for name in order])
    found, size = [], FIRST
    while size < min(counts[-1], most):
        train = np.flatnonzero(np.isin(documents, order[: 1 + int(np.searchsorted(counts, size))]))
        if 1 < labels[train].sum() < len(train) - 1:
            alpha, w = learnt(X[train], labels[train], documents[train])
            score = 100 * auc(labels[tested], X[tested] @ w)
            found.append({"about": size, "pairs": len(train), "AUC": score, "alpha": alpha})
        size *= 2
    return found


def mean_curve(curves: list[list[dict[str, float]]]) -> list[dict[str, float]]:
    """Return the means over the halves at each size that all of them reach, and the standard deviation of the AUC."""
    points = [point for one in curves for point in one]
    found = []
    for about in sorted({point["about"] for point in points}):
        same = [point for point in points if point["about"] == about]
        if len(same) < len(curves):
            continue
        values = [point["AUC"] for point in same]
        found.append(
            {
                "pairs": float(np.mean([point["pairs"] for point in same])),
                "AUC": float(np.mean(values)),
                "sd": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
                "alpha": float(np.exp(np.mean(np.log([point["alpha"] for point in same])))),
            }
        )
    return found


def protocol(run: Run) -> dict[str, Any]:
    """Draw the curves, and train on small corpora for the others."""
    corpora = read(run)
    curves: dict[str, Any] = {name: {} for name in corpora}
    for name, each in corpora.items():
        for kind in ("article", "parts"):
            (X,) = vectors(kind, [each])
            halves = [curve(X, each, run.seed + repeat, run["most"]) for repeat in range(run["halves"])]
            curves[name][kind] = mean_curve(halves)
    crossed = {}
    for name, each in corpora.items():
        if len(each.labels) >= SMALL:
            continue
        others = {other: corpora[other] for other in corpora if other != name}
        graphs = [FeatureSet.named("article").graphs(one.candidates, None) for one in (each, *others.values())]
        for combine, normalize in WAYS:
            X, *tests = transformed(AllPathsVectorizer(combine=combine, normalize=normalize), graphs)
            _, w = learnt(X, each.labels, np.array(each.documents))
            for (other, tested), Z in zip(others.items(), tests, strict=True):
                row = crossed.setdefault(f"{name} → {other}", {})
                row[way_name(combine, normalize)] = 100 * auc(tested.labels, Z @ w)
    return {"curves": curves, "across": crossed}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the curves, as the article has them: the number of pairs on a logarithmic scale."""
    with picture(folder / "interaction_curves.svg", 8.0, 3.8) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, kind in zip(axes, ("article", "parts"), strict=True):
            for name, kinds in tables["curves"].items():
                points = kinds[kind]
                ax.semilogx(
                    [point["pairs"] for point in points], [point["AUC"] for point in points], marker="o", label=name
                )
            ticks = (25, 50, 100, 200, 400, 800)
            ax.set(title=kind, xlabel="training pairs")
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.set_xticks([], minor=True)
            ax.grid(alpha=0.3)
        axes[0].set_ylabel("AUC, %")
        axes[1].legend()


STUDY = Study(
    protocol,
    settings={
        "corpora": (CORPORA, ("HPRD50", "IEPA", "LLL")),
        "halves": (3, 1),
        "most": (1000, 160),
    },
    published={
        "across": {f"{train} → {test}": row[0] for (train, test), row in TABLES_2_TO_5.items()},
    },
    draw=draw,
)
