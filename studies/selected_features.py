"""Few features rank nearly as well as all, and a selection looks better where it was made than on new items.

Microarrays: two classes, some thousand genes, logarithms of what is at least 1, columns scaled anew in every training
set. `GreedyRankRLS` by leave-pair-out; ten-fold cross-validation around the selection, repeated; how often each gene is
selected from halves. OHSUMED: 106 queries, 25 features, scaled inside each query to 0 to 1; the selection by
leave-query-out, and ten folds of queries around it. Beside both: RankRLSCV on all features, held out in the same way.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.data import read_items
from studies.book.data_folder import MissingDataError
from studies.book.picture import legend_above, picture
from studies.book.sources import MICROARRAYS, OHSUMED
from studies.book.study import Run, Study
from studies.ohsumed import read_part

SHOWN = (1, 2, 3, 5, 10, 15, 20)
NAMES = {"golub": "leukaemia", "alon": "colon", "singh": "prostate"}
THRESHOLDS = (0.9, 0.75, 0.6)


def curve_rows(curve: kr.model_selection.SelectionCurve) -> list[dict[str, Any]]:
    """Return the curve at some numbers of features."""
    wanted = sorted({k for k in (*SHOWN, curve.best) if k <= len(curve.nested)})
    columns = {"where_selected": curve.inside, "mean": curve.nested, "low": curve.low, "high": curve.high}
    return [{"k": k, **{name: float(values[k - 1]) for name, values in columns.items()}} for k in wanted]


def array_study(path: Path, run: Run) -> dict[str, Any]:
    """Select genes."""
    items = read_items(str(path), target="class")
    X, y = np.log2(np.maximum(items.X, 1.0)), items.y
    estimator = make_pipeline(StandardScaler(), kr.GreedyRankRLS(run["features"], alpha=float(len(y))))
    start = time.process_time()
    curve = kr.selection_curve(estimator, X, y, n_repeats=run["repeats"], random_state=run.seed)
    selections = time.process_time() - start
    everything = make_pipeline(StandardScaler(), kr.RankRLSCV())
    all_genes = kr.estimate_auc(everything, X, y, method="averaged", random_state=run.seed).auc
    start = time.process_time()
    stability = kr.selection_stability(estimator, X, y, n_subsamples=run["halves"], random_state=run.seed)
    return {
        "samples": X.shape[0],
        "genes": X.shape[1],
        "curve": curve_rows(curve),
        "all": all_genes,
        "most_frequent": float(stability.frequency[0]),
        "stable": [
            {"share": share, "genes": len(stability.stable(share)), "false": stability.expected_false(share)}
            for share in THRESHOLDS
        ],
        "selection_seconds": selections,
        "stability_seconds": time.process_time() - start,
    }


def document_study(folder: Path, run: Run) -> dict[str, Any]:
    """Select features of documents: the three parts of the first fold are all queries."""
    parts = [read_part(folder / "Fold1" / f"{name}.txt") for name in ("train", "vali", "test")]
    X, y, qid = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    estimator = kr.GreedyRankRLS(min(run["features"], X.shape[1]), alpha="auto")
    curve = kr.selection_curve(estimator, X, y, qid=qid, random_state=run.seed)
    held = np.empty(len(y))
    for train, test in kr.QueryKFold(10, shuffle=True, random_state=run.seed).split(X, y, groups=qid):
        held[test] = kr.RankRLSCV().fit(X[train], y[train], qid=qid[train]).predict(X[test])
    few = kr.GreedyRankRLS(5, alpha="auto")
    stability = kr.selection_stability(few, X, y, qid=qid, n_subsamples=run["halves"], random_state=run.seed)
    frequent = zip(stability.features[:8], stability.frequency[:8], strict=True)
    return {
        "queries": len(np.unique(qid)),
        "documents": len(y),
        "features": X.shape[1],
        "curve": curve_rows(curve),
        "all": kr.metrics.pairwise_accuracy(y, held, qid=qid),
        "order": [int(feature) + 1 for feature in curve.features[:10]],
        "frequent": [{"feature": int(feature) + 1, "share": float(share)} for feature, share in frequent],
    }


def protocol(run: Run) -> dict[str, Any]:
    """Run what there are data for."""
    tables: dict[str, Any] = {"arrays": {}, "documents": None}
    for name, source in MICROARRAYS.items():
        if run.data.has(source):
            tables["arrays"][NAMES[name]] = array_study(run.data[source], run)
        else:
            run.skipped.append(f"{source.name}: get it from {source.where}")
    if run.data.has(OHSUMED):
        tables["documents"] = document_study(run.data[OHSUMED], run)
    else:
        run.skipped.append(f"{OHSUMED.name}: get it from {OHSUMED.where}")
    if not tables["arrays"] and tables["documents"] is None:
        raise MissingDataError("; ".join(run.skipped))
    return tables


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw both curves of each microarray."""
    arrays = tables["arrays"]
    if not arrays:
        return
    with picture(folder / "selected_features.svg", 5.6, 2.2 * len(arrays) + 0.6) as figure:
        axes = figure.subplots(len(arrays), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for ax, (name, table) in zip(axes, arrays.items(), strict=True):
            k = [row["k"] for row in table["curve"]]
            ax.plot(k, [row["where_selected"] for row in table["curve"]], marker="o", label="where selected")
            ax.plot(k, [row["mean"] for row in table["curve"]], marker="o", label="nested")
            ax.fill_between(
                k, *([row[end] for row in table["curve"]] for end in ("low", "high")), alpha=0.2, color="C1"
            )
            ax.set(title=name, ylabel="AUC")
        axes[-1].set_xlabel("genes")
        axes[-1].set_xticks([1, *range(5, max(k) + 1, 5)])
        legend_above(figure, axes[0])


STUDY = Study(
    protocol,
    settings={"features": (20, 10), "repeats": (3, 1), "halves": (100, 10)},
    draw=draw,
)
