"""The formula that a fitted ranker scores with, as plain numbers: what every export format is written from.

With x the features of an item, and ∘ for what is done column by column::

    z      = (x - mean) / scale                                    the scaler, if there is one
    scores = W z + Σ over terms of  dualᵀ k(items, z[columns])     one number for each output

A linear ranker has W alone, a kernel ranker one term, and `CoRankRLS` one term for each view. A `NystromMap` before
a linear ranker is one term, too. The preparation of a table stands before all of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_clusterer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import NystromMap
from kernelrank.estimators.base import KernelLearner
from kernelrank.persistence.provenance import column_names, provenance

if TYPE_CHECKING:
    from kernelrank.data import TablePreparation
    from kernelrank.kernels import Kernel

__all__ = ["KernelTerm", "ScoringFormula", "formula_of"]


@dataclass(frozen=True, eq=False)
class KernelTerm:
    """A sum over basis items: ``k(z, items) @ dual``.

    Parameters
    ----------
    kernel : Kernel
        By name.
    items : ndarray, shape (t, n)
    dual : ndarray, shape (t, outputs)
    columns : ndarray of int, shape (n,), or None
        The features that the kernel sees; None for all.
    """

    kernel: Kernel
    items: Float
    dual: Float
    columns: Index | None = None

    @property
    def metric(self) -> str:
        """The name of the kernel, one for each kernel."""
        return {"gaussian": "rbf", "polynomial": "poly"}.get(self.kernel.name, self.kernel.name)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of the kernel: gamma, degree and coef0, where it has them."""
        return {name: float(value) for name, value in self.kernel.arguments().items()}


@dataclass(frozen=True, eq=False)
class ScoringFormula:
    """What a fitted ranker computes; see the equation above.

    Parameters
    ----------
    model : str
        The class of the ranker.
    feature_names : tuple of str
        One for each of the n columns of x.
    output_names : tuple of str
        One for each output.
    one_output : bool
        Whether scores are a vector, and no matrix.
    mean, scale : ndarray, shape (n,)
        Zeros and ones without a scaler.
    weights : ndarray, shape (outputs, n), or None
    terms : tuple of KernelTerm
    preparation : TablePreparation or None
        How a table becomes x, where the model was fitted to a table.
    """

    model: str
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    one_output: bool
    mean: Float
    scale: Float
    weights: Float | None = None
    terms: tuple[KernelTerm, ...] = ()
    preparation: TablePreparation | None = None

    @property
    def scaled(self) -> bool:
        """Whether there is a scaler in front."""
        return bool(np.any(self.mean != 0) or np.any(self.scale != 1))

    @property
    def fills(self) -> Float:
        """What a missing feature becomes, shape (n,): NaN where it may not be missing."""
        if self.preparation is None:
            return np.full(len(self.feature_names), np.nan)
        return np.array([fill for column in self.preparation.columns for fill in _fills(column)])

    @property
    def takes_words(self) -> bool:
        """Whether columns of a table must be prepared before they are numbers."""
        return self.preparation is not None and not self.preparation.only_numbers

    def scores(self, X: Matrix) -> Float:
        """Return the scores of items, shape (m,) or (m, outputs): the slow and obvious way.

        O(m t n) time for t basis items; memory m × t.
        """
        Z = (np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64) - self.mean) / self.scale
        found = np.zeros((len(Z), len(self.output_names)))
        if self.weights is not None:
            found += Z @ self.weights.T
        for term in self.terms:
            seen = Z if term.columns is None else Z[:, term.columns]
            found += term.kernel.matrix(seen, term.items) @ term.dual
        return found[:, 0] if self.one_output else found


def _fills(column: Any) -> list[float]:
    """Return what the features of a prepared column are where its cell is missing; 0 for words, 1 for its indicator."""
    fills = [0.0] * len(column.levels) if column.kind == "category" else [column.fill]
    return [*fills, 1.0] if column.indicator else fills


def formula_of(model: Any) -> ScoringFormula:
    """Return the formula of a fitted ranker, alone or after scalers and a Nyström map in a pipeline.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    ScoringFormula

    Examples
    --------
    >>> from kernelrank import RankRLS
    >>> formula = formula_of(RankRLS().fit([[0.0], [1.0], [3.0]], [0, 1, 2]))
    >>> formula.feature_names, formula.weights.shape, formula.terms
    (('x0',), (1, 1), ())
    """
    *before, ranker = _steps(model)
    if not isinstance(ranker, KernelLearner) or is_clusterer(ranker):
        raise InvalidInputError(
            f"Expected a ranker with one row of features for each item, such as RankRLS; got a "
            f"{type(ranker).__name__}. No export format holds it: keep it with kernelrank.save."
        )
    check_is_fitted(ranker)
    n_features = int(model.n_features_in_)
    mean, scale = np.zeros(n_features), np.ones(n_features)
    nystrom: NystromMap | None = None
    for step in before:
        check_is_fitted(step)
        if isinstance(step, StandardScaler) and nystrom is None:
            # ((x - m₁) / s₁ - m₂) / s₂ = (x - (m₁ + s₁ m₂)) / (s₁ s₂)
            mean = mean + scale * (step.mean_ if step.with_mean else 0.0)
            scale = scale * (step.scale_ if step.with_std else 1.0)
        elif isinstance(step, NystromMap) and nystrom is None:
            nystrom = step
        else:
            raise InvalidInputError(
                f"Expected StandardScaler, then at most one NystromMap, before the ranker; got a "
                f"{type(step).__name__}. No export format holds it: keep the pipeline with joblib, or transform the "
                "data before you fit."
            )
    known = provenance(model).get("preparation")
    names = column_names(model) or [f"x{number}" for number in range(n_features)]
    formula = ScoringFormula(type(ranker).__name__, tuple(names), (), False, mean, scale, preparation=_prepared(known))
    return _with_coefficients(formula, ranker, nystrom)


def _steps(model: Any) -> list[Any]:
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    kept = [step for step in steps if step is not None and not isinstance(step, str)]
    return kept or [None]


def _prepared(known: Any) -> TablePreparation | None:
    if known is None:
        return None
    from kernelrank.data import TablePreparation

    return TablePreparation.from_data(known)


def _with_coefficients(formula: ScoringFormula, ranker: Any, nystrom: NystromMap | None) -> ScoringFormula:
    """Add the coefficients of a ranker; linear kernels become weights."""
    if hasattr(ranker, "coef_"):
        one_output = ranker.coef_.ndim == 1
        if nystrom is None:
            weights = np.atleast_2d(np.asarray(ranker.coef_, dtype=np.float64))
            return replace(formula, weights=weights, **_outputs(ranker, len(weights), one_output))
        dual = np.asarray(nystrom.reduced_set(ranker.coef_)).reshape(nystrom.basis_items_.shape[0], -1)
        terms = [_kernel_term(nystrom.kernel_, nystrom.basis_items_, dual, None)]
    elif nystrom is not None:
        raise InvalidInputError(
            f"Expected a linear ranker after NystromMap; got the kernel {ranker.kernel_.name}. Set kernel='linear'."
        )
    elif isinstance(ranker.dual_coef_, list):  # the mean of several views
        one_output, views = ranker.dual_coef_[0].ndim == 1, len(ranker.dual_coef_)
        parts = zip(ranker.kernels_, ranker.X_fit_, ranker.dual_coef_, ranker.columns_, strict=True)
        terms = [
            _kernel_term(kernel, items, dual.reshape(len(dual), -1) / views, where)
            for kernel, items, dual, where in parts
        ]
    else:
        one_output = ranker.dual_coef_.ndim == 1
        terms = [
            _kernel_term(ranker.kernel_, ranker.X_fit_, ranker.dual_coef_.reshape(len(ranker.dual_coef_), -1), None)
        ]
    return replace(
        formula,
        weights=_linear_part(terms, len(formula.feature_names)),
        terms=tuple(term for term in terms if term.metric != "linear"),
        **_outputs(ranker, terms[0].dual.shape[1], one_output),
    )


def _kernel_term(kernel: Kernel, items: Matrix | None, dual: Float, columns: Index | None) -> KernelTerm:
    if items is None or not isinstance(kernel.metric, str):
        what = "a precomputed kernel" if items is None else f"the kernel {kernel.name}, which is code or an object"
        raise InvalidInputError(
            f"Expected a kernel with a name, such as 'rbf'; got {what}. No export format holds it: fit the ranker with "
            "a named kernel, or keep it with kernelrank.save."
        )
    dense = np.asarray(items.toarray() if is_sparse(items) else items, dtype=np.float64)
    return KernelTerm(kernel, dense, np.asarray(dual, dtype=np.float64), columns)


def _linear_part(terms: Sequence[KernelTerm], n_features: int) -> Float | None:
    """Return the weights that the linear kernels among the terms stand for."""
    linear = [term for term in terms if term.metric == "linear"]
    if not linear:
        return None
    weights = np.zeros((linear[0].dual.shape[1], n_features))
    for term in linear:
        weights[:, slice(None) if term.columns is None else term.columns] += term.dual.T @ term.items
    return weights


def _outputs(ranker: Any, number: int, one_output: bool) -> dict[str, Any]:
    classes = getattr(ranker, "classes_", None)
    labels = range(number) if classes is None or len(classes) != number else classes
    names = tuple(f"score_{label}" for label in labels)
    return {"output_names": ("score",) if one_output else names, "one_output": one_output}
