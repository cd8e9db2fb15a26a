"""An F-score of several folds is estimated better by pooling than by averaging where both classes are frequent.

The question that the thesis leaves open (section 5.4): for AUC pooling is biased low, and what pooling and averaging
mean for F is not clear. The same simulation as for AUC: linear RLS with a constant feature, labels -1 and 1, positive
where the score is. The true F of each trained model at the share of positive items is known in closed form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from kernelrank.exact_cv import ItemSets, leave_sets_out
from studies.auc_estimators_compared import ALPHA, SETTINGS, Draw, deal
from studies.book.picture import legend_above, picture
from studies.book.study import Run, Study

FOLDS = {"leave-one-out": 0, "10-fold": 10, "5-fold": 5}


def true_f(draw: Draw, shift: float) -> float:
    """Return the F of the trained model on new items, with the share of positive items of the sample."""
    w = draw.learner.fit(draw.X, draw.y).coef_
    length, share = np.linalg.norm(w[:-1]), draw.positive / draw.m
    found, alarms = (norm.cdf((w[-1] + side * shift * w[0] / 2) / length) for side in (1, -1))
    return float(2 * share * found / (share * (1 + found) + (1 - share) * alarms))


def f_score(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return F; NaN where nothing is positive and nothing is predicted so."""
    both = 2 * np.sum(positive & (scores > 0))
    either = np.sum(positive) + np.sum(scores > 0)
    return float(both / either) if either else float("nan")


def estimates(draw: Draw) -> dict[str, float]:
    """Return pooled and averaged F of every way to hold out."""
    dealt = {
        name: [np.array([i]) for i in range(draw.m)] if not k else deal(draw, k, True) for name, k in FOLDS.items()
    }
    sets = ItemSets.of([fold for folds in dealt.values() for fold in folds], draw.m)
    held = leave_sets_out(draw.problem, sets, np.array([ALPHA]))[:, 0, 0]
    positive, start, found = draw.y > 0, 0, {}
    for name, folds in dealt.items():
        scores = np.empty(draw.m)
        scores[np.concatenate(folds)] = held[start : start + draw.m]
        start += draw.m
        found[f"{name} pooled"] = f_score(positive, scores)
        if name != "leave-one-out":
            values = np.array([f_score(positive[fold], scores[fold]) for fold in folds])
            found[f"{name} averaged"] = float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
    return found


def simulate(m: int, share: float, n_features: int, shift: float, draws: int, seed: int) -> dict[str, Any]:
    """Return bias and standard deviation of each estimate beside the model at hand."""
    rng = np.random.default_rng([seed, m, n_features, int(100 * share), int(100 * shift)])
    found: dict[str, list[float]] = {}
    truths = []
    for _ in range(draws):
        draw = Draw(m, round(share * m), n_features, shift, rng)
        truth = true_f(draw, shift)
        truths.append(truth)
        for name, value in estimates(draw).items():
            if np.isfinite(value):
                found.setdefault(name, []).append(value - truth)
    rows = {
        name: {"bias": np.mean(d), "bias_se": np.std(d, ddof=1) / np.sqrt(len(d)), "sd": np.std(d, ddof=1)}
        for name, d in found.items()
    }
    return {"truth": np.mean(truths), "rows": rows}


def protocol(run: Run) -> dict[str, Any]:
    """Simulate every setting at every size."""
    return {
        title: {str(m): simulate(m, *setting, max(20, run["draws"] * 30 // m), run.seed) for m in run["sizes"]}
        for title, setting in SETTINGS.items()
        if setting[1] < 1000
    }


def draw_bias(tables: dict[str, Any], folder: Path) -> None:
    """Draw the bias over the number of items."""
    with picture(folder / "f_pooled_or_averaged.svg", 6.8, 2.6 * ((len(tables) + 1) // 2) + 0.8) as figure:
        axes = figure.subplots((len(tables) + 1) // 2, 2, sharey=True, squeeze=False).ravel()
        for ax, (title, sizes) in zip(axes, tables.items(), strict=False):
            where = [int(m) for m in sizes]
            for name in next(iter(sizes.values()))["rows"]:
                values = [sizes[str(m)]["rows"][name]["bias"] for m in where]
                ax.plot(where, values, marker="o", label=name, linestyle="--" if "averaged" in name else "-")
            ax.axhline(0, color="black", linewidth=0.8)
            ax.set(title=title, xlabel="items", xscale="log")
            ax.set_xticks(where, [str(m) for m in where])
            ax.minorticks_off()
        for ax in axes[::2]:
            ax.set_ylabel("bias of F")
        legend_above(figure, axes[0], columns=2)


STUDY = Study(protocol, settings={"draws": (2000, 200), "sizes": ((30, 50, 100, 200), (30, 100))}, draw=draw_bias)
