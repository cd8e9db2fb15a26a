"""What a user would pick instead: gradient boosting beside RankRLS and RankSVM, with the same tuning effort.

XGBoost, LightGBM and CatBoost with their ranking losses, RankRLS and RankSVM, linear and with a Gaussian kernel on a
basis. Each has twelve candidates, of which the best by NDCG@10 on the choosing part is tested. Sets: OHSUMED, or the
folds of any LETOR folder (``--set folder=PATH``), and two generated ones: scores that are linear in the features, and
scores that are not. Five folds of queries: three parts train, one chooses, one tests. CPU seconds, one thread: all
candidates together, and the chosen one alone. Figures are over all test queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.metrics import get_measure
from studies.book.cell import resampled_cell
from studies.book.picture import picture
from studies.book.sources import OHSUMED
from studies.book.study import Run, Study
from studies.ohsumed import Part, read_folds

MEASURES = ("ndcg@10", "map", "pairwise_accuracy")
ALPHAS = 10.0 ** -np.arange(1, 9, 8 / 12)  # a pair
FEW_ALPHAS = 10.0 ** -np.arange(3, 7.0)
GAMMAS = (0.03, 0.1, 0.3)  # times 1 / number of features
RATES, DEPTHS, TREES = (0.03, 0.1, 0.3), (3, 6), (30, 100)
SEARCH = get_measure("ndcg@10")

Predict = Callable[[np.ndarray], np.ndarray]
Candidates = Iterator[tuple[Predict, float]]
"""Models, each with the CPU seconds that its training took."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def n_pairs(y: np.ndarray, qid: np.ndarray) -> float:
    """Return how many pairs a hinge compares, which is what alpha is measured by."""
    return float(kr.RankSVM(1e12).fit(np.zeros((len(y), 1)), y, qid=qid).n_pairs_)


def squares(part: Part, alphas: np.ndarray, **options: Any) -> Candidates:
    X, y, qid = part
    for alpha in alphas * n_pairs(y, qid):
        model, seconds = timed(lambda alpha=alpha: kr.RankRLS(alpha, **options).fit(X, y, qid=qid))
        yield model.predict, seconds


def hinge(part: Part, alphas: np.ndarray, **options: Any) -> Candidates:
    X, y, qid = part
    for alpha in alphas * n_pairs(y, qid):
        model, seconds = timed(lambda alpha=alpha: kr.RankSVM(alpha, tol=0.01, **options).fit(X, y, qid=qid))
        yield model.predict, seconds


def gaussian(learner: Callable[..., Candidates], part: Part, basis: int) -> Candidates:
    for gamma in GAMMAS:
        options = {"kernel": "rbf", "gamma": gamma / part[0].shape[1], "basis": basis, "random_state": 0}
        yield from learner(part, FEW_ALPHAS, **options)


def xgboost_trees(part: Part, package: Any) -> Candidates:
    X, y, qid = part
    for rate in RATES:
        for depth in DEPTHS:
            for trees in TREES:
                model = package.XGBRanker(
                    objective="rank:ndcg", learning_rate=rate, max_depth=depth, n_estimators=trees, n_jobs=1, seed=0
                )
                _, seconds = timed(lambda model=model: model.fit(X, y.astype(int), qid=qid))
                yield model.predict, seconds


def lightgbm_trees(part: Part, package: Any) -> Candidates:
    X, y, qid = part
    sizes = np.unique(qid, return_counts=True)[1]
    for rate in RATES:
        for depth in DEPTHS:
            for trees in TREES:
                model = package.LGBMRanker(
                    learning_rate=rate, num_leaves=2**depth - 1, max_depth=depth, n_estimators=trees, n_jobs=1,
                    verbose=-1, random_state=0,
                )  # fmt: skip
                _, seconds = timed(lambda model=model: model.fit(X, y.astype(int), group=sizes))
                yield model.predict, seconds


def catboost_trees(part: Part, package: Any) -> Candidates:
    X, y, qid = part
    for rate in RATES:
        for depth in DEPTHS:
            for trees in TREES:
                model = package.CatBoostRanker(
                    loss_function="QueryRMSE", learning_rate=rate, depth=depth, iterations=trees, thread_count=1,
                    verbose=False, random_seed=0, allow_writing_files=False,
                )  # fmt: skip
                _, seconds = timed(lambda model=model: model.fit(X, y, group_id=qid))
                yield model.predict, seconds


def learners(run: Run) -> dict[str, Callable[[Part], Candidates]]:
    """Return the learners that are installed, by name."""
    basis = run["basis"]
    found: dict[str, Callable[[Part], Candidates]] = {
        "RankRLS, linear": lambda part: squares(part, ALPHAS),
        "RankSVM, linear": lambda part: hinge(part, ALPHAS),
        "RankRLS, Gaussian": lambda part: gaussian(squares, part, basis),
        "RankSVM, Gaussian": lambda part: gaussian(hinge, part, basis),
    }
    for name, package, trees in (
        ("XGBoost, rank:ndcg", "xgboost", xgboost_trees),
        ("LightGBM, lambdarank", "lightgbm", lightgbm_trees),
        ("CatBoost, QueryRMSE", "catboost", catboost_trees),
    ):
        module = run.package(package)
        if module is not None:
            found[name] = lambda part, trees=trees, module=module: trees(part, module)
    return found


def generated(n_queries: int, linear: bool, seed: int) -> list[tuple[Part, Part, Part]]:
    """Draw queries of 40 items with relevance levels 0 to 4, and deal them into five folds."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 40)
    X = rng.standard_normal((len(qid), 20)) + rng.standard_normal((n_queries, 20))[qid] / 2
    if linear:
        merit = X[:, 0] + X[:, 1] / 2 - X[:, 2] / 2 + rng.standard_normal(len(X))
    else:
        merit = X[:, 0] + np.tanh(2 * X[:, 1]) + X[:, 2] * X[:, 3] + np.abs(X[:, 4]) + rng.standard_normal(len(X)) / 2
    y = np.digitize(merit, np.quantile(merit, [0.5, 0.75, 0.9, 0.97])).astype(float)
    folds = []
    for fold in range(5):
        place = (qid + fold) % 5
        rows = (place < 3, place == 3, place == 4)
        folds.append(tuple((X[part], y[part], qid[part]) for part in rows))
    return folds


def in_order(part: Part) -> Part:
    """Return the items with their queries in ascending order, as gradient boosting expects them."""
    order = np.argsort(part[2], kind="stable")
    return part[0][order], part[1][order], part[2][order]


def compare(folds: list[tuple[Part, Part, Part]], run: Run) -> dict[str, Any]:
    """Tune and test every learner on every fold."""
    values: dict[str, dict[str, list[np.ndarray]]] = {}
    seconds: dict[str, list[tuple[float, float]]] = {}
    for train, vali, test in ([in_order(part) for part in fold] for fold in folds):
        for name, candidates in learners(run).items():
            best, total, chosen, model = -np.inf, 0.0, 0.0, None
            for predict, spent in candidates(train):
                total += spent
                score = SEARCH(vali[1], predict(vali[0]), qid=vali[2]).mean
                if score > best:
                    best, chosen, model = score, spent, predict
            assert model is not None
            scores = model(test[0])
            seconds.setdefault(name, []).append((total, chosen))
            for measure in MEASURES:
                found = get_measure(measure)(test[1], scores, qid=test[2]).values
                values.setdefault(name, {}).setdefault(measure, []).append(found)
    reference = {measure: np.concatenate(values["RankRLS, linear"][measure]) for measure in MEASURES}
    rows = {}
    for name, by_measure in values.items():
        joined = {measure: np.concatenate(parts) for measure, parts in by_measure.items()}
        rows[name] = {
            **{measure: resampled_cell(found, run.seed) for measure, found in joined.items()},
            "beside": resampled_cell(joined["ndcg@10"] - reference["ndcg@10"], run.seed),
            "all_candidates": float(np.sum([one[0] for one in seconds[name]])),
            "chosen_one": float(np.mean([one[1] for one in seconds[name]])),
        }
    sizes = [len(part[1]) for part in folds[0]]
    return {"documents": sum(sizes), "train": sizes[0], "features": folds[0][0][0].shape[1], "rows": rows}


def protocol(run: Run) -> dict[str, Any]:
    """Compare on OHSUMED, or another LETOR folder, and on the generated sets."""
    tables: dict[str, Any] = {}
    if run["folder"]:
        tables[Path(run["folder"]).name] = compare(read_folds(Path(run["folder"]))[: run["folds"]], run)
    elif run.data.has(OHSUMED):
        tables["OHSUMED"] = compare(read_folds(run.data[OHSUMED])[: run["folds"]], run)
    else:
        run.skipped.append(f"{OHSUMED.name}: get it from {OHSUMED.where}")
    for name, linear in (("generated, linear", True), ("generated, not linear", False)):
        tables[name] = compare(generated(run["queries"], linear, run.seed)[: run["folds"]], run)
    run.skipped[:] = list(dict.fromkeys(run.skipped))
    return {"sets": tables, "candidates": len(ALPHAS)}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the differences in NDCG to linear RankRLS, with intervals."""
    sets = tables["sets"]
    with picture(folder / "what_a_user_would_pick.svg", 6.4, 2.4 * len(sets)) as figure:
        for number, (name, table) in enumerate(sets.items()):
            ax = figure.add_subplot(len(sets), 1, number + 1)
            names = list(table["rows"])[::-1]
            cells = [table["rows"][one]["beside"] for one in names]
            means = np.array([cell["mean"] for cell in cells])
            reach = [means - [c["low"] for c in cells], [c["high"] for c in cells] - means]
            ax.errorbar(means, range(len(names)), xerr=reach, fmt="o")
            ax.axvline(0, color="black", linewidth=0.8)
            ax.set_yticks(range(len(names)), names)
            ax.set(title=name)
        ax.set_xlabel("NDCG@10 beside linear RankRLS")


STUDY = Study(
    protocol,
    settings={"folds": (5, 1), "queries": (300, 60), "basis": (500, 100), "folder": ("", "")},
    draw=draw,
)
