"""The measure of alphas by held-out preferences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelrank.base.arrays import Float, Matrix
from kernelrank.base.labels import Queries
from kernelrank.comparisons import Preferences
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.exact_cv.preferences import PreferenceProblem
from kernelrank.features import Features
from kernelrank.model_selection.alpha_grid import mean_eigenvalue
from kernelrank.model_selection.preferences import Refits, exact_differences
from kernelrank.model_selection.search.candidates import Measured
from kernelrank.solvers.automatic import DIRECT_LIMIT

__all__ = ["PreferenceMeasure", "check_groups", "check_search"]

DIFFERENCES = 2**25
"""How many held-out differences are kept at once: all preferences for some alphas."""


def check_search(cv: Any, scoring: Any) -> None:
    """Raise an error for a hold-out or a measure that is not for preferences."""
    if not isinstance(cv, str) or cv != "auto":
        raise InvalidInputError(f"fit_pairs holds out preferences. Expected cv='auto'; got {cv!r}. Give groups instead")
    if scoring not in ("pairwise_accuracy", "auc"):
        raise InvalidInputError(
            "fit_pairs chooses by the agreement with preferences. Expected scoring='pairwise_accuracy'; got "
            f"{scoring!r}. Leave it out"
        )


def check_groups(groups: Any, n_pairs: int) -> None:
    """Raise an error if everything would be held out at once, so that nothing is left to train on."""
    if groups is not None and len(Queries.from_labels(groups, n_pairs, name="groups")) < 2:
        raise InvalidInputError(
            "Expected at least two groups to hold out one at a time; got one. Leave groups out to hold out single "
            "preferences"
        )
    if n_pairs < 2:
        raise InvalidInputError("Expected at least two preferences to hold out one; got one. Use RankRLS with an alpha")


@dataclass(frozen=True)
class PreferenceMeasure:
    """Measures alphas by the share of held-out preferences that agree.

    Parameters
    ----------
    problem : PreferenceProblem
    features : Features
    groups : sequence or None
        Labels of preferences that leave together.
    given : dict
        The magnitudes and weights, where they were given.
    learner : KernelLearner
        What is refitted where the shortcut loses digits.
    X : array or sparse matrix, shape (m, n_features)
    """

    problem: PreferenceProblem
    features: Features
    groups: Any
    given: dict[str, Float]
    learner: KernelLearner
    X: Matrix

    @classmethod
    def of(cls, learner: KernelLearner, X: Matrix, graph: Preferences, groups: Any, given: dict[str, Float]) -> Self:
        """Decompose the problem of a learner, not fitted, whose basis and gamma are fixed."""
        X = learner._check_items(X, reset=True)
        features = learner._features(X)
        if features.size > DIRECT_LIMIT:
            raise InvalidInputError(
                f"Expected at most {DIRECT_LIMIT:,} features or items, for a decomposition; got {features.size:,}. "
                "Give a basis, or choose alpha by preferences that you hold out yourself"
            )
        return cls(PreferenceProblem(features, graph), features, groups, given, learner, X)

    @property
    def scale(self) -> float:
        """The mean of the eigenvalues that are not zero."""
        values = self.problem.values
        known = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
        return mean_eigenvalue(float(values.sum()), int(known.sum()))

    def __call__(self, alphas: Float) -> Measured:
        """Hold preferences out for some alphas, and return the agreement of each."""
        graph = self.problem.graph
        step = max(1, DIFFERENCES // max(1, graph.n_pairs))
        parts = [self._agreement(alphas[start : start + step]) for start in range(0, len(alphas), step)]
        mean = np.concatenate(parts)[None]
        return Measured(mean, np.full(mean.shape, np.nan), None, None)

    def _agreement(self, alphas: Float) -> Float:
        graph = self.problem.graph
        refits = Refits(self.learner, self.X, graph.pairs, self.given, self.groups, False, alphas)
        found = refits.completed(exact_differences(self.problem, self.features, self.groups, alphas))
        counts = np.where(graph.magnitude > 0.0, self.given.get("weight", np.ones(graph.n_pairs)), 0.0)
        if not counts.any():
            raise InvalidInputError("every preference has zero weight or magnitude, so alpha cannot be chosen")
        agreed = (found > 0.0).astype(np.float64)
        agreed[found == 0.0] = 0.5
        return np.asarray(counts @ agreed / counts.sum())
