"""Claim: leave-pair-out estimates an AUC with little bias and low variance; pooling single items is biased low.

The simulation of the thesis, 5.4: linear RLS (alpha = 1, a constant feature for the intercept) on 10 features drawn
from a normal distribution, without signal or with one feature whose mean differs by 1 between the classes; half of the
items positive, or a tenth. Every estimate is compared with the AUC that the model trained on all items has on new ones,
which is known: Φ(w·δ / (√2 ‖w‖)), δ being the difference of the means. Bias is the mean of estimate minus truth, with
its standard error, and sd the deviation's standard deviation. Coverage is how often a 95% interval holds the truth.
There are `draws` draws at 30 items and fewer of more items, in proportion, which keeps the standard errors alike.
Conditional means beside the model at hand, unconditional beside the mean of all models of that size.
Without the constant feature there is no intercept for a held-out item to move, and pooling loses most of its bias.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from kernelrank.estimators import RLS
from kernelrank.exact_cv import DifferingPairs, ItemSets, leave_pair_out, leave_sets_out
from kernelrank.metrics.roc import Components, TwoClasses, score_interval
from kernelrank.model_selection.auc import Task, pair_found, to_estimate
from kernelrank.model_selection.refits import HoldoutData
from studies.book.picture import legend_above, picture
from studies.book.study import Run, Study

ALPHA = 1.0
SETTINGS = {
    "half positive, no signal": (0.5, 10, 0.0),
    "a tenth positive, no signal": (0.1, 10, 0.0),
    "half positive, one signal feature": (0.5, 10, 1.0),
    "a tenth positive, one signal feature": (0.1, 10, 1.0),
    "half positive, no signal, 1000 features": (0.5, 1000, 0.0),
}
FOLDS = {"10-fold": (10, True), "10-fold unstratified": (10, False), "5-fold": (5, True)}
PLOTTED = (
    "leave-pair-out",
    "balanced",
    "leave-one-out pooled",
    "10-fold pooled",
    "10-fold averaged",
    "5-fold averaged",
)


class Draw:
    """One data set: the first items are positive."""

    def __init__(self, m: int, positive: int, n_features: int, shift: float, rng: np.random.Generator) -> None:
        self.m, self.positive, self.rng = m, positive, rng
        self.y = np.where(np.arange(m) < positive, 1.0, -1.0)
        X = rng.standard_normal((m, n_features))
        X[:, 0] += shift * self.y / 2
        self.X = np.column_stack([X, np.ones(m)])
        self.learner = RLS(ALPHA)
        self.problem = HoldoutData(self.learner, self.X, self.y).problems[0][1]
        w = self.learner.fit(self.X, self.y).coef_[:-1]
        self.truth = float(norm.cdf(shift * w[0] / (np.sqrt(2) * np.linalg.norm(w))))

    def components(self, scores: np.ndarray) -> Components:
        """Compare all scores."""
        return Components.of_scores(scores[: self.positive], scores[self.positive :])

    def interval(self, auc: float, variance: float, degrees: float = np.inf) -> tuple[float, float]:
        """Return a 95% interval."""
        return score_interval(auc, variance, 0.95, self.positive, self.m - self.positive, degrees)

    def of_scores(self, scores: np.ndarray) -> tuple[float, tuple[float, float]]:
        """Return the AUC of scores with the interval of their components."""
        components = self.components(scores)
        return components.auc, self.interval(components.auc, *components.variance())


def pairs_held_out(draw: Draw) -> dict[str, tuple[float, tuple[float, float]]]:
    """Leave-pair-out with its two intervals, and the tournament."""
    m, P = draw.m, draw.positive
    every = DifferingPairs(np.arange(m), np.arange(1, m + 1))
    difference, _ = leave_pair_out(draw.problem, every, np.array([ALPHA]))
    wins = np.zeros((m, m))
    wins[np.triu_indices(m, 1)] = 0.5 + 0.5 * np.sign(difference[0, 0])
    lower = np.tril_indices(m, -1)
    wins[lower] = 1.0 - wins.T[lower]
    scores = wins.sum(axis=1)
    block = wins[:P, P:]
    components = Components(block.mean(axis=1), block.mean(axis=0))
    variance, degrees = components.variance()
    task = Task(draw.learner, draw.X, TwoClasses.read(draw.y, m))
    found = pair_found(task, components, task.on_halves())

    def with_training(auc: float) -> tuple[float, tuple[float, float]]:
        interval = to_estimate(replace(found, auc=auc), task, "leave_pair_out", 0.95).interval
        return auc, (interval.low, interval.high)

    return {
        "leave-pair-out": with_training(components.auc),
        "leave-pair-out, components": (components.auc, draw.interval(components.auc, variance, degrees)),
        "tournament": with_training(draw.components(scores).auc),
    }


def deal(draw: Draw, n_folds: int, stratified: bool) -> list[np.ndarray]:
    P = draw.positive
    if stratified:
        order = np.concatenate([draw.rng.permutation(P), P + draw.rng.permutation(draw.m - P)])
    else:
        order = draw.rng.permutation(draw.m)
    return [order[start::n_folds] for start in range(n_folds)]


def averaged(draw: Draw, folds: list[np.ndarray], scores: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return the mean AUC of the folds that have both classes."""
    aucs = []
    for fold in folds:
        positive = fold < draw.positive
        if 0 < positive.sum() < len(fold):
            aucs.append(Components.of_scores(scores[fold[positive]], scores[fold[~positive]]).auc)
    if len(aucs) < 2:
        return float(np.mean(aucs)) if aucs else np.nan, (0.0, 1.0)
    auc = float(np.mean(aucs))
    return auc, draw.interval(auc, float(np.var(aucs, ddof=1)) / len(aucs), len(aucs) - 1.0)


def sets_held_out(draw: Draw) -> dict[str, tuple[float, tuple[float, float]]]:
    """Leave-one-out, balanced, and folds: all from one decomposition."""
    m, P = draw.m, draw.positive
    partner = np.empty(m, dtype=np.int64)
    positives, negatives = np.arange(P), np.arange(P, m)
    partner[draw.rng.permutation(positives)] = np.resize(draw.rng.permutation(negatives), P)
    partner[draw.rng.permutation(negatives)] = np.resize(draw.rng.permutation(positives), m - P)
    folds = {name: deal(draw, *how) for name, how in FOLDS.items()}
    singles = [np.array([i]) for i in range(m)]
    balanced = [np.array([i, partner[i]]) for i in range(m)]
    sets = ItemSets.of([*singles, *balanced, *(fold for dealt in folds.values() for fold in dealt)], m)
    held = leave_sets_out(draw.problem, sets, np.array([ALPHA]))[:, 0, 0]
    found = {
        "leave-one-out pooled": draw.of_scores(held[:m]),
        "balanced": draw.of_scores(held[m : 3 * m : 2]),
    }
    start = 3 * m
    for name, dealt in folds.items():
        scores = np.empty(m)
        scores[np.concatenate(dealt)] = held[start : start + m]
        start += m
        found[f"{name} pooled"] = draw.of_scores(scores)
        found[f"{name} averaged"] = averaged(draw, dealt, scores)
    return found


def simulate(m: int, share: float, n_features: int, shift: float, draws: int, seed: int) -> dict[str, Any]:
    """Return for each estimator its bias, its spread and the coverage of its intervals."""
    rng = np.random.default_rng([seed, m, n_features, int(100 * share), int(100 * shift)])
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    truths = []
    for _ in range(draws):
        draw = Draw(m, round(share * m), n_features, shift, rng)
        truths.append(draw.truth)
        for name, (auc, (low, high)) in {**pairs_held_out(draw), **sets_held_out(draw)}.items():
            if np.isfinite(auc):
                found.setdefault(name, []).append((auc, draw.truth, low, high))
    return {name: summary(np.array(rows), float(np.mean(truths))) for name, rows in found.items()}


def summary(rows: np.ndarray, expected: float) -> dict[str, float]:
    """Return bias and standard deviation with their standard errors, beside each model and beside the mean of all."""
    auc, truth, low, high = rows.T
    n, deviation = len(rows), auc - truth
    sd = float(deviation.std(ddof=1))
    fourth = float(np.mean((deviation - deviation.mean()) ** 4))
    return {
        "bias": float(deviation.mean()),
        "bias_se": sd / np.sqrt(n),
        "sd": sd,
        "sd_se": np.sqrt(max(fourth - sd**4, 0.0) / n) / (2 * sd),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "unconditional_bias": float(auc.mean() - expected),
        "unconditional_sd": float(auc.std(ddof=1)),
        "draws": n,
    }


def protocol(run: Run) -> dict[str, Any]:
    """Simulate every setting at every size."""
    found: dict[str, Any] = {}
    for title, (share, n_features, shift) in SETTINGS.items():
        sizes = run["sizes"] if n_features < 1000 else run["sizes"][:1]
        found[title] = {
            str(m): simulate(m, share, n_features, shift, max(20, run["draws"] * 30 // m), run.seed) for m in sizes
        }
    return {"simulated": found, "alpha": ALPHA}


def draw_curves(tables: dict[str, Any], folder: Path) -> None:
    """Draw bias and standard deviation over the number of items."""
    results = tables["simulated"]
    titles = [title for title, by_size in results.items() if len(by_size) > 1]
    if not titles:
        return
    with picture(folder / "auc_estimators_compared.svg", 6.8, 2.4 * len(titles) + 0.8) as figure:
        axes = figure.subplots(len(titles), 2, sharex=True, sharey="col", squeeze=False)
        for row_of_plots, title in enumerate(titles):
            sizes = [int(m) for m in results[title]]
            for number, estimator in enumerate(PLOTTED):
                rows = [results[title][str(m)][estimator] for m in sizes]
                # A little apart, so that error bars can be told from one another.
                where = np.array(sizes) * 1.02 ** (number - len(PLOTTED) / 2)
                for ax, name in zip(axes[row_of_plots], ("bias", "sd"), strict=True):
                    values, errors = [row[name] for row in rows], [2 * row[f"{name}_se"] for row in rows]
                    ax.errorbar(where, values, errors, marker="o", markersize=3, label=estimator)
            bias, deviation = axes[row_of_plots]
            bias.axhline(0, color="black", linewidth=0.8)
            bias.set_ylabel(title.replace(", ", ",\n"))
            deviation.set(xscale="log", yscale="log")
            deviation.set_xticks(sizes, [str(m) for m in sizes])
            deviation.set_yticks([0.03, 0.05, 0.1, 0.2, 0.3], ["0.03", "0.05", "0.1", "0.2", "0.3"])
            deviation.minorticks_off()
        axes[0, 0].set_title("bias, ± 2 standard errors")
        axes[0, 1].set_title("standard deviation")
        for ax in axes[-1]:
            ax.set_xlabel("items")
        legend_above(figure, axes[0, 0], columns=2)


STUDY = Study(
    protocol,
    settings={"draws": (2000, 100), "sizes": ((30, 50, 100, 200, 400), (30, 100))},
    draw=draw_curves,
)
