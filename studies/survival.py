"""Claim: on three survival data sets, least squares and hinges over known orders rank as well as the survival SVM.

Run: python -m studies.survival --data FOLDER [--splits 100] [--peers] [--figure curves.png]

FOLDER has veteran.arff, GBSG2.arff and whas500.arff, packed (.xz) or not: the lung cancer trial of [KP80], the
breast cancer study of [SBB94] and the heart attack study of [HLM08], as scikit-survival ships them. The protocol is
that of its user guide: 100 random halves of the items, trained on one half and judged by the concordance index on
the other, with the alpha that is best on average. Beside it stands the honest figure, with alpha chosen by folds
inside each half: ten, or five for RankSVM. With --peers, scikit-survival's linear and kernel SVM are run on the same
halves, if it is installed.

The clinical kernel [DD09] is the mean over the columns of ``(range - |x - z|) / range`` for numbers and of equality for
categories.

[DD09] Daemen and De Moor (2009). Development of a kernel function for clinical data. IEEE EMBS.
[HLM08] Hosmer, Lemeshow and May (2008). Applied Survival Analysis. Wiley.
[KP80] Kalbfleisch and Prentice (1980). The Statistical Analysis of Failure Time Data. Wiley.
[SBB94] Schumacher et al. (1994). Randomized 2 × 2 trial evaluating hormonal treatment in node-positive breast cancer.
    Journal of Clinical Oncology 12.
"""

from __future__ import annotations

import argparse
import lzma
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

from kernelrank import RankRLS, RankRLSCV, RankSVM, holdout
from kernelrank.data import event_times
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.metrics import concordance

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


def read(folder: Path, name: str) -> Cohort:
    """Read an ARFF file, packed or not."""
    path = next((folder / f"{name}.arff{end}" for end in ("", ".xz") if (folder / f"{name}.arff{end}").exists()), None)
    if path is None:
        raise SystemExit(f"Expected {name}.arff or {name}.arff.xz in {folder}; found neither.")
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode()
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


def best_mean(values: np.ndarray) -> str:
    """Show the best mean over the alphas (splits, alphas), and its standard deviation over the splits."""
    best = int(np.argmax(values.mean(axis=0)))
    return f"{values[:, best].mean():.3f} ± {values[:, best].std():.3f}"


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
) -> str:
    """Return the mean concordance with alpha chosen inside the training half."""
    values = []
    for train, test in splits:
        precomputed = search.kernel == "precomputed"
        model = search.fit(X[np.ix_(train, train)] if precomputed else X[train], y[train])
        values.append(concordance(y[test], model.predict(X[np.ix_(test, train)] if precomputed else X[test])))
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def peers(cohort: Cohort, splits: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Run scikit-survival's machines on the same halves."""
    from sksurv.svm import FastKernelSurvivalSVM, FastSurvivalSVM

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
        print(f"  {'scikit-survival, ' + name:<34}{best_mean(values):>16}", flush=True)


def draw_curves(cohort: Cohort, path: str) -> None:
    """Draw Kaplan-Meier curves of the thirds of held-out scores."""
    import matplotlib.pyplot as plt

    from kernelrank.metrics import KaplanMeier, log_rank_pvalue

    score = np.empty(len(cohort.y))
    for train, test in KFold(10, shuffle=True, random_state=0).split(cohort.items):
        score[test] = RankRLSCV().fit(cohort.items[train], cohort.y[train]).predict(cohort.items[test])
    third = np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for number, label in enumerate(("lowest third of the scores", "middle third", "highest third")):
        part = cohort.y[third == number]
        curve = KaplanMeier.of(part["time"], part["event"])
        axes.step(np.append(0, curve.time), np.append(1, curve.survival), where="post", label=label)
    pvalue = log_rank_pvalue(cohort.y["time"], cohort.y["event"], third)
    axes.set(xlabel="time", ylabel="share alive", ylim=(0, 1.02), title=f"{cohort.name}: log-rank p = {pvalue:.2g}")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Run the protocol on each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--figure", default=None, help="where to save Kaplan-Meier curves of veteran")
    parser.add_argument("--peers", action="store_true", help="run scikit-survival too, where it is installed; minutes")
    parser.add_argument("--sets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    warnings.filterwarnings("ignore", message="Optimization did not converge")
    for name in arguments.sets:
        cohort = read(arguments.data, name)
        splits = halves(len(cohort.y), arguments.splits)
        X, K = cohort.items, cohort.clinical_kernel()
        events = int(cohort.y["event"].sum())
        print(
            f"{name}: {len(X)} items, {X.shape[1]} columns, {events} events; mean concordance on {len(splits)} halves"
        )
        print(f"  {'':<34}{'best alpha':>16}{'chosen inside':>18}")
        given = {"kernel": "precomputed"}
        hinges = [RankSVM(loss="squared_hinge", **kernel) for kernel in ({}, given)]
        rows = {
            "RankRLS, linear": (RankRLS(), X, RankRLSCV()),
            "RankRLS, clinical kernel": (RankRLS(**given), K, RankRLSCV(**given)),
            "RankSVM, linear": (hinges[0], X, ChosenByFolds(hinges[0])),
            "RankSVM, clinical kernel": (hinges[1], K, ChosenByFolds(hinges[1])),
        }
        for label, (model, items, search) in rows.items():
            inside = chosen_inside(search, items, cohort.y, splits)
            print(f"  {label:<34}{best_mean(held_out(model, items, cohort.y, splits)):>16}{inside:>18}", flush=True)
        if arguments.peers:
            peers(cohort, splits)
        if name == "veteran" and arguments.figure:
            draw_curves(cohort, arguments.figure)


if __name__ == "__main__":
    main()
