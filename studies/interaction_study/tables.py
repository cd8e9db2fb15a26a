"""The tables of the article: within a corpus, and from corpus to corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.estimators import AllPathsVectorizer
from kernelrank.relations import CrossValidation, RelationExtractor, evaluate_on
from kernelrank.relations.evaluation import cross_validate_kernel
from kernelrank.relations.extractor import RULES
from kernelrank.relations.features import FeatureSet, linear_kernel
from kernelrank.relations.scores import ExtractionScores, Learning
from studies.interaction_study.alphas import ALPHAS
from studies.interaction_study.corpora import Study

NO_COSINE = "article, no cosine"
LARGE = 5000
"""So many pairs are a large corpus: AIMed and BioInfer."""


def basis_of(study: Study, most: int) -> int | None:
    """Return how many pairs carry the model: all of a small corpus, some of a large one, as in the article."""
    return most if len(study.labels) > most else None


def alphas_of(study: Study) -> tuple[float, ...]:
    """Return the values of alpha to choose from; large corpora, where each takes minutes, have one."""
    return (0.5,) if len(study.labels) > LARGE else tuple(ALPHAS)


def kernel_of(study: Study, kind: str) -> np.ndarray:
    """Return the kernel matrix of some features; without the cosine, its mean diagonal is one."""
    if kind != NO_COSINE:
        one = FeatureSet.named(kind)
        return linear_kernel(one.vectorizer("max").fit_transform(one.graphs(study.corpus.candidates, None)))
    graphs = FeatureSet.named("article").graphs(study.corpus.candidates, None)
    K = linear_kernel(AllPathsVectorizer(combine="max", normalize=False).fit_transform(graphs))
    return K / np.mean(np.diag(K))


def within(study: Study, kind: str, basis: int) -> dict[str, Any]:
    """Cross-validate on every split; means in percent."""
    learning = Learning("rls", alphas_of(study), "auc", basis_of(study, basis), 0)
    K = kernel_of(study, kind)
    results = [
        cross_validate_kernel(learning, K, study.labels, study.corpus.documents, study.folds(split), kind)
        for split in study.splits
    ]
    return row_of(results)


def row_of(results: list[CrossValidation]) -> dict[str, Any]:
    """Return P, R, F and AUC: means over folds and splits, spread over splits, and intervals over documents."""
    means = [result.mean() for result in results]
    mean, within = ExtractionScores.mean(means), ExtractionScores.mean([result.deviation() for result in results])
    intervals = results[0].intervals()
    found: dict[str, Any] = {"P": 100 * mean.precision, "R": 100 * mean.recall, "splits": len(results)}
    for name, of in (("F", "f"), ("AUC", "auc")):
        values = [100 * getattr(one, of) for one in means]
        low, high = (100 * end for end in intervals[of])
        found[name] = {
            "mean": float(np.mean(values)),
            "low": low,
            "high": high,
            "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "over_folds": 100 * getattr(within, of),
        }
    return found


def across(studies: list[Study], kind: str, basis: int) -> dict[str, Any]:
    """Train on each corpus and test on each other; AUC with an interval over documents, F by thresholds, in percent."""
    found: dict[str, Any] = {}
    for train in studies:
        extractor = RelationExtractor(
            features=kind, alphas=alphas_of(train), basis=basis_of(train, basis), random_state=0
        )
        extractor.fit(train.corpus.candidates)
        for test in studies:
            if test is train:
                continue
            result = evaluate_on(extractor, test.corpus)
            f = {rule: 100 * result.measure(rule).f for rule in RULES}
            low, high = (100 * end for end in result.intervals()["auc"])
            found[f"{train.name} → {test.name}"] = {
                "AUC": {"mean": 100 * result.best().auc, "low": low, "high": high},
                "training": f["training"],
                "best": 100 * result.best().f,
                "proportion": f["proportion"],
                "calibrated": f["calibrated"],
                "all": 100 * result.all_true().f,
            }
    return found
