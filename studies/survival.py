"""On three survival data sets, least squares and hinges over known orders rank as well as the survival SVM.

The lung cancer trial of [KP80], the breast cancer study of [SBB94] and the heart attack study of [HLM08], as
scikit-survival ships them. The protocol is that of its user guide: 100 random halves of the items, trained on one half
and judged by the concordance index on the other, with the alpha that is best on average. Beside it stands the honest
figure, with alpha chosen by folds inside each half: ten, or five for RankSVM. With ``--set peers=yes``,
scikit-survival's linear and kernel SVM are run on the same halves, if it is installed; minutes.

The clinical kernel [DD09] is the mean over the columns of ``(range - |x - z|) / range`` for numbers and of equality for
categories.

[DD09] Daemen and De Moor (2009). Development of a kernel function for clinical data. IEEE EMBS.
[HLM08] Hosmer, Lemeshow and May (2008). Applied Survival Analysis. Wiley.
[KP80] Kalbfleisch and Prentice (1980). The Statistical Analysis of Failure Time Data. Wiley.
[SBB94] Schumacher et al. (1994). Randomized 2 × 2 trial evaluating hormonal treatment in node-positive breast cancer.
    Journal of Clinical Oncology 12.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

from kernelrank.data import event_times
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.metrics import KaplanMeier, concordance, log_rank_pvalue
from kernelrank.model_selection import RankRLSCV
from kernelrank.model_selection.holdout import holdout
from studies.book.picture import picture
from studies.book.sources import SURVIVAL
from studies.book.study import Run, Study

ALPHAS = 2.0 ** np.arange(-6, 25)
TARGETS = {  # the time, the event, and the word for an event
    "veteran": ("Survival_in_days", "Status", "dead"),
    "GBSG2": ("time", "cens", "1"),
    "whas500": ("lenfol", "fstat", "1"),
}


@dataclass(frozen=True)
class Cohort:
    """Columns of numbers and of categories, and times with events."""

    name: str
    numbers: np.ndarray
    categories: np.ndarray
    y: np.ndarray

    @property
    def items(self) -> np.ndarray:
        """The numbers, scaled to unit variance, and an indicator for all categories but the first of each column."""
        spread = np.where(self.numbers.std(axis=0) > 0, self.numbers.std(axis=0), 1.0)
        parts = [(self.numbers - self.numbers.mean(axis=0)) / spread]
        for column in self.categories.T:
            parts.append((column[:, None] == np.unique(column)[1:]).astype(float))
        return np.hstack(parts)

    def clinical_kernel(self) -> np.ndarray:
        """Return the mean similarity of all columns."""
        total = np.zeros((len(self.y), len(self.y)))
        for column in self.numbers.T:
            spread = np.ptp(column)
            total += (spread - np.abs(column[:, None] - column)) / spread
        for column in self.categories.T:
            total += column[:, None] == column
        return total / (self.numbers.shape[1] + self.categories.shape[1])


def read(path: Path, name: str) -> Cohort:
    """Read an ARFF file."""
    text = path.read_text(encoding="utf-8")
    header, _, body = re.split(r"(?im)^(@data)\s*$", text)
    kinds = dict(re.findall(r"(?im)^@attribute\s+(\S+)\s+(.+?)\s*$", header))
    rows = [[word.strip(" '") for word in line.split(",")] for line in body.splitlines() if line.strip()]
    table = dict(zip(kinds, np.array(rows).T, strict=True))
    time, event, word = TARGETS[name]
    y = event_times(table.pop(time).astype(float), table.pop(event) == word)
    numeric = [column for column in table if not kinds[column].startswith("{")]
    others = [column for column in table if column not in numeric]
    categories = np.array([table[column] for column in others]).T
    return Cohort(name, np.array([table[column].astype(float) for column in numeric]).T, categories, y)


def halves(m: int, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the random halves of the user guide."""
    return list(ShuffleSplit(n_splits, test_size=0.5, random_state=0).split(np.zeros(m)))


def best_mean(values: np.ndarray) -> dict[str, float]:
    """Return the best mean over the alphas (splits, alphas), and its standard deviation over the splits."""
    best = int(np.argmax(values.mean(axis=0)))
    return {"mean": values[:, best].mean(), "sd": values[:, best].std()}


def held_out(model: object, X: np.ndarray, y: np.ndarray, splits: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the concordance on each held-out half for every alpha."""
    found = holdout(model, X, y, [test for _, test in splits], alphas=ALPHAS)
    return np.array(
        [
            [concordance(y[np.sort(test)], column) for column in scores[np.argsort(test)].T]
            for (_, test), scores in zip(splits, found, strict=True)
        ]
    )


class ChosenByFolds:
    """A machine whose alpha, every second one of the grid, is chosen by five folds of its training items."""

    def __init__(self, machine: RankSVM) -> None:
        self.machine, self.kernel = machine, machine.kernel

    def fit(self, X: np.ndarray, y: np.ndarray) -> RankSVM:
        """Choose alpha by the mean concordance of the folds, and fit with it."""
        folds = [test for _, test in KFold(5, shuffle=True, random_state=0).split(y)]
        found = holdout(self.machine, X, y, folds, alphas=ALPHAS[::2])
        values = [[concordance(y[test], column) for column in f.T] for test, f in zip(folds, found, strict=True)]
        alpha = float(ALPHAS[::2][np.argmax(np.mean(values, axis=0))])
        return clone(self.machine).set_params(alpha=alpha).fit(X, y)


def chosen_inside(
    search: RankRLSCV | ChosenByFolds, X: np.ndarray, y: np.ndarray, splits: list[tuple[np.ndarray, np.ndarray]]
) -> dict[str, float]:
    """Return the mean concordance with alpha chosen inside the training half."""
    values = []
    for train, test in splits:
        precomputed = search.kernel == "precomputed"
        model = search.fit(X[np.ix_(train, train)] if precomputed else X[train], y[train])
        values.append(concordance(y[test], model.predict(X[np.ix_(test, train)] if precomputed else X[test])))
    return {"mean": float(np.mean(values)), "sd": float(np.std(values))}


def peers(cohort: Cohort, splits: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """Run scikit-survival's machines on the same halves."""
    from sksurv.svm import FastKernelSurvivalSVM, FastSurvivalSVM

    rows: dict[str, Any] = {}
    alphas = 2.0 ** np.arange(-12, 13, 2)
    machines = {
        "linear": (FastSurvivalSVM(max_iter=1000, tol=1e-5, random_state=0), cohort.items, alphas),
        "clinical": (
            FastKernelSurvivalSVM(kernel="precomputed", max_iter=1000, tol=1e-5, random_state=0),
            cohort.clinical_kernel(),
            alphas,
        ),
    }
    for name, (machine, X, alphas) in machines.items():
        values = np.empty((len(splits), len(alphas)))
        for row, (train, test) in enumerate(splits):
            kernel = name == "clinical"
            X_train, X_test = (X[np.ix_(part, train)] if kernel else X[part] for part in (train, test))
            for column, alpha in enumerate(alphas):
                risk = machine.set_params(alpha=alpha).fit(X_train, cohort.y[train]).predict(X_test)
                values[row, column] = concordance(cohort.y[test], -risk)
        if values.mean() < 0.5:
            values = 1.0 - values  # newer versions predict times
        rows[f"scikit-survival, {name}"] = {"best_alpha": best_mean(values), "chosen_inside": None}
    return rows


def thirds(cohort: Cohort) -> dict[str, Any]:
    """Return Kaplan-Meier curves of the thirds of held-out scores, and the log-rank test between them."""
    score = np.empty(len(cohort.y))
    for train, test in KFold(10, shuffle=True, random_state=0).split(cohort.items):
        score[test] = RankRLSCV().fit(cohort.items[train], cohort.y[train]).predict(cohort.items[test])
    third = np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)
    curves = []
    for number in range(3):
        part = cohort.y[third == number]
        curve = KaplanMeier.of(part["time"], part["event"])
        curves.append({"time": curve.time, "survival": curve.survival})
    return {"curves": curves, "p": log_rank_pvalue(cohort.y["time"], cohort.y["event"], third)}


def protocol(run: Run) -> dict[str, Any]:
    """Run the protocol on each data set."""
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    warnings.filterwarnings("ignore", message="Optimization did not converge")
    found: dict[str, Any] = {}
    for name, source in SURVIVAL.items():
        cohort = read(run.data[source], name)
        splits = halves(len(cohort.y), run["splits"])
        X, K = cohort.items, cohort.clinical_kernel()
        given = {"kernel": "precomputed"}
        hinges = [RankSVM(loss="squared_hinge", **kernel) for kernel in ({}, given)]
        models = {
            "RankRLS, linear": (RankRLS(), X, RankRLSCV()),
            "RankRLS, clinical kernel": (RankRLS(**given), K, RankRLSCV(**given)),
            "RankSVM, linear": (hinges[0], X, ChosenByFolds(hinges[0])),
            "RankSVM, clinical kernel": (hinges[1], K, ChosenByFolds(hinges[1])),
        }
        rows: dict[str, Any] = {
            label: {
                "best_alpha": best_mean(held_out(model, items, cohort.y, splits)),
                "chosen_inside": chosen_inside(search, items, cohort.y, splits),
            }
            for label, (model, items, search) in models.items()
        }
        if run["peers"] and run.package("sksurv") is not None:
            rows.update(peers(cohort, splits))
        found[name] = {"patients": len(X), "events": int(cohort.y["event"].sum()), "rows": rows}
        if name == "veteran":
            found[name]["thirds"] = thirds(cohort)
    return {"cohorts": found}


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the means of the honest figures."""
    with picture(folder / "survival.svg", 5.6, 5.0) as figure:
        axes = figure.subplots(len(tables["cohorts"]), 1)
        for ax, (name, table) in zip(axes, tables["cohorts"].items(), strict=True):
            cells = {label: row["chosen_inside"] or row["best_alpha"] for label, row in table["rows"].items()}
            means, spreads = ([cell[part] for cell in cells.values()] for part in ("mean", "sd"))
            ax.errorbar(means, list(cells), xerr=spreads, fmt="o")
            ax.set_title(name)
            ax.margins(y=0.2)
            ax.locator_params(axis="x", nbins=6)
        axes[-1].set_xlabel("concordance")


STUDY = Study(
    protocol,
    data=tuple(SURVIVAL.values()),
    settings={"splits": (100, 3), "peers": (False, False)},
    published={"linear": 0.720, "kernel": 0.709},  # scikit-survival's user guide, survival SVM on veteran
    draw=draw,
)
