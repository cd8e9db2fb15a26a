"""How well dyads are ranked depends on what is new: a score, a drug, a target, or both.

Run: python -m studies run drug_targets --data FOLDER [--splits 10]

FOLDER has the folder ``davis`` or ``davis.tar.xz``: the dissociation constants of 68 drugs and 442 targets [D11], with
similarities of the drugs and of the targets [PA15]. A low constant is a strong binding, so that minus the constant is
learned, and in a second table pKd = 9 - log10(Kd in nM).

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

import argparse
import tarfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.metrics import DyadicConcordance, dyadic_concordance

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
    """Read the three tables from the folder or from the archive."""
    unpacked, packed = folder / "davis", folder / "davis.tar.xz"
    if unpacked.is_dir():
        tables = [np.loadtxt(unpacked / name) for name in (SIMILAR_DRUGS, SIMILAR_TARGETS, CONSTANTS)]
    elif packed.is_file():
        with tarfile.open(packed) as archive:
            tables = [
                np.loadtxt(_opened(archive, f"davis/{name}")) for name in (SIMILAR_DRUGS, SIMILAR_TARGETS, CONSTANTS)
            ]
    else:
        raise SystemExit(f"Expected the folder davis or the file davis.tar.xz in {folder}; found neither.")
    drugs, targets, constants = tables
    return Bindings(drugs, targets, -constants)


def _opened(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    file = archive.extractfile(name)
    if file is None:
        raise SystemExit(f"Expected the file {name} in the archive; found something else.")
    return file


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


def shown(found: DyadicConcordance) -> str:
    low, high = found.interval
    return f"{found.value:.4f} [{low:.4f}, {high:.4f}]"


def compare(bindings: Bindings, n_splits: int) -> None:
    """Print the concordance of each model in each setting."""
    print(
        "| new | model | overall, tutorial's split | tutorial | overall, all splits | of each drug, tutorial's split |"
    )
    print("|---|---|---|---|---|---|")
    for setting, noun in SETTINGS.items():
        for name, search in MODELS.items():
            seeds = range(1, 2 if setting == "cell" else 1 + n_splits)
            scores = [predicted(search, bindings, setting, seed) for seed in seeds]
            overall = [dyadic_concordance(*pair) for pair in scores]
            of_drugs = dyadic_concordance(*scores[0], per="row")
            values = np.array([found.value for found in overall])
            spread = f"{values.mean():.4f} ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
            published = f"{PUBLISHED[name, setting]:.4f}" if (name, setting) in PUBLISHED else ""
            print(
                f"| {noun} | `{name}` | {shown(overall[0])} | {published} | {spread} | {shown(of_drugs)} |", flush=True
            )


def best_on_the_test_part(bindings: Bindings) -> None:
    """Print the figure of the tutorial: the best alpha by the test part itself."""
    for setting in ("row", "column", "both"):
        training, test = split(bindings, setting, seed=1)
        found = {}
        for exponent in range(15, 36):
            model = kr.KroneckerRLS(2.0**exponent).fit(training.drugs, training.targets, training.Y)
            found[exponent] = dyadic_concordance(test.Y, model.predict(test.drugs, test.targets)).value
        best = max(found, key=lambda exponent: found[exponent])
        print(f"{SETTINGS[setting]}: {found[best]:.4f} at 2^{best}; tutorial {PUBLISHED['KroneckerRLS', setting]:.4f}")


def main() -> None:
    """Run the four settings on the constants and on their logarithms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10, help="of the objects; the first is that of the tutorial")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", EdgeOfGridWarning)
    bindings = read(arguments.data)
    start = time.process_time()
    with threadpool_limits(1):
        print("KroneckerRLS, alpha picked on the test part:")
        best_on_the_test_part(bindings)
        print("\nMinus the constants:\n")
        compare(bindings, arguments.splits)
        print("\npKd:\n")
        compare(bindings.in_logarithms(), arguments.splits)
    print(f"\n{time.process_time() - start:.0f} CPU s")
