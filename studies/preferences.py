"""For judges who were not seen, a regularised Bradley-Terry model predicts votes no worse than evalica's.

Votes of people on the answers of language models (llmfao), and rankings of PrefLib. Ten folds of judges, or of whole
rankings, are held out. Alpha is chosen inside each training part, by five folds of its judges.

Reported are the mean log-loss over decisive votes, ``-log P(the winner wins)``, the agreement (the share of decisive
votes whose winner has the higher score; equal scores count a half) and, for votes with ties, the log-loss over the
three outcomes win, loss and tie. A model without a probability of ties takes the share of ties in its training part.
Weights are scaled to a mean of one. The interval is that of the difference in log-loss to evalica's Bradley-Terry
model, from the jackknife over judges.

Rankings: figure skaters by judges, dots and puzzles by workers, the ranks of a week of a year of boxing and of tennis,
and the races of a season of Formula 1. Weeks that follow each other are nearly the same, so that held-out weeks are
easy; they are no independent judges, and the intervals of boxing and tennis are too short. choix is left out where
there are more than 20,000 votes: it visits them one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.model_selection import GroupKFold

from kernelrank.data import Preferences, read_pairs
from kernelrank.estimators import RankRLS
from kernelrank.votes import BradleyTerry
from studies.book.picture import picture
from studies.book.sources import LLMFAO, PREFLIB
from studies.book.study import Run, Study

ALPHAS = 2.0 ** np.arange(7, -16, -1)
RANKINGS = (
    "00006 - skate/00006-00000003.soc",
    "00024 - dots/00024-00000001.soc",
    "00025 - puzzle/00025-00000001.soc",
    "00042 - boxing/00042-00000001.soi",
    "00052 - f1seasons/00052-00000071.soi",
    "00045 - tennis/00045-00000001.soi",
)
MANY = 20_000
"""Beyond so many votes choix, which visits them one by one, is left out."""
LEAST = 1e-6
"""The least probability that counts in a log-loss: without regularisation some are zero."""


@dataclass(frozen=True)
class Votes:
    """Votes of judges on items that have numbers.

    Parameters
    ----------
    pairs : ndarray of int, shape (l, 2)
        Winner and loser; in a tie the order means nothing.
    tie : ndarray of bool, shape (l,)
    weight : ndarray, shape (l,)
    side : ndarray of int, shape (l,)
    judge : ndarray of int, shape (l,)
    n_items : int
    """

    pairs: np.ndarray
    tie: np.ndarray
    weight: np.ndarray
    side: np.ndarray
    judge: np.ndarray
    n_items: int

    @classmethod
    def of(cls, read: Preferences) -> Votes:
        """Give every vote a judge, a weight and a side."""
        n_votes = len(read.pairs)
        return cls(
            read.pairs,
            np.zeros(n_votes, dtype=bool) if read.tie is None else read.tie,
            np.ones(n_votes) if read.weight is None else read.weight / read.weight.mean(),
            np.zeros(n_votes, dtype=int) if read.side is None else read.side.astype(int),
            np.arange(n_votes) if read.judge is None else np.unique(read.judge, return_inverse=True)[1],
            int(read.pairs.max()) + 1,
        )

    def part(self, rows: np.ndarray) -> Votes:
        """Return some of the votes."""
        chosen = (column[rows] for column in (self.pairs, self.tie, self.weight, self.side, self.judge))
        return Votes(*chosen, self.n_items)

    @property
    def items(self) -> sparse.csr_array:
        """Items without features: one column each."""
        return sparse.eye_array(self.n_items, format="csr")

    def folds(self, n_folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Split into votes of some judges and those of the others."""
        n_folds = min(n_folds, len(np.unique(self.judge)))
        return GroupKFold(n_folds, shuffle=True, random_state=seed).split(self.pairs, groups=self.judge)


Alphas = Sequence[float] | np.ndarray
Predict = Callable[[Votes], np.ndarray]
"""From votes to the probabilities of win, loss and tie of each, shape (l, 3)."""


def with_ties(win: np.ndarray, votes: Votes) -> np.ndarray:
    """Add ties with the share that they have among some votes."""
    share = np.average(votes.tie, weights=votes.weight)
    return np.c_[(1 - share) * win, (1 - share) * (1 - win), np.full(len(win), share)]


def fit_bradley_terry(train: Votes, alphas: Alphas, **options: object) -> list[Predict]:
    """Fit kernelrank's model, with a warm start from one alpha to the next."""
    models = BradleyTerry(**options).fit_pairs_path(
        train.items, train.pairs, alphas, tie=train.tie, weight=train.weight, side=train.side, judge=train.judge
    )

    def predict(model: BradleyTerry, votes: Votes) -> np.ndarray:
        found = model.predict_proba(votes.items, votes.pairs, side=votes.side)
        return found if found.shape[1] == 3 else with_ties(found[:, 0], train)

    return [partial(predict, model) for model in models]


def fit_least_squares(train: Votes, alphas: Alphas) -> list[Predict]:
    """Fit differences of 1, or 0 for a tie: the share of votes won less the share lost."""
    models = RankRLS().fit_pairs_path(train.items, train.pairs, alphas, magnitude=1.0 - train.tie, weight=train.weight)

    def predict(scores: np.ndarray, votes: Votes) -> np.ndarray:
        difference = scores[votes.pairs[:, 0]] - scores[votes.pairs[:, 1]]
        return with_ties(np.clip((1 + difference) / 2, 0.01, 0.99), train)

    return [partial(predict, model.predict(train.items)) for model in models]


def fit_evalica(train: Votes, alphas: Alphas) -> list[Predict]:
    """Fit evalica's Bradley-Terry model, which has no regularisation."""
    del alphas
    import evalica

    first, second = (list(map(str, column)) for column in train.pairs.T)
    outcome = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in train.tie]
    found = evalica.bradley_terry(first, second, outcome, weights=list(train.weight)).scores
    strength = np.array([float(found.get(str(item), np.nan)) for item in range(train.n_items)])
    strength = np.where(np.isnan(strength), np.nanmedian(strength), strength)

    def predict(votes: Votes) -> np.ndarray:
        first, second = strength[votes.pairs[:, 0]], strength[votes.pairs[:, 1]]
        return with_ties(first / np.maximum(first + second, 1e-300), train)

    return [predict]


def fit_choix(train: Votes, alphas: Alphas) -> list[Predict]:
    """Fit choix's Luce spectral ranking; a tie is a vote each way, and decisive votes count twice.

    It takes no weights, so that votes are repeated as often as the one of least weight fits into theirs.
    """
    import choix

    times = np.rint(train.weight / train.weight.min()).astype(int)
    pairs, tie = np.repeat(train.pairs, times, axis=0), np.repeat(train.tie, times)
    decisive, tied = pairs[~tie], pairs[tie]
    data = np.concatenate([decisive, decisive, tied, tied[:, ::-1]]).tolist()

    def predict(scores: np.ndarray, votes: Votes) -> np.ndarray:
        difference = scores[votes.pairs[:, 0]] - scores[votes.pairs[:, 1]]
        return with_ties(1 / (1 + np.exp(-difference)), train)

    return [partial(predict, choix.ilsr_pairwise(train.n_items, data, alpha=alpha)) for alpha in alphas]


MODELS: dict[str, tuple[Callable[..., list[Predict]], dict[str, object], np.ndarray | None]] = {
    "evalica, Bradley-Terry": (fit_evalica, {}, None),
    "choix, iterated Luce": (fit_choix, {}, 10.0 ** np.arange(0, -7, -1)),
    "least squares": (fit_least_squares, {}, ALPHAS),
    "Bradley-Terry": (fit_bradley_terry, {}, ALPHAS),
    "Bradley-Terry, side bias": (fit_bradley_terry, {"side_bias": True}, ALPHAS),
    "Bradley-Terry, scales of judges": (fit_bradley_terry, {"judge_effect": "scale"}, ALPHAS),
    "Bradley-Terry, Davidson's ties": (fit_bradley_terry, {"ties": "davidson"}, ALPHAS),
}
"""How each model is fitted, with its options, and the values of its regularisation to choose from."""


def losses(found: np.ndarray, votes: Votes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each vote the log-loss of a decisive one, its agreement, and the log-loss over three outcomes."""
    win = found[:, 0] / (found[:, 0] + found[:, 1])
    decisive = np.where(votes.tie, np.nan, -np.log(np.maximum(win, LEAST)))
    agreement = np.where(votes.tie, np.nan, (win > 0.5) + 0.5 * (win == 0.5))
    three = -np.log(np.maximum(np.where(votes.tie, found[:, 2], found[:, 0]), LEAST))
    return decisive, agreement, three


def chosen_alpha(name: str, train: Votes, seed: int) -> float:
    """Choose the regularisation by the log-loss over decisive votes of held-out judges of the training part."""
    fit, options, alphas = MODELS[name]
    if alphas is None:
        return 0.0
    totals = np.zeros(len(alphas))
    for inner, outer in train.folds(5, seed):
        held = train.part(outer)
        for number, predict in enumerate(fit(train.part(inner), alphas, **options)):
            totals[number] += np.nansum(losses(predict(held), held)[0] * held.weight)
    return float(alphas[np.argmin(totals)])


def held_out(name: str, votes: Votes, n_folds: int, seed: int) -> np.ndarray:
    """Return the three values of every vote, predicted without its judge, shape (3, l)."""
    fit, options, _ = MODELS[name]
    found = np.empty((3, len(votes.pairs)))
    for train, test in votes.folds(n_folds, seed):
        part = votes.part(train)
        predict = fit(part, [chosen_alpha(name, part, seed)], **options)[0]
        found[:, test] = losses(predict(votes.part(test)), votes.part(test))
    return found


def difference(first: np.ndarray, second: np.ndarray, votes: Votes) -> dict[str, float | None]:
    """Return the difference of two mean losses over decisive votes, with a 95 % interval over judges."""
    known = ~np.isnan(first)
    judges = np.unique(votes.judge[known], return_inverse=True)[1]
    sums = np.bincount(judges, weights=((first - second) * votes.weight)[known])
    weights = np.bincount(judges, weights=votes.weight[known])
    mean = sums.sum() / weights.sum()
    if len(sums) < 3:
        return {"mean": mean, "low": None, "high": None}
    without = (sums.sum() - sums) / (weights.sum() - weights)
    n = len(sums)
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    reach = stats.t.ppf(0.975, n - 1) * error
    return {"mean": mean, "low": mean - reach, "high": mean + reach}


def compare(votes: Votes, run: Run) -> dict[str, Any]:
    """Return one table."""
    rows: dict[str, Any] = {}
    reference = None
    for name, (_, options, _) in MODELS.items():
        if options and not votes.side.any():
            continue  # rankings have no sides and no ties, and each judge votes on every pair once
        if name.startswith("choix") and len(votes.pairs) > MANY:
            continue
        if name.startswith(("evalica", "choix")) and run.package(name.partition(",")[0]) is None:
            continue
        found = held_out(name, votes, run["folds"], run.seed)
        reference = found[0] if name.startswith("evalica") else reference
        log_loss, agreement, three = (
            np.average(row[~np.isnan(row)], weights=votes.weight[~np.isnan(row)]) for row in found
        )
        beside = reference is not None and not name.startswith("evalica")
        rows[name] = {
            "log_loss": log_loss,
            "agreement": agreement,
            "three": three if votes.tie.any() else None,
            "beside": difference(found[0], reference, votes) if beside else None,
        }
    return {
        "compared": votes.n_items,
        "votes": len(votes.pairs),
        "ties": int(votes.tie.sum()),
        "judges": len(np.unique(votes.judge)),
        "rows": rows,
    }


def protocol(run: Run) -> dict[str, Any]:
    """Hold out judges, and rankings."""
    warnings.simplefilter("ignore")  # fits of few votes may be separable
    found: dict[str, Any] = {}
    if "llmfao" in run["sets"]:
        found["llmfao"] = compare(Votes.of(read_pairs(run.data[LLMFAO])), run)
    for name in RANKINGS:
        short = name.partition("/")[0].rpartition(" ")[2]
        if short not in run["sets"]:
            continue
        if run.data.has(PREFLIB):
            path = next(run.data[PREFLIB].rglob(Path(name).name))
            found[short] = {"file": Path(name).stem, **compare(Votes.of(read_pairs(path)), run)}
        else:
            run.skipped.append(f"{PREFLIB.name}: get it from {PREFLIB.where}")
    return {"sets": found, "coin": float(np.log(2))}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the differences in log-loss to evalica."""
    votes = tables["sets"].get("llmfao", {"rows": {}})
    rows = {name: row["beside"] for name, row in votes["rows"].items() if row["beside"]}
    if not rows:
        return
    with picture(folder / "preferences.svg", 6.8, 3.2) as figure:
        ax = figure.subplots()
        means = np.array([cell["mean"] for cell in rows.values()])
        reach = [means - [c["low"] for c in rows.values()], [c["high"] for c in rows.values()] - means]
        ax.errorbar(means, list(rows), xerr=reach, fmt="o")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel="log-loss beside evalica's Bradley-Terry; left of 0 is better", title="llmfao")


STUDY = Study(
    protocol,
    data=(LLMFAO,),
    settings={
        "folds": (10, 3),
        "sets": (("llmfao", "skate", "dots", "puzzle", "boxing", "tennis", "f1seasons"), ("llmfao", "skate", "dots")),
    },
    draw=draw,
)
