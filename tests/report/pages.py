"""Pages that several tests look at; each is made once."""

from __future__ import annotations

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelrank.data import make_ranking
from kernelrank.dyads import KroneckerRankRLS
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators import RLS, RankRLS, RankSVM
from kernelrank.metrics import DyadicConcordance, Interval
from kernelrank.model_selection import (
    CalibratedRanker,
    RankRLSCV,
    estimate_auc,
    estimate_risk,
    permutation_test,
    tournament_roc,
)
from kernelrank.report import (
    Page,
    auc_report,
    comparison_report,
    dyads_report,
    folds_report,
    leaderboard_report,
    ranking_report,
    risk_report,
)
from kernelrank.votes import Leaderboard

ATTACK = "<script>window.hit = 1</script>\"'><img src=x onerror='window.hit = 1'>{{ 7 * 7 }}$x^$&amp;"
"""What comes from the user and must be shown as it is."""

ALPHAS = 2.0 ** np.arange(-4, 14, 2)


@cache
def large_run():
    """About 2,000 items: the model, X, y, qid."""
    X, y, qid = make_ranking(
        n_queries=133, n_items=(5, 25), n_features=20, n_levels=5, noise=0.7, qid_type="str", random_state=0
    )
    return RankRLSCV(ALPHAS).fit(X, y, qid=qid), X, y, qid


def hostile_run():
    """Names, queries, titles, notes and commands that would like to be more than text."""
    X, y, qid = make_ranking(n_queries=8, n_items=6, n_features=4, n_levels=2, noise=1.0, random_state=1)
    labels = [f"{q} {ATTACK}" for q in qid]
    ids = [f"{number} {ATTACK}" for number in range(len(y))]
    model = RankRLS(kernel="rbf", gamma=0.1).fit(X, y, qid=labels)
    return ranking_report(
        model, X, y, qid=labels, ids=ids, title=f"A title {ATTACK}", command=f"kernelrank {ATTACK}", notes=[ATTACK]
    )


def compared_page(X, y, test):
    """A search over alpha, and its AUC beside that of another model."""
    alphas = 10.0 ** np.arange(-1, 8, 2)
    search = RankRLSCV(alphas)
    curve = tournament_roc(search, X, y)
    interval = Interval(-0.05, 0.2, 0.95, "allows for other items being scored")
    found = SimpleNamespace(first=curve.estimate, second=curve.estimate, difference=0.1, interval=interval, pvalue=0.2)
    fitted = RankRLSCV(alphas).fit(X, np.where(y == "well", 1.0, 0.0))
    return auc_report(
        curve.leave_pair_out, curve, test, model=fitted, X=X, comparisons=[("genes", f"marker {ATTACK}", found)]
    )


def leaderboard_page():
    """Votes of judges on items whose names would like to be more than text."""
    rng = np.random.default_rng(0)
    items = np.array([f"item {number} {ATTACK if number < 3 else ''}" for number in range(20)])
    first = rng.integers(0, 20, 300)
    second = (first + rng.integers(1, 20, 300)) % 20
    low, high = np.minimum(first, second), np.maximum(first, second)
    judge = [f"judge {number % 5} {ATTACK}" for number in range(300)]
    board = Leaderboard().fit(items[low], items[high], tie=rng.random(300) < 0.2, judge=judge)
    return leaderboard_report(board, title=f"A title {ATTACK}", command=f"kernelrank {ATTACK}", notes=[ATTACK])


def comparison_page():
    """Four models with long names on 60 queries, one of them no better than chance."""
    _, y, qid = make_ranking(n_queries=60, n_items=(3, 12), n_levels=4, qid_type="str", random_state=4)
    noise = np.random.default_rng(1).standard_normal((4, len(y)))
    labels = [f"{query} {ATTACK}" if number < 20 else query for number, query in enumerate(qid)]
    scores = {
        f"linear {ATTACK}": y + noise[0],
        "gaussian-kernel-with-basis.kr": y + 1.3 * noise[1],
        "hinge": y + 1.4 * noise[2],
        "noise": noise[3],
    }
    return comparison_report(scores, y, qid=labels, title=f"Compared {ATTACK}", command=ATTACK, notes=[ATTACK])


def dyads_page():
    """The four settings, one of them no better than chance."""
    interval = Interval(0.7, 0.9, 0.95, "rows and columns vary")
    found = {setting: DyadicConcordance(0.8, interval, "row", 300) for setting in ("cell", "row", "column")}
    found["both"] = DyadicConcordance(0.55, Interval(0.42, 0.67, 0.95, interval.method), "row", 300)
    alphas = {setting: {"alpha": 12.5} for setting in found}
    return dyads_report(
        found, alphas, model=KroneckerRankRLS(), shape=(20, 15), title=f"Dyads {ATTACK}", notes=[ATTACK]
    )


def risk_page():
    """Risks of a cohort, with missing cells and everything that a page shows."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3 == 0
    X = rng.standard_normal((60, 3)) + y[:, None] * [1.0, -1.0, 0.0]
    model = CalibratedRanker(RankRLSCV(ALPHAS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        model.fit(X, y)
    return risk_report(
        estimate_risk(model, X, y, interval="components"),
        tournament_roc(RankRLS(16.0), X, y),
        model=model,
        X=X,
        classes=("well", f"ill {ATTACK}"),
        missing={ATTACK: 3, "b": 1},
        feature_names=["a", ATTACK, "c"],
        title=f"Risk {ATTACK}",
        notes=[ATTACK],
        command=ATTACK,
    )


@cache
def page(name: str) -> Page:
    """Return a page by name."""
    rng = np.random.default_rng(0)
    if name == "large":
        model, X, y, qid = large_run()
        ids = [f"document {number}" for number in range(len(y))]
        names = [f"feature number {number}" for number in range(X.shape[1])]
        return ranking_report(model, X, y, qid=qid, ids=ids, feature_names=names, command="kernelrank tune train.txt")
    if name == "test set":
        X, y, qid = make_ranking(n_queries=60, n_items=(1, 9), n_features=5, n_levels=2, noise=1.0, random_state=3)
        train, test = qid < qid[200], qid >= qid[200]
        model = RankRLS(kernel="rbf", gamma=0.1, basis=20, random_state=0).fit(X[train], y[train], qid=qid[train])
        return ranking_report(model, X[train], y[train], qid=qid[train], test=(X[test], y[test], qid[test], None))
    if name == "one ranking":
        X = rng.standard_normal((60, 4))
        return ranking_report(RankRLSCV(ALPHAS).fit(X, X[:, 0] > 0), X, (X[:, 0] > 0).astype(int), measures=["auc"])
    if name == "folds":
        X = rng.standard_normal((50, 4))
        model = make_pipeline(StandardScaler(), RLS()).fit(X, X[:, 1])
        return ranking_report(model, X, X[:, 1], measures=["ndcg@10", "kendall_tau"])
    if name == "svm":
        X, y, qid = make_ranking(n_queries=12, n_items=6, n_features=4, n_levels=3, noise=1.0, random_state=1)
        return ranking_report(RankSVM().fit(X, y, qid=qid), X, y, qid=qid)
    if name == "letor folds":
        _, y, qid = make_ranking(n_queries=30, n_items=6, n_levels=3, random_state=2)
        chosen = {"kernel": ATTACK, "alpha": 0.5, "score": 0.4, "how": "on vali.txt"}
        folds = [{"fold": f"Fold{n} {ATTACK}", **chosen, "test": None if n == 3 else 0.1 * n} for n in range(1, 4)]
        return folds_report(folds, y, y + rng.standard_normal(len(y)), qid=qid, notes=[ATTACK], command=ATTACK)
    if name == "hostile":
        return hostile_run()
    if name == "leaderboard":
        return leaderboard_page()
    if name == "dyads":
        return dyads_page()
    if name == "comparison":
        return comparison_page()
    if name == "risk":
        return risk_page()
    y = np.repeat(["well", f"ill {ATTACK}"], 15)
    X = rng.standard_normal((30, 3)) + (y != "well")[:, None]
    model = RankRLS()
    fitted = RankRLS().fit(X, np.where(y == "well", 1.0, 0.0))
    test = permutation_test(model, X, y, n_permutations=50, random_state=0)
    if name == "auc compared":
        return compared_page(X, y, test)
    return auc_report(
        estimate_auc(model, X, y),
        tournament_roc(model, X, y),
        test,
        model=fitted,
        X=X,
        feature_names=["a", ATTACK, "c"],
    )


NAMES = (
    "large",
    "test set",
    "one ranking",
    "folds",
    "svm",
    "hostile",
    "auc",
    "auc compared",
    "leaderboard",
    "dyads",
    "letor folds",
    "comparison",
    "risk",
)
