"""Jester: which jokes a user prefers, by the costs (20), (21) and (22), beside RLS and RankSVM.

Table 6 of [PTAJB09], after Cortes, Mohri and Rastogi (2007). 300 users are learnt, each alone: half of the jokes
that a user rated train, the other half test. The features of a joke are the ratings of 300 other users, the median of a
user's ratings where there is none. These have rated 20 to 40 jokes, 40 to 60, 60 to 80, or any number. Gaussian kernel;
its width and alpha are the best on average over other users with other reference users. Tied predictions count as a
whole error, as in the paper, and beside it as half of one. The paper does not say how many jokes its users have rated:
one table has users who rated all of them, and one has users who rated twenty or more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

import kernelrank as kr
from kernelrank.metrics import disagreement
from studies.book.cell import resampled_cell
from studies.book.picture import legend_above, picture
from studies.book.sources import JESTER
from studies.book.study import Run, Study

N_REFERENCE = 300
DENSITIES = {"20–40": (20, 40), "40–60": (40, 60), "60–80": (60, 80), "all sizes": (1, 100)}
USERS = {"all": (100, 100), "twenty": (20, 100)}
LEARNT = {"20–40": (20, 40), "40–60": (40, 60), "60–99": (60, 99), "all 100": (100, 100)}
GAMMAS = 2.0 ** np.arange(-15, -8)  # the paper goes up to 2^15, where no joke is similar to another
ALPHAS = 2.0 ** np.arange(-8, 9, 2)
METHODS: dict[str, tuple[Any, int]] = {  # the learner, and how alpha grows with the number of jokes
    "RankRLS (20)": (kr.RankRLS(kernel="precomputed", cost="unit"), 1),
    "RankRLS (21)": (kr.RankRLS(kernel="precomputed"), 1),
    "RankRLS (22)": (kr.RankRLS(kernel="precomputed", cost="relative"), 1),
    "RLS": (kr.RLS(kernel="precomputed"), 0),
    "RankSVM": (kr.RankSVM(), 1),
}

# [PTAJB09] Table 6.
PUBLISHED = {
    "RankRLS (20)": (0.413, 0.400, 0.378, 0.371),
    "RankRLS (21)": (0.413, 0.400, 0.379, 0.371),
    "RankRLS (22)": (0.445, 0.426, 0.388, 0.379),
    "RankSVM": (0.413, 0.400, 0.378, 0.371),
    "RLS": (0.414, 0.401, 0.378, 0.371),
}


def tied_as_wrong(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the disagreement error of the paper: a tied prediction is a whole error."""
    first, second = np.nonzero(truth[:, None] > truth[None, :])
    return float(np.mean(scores[first] <= scores[second]))


def read(paths: list[Path]) -> np.ndarray:
    """Return the ratings, shape (users, 100), NaN where there is none."""
    ratings = np.concatenate([np.loadtxt(path, delimiter=",")[:, 1:] for path in paths])
    return np.where(ratings > 50, np.nan, ratings)


class Task:
    """Users to learn, and the kernel of the jokes that reference users make."""

    def __init__(
        self,
        ratings: np.ndarray,
        density: tuple[int, int],
        n_users: int,
        rng: np.random.Generator,
        learnt: tuple[int, int],
    ) -> None:
        count = np.sum(~np.isnan(ratings), axis=1)
        fitting = np.flatnonzero((count >= density[0]) & (count <= density[1]))
        reference = rng.choice(fitting, N_REFERENCE, replace=False)
        others = np.setdiff1d(np.flatnonzero((count >= learnt[0]) & (count <= learnt[1])), reference)
        features = ratings[reference]
        medians = np.nanmedian(features, axis=1, keepdims=True)
        self.distances = euclidean_distances(np.where(np.isnan(features), medians, features).T, squared=True)
        self.users = []
        for user in rng.choice(others, n_users, replace=False):
            jokes = rng.permutation(np.flatnonzero(~np.isnan(ratings[user])))
            half = len(jokes) // 2
            self.users.append((jokes[:half], jokes[half:], ratings[user]))

    def errors(self, method: str, gamma: float, alphas: np.ndarray) -> np.ndarray:
        """Return the error of each user for each alpha, ties as half and as whole errors: (2, users, alphas)."""
        K = np.exp(-gamma * self.distances)
        learner, power = METHODS[method]
        root = None
        if method == "RankSVM":
            values, vectors = np.linalg.eigh(K)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
        found = np.full((2, len(self.users), len(alphas)), np.nan)
        for row, (train, test, ratings) in enumerate(self.users):
            y, truth = ratings[train], ratings[test]
            if len(np.unique(y)) < 2 or len(np.unique(truth)) < 2:
                continue  # all ties: nothing to learn, or nothing to measure
            X, X_test = (K[np.ix_(train, train)], K[np.ix_(test, train)]) if root is None else (root[train], root[test])
            path = learner.fit_path(X, y, alphas * float(len(y)) ** power)
            for column, model in enumerate(path):
                # Jokes that no reference user rated are the same joke up to rounding.
                scores = np.round(model.predict(X_test), 9)
                found[:, row, column] = disagreement(truth, scores), tied_as_wrong(truth, scores)
        return found


def measure(ratings: np.ndarray, density: tuple[int, int], learnt: tuple[int, int], run: Run) -> dict[str, Any]:
    """Choose width and alpha on some users, and measure on others."""
    rng = np.random.default_rng([run.seed, *density])
    choosing, testing = (Task(ratings, density, run[name], rng, learnt) for name in ("choosing_users", "users"))
    found: dict[str, Any] = {}
    for method in METHODS:
        # RankSVM, which takes longest, is given the width of cost (20).
        gammas = [found["RankRLS (20)"]["gamma"]] if method == "RankSVM" else GAMMAS
        alphas = ALPHAS[::2] if method == "RankSVM" else ALPHAS
        means = np.array([np.nanmean(choosing.errors(method, gamma, alphas)[0], axis=0) for gamma in gammas])
        g, a = np.unravel_index(means.argmin(), means.shape)
        halves, wholes = testing.errors(method, gammas[g], alphas[a : a + 1])[:, :, 0]
        found[method] = {
            **resampled_cell(halves, run.seed),
            "tied_as_wrong": resampled_cell(wholes, run.seed),
            "gamma": float(gammas[g]),
            "alpha": float(alphas[a]),
        }
    return found


def by_learnt_users(ratings: np.ndarray, found: dict[str, Any], density: tuple[int, int], run: Run) -> dict[str, Any]:
    """Measure cost (21), as it was chosen, on users who rated few jokes, more, many or all of them."""
    chosen = found["RankRLS (21)"]
    cells = {}
    for name, learnt in LEARNT.items():
        task = Task(ratings, density, run["users"] // 2, np.random.default_rng([run.seed, *density, *learnt]), learnt)
        errors = task.errors("RankRLS (21)", chosen["gamma"], np.array([chosen["alpha"]]))[0, :, 0]
        cells[name] = resampled_cell(errors, run.seed)
    return cells


def protocol(run: Run) -> dict[str, Any]:
    """Measure every density."""
    ratings = read([run.data[source] for source in JESTER])
    errors = {
        who: {name: measure(ratings, density, learnt, run) for name, density in DENSITIES.items()}
        for who, learnt in USERS.items()
    }
    twenty = errors["twenty"]
    return {
        "raters": len(ratings),
        "errors": errors,
        "by_learnt": {
            name: by_learnt_users(ratings, twenty[name], density, run) for name, density in DENSITIES.items()
        },
        "reference": N_REFERENCE,
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw our errors with intervals, and the published ones."""
    titles = {"all": "users who rated all jokes", "twenty": "users who rated twenty or more"}
    with picture(folder / "jester.svg", 6.0, 6.4) as figure:
        axes = figure.subplots(2, 1, sharex=True, sharey=True)
        for ax, (who, title) in zip(axes, titles.items(), strict=True):
            for number, method in enumerate(METHODS):
                cells = [tables["errors"][who][name][method]["tied_as_wrong"] for name in DENSITIES]
                where = np.arange(len(DENSITIES)) + 0.12 * (number - 2)
                means = np.array([cell["mean"] for cell in cells])
                reach = [means - [cell["low"] for cell in cells], [cell["high"] for cell in cells] - means]
                ax.errorbar(where, means, reach, fmt="o", color=f"C{number}", label=method)
                ax.plot(where, PUBLISHED[method], "x", color=f"C{number}")
            ax.set(title=title, ylabel="disagreement error")
            ax.set_xticks(range(len(DENSITIES)), list(DENSITIES))
        axes[1].set_xlabel("jokes rated by the reference users; × is published")
        legend_above(figure, axes[0])


STUDY = Study(
    protocol,
    data=JESTER,
    settings={"users": (300, 60), "choosing_users": (100, 20)},
    published=PUBLISHED,
    draw=draw,
)
