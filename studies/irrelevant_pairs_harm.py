"""Comparing items of different queries can reverse a ranking.

The artificial example of [PTAJB09], section 5.1 and Figure 2: two queries of two items on a line. Inside each query the
score falls from left to right, between the queries it rises. Then the same on generated queries, where the offset of a
query moves features and scores in opposite directions, more and more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.metrics import get_measure
from studies.book.cell import resampled_cell
from studies.book.picture import picture
from studies.book.study import Run, Study

# [PTAJB09] Figure 2: the scores. Of the places on the line the text tells the order: preferences inside a query point
# to the right, those between queries to the left.
PUBLISHED = {"scores": (2.0, 1.0, 4.0, 3.0), "relevant_pairs": 2, "irrelevant_pairs": 4}
PLACES = ((1.0,), (2.0,), (3.0,), (4.0,))
SIZE = 10


def example() -> dict[str, Any]:
    """Train on the four items with relevant pairs alone and with all."""
    X, y, qid = np.array(PLACES), np.array(PUBLISHED["scores"]), np.array([1, 1, 2, 2])
    relevant, everything = kr.RankRLS(0.01).fit(X, y, qid=qid), kr.RankRLS(0.01).fit(X, y)
    disagreement = get_measure("disagreement")
    return {
        name: {"weight": model.coef_[0], "disagreement": disagreement(y, model.predict(X), qid=qid).mean}
        for name, model in (("relevant pairs", relevant), ("all pairs", everything))
    }


def queries(n_queries: int, offset: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw queries whose offset moves the first feature up and the score down."""
    query = np.repeat(np.arange(n_queries), SIZE)
    X = rng.standard_normal((len(query), 5))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(len(query))
    shift = rng.standard_normal(n_queries)[query]
    X[:, 0] += offset * shift
    return X, y - offset * shift, query


def protocol(run: Run) -> dict[str, Any]:
    """Measure the example, and generated queries with larger and larger offsets."""
    rng = np.random.default_rng(run.seed)
    rows = []
    for offset in run["offsets"]:
        X, y, qid = queries(run["queries"], offset, rng)
        test = queries(run["queries"], offset, rng)
        row: dict[str, Any] = {"offset": offset}
        for name, given in (("relevant pairs", {"qid": qid}), ("all pairs", {})):
            model = kr.RankRLS(1.0).fit(X, y, **given)
            result = get_measure("disagreement")(test[1], model.predict(test[0]), qid=test[2])
            row[name] = resampled_cell(result.values, run.seed)
        rows.append(row)
    return {"example": example(), "generated": rows, "size": SIZE}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the four items, and the error over the offset."""
    with picture(folder / "irrelevant_pairs_harm.svg", 5.6, 5.8) as figure:
        left, right = figure.subplots(2, 1)
        scores = PUBLISHED["scores"]
        for number in range(4):
            left.plot(*PLACES[number], scores[number], "o", color=f"C{number // 2}", label=f"query {number // 2 + 1}")
        handles, labels = left.get_legend_handles_labels()
        left.legend(handles[::2], labels[::2])
        left.set(xlabel="feature", ylabel="score", title="down inside queries")
        offsets = [row["offset"] for row in tables["generated"]]
        for name in ("relevant pairs", "all pairs"):
            cells = [row[name] for row in tables["generated"]]
            right.plot(offsets, [cell["mean"] for cell in cells], marker="o", label=name)
            right.fill_between(offsets, [c["low"] for c in cells], [c["high"] for c in cells], alpha=0.2)
        right.set(xlabel="offset of the queries", ylabel="disagreement error on new queries")
        right.legend()


STUDY = Study(
    protocol,
    settings={"queries": (200, 50), "offsets": ((0.0, 0.25, 0.5, 1.0, 2.0, 4.0), (0.0, 0.5, 2.0))},
    published=PUBLISHED,
    draw=draw,
)
