"""Scores of candidates by models that have not seen their documents, for every alpha, inside folds and outside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.estimators.base import check_alphas
from kernelrank.exact_cv.nested import NestedHoldout
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel
from kernelrank.model_selection import leave_one_out
from kernelrank.model_selection.alpha_grid import AlphaGrid, UnlabelledGraph, alpha_scale, is_auto

__all__ = ["HeldOutDocuments", "Learning", "hold_out_documents"]

LEARNERS = ("rls", "rankrls")
OCTAVES = 2.5
"""How far two alphas of "auto" are apart, in powers of two."""
SCORINGS = ("auc", "f")


@dataclass(frozen=True)
class Learning:
    """What is learnt, and how alpha is chosen; see `RelationExtractor`."""

    learner: str
    alphas: tuple[float, ...] | str
    scoring: str
    basis: int | None
    random_state: int | None

    def __post_init__(self) -> None:
        if self.learner not in LEARNERS:
            raise InvalidInputError(f"learner must be one of {', '.join(LEARNERS)}, got {self.learner!r}")
        if self.scoring not in SCORINGS:
            raise InvalidInputError(f"scoring must be one of {', '.join(SCORINGS)}, got {self.scoring!r}")
        if self.basis is not None and (not isinstance(self.basis, int) or self.basis < 1):
            raise InvalidInputError(f"basis must be a whole number of at least 1, or None, got {self.basis!r}")
        if not is_auto(self.alphas):
            object.__setattr__(self, "alphas", tuple(float(alpha) for alpha in check_alphas(self.alphas)))

    @property
    def fixed_alphas(self) -> tuple[float, ...]:
        """The alphas, where they are numbers already."""
        assert not isinstance(self.alphas, str)
        return self.alphas

    def grid(self, K: Float, *, whole: bool = False) -> AlphaGrid:
        """Return the alphas to try with a kernel matrix; labels are not used.

        Every alpha costs an inverse of the matrix, so that those of "auto" are further apart than elsewhere.
        """
        if not is_auto(self.alphas):
            return AlphaGrid.given(self.alphas)
        zeros = np.zeros((len(K), 1))
        graph: UnlabelledGraph = ItemScores(zeros)
        if self.ranks:
            graph = ScoredQueries(zeros, Queries.from_labels(None, len(K)), query_weight="items")
        scale = alpha_scale(FullKernel(Kernel("precomputed"), K), graph)
        return AlphaGrid.around(scale, whole=whole, step=OCTAVES)

    @property
    def ranks(self) -> bool:
        """Whether differences are learnt rather than labels."""
        return self.learner == "rankrls"


@dataclass(frozen=True)
class HeldOutDocuments:
    """Held-out scores and the models themselves, for each alpha.

    Parameters
    ----------
    inner : ndarray, shape (alphas, folds, m)
        The score of each item by the model without its document and without the fold; NaN in the fold itself.
    outer : ndarray, shape (alphas, m)
        The score of each item by the model without its fold; NaN for items of no fold.
    dual_coef : ndarray, shape (alphas, m)
        The models of all items; empty where only folds were requested.
    intercept : ndarray, shape (alphas,)
    """

    inner: Float
    outer: Float
    dual_coef: Float
    intercept: Float

    @classmethod
    def joined(cls, parts: Sequence[HeldOutDocuments], order: Index) -> HeldOutDocuments:
        """Concatenate the alphas of several parts, sorted."""
        names = ("inner", "outer", "dual_coef", "intercept")
        return cls(*(np.concatenate([getattr(part, name) for part in parts])[order] for name in names))


def hold_out_documents(
    learning: Learning,
    K: Float,
    labels: NDArray[np.bool_],
    documents: Sequence[str],
    folds: Sequence[Index] | None = None,
    features: str = "",
) -> HeldOutDocuments:
    """Leave documents out, inside each fold's training items.

    Parameters
    ----------
    learning : Learning
        With alphas that are numbers.
    K : ndarray, shape (m, m)
    labels : ndarray of bool, shape (m,)
    documents : sequence, shape (m,)
    folds : list of ndarray of int, optional
        The items that each fold tests on. Unless given there is one fold, which tests on nothing.
    features : str, default=""
        The name of the matrix, for the progress display.

    Returns
    -------
    HeldOutDocuments

    Notes
    -----
    Time O(m³) for each alpha, whatever the number of folds; with a basis, that of `leave_one_out` for each fold.
    """
    y = np.where(labels, 1.0, -1.0)
    given = [np.empty(0, dtype=np.intp)] if folds is None else list(folds)
    hold_out = _from_inverses if learning.basis is None else _from_reduced_sets
    description = "leaving documents out" + (f", {features}" if features else "")
    return hold_out(learning, K, y, documents, given, description)


def _from_inverses(
    learning: Learning, K: Float, y: Float, documents: Sequence[str], folds: Sequence[Index], description: str
) -> HeldOutDocuments:
    n_alphas, m = len(learning.fixed_alphas), len(y)
    inner, outer = np.full((n_alphas, len(folds), m), np.nan), np.full((n_alphas, m), np.nan)
    dual, intercept = np.zeros((n_alphas, m)), np.zeros(n_alphas)

    def steps() -> object:
        for place, alpha in enumerate(learning.fixed_alphas):
            held_out = NestedHoldout(K, y, documents, alpha, intercept=learning.ranks)
            dual[place], intercept[place] = held_out.dual_coef, held_out.intercept
            for number, fold in enumerate(folds):
                inner[place, number] = held_out.leave_group_out(fold)
                if len(fold):
                    outer[place, fold] = held_out.leave_fold_out(fold)
                yield None

    for _ in track(steps(), n_alphas * len(folds), description):  # type: ignore[arg-type]
        pass
    return HeldOutDocuments(inner, outer, dual, intercept)


def _from_reduced_sets(
    learning: Learning, K: Float, y: Float, documents: Sequence[str], folds: Sequence[Index], description: str
) -> HeldOutDocuments:
    alphas, m = learning.fixed_alphas, len(y)
    inner, outer = np.full((len(alphas), len(folds), m), np.nan), np.full((len(alphas), m), np.nan)
    dual, intercept = np.zeros((len(alphas), m)), np.zeros(len(alphas))
    names = np.asarray(documents, dtype=object)
    with closing(track(enumerate(folds), len(folds), description)) as bar:
        for number, fold in bar:
            rest = np.setdiff1d(np.arange(m), fold)
            kernel = K if len(rest) == m else K[np.ix_(rest, rest)]
            estimator = _reduced(learning, len(rest))
            scores = leave_one_out(estimator, kernel, y[rest], alphas=alphas, groups=names[rest].tolist())
            for place, model in enumerate(estimator.fit_path(kernel, y[rest], alphas)):
                coefficients = np.zeros(m)
                coefficients[rest[model.basis_]] = model.dual_coef_
                fitted = K[rest] @ coefficients
                # The constant that makes the mean error zero, as RankRLS itself knows none.
                constant = float(np.mean(y[rest] - fitted)) if learning.ranks else 0.0
                inner[place, number, rest] = scores[:, place] + constant
                outer[place, fold] = K[fold] @ coefficients + constant
                if not len(fold):
                    dual[place], intercept[place] = coefficients, constant
    return HeldOutDocuments(inner, outer, dual, intercept)


def _reduced(learning: Learning, n_items: int) -> RLS | RankRLS:
    basis = min(learning.basis or n_items, n_items)
    if learning.ranks:
        return RankRLS(kernel="precomputed", basis=basis, query_weight="items", random_state=learning.random_state)
    return RLS(kernel="precomputed", basis=basis, random_state=learning.random_state)
