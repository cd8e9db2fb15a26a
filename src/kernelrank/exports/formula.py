"""The formula that a fitted ranker scores with, as plain numbers: what every export format is written from.

With x the features of an item, and ∘ for what is done column by column::

    z      = (x - mean) / scale                                    the scaler, if there is one
    scores = W z + Σ over terms of  dualᵀ k(items, z[columns])     one number for each output

A linear ranker has W alone, a kernel ranker one term, and `CoRankRLS` one term for each view. A `NystromMap` before
a linear ranker is one term, too. The preparation of a table stands before all of this.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_clusterer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from kernelrank import __version__
from kernelrank.base.arrays import Float, Index, Matrix, is_sparse
from kernelrank.data import TablePreparation
from kernelrank.errors import InvalidInputError
from kernelrank.estimators import NystromMap
from kernelrank.estimators.base import KernelLearner
from kernelrank.exports.onnx import Precision, onnx_fault, onnx_model
from kernelrank.exports.text import (
    engine_fault,
    engine_notes,
    plugin_model,
    python_fault,
    python_function,
    solr_model,
    sql_expression,
    sql_fault,
)
from kernelrank.persistence.atomic import atomic_write
from kernelrank.persistence.model_files import column_names, provenance

if TYPE_CHECKING:
    from kernelrank.kernels import Kernel


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
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    *before, ranker = [step for step in steps if step is not None and not isinstance(step, str)] or [None]
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
    preparation = None if known is None else TablePreparation.from_data(known)
    names = column_names(model) or [f"x{number}" for number in range(n_features)]
    formula = ScoringFormula(type(ranker).__name__, tuple(names), (), False, mean, scale, preparation=preparation)
    return _with_coefficients(formula, ranker, nystrom)


def _with_coefficients(formula: ScoringFormula, ranker: Any, nystrom: NystromMap | None) -> ScoringFormula:
    """Add the coefficients of a ranker; linear kernels become weights."""
    if hasattr(ranker, "coef_"):
        one_output = ranker.coef_.ndim == 1
        if nystrom is None:
            weights = np.atleast_2d(np.asarray(ranker.coef_, dtype=np.float64))
            return replace(formula, weights=weights, **_outputs(ranker, len(weights), one_output))
        dual = np.asarray(nystrom.reduced_set(ranker.coef_))
        terms = [_kernel_term(nystrom.kernel_, nystrom.basis_items_, dual, None)]
    elif nystrom is not None:
        raise InvalidInputError(
            f"Expected a linear ranker after NystromMap; got the kernel {ranker.kernel_.name}. Set kernel='linear'."
        )
    elif isinstance(ranker.dual_coef_, list):  # the mean of several views
        one_output, views = ranker.dual_coef_[0].ndim == 1, len(ranker.dual_coef_)
        parts = zip(ranker.kernels_, ranker.X_fit_, ranker.dual_coef_, ranker.columns_, strict=True)
        terms = [_kernel_term(kernel, items, dual / views, where) for kernel, items, dual, where in parts]
    else:
        one_output = ranker.dual_coef_.ndim == 1
        term = _kernel_term(ranker.kernel_, ranker.X_fit_, ranker.dual_coef_, None)
        formula, term = _without_metric(formula, term)
        terms = [term]
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
    return KernelTerm(kernel, dense, np.asarray(dual, dtype=np.float64).reshape(len(dense), -1), columns)


def _without_metric(formula: ScoringFormula, term: KernelTerm) -> tuple[ScoringFormula, KernelTerm]:
    """Move the weights of columns from the kernel to the scaler; columns of weight zero are not read."""
    root = term.kernel.fixed_root
    if root is None:
        return formula, term
    columns = np.flatnonzero(root) if root.ndim == 1 else np.zeros(0, dtype=np.int64)
    if len(columns) == 0:
        what = "a matrix" if root.ndim == 2 else "no column with a weight"
        raise InvalidInputError(
            f"Expected a metric with weights of columns; got {what}. No export format holds it: transform X by the "
            "root of the matrix before you fit, or keep the model with kernelrank.save."
        )
    scale = formula.scale / np.where(root > 0, root, 1.0)
    items = (term.items * root)[:, columns]
    where = None if len(columns) == len(root) else columns
    return replace(formula, scale=scale), KernelTerm(replace(term.kernel, root=None), items, term.dual, where)


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
    classes = getattr(ranker, "classes_", ())
    names = tuple(f"score_{label}" for label in (classes if len(classes) == number else range(number)))
    return {"output_names": ("score",) if one_output else names, "one_output": one_output}


# Exporter -------------------------------------------------------------------------------------------------------------
#
# Export: a fitted ranker as a file for another program, atomically.


@dataclass(frozen=True)
class _Format:
    """One format: how it is written, what it cannot hold, and what is worth knowing."""

    written: Callable[[ScoringFormula, str, Precision], bytes]
    fault: Callable[[ScoringFormula], str | None]
    notes: Callable[[ScoringFormula], list[str]] = lambda _: []


FORMATS = {
    "onnx": _Format(lambda formula, _, dtype: onnx_model(formula, dtype=dtype), onnx_fault),
    "elasticsearch": _Format(lambda formula, name, _: plugin_model(formula, name), engine_fault, engine_notes),
    "opensearch": _Format(lambda formula, name, _: plugin_model(formula, name), engine_fault, engine_notes),
    "solr": _Format(lambda formula, name, _: solr_model(formula, name), engine_fault, engine_notes),
    "sql": _Format(lambda formula, *_: sql_expression(formula), sql_fault),
    "python": _Format(lambda formula, *_: python_function(formula), python_fault),
    "json": _Format(lambda formula, *_: json_coefficients(formula), lambda _: None),
}
FORMAT_NAMES = tuple(FORMATS)
FORMAT_OF_SUFFIX = {".onnx": "onnx", ".sql": "sql", ".py": "python", ".json": "json"}


def export(
    model: Any,
    file: str | os.PathLike[str],
    format: str | None = None,
    *,
    name: str | None = None,
    dtype: Precision = "float64",
) -> list[str]:
    """Write a fitted ranker as a file that another program scores with.

    The file includes the scaler of a pipeline, the preparation of a table by the command, and all outputs. Time
    and memory O(numbers of the model).

    Parameters
    ----------
    model : estimator
        A fitted ranker, classifier or regressor of kernelrank, alone or in a pipeline behind `StandardScaler` and
        `NystromMap`. A classifier gives its decision function.
    file : str or path-like
        Where to write.
    format : {"onnx", "elasticsearch", "opensearch", "solr", "sql", "python", "json"}, optional
        The suffix of `file` decides without it: ``.onnx``, ``.sql``, ``.py`` or ``.json``.

        ==================================  =====================================================================
        "onnx"                              linear, poly, rbf and cosine kernels
        "elasticsearch", "opensearch"       linear models with one output: the body that creates a model in the
                                            learning-to-rank plug-in
        "solr"                              the same for Solr's model store
        "sql"                               one expression over named columns: linear, poly and rbf kernels
        "python"                            a module with one function, NumPy only; laplacian and chi2, too
        "json"                              the coefficients with their names, of any kernel that has a name
        ==================================  =====================================================================
    name : str, optional
        The name of the model in a search engine; the name of the file, without its suffix, unless given.
    dtype : {"float64", "float32"}, default="float64"
        The numbers that an ONNX model takes and returns; inside it computes in double precision.

    Returns
    -------
    list of str
        Notes on differences between the scores of the other program and of the model.

    Raises
    ------
    InvalidInputError
        If the format cannot represent the model; the message names the formats that can, and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelrank import RankRLS
    >>> model = RankRLS(alpha=1).fit([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]], [0, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "score.sql"
    ...     _ = export(model, path)
    ...     len(path.read_text()) > 0
    True
    """
    kind = _format(file, format)
    if dtype not in ("float64", "float32"):
        raise InvalidInputError(f"Expected dtype 'float64' or 'float32'; got {dtype!r}.")
    formula = formula_of(model)
    codes = formula.preparation.missing_values if formula.preparation is not None else ()
    if codes and kind != "json":
        raise InvalidInputError(
            f"Expected a model whose missing cells are empty; this one was fitted with codes for them "
            f"({', '.join(codes)}), which the format {kind!r} cannot hold. Empty these cells in the training table "
            "and fit it again without missing_values, or use json."
        )
    fault = FORMATS[kind].fault(formula)
    if fault is not None:
        able = [other for other, known in FORMATS.items() if known.fault(formula) is None]
        raise InvalidInputError(f"Expected a model that format {kind!r} can hold: {fault}. Use {_either(able)}.")
    data = FORMATS[kind].written(formula, name or Path(file).name.partition(".")[0] or "kernelrank", dtype)
    with atomic_write(file) as stream:
        stream.write(data)
    return FORMATS[kind].notes(formula)


def _format(file: str | os.PathLike[str], format: str | None) -> str:
    found = FORMAT_OF_SUFFIX.get(Path(file).suffix.lower()) if format is None else format
    if found is None:
        raise InvalidInputError(
            f"Expected a format, or a file that ends with {', '.join(FORMAT_OF_SUFFIX)}; got {os.fspath(file)!r}. "
            f"The formats are {', '.join(FORMATS)}."
        )
    if found not in FORMATS:
        raise InvalidInputError(f"Expected one of the formats {', '.join(FORMATS)}; got {format!r}.")
    return found


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# JSON coefficients ----------------------------------------------------------------------------------------------------
#
# A scoring formula as JSON: coefficients with their names.


def json_coefficients(formula: ScoringFormula) -> bytes:
    """Return the formula as JSON; its keys are those of the equation in the top of this file."""
    names = formula.feature_names
    content: dict[str, Any] = {
        "format": "kernelrank formula 1",
        "version": __version__,
        "model": formula.model,
        "features": list(names),
        "outputs": list(formula.output_names),
        "preparation": None if formula.preparation is None else _plain(formula.preparation.as_data()),
        "mean": formula.mean.tolist() if formula.scaled else None,
        "scale": formula.scale.tolist() if formula.scaled else None,
        "weights": None,
        "terms": [
            {
                "kernel": term.metric,
                **term.parameters,
                "columns": list(names) if term.columns is None else [names[column] for column in term.columns],
                "items": term.items.tolist(),
                "coefficients": term.dual.tolist(),
            }
            for term in formula.terms
        ],
    }
    if formula.weights is not None:
        rows = zip(formula.output_names, formula.weights.tolist(), strict=True)
        content["weights"] = {output: dict(zip(names, weights, strict=True)) for output, weights in rows}
        if len(set(names)) < len(names):  # a name that occurs twice would lose a weight
            content["weights"] = dict(zip(formula.output_names, formula.weights.tolist(), strict=True))
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Put null in the place of NaN, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
