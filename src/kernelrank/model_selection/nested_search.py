"""Nested cross-validation of a search: alpha and the kernel are chosen without each held-out set, without refits.

The items outside a set U are searched in the same way as all items: by leave-pair-out
(`kernelrank.exact_cv.nested`), by leave-one-out or by leave-query-out (`kernelrank.exact_cv.nested`), all
from the decomposition of each kernel. U is then scored by the model of the chosen candidate, from the same
decomposition. The first of equal candidates is chosen, as a search does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets, Queries
from kernelrank.base.sklearn_private import num_samples
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.exact_cv import Problem
from kernelrank.exact_cv.nested import inner_agreements, inner_scores
from kernelrank.exact_cv.pair_forms import ItemPairs
from kernelrank.metrics import Measure
from kernelrank.metrics.pairs import MagnitudePreservingError
from kernelrank.metrics.thresholds import ThresholdMeasure
from kernelrank.model_selection.refits import HoldoutData, refit_scores
from kernelrank.model_selection.search import (
    AlphaSearch,
    HoldoutPlan,
    HoldoutScoring,
    first_of_best,
    judged,
    read_scoring,
)


def chosen_candidates(search: Any, X: Any) -> Float:
    """Return for every row of X the number of the candidate that a fitted search chose."""
    return np.full(num_samples(X), float(first_of_best(search.cv_results_["mean_test_score"])))


def can_be_nested(estimator: Any) -> bool:
    """Return whether a search may have a shortcut when it is held out; its data decide the rest."""
    return isinstance(estimator, AlphaSearch) and isinstance(estimator.cv, str)


@dataclass(frozen=True)
class _Kernel:
    """One setting of the kernel, and the alphas that are tried with it."""

    data: HoldoutData
    alphas: Float

    @property
    def problem(self) -> Problem:
        return self.data.problems[0][1]


class NestedSearch:
    """A search with its data, for nested cross-validation."""

    def __init__(self, search: AlphaSearch, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> None:
        self.search = search._settled(X, qid=qid, sample_weight=sample_weight)
        self.X, self.y, self.qid, self.sample_weight = X, y, qid, sample_weight
        settings = self.search._settings()
        basis: dict[str, Any] = {"held_out_basis": self.search.held_out_basis}
        if len(settings) > 1:
            basis["distances"] = {}
        given = self.search._given_alphas(len(settings))
        assert given is not None
        self.kernels = [
            _Kernel(HoldoutData(self.search._learner(setting), X, y, qid, sample_weight, **basis), np.array(alphas))
            for setting, alphas in zip(settings, given, strict=True)
        ]
        data = self.kernels[0].data
        self.truth, self.one_output = data.truth, data.one_output
        self.queries = None if qid is None else Queries.from_labels(qid, data.n_items)
        name = self.search.cv
        self.event = data.problems[0][1].graph.event
        if name == "auto":
            alone = self.search._without_queries if self.event is None else "folds"  # which are trained again
            name = alone if self.queries is None or len(self.queries) < 2 else "leave_query_out"
        self.plan_name = name
        self._known: dict[bytes, Float] = {}  # sets that were requested before, by their items

    @property
    def n_candidates(self) -> int:
        """How many kernels and alphas there are to choose from."""
        return sum(len(kernel.alphas) for kernel in self.kernels)

    def scores(self, sets: ItemSets, *, n_jobs: int | None = None) -> Float:
        """Return the scores of each set by the model that was chosen and trained without it, (total, outputs, 1)."""
        chosen = self._choices(sets, n_jobs)
        if chosen is None:
            return self._refit(sets, n_jobs)
        return self._of_chosen(np.repeat(chosen, sets.sizes), lambda data, alphas: data.scores(sets, alphas))

    def differences(self, pairs: ItemPairs, *, n_jobs: int | None = None) -> Float | None:
        """Return the differences of held-out pairs (pairs, 1, 1) with their ties; None where only scores are known."""
        chosen = self._choices(pairs.sets(len(self.truth))[0], n_jobs)
        if chosen is None:
            return None
        listed = np.stack(pairs.items(), axis=1)
        return self._of_chosen(chosen, lambda data, alphas: data.pairs(listed, alphas).difference)

    def _choices(self, sets: ItemSets, n_jobs: int | None) -> Index | None:
        """Return the number of the candidate that each set chooses; None where a candidate has no scores by itself.

        Where the choice has no shortcut, the search is refitted.
        """
        values, data = self.values(sets), self.kernels[0].data
        if self.truth.shape[1] > 1 or self.event is not None or data.learner.basis is not None:
            return None
        chosen = np.zeros(len(sets), dtype=np.int64)
        known = np.zeros(len(sets), dtype=bool) if values is None else ~np.isnan(values).any(axis=1)
        if values is not None:
            chosen[known] = first_of_best(values[known])
        if not known.all():
            _, part = sets.part(np.flatnonzero(~known))
            chosen[~known] = self._refit(part, n_jobs, chosen_candidates)[part.bounds[:-1], 0, 0]
        return chosen

    def _refit(self, sets: ItemSets, n_jobs: int | None, read: Callable[[Any, Any], Float] | None = None) -> Float:
        """Search without each set, and read the scores of its items, or something else, from the model."""
        given = {"qid": None if self.queries is None else self.queries.codes, "sample_weight": self.sample_weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)  # as where the choice has a shortcut
            return refit_scores(self.search, self.X, np.asarray(self.y), sets, n_jobs=n_jobs, read=read, **given)

    def _of_chosen(self, chosen: Index, held_out: Callable[[HoldoutData, Float], Float]) -> Float:
        """Return of what is held out for every candidate (total, 1, candidates) the chosen one, (total, 1, 1)."""
        found = np.empty((len(chosen), 1, 1))
        start = 0
        for kernel in self.kernels:
            stop = start + len(kernel.alphas)
            mine = np.flatnonzero((chosen >= start) & (chosen < stop))
            if len(mine):
                found[mine, :, 0] = held_out(kernel.data, kernel.alphas)[mine, :, chosen[mine] - start]
            start = stop
        return found

    def values(self, sets: ItemSets) -> Float | None:
        """Return the measure of every candidate without each set, shape (sets, candidates).

        Returns: Higher is better; NaN for a set whose choice has no shortcut. None where none has.
        """
        keys = [items.tobytes() for items in map(np.sort, sets)]
        new = [number for number, key in enumerate(keys) if key not in self._known]
        if new:
            _, part = sets.part(np.array(new))
            parts = [self._kernel_values(kernel, part) for kernel in self.kernels]
            if any(found is None for found in parts):
                return None
            rows = np.concatenate(cast("list[Float]", parts), axis=1)
            self._known.update(zip((keys[number] for number in new), rows, strict=True))
        return np.stack([self._known[key] for key in keys])

    def best(self) -> Any | None:
        """Return the learner that is chosen from all items; None where that has no shortcut."""
        nothing = ItemSets(np.zeros(0, dtype=np.int64), np.zeros(2, dtype=np.int64))
        values = self.values(nothing)
        if values is None or np.isnan(values).any():
            return None
        number = int(first_of_best(values[0]))
        for kernel in self.kernels:
            if number < len(kernel.alphas):
                return clone(kernel.data.learner).set_params(alpha=float(kernel.alphas[number]))
            number -= len(kernel.alphas)
        return None

    def _kernel_values(self, kernel: _Kernel, sets: ItemSets) -> Float | None:
        if len(kernel.data.problems) > 1 or self.truth.shape[1] > 1 or self.plan_name == "folds":
            return None
        if self.plan_name == "leave_pair_out" and self.search.scoring == "pairwise_accuracy":
            return inner_agreements(kernel.problem, sets, kernel.alphas)
        scoring = None
        if self.search.scoring is not None:
            scoring = read_scoring(self.search.scoring, censored=self.event is not None)
        if self.plan_name == "leave_pair_out":
            if isinstance(scoring, MagnitudePreservingError):
                return None  # what is counted inside is the order of pairs
            return inner_agreements(kernel.problem, sets, kernel.alphas)
        intercepts = kernel.problem.graph.queries is not None
        if intercepts and (not isinstance(scoring, Measure) or isinstance(scoring, ThresholdMeasure)):
            return None  # scores are known up to a constant for each query, which only ranking measures ignore
        inner = ItemSets.singles(kernel.data.n_items)
        if self.plan_name == "leave_query_out":
            assert self.queries is not None
            inner = ItemSets.of_queries(self.queries)
        found = np.full((len(sets), len(kernel.alphas)), np.nan)
        for number, (left, scores) in enumerate(inner_scores(kernel.problem, sets, inner, kernel.alphas)):
            if scores is None:
                continue
            plan = HoldoutPlan(self.plan_name, left)
            options: dict[str, Any] = {"joint": self.joint, "event": self.event}
            judge = HoldoutScoring(plan, scoring, self.truth, self.queries, self.search._loss(), **options)
            found[number] = judged(plan, judge, scores).mean.mean(axis=0)
        return found

    @property
    def joint(self) -> bool:
        """Whether the loss is of all outputs together."""
        from sklearn.base import is_classifier

        return bool(is_classifier(self.search))
