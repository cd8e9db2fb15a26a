"""Pooled hold-outs of an AUC: how wrong they are depends on alpha and on the constant column.

`auc_estimators_compared` shows the bias of pooling at one strength of regularisation. Here the same simulation runs
over many: linear RLS with labels -1 and 1 on ten features and a constant column, which stands for an intercept. The
larger alpha is, the more a held-out score is the mean of the labels that are left, and this mean falls where a positive
item leaves. So pooled scores order the classes the wrong way round. Every estimate is compared with the AUC that the
model of all items has on new ones, which is known in closed form. A pair that leaves has both classes in it, so
leave-pair-out is not touched; nor are folds whose AUCs are averaged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from kernelrank.estimators import RLS
from kernelrank.exact_cv import DifferingPairs, ItemSets, leave_pair_out, leave_sets_out
from kernelrank.metrics.roc import Components
from kernelrank.model_selection.refits import HoldoutData
from studies.book.picture import legend_above, picture
from studies.book.study import Run, Study

ITEMS, FEATURES, FOLDS = 30, 10, 10
SHARES = {"half positive": 0.5, "a tenth positive": 0.1}
SHIFTS = {"no signal": 0.0, "one signal feature": 1.0}


def dealt(positive: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return stratified folds."""
    order = np.concatenate([rng.permutation(positive), positive + rng.permutation(ITEMS - positive)])
    return [order[start::FOLDS] for start in range(FOLDS)]


def fold_mean(folds: list[np.ndarray], scores: np.ndarray, positive: int) -> float:
    """Return the mean AUC of the folds that have both classes."""
    aucs = [
        Components.of_scores(scores[fold[fold < positive]], scores[fold[fold >= positive]]).auc
        for fold in folds
        if 0 < (fold < positive).sum() < len(fold)
    ]
    return float(np.mean(aucs)) if aucs else float("nan")


def estimates(X: np.ndarray, y: np.ndarray, alphas: np.ndarray, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return each estimate of the AUC for every alpha, all from one decomposition."""
    positive = int((y > 0).sum())
    problem = HoldoutData(RLS(1.0), X, y).problems[0][1]
    first, second = np.triu_indices(ITEMS, 1)
    difference = leave_pair_out(problem, DifferingPairs(np.arange(ITEMS), np.arange(1, ITEMS + 1)), alphas)[0]
    mixed = (first < positive) & (second >= positive)
    wins = 0.5 + 0.5 * np.sign(difference[0][:, mixed])
    folds = dealt(positive, rng)
    singles = [np.array([i]) for i in range(ITEMS)]
    held = leave_sets_out(problem, ItemSets.of([*singles, *folds], ITEMS), alphas)[:, 0]
    in_folds = np.empty((ITEMS, len(alphas)))
    in_folds[np.concatenate(folds)] = held[ITEMS:]
    pooled = [
        [Components.of_scores(scores[:positive, a], scores[positive:, a]).auc for a in range(len(alphas))]
        for scores in (held[:ITEMS], in_folds)
    ]
    return {
        "leave-pair-out": wins.mean(axis=1).tolist(),
        "leave-one-out pooled": pooled[0],
        "ten folds pooled": pooled[1],
        "ten folds averaged": [fold_mean(folds, in_folds[:, a], positive) for a in range(len(alphas))],
    }


def truths(X: np.ndarray, y: np.ndarray, shift: float, alphas: np.ndarray) -> np.ndarray:
    """Return the AUC of the trained model on new items, for every alpha."""
    if shift == 0:
        return np.full(len(alphas), 0.5)
    A, b = X.T @ X, X.T @ y
    w = np.array([np.linalg.solve(A + alpha * np.eye(len(A)), b)[:-1] for alpha in alphas])
    return np.asarray(norm.cdf(shift * w[:, 0] / (np.sqrt(2) * np.linalg.norm(w, axis=1))))


def simulate(share: float, shift: float, constant: float, alphas: np.ndarray, draws: int, seed: int) -> dict[str, Any]:
    """Return the mean of each estimate and its bias, by alpha."""
    rng = np.random.default_rng([seed, int(100 * share), int(100 * shift), int(constant)])
    positive = round(share * ITEMS)
    y = np.where(np.arange(ITEMS) < positive, 1.0, -1.0)
    found: dict[str, list[list[float]]] = {}
    known = []
    for _ in range(draws):
        X = np.column_stack([rng.standard_normal((ITEMS, FEATURES)), np.full(ITEMS, constant)])
        X[:, 0] += shift * y / 2
        known.append(truths(X, y, shift, alphas))
        for name, values in estimates(X, y, alphas, rng).items():
            found.setdefault(name, []).append(values)
    truth, rows = np.array(known), {}

    def by_alpha(values: np.ndarray) -> dict[str, float]:
        return dict(zip((f"{alpha:g}" for alpha in alphas), values, strict=True))

    for name, values in found.items():
        deviation = np.array(values) - truth
        rows[name] = {
            "mean": by_alpha(np.mean(values, axis=0)),
            "bias": by_alpha(deviation.mean(axis=0)),
            "bias_se": by_alpha(deviation.std(axis=0, ddof=1) / np.sqrt(draws)),
        }
    return {"truth": by_alpha(truth.mean(axis=0)), "rows": rows}


def protocol(run: Run) -> dict[str, Any]:
    """Simulate every setting with every constant column."""
    alphas = np.array(run["alphas"], dtype=float)
    return {
        f"{share}, {shift}": {
            f"{constant:g}": simulate(SHARES[share], SHIFTS[shift], constant, alphas, run["draws"], run.seed)
            for constant in run["constants"]
        }
        for share in SHARES
        for shift in SHIFTS
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the bias over alpha, a row for each setting and a column for each constant."""
    constants = list(next(iter(tables.values())))
    with picture(folder / "pooling_over_strengths.svg", 7.2, 2.1 * len(tables) + 0.8) as figure:
        axes = figure.subplots(len(tables), len(constants), sharex=True, sharey=True, squeeze=False)
        for row, (title, by_constant) in zip(axes, tables.items(), strict=True):
            for ax, (constant, cell) in zip(row, by_constant.items(), strict=True):
                for name, values in cell["rows"].items():
                    bias = values["bias"]
                    ax.plot([float(alpha) for alpha in bias], list(bias.values()), "o-", markersize=3, label=name)
                ax.axhline(0, color="black", linewidth=0.8)
                ax.set_xscale("log")
                if ax in axes[0]:
                    ax.set_title(f"constant column {constant}")
                if ax in axes[-1]:
                    ax.set_xlabel("alpha")
            row[0].set_ylabel(title.replace(", ", ",\n") + "\nbias")
        legend_above(figure, axes[0, 0], columns=2)


STUDY = Study(
    protocol,
    settings={
        "draws": (1000, 50),
        "alphas": ((0.1, 1.0, 10.0, 100.0, 300.0, 1000.0, 10000.0), (0.1, 1.0, 10.0, 100.0, 300.0, 1000.0, 10000.0)),
        "constants": ((0.0, 1.0, 10.0), (1.0, 10.0)),
    },
    draw=draw,
)
