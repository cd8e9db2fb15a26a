"""Ranked parses: what a small public part of the corpus can show, and what it cannot.

Table 2 of [PTAJB09], Table 8 of [PTABS07] and Table 1 of [TPBSH11] rank the parses of 1,100 sentences of BioInfer. Of
these 200 parses of 42 sentences are public, with features that are not those of the tables. RankRLS with the costs
(20), (21) and (22) is trained on relevant pairs and on all pairs, beside RLS and RankSVM; alpha by leaving out each
training sentence. Once with the given halves, and once over random halves of all sentences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.metrics import get_measure
from studies.book.cell import resampled_cell, spread_cell
from studies.book.parse_files import Part, read_parses
from studies.book.picture import legend_above, picture
from studies.book.sources import PARSES
from studies.book.study import Run, Study

ALPHAS = 2.0 ** np.arange(-8, 9)
HINGE_ALPHAS = 10.0 ** np.arange(-2, 3)
COSTS = {"(20)": "unit", "(21)": "magnitude", "(22)": "relative"}

# [PTAJB09] Table 2, disagreement error; [PTABS07] Table 8, Kendall's tau b; [TPBSH11] Table 1, disagreement error.
PUBLISHED = {
    "disagreement": {
        "RankRLS (20)": 0.225,
        "RankRLS (20), all pairs": 0.234,
        "RankRLS (21)": 0.222,
        "RankRLS (21), all pairs": 0.247,
        "RankRLS (22)": 0.216,
        "RankRLS (22), all pairs": 0.228,
        "RankSVM": 0.214,
        "RLS": 0.252,
    },
    "tau": {"RankRLS": 0.500, "RLS": 0.444},
    "sentences": (500, 600),
}


def held_out(model: Any, part: Part, alphas: np.ndarray, *, pairs: str) -> np.ndarray:
    """Return the scores of every training sentence without it, for every alpha."""
    X, y, qid = part
    found = np.empty((len(y), len(alphas)))
    if not isinstance(model, kr.RankSVM):
        sets = [np.flatnonzero(qid == query) for query in np.unique(qid)]
        scores = kr.holdout(model, X, y, sets, qid=qid if pairs == "relevant" else None, alphas=alphas)
        found[np.concatenate(sets)] = np.concatenate(scores)
        return found
    for query in np.unique(qid):
        out = qid == query
        given = {"qid": qid[~out]} if pairs == "relevant" else {}
        path = model.fit_path(X[~out], y[~out], alphas, **given)
        found[out] = np.column_stack([one.predict(X[out]) for one in path])
    return found


def choose_and_score(model: Any, train: Part, test: Part, alphas: np.ndarray, pairs: str = "relevant") -> np.ndarray:
    """Choose alpha inside the training part, and return the scores of the test parses."""
    scores = held_out(model, train, alphas, pairs=pairs)
    errors = [get_measure("disagreement")(train[1], column, qid=train[2]).mean for column in scores.T]
    given = {"qid": train[2]} if pairs == "relevant" else {}
    best = model.set_params(alpha=float(alphas[int(np.argmin(errors))])).fit(train[0], train[1], **given)
    return np.asarray(best.predict(test[0]))


def all_scores(train: Part, test: Part) -> dict[str, np.ndarray]:
    """Return the test scores of every method."""
    m = float(len(train[1]))
    found = {}
    for name, cost in COSTS.items():
        found[f"RankRLS {name}"] = choose_and_score(kr.RankRLS(cost=cost), train, test, ALPHAS)
        found[f"RankRLS {name}, all pairs"] = choose_and_score(
            kr.RankRLS(cost=cost), train, test, ALPHAS * m / 10, "all"
        )
    found["RankSVM"] = choose_and_score(kr.RankSVM(), train, test, HINGE_ALPHAS)
    found["RLS"] = choose_and_score(kr.RLS(), train, test, ALPHAS / 10, "all")
    return found


def joined(first: Part, second: Part) -> Part:
    """Put two parts together."""
    return tuple(np.concatenate(columns) for columns in zip(first, second, strict=True))


def protocol(run: Run) -> dict[str, Any]:
    """Measure on the given halves and on random ones."""
    train, test = read_parses(run.data[PARSES])
    given = {}
    for name, scores in all_scores(train, test).items():
        errors = get_measure("disagreement")(test[1], scores, qid=test[2])
        tau = get_measure("kendall_tau")(test[1], scores, qid=test[2])
        given[name] = {"error": resampled_cell(errors.values, run.seed), "tau": resampled_cell(tau.values, run.seed)}
    X, y, qid = joined(train, test)
    rng = np.random.default_rng(run.seed)
    halves: dict[str, list[float]] = {name: [] for name in given}
    for _ in range(run["halves"]):
        chosen = rng.permutation(np.unique(qid))[: len(np.unique(qid)) // 2]
        rows = np.isin(qid, chosen)
        first, second = ((X[part], y[part], qid[part]) for part in (rows, ~rows))
        for name, scores in all_scores(first, second).items():
            halves[name].append(get_measure("disagreement")(second[1], scores, qid=second[2]).mean)
    sizes = {"train": (len(train[1]), len(np.unique(train[2]))), "test": (len(test[1]), len(np.unique(test[2])))}
    return {"given": given, "halves": {name: spread_cell(values) for name, values in halves.items()}, "sizes": sizes}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the errors with their intervals beside the published ones."""
    names = list(tables["given"])
    with picture(folder / "parses.svg", 6.4, 3.4) as figure:
        ax = figure.subplots()
        cells = [tables["given"][name]["error"] for name in names]
        means = np.array([cell["mean"] for cell in cells])
        reach = [means - [cell["low"] for cell in cells], [cell["high"] for cell in cells] - means]
        ax.errorbar(means, range(len(names)), xerr=reach, fmt="o", label="here, given halves")
        ax.plot([PUBLISHED["disagreement"][name] for name in names], range(len(names)), "x", label="published")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set(xlabel="disagreement error")
        legend_above(figure, ax)


STUDY = Study(protocol, data=(PARSES,), settings={"halves": (10, 2)}, published=PUBLISHED, draw=draw)
