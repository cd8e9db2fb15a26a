"""An error estimate that keeps held-out items in the basis is far too high where alpha is small.

As in Figure 1 of [APS11]: the mean squared error of cross-validation on a reduced set, with held-out basis items
removed and with them kept, over alpha; and, beyond the paper, the error on independent items. RLS with a Gaussian
kernel on generated queries of similar items, two basis items a query, ten folds of queries, at the paper's sizes: about
600 queries and 9,856 items.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kernelrank.estimators import RLS
from kernelrank.model_selection.holdout import holdout
from studies.book.picture import picture
from studies.book.study import Run, Study

GAMMA, COLUMNS = 0.2, 10
ALPHAS = 10.0 ** np.arange(-9, 10)
SPREAD = 0.3
"""How far items of a query are apart, where queries are 1 apart: similar, as parses of a sentence are."""

# [APS11] section 4.1: "almost four times higher error than the correct approach".
PUBLISHED = {"items": 9856, "queries": 600, "ratio": 4}


def draw_items(sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw queries of similar items, whose scores depend on the features smoothly."""
    query = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(sizes), COLUMNS))[query] + SPREAD * rng.standard_normal((len(query), COLUMNS))
    return X, np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(len(query)), query


def estimates(n_queries: int, n_items: int, seed: int) -> np.ndarray:
    """Return the three errors for every alpha: removed, kept, independent."""
    rng = np.random.default_rng(seed)
    sizes = np.full(n_queries, n_items // n_queries)
    sizes[: n_items - sizes.sum()] += 1
    X, y, query = draw_items(sizes, rng)
    X_new, y_new, _ = draw_items(sizes[:200], rng)
    starts = np.cumsum(sizes) - sizes
    basis = np.sort(np.concatenate([starts, starts + 1]))
    fold = rng.permutation(np.arange(n_queries) % 10)
    held = [np.flatnonzero(fold[query] == number) for number in range(10)]
    model = RLS(kernel="rbf", gamma=GAMMA, basis=basis)
    errors = np.empty((3, len(ALPHAS)))
    for row, choice in enumerate(("remove", "keep")):
        scores = holdout(model, X, y, held, alphas=ALPHAS, held_out_basis=choice)
        errors[row] = ((np.concatenate(scores) - y[np.concatenate(held)][:, None]) ** 2).mean(axis=0)
    errors[2] = [((one.predict(X_new) - y_new) ** 2).mean() for one in model.fit_path(X, y, ALPHAS)]
    return errors


def protocol(run: Run) -> dict[str, Any]:
    """Average the errors over draws."""
    found = np.mean([estimates(run["queries"], run["items"], run.seed + n) for n in range(run["draws"])], axis=0)
    names = ("removed", "kept", "independent")
    rows = [
        {"alpha": f"10^{int(np.log10(alpha))}", **dict(zip(names, found[:, k], strict=True))}
        for k, alpha in enumerate(ALPHAS)
    ]
    best = {name: rows[int(np.argmin(found[row]))]["alpha"] for row, name in enumerate(names)}
    return {"errors": rows, "ratio": float((found[1] / found[0]).max()), "best": best}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the three errors over alpha."""
    labels = {"removed": "basis items removed", "kept": "basis items kept", "independent": "new items"}
    with picture(folder / "keeping_basis_vectors_misleads.svg") as figure:
        ax = figure.subplots()
        for name, label in labels.items():
            ax.loglog(ALPHAS, [row[name] for row in tables["errors"]], label=label)
        ax.set(xlabel="alpha", ylabel="mean squared error")
        ax.legend()


STUDY = Study(
    protocol,
    settings={"draws": (1, 1), "queries": (600, 100), "items": (9856, 1600)},
    published=PUBLISHED,
    draw=draw,
)
