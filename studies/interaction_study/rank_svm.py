"""RankSVM on the same features; it has no shortcut, so that alpha and threshold are chosen by three folds inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelrank.estimators import RankSVM
from kernelrank.relations import CrossValidation, document_folds
from kernelrank.relations.extractor import choose
from kernelrank.relations.scores import Learning, measure
from studies.interaction_study.corpora import Study


def rank_svm(study: Study, X: Any, split: dict[str, int], alphas: tuple[float, ...]) -> CrossValidation:
    """Cross-validate RankSVM, its alpha and threshold by three folds of documents inside."""
    labels, documents, folds = study.labels, np.array(study.corpus.documents), study.folds(split)
    y = labels.astype(float)
    scores, choices = np.empty(len(y)), []
    for fold in range(int(folds.max()) + 1):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        inside = document_folds(documents[train].tolist(), 3)
        parts = np.array([inside[name] for name in documents[train]])
        held_out = np.empty((len(alphas), len(train)))
        for part in range(3):
            fit, left = train[parts != part], np.flatnonzero(parts == part)
            for place, alpha in enumerate(alphas):
                model = RankSVM(alpha, tol=1e-2).fit(X[fit], y[fit])
                held_out[place, left] = centred(model, X, fit)(X[train[left]])
        aucs = [measure(labels[train], row, labels[train], parts).auc for row in held_out]
        place = int(np.argmax(aucs))
        learning = Learning("rankrls", (alphas[place],), "auc", None, None)
        choice = choose(learning, labels[train], documents[train].tolist(), held_out[place : place + 1], "RankSVM")
        # Three models made these scores, so that only those of one are compared.
        choices.append(replace(choice, value=aucs[place], inner=replace(choice.inner, auc=aucs[place])))
        scores[test] = centred(RankSVM(alphas[place], tol=1e-2).fit(X[train], y[train]), X, train)(X[test])
    return CrossValidation(labels, scores, folds, documents.tolist(), choices)


def centred(model: RankSVM, X: Any, train: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return what scores by a ranker from its mean on the training items: the thresholds of models are then alike."""
    constant = float(np.mean(model.predict(X[train])))
    return lambda rows: np.asarray(model.predict(rows) - constant)
