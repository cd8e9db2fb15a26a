"""Draw the pictures of the how-tos and the guide from the code that they show: ``python docs/draw_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from draw_guide_pictures import draw_guide
from matplotlib.figure import Figure
from sklearn.datasets import make_classification

import kernelrank as kr
from kernelrank.metrics import dyadic_concordance
from kernelrank.report import ForestDisplay

FOLDER = Path(__file__).parent / "how_to" / "pictures"


def draw() -> None:
    """Write every picture; the same code writes the same files."""
    mpl.rcParams.update({"svg.hashsalt": "kernelrank", "svg.fonttype": "none", "font.family": "sans-serif"})
    X, y = make_classification(80, 300, n_informative=10, n_redundant=0, class_sep=1.5, random_state=0)
    roc = kr.tournament_roc(kr.RankRLS(alpha=1e4), X, y)
    figure = Figure(figsize=(4.6, 4.4), layout="constrained")
    roc.plot(ax=figure.add_subplot(), random_state=0)
    figure.savefig(FOLDER / "tournament_roc.svg", metadata={"Date": None})
    compared = kr.compare_auc(kr.RankRLS(alpha=1e4), X[:, 0], X, y)
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    compared.plot(ax=figure.add_subplot(), names=("model", "marker"))
    figure.savefig(FOLDER / "compared_aucs.svg", metadata={"Date": None})
    genes, outcome = make_classification(80, 500, n_informative=5, n_redundant=0, class_sep=1.5, random_state=0)
    curve = kr.selection_curve(kr.GreedyRankRLS(10, alpha=100.0), genes, outcome, cv=10, n_repeats=2, random_state=0)
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = kr.report.SelectionDisplay(curve).plot(ax=figure.add_subplot()).ax_
    ax.set_ylim(0.6, 1.02)
    ax.legend(loc="lower right")
    figure.savefig(FOLDER / "selection_curve.svg", metadata={"Date": None})
    _draw_survival()
    _draw_preferences()
    _draw_leaderboard()
    draw_guide()


def _draw_survival() -> None:
    """Draw the curves of the thirds of held-out scores."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    lasted, followed = rng.exponential(np.exp(X[:, 0] - 0.5 * X[:, 1])), rng.exponential(1.5, 200)
    time, event = np.minimum(lasted, followed), lasted <= followed
    third = kr.estimate_concordance(kr.RankRLSCV(), X, time, event=event).thirds()
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = figure.add_subplot()
    for number, label in enumerate(("lowest third", "middle third", "highest third")):
        curve = kr.metrics.KaplanMeier.of(time[third == number], event[third == number])
        ax.step(np.append(0, curve.time), np.append(1, curve.survival), where="post", label=label)
    ax.set(xlabel="time", ylabel="share without the event", ylim=(0, 1.02))
    ax.legend(title="held-out score")
    figure.savefig(FOLDER / "survival_thirds.svg", metadata={"Date": None})
    draw_settings()


def draw_settings() -> None:
    """Draw the four settings of dyads."""
    rng = np.random.default_rng(0)
    drugs, targets = rng.standard_normal((40, 60)), rng.standard_normal((25, 12))
    effects = rng.standard_normal((60, 12)) / 60**0.5
    Y = drugs @ effects @ targets.T + 0.5 * rng.standard_normal((40, 25))
    measured = []
    for setting in ("cell", "row", "column", "both"):
        search = kr.KroneckerRankRLSCV(setting=setting).fit(drugs, targets, Y)
        measured.append((setting, dyadic_concordance(Y, search.holdout_scores_, per="row")))
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    ForestDisplay(measured).plot(ax=figure.add_subplot())
    figure.savefig(FOLDER / "four_settings.svg", metadata={"Date": None})


def _draw_preferences() -> None:
    """Draw the agreement with held-out preferences over alpha, and comparisons of new items with their intervals."""
    X, pairs = kr.make_preferences(n_items=100, n_features=10, n_pairs=1500, noise=0.3, random_state=0)
    judges = np.random.default_rng(0).integers(20, size=len(pairs))
    alphas = 2.0 ** np.arange(-5, 16)
    figure = Figure(figsize=(5.6, 6.8), layout="constrained")
    left, right = figure.subplots(2, 1)
    for label, style, options in (
        ("a vote", "-", {}),
        ("a judge", "--", {"groups": judges}),
        ("both items", ":", {"items": True}),
    ):
        held_out = kr.leave_preferences_out(kr.RankRLS(), X, pairs, alphas=alphas, **options)
        left.plot(alphas, [one.value for one in held_out.agreement], style, label=label)
    left.set(xscale="log", xlabel="alpha", ylabel="agreement with held-out votes")
    left.legend(title="what is held out", loc="lower left")
    model = kr.RankRLSCV().fit_pairs(X, pairs, groups=judges)
    found = model.compare(np.random.default_rng(1).standard_normal((12, 10)), X[:1])
    order = np.argsort(found.difference)
    right.errorbar(found.difference[order], np.arange(12), xerr=1.96 * found.std[order], fmt="o", markersize=4)
    right.axvline(0.0, color="0.5", linewidth=1)
    right.set(xlabel="score minus that of item 0, ± 1.96 std", ylabel="new items", yticks=[])
    figure.savefig(FOLDER / "held_out_preferences.svg", metadata={"Date": None})


def _draw_leaderboard() -> None:
    """Draw the scores and ranks of ten models with their intervals."""
    rng = np.random.default_rng(0)
    strength = np.linspace(1.5, -1.5, 10)
    a = rng.integers(10, size=300)
    b = (a + rng.integers(1, 10, size=300)) % 10
    won = rng.random(300) < 1 / (1 + np.exp(strength[b] - strength[a]))
    models = np.array(list("ABCDEFGHIJ"))
    table = kr.Leaderboard().fit(models[np.where(won, a, b)], models[np.where(won, b, a)]).table()
    figure = Figure(figsize=(5.6, 6.4), layout="constrained")
    for ax, value, low, high in zip(
        figure.subplots(2, 1), ("score", "rank"), ("low", "rank_low"), ("high", "rank_high"), strict=True
    ):
        ax.hlines(table["item"], table[low], table[high])
        ax.plot(table[value], table["item"], "o", markersize=4)
        ax.set(xlabel=f"{value}, 95 % interval", ylabel="model")
        ax.invert_yaxis()
    figure.axes[1].set(xticks=range(1, 11))
    figure.savefig(FOLDER / "leaderboard.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
