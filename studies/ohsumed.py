"""OHSUMED: RankRLS, RLS and RankSVM on LETOR's documents, beside the tables of two papers.

Tables 1 to 3 of [PTABS07], and the first column of Table 3 of [PTAJB09]. Five folds: three parts train, one chooses
alpha, one tests. Every column is scaled to 0 to 1 inside its query. For RankRLS the choice is also whether tied pairs
count. MAP takes levels 1 and 2 for relevant; NDCG is LETOR's. For the disagreement alpha is chosen by the disagreement.
Then the same by the command line, as a user would: ``kernelrank tune`` on the folder of folds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.data import read_items
from kernelrank.metrics import NDCG, Disagreement, MeanAveragePrecision, Measure, Precision
from studies.book.cell import resampled_cell
from studies.book.picture import picture
from studies.book.sources import OHSUMED
from studies.book.study import Run, Study

Part = tuple[np.ndarray, np.ndarray, np.ndarray]
MAP = MeanAveragePrecision(relevant_from=1, empty="zero")
PLACES = tuple(range(1, 11))
MEASURES: dict[str, Measure] = {
    "MAP": MAP,
    "MAP, level 2 alone": MeanAveragePrecision(relevant_from=2, empty="zero"),
    **{f"NDCG@{k}": NDCG(k, discount="letor", empty="zero") for k in PLACES},
    **{f"P@{k}": Precision(k=k, relevant_from=1, empty="zero") for k in PLACES},
}
SQUARES_ALPHAS = 2.0 ** np.arange(-15, 16)
HINGE_ALPHAS = 2.0 ** np.arange(-5, 18)
HINGE_TOL = 1e-8
"""So tight that the choice of alpha does not depend on where the minimisation stops."""

# [PTABS07] Tables 1, 2 and 3; [PTAJB09] Table 3.
PUBLISHED = {
    "MAP": {"RankRLS": 0.447, "RLS": 0.450, "RankSVM": 0.447, "RankBoost": 0.440},
    "NDCG": {
        "RankRLS": (0.549, 0.492, 0.477, 0.465, 0.453, 0.450, 0.451, 0.447, 0.447, 0.443),
        "RLS": (0.527, 0.499, 0.491, 0.474, 0.461, 0.454, 0.459, 0.460, 0.458, 0.452),
        "RankSVM": (0.495, 0.476, 0.465, 0.459, 0.458, 0.455, 0.447, 0.445, 0.443, 0.441),
    },
    "P": {
        "RankRLS": (0.644, 0.614, 0.586, 0.570, 0.557, 0.546, 0.534, 0.524, 0.516, 0.505),
        "RLS": (0.635, 0.615, 0.602, 0.580, 0.560, 0.541, 0.545, 0.539, 0.525, 0.510),
        "RankSVM": (0.634, 0.619, 0.592, 0.579, 0.577, 0.558, 0.536, 0.525, 0.517, 0.507),
    },
    "disagreement": {
        "RankRLS": 0.340,
        "RankRLS, all pairs": 0.346,
        "RLS": 0.346,
        "RankSVM": 0.336,
        "RankBoost": 0.351,
    },
}


def read_part(path: Path) -> Part:
    """Read a file, its columns scaled to 0 to 1 inside each query."""
    items = read_items(str(path))
    X = np.asarray(items.X.todense() if hasattr(items.X, "todense") else items.X)
    return scaled_inside(X, items.qid), items.y, np.asarray(items.qid)


def scaled_inside(X: np.ndarray, qid: Any) -> np.ndarray:
    """Scale the columns of each query to 0 to 1; a constant column becomes 0."""
    _, query = np.unique(np.asarray(qid), return_inverse=True)
    low, high = np.full((query.max() + 1, X.shape[1]), np.inf), np.full((query.max() + 1, X.shape[1]), -np.inf)
    np.minimum.at(low, query, X)
    np.maximum.at(high, query, X)
    return (X - low[query]) / np.where(high > low, high - low, 1.0)[query]


def read_folds(folder: Path) -> list[tuple[Part, Part, Part]]:
    """Read training, choosing and test part of each fold."""
    names = ("train", "vali", "test")
    return [tuple(read_part(fold / f"{name}.txt") for name in names) for fold in sorted(folder.glob("Fold*"))]


def candidates(method: str, train: Part, levels: str) -> list[Any]:
    """Train one model for each alpha, and for RankRLS with and without tied pairs."""
    X, y, qid = train
    if levels == "bipartite":
        y = (y > 1).astype(float)
    if method == "RLS":
        return kr.RLS().fit_path(X, y, SQUARES_ALPHAS)
    if method == "RankSVM":
        return kr.RankSVM(tol=HINGE_TOL).fit_path(X, y, HINGE_ALPHAS, qid=qid)
    if method == "RankRLS, all pairs":
        return kr.RankRLS().fit_path(X, y, SQUARES_ALPHAS * 1024)
    paths = [kr.RankRLS(ties=ties).fit_path(X, y, SQUARES_ALPHAS, qid=qid) for ties in ("include", "exclude")]
    return [model for path in paths for model in path]


def tested(
    folds: list[tuple[Part, Part, Part]], method: str, by: Measure, levels: str
) -> list[tuple[Part, np.ndarray]]:
    """Return the test part of each fold with its predicted scores, alpha chosen by a measure of the choosing part."""
    found = []
    sign = 1 if by.higher_is_better else -1
    for train, vali, test in folds:
        truth = vali[1] if levels == "graded" else (vali[1] > 1).astype(float)
        models = candidates(method, train, levels)
        best = max(models, key=lambda model: sign * by(truth, model.predict(vali[0]), qid=vali[2]).mean)
        found.append((test, best.predict(test[0])))
    return found


def measured(
    parts: list[tuple[Part, np.ndarray]], measure: Measure, seed: int, levels: str = "graded"
) -> dict[str, Any]:
    """Return the mean over folds, and an interval of the mean over all test queries."""
    results = []
    for (_, y, qid), scores in parts:
        results.append(measure(y if levels == "graded" else (y > 1).astype(float), scores, qid=qid))
    values = np.concatenate([one.values for one in results])
    return resampled_cell(values, seed, mean=float(np.mean([one.mean for one in results])))


def by_command(folder: Path, method: str) -> dict[str, float]:
    """Run ``kernelrank tune`` on the folder of folds; return the mean MAP of the test sets, with its interval."""
    options = ["--method", method, "--scale", "query", "--measure", "map", "--relevant-from", "1", "--empty", "zero"]
    call = [sys.executable, "-c", "from kernelrank.cli import main; main()", "tune", str(folder), *options, "--json"]
    found = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    together = found["test_measures"][0]
    return {"mean": found["mean"], "low": together["low"], "high": together["high"]}


def protocol(run: Run) -> dict[str, Any]:
    """Measure all methods by all measures."""
    folds = read_folds(run.data[OHSUMED])
    retrieval = {}
    for method in ("RankRLS", "RLS", "RankSVM"):
        parts = tested(folds, method, MAP, "graded")
        retrieval[method] = {name: measured(parts, measure, run.seed) for name, measure in MEASURES.items()}
    errors: dict[str, Any] = {}
    for levels in ("bipartite", "graded"):
        errors[levels] = {}
        for method in ("RankRLS", "RankRLS, all pairs", "RLS", "RankSVM"):
            parts = tested(folds, method, Disagreement(), levels)
            errors[levels][method] = measured(parts, Disagreement(), run.seed, levels)
    rows = sum(len(part[1]) for part in folds[0])
    queries = sum(len(np.unique(part[2])) for part in folds[0])
    return {
        "documents": rows,
        "queries": queries,
        "features": folds[0][0][0].shape[1],
        "folds": len(folds),
        "retrieval": retrieval,
        "disagreement": errors,
        "by_command": {
            name: by_command(run.data[OHSUMED], name.lower())
            for name in ("RankRLS", "RLS", "RankSVM")[: run["commands"]]
        },
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw NDCG by place, ours and the published one."""
    with picture(folder / "ohsumed.svg", 7.2, 3.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, method in zip(axes, ("RankRLS", "RLS"), strict=True):
            cells = [tables["retrieval"][method][f"NDCG@{k}"] for k in PLACES]
            ax.plot(PLACES, [cell["mean"] for cell in cells], marker="o", label="here")
            ax.fill_between(PLACES, [c["low"] for c in cells], [c["high"] for c in cells], alpha=0.2)
            ax.plot(PLACES, PUBLISHED["NDCG"][method], marker="x", linestyle="--", label="published")
            ax.set(title=method, xlabel="places", xticks=PLACES)
        axes[0].set_ylabel("NDCG, as in LETOR")
        axes[1].legend()


STUDY = Study(protocol, data=(OHSUMED,), settings={"commands": (3, 1)}, published=PUBLISHED, draw=draw)
