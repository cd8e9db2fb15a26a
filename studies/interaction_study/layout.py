"""How figures are printed."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kernelrank.relations import CrossValidation
from kernelrank.relations.scores import ExtractionScores


def percent(*values: float) -> str:
    return "".join(f"{100 * value:7.1f}" for value in values)


def picked(results: list[CrossValidation]) -> str:
    """Say in how many folds of all splits each kind of features was taken."""
    counts = Counter(choice.features for result in results for choice in result.choices)
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def print_variant(name: str, results: list[CrossValidation], reference: list[CrossValidation]) -> None:
    def figures(some: list[CrossValidation]) -> np.ndarray:
        means = ExtractionScores.mean([result.mean() for result in some])
        inside = np.mean([choice.inner.auc for result in some for choice in result.choices])
        return 100 * np.array([inside, means.auc, means.f])

    ours, theirs = figures(results), figures(reference[: len(results)])
    cells = "".join(f"{a:8.1f} ({a - b:+5.1f})" for a, b in zip(ours, theirs, strict=True))
    print(f"    {name:<40}{cells}", flush=True)
