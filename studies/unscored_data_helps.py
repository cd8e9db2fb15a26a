"""When do queries without scores help? Co-RankRLS and transductive RankRLS beside RankRLS, losses included.

The protocol is that of [TPBSH11] (section 6): half of the training queries lose their scores; two views with 20 basis
items each, drawn from all training items; alpha and nu (or anchor) by 5-fold cross-validation over the scored queries,
with the unscored ones kept in every fold; the disagreement error of each test query; five repetitions with other bases
and other halves, averaged; a Wilcoxon signed-rank test over the test queries; and a learning curve over 1,000 to 4,000
unscored items, drawn anew each time, with the parameters and bases that were chosen. Everyone has 40 basis items:

    RankRLS          40 of the scored items, the scored queries only
    two views        as Co-RankRLS, but nu = 0: what the unscored items alone add is seen beside this
    Co-RankRLS       two views of 20, alpha and nu chosen, nu = 0 among them
    transductive     the 40 of RankRLS, alpha and anchor chosen: what the unscored items add is seen beside RankRLS

Generated items have a score u, and two views of ten columns, ``x_v = a_v u + B_v z_v + noise``, with five disturbances
z_v that are stronger than u. With z_1 and z_2 independent, the views are conditionally independent given u, and what
they agree on is u; with z_1 = z_2 they agree on what misleads as well. A second run, which the paper has not, has ten
scored queries at most. Sets that are there have two bases of one kernel as views, as in the paper. OHSUMED and the
ranked parses have queries; documents of Reuters, samples of microarrays and pairs of proteins are dealt into some.
Scored queries are drawn from those that compare something while there are any, and test queries always: a query of ties
says nothing about a choice, and has no error.

How to read it: transductive RankRLS chooses among fewer alphas than the others, for each of them costs it a training.
The p-values are of one data set and its test queries, and are not corrected for how many there are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.errors import EdgeOfGridWarning
from studies.book.cell import resampled_cell
from studies.book.dealt_queries import interaction_queries, microarray_queries, reuters_queries
from studies.book.parse_files import read_parses
from studies.book.picture import legend_above, picture
from studies.book.sources import MICROARRAYS, OHSUMED, PARSES, REUTERS, Source, corpus
from studies.book.study import Run, Study
from studies.ohsumed import read_part

BASIS = 20
ALPHAS = 2.0 ** np.arange(-15, 16, 2)
NUS = (0.0, *10.0 ** np.arange(-4, 4))
FEW_ALPHAS = 2.0 ** np.arange(-12, 13, 4)
ANCHORS = 10.0 ** np.arange(-3, 4)
CURVE = (1000, 2000, 3000, 4000)
QUERY_ITEMS = 30
LEARNERS = ("RankRLS", "two views", "Co-RankRLS", "transductive")


@dataclass(frozen=True)
class Items:
    """Items, their scores and their queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def of(self, queries: np.ndarray) -> Items:
        """Return the items of some queries."""
        rows = np.isin(self.qid, queries)
        return Items(self.X[rows], self.y[rows], self.qid[rows])


@dataclass(frozen=True)
class Split:
    """Scored, unscored and test items."""

    scored: Items
    unscored: Items
    test: Items

    def together(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scored items first, and NaN for the scores of the others."""
        y = np.concatenate([self.scored.y, np.full(len(self.unscored.y), np.nan)])
        X = np.vstack([self.scored.X, self.unscored.X])
        return X, y, np.concatenate([self.scored.qid, self.unscored.qid])


@dataclass(frozen=True)
class Tuned:
    """A learner whose parameters are chosen: it trains on a split and scores the test items."""

    predict: Callable[[Split], np.ndarray]
    parameter: float


def generate(n_queries: int, *, independent: bool, seed: int = 0) -> Items:
    rng = np.random.default_rng(seed)
    m = n_queries * QUERY_ITEMS
    u = rng.standard_normal(m)
    disturbance = rng.standard_normal((2, m, 5))
    if not independent:
        disturbance[1] = disturbance[0]
    views = []
    for z in disturbance:
        a, B = rng.standard_normal(10) / 2, rng.standard_normal((5, 10))
        views.append(u[:, None] * a + z @ B + 0.5 * rng.standard_normal((m, 10)))
    X = StandardScaler().fit_transform(np.hstack(views))
    return Items(X, u + 0.5 * rng.standard_normal(m), np.repeat(np.arange(n_queries), QUERY_ITEMS))


def documents(folder: Path) -> Items:
    """Read OHSUMED: the three parts of the first fold are all queries."""
    parts = [read_part(folder / "Fold1" / f"{name}.txt") for name in ("train", "vali", "test")]
    return Items(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def parses(folder: Path) -> Items:
    """Read the parses, as coordinates in which their linear kernel, with a norm of one, is the same."""
    X, y, qid = (np.concatenate(parts) for parts in zip(*read_parses(folder), strict=True))
    return Items(X, y, qid)


READ: dict[str, tuple[Source, Callable[[Path], Items]]] = {
    "OHSUMED": (OHSUMED, documents),
    "parses": (PARSES, parses),
    "Reuters": (REUTERS, lambda path: Items(*reuters_queries(path))),
    "prostate": (MICROARRAYS["singh"], lambda path: Items(*microarray_queries(path))),
    "leukaemia": (MICROARRAYS["golub"], lambda path: Items(*microarray_queries(path))),
    "colon": (MICROARRAYS["alon"], lambda path: Items(*microarray_queries(path))),
    **{name: (corpus(name), lambda path: Items(*interaction_queries(path))) for name in ("HPRD50", "IEPA", "LLL")},
}
"""The sets by name: where each is, and how it is read."""


def views_of(items: Items, by_columns: bool) -> list[kr.View]:
    half = items.X.shape[1] // 2
    return [kr.View(columns=slice(0, half)), kr.View(columns=slice(half, None))] if by_columns else [kr.View()] * 2


def plain_basis(scored: Items, seed: int) -> np.ndarray:
    """Draw the basis of RankRLS, which transductive RankRLS has too."""
    return np.sort(np.random.default_rng(seed).permutation(len(scored.y))[: 2 * BASIS])


def folds_of(scored: Items) -> int:
    """Five folds, or one for each query where there are fewer."""
    return min(5, len(np.unique(scored.qid)))


def tune_plain(split: Split, seed: int) -> Tuned:
    scored = split.scored
    search = kr.RankRLSCV(ALPHAS, cv=folds_of(scored), kernel="rbf", basis=plain_basis(scored, seed))
    search.fit(scored.X, scored.y, qid=scored.qid)
    return Tuned(lambda split: search.predict(split.test.X), search.alpha_)


def tune_views(views: list[kr.View], nus: tuple[float, ...]) -> Callable[[Split, int], Tuned]:
    def tune(split: Split, seed: int) -> Tuned:
        scored, unscored = split.scored, split.unscored
        search = kr.CoRankRLSCV(ALPHAS, nus, cv=folds_of(scored), views=views, basis=BASIS, random_state=seed)
        search.fit(scored.X, scored.y, qid=scored.qid, X_unscored=unscored.X, qid_unscored=unscored.qid)
        pool = np.vstack([scored.X, unscored.X])
        same = [replace(view, basis=pool[basis]) for view, basis in zip(views, search.basis_, strict=True)]

        def predict(split: Split) -> np.ndarray:
            model, scored, unscored = kr.CoRankRLS(search.alpha_, search.nu_, views=same), split.scored, split.unscored
            return model.fit(
                scored.X, scored.y, qid=scored.qid, X_unscored=unscored.X, qid_unscored=unscored.qid
            ).predict(split.test.X)

        return Tuned(predict, search.nu_)

    return tune


def tune_transductive(split: Split, seed: int) -> Tuned:
    """Choose alpha and anchor: the held-out queries leave, and the unscored ones stay."""
    X, y, qid = split.together()
    scored, n_scored = split.scored, len(split.scored.y)
    basis = plain_basis(scored, seed)
    held_out = np.zeros((len(FEW_ALPHAS), len(ANCHORS), n_scored))
    for kept, held in GroupKFold(folds_of(scored)).split(scored.X, groups=scored.qid):
        if not len(informative(Items(scored.X[kept], scored.y[kept], scored.qid[kept]))):
            continue  # all ties: nothing can be learnt, and all scores are zero
        rows = np.concatenate([kept, np.arange(n_scored, len(y))])
        left = np.flatnonzero(np.isin(rows, basis))  # basis items that are held out leave with their queries
        for a, alpha in enumerate(FEW_ALPHAS):
            learner = kr.TransductiveRankRLS(alpha, kernel="rbf", basis=left)
            for c, model in enumerate(learner.fit_path(X[rows], y[rows], ANCHORS, qid=qid[rows])):
                held_out[a, c, held] = model.predict(scored.X[held])
    # Queries are judged together, for a fold of few queries may be all ties.
    errors = np.array([[np.nanmean(query_errors(scored, scores)) for scores in row] for row in held_out])
    a, c = np.unravel_index(errors.argmin(), errors.shape)
    alpha, anchor = float(FEW_ALPHAS[a]), float(ANCHORS[c])

    def predict(split: Split) -> np.ndarray:
        X, y, qid = split.together()
        model = kr.TransductiveRankRLS(alpha, anchor, kernel="rbf", basis=basis)
        return model.fit(X, y, qid=qid).predict(split.test.X)

    return Tuned(predict, anchor)


def query_errors(test: Items, scores: np.ndarray) -> np.ndarray:
    """Return the disagreement error of each test query; a query with ties only has none."""
    return np.asarray(kr.metrics.get_measure("disagreement")(test.y, scores, qid=test.qid).values)


def draw_queries(items: Items, n_items: int, rng: np.random.Generator) -> Items:
    """Draw queries until there are so many items."""
    shuffled = rng.permutation(np.unique(items.qid))
    places = np.concatenate([np.flatnonzero(items.qid == query) for query in shuffled])
    places = places[:n_items]
    return Items(items.X[places], items.y[places], items.qid[places])


def informative(items: Items) -> np.ndarray:
    """Return the queries that compare something."""
    return np.array([query for query in np.unique(items.qid) if len(np.unique(items.y[items.qid == query])) > 1])


def repeat(items: Items, counts: tuple[int, int, int], *, by_columns: bool, repeats: int, seed: int) -> dict[str, Any]:
    """Repeat the whole protocol on some numbers of scored, unscored and test queries."""
    n_scored, n_unscored, n_test = counts
    queries = np.random.default_rng(seed + 7).permutation(np.unique(items.qid))
    useful = informative(items)
    train, test = queries[: n_scored + n_unscored], items.of(np.intersect1d(queries[-n_test:], useful))
    views = views_of(items, by_columns)
    tuners = (tune_plain, tune_views(views, (0.0,)), tune_views(views, NUS), tune_transductive)
    errors: dict[str, list[np.ndarray]] = {name: [] for name in LEARNERS}
    curve: dict[str, list[list[float]]] = {name: [] for name in LEARNERS[2:]}
    parameters: dict[str, list[float]] = {name: [] for name in LEARNERS}
    start = time.process_time()
    for number in range(seed, seed + repeats):
        rng = np.random.default_rng(number)
        shuffled = rng.permutation(train)
        compares = np.isin(shuffled, useful)
        shuffled = np.concatenate([shuffled[compares], shuffled[~compares]])
        split = Split(items.of(shuffled[:n_scored]), items.of(shuffled[n_scored:]), test)
        sizes = [size for size in CURVE if size <= len(split.unscored.y)]
        parts = [Split(split.scored, draw_queries(split.unscored, size, rng), test) for size in sizes]
        for name, tune in zip(LEARNERS, tuners, strict=True):
            tuned = tune(split, number)
            parameters[name].append(tuned.parameter)
            errors[name].append(query_errors(test, tuned.predict(split)))
            if name in curve:
                curve[name].append([query_errors(test, tuned.predict(part)).mean() for part in parts])
    means = {name: np.mean(values, axis=0) for name, values in errors.items()}
    shared = min(len(row) for rows in curve.values() for row in rows)  # queries differ in size, so halves do
    return {
        "queries": [len(np.unique(part.qid)) for part in (split.scored, split.unscored, split.test)],
        "sizes": [len(part.y) for part in (split.scored, split.unscored, split.test)],
        "errors": {name: resampled_cell(values, seed) for name, values in means.items()},
        "beside RankRLS": {name: verdict(means[name], means["RankRLS"]) for name in LEARNERS[1:]},
        "beside two views": {"Co-RankRLS": verdict(means["Co-RankRLS"], means["two views"])},
        "curve": {
            "sizes": CURVE[:shared],
            **{name: np.mean([row[:shared] for row in rows], axis=0) for name, rows in curve.items()},
        },
        "chosen": {"nu": parameters["Co-RankRLS"], "anchor": parameters["transductive"]},
        "seconds": time.process_time() - start,
    }


def verdict(errors: np.ndarray, others: np.ndarray) -> dict[str, Any]:
    """Tell the mean difference, and what the signed-rank test says of it; lower is better."""
    difference = errors - others
    p = 1.0 if not difference.any() else float(wilcoxon(difference).pvalue)
    word = "no difference" if p >= 0.05 else "better" if np.median(difference[difference != 0]) < 0 else "worse"
    return {"difference": float(difference.mean()), "p": p, "verdict": word}


def protocol(run: Run) -> dict[str, Any]:
    """Run the protocol with half of the queries scored, and with few, on every set."""
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    half, n_test, repeats = run["queries"], run["test_queries"], run["repeats"]
    sets: dict[str, tuple[Items, bool]] = {}
    for noun, independent in (("conditionally independent", True), ("disturbed alike", False)):
        sets[f"generated, views {noun}"] = generate(2 * half + n_test, independent=independent), True
    for name in run["sets"]:
        source, read = READ[name]
        if run.data.has(source):
            sets[name] = read(run.data[source]), False
        else:
            run.skipped.append(f"{source.name}: get it from {source.where}")
    found = {}
    for name, (items, by_columns) in sets.items():
        total = len(np.unique(items.qid))
        quarter = half if by_columns else total // 4
        tests = n_test if by_columns else total - total // 2
        for title, n_scored in (("half scored", quarter), ("few scored", min(10, quarter // 2))):
            if n_scored < 3:
                continue  # too few to choose anything by
            counts = (n_scored, quarter, tests)
            found[f"{name}, {title}"] = repeat(items, counts, by_columns=by_columns, repeats=repeats, seed=run.seed)
    return found


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the differences to RankRLS."""
    with picture(folder / "unscored_data_helps.svg", 7, 0.4 * len(tables) + 1.2) as figure:
        ax = figure.subplots()
        for number, (name, marker) in enumerate((("two views", "x"), ("Co-RankRLS", "o"), ("transductive", "^"))):
            values = [table["beside RankRLS"][name]["difference"] for table in tables.values()]
            ax.plot(values, np.arange(len(tables)) + 0.15 * (number - 1), marker, label=name)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(tables)), list(tables))
        ax.invert_yaxis()
        ax.set(xlabel="difference in error to RankRLS")
        legend_above(figure, ax)


STUDY = Study(
    protocol,
    settings={
        "queries": (80, 20),
        "test_queries": (200, 40),
        "repeats": (5, 1),
        "sets": (
            ("OHSUMED", "parses", "Reuters", "prostate", "leukaemia", "colon", "IEPA", "HPRD50", "LLL"),
            ("parses", "LLL"),
        ),
    },
    published={"RankRLS": 0.348, "Co-RankRLS": 0.326},  # [TPBSH11] Table 1
    draw=draw,
)
