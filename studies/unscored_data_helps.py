"""Question: when do queries without scores help? Co-RankRLS and transductive RankRLS beside RankRLS, losses included.

Run: python -m studies run unscored_data_helps [--quick] [--data FILE ...]

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
scored queries only. Files are ranking files, read together; their views are two bases of one kernel, as in the paper.

How to read it: transductive RankRLS chooses among fewer alphas than the others, for each of them costs it a training.
The p-values are of one data set and its test queries, and are not corrected for how many there are.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.stats import wilcoxon
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.errors import EdgeOfGridWarning

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


def read(paths: list[str]) -> Items:
    parts = [kr.read_ranking(path) for path in paths]
    X = sparse.vstack([sparse.csr_array(part.X) for part in parts]).toarray()
    y = np.concatenate([part.y for part in parts])
    qid = np.concatenate([np.asarray(part.qid) for part in parts])
    order = np.argsort(qid, kind="stable")
    return Items(StandardScaler().fit_transform(X)[order], y[order], qid[order])


def views_of(items: Items, by_columns: bool) -> list[kr.View]:
    half = items.X.shape[1] // 2
    return [kr.View(columns=slice(0, half)), kr.View(columns=slice(half, None))] if by_columns else [kr.View()] * 2


def plain_basis(scored: Items, seed: int) -> np.ndarray:
    """Draw the basis of RankRLS, which transductive RankRLS has too."""
    return np.sort(np.random.default_rng(seed).permutation(len(scored.y))[: 2 * BASIS])


def tune_plain(split: Split, seed: int) -> Tuned:
    scored = split.scored
    search = kr.RankRLSCV(ALPHAS, cv=5, kernel="rbf", basis=plain_basis(scored, seed))
    search.fit(scored.X, scored.y, qid=scored.qid)
    return Tuned(lambda split: search.predict(split.test.X), search.alpha_)


def tune_views(views: list[kr.View], nus: tuple[float, ...]) -> Callable[[Split, int], Tuned]:
    def tune(split: Split, seed: int) -> Tuned:
        scored, unscored = split.scored, split.unscored
        search = kr.CoRankRLSCV(ALPHAS, nus, cv=5, views=views, basis=BASIS, random_state=seed)
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
    errors = np.zeros((len(FEW_ALPHAS), len(ANCHORS)))
    for kept, held in GroupKFold(5).split(scored.X, groups=scored.qid):
        rows = np.concatenate([kept, np.arange(n_scored, len(y))])
        left = np.flatnonzero(np.isin(rows, basis))  # basis items that are held out leave with their queries
        for a, alpha in enumerate(FEW_ALPHAS):
            learner = kr.TransductiveRankRLS(alpha, kernel="rbf", basis=left)
            for c, model in enumerate(learner.fit_path(X[rows], y[rows], ANCHORS, qid=qid[rows])):
                scores = model.predict(scored.X[held])
                errors[a, c] += kr.metrics.disagreement(scored.y[held], scores, qid=scored.qid[held])
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


def run(title: str, items: Items, counts: tuple[int, int, int], *, by_columns: bool, repeats: int) -> None:
    """Repeat the whole protocol on some numbers of scored, unscored and test queries."""
    n_scored, n_unscored, n_test = counts
    queries = np.random.default_rng(7).permutation(np.unique(items.qid))
    train, test = queries[: n_scored + n_unscored], items.of(queries[-n_test:])
    views = views_of(items, by_columns)
    tuners = (tune_plain, tune_views(views, (0.0,)), tune_views(views, NUS), tune_transductive)
    errors: dict[str, list[np.ndarray]] = {name: [] for name in LEARNERS}
    curve: dict[str, list[list[float]]] = {name: [] for name in LEARNERS[2:]}
    parameters: dict[str, list[float]] = {name: [] for name in LEARNERS}
    start = time.process_time()
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        shuffled = rng.permutation(train)
        split = Split(items.of(shuffled[:n_scored]), items.of(shuffled[n_scored:]), test)
        parts = [
            Split(split.scored, draw_queries(split.unscored, size, rng), test)
            for size in CURVE
            if size <= len(split.unscored.y)
        ]
        for name, tune in zip(LEARNERS, tuners, strict=True):
            tuned = tune(split, seed)
            parameters[name].append(tuned.parameter)
            errors[name].append(query_errors(test, tuned.predict(split)))
            if name in curve:
                curve[name].append([query_errors(test, tuned.predict(part)).mean() for part in parts])
    print(f"\n{title}")
    show_errors(split, {name: np.mean(values, axis=0) for name, values in errors.items()})
    show_curve(curve, {name: float(np.mean(errors[name])) for name in LEARNERS[:2]})
    for name, noun in (("Co-RankRLS", "nu"), ("transductive", "anchor")):
        values = ", ".join(f"{value:g}" for value in parameters[name])
        print(f"  {noun} chosen in {repeats} repetitions: {values}")
    print(f"  {time.process_time() - start:.0f} CPU s")


def show_errors(split: Split, errors: dict[str, np.ndarray]) -> None:
    counts = [len(np.unique(part.qid)) for part in (split.scored, split.unscored, split.test)]
    print(f"  {counts[0]} scored queries ({len(split.scored.y):,} items), {counts[1]} unscored ", end="")
    print(f"({len(split.unscored.y):,} items), {counts[2]} test queries")
    print(f"  {'':<14}{'error':>8}   {'beside RankRLS':<41}beside two views at nu = 0")
    for name, values in errors.items():
        verdicts = ["" if other == name else verdict(values, errors[other]) for other in LEARNERS[:2]]
        print(f"  {name:<14}{values.mean():>8.4f}" + "".join(f"   {text:<38}" for text in verdicts).rstrip())


def verdict(errors: np.ndarray, others: np.ndarray) -> str:
    """Tell the mean difference, and what the signed-rank test says of it; lower is better."""
    difference = errors - others
    p = 1.0 if not difference.any() else float(wilcoxon(difference).pvalue)
    word = "no difference" if p >= 0.05 else "better" if np.median(difference[difference != 0]) < 0 else "WORSE"
    return f"{difference.mean():+.4f}  p = {p:.1e}  {word}"


def show_curve(curve: dict[str, list[list[float]]], flat: dict[str, float]) -> None:
    """Print the errors over the number of unscored items; draws may differ in how many sizes they have."""
    n_sizes = min(len(row) for rows in curve.values() for row in rows)
    print(f"  unscored items{'':<2}" + "".join(f"{size:>9,}" for size in CURVE[:n_sizes]) + "   (without: ", end="")
    print(", ".join(f"{name} {value:.4f}" for name, value in flat.items()) + ")")
    for name, rows in curve.items():
        means = np.mean([row[:n_sizes] for row in rows], axis=0)
        print(f"  {name:<16}" + "".join(f"{value:>9.4f}" for value in means))


def compare_all(quick: bool, paths: list[str]) -> None:
    repeats = 2 if quick else 5
    n_test = 100 if quick else 600
    half = 134
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    if paths:
        items = read(paths)
        n_queries = len(np.unique(items.qid))
        quarter = n_queries // 4
        halves = (quarter, n_queries // 2 - quarter, n_queries - n_queries // 2)
        run("files, half of the training queries scored", items, halves, by_columns=False, repeats=repeats)
        few = (min(10, quarter), halves[1], halves[2])
        run("files, few scored", items, few, by_columns=False, repeats=repeats)
        return
    for independent in (True, False):
        noun = "conditionally independent" if independent else "disturbed alike"
        items = generate(2 * half + n_test, independent=independent)
        title = f"generated, views {noun}"
        run(f"{title}, half of the queries scored", items, (half, half, n_test), by_columns=True, repeats=repeats)
        run(f"{title}, few scored", items, (10, half, n_test), by_columns=True, repeats=repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions and 100 test queries")
    parser.add_argument("--data", nargs="+", default=[], help="ranking files, in SVMlight or LETOR form")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        compare_all(arguments.quick, arguments.data)
