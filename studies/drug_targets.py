"""How well dyads are ranked depends on what is new: a score, a drug, a target, or both.

The dissociation constants of 68 drugs and 442 targets [D11], with similarities of the drugs and of the targets [PA15].
A low constant is a strong binding, so that minus the constant is learned, and in a second table pKd = 9 - log10(Kd in
nM).

New objects follow the protocol of RLScore's tutorial: similarities to all objects are the features of linear kernels;
40 of the drugs or 300 of the targets or both are the training part, and the concordance is measured over all dyads of
the other objects. The first split is that of the tutorial, whose figures are the best on the test part. Here the search
holds out inside the training part, in the same setting as the test, and never sees the test part. New cells are those
of leave-one-out over all data, and alpha is chosen by the same cells, as in the tutorial.

[D11] Davis et al. (2011). Comprehensive analysis of kinase inhibitor selectivity. Nature Biotechnology 29.
[PA15] Pahikkala et al. (2015). Toward more realistic drug-target interaction predictions. Briefings in
    Bioinformatics 16.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import kernelrank as kr
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.metrics import DyadicConcordance, dyadic_concordance
from studies.book.cell import spread_cell
from studies.book.picture import legend_above, picture
from studies.book.sources import DAVIS
from studies.book.study import Run, Study

SIMILAR_DRUGS = "drug-drug_similarities_2D.txt"
SIMILAR_TARGETS = "target-target_similarities_WS.txt"
CONSTANTS = "drug-target_interaction_affinities_Kd__Davis_et_al.2011v1.txt"
TRAINING_DRUGS, TRAINING_TARGETS = 40, 300
SETTINGS = {"cell": "new cell", "row": "new drug", "column": "new target", "both": "both new"}
MODELS = {
    "KroneckerRLS": kr.KroneckerRLSCV(scoring="concordance"),
    "KroneckerRankRLS": kr.KroneckerRankRLSCV(scoring="concordance"),
    "TwoStepRLS": kr.TwoStepRLSCV(scoring="concordance"),
}
PUBLISHED = {
    ("KroneckerRLS", "row"): 0.7155,
    ("KroneckerRLS", "column"): 0.8602,
    ("KroneckerRLS", "both"): 0.6872,
    ("TwoStepRLS", "row"): 0.7043,
    ("TwoStepRLS", "column"): 0.8717,
    ("TwoStepRLS", "both"): 0.6631,
}


@dataclass(frozen=True)
class Bindings:
    """Features of drugs and targets, and how strongly each drug binds to each target."""

    drugs: np.ndarray
    targets: np.ndarray
    Y: np.ndarray

    def in_logarithms(self) -> Bindings:
        """Return the same with pKd."""
        return replace(self, Y=9.0 - np.log10(-self.Y))

    def part(self, drugs: np.ndarray, targets: np.ndarray) -> Bindings:
        """Return some of the drugs and some of the targets."""
        return Bindings(self.drugs[drugs], self.targets[targets], self.Y[np.ix_(drugs, targets)])


def read(folder: Path) -> Bindings:
    """Read the three tables."""
    drugs, targets, constants = (np.loadtxt(folder / name) for name in (SIMILAR_DRUGS, SIMILAR_TARGETS, CONSTANTS))
    return Bindings(drugs, targets, -constants)


def split(bindings: Bindings, setting: str, seed: int) -> tuple[Bindings, Bindings]:
    """Return a training and a test part; seed 1 is the split of the tutorial."""
    random = np.random.RandomState(seed)  # as the tutorial draws it
    parts = []
    for side, size, count in (("row", len(bindings.drugs), TRAINING_DRUGS),
                              ("column", len(bindings.targets), TRAINING_TARGETS)):  # fmt: skip
        order = np.arange(size)
        if setting in (side, "both"):
            random.shuffle(order)
            parts.append((order[:count], order[count:]))
        else:
            parts.append((order, order))
    (drugs, new_drugs), (targets, new_targets) = parts
    return bindings.part(drugs, targets), bindings.part(new_drugs, new_targets)


def predicted(search: Any, bindings: Bindings, setting: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the true and the predicted scores of what is new."""
    search.set_params(setting=setting)
    if setting == "cell":
        return bindings.Y, search.fit(bindings.drugs, bindings.targets, bindings.Y).holdout_scores_
    training, test = split(bindings, setting, seed)
    search.fit(training.drugs, training.targets, training.Y)
    return test.Y, search.predict(test.drugs, test.targets)


def cell(found: DyadicConcordance) -> dict[str, float]:
    """Return a concordance with its interval."""
    low, high = found.interval
    return {"mean": found.value, "low": low, "high": high}


def compare(bindings: Bindings, n_splits: int) -> list[dict[str, Any]]:
    """Return the concordance of each model in each setting."""
    rows = []
    for setting, noun in SETTINGS.items():
        for name, search in MODELS.items():
            seeds = range(1, 2 if setting == "cell" else 1 + n_splits)
            scores = [predicted(search, bindings, setting, seed) for seed in seeds]
            overall = [dyadic_concordance(*pair) for pair in scores]
            rows.append(
                {
                    "new": noun,
                    "model": name,
                    "overall": cell(overall[0]),
                    "splits": spread_cell([found.value for found in overall]) if len(overall) > 1 else None,
                    "of_drugs": cell(dyadic_concordance(*scores[0], per="row")),
                }
            )
    return rows


def best_on_the_test_part(bindings: Bindings) -> dict[str, float]:
    """Return the figure of the tutorial: the best alpha by the test part itself."""
    best = {}
    for setting in ("row", "column", "both"):
        training, test = split(bindings, setting, seed=1)
        models = [kr.KroneckerRLS(2.0**k).fit(training.drugs, training.targets, training.Y) for k in range(15, 36)]
        found = [dyadic_concordance(test.Y, model.predict(test.drugs, test.targets)).value for model in models]
        best[SETTINGS[setting]] = max(found)
    return best


def protocol(run: Run) -> dict[str, Any]:
    """Run the four settings on the constants and on their logarithms."""
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    bindings = read(run.data[DAVIS])
    return {
        "drugs": len(bindings.drugs),
        "targets": len(bindings.targets),
        "constants": bindings.Y.size,
        "training_drugs": TRAINING_DRUGS,
        "training_targets": TRAINING_TARGETS,
        "best_on_test": best_on_the_test_part(bindings),
        "as_they_are": compare(bindings, run["splits"]),
        "pKd": compare(bindings.in_logarithms(), run["splits"]),
    }


def draw(tables: dict[str, Any], folder: Path) -> None:
    """Draw the concordance of each drug in the four settings."""
    with picture(folder / "drug_targets.svg", 6.4, 3.6) as figure:
        ax = figure.subplots()
        for number, name in enumerate(MODELS):
            cells = [row["overall"] for row in tables["as_they_are"] if row["model"] == name]
            means = np.array([one["mean"] for one in cells])
            reach = [means - [one["low"] for one in cells], [one["high"] for one in cells] - means]
            ax.errorbar(np.arange(len(cells)) + 0.12 * (number - 1), means, reach, fmt="o", label=name)
        ax.set_xticks(range(len(SETTINGS)), list(SETTINGS.values()))
        ax.set_ylabel("concordance over all dyads")
        legend_above(figure, ax)


STUDY = Study(
    protocol,
    data=(DAVIS,),
    settings={"splits": (10, 1)},
    published={f"{name}, {SETTINGS[setting]}": value for (name, setting), value in PUBLISHED.items()},
    draw=draw,
)
