"""Claim: no option costs more than 5 × the plain case of its family; whatever does is flagged.

Run: python benchmarks/cost_map.py [--sizes 500 2000] [--only "RankRLS, linear" ...]

Estimators, hold-outs, measures and files over their options at two sizes, in CPU seconds on one thread, as ratios to
the plain case of the family. The answer is a table in Markdown, the one of `docs/costs.md`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank import metrics
from kernelrank.data import read_items, write_items, write_ranking

Runs = dict[str, Callable[[], Any]]

LIMIT = 5.0
RBF = {"kernel": "rbf", "gamma": 0.05}
REDUCED = RBF | {"basis": 100, "random_state": 0}
ALPHAS = 2.0 ** np.arange(-7, 8)
SECONDS = 1.0
"""For so long a family is measured at each size, every run once at least."""


class Items:
    """m items with 20 columns, in queries of 20 items, and what the options need besides."""

    def __init__(self, m: int) -> None:
        rng = np.random.default_rng(0)
        self.m, self.X = m, rng.standard_normal((m, 20))
        self.y = self.X[:, 0] + rng.standard_normal(m)
        self.qid, self.tiny = np.arange(m) // 20, np.arange(m) // 3
        self.levels, self.label = np.round(self.y), (self.y > 0.0).astype(float)
        self.weight = rng.uniform(0.5, 2.0, m)
        self.missing = np.where(rng.random(m) < 0.1, np.nan, self.y)
        self.Y = self.y[:, None] + rng.standard_normal((m, 10))
        self.X32, self.csr = self.X.astype(np.float32), sparse.csr_array(self.X)
        self.tall, self.wide = rng.standard_normal((4 * m, 5)), rng.standard_normal((m // 10, 200))
        self.y_tall = self.tall[:, 0] + rng.standard_normal(4 * m)
        self.time, self.event = np.exp(self.y), rng.random(m) < 0.7
        self.parts = np.split(np.arange(m), 20 * (np.arange(1, 10) * (m // 20) // 10))  # of whole queries
        pairs = rng.integers(0, m, (10 * m, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        won = (self.y[pairs[:, 0]] - self.y[pairs[:, 1]] + rng.logistic(size=len(pairs)) > 0)[:, None]
        self.pairs = np.where(won, pairs, pairs[:, ::-1])
        self.magnitude = rng.uniform(0.5, 2.0, len(pairs))
        self.tie, self.judge = rng.random(len(pairs)) < 0.1, rng.integers(0, 50, len(pairs))


def linear(d: Items) -> Runs:
    def in_parts() -> None:
        model = kr.RankRLS()
        for part in d.parts:
            model.partial_fit(d.X[part], d.y[part], qid=d.qid[part])

    return {
        "plain": lambda: kr.RankRLS().fit(d.X, d.y, qid=d.qid),
        "one query": lambda: kr.RankRLS().fit(d.X, d.y),
        "queries of 3": lambda: kr.RankRLS().fit(d.X, d.y, qid=d.tiny),
        "queries weigh the same": lambda: kr.RankRLS(query_weight="queries").fit(d.X, d.y, qid=d.qid),
        "ties left out": lambda: kr.RankRLS(ties="exclude").fit(d.X, d.levels, qid=d.qid),
        "unit cost": lambda: kr.RankRLS(cost="unit").fit(d.X, d.levels, qid=d.qid),
        "relative cost": lambda: kr.RankRLS(cost="relative").fit(d.X, d.y, qid=d.qid),
        "relative cost, one query": lambda: kr.RankRLS(cost="relative").fit(d.X, d.y),
        "weights": lambda: kr.RankRLS().fit(d.X, d.y, qid=d.qid, sample_weight=d.weight),
        "missing scores": lambda: kr.RankRLS(missing="ignore").fit(d.X, d.missing, qid=d.qid),
        "10 outputs": lambda: kr.RankRLS().fit(d.X, d.Y, qid=d.qid),
        "15 alphas": lambda: kr.RankRLS().fit_path(d.X, d.y, ALPHAS, qid=d.qid),
        "float32": lambda: kr.RankRLS().fit(d.X32, d.y, qid=d.qid),
        "sparse form": lambda: kr.RankRLS().fit(d.csr, d.y, qid=d.qid),
        "tall, as many numbers": lambda: kr.RankRLS().fit(d.tall, d.y_tall),
        "wide, as many numbers": lambda: kr.RankRLS().fit(d.wide, d.y[: len(d.wide)]),
        "preferences": lambda: kr.RankRLS().fit_pairs(d.X, d.pairs),
        "preferences, magnitudes and weights": lambda: kr.RankRLS().fit_pairs(
            d.X, d.pairs, magnitude=d.magnitude, weight=d.magnitude
        ),
        "partial_fit, 10 parts": in_parts,
        "RLS": lambda: kr.RLS().fit(d.X, d.y),
        "RLSClassifier": lambda: kr.RLSClassifier().fit(d.X, d.label),
    }


def gaussian(d: Items) -> Runs:
    K = np.exp(-0.05 * ((d.X[:, None] - d.X[None]) ** 2).sum(axis=2))
    return {
        "plain": lambda: kr.RankRLS(**RBF).fit(d.X, d.y, qid=d.qid),
        "one query": lambda: kr.RankRLS(**RBF).fit(d.X, d.y),
        "queries of 3": lambda: kr.RankRLS(**RBF).fit(d.X, d.y, qid=d.tiny),
        "ties left out": lambda: kr.RankRLS(ties="exclude", **RBF).fit(d.X, d.levels, qid=d.qid),
        "unit cost": lambda: kr.RankRLS(cost="unit", **RBF).fit(d.X, d.levels, qid=d.qid),
        "relative cost": lambda: kr.RankRLS(cost="relative", **RBF).fit(d.X, d.y, qid=d.qid),
        "weights": lambda: kr.RankRLS(**RBF).fit(d.X, d.y, qid=d.qid, sample_weight=d.weight),
        "missing scores": lambda: kr.RankRLS(missing="ignore", **RBF).fit(d.X, d.missing, qid=d.qid),
        "10 outputs": lambda: kr.RankRLS(**RBF).fit(d.X, d.Y, qid=d.qid),
        "15 alphas": lambda: kr.RankRLS(**RBF).fit_path(d.X, d.y, ALPHAS, qid=d.qid),
        "float32": lambda: kr.RankRLS(**RBF).fit(d.X32, d.y, qid=d.qid),
        "sparse form": lambda: kr.RankRLS(**RBF).fit(d.csr, d.y, qid=d.qid),
        "precomputed kernel": lambda: kr.RankRLS(kernel="precomputed").fit(K, d.y, qid=d.qid),
        "basis of 100": lambda: kr.RankRLS(**REDUCED).fit(d.X, d.y, qid=d.qid),
        "preferences": lambda: kr.RankRLS(**RBF).fit_pairs(d.X, d.pairs),
        "RLS": lambda: kr.RLS(**RBF).fit(d.X, d.y),
    }


def survival(d: Items) -> Runs:
    censored = {"event": d.event}
    return {
        "plain": lambda: kr.RankRLS(cost="unit").fit(d.X, d.time, **censored),
        "strata of 20": lambda: kr.RankRLS(cost="unit").fit(d.X, d.time, qid=d.qid, **censored),
        "strata of 3": lambda: kr.RankRLS(cost="unit").fit(d.X, d.time, qid=d.tiny, **censored),
        "tied times": lambda: kr.RankRLS(cost="unit").fit(d.X, np.ceil(d.time), **censored),
        "magnitude cost": lambda: kr.RankRLS(cost="magnitude").fit(d.X, d.time, **censored),
        "weights": lambda: kr.RankRLS(cost="unit").fit(d.X, d.time, sample_weight=d.weight, **censored),
        "float32": lambda: kr.RankRLS(cost="unit").fit(d.X32, d.time, **censored),
        "sparse form": lambda: kr.RankRLS(cost="unit").fit(d.csr, d.time, **censored),
        "RankSVM": lambda: kr.RankSVM().fit(d.X, d.time, **censored),
        "estimate_concordance, 5 folds": lambda: kr.estimate_concordance(
            kr.RankRLS(cost="unit"), d.X, d.time, **censored
        ),
    }


def hinge(d: Items) -> Runs:
    wide = np.random.default_rng(1).standard_normal((d.m // 10, 10 * d.m))
    return {
        "plain": lambda: kr.RankSVM().fit(d.X, d.levels, qid=d.qid),
        "many levels": lambda: kr.RankSVM().fit(d.X, d.y, qid=d.qid),
        "one query": lambda: kr.RankSVM().fit(d.X, d.y),
        "queries of 3": lambda: kr.RankSVM().fit(d.X, d.y, qid=d.tiny),
        "weights": lambda: kr.RankSVM().fit(d.X, d.levels, qid=d.qid, sample_weight=d.weight),
        "squared hinge": lambda: kr.RankSVM(loss="squared_hinge").fit(d.X, d.levels, qid=d.qid),
        "float32": lambda: kr.RankSVM().fit(d.X32, d.levels, qid=d.qid),
        "sparse form": lambda: kr.RankSVM().fit(d.csr, d.levels, qid=d.qid),
        "preferences": lambda: kr.RankSVM().fit_pairs(d.X, d.pairs),
        "basis of 100": lambda: kr.RankSVM(**REDUCED).fit(d.X, d.levels, qid=d.qid),
        "tall, as many numbers": lambda: kr.RankSVM().fit(d.tall, np.round(d.y_tall)),
        "wide, as many numbers": lambda: kr.RankSVM().fit(d.wide, d.y[: len(d.wide)]),
        "wide, m / 10 × 10 m": lambda: kr.RankSVM().fit(wide, d.y[: len(wide)]),
    }


def gaussian_hinge(d: Items) -> Runs:
    d = Items(d.m // 4)
    return {
        "plain": lambda: kr.RankSVM(**RBF).fit(d.X, d.levels, qid=d.qid),
        "many levels": lambda: kr.RankSVM(**RBF).fit(d.X, d.y, qid=d.qid),
        "one query": lambda: kr.RankSVM(**RBF).fit(d.X, d.y),
        "weights": lambda: kr.RankSVM(**RBF).fit(d.X, d.levels, qid=d.qid, sample_weight=d.weight),
        "squared hinge": lambda: kr.RankSVM(loss="squared_hinge", **RBF).fit(d.X, d.levels, qid=d.qid),
        "preferences": lambda: kr.RankSVM(**RBF).fit_pairs(d.X, d.pairs),
        "RankRLS": lambda: kr.RankRLS(**RBF).fit(d.X, d.levels, qid=d.qid),
    }


def bradley_terry(d: Items) -> Runs:
    fit = kr.BradleyTerry.fit_pairs
    return {
        "plain": lambda: fit(kr.BradleyTerry(), d.X, d.pairs),
        "weights": lambda: fit(kr.BradleyTerry(), d.X, d.pairs, weight=d.magnitude),
        "ties as halves": lambda: fit(kr.BradleyTerry(), d.X, d.pairs, tie=d.tie),
        "ties by Davidson": lambda: fit(kr.BradleyTerry(ties="davidson"), d.X, d.pairs, tie=d.tie),
        "side bias": lambda: fit(kr.BradleyTerry(side_bias=True), d.X, d.pairs, side=d.tie.astype(float)),
        "50 judges, sides": lambda: fit(
            kr.BradleyTerry(judge_effect="side"), d.X, d.pairs, judge=d.judge, side=d.tie.astype(float)
        ),
        "50 judges, scales": lambda: fit(kr.BradleyTerry(judge_effect="scale"), d.X, d.pairs, judge=d.judge),
        "scores": lambda: kr.BradleyTerry().fit(d.X, d.y, qid=d.qid),
        "sparse form": lambda: fit(kr.BradleyTerry(), d.csr, d.pairs),
        "float32": lambda: fit(kr.BradleyTerry(), d.X32, d.pairs),
        "basis of 100": lambda: fit(kr.BradleyTerry(**REDUCED), d.X, d.pairs),
        "15 alphas": lambda: kr.BradleyTerry().fit_pairs_path(d.X, d.pairs, ALPHAS),
    }


def leaderboard(d: Items) -> Runs:
    winners, losers = (d.pairs // 10).T
    apart = winners != losers
    votes = winners[apart], losers[apart]
    tie, judge, weight = d.tie[apart], d.judge[apart], d.magnitude[apart]
    names = np.char.add("item", votes[0].astype(str)), np.char.add("item", votes[1].astype(str))
    features = dict(enumerate(d.X[: d.m // 10, :3]))
    return {
        "plain": lambda: kr.Leaderboard().fit(*votes),
        "names": lambda: kr.Leaderboard().fit(*names),
        "alpha given": lambda: kr.Leaderboard(alpha=1.0).fit(*votes),
        "least squares": lambda: kr.Leaderboard("least_squares").fit(*votes),
        "ties": lambda: kr.Leaderboard().fit(*votes, tie=tie),
        "weights": lambda: kr.Leaderboard().fit(*votes, weight=weight),
        "50 judges": lambda: kr.Leaderboard().fit(*votes, judge=judge),
        "features": lambda: kr.Leaderboard().fit(*votes, features=features),
        "ten times the items": lambda: kr.Leaderboard().fit(*d.pairs.T),
    }


def pairs_out(d: Items) -> Runs:
    d = Items(d.m // 4)
    some = d.pairs[:500]
    return {
        "plain": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y, differences=False),
        "with the differences": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y),
        "500 pairs": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y, pairs=some),
        "15 alphas": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y, alphas=ALPHAS, differences=False),
        "levels": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.levels, differences=False),
        "weights": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y, sample_weight=d.weight, differences=False),
        "groups of 3": lambda: kr.leave_pair_out(kr.RankRLS(**RBF), d.X, d.y, groups=d.tiny, differences=False),
        "linear": lambda: kr.leave_pair_out(kr.RankRLS(), d.X, d.y, differences=False),
        "linear, sparse form": lambda: kr.leave_pair_out(kr.RankRLS(), d.csr, d.y, differences=False),
        "basis of 100": lambda: kr.leave_pair_out(kr.RankRLS(**REDUCED), d.X, d.y, differences=False),
        "RLS": lambda: kr.leave_pair_out(kr.RLS(**RBF), d.X, d.y, differences=False),
        "tournament_roc": lambda: kr.tournament_roc(kr.RankRLS(**RBF), d.X, d.label),
    }


def queries_out(d: Items) -> Runs:
    model = kr.RankRLS(**RBF)
    return {
        "plain": lambda: kr.leave_query_out(model, d.X, d.y, d.qid),
        "queries of 3": lambda: kr.leave_query_out(model, d.X, d.y, d.tiny),
        "10 queries": lambda: kr.leave_query_out(model, d.X, d.y, np.arange(d.m) // (d.m // 10)),
        "15 alphas": lambda: kr.leave_query_out(model, d.X, d.y, d.qid, alphas=ALPHAS),
        "10 outputs": lambda: kr.leave_query_out(model, d.X, d.Y, d.qid),
        "ties left out": lambda: kr.leave_query_out(kr.RankRLS(ties="exclude", **RBF), d.X, d.levels, d.qid),
        "relative cost": lambda: kr.leave_query_out(kr.RankRLS(cost="relative", **RBF), d.X, d.y, d.qid),
        "weights": lambda: kr.leave_query_out(model, d.X, d.y, d.qid, sample_weight=d.weight),
        "missing scores": lambda: kr.leave_query_out(kr.RankRLS(missing="ignore", **RBF), d.X, d.missing, d.qid),
        "linear": lambda: kr.leave_query_out(kr.RankRLS(), d.X, d.y, d.qid),
        "linear, sparse form": lambda: kr.leave_query_out(kr.RankRLS(), d.csr, d.y, d.qid),
        "basis of 100": lambda: kr.leave_query_out(kr.RankRLS(**REDUCED), d.X, d.y, d.qid),
        "holdout, 10 sets": lambda: kr.holdout(model, d.X, d.y, d.parts, qid=d.qid),
        "strata of censored times": lambda: kr.leave_query_out(
            kr.RankRLS(cost="unit", **RBF), d.X, d.time, d.qid, event=d.event
        ),
    }


def items_out(d: Items) -> Runs:
    d = Items(d.m // 4)
    model, reduced, items = kr.RankRLS(**RBF), kr.RankRLS(**REDUCED), kr.RankRLS(query_weight="items", **RBF)
    return {
        "plain": lambda: kr.leave_one_out(model, d.X, d.y),
        "15 alphas": lambda: kr.leave_one_out(model, d.X, d.y, alphas=ALPHAS),
        "10 outputs": lambda: kr.leave_one_out(model, d.X, d.Y),
        "groups of 3": lambda: kr.leave_one_out(model, d.X, d.y, groups=d.tiny),
        "weights": lambda: kr.leave_one_out(model, d.X, d.y, sample_weight=d.weight),
        "RLS": lambda: kr.leave_one_out(kr.RLS(**RBF), d.X, d.y),
        "RLS, weights": lambda: kr.leave_one_out(kr.RLS(**RBF), d.X, d.y, sample_weight=d.weight),
        "RLS, basis of 100": lambda: kr.leave_one_out(kr.RLS(**REDUCED), d.X, d.y),
        "linear": lambda: kr.leave_one_out(kr.RankRLS(), d.X, d.y),
        "queries, items weigh the same": lambda: kr.leave_one_out(items, d.X, d.y, qid=d.qid),
        "queries": lambda: kr.leave_one_out(model, d.X, d.y, qid=d.qid),
        "basis of 100": lambda: kr.leave_one_out(reduced, d.X, d.y),
        "ties left out": lambda: kr.leave_one_out(kr.RankRLS(ties="exclude", **RBF), d.X, d.levels),
    }


def search(d: Items) -> Runs:
    d = Items(d.m // 4)
    grid = {"gamma": [0.02, 0.05, 0.1]}
    return {
        "plain": lambda: kr.RankRLSCV(**RBF).fit(d.X, d.y, qid=d.qid),
        "queries of 3": lambda: kr.RankRLSCV(**RBF).fit(d.X, d.y, qid=d.tiny),
        "one query, all pairs": lambda: kr.RankRLSCV(**RBF).fit(d.X, d.y),
        "linear": lambda: kr.RankRLSCV().fit(d.X, d.y, qid=d.qid),
        "linear, sparse form": lambda: kr.RankRLSCV().fit(d.csr, d.y, qid=d.qid),
        "basis of 100": lambda: kr.RankRLSCV(**REDUCED).fit(d.X, d.y, qid=d.qid),
        "5 folds": lambda: kr.RankRLSCV(cv=5, **RBF).fit(d.X, d.y, qid=d.qid),
        "chosen by nDCG": lambda: kr.RankRLSCV(scoring="ndcg@10", **RBF).fit(d.X, np.abs(d.levels), qid=d.qid),
        "ties left out": lambda: kr.RankRLSCV(ties="exclude", **RBF).fit(d.X, d.levels, qid=d.qid),
        "relative cost": lambda: kr.RankRLSCV(cost="relative", **RBF).fit(d.X, d.y, qid=d.qid),
        "weights": lambda: kr.RankRLSCV(**RBF).fit(d.X, d.y, qid=d.qid, sample_weight=d.weight),
        "3 gammas": lambda: kr.RankRLSCV(kernel="rbf", kernel_grid=grid).fit(d.X, d.y, qid=d.qid),
        "preferences, linear": lambda: kr.RankRLSCV().fit_pairs(d.X, d.pairs),
        "RLSCV": lambda: kr.RLSCV(**RBF).fit(d.X, d.y),
    }


def preferences_out(d: Items) -> Runs:
    model = kr.RankRLS()
    return {
        "plain": lambda: kr.leave_preferences_out(model, d.X, d.pairs),
        "15 alphas": lambda: kr.leave_preferences_out(model, d.X, d.pairs, alphas=ALPHAS),
        "magnitudes": lambda: kr.leave_preferences_out(model, d.X, d.pairs, magnitude=d.magnitude),
        "weights": lambda: kr.leave_preferences_out(model, d.X, d.pairs, weight=d.magnitude),
        "50 judges": lambda: kr.leave_preferences_out(model, d.X, d.pairs, groups=d.judge),
        "with their items": lambda: kr.leave_preferences_out(model, d.X, d.pairs, items=True),
        "sparse form": lambda: kr.leave_preferences_out(model, d.csr, d.pairs),
        "basis of 100": lambda: kr.leave_preferences_out(kr.RankRLS(**REDUCED), d.X, d.pairs),
        "Bradley-Terry, 50 judges": lambda: kr.leave_preferences_out(kr.BradleyTerry(), d.X, d.pairs, groups=d.judge),
    }


def auc(d: Items) -> Runs:
    d = Items(d.m // 4)
    X, y, groups = d.X, d.label, d.tiny
    nested, few = kr.RankRLSCV(), slice(0, 60)
    return {
        "plain": lambda: kr.estimate_auc(kr.RankRLS(), X, y),
        "Gaussian": lambda: kr.estimate_auc(kr.RankRLS(**RBF), X, y),
        "sparse form": lambda: kr.estimate_auc(kr.RankRLS(), d.csr, y),
        "groups of 3": lambda: kr.estimate_auc(kr.RankRLS(), X, y, groups=groups),
        "by win rates": lambda: kr.estimate_auc(kr.RankRLS(), X, y, interval="components"),
        "averaged folds": lambda: kr.estimate_auc(kr.RankRLS(), X, y, method="averaged"),
        "balanced pairs": lambda: kr.estimate_auc(kr.RankRLS(), X, y, method="balanced_leave_pair_out"),
        "RLSClassifier": lambda: kr.estimate_auc(kr.RLSClassifier(), X, y),
        "alpha chosen inside, 60 items": lambda: kr.estimate_auc(nested, X[few], y[few]),
        "averaged folds, RankSVM": lambda: kr.estimate_auc(kr.RankSVM(), X, y, method="averaged"),
        "compare_auc": lambda: kr.compare_auc(kr.RankRLS(), kr.RankRLS(8.0), X, y),
    }


def permutations(d: Items) -> Runs:
    d = Items(d.m // 4)
    X, y, often = d.X, d.label, {"n_permutations": 99, "random_state": 0}
    return {
        "plain": lambda: kr.permutation_test(kr.RankRLS(), X, y, **often),
        "Gaussian": lambda: kr.permutation_test(kr.RankRLS(**RBF), X, y, **often),
        "15 alphas": lambda: kr.permutation_test(kr.RankRLS(), X, y, alphas=ALPHAS, **often),
        "queries": lambda: kr.permutation_test(kr.RankRLS(), X, d.y, qid=d.qid, **often),
        "queries of 3": lambda: kr.permutation_test(kr.RankRLS(), X, d.y, qid=d.tiny, **often),
        "groups of 3": lambda: kr.permutation_test(kr.RankRLS(), X, y, groups=d.tiny, **often),
        "folds": lambda: kr.permutation_test(kr.RankRLS(), X, y, statistic="folds", **often),
        "sparse form": lambda: kr.permutation_test(kr.RankRLS(), d.csr, y, **often),
    }


def unscored(d: Items) -> Runs:
    half = d.m // 2
    X, y, qid, more = d.X[:half], d.y[:half], d.qid[:half], {"X_unscored": d.X[half:]}
    small = {"basis": 50, "gamma": 0.05, "random_state": 0}
    return {
        "plain": lambda: kr.CoRankRLS(**small).fit(X, y, qid=qid, **more),
        "nothing unscored": lambda: kr.CoRankRLS(nu=0.0, **small).fit(X, y, qid=qid),
        "basis of 100": lambda: kr.CoRankRLS(**(small | {"basis": 100})).fit(X, y, qid=qid, **more),
        "4 views": lambda: kr.CoRankRLS(views=4, **small).fit(X, y, qid=qid, **more),
        "ties left out": lambda: kr.CoRankRLS(ties="exclude", **small).fit(X, np.round(y), qid=qid, **more),
        "relative cost": lambda: kr.CoRankRLS(cost="relative", **small).fit(X, y, qid=qid, **more),
        "weights": lambda: kr.CoRankRLS(**small).fit(X, y, qid=qid, sample_weight=d.weight[:half], **more),
        "15 alphas": lambda: kr.CoRankRLS(**small).fit_path(X, y, ALPHAS, qid=qid, **more),
    }


def transduction(d: Items) -> Runs:
    known = np.where(d.qid % 2 == 0, d.y, np.nan)
    tiny = np.where(d.tiny % 2 == 0, d.y, np.nan)
    return {
        "plain": lambda: kr.TransductiveRankRLS(**RBF).fit(d.X, known, qid=d.qid),
        "queries of 3": lambda: kr.TransductiveRankRLS(**RBF).fit(d.X, tiny, qid=d.tiny),
        "5 folds": lambda: kr.TransductiveRankRLS(cv=5, **RBF).fit(d.X, known, qid=d.qid),
        "15 anchors": lambda: kr.TransductiveRankRLS(**RBF).fit_path(d.X, known, ALPHAS, qid=d.qid),
        "weights": lambda: kr.TransductiveRankRLS(**RBF).fit(d.X, known, qid=d.qid, sample_weight=d.weight),
        "linear": lambda: kr.TransductiveRankRLS().fit(d.X, known, qid=d.qid),
        "linear, sparse form": lambda: kr.TransductiveRankRLS().fit(d.csr, known, qid=d.qid),
        "basis of 100": lambda: kr.TransductiveRankRLS(**REDUCED).fit(d.X, known, qid=d.qid),
    }


def greedy(d: Items) -> Runs:
    X, y, qid = d.X, d.y, d.qid
    return {
        "plain": lambda: kr.GreedyRankRLS(10).fit(X, y, qid=qid),
        "queries of 3": lambda: kr.GreedyRankRLS(10).fit(X, y, qid=d.tiny),
        "one query, pairs": lambda: kr.GreedyRankRLS(10).fit(X, y),
        "weights": lambda: kr.GreedyRankRLS(10).fit(X, y, qid=qid, sample_weight=d.weight),
        "weights, pairs": lambda: kr.GreedyRankRLS(10).fit(X, y, sample_weight=d.weight),
        "alpha chosen": lambda: kr.GreedyRankRLS(10, alpha="auto").fit(X, y, qid=qid),
        "number chosen": lambda: kr.GreedyRankRLS().fit(X, y, qid=qid),
        "floating": lambda: kr.GreedyRankRLS(10, floating=True).fit(X, y, qid=qid),
        "float32": lambda: kr.GreedyRankRLS(10, dtype="float32").fit(d.X32, y, qid=qid),
        "sparse form": lambda: kr.GreedyRankRLS(10).fit(d.csr, y, qid=qid),
        "wide, as many numbers": lambda: kr.GreedyRankRLS(10).fit(d.wide, y[: len(d.wide)], qid=qid[: len(d.wide)]),
        "GreedyRLS": lambda: kr.GreedyRLS(10).fit(X, y),
    }


def dyads(d: Items) -> Runs:
    rng = np.random.default_rng(2)
    rows, columns = d.X[: d.m // 4], rng.standard_normal((d.m // 8, 10))
    Y = rows[:, :1] * columns[:, 0] + rng.standard_normal((len(rows), len(columns)))
    most = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    few = np.where((rng.random(Y.shape) < 0.9) & ~np.eye(*Y.shape, dtype=bool), np.nan, Y)
    few[:, 0] = Y[:, 0]
    kernels = {"kernel_rows": "rbf", "kernel_columns": "rbf", "gamma_rows": 0.05, "gamma_columns": 0.1}
    K, R, T = kr.KroneckerRLS(**kernels), kr.KroneckerRankRLS(**kernels), kr.TwoStepRLS(**kernels)

    def held_out(setting: str, model: Any = K, **more: Any) -> Callable[[], Any]:
        return lambda: kr.dyadic_holdout(model, rows, columns, Y, setting=setting, **more)

    return {
        "plain": lambda: K.fit(rows, columns, Y),
        "KroneckerRankRLS": lambda: R.fit(rows, columns, Y),
        "TwoStepRLS": lambda: T.fit(rows, columns, Y),
        "linear": lambda: kr.KroneckerRLS().fit(rows, columns, Y),
        "15 alphas": lambda: K.fit_path(rows, columns, Y, ALPHAS),
        "9 of 10 cells known": lambda: K.fit(rows, columns, most),
        "1 of 10 cells known": lambda: K.fit(rows, columns, few),
        "1 of 10 cells known, ranking": lambda: R.fit(rows, columns, few),
        "one set, symmetric": lambda: kr.KroneckerRLS(kernel_rows="rbf", gamma_rows=0.05, relation="symmetric").fit(
            rows, None, rows @ rows.T
        ),
        "cells held out": held_out("cell"),
        "rows held out": held_out("row"),
        "columns held out": held_out("column"),
        "rows and columns held out": held_out("both", cv=5),
        "cells held out, 15 alphas": held_out("cell", alphas=ALPHAS),
        "cells held out, TwoStepRLS": held_out("cell", T),
        "rows held out, ranking": held_out("row", R),
        "KroneckerRLSCV": lambda: kr.KroneckerRLSCV(**kernels).fit(rows, columns, Y),
    }


def measures(d: Items) -> Runs:
    many = 20
    y, f = np.tile(np.abs(d.levels).clip(max=4.0), many), np.random.default_rng(3).standard_normal(many * d.m)
    qid, tiny = np.arange(len(y)) // 20, np.arange(len(y)) // 3
    named, high = np.char.add("q", qid.astype(str)), y > 1.0
    return {
        "plain": lambda: metrics.pairwise_accuracy(y, f, qid=qid),
        "one query": lambda: metrics.pairwise_accuracy(y, f),
        "queries of 3": lambda: metrics.pairwise_accuracy(y, f, qid=tiny),
        "names of queries": lambda: metrics.pairwise_accuracy(y, f, qid=named),
        "kendall_tau": lambda: metrics.kendall_tau(y, f, qid=qid),
        "ndcg": lambda: metrics.ndcg(y, f, qid=qid),
        "map": lambda: metrics.mean_average_precision(high, f, qid=qid),
        "reciprocal_rank": lambda: metrics.reciprocal_rank(high, f, qid=qid),
        "expected_reciprocal_rank": lambda: metrics.expected_reciprocal_rank(y, f, qid=qid),
        "auc": lambda: metrics.auc(high, f, qid=qid),
        "threshold_f": lambda: metrics.threshold_f(high, f, qid=qid),
        "concordance": lambda: metrics.concordance(y + 1.0, f, event=high),
        "with an interval": lambda: metrics.PairwiseAccuracy()(y, f, qid=qid).interval(),
    }


def predictions(d: Items) -> Runs:
    import pandas as pd

    linear, kernel = kr.RankRLS().fit(d.X, d.y), kr.RankRLS(**RBF).fit(d.X, d.y)
    reduced, frame = kr.RankRLS(**REDUCED).fit(d.X, d.y), pd.DataFrame(d.X)
    judged = kr.RankRLS(**RBF).fit_pairs(d.X, d.pairs)
    return {
        "plain": lambda: kernel.predict(d.X),
        "float32": lambda: kernel.predict(d.X32),
        "sparse form": lambda: kernel.predict(d.csr),
        "data frame": lambda: kernel.predict(frame),
        "ten parts": lambda: [kernel.predict(d.X[part]) for part in d.parts],
        "basis of 100": lambda: reduced.predict(d.X),
        "linear": lambda: linear.predict(d.X),
        "linear, scored": lambda: linear.score(d.X, d.y, qid=d.qid),
        "100 comparisons": lambda: judged.compare(d.X[:100], d.X[100:200]),
        "permutation_importance, linear": lambda: kr.permutation_importance(linear, d.X, d.y, d.qid, random_state=0),
    }


def files(d: Items, folder: Path) -> Runs:
    text, table, parquet, zipped = (folder / f"{d.m}.{end}" for end in ("txt", "csv", "parquet", "txt.gz"))
    write_ranking(text, np.tile(d.X.round(6), (4, 1)), np.tile(d.levels, 4), qid=np.arange(4 * d.m) // 20)
    for path in (table, parquet, zipped):
        write_items(read_items(text), path)
    columns = {"target": "target", "query": "qid"}

    def read_and_fit(path: Path, **columns: str) -> None:
        items = read_items(path, **columns)
        kr.RankRLS().fit(items.X, items.y, qid=items.qid)

    return {
        "plain": lambda: read_and_fit(text),
        "CSV": lambda: read_and_fit(table, **columns),
        "Parquet": lambda: read_and_fit(parquet, **columns),
        "compressed": lambda: read_and_fit(zipped),
        "fit of the file": lambda: kr.RankRLS().fit(text),
        "fit of the Parquet file": lambda: kr.RankRLS().fit(parquet, "target", qid="qid"),
    }


FAMILIES: Mapping[str, Callable[[Items], Runs]] = {
    "RankRLS, linear": linear,
    "RankRLS, Gaussian": gaussian,
    "RankRLS, censored times": survival,
    "RankSVM, linear": hinge,
    "RankSVM, m / 4, Gaussian": gaussian_hinge,
    "BradleyTerry, 10 m votes": bradley_terry,
    "Leaderboard, 10 m votes": leaderboard,
    "leave_pair_out, m / 4, Gaussian": pairs_out,
    "leave_one_out, m / 4, Gaussian": items_out,
    "leave_query_out, Gaussian": queries_out,
    "leave_preferences_out, linear": preferences_out,
    "RankRLSCV, m / 4, Gaussian": search,
    "estimate_auc, m / 4, linear": auc,
    "permutation_test, m / 4, linear": permutations,
    "CoRankRLS": unscored,
    "TransductiveRankRLS, Gaussian": transduction,
    "GreedyRankRLS, 10 columns": greedy,
    "KroneckerRLS, m / 4 × m / 8": dyads,
    "measures, 20 m items": measures,
    "predict, Gaussian": predictions,
}


def measured(runs: Runs) -> dict[str, float]:
    """Return the best seconds of each run in turns, after one that compiles; short families take more turns."""
    best = dict.fromkeys(runs, float("inf"))
    with threadpool_limits(1):
        for run in runs.values():
            run()
        begin = time.process_time()
        while time.process_time() < begin + SECONDS:
            for name, run in runs.items():
                start = time.process_time()
                run()
                best[name] = min(best[name], time.process_time() - start)
    return best


def rounded(value: float, digits: int) -> str:
    return f"{float(f'{value:.{digits}g}'):,g}"


def main(sizes: list[int], families: list[str]) -> None:
    print("| family | option | " + " | ".join(f"m = {m:,}" for m in sizes) + " |")
    print("|---|---|" + "---|" * len(sizes))
    above = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = [Items(m) for m in sizes]
        for family in families:
            make = FAMILIES[family] if family in FAMILIES else lambda d: files(d, Path(folder))
            found = [measured(make(d)) for d in data]
            for name in found[0]:
                ratios = [seconds[name] / seconds["plain"] for seconds in found]
                cells = [f"{rounded(1e3 * seconds[name], 3)} ms" for seconds in found]
                if name != "plain":
                    cells = [rounded(ratio, 2) for ratio in ratios]
                print(f"| {family} | {name} | " + " | ".join(cells) + " |", flush=True)
                if max(ratios) > LIMIT:
                    above.append(f"{family}: {name}")
    print(f"\nabove {LIMIT:g} ×: " + ("; ".join(above) or "none"))


if __name__ == "__main__":
    names = [*FAMILIES, "files, 4 m rows"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2_000])
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="FAMILY")
    arguments = parser.parse_args()
    main(arguments.sizes, arguments.only)
