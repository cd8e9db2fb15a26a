"""Cross-validation on a reduced set, with held-out basis items removed, costs little more than one decomposition.

Tables 1 and 2 of [APS11] at the published sizes: 9,856 items in 598 queries of at most twenty, and one to four basis
items of each query, which makes bases of 598, 1,181, 1,742 and 2,297 items. A query is left out at a time (Table 1), or
a tenth of the queries (Table 2). "Efficient" is one call of `leave_query_out` or `holdout`: it contains the
decomposition, the removal of basis items, the training and the held-out scores. The baseline maps and trains anew in
every round: all ten rounds of Table 2 are run, and a few of Table 1, whose mean is multiplied by the number of queries.
RankRLS, Gaussian kernel, CPU seconds on one thread. Both ways must give the same scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.features import ReducedSet
from kernelrank.kernels import Kernel
from kernelrank.solvers import Spectral
from studies.book.picture import legend_above, picture
from studies.book.study import Run, Study

GAMMA, COLUMNS = 0.05, 20
ALPHAS = 10.0 ** np.arange(-9, 10)
SMALL = {1: 15, 2: 22, 3: 6}
"""So many queries have fewer than four items: the sizes of the published bases follow from it."""

# [APS11] Tables 1 and 2, CPU seconds by basis items a query; sentences as many as basis items with one each.
PUBLISHED = {
    "items": 9856,
    "queries": 598,
    "basis": (598, 1181, 1742, 2297),
    "decomposition": (6, 28, 63, 123),
    "one query": {"efficient": (532, 1193, 1864, 2679), "baseline": (3639, 16648, 38373, 73375)},
    "ten folds": {"efficient": (33, 112, 234, 408), "baseline": (49, 226, 512, 937)},
}


def query_sizes(n_queries: int, n_items: int) -> np.ndarray:
    """Return how many items each query has: a few have fewer than four, the others about the same number."""
    small = np.repeat(list(SMALL), [count * n_queries // PUBLISHED["queries"] for count in SMALL.values()])
    rest = n_queries - len(small)
    sizes = np.full(rest, (n_items - small.sum()) // rest)
    sizes[: n_items - small.sum() - sizes.sum()] += 1
    return np.concatenate([sizes, small])


@dataclass(frozen=True)
class Items:
    """Queries of similar items, as parses of a sentence are."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    folds: list[np.ndarray]

    @classmethod
    def draw(cls, n_queries: int, n_items: int, seed: int) -> Items:
        """Draw them, and deal the queries into ten folds."""
        rng = np.random.default_rng(seed)
        qid = np.repeat(np.arange(n_queries), query_sizes(n_queries, n_items))
        X = rng.standard_normal((n_queries, COLUMNS))[qid] + 0.3 * rng.standard_normal((len(qid), COLUMNS))
        y = np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(len(qid))
        fold = rng.permutation(np.arange(n_queries) % 10)[qid]
        return cls(X, y, qid, [np.flatnonzero(fold == number) for number in range(10)])

    def basis(self, per_query: int) -> np.ndarray:
        """Return the first items of each query."""
        first = np.searchsorted(self.qid, self.qid)
        return np.flatnonzero(np.arange(len(self.qid)) - first < per_query)

    def refitted(self, model: Any, basis: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        """Map, train and score anew without some items."""
        rest = np.setdiff1d(np.arange(len(self.y)), held_out)
        left = np.searchsorted(rest, np.setdiff1d(basis, held_out))
        model = kr.RankRLS(model.alpha, kernel="rbf", gamma=GAMMA, basis=left, solver=model.solver)
        return np.asarray(model.fit(self.X[rest], self.y[rest], qid=self.qid[rest]).predict(self.X[held_out]))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds, and what the work returns."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure(items: Items, per_query: int, rounds: int) -> dict[str, Any]:
    """Time one size of the basis."""
    X, y, qid = items.X, items.y, items.qid
    basis = items.basis(per_query)
    model = kr.RankRLS(1.0, kernel="rbf", gamma=GAMMA, basis=basis)
    graph = ScoredQueries(y[:, None], Queries.from_labels(qid, len(y)))
    decomposition, _ = timed(lambda: Spectral().prepare(ReducedSet(Kernel("rbf", gamma=GAMMA), X, basis), graph))
    one_query, left_out = timed(lambda: kr.leave_query_out(model, X, y, qid))
    every_alpha, _ = timed(lambda: kr.leave_query_out(model, X, y, qid, alphas=ALPHAS))
    ten_folds, held_out = timed(lambda: kr.holdout(model, X, y, items.folds, qid=qid))
    some = np.unique(qid)[:: len(np.unique(qid)) // rounds][:rounds]
    rows = [np.flatnonzero(qid == query) for query in some]
    few, scores = timed(lambda: [items.refitted(model, basis, row) for row in rows])
    ten, again = timed(lambda: [items.refitted(model, basis, fold) for fold in items.folds])
    apart = max(
        max(float(np.abs(one - left_out[row]).max()) for one, row in zip(scores, rows, strict=True)),
        max(float(np.abs(one - other).max()) for one, other in zip(again, held_out, strict=True)),
    )
    return {
        "basis": len(basis),
        "decomposition": decomposition,
        "one query": {
            "efficient": one_query,
            "every_alpha": every_alpha,
            "baseline": few / len(rows) * len(np.unique(qid)),
        },
        "ten folds": {"efficient": ten_folds, "baseline": ten},
        "apart": apart / float(np.ptp(left_out)),
    }


def protocol(run: Run) -> dict[str, Any]:
    """Time every size."""
    warm = Items.draw(60, 600, run.seed)
    measure(warm, 1, 1)  # compile first
    items = Items.draw(run["queries"], run["items"], run.seed)
    rows = [measure(items, per_query, run["rounds"]) for per_query in run["per_query"]]
    return {"rows": rows, "alphas": len(ALPHAS), "apart": max(row["apart"] for row in rows)}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw both tables as multiples of the decomposition, beside the paper's."""
    with picture(folder / "reduced_set_cross_validation_times.svg", 7.2, 3.8) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, name, title in zip(axes, ("one query", "ten folds"), ("one query left out", "ten folds"), strict=True):
            for colour, way in enumerate(("baseline", "efficient")):
                ours = [row[name][way] / row["decomposition"] for row in tables["rows"]]
                ax.loglog(
                    [row["basis"] for row in tables["rows"]], ours, "o-", color=f"C{colour}", label=f"{way}, here"
                )
                theirs = np.divide(PUBLISHED[name][way], PUBLISHED["decomposition"])
                ax.loglog(PUBLISHED["basis"], theirs, "x--", color=f"C{colour}", label=f"{way}, published")
            ax.set(xlabel="basis items", title=title)
            ax.set_xticks(PUBLISHED["basis"], [str(size) for size in PUBLISHED["basis"]])
            ax.minorticks_off()
        axes[0].set_ylabel("CPU time, decompositions")
        legend_above(figure, axes[0], columns=2)


STUDY = Study(
    protocol,
    settings={
        "queries": (PUBLISHED["queries"], 100),
        "items": (PUBLISHED["items"], 1648),
        "per_query": ((1, 2, 3, 4), (1, 2)),
        "rounds": (3, 1),
    },
    published=PUBLISHED,
    draw=draw,
)
