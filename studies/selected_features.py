"""Few features rank nearly as well as all, and a selection looks better where it was made than on new items.

Run: python -m studies run selected_features --data FOLDER [--features 20] [--repeats 10] [--halves 100]

FOLDER holds ``microarray/microarray_{alon,golub,singh}.csv`` and ``letor/OHSUMED_letor2/Fold1`` to ``Fold5``; what is
missing is left out. Tables may be compressed (``.csv.xz``), OHSUMED may be packed (``letor/ohsumed.tar.xz``).

Microarrays: two classes, some thousand genes, logarithms of what is at least 1, columns scaled anew in every training
set. `GreedyRankRLS` by leave-pair-out; ten-fold cross-validation around the selection, repeated; how often each gene is
selected from halves. OHSUMED: 106 queries, 25 features, scaled inside each query to 0 to 1; the selection by
leave-query-out, and ten folds of queries around it. Beside both: RankRLSCV on all features, held out in the same way.
"""

from __future__ import annotations

import argparse
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.data import read_items

ARRAYS = ("golub", "alon", "singh")
SHOWN = (1, 2, 3, 5, 10, 15, 20)


def find_table(folder: Path, name: str) -> Path | None:
    for suffix in (".csv", ".csv.xz"):
        path = folder / "microarray" / f"microarray_{name}{suffix}"
        if path.is_file():
            return path
    return None


def print_curve(curve: kr.model_selection.SelectionCurve) -> None:
    print(f"  {curve.measure}; {curve.held_out}")
    print("  features   where selected   nested   95 % interval")
    for k in sorted({k for k in (*SHOWN, curve.best) if k <= len(curve.nested)}):
        at = k - 1
        ends = f"{curve.low[at]:.3f} to {curve.high[at]:.3f}"
        print(f"  {k:>8}   {curve.inside[at]:>14.3f}   {curve.nested[at]:>6.3f}   {ends}")


def timed(run: Callable[[], object]) -> tuple[object, float]:
    start = time.process_time()
    return run(), time.process_time() - start


def array_study(path: Path, n_features: int, repeats: int, halves: int) -> None:
    items = read_items(str(path), target="class")
    X, y = np.log2(np.maximum(items.X, 1.0)), items.y
    print(f"\n{path.name.partition('.')[0]}: {X.shape[0]} samples, {X.shape[1]:,} genes, {int(y.sum())} of one class")
    estimator = make_pipeline(StandardScaler(), kr.GreedyRankRLS(n_features, alpha=float(len(y))))
    curve, seconds = timed(lambda: kr.selection_curve(estimator, X, y, n_repeats=repeats, random_state=0))
    print_curve(curve)
    print(f"  {seconds:.0f} CPU s for {10 * repeats} selections")
    everything = make_pipeline(StandardScaler(), kr.RankRLSCV())
    found = kr.estimate_auc(everything, X, y, method="averaged", random_state=0)
    print(f"  all {X.shape[1]:,} genes, RankRLSCV, ten folds once: {found.auc:.3f}")
    stability, seconds = timed(lambda: kr.selection_stability(estimator, X, y, n_subsamples=halves, random_state=0))
    for threshold in (0.9, 0.75, 0.6):
        number, false = len(stability.stable(threshold)), stability.expected_false(threshold)
        print(f"  selected by {100 * threshold:.0f} % of {halves} halves: {number}, expected false at most {false:.2g}")
    frequent = zip(stability.features[:5], stability.frequency[:5], strict=True)
    names = items.column_names
    print("  most frequent: " + ", ".join(f"{names[f] if names else f} {100 * share:.0f} %" for f, share in frequent))
    print(f"  {seconds:.0f} CPU s")


def documents(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read the three parts of the first fold, which are all queries, scaled inside each query."""
    parts = [read_items(str(folder / "Fold1" / f"{part}.txt")) for part in ("train", "vali", "test")]
    X = np.concatenate([np.asarray(part.X.todense() if hasattr(part.X, "todense") else part.X) for part in parts])
    y, qid = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "qid"))
    for query in np.unique(qid):
        rows = qid == query
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        X[rows] = (X[rows] - low) / np.where(high > low, high - low, 1.0)
    return X, y, qid


def document_study(folder: Path, n_features: int, halves: int) -> None:
    X, y, qid = documents(folder)
    print(f"\nOHSUMED: {len(np.unique(qid))} queries, {len(y):,} documents, {X.shape[1]} features")
    estimator = kr.GreedyRankRLS(min(n_features, X.shape[1]), alpha="auto")
    curve, seconds = timed(lambda: kr.selection_curve(estimator, X, y, qid=qid, random_state=0))
    print_curve(curve)
    print("  in the order of their selection: " + ", ".join(str(feature + 1) for feature in curve.features[:10]))
    print(f"  {seconds:.0f} CPU s")
    held = np.empty(len(y))
    for train, test in kr.QueryKFold(10, shuffle=True, random_state=0).split(X, y, groups=qid):
        held[test] = kr.RankRLSCV().fit(X[train], y[train], qid=qid[train]).predict(X[test])
    print(f"  all features, RankRLSCV, ten folds: {kr.metrics.pairwise_accuracy(y, held, qid=qid):.3f}")
    few = kr.GreedyRankRLS(5, alpha="auto")
    stability = kr.selection_stability(few, X, y, qid=qid, n_subsamples=halves, random_state=0)
    frequent = zip(stability.features[:8], stability.frequency[:8], strict=True)
    print("  among the first five: " + ", ".join(f"{f + 1} {100 * share:.0f} %" for f, share in frequent))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--halves", type=int, default=100)
    arguments = parser.parse_args()
    found = [path for path in (find_table(arguments.data, name) for name in ARRAYS) if path is not None]
    folder, packed = arguments.data / "letor" / "OHSUMED_letor2", arguments.data / "letor" / "ohsumed.tar.xz"
    if not found and not folder.is_dir() and not packed.is_file():
        raise SystemExit(f"Expected microarray/ or letor/ in {arguments.data}; found neither.")
    with threadpool_limits(1):
        if folder.is_dir():
            document_study(folder, arguments.features, arguments.halves)
        elif packed.is_file():
            with tempfile.TemporaryDirectory() as place:
                with tarfile.open(packed) as archive:
                    archive.extractall(place, filter="data")
                inside = next(Path(place).rglob("Fold1")).parent
                document_study(inside, arguments.features, arguments.halves)
        for path in found:
            array_study(path, arguments.features, arguments.repeats, arguments.halves)
