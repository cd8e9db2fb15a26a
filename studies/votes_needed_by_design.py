"""Whether adaptive pairs order real rankings with fewer votes than random pairs do.

Complete rankings of PrefLib: figure skaters by the judges of a contest, the drivers of a Formula 1 season by races, and
tennis players by the weeks of a year. Each ranking is a judge of `kernelrank collect`, who is asked about pairs and
answers as the ranking says. The pairs are chosen at random, or adaptively, by the posterior of the votes so far; the
leaderboard is fitted again after every 12 % more votes.

Reported is the number of votes until Kendall's tau of the leaderboard and the mean ranks of all judges is .8 and .9 for
good, and the ratio of the two designs over the contests, with an interval from resampling these. A contest where a
design does not reach the level before the judges have seen all pairs, or within 40 votes for each item, is left out and
counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from kernelrank.collecting.simulation import replayed_votes
from studies.book.cell import resampled_cell
from studies.book.picture import picture
from studies.book.sources import PREFLIB
from studies.book.study import Run, Study

FOLDERS = {"skating": "00006 - skate", "Formula 1": "00052 - f1seasons", "tennis": "00045 - tennis"}
DESIGNS = ("adaptive", "random")
LEVELS = (0.8, 0.9)


def rankings(path: Path) -> np.ndarray:
    """Read complete rankings; return the rank of each item by each judge, shape (judges, items)."""
    ranks = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            count, _, order = line.partition(":")
            rank = np.argsort(np.array(order.split(","), dtype=np.int64) - 1)
            ranks += [rank] * int(count)
    return np.array(ranks)


def replay(ranks: np.ndarray, design: str, seed: int) -> list[float | None]:
    """Return the votes that a design needs for each level; None if it does not reach it."""
    n_judges, m = ranks.shape
    mean = ranks.mean(axis=0)
    last = min(40 * m, n_judges * m * (m - 1) // 2)
    checkpoints = np.unique(np.geomspace(m + n_judges, last, int(np.log(last / m) / 0.113) + 2).astype(int)).tolist()

    def wins(judge: int, first: int, second: int) -> bool:
        return bool(ranks[judge, first] < ranks[judge, second])

    random = np.random.default_rng(seed)
    votes, tau = [], []
    for state, outlook in replayed_votes(m, n_judges, wins, checkpoints, design=design, random=random):
        (board,) = outlook.boards
        votes.append(len(state.left))
        tau.append(kendalltau(board["score"], -mean[board["items"]]).statistic)
    return [_crossing(np.array(votes), np.array(tau), level) for level in LEVELS]


def _crossing(votes: np.ndarray, tau: np.ndarray, level: float) -> float | None:
    """Return at how many votes a level is reached for good, between two checkpoints."""
    below = np.flatnonzero(tau < level)
    if len(below) == 0:
        return float(votes[0])
    place = below[-1]
    if place + 1 == len(tau):
        return None
    share = (level - tau[place]) / (tau[place + 1] - tau[place])
    return float(np.exp((1.0 - share) * np.log(votes[place]) + share * np.log(votes[place + 1])))


def protocol(run: Run) -> dict[str, Any]:
    """Replay the contests of each kind by both designs."""
    folder = run.data[PREFLIB]
    rows = []
    for name, inside in FOLDERS.items():
        contests = [rankings(path) for path in sorted((folder / inside).glob("*.soc"))]
        contests = [ranks for ranks in contests if ranks.shape[1] >= 18 and ranks.shape[0] >= 7]
        chosen = [contests[place] for place in np.linspace(0, len(contests) - 1, run["contests"]).astype(int)]
        needed = np.array(
            [[replay(ranks, design, run.seed + n) for design in DESIGNS] for n, ranks in enumerate(chosen)], dtype=float
        )  # (contests, designs, levels)
        for place, level in enumerate(LEVELS):
            both = needed[~np.isnan(needed[:, :, place]).any(axis=1), :, place]
            if len(both) == 0:
                run.skipped.append(f"{name}: no contest reaches {level:g} by both designs")
                continue
            rows.append(
                {
                    "kind": name,
                    "level": level,
                    "contests": len(chosen),
                    "reached": len(both),
                    "items": float(np.median([ranks.shape[1] for ranks in chosen])),
                    "judges": float(np.median([ranks.shape[0] for ranks in chosen])),
                    **{design: float(np.median(both[:, n])) for n, design in enumerate(DESIGNS)},
                    "ratios": (both[:, 0] / both[:, 1]).tolist(),
                    "ratio": resampled_cell(both[:, 0] / both[:, 1], run.seed),
                }
            )
    return {"rows": rows}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the ratio of each contest."""
    with picture(folder / "votes_needed_by_design.svg", 5.6, 3.2) as figure:
        ax = figure.subplots()
        for place, row in enumerate(reversed(tables["rows"])):
            ax.plot(row["ratios"], [place] * len(row["ratios"]), "o", color="C0", alpha=0.35)
            ax.plot(row["ratio"]["mean"], place, "|", color="C1", markersize=18, markeredgewidth=3)
        names = [f"{row['kind']}, τ = {row['level']:g}" for row in reversed(tables["rows"])]
        ax.set_yticks(range(len(names)), names)
        ax.axvline(1.0, color="0.6", linewidth=1)
        ax.set(xlabel="votes of adaptive pairs / votes of random pairs, one point a contest")


STUDY = Study(protocol, data=(PREFLIB,), settings={"contests": (5, 2)}, draw=draw)
