"""On small tables of mixed columns, a kernel that is chosen ranks as well as boosted trees.

Linear and Gaussian RankRLS, ``kernel="auto"`` and a learnt metric stand beside LightGBM, XGBoost, CatBoost, a random
forest, kernel ridge and support vector machines, on twelve public tables, microarrays, censored times, and queries.
Every method is tuned by the same folds of the training items, and by the same measure: the share of pairs in the right
order, which is the AUC of two classes and the concordance of times. Boosted trees have ``candidates`` settings: the
defaults of the package, and others drawn at random; their objective is that of the task: squared errors for numbers,
the log-loss for classes, Cox's likelihood for times, a ranking loss for queries. A random forest has four candidates.

Train sizes, splits and candidates are settings: ``--set sizes=100,500,2000,100000 splits=5 other_splits=5 candidates=20
query_folds=5 microarrays=yes`` takes hours. At most half of a table is trained on, and with more than 1,000 columns
boosted trees have their defaults alone. Every cell that is finished is kept in ``build/studies/tables.jsonl``, so that
a run goes on where the last one stopped; delete the file after a change of the library.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import kernelrank as kr
from kernelrank.metrics import concordance, get_measure
from studies.book.picture import picture
from studies.book.sources import MICROARRAYS, OHSUMED, SURVIVAL, TABLES, Source
from studies.book.study import Run, Study
from studies.ohsumed import read_folds
from studies.survival import read as read_survival
from studies.what_a_user_would_pick import generated, in_order

KEPT = Path(__file__).parents[1] / "build" / "studies" / "tables.jsonl"
MOST_TESTED = 2000
FEW = 3000  # from so many training items on, the learners have a basis
PEERS = ("LightGBM", "XGBoost", "CatBoost")
Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Part:
    """Items of a split. Classes are 0 and 1; times are structured arrays with events."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None

    def __getitem__(self, rows: np.ndarray) -> Part:
        """Return some of the items."""
        return Part(self.X[rows], self.y[rows], None if self.qid is None else self.qid[rows])

    @property
    def kind(self) -> str:
        """What is predicted: queries, times, classes or numbers."""
        if self.qid is not None:
            return "queries"
        if self.y.dtype.names:
            return "times"
        return "classes" if len(np.unique(self.y)) == 2 else "numbers"

    def folds(self, n_folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds that every method is tuned by."""
        if self.qid is not None:
            return list(GroupKFold(n_folds).split(self.X, groups=self.qid))
        classes = self.kind == "classes"
        splitter = (StratifiedKFold if classes else KFold)(n_folds, shuffle=True, random_state=0)
        return list(splitter.split(self.X, self.y if classes else None))


def value(part: Part, scores: np.ndarray) -> float:
    """Return the share of pairs in the right order; NDCG@10 for queries."""
    if part.kind == "times":
        return float(concordance(part.y, scores))
    measure = get_measure("ndcg@10" if part.kind == "queries" else "pairwise_accuracy")
    return float(measure(part.y, scores, qid=part.qid).mean)


# Methods --------------------------------------------------------------------------------------------------------------


def kernels(part: Part, folds: list[tuple[np.ndarray, np.ndarray]], seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the learners of kernelrank, which are tuned by `fit`."""
    options: dict[str, Any] = {"cv": folds, "random_state": seed, "missing": "error"}
    if part.kind == "queries":
        options["scoring"] = "ndcg@10"
    basis = {"basis": min(1000, len(part.y))} if len(part.y) > FEW else {}
    gammas = [{"gamma": [factor / part.X.shape[1]]} for factor in (1 / 18, 1 / 6, 1 / 2, 3 / 2, 9 / 2)]
    yield "linear", kr.RankRLSCV(metric="variance", **options)
    yield "Gaussian", kr.RankRLSCV(kernel="rbf", metric="variance", kernel_grid=gammas, **basis, **options)
    yield "auto", kr.RankRLSCV(kernel="auto", **basis, **options)
    yield "learnt metric", kr.MetricRankRLSCV(**{**options, "cv": len(folds)})  # samples where there are many items


def drawn(number: int, seed: int) -> dict[str, float]:
    """Return the settings of a candidate of boosted trees; none for the first, which has the defaults."""
    random = np.random.default_rng([seed, number])
    rate, trees = float(np.exp(random.uniform(np.log(0.02), np.log(0.3)))), int(np.exp(random.uniform(4.0, 6.2)))
    return {"rate": rate, "trees": trees, "depth": int(random.integers(2, 8)), "share": float(random.uniform(0.5, 1))}


def lightgbm_trees(package: Any, part: Part, number: int, seed: int) -> Predict | None:
    """Train LightGBM; it has no objective for censored times."""
    options: dict[str, Any] = {"verbose": -1, "n_jobs": 1, "random_state": 0}
    if number:
        one = drawn(number, seed)
        options |= {"learning_rate": one["rate"], "n_estimators": one["trees"], "num_leaves": 2 ** int(one["depth"])}
        options |= {"min_child_samples": (20, 5)[number % 2], "colsample_bytree": one["share"]}
    if part.kind == "times":
        return None
    if part.kind == "queries":
        sizes = np.unique(part.qid, return_counts=True)[1]
        return package.LGBMRanker(**options).fit(part.X, part.y.astype(int), group=sizes).predict
    if part.kind == "classes":
        model = package.LGBMClassifier(**options).fit(part.X, part.y)
        return lambda X: model.predict_proba(X)[:, 1]
    return package.LGBMRegressor(**options).fit(part.X, part.y).predict


def xgboost_trees(package: Any, part: Part, number: int, seed: int) -> Predict:
    """Train XGBoost; censored times are negative for its Cox objective, which predicts risks."""
    options: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
    if number:
        one = drawn(number, seed)
        options |= {"learning_rate": one["rate"], "n_estimators": one["trees"], "max_depth": one["depth"]}
        options |= {"subsample": one["share"], "colsample_bytree": one["share"]}
    if part.kind == "queries":
        model = package.XGBRanker(objective="rank:ndcg", **options)
        return model.fit(part.X, part.y.astype(int), qid=part.qid).predict
    if part.kind == "times":
        event, times = (part.y[name] for name in part.y.dtype.names)
        if event.dtype != bool:
            event, times = times, event
        model = package.XGBRegressor(objective="survival:cox", **options).fit(part.X, np.where(event, times, -times))
        return lambda X: -model.predict(X)
    if part.kind == "classes":
        model = package.XGBClassifier(**options).fit(part.X, part.y.astype(int))
        return lambda X: model.predict_proba(X)[:, 1]
    return package.XGBRegressor(**options).fit(part.X, part.y).predict


def catboost_trees(package: Any, part: Part, number: int, seed: int) -> Predict:
    """Train CatBoost; its default is 1,000 trees, and the candidates that are drawn have fewer."""
    options: dict[str, Any] = {"thread_count": 1, "verbose": False, "random_seed": 0, "allow_writing_files": False}
    if number:
        one = drawn(number, seed)
        options |= {"learning_rate": one["rate"], "iterations": one["trees"], "depth": min(6, int(one["depth"]))}
    else:
        options["iterations"] = 300
    if part.kind == "queries":
        model = package.CatBoostRanker(loss_function="QueryRMSE", **options)
        return model.fit(part.X, part.y, group_id=part.qid).predict
    if part.kind == "times":
        event, times = (part.y[name] for name in part.y.dtype.names)
        if event.dtype != bool:
            event, times = times, event
        model = package.CatBoostRegressor(loss_function="Cox", **options)
        model.fit(part.X, np.where(event, times, -times))
        return lambda X: -model.predict(X)
    if part.kind == "classes":
        model = package.CatBoostClassifier(**options).fit(part.X, part.y.astype(int))
        return lambda X: model.predict_proba(X)[:, 1]
    return package.CatBoostRegressor(**options).fit(part.X, part.y).predict


def forest(_: Any, part: Part, number: int, __: int) -> Predict:
    """Train a random forest."""
    options = {"min_samples_leaf": (1, 3)[number % 2], "max_features": ("sqrt", 0.5)[number // 2]}
    if part.kind == "classes":
        model = RandomForestClassifier(100, random_state=0, **options).fit(part.X, part.y)
        return lambda X: model.predict_proba(X)[:, 1]
    return RandomForestRegressor(100, random_state=0, **options).fit(part.X, part.y).predict


def _grid(number: int, n_columns: int) -> tuple[float, float]:
    return 10.0 ** (number % 4), (0.1, 0.3, 1.0, 3.0, 10.0)[number // 4 % 5] / n_columns


def ridge(_: Any, part: Part, number: int, __: int) -> Predict:
    """Train kernel ridge with a Gaussian kernel."""
    inverse, gamma = _grid(number, part.X.shape[1])
    spread = float(np.std(part.y)) or 1.0
    model = make_pipeline(StandardScaler(), KernelRidge(alpha=1 / inverse, kernel="rbf", gamma=gamma))
    return model.fit(part.X, (part.y - part.y.mean()) / spread).predict


def machine(_: Any, part: Part, number: int, __: int) -> Predict:
    """Train a support vector machine with a Gaussian kernel, for classes or numbers."""
    cost, gamma = _grid(number, part.X.shape[1])
    if part.kind == "classes":
        return make_pipeline(StandardScaler(), SVC(C=cost / 10, gamma=gamma)).fit(part.X, part.y).decision_function
    spread = float(np.std(part.y)) or 1.0
    return (
        make_pipeline(StandardScaler(), SVR(C=cost, gamma=gamma)).fit(part.X, (part.y - part.y.mean()) / spread).predict
    )


def others(run: Run, part: Part) -> Iterator[tuple[str, Any, int]]:
    """Yield the other methods: a name, how to train a candidate, and how many candidates there are."""
    for name, train in zip(PEERS, (lightgbm_trees, xgboost_trees, catboost_trees), strict=True):
        package = run.package(name.lower())
        if package is not None and (part.kind, name) != ("times", "LightGBM"):
            yield (
                name,
                lambda rows, number, train=train, package=package: train(package, rows, number, run.seed),
                run["candidates"] if part.X.shape[1] <= 1000 else 1,
            )
    if part.kind in ("numbers", "classes") and len(part.y) <= FEW:
        for name, train, size in (("random forest", forest, 4), ("kernel ridge", ridge, 20), ("SVM", machine, 20)):
            yield name, lambda rows, number, train=train: train(None, rows, number, 0), size


def tuned(part: Part, folds: list[tuple[np.ndarray, np.ndarray]], train: Any, size: int) -> Predict:
    """Train the candidate that is best on average over the folds."""
    if size == 1:
        return train(part, 0)
    means = []
    for number in range(size):
        values = [value(part[test], train(part[rows], number)(part.X[test])) for rows, test in folds]
        means.append(np.mean(values))
    return train(part, int(np.argmax(means)))


def cell(run: Run, train: Part, test: Part) -> dict[str, tuple[float, float]]:
    """Return the value of each method on the test items, and the CPU seconds of its search and its training."""
    folds, found = train.folds(run["folds"]), {}
    for name, model in kernels(train, folds, run.seed):
        start = time.process_time()
        fitted = model.fit(train.X, train.y, qid=train.qid)
        found[name] = (value(test, fitted.predict(test.X)), time.process_time() - start)
    for name, candidate, size in others(run, train):
        start = time.process_time()
        predict = tuned(train, folds, candidate, size)
        found[name] = (value(test, np.asarray(predict(test.X))), time.process_time() - start)
    return found


# Data -----------------------------------------------------------------------------------------------------------------


def read_table(path: Path) -> Part:
    """Read a table whose last column is the target; words become indicators."""
    table = pd.read_csv(path)
    y = table.pop(table.columns[-1])
    y = pd.factorize(y, sort=True)[0] if y.dtype.kind not in "if" or y.nunique() == 2 else y
    return Part(pd.get_dummies(table).to_numpy(dtype=float), np.asarray(y, dtype=float))


def read_microarray(path: Path) -> Part:
    """Read gene expressions; the class is in the first column."""
    table = pd.read_csv(path)
    y = pd.factorize(table.pop("class"), sort=True)[0]
    return Part(table.to_numpy(dtype=float), y.astype(float))


def split(data: Part, size: int, number: int) -> tuple[Part, Part]:
    """Return items for training, at most half of them, and others."""
    order = np.random.default_rng([number, len(data.y)]).permutation(len(data.y))
    size = min(size, len(order) // 2)
    return data[order[:size]], data[order[size : size + MOST_TESTED]]


def cells(run: Run) -> Iterator[tuple[str, str, int, Source | None, Callable[[], tuple[Part, Part]]]]:
    """Yield the group, the set and the number of each split, its source, and what reads it."""
    for number in range(run["splits"]):
        for size in run["sizes"]:
            for name, source in TABLES.items():
                read = partial(lambda *one: split(read_table(run.data[one[0]]), *one[1:]), source, size, number)
                yield f"tables, {size} rows", name, number, source, read
    for number in range(run["other_splits"]):
        for name, source in SURVIVAL.items():
            read = partial(lambda *one: split(cohort(run, *one[:2]), 10**6, one[2]), source, name, number)
            yield "censored times", name, number, source, read
        for name, source in MICROARRAYS.items() if run["microarrays"] else ():
            read = partial(lambda *one: split(read_microarray(run.data[one[0]]), 10**6, one[1]), source, number)
            yield "microarrays", name, number, source, read
    for number in range(run["query_folds"]):
        draw_one = partial(lambda fold: query_fold(generated(run["queries"], False, run.seed)[fold]), number)
        yield "queries", "generated, not linear", number, None, draw_one
        yield (
            "queries",
            "OHSUMED",
            number,
            OHSUMED,
            partial(lambda fold: query_fold(read_folds(run.data[OHSUMED])[fold]), number),
        )


def cohort(run: Run, source: Any, name: str) -> Part:
    """Return a cohort with indicators of its categories."""
    found = read_survival(run.data[source], name)
    return Part(found.items, found.y)


def query_fold(fold: Any) -> tuple[Part, Part]:
    """Join the parts that are trained on and chosen by: every method chooses by folds of its own."""
    parts = [in_order(part) for part in fold]
    moved = (parts[1][0], parts[1][1], parts[1][2] + parts[0][2].max() + 1)
    joined = [np.concatenate(pair) for pair in zip(parts[0], moved, strict=True)]
    return Part(*joined), Part(*parts[2])


# Summary --------------------------------------------------------------------------------------------------------------


def summary(sets: dict[str, Any]) -> dict[str, Any]:
    """Compare methods over sets: means, ranks, and differences to ``auto`` with paired standard errors."""
    names = list(next(iter(sets.values()))["means"])
    table = np.array([[one["means"].get(name, np.nan) for name in names] for one in sets.values()])
    ranks = 1 + (table[:, :, None] < table[:, None, :] - 1e-12).sum(axis=2)
    auto = table[:, names.index("auto")]
    rows = {}
    for place, name in enumerate(names):
        difference = table[:, place] - auto
        count = len(difference)
        rows[name] = {
            "mean": table[:, place].mean(),
            "rank": ranks[:, place].mean(),
            "beside": difference.mean(),
            "error": difference.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan,
            "wins": int((difference > 0).sum()),
            "losses": int((difference < 0).sum()),
            "seconds": float(np.mean([one["seconds"][name] for one in sets.values()])),
        }
    best = max((name for name in names if name in PEERS), key=lambda name: rows[name]["mean"], default=None)
    found: dict[str, Any] = {"rows": rows, "best_peer": best}
    pairs = [("auto", "Gaussian"), ("auto", best), ("learnt metric", "auto"), ("learnt metric", best)]
    found["pairs"] = {
        f"{first} − {second}": paired(table[:, names.index(first)] - table[:, names.index(second)], list(sets))
        for first, second in pairs
        if second is not None
    }
    return found


def paired(difference: np.ndarray, names: list[str]) -> dict[str, Any]:
    """Return the mean of paired differences, its standard error, and the sets that lose more than .01."""
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    lost = [f"{name} ({d:+.3f})".replace("-", "−") for name, d in zip(names, difference, strict=True) if d < -0.01]
    return {"mean": difference.mean(), "error": error, "lost": lost}


def protocol(run: Run) -> dict[str, Any]:
    """Run all cells that are not kept from an earlier run."""
    warnings.simplefilter("ignore")
    shared = {name: run[name] for name in ("candidates", "folds", "queries")} | {"seed": run.seed}
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    kept = {json.dumps(one["key"]): one for one in map(json.loads, lines)}
    groups: dict[str, dict[str, Any]] = {}
    for group, name, number, source, read in cells(run):
        if source is not None and not run.data.has(source):
            run.skipped.append(f"{source.name}: get it from {source.where}")
            continue
        key = json.dumps([group, name, number, shared])
        if key not in kept:
            train, test = read()
            found = cell(run, train, test)
            kept[key] = {"key": json.loads(key), "sizes": [*train.X.shape, len(test.y)], "found": found}
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept[key]) + "\n")
            shown = "  ".join(f"{method} {v:.3f}" for method, (v, _) in found.items())
            print(f"{group}: {name}, {number}: {shown}", flush=True)
        one = groups.setdefault(group, {}).setdefault(name, {"sizes": kept[key]["sizes"], "splits": []})
        one["splits"].append(kept[key]["found"])
    for package in PEERS:
        run.package(package.lower())
    tables = {}
    for group, sets in groups.items():
        for one in sets.values():
            splits = one.pop("splits")
            for place, word in enumerate(("means", "seconds")):
                one[word] = {name: float(np.mean([found[name][place] for found in splits])) for name in splits[0]}
            one["each"] = {name: [found[name][0] for found in splits] for name in splits[0]}
        tables[group] = {"sets": sets, **summary(sets)}
    run.skipped[:] = list(dict.fromkeys(run.skipped))
    return {"groups": tables}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw for every table what methods reach beside ``auto``."""
    group = next(iter(tables["groups"].values()))
    sets = group["sets"]
    shown = [name for name in group["rows"] if name in ("Gaussian", "learnt metric", *PEERS)]
    with picture(folder / "tables.svg", 6.4, 4.4) as figure:
        ax = figure.add_subplot()
        for marker, name in zip("os^vD", shown, strict=False):
            ax.plot(
                [one["means"][name] - one["means"]["auto"] for one in sets.values()], list(sets), marker, label=name
            )
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel('concordance beside kernel="auto"')
        ax.legend(fontsize="small")


STUDY = Study(
    protocol,
    settings={
        "sizes": ((500,), (60,)),
        "splits": (2, 1),
        "other_splits": (1, 1),
        "microarrays": (False, False),
        "candidates": (8, 2),
        "folds": (5, 3),
        "queries": (150, 30),
        "query_folds": (0, 1),
    },
    draw=draw,
)
