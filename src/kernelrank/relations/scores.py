"""How well interactions are found: precision, recall, F-score and AUC, with intervals over documents."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.labels import Queries
from kernelrank.base.progress import track
from kernelrank.base.results import Bars, Result
from kernelrank.base.validation import check_confidence
from kernelrank.comparisons import ItemScores, ScoredQueries
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import RLS, RankRLS
from kernelrank.estimators.base import check_alphas
from kernelrank.exact_cv.nested import NestedHoldout
from kernelrank.features import FullKernel
from kernelrank.kernels import Kernel
from kernelrank.metrics.intervals import FIXED, Interval, percentile_interval
from kernelrank.model_selection import leave_one_out
from kernelrank.model_selection.alpha_grid import AlphaGrid, UnlabelledGraph, alpha_scale, is_auto

MEASURES = {"precision": "precision", "recall": "recall", "f": "F-score", "auc": "AUC"}
"""The measures of an extraction, and what people call them."""


@dataclass(frozen=True, repr=False)
class ExtractionScores(Result):
    """The measures of one set of decisions and scores; NaN where one is not defined."""

    precision: float
    recall: float
    f: float
    auc: float

    def __str__(self) -> str:
        return (
            f"P {100 * self.precision:.1f}  R {100 * self.recall:.1f}  F {100 * self.f:.1f}  AUC {100 * self.auc:.1f}"
        )

    def _facts(self) -> list[tuple[str, str]]:
        return [(name, f"{100 * getattr(self, key):.1f}%") for key, name in MEASURES.items()]

    def _chart(self) -> Bars:
        return Bars(list(MEASURES.values()), [getattr(self, key) for key in MEASURES], "value")

    def _columns(self) -> dict[str, Any]:
        return {name: [getattr(self, name)] for name in MEASURES}

    @classmethod
    def mean(cls, parts: Sequence[ExtractionScores]) -> ExtractionScores:
        """Average over folds, each measure over those where it is defined."""
        return cls(*(float(_nan_mean(np.array([getattr(part, one.name) for part in parts]))) for one in fields(cls)))

    @classmethod
    def deviation(cls, parts: Sequence[ExtractionScores]) -> ExtractionScores:
        """Return the standard deviations over folds."""
        values = [np.array([getattr(part, one.name) for part in parts]) for one in fields(cls)]
        return cls(*(float(np.std(v[~np.isnan(v)])) if (~np.isnan(v)).any() else float("nan") for v in values))


def measure(
    labels: NDArray[np.bool_], scores: Float, decisions: NDArray[np.bool_], folds: Index | None = None
) -> ExtractionScores:
    """Measure decisions and scores against the truth. Time O(m log m).

    Shapes: labels, decisions (m,), scores (m,), folds (m,).
    """
    values = _weighted(labels, scores, decisions, _parts(folds, len(labels)), np.ones((1, len(labels))))[0]
    return ExtractionScores(*map(float, values))


def measure_all_true(labels: NDArray[np.bool_]) -> ExtractionScores:
    """Measure the co-occurrence baseline: every candidate is said to interact."""
    return measure(labels, np.zeros(len(labels)), np.ones(len(labels), dtype=bool))


def document_intervals(
    labels: NDArray[np.bool_],
    scores: Float,
    decisions: NDArray[np.bool_],
    documents: Sequence[str],
    folds: Index | None = None,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int | None = 0,
) -> dict[str, Interval]:
    """Compute bootstrap intervals over documents for the measures of `measure`.

    What varies is the documents that are tested on; the models stay as they are.

    Time O(m n_resamples), memory O(m) and 64 MB more.

    Shapes: documents (m,).
    """
    check_confidence(confidence)
    generator = np.random.default_rng(random_state)
    queries = Queries.from_labels(documents, len(labels), name="documents")
    shares = np.full(len(queries), 1 / len(queries))
    parts = _parts(folds, len(labels))
    step = max(1, 2_000_000 // max(1, len(labels)))
    draws = []
    for start in range(0, n_resamples, step):
        times = generator.multinomial(len(queries), shares, size=min(step, n_resamples - start))
        weights = times[:, queries.codes].astype(np.float64)
        draws.append(_weighted(labels, scores, decisions, parts, weights))
    how = f"{len(queries)} documents resampled {n_resamples:,} times; {FIXED}"
    columns = zip(MEASURES, np.concatenate(draws).T, strict=True)
    return {name: percentile_interval(values, confidence, how) for name, values in columns}


def _parts(folds: Index | None, m: int) -> list[Index]:
    """Return the items of each fold."""
    given = np.zeros(m, dtype=np.int64) if folds is None else np.asarray(folds)
    return [np.flatnonzero(given == fold) for fold in np.unique(given)]


def _weighted(
    labels: NDArray[np.bool_], scores: Float, decisions: NDArray[np.bool_], parts: Sequence[Index], weights: Float
) -> Float:
    """Measure with item weights, shape (draws, m); returns (draws, measures)."""
    n_positive = weights[:, labels].sum(axis=1)
    right = weights[:, labels & decisions].sum(axis=1)
    n_found = weights[:, decisions].sum(axis=1)
    ordered = [_ordered_pairs(labels[items], scores[items], weights[:, items]) for items in parts]
    rightly, pairs = np.sum(ordered, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = [right / n_found, right / n_positive, 2 * right / (n_found + n_positive), rightly / pairs]
    return np.stack(columns, axis=1)


def _ordered_pairs(labels: NDArray[np.bool_], scores: Float, weights: Float) -> tuple[Float, Float]:
    """Return the weights of the rightly ordered positive-negative pairs and of all, a tie as a half, for each draw."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    positive = np.add.reduceat((weights * labels)[:, order], starts, axis=1)
    negative = np.add.reduceat((weights * ~labels)[:, order], starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative / 2
    return (positive * below).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1)


def _nan_mean(values: Float) -> Float:
    """Average over the first axis what is defined."""
    with warnings.catch_warnings():
        # Where nothing is defined the mean is NaN, and that is the answer.
        warnings.filterwarnings("ignore", message="Mean of empty slice", category=RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=0))


# Held out documents ---------------------------------------------------------------------------------------------------
#
# Scores of candidates by models that have not seen their documents, for every alpha, inside folds and outside.

LEARNERS = ("rls", "rankrls")
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
        return AlphaGrid.around(scale, whole=whole, step=2.5)

    @property
    def ranks(self) -> bool:
        """Whether differences are learnt rather than labels."""
        return self.learner == "rankrls"


@dataclass(frozen=True)
class HeldOutDocuments:
    """Held-out scores and the models themselves, for each alpha.

    Shapes: inner (alphas, folds, m), outer (alphas, m), dual_coef (alphas, m), intercept (alphas,).

    inner: The score of each item by the model without its document and without the fold; NaN in the fold itself.
    outer: The score of each item by the model without its fold; NaN for items of no fold.
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

    Time O(m³) for each alpha, whatever the number of folds; with a basis, that of `leave_one_out` for each fold.

    Shapes: K (m, m), labels (m,), documents (m,).
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
