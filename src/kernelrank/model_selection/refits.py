"""From an RLS or RankRLS estimator and its data to the problems that are held out from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons.costs import OutputGraph
from kernelrank.errors import InvalidInputError
from kernelrank.estimators.base import KernelLearner
from kernelrank.exact_cv import DifferingPairs, GivenPairs, PairHoldout, Problem, leave_pair_out, leave_sets_out
from kernelrank.solvers.precision import check_finite, check_range, one_warning, overflow_is_checked

__all__ = ["HELD_OUT_BASIS", "HoldoutData"]

HELD_OUT_BASIS = ("remove", "keep")
"""What may become of basis items that are held out."""


class HoldoutData:
    """Training data of a learner, from which items are held out.

    Parameters
    ----------
    learner : RLS or RankRLS
        Only its parameters are used.
    X, y, qid, sample_weight
        As in its `fit`.
    held_out_basis : {"remove", "keep"}, default="remove"
        What becomes of basis items that are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelrank import RankRLS
    >>> data = HoldoutData(RankRLS(), np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 3.0]))
    >>> data.n_items, data.one_output
    (3, True)
    """

    def __init__(
        self,
        learner: KernelLearner,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        *,
        held_out_basis: str = "remove",
    ) -> None:
        self.learner: Any = clone(learner)
        self.learner._validate_params()
        X = self.learner._check_items(X, reset=True)
        graphs, self.one_output = self.learner._compare(X, y, qid, sample_weight)
        self._read(X, graphs, held_out_basis)

    @classmethod
    def of(
        cls,
        learner: KernelLearner,
        X: Any,
        graphs: list[OutputGraph],
        *,
        one_output: bool,
        held_out_basis: str = "remove",
        keep_spectra: bool = False,
    ) -> HoldoutData:
        """Hold out from data that are validated and compared already.

        Decompositions are kept for further alphas with `keep_spectra`; they are let go otherwise.
        """
        data = cls.__new__(cls)
        data.learner, data.one_output = learner, one_output
        data._read(X, graphs, held_out_basis, keep_spectra=keep_spectra)
        return data

    def _read(self, X: Any, graphs: list[OutputGraph], held_out_basis: str, *, keep_spectra: bool = False) -> None:
        if held_out_basis not in HELD_OUT_BASIS:
            raise InvalidInputError(f"held_out_basis must be 'remove' or 'keep', got {held_out_basis!r}")
        # A basis is drawn once: what is held out loses its basis items, and the others stay.
        self.learner = self.learner._settled(X)
        features = self.features = self.learner._features(X)
        check_range(features, (graph for _, graph in graphs))
        keep = features.basis is not None and held_out_basis == "keep"
        self.n_items: int = X.shape[0]
        self.n_outputs = sum(len(columns) for columns, _ in graphs)
        self.truth: Float = np.empty((self.n_items, self.n_outputs))
        for columns, graph in graphs:
            self.truth[:, columns] = np.where(graph.weight[:, None] > 0, graph.scores, np.nan)
        self.problems: list[tuple[Index, Problem]] = [
            (columns, Problem(features, graph, keep, {} if keep_spectra else None)) for columns, graph in graphs
        ]

    @one_warning("held-out scores")
    def scores(self, sets: ItemSets, alphas: Float) -> Float:
        """Return the scores of each set by the model trained without it, shape (total, outputs, alphas)."""
        scores = np.empty((len(sets.items), self.n_outputs, len(alphas)))
        for columns, problem in self.problems:
            with overflow_is_checked():
                scores[:, columns] = leave_sets_out(problem, sets, alphas)
        check_finite(scores, "scores of items held out")
        return scores

    @one_warning("held-out differences")
    def pairs(self, pairs: Index | None, alphas: Float, *, differences: bool = True) -> PairHoldout:
        """Hold out pairs: all whose scores differ, or those given; every axis is kept.

        Parameters
        ----------
        pairs : ndarray of int64, shape (pairs, 2), or None
        alphas : ndarray, shape (n,)
        differences : bool, default=True
            Whether to keep the pairs and their differences, or the accuracy only.

        Returns
        -------
        PairHoldout
            With shapes (pairs, outputs, n), (pairs, outputs) and (outputs, n).
        """
        chosen = DifferingPairs.of(self.truth) if pairs is None else GivenPairs(pairs, self.n_items)
        difference = np.empty((self.n_outputs, len(alphas), chosen.n_pairs if differences else 0))
        accuracy = np.empty((self.n_outputs, len(alphas)))
        for columns, problem in self.problems:
            with overflow_is_checked():
                found, accuracy[columns] = leave_pair_out(problem, chosen, alphas, differences=differences)
            check_finite(found, "scores of pairs held out")
            difference = found if len(self.problems) == 1 else difference
            difference[columns] = found
        first = second = np.zeros(0, dtype=np.int64)
        if differences:
            first, second = chosen.items()
        truth = self.truth[first] - self.truth[second]
        return PairHoldout(first, second, difference.transpose(2, 0, 1), truth, accuracy, chosen.n_pairs)
