"""Draw the pictures of the user guide from the code that it shows; `draw_pictures.py` calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_classification, make_moons

import kernelrank as kr
from kernelrank.relations import make_corpus
from kernelrank.relations.graphs import draw_candidate

FOLDER = Path(__file__).parent / "guide" / "pictures"

FIRST, SECOND, THIRD, SOFT = "#1f77b4", "#d95f02", "#2a9d5c", "0.5"


def draw_guide() -> None:
    """Write every picture of the guide."""
    for draw in (_choosing, _alpha_curve, _losses, _kernel_ridge, _leaderboard, _unlabelled, _clusters, _nested):
        draw()
    for draw in (_basis, _conventions, _selection, _costs):
        draw()
    corpus = make_corpus(30, random_state=0)
    (FOLDER / "sentence.svg").write_text(draw_candidate(corpus.candidates[0]), encoding="utf-8")


def _axes(width: float = 5.6, height: float = 3.6) -> tuple[Figure, object]:
    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def _choosing() -> None:
    """Draw the decision tree: a column of questions, with the method for each answer beside it."""
    rows = [
        ("Scores or grades\nof items?", "RankRLSCV", "only the order: RankSVM"),
        ("Two classes,\nAUC wanted?", "RankRLSCV, estimate_auc", "few columns: GreedyRankRLS"),
        ("Votes: a is\nbetter than b?", "fit_pairs, BradleyTerry", "no features: Leaderboard"),
        ("Times, some\ncensored?", "RankRLSCV with event", "estimate_concordance"),
        ("Scores of pairs\nof objects?", "KroneckerRankRLSCV", "TwoStepRLSCV"),
        ("Most queries\nunscored?", "CoRankRLSCV", "TransductiveRankRLS"),
        ("Numbers or classes?", "RLSCV, RLSClassifierCV", ""),
        ("No labels?", "MaxMarginClustering", ""),
    ]
    figure = Figure(figsize=(4.9, 6.8), layout="constrained")
    ax = figure.add_subplot()
    ax.set(xlim=(0, 10), ylim=(-len(rows) + 0.45, 0.55))
    ax.axis("off")
    for number, (question, method, other) in enumerate(rows):
        y = -number
        _box(ax, 0.1, y, 3.4, question, "#e8eef7")
        _box(ax, 4.7, y, 5.2, method + (f"\n{other}" if other else ""), "#fdeee0")
        ax.annotate("", (4.65, y), (3.55, y), arrowprops={"arrowstyle": "->", "color": SECOND})
        ax.text(4.1, y + 0.1, "yes", ha="center", fontsize=9.5, color=SECOND)
        if number + 1 < len(rows):
            ax.annotate("", (1.8, y - 0.7), (1.8, y - 0.3), arrowprops={"arrowstyle": "->", "color": SOFT})
            ax.text(1.95, y - 0.5, "no", fontsize=9.5, va="center", color=SOFT)
    _save(figure, "choosing")


def _box(ax: object, x: float, y: float, width: float, text: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch((x, y - 0.28), width, 0.56, boxstyle="round,pad=0.02", facecolor=colour, edgecolor=SOFT)
    ax.add_patch(box)
    ax.text(x + width / 2, y, text, ha="center", va="center", fontsize=10, color="black")


def _ranking() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return kr.make_ranking(n_queries=40, n_items=12, n_levels=4, noise=0.5, random_state=0)


def _alpha_curve() -> None:
    X, y, qid = _ranking()
    figure, ax = _axes()
    kr.report.AlphaCurveDisplay.from_estimator(kr.RankRLSCV().fit(X, y, qid=qid), X, y, qid=qid, ax=ax)
    _save(figure, "alpha_curve")


def _losses() -> None:
    d = np.linspace(-1.2, 3.2, 200)
    figure, ax = _axes()
    hinge = np.maximum(0, 1 - d)
    for values, label, style in (
        ((1 - d) ** 2, "squared error (RankRLS)", "-"),
        (hinge, "hinge (RankSVM)", "--"),
        (hinge**2, "squared hinge", ":"),
    ):
        ax.plot(d, values, style, label=label, linewidth=2)
    ax.set(xlabel="predicted difference of a pair", ylabel="loss", ylim=(-0.1, 5))
    ax.legend(loc="upper center")
    _save(figure, "losses")


def _costs() -> None:
    """Draw Figure 1 of [PTAJB09]: the costs of a pair of the magnitude one half, and the error that they stand for."""
    d, magnitude = np.linspace(-1.0, 2.0, 301), 0.5
    figure, ax = _axes()
    for values, label, style in (
        ((1 - d) ** 2, 'cost="unit"', "--"),
        ((magnitude - d) ** 2, 'cost="magnitude"', ":"),
        ((magnitude - d) ** 2 / magnitude**2, 'cost="relative"', "-."),
    ):
        ax.plot(d, values, style, label=label, linewidth=2)
    ax.step([-1.0, 0.0, 2.0], [1.0, 1.0, 0.0], "k-", label="wrong order", where="pre")
    ax.set(xlabel="predicted difference of the pair", ylabel="cost", ylim=(-0.1, 4))
    ax.legend()
    _save(figure, "costs")


def _kernel_ridge() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(80)
    model = kr.RLSCV(kernel="gaussian", gamma="median").fit(X, y)
    held_out = kr.leave_one_out(kr.RLS(model.alpha_, kernel="gaussian", gamma=model.gamma_), X, y)
    grid = np.linspace(-3, 3, 200)[:, None]
    figure, ax = _axes()
    ax.plot(X[:, 0], y, "o", markersize=4, color=SOFT, label="data")
    ax.plot(grid[:, 0], model.predict(grid), color=FIRST, label="fitted curve")
    ax.plot(X[:, 0], held_out, "x", color=SECOND, label="leave-one-out")
    ax.set(xlabel="x", ylabel="y", ylim=(-2.2, 1.8))
    ax.legend(ncols=3, loc="lower center")
    _save(figure, "kernel_ridge")


def _leaderboard() -> None:
    rng = np.random.default_rng(0)
    strength = dict(zip("ABCDEF", (1.5, 1.0, 0.9, 0.0, -0.5, -1.0), strict=True))
    winners, losers = [], []
    for _ in range(400):
        a, b = rng.choice(list(strength), 2, replace=False)
        if rng.random() > 1 / (1 + np.exp(strength[b] - strength[a])):
            a, b = b, a
        winners.append(a)
        losers.append(b)
    table = kr.Leaderboard().fit(winners, losers).table()
    figure, ax = _axes(5.6, 2.8)
    places = np.arange(len(table))
    error = [table["score"] - table["low"], table["high"] - table["score"]]
    ax.errorbar(table["score"], -places, xerr=error, fmt="o", color=FIRST, capsize=3)
    ax.set(yticks=-places, yticklabels=list(table["item"]), xlabel="score, with a 95 % interval")
    _save(figure, "leaderboard")


def _unlabelled() -> None:
    measure = kr.metrics.PairwiseAccuracy()
    counts = (1, 2, 3, 4, 6, 8, 12)
    found = np.zeros((2, len(counts)))
    for seed in range(8):
        X, y, qid = kr.make_ranking(n_queries=60, n_items=10, n_levels=4, noise=0.5, random_state=seed)
        for column, count in enumerate(counts):
            scored = qid < count
            plain = kr.RankRLS(10.0).fit(X[scored], y[scored], qid=qid[scored])
            both = kr.TransductiveRankRLS(10.0).fit(X, np.where(scored, y, np.nan), qid=qid)
            for row, model in enumerate((plain, both)):
                found[row, column] += measure(y[~scored], model.predict(X[~scored]), qid=qid[~scored]).mean / 8
    figure, ax = _axes()
    ax.plot(counts, found[0], "o-", color=FIRST, markersize=11, fillstyle="none", linewidth=3, label="RankRLS")
    ax.plot(counts, found[1], "s--", color=SECOND, markersize=4, label="TransductiveRankRLS")
    ax.set(xlabel="scored queries", ylabel="pairwise accuracy on the others")
    ax.legend(loc="lower right")
    _save(figure, "unlabelled")


def _clusters() -> None:
    X, truth = make_moons(120, noise=0.08, random_state=0)
    known = np.full(120, -1)
    known[:6] = truth[:6]
    found = kr.MaxMarginClustering(2, kernel="gaussian", gamma=8.0, random_state=0).fit_predict(X, labels=known)
    figure, ax = _axes()
    for cluster, colour, marker in ((0, FIRST, "o"), (1, SECOND, "s")):
        ax.plot(*X[found == cluster].T, marker, color=colour, markersize=4, label=f"cluster {cluster}")
    ax.plot(*X[:6].T, "o", markersize=11, fillstyle="none", color="black", label="known label")
    ax.set(ylim=(-0.8, 1.75))
    ax.legend(ncols=3, loc="upper center")
    _save(figure, "clusters")


def _nested() -> None:
    best, nested = [], []
    for seed in range(40):
        X, y = np.random.default_rng(seed).standard_normal((24, 50)), np.arange(24) % 2
        best.append(kr.RankRLSCV().fit(X, y).best_score_)
        nested.append(kr.estimate_auc(kr.RankRLSCV(), X, y).auc)
    figure, ax = _axes(5.6, 2.6)
    for place, values, colour in ((1, best, SECOND), (0, nested, FIRST)):
        jitter = np.random.default_rng(1).uniform(-0.15, 0.15, len(values))
        ax.plot(values, place + jitter, "o", markersize=4, alpha=0.5, color=colour)
        ax.plot(np.mean(values), place, "|", markersize=32, markeredgewidth=3, color=colour)
    ax.axvline(0.5, color=SOFT, linestyle=":")
    ax.set(
        yticks=(0, 1), yticklabels=("nested", "best alpha"), ylim=(-0.5, 1.5), xlabel="estimated AUC; the truth is 0.5"
    )
    _save(figure, "nested")


def _basis() -> None:
    X, y, qid = kr.make_ranking(n_queries=100, n_items=10, n_levels=4, noise=0.5, random_state=0)
    sizes, accuracy = (5, 10, 20, 50, 100, 200, 500), []
    for size in sizes:
        model = kr.RankRLSCV(kernel="gaussian", gamma="median", basis=size, random_state=0).fit(X, y, qid=qid)
        accuracy.append(model.best_score_)
    whole = kr.RankRLSCV(kernel="gaussian", gamma="median").fit(X, y, qid=qid).best_score_
    figure, ax = _axes()
    ax.plot(sizes, accuracy, "o-", color=FIRST, label="basis")
    ax.axhline(whole, color=SOFT, linestyle="--", label="all 1,000 items")
    ax.set(xscale="log", xlabel="basis items", ylabel="held-out pairwise accuracy")
    ax.legend(loc="lower right")
    _save(figure, "basis")


def _conventions() -> None:
    X, y, qid = kr.make_ranking(n_queries=40, n_items=8, n_levels=4, noise=1.0, random_state=0)
    scores = np.round(kr.leave_query_out(kr.RankRLS(10.0), X, y, qid))
    labels, values = [], []
    for name, options in (
        ("exponential gain", {}),
        ("linear gain", {"gain": "linear"}),
        ("ties: pessimistic", {"ties": "pessimistic"}),
        ("ties: optimistic", {"ties": "optimistic"}),
    ):
        labels.append(name)
        values.append(kr.metrics.NDCG(k=5, **options)(y, scores, qid=qid).mean)
    figure, ax = _axes(5.6, 2.6)
    places = -np.arange(len(labels))
    ax.barh(places, values, color=FIRST, height=0.6)
    for place, value in zip(places, values, strict=True):
        ax.text(value + 0.01, place, f"{value:.2f}", va="center")
    ax.set(yticks=places, yticklabels=labels, xlim=(0, 1.1), xlabel="NDCG@5 of the same predictions")
    _save(figure, "conventions")


def _selection() -> None:
    X, y = make_classification(
        60, 100, n_informative=3, n_redundant=0, n_clusters_per_class=1, class_sep=1.5, shuffle=False, random_state=0
    )
    curve = kr.selection_curve(kr.GreedyRankRLS(4, alpha=100.0), X, y, cv=5, n_repeats=1, random_state=0)
    figure, ax = _axes()
    kr.report.SelectionDisplay(curve).plot(ax=ax)
    ax.legend(loc="lower right")
    ax.set(xticks=(1, 2, 3, 4), ylim=(0.7, 1.02))
    _save(figure, "selection")
