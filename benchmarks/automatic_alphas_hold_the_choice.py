"""Claim: the alpha that is chosen lies inside the grid of ``alphas="auto"``, whatever the size and scale of the data.

* LETOR's folds, such as OHSUMED (``--data OHSUMED/``, not part of this repository): queries left out, by pairwise
  accuracy and by NDCG@10, with every pair or every query counting the same. Printed are the scale, the alpha that was
  chosen, the same beside the scale, and the range that was tried, all as powers of two; then the hold-out score, that
  of the grid that was the default once, 2⁻¹⁵ to 2¹⁵, and that of 2⁻⁴⁰ to 2³⁰ times the scale.
* Generated data of several sizes, scaled by 10⁻³ to 10³: the same columns.

On the five folds of OHSUMED all twenty choices lie inside. They are 2⁻²³ to 2⁻⁴ beside the scale, 2¹⁰ to 2²¹ where
every pair counts the same, and their scores are within 0.006 of those of the widest grid.

    python benchmarks/automatic_alphas_hold_the_choice.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kernelrank.data import letor_folds, make_ranking, read_ranking
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.model_selection import RankRLSCV
from kernelrank.model_selection.alpha_grid import grid_for

FIXED = 2.0 ** np.arange(-15, 16)
WIDE = 2.0 ** np.arange(-40, 31)


def generated() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    for n_queries, n_items, size in ((20, 10, 1.0), (200, 40, 1.0), (200, 40, 1e3), (20, 10, 1e-3)):
        X, y, qid = make_ranking(n_queries=n_queries, n_items=n_items, n_features=20, noise=2.0, random_state=0)
        yield f"{n_queries} × {n_items} × {size:g}", (size * X, y, qid)


def row(X: np.ndarray, y: np.ndarray, qid: np.ndarray, **options: str) -> str:
    scale = grid_for(RankRLSCV(**options), X, "auto", qid=qid).scale
    assert scale is not None
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EdgeOfGridWarning)
        model = RankRLSCV(**options).fit(X, y, qid=qid)
    seconds = time.perf_counter() - start
    edge = "edge" if any(issubclass(one.category, EdgeOfGridWarning) for one in caught) else "inside"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        fixed = RankRLSCV(FIXED, **options).fit(X, y, qid=qid)
        best = RankRLSCV(scale * WIDE, **options).fit(X, y, qid=qid)
    low, high = np.log2(model.alphas_[[0, -1]] / scale)
    return (
        f"{np.log2(scale):7.1f}{np.log2(model.alpha_):8.1f}{np.log2(model.alpha_ / scale):8.1f}{low:6.0f}:{high:<4.0f}"
        f"{edge:>7}{model.best_score_:9.4f}{fixed.best_score_:9.4f}{best.best_score_:9.4f}{seconds:8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of LETOR's folds")
    options = parser.parse_args()
    print(
        f"{'':<34}{'scale':>7}{'alpha':>8}{'beside':>8}{'tried':>10}{'':>8}{'auto':>9}{'fixed':>9}{'widest':>9}{'seconds':>8}"
    )
    data = list(generated())
    if options.data is not None:
        for fold in letor_folds(options.data):
            ranking = read_ranking(fold.train)
            data.append((f"{options.data.name} {fold.name}", (ranking.X, ranking.y, ranking.qid)))
    for name, (X, y, qid) in data:
        for scoring in ("pairwise_accuracy", "ndcg@10"):
            for query_weight in ("pairs", "queries"):
                grades = np.digitize(y, np.quantile(y, [0.5, 0.8])) if scoring == "ndcg@10" and name[0].isdigit() else y
                cells = row(X, grades, qid, scoring=scoring, query_weight=query_weight)
                print(f"{name[-14:]:<15}{scoring[:8]:<10}{query_weight:<9}{cells}")


if __name__ == "__main__":
    main()
