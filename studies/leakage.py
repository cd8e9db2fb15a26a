"""Splitting what belongs together over folds makes a model look better than it is.

The thesis (section 5.5) and [APBPGS08] warn of pairs of one document in training and in test data. Here the same data
are held out three ways: protein interactions by pairs, sentences and documents; OHSUMED by documents and by queries;
and generated patients, without any signal, by samples and by patients. The model is the same each time, and what is
held out is as many tenths of the data: only what stays together differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kernelrank import RLS, RankRLS, holdout, metrics
from kernelrank.data import read_items
from kernelrank.metrics.roc import Components
from kernelrank.relations import read_interaction_xml
from kernelrank.relations.features import linear_kernel
from studies.book.cell import spread_cell
from studies.book.picture import picture
from studies.book.sources import OHSUMED, corpus
from studies.book.study import Run, Study
from studies.interaction_study.corpora import Study as CorpusStudy
from studies.interaction_study.variants import features_of

FOLDS = 10
ALPHA = 0.5  # of the large corpora in the study of protein interactions


def deal(labels: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return folds of items: items with the same label stay together."""
    distinct, codes = np.unique(labels, return_inverse=True)
    fold = (rng.permutation(len(distinct)) % FOLDS)[codes]
    return [found for found in (np.flatnonzero(fold == number) for number in range(FOLDS)) if len(found)]


def fold_auc(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the AUC of a fold; NaN without both classes."""
    if positive.all() or not positive.any():
        return float("nan")
    return Components.of_scores(scores[positive], scores[~positive]).auc


def mean_aucs(
    learner: Any, X: np.ndarray, positive: np.ndarray, units: dict[str, np.ndarray], splits: int, seed: int
) -> dict[str, Any]:
    """Return the mean AUC of the folds for each unit that stays together, with its deviation over splits."""
    y, found = np.where(positive, 1.0, -1.0), {}
    for name, labels in units.items():
        rng = np.random.default_rng(seed)
        values = []
        for _ in range(splits):
            folds = deal(labels, rng)
            scores = holdout(learner, X, y, folds)
            values.append(np.nanmean([fold_auc(positive[fold], one) for fold, one in zip(folds, scores, strict=True)]))
        found[name] = spread_cell(values)
    return found


def interactions(run: Run, name: str) -> dict[str, Any]:
    """Hold out pairs, sentences and documents of a corpus."""
    study = CorpusStudy(name, read_interaction_xml(run.data[corpus(name)]), [])
    candidates = study.corpus.candidates
    sentence = {id(one): number for number, one in enumerate(study.corpus.sentences)}
    units = {
        "pairs": np.arange(len(candidates)),
        "sentences": np.array([sentence[id(one.sentence)] for one in candidates]),
        "documents": np.array(study.corpus.documents),
    }
    K = linear_kernel(features_of(study))
    found = mean_aucs(RLS(ALPHA, kernel="precomputed"), K, study.labels, units, run["splits"], run.seed)
    return {"pairs": len(candidates), "documents": len(set(study.corpus.documents)), "auc": found}


def search_data(run: Run) -> dict[str, Any]:
    """Hold out documents and queries of OHSUMED; the measure compares documents of one query and one fold."""
    folder = next(run.data[OHSUMED].rglob("Fold1"))
    parts = [read_items(folder / f"{name}.txt") for name in ("train", "vali", "test")]
    X, y = np.vstack([part.X.toarray() if hasattr(part.X, "toarray") else part.X for part in parts]), parts[0].y
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate([part.qid for part in parts])
    units = {"documents": np.arange(len(y)), "queries": qid}
    learners = {
        "linear kernel": RankRLS(1000.0),
        "Gaussian kernel": RankRLS(10.0, kernel="rbf", gamma="scale", basis=run["basis"], random_state=0),
    }
    found: dict[str, Any] = {}
    for kernel, learner in learners.items():
        for name, labels in units.items():
            values = []
            for fold in deal(labels, np.random.default_rng(run.seed)):
                kept = np.setdiff1d(np.arange(len(y)), fold)
                scores = learner.fit(X[kept], y[kept], qid=qid[kept]).predict(X[fold])
                values.append(metrics.PairwiseAccuracy()(y[fold], scores, qid=qid[fold]).mean)
            found.setdefault(kernel, {})[name] = spread_cell(values)
    return {"documents": len(y), "queries": len(np.unique(qid)), "accuracy": found}


def patients(run: Run) -> dict[str, Any]:
    """Hold out samples and patients of noise: five samples of a patient are alike, and the label is a coin."""
    n, each, features = 40, 5, 10
    found: dict[str, dict[str, list[float]]] = {}
    for repeat in range(run["repeats"]):
        rng = np.random.default_rng([run.seed, repeat])
        patient = np.repeat(np.arange(n), each)
        X = rng.standard_normal((n, features))[patient] + 0.5 * rng.standard_normal((n * each, features))
        positive = rng.permutation(np.arange(n) < n // 2)[patient]
        units = {"samples": np.arange(n * each), "patients": patient}
        for kernel in ("linear", "rbf"):
            cells = mean_aucs(RLS(1.0, kernel=kernel), X, positive, units, 1, run.seed)
            for name, cell in cells.items():
                found.setdefault(kernel, {}).setdefault(name, []).append(cell["mean"])
    auc = {kernel: {name: spread_cell(values) for name, values in cells.items()} for kernel, cells in found.items()}
    return {"patients": n, "samples": n * each, "auc": auc}


def protocol(run: Run) -> dict[str, Any]:
    """Make the three tables."""
    return {
        "corpora": {name: interactions(run, name) for name in run["corpora"]},
        "search": search_data(run),
        "noise": patients(run),
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw what each way to hold out says."""
    groups = [(name, cells["auc"]) for name, cells in tables["corpora"].items()]
    names = {"linear": "linear kernel", "rbf": "Gaussian kernel"}
    groups += [(f"patients, noise,\n{names[kernel]}", cells) for kernel, cells in tables["noise"]["auc"].items()]
    groups += [(f"OHSUMED,\n{kernel}", cells) for kernel, cells in tables["search"]["accuracy"].items()]
    with picture(folder / "leakage.svg", 6.8, 0.7 + 0.55 * len(groups)) as figure:
        ax = figure.subplots()
        for place, (_, cells) in enumerate(groups):
            values = [cell["mean"] for cell in cells.values()]
            ax.plot(values, [place] * len(values), color="0.7", zorder=1)
            for name, value in zip(cells, values, strict=True):
                whole = name in ("documents", "queries", "patients") and name == list(cells)[-1]
                middle = name == "sentences"
                colour = "C0" if whole else "C2" if middle else "C3"
                label = (
                    "all that belongs together" if whole else "the pairs of a sentence" if middle else "single items"
                )
                ax.scatter([value], [place], color=colour, zorder=2, label=label)
        ax.axvline(0.5, color="black", linewidth=0.8)
        ax.set_yticks(range(len(groups)), [title for title, _ in groups])
        ax.invert_yaxis()
        ax.set(xlabel="AUC, or pairs in order", title="What stays together in a fold")
        handles, labels = ax.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        figure.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=3, frameon=False)


STUDY = Study(
    protocol,
    data=(OHSUMED, *(corpus(name) for name in ("HPRD50", "IEPA", "LLL"))),
    settings={
        "corpora": (("HPRD50", "IEPA", "LLL"), ("LLL",)),
        "splits": (20, 2),
        "basis": (500, 50),
        "repeats": (100, 5),
    },
    draw=draw,
)
