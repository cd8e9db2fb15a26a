"""A problem on dyads: two sides with their kernels, scores of cells, and the objective.

Every estimator of this room minimises, over functions f of a row object and a column object,

    ``Σ_known (y - f)² + alpha ‖f‖²``    (regression; for a ranking ``Σ_rows (y - f)ᵀ L (y - f)`` in place of the sum),

with the kernel ``k₁(a, c) k₂(b, d)``. With ``K₁ = U₁ diag(μ₁) U₁ᵀ``, ``K₂ = U₂ diag(μ₂) U₂ᵀ`` and complete Y

    ``A = U₁ [(U₁ᵀ Y U₂) ∘ S] U₂ᵀ``,  ``F = K₁ A K₂``,  ``S = 1 / (μ₁ μ₂ᵀ + E)``,

where E is what the norm costs in each direction. KroneckerRLS has ``E = alpha``. A ranking of the columns for each row
has ``L = ω(m₂) C``, so that K₂ becomes CK₂C, Y becomes YC and ``E = alpha / ω(m₂)``. Two-step learning,
``A = (K₁ + α₁I)⁻¹ Y (K₂ + α₂I)⁻¹``, has ``E = α₁ μ₂ᵀ + α₂ μ₁ + α₁ α₂``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh, svd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from kernelrank.base.arrays import Float, Index, ItemsLike, Matrix, available_bytes, dense_rows, in_gigabytes, is_sparse
from kernelrank.base.labels import Queries
from kernelrank.base.validation import check_items
from kernelrank.comparisons.scatter import shift_queries
from kernelrank.comparisons.scored import QueryWeight, pair_weight
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.kernels import Kernel, takes_objects, takes_sparse
from kernelrank.kernels.kernel import ADVICE, COMPUTED_DIGITS, check_symmetric
from kernelrank.solvers.precision import EPSILON

Relation: TypeAlias = Literal["symmetric", "reciprocal", "any"]
Ranked: TypeAlias = Literal["columns", "rows"]


@dataclass(frozen=True)
class Regularisation:
    """The penalty E of each pair of eigendirections."""

    rows: float
    columns: float
    both: float

    @classmethod
    def kronecker(cls, alpha: float) -> Regularisation:
        """Return the penalty of the Kronecker kernel: alpha in all directions."""
        return cls(0.0, 0.0, alpha)

    @classmethod
    def two_step(cls, alpha_rows: float, alpha_columns: float) -> Regularisation:
        """Return the penalty of two-step learning."""
        return cls(alpha_rows, alpha_columns, alpha_rows * alpha_columns)

    @property
    def constant(self) -> bool:
        """Whether it is the same in all directions."""
        return self.rows == 0.0 == self.columns

    @property
    def weakest(self) -> float:
        """The alpha that a message names: the smaller one of two."""
        return self.both if self.constant else min(self.rows, self.columns)

    def costs(self, row_values: Float, column_values: Float) -> Float:
        """Return E for eigenvalues μ₁ (r₁,) and μ₂ (r₂,), of a shape that broadcasts to (r₁, r₂)."""
        if self.constant:
            return np.full((1, 1), self.both)
        return self.rows * column_values[None, :] + self.columns * row_values[:, None] + self.both

    def in_units(self, row_unit: float, column_unit: float) -> Regularisation:
        """Return E for kernels that are `unit²` times as large."""
        squares = row_unit**2, column_unit**2
        return Regularisation(self.rows * squares[0], self.columns * squares[1], self.both * squares[0] * squares[1])

    def divided(self, weight: float) -> Regularisation:
        """Return E divided by `weight`, for errors that count `weight` times. Not for two-step learning."""
        return Regularisation(self.rows / weight, self.columns / weight, self.both / weight)


@dataclass(frozen=True)
class DyadicProblem:
    """Two sides, the scores of their dyads, and whether these are learnt, or ranked for each object of a side.

    Shapes: Y (m1, m2, outputs).

    Y: The scores as a matrix, NaN where unknown; symmetric or skew-symmetric if the relation is. None for a list.
    """

    rows: DyadicSide
    columns: DyadicSide
    Y: Float | None
    cells: tuple[OutputCells, ...] = ()
    relation: Relation | None = None
    ranked: Ranked | None = None
    query_weight: QueryWeight = "pairs"
    one_output: bool = True

    @property
    def matrix(self) -> Float:
        """Y of a problem that was given one."""
        assert self.Y is not None
        return self.Y

    @property
    def complete(self) -> bool:
        """Whether every cell is known once."""
        return not self.cells

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, m₁ and m₂."""
        return self.rows.n_objects, self.columns.n_objects

    @property
    def n_outputs(self) -> int:
        """How many scores each dyad has."""
        return self.Y.shape[2] if self.Y is not None else sum(len(outputs) for outputs, _ in self.cells)

    @property
    def sign(self) -> int:
        """The sign s of ``f(b, a) = s f(a, b)``: 1 symmetric, -1 reciprocal, 0 for neither."""
        return {"symmetric": 1, "reciprocal": -1}.get(self.relation or "", 0)

    @property
    def is_product(self) -> bool:
        """Whether complete scores have a closed form: a ranking with f(a, b) = ±f(b, a) has none."""
        return self.ranked is None or self.sign == 0

    def omega(self, n: Float | float) -> Float:
        """Return ω of queries with n items: their Laplacian is ``ω (I - 11ᵀ/n)``; one for regression."""
        sizes = np.asarray(n, dtype=np.float64)
        if self.ranked is None:
            return np.ones_like(sizes)
        return np.asarray(sizes * pair_weight(self.query_weight, sizes, sizes))

    @property
    def row_spectrum(self) -> SideSpectrum:
        """U₁ and μ₁, of the centred kernel if the rows are ranked."""
        return self.rows.centred_spectrum if self.ranked == "rows" else self.rows.spectrum

    @property
    def column_spectrum(self) -> SideSpectrum:
        """U₂ and μ₂, of the centred kernel if the columns are ranked."""
        return self.columns.centred_spectrum if self.ranked == "columns" else self.columns.spectrum

    @property
    def centred_kernels(self) -> tuple[Float, Float]:
        """K₁ and K₂ for products with L, which cannot tell the kernel of a ranked side from a centred one."""
        return (
            self.rows.centred_K if self.ranked == "rows" else self.rows.K,
            self.columns.centred_K if self.ranked == "columns" else self.columns.K,
        )

    def score_rows(self, rows: Index, columns: Index) -> tuple[Float, Float]:
        """Return the kernels of some rows and of some columns with all others, from which their scores are computed."""
        ranked = self.ranked if self.sign == 0 else None
        return (
            self.rows.score_rows(rows, ranked=ranked == "rows"),
            self.columns.score_rows(columns, ranked=ranked == "columns"),
        )

    def shrinkage(self, regularisation: Regularisation) -> Float:
        """Return S, (m₁, m₂), for complete scores."""
        mu1, mu2 = self.row_spectrum.eigenvalues, self.column_spectrum.eigenvalues
        return 1.0 / (mu1[:, None] * mu2[None, :] + self.complete_regularisation(regularisation).costs(mu1, mu2))

    def complete_regularisation(self, regularisation: Regularisation) -> Regularisation:
        """Return E divided by ω of the ranked side, for errors that all count once."""
        n = self.shape[0] if self.ranked == "rows" else self.shape[1]
        if self.ranked is not None and n < 2:
            raise NothingToCompareError(f"expected at least two {self.ranked} to rank; got one")
        return regularisation.divided(float(self.omega(n)))

    def rounding(self, regularisation: Regularisation) -> float:
        """Return ε times the largest eigenvalue relative to alpha: about the largest error that rounding may cause."""
        sizes = self.rows.magnitude, self.columns.magnitude
        if not regularisation.constant:
            return EPSILON * max(sizes[0] / regularisation.rows, sizes[1] / regularisation.columns)
        n = {None: 1, "rows": self.shape[0], "columns": self.shape[1]}[self.ranked]
        return EPSILON * sizes[0] * sizes[1] * float(self.omega(max(n, 2))) / regularisation.both

    def in_units(self, row_unit: float, column_unit: float) -> DyadicProblem:
        """Return the same problem with other kernels: its scores are the same but for rounding."""
        rows = self.rows.in_units(row_unit)
        columns = rows if self.columns is self.rows else self.columns.in_units(column_unit)
        return replace(self, rows=rows, columns=columns)

    def centred(self, Y: Float) -> Float:
        """Return scores, (m₁, m₂), less the mean of each query; Y itself for regression."""
        if self.ranked is None:
            return Y
        return np.asarray(Y - Y.mean(axis=0 if self.ranked == "rows" else 1, keepdims=True))

    def known(self) -> NDArray[np.bool_]:
        """Return whether a cell has a score in any output, (m₁, m₂)."""
        return np.asarray(~np.isnan(self.matrix).all(axis=2))

    def only(self, rows: Index, columns: Index) -> DyadicProblem:
        """Return the problem of some objects; with one set of objects, rows and columns are the same ones."""
        Y = self.matrix[np.ix_(rows, columns)]
        sides = (self.rows.only(rows),) * 2
        if self.columns is not self.rows:
            sides = sides[0], self.columns.only(columns)
        cells = tuple(KnownCells.by_output(Y)) if np.isnan(Y).any() else ()
        return replace(self, rows=sides[0], columns=sides[1], Y=Y, cells=cells)

    def without_cells(self, leaving: NDArray[np.bool_]) -> DyadicProblem:
        """Return the problem of the same objects without some known cells, (m₁, m₂)."""
        cells = tuple((outputs, known.without(leaving)) for outputs, known in self.output_cells())
        return replace(self, Y=None, cells=cells)

    def turned(self) -> DyadicProblem:
        """Return the problem with rows and columns exchanged."""
        other: dict[str, Ranked] = {"rows": "columns", "columns": "rows"}
        ranked = None if self.ranked is None else other[self.ranked]
        Y = self.matrix.swapaxes(0, 1)
        cells = tuple(KnownCells.by_output(Y)) if self.cells else ()
        return replace(self, rows=self.columns, columns=self.rows, Y=Y, cells=cells, ranked=ranked)

    def output_cells(self) -> tuple[OutputCells, ...]:
        """Return the known cells, those of complete Y included."""
        if self.cells or self.Y is None:
            return self.cells
        return ((np.arange(self.n_outputs), KnownCells.of_matrix(self.Y)),)


# Dyadic side ----------------------------------------------------------------------------------------------------------
#
# One side of the dyads: its objects, their kernel K, and the eigendecompositions ``K = U diag(μ) Uᵀ`` and of ``CKC``.
#
# C is the projection ``I - 11ᵀ/m``: where the objects of a side are ranked, a constant added to all of them counts for
# nothing, so that K may be replaced by CKC. Null eigenvectors of CKC may mix with 1; `SideSpectrum.eigenvectors` of a
# centred side are therefore CU, which is U up to null directions that no centred score has.
#
# **Digits.** Objects may be far from the origin: entries of K are then much larger than those of CKC, and a difference
# of them is rounded beside K, not beside CKC. So linear features are centred before they are multiplied, and which
# eigenvalues are zero is decided beside the numbers that were subtracted (`SideSpectrum.rounding`). The coefficients of
# a ranked side add up to zero, so scores may be computed from ``KC``, ``k(a, b)`` less its mean over b (`score_rows`).
# Linear features are decomposed themselves: squared, a direction of 1 relative to one of 1,000 keeps ten digits only,
# and a zero of K₁ that rounding made 1e-10 is 1e-3 in ``K₁ ⊗ K₂`` if K₂ has an eigenvalue of 1e7.


@dataclass(frozen=True)
class SideSpectrum:
    """The eigendecomposition of the kernel of one side.

    Shapes: eigenvalues (m,), eigenvectors (m, m).

    eigenvalues: μ, ascending, none of them negative.
    loadings: ``XᵀU`` of linear features X, (n_features, m), so that ``K(new, ·) U`` is ``X_new XᵀU``; None without X.
    """

    eigenvalues: Float
    eigenvectors: Float
    rounding: float
    loadings: Float | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which eigenvalues are more than rounding errors."""
        return np.asarray(self.eigenvalues > self.rounding)


@dataclass(frozen=True)
class DyadicSide:
    """The objects of one side and their kernel; results are computed once and kept.

    Shapes: items (m, n_features), or (m, m).
    """

    items: Matrix
    kernel: Kernel
    name: str
    around: tuple[Float, Float] | None = None
    given: Float | None = None

    @property
    def n_objects(self) -> int:
        """How many objects there are."""
        return int(self.items.shape[0])

    @property
    def few_columns(self) -> bool:
        """Whether the kernel is linear and there are no more features than objects; if sparse, also not many."""
        # Up to so many columns of a sparse matrix are made dense.
        most = min(self.n_objects, 2000) if is_sparse(self.items) else self.n_objects
        return self.kernel.linear and self.items.shape[1] <= most

    @property
    def _by_features(self) -> bool:
        """Whether the kernel is decomposed by the singular values of linear features."""
        most = 2 * self.n_objects  # with more columns, this would cost far more than to decompose the kernel
        return self.few_columns or (self.kernel.linear and not is_sparse(self.items) and self.items.shape[1] <= most)

    @cached_property
    def K(self) -> Float:  # noqa: N802 - the symbol of the equations
        """The kernel of all objects, (m, m), not centred."""
        if self.given is not None:
            return self.given
        needed, available = 8 * self.n_objects**2, available_bytes()
        if available is not None and needed > available:
            raise InvalidInputError(
                f"X_{self.name} has {self.n_objects:,} objects: their kernel needs {in_gigabytes(needed)} of "
                f"memory, and {in_gigabytes(available)} are available. Use linear kernels with fewer features "
                "than objects on both sides, such as those of NystromMap"
            )
        return self.kernel.matrix(self.items)

    @cached_property
    def spectrum(self) -> SideSpectrum:
        """U and μ of K, in O(m³) time and m² numbers."""
        if self._by_features:
            return singular_spectrum(dense_rows(self.items, slice(None)))
        return self.decomposed(self.K.copy())

    @cached_property
    def centred_spectrum(self) -> SideSpectrum:
        """U and μ of CKC, in which constants have the eigenvalue zero."""
        if self._by_features:
            X = dense_rows(self.items, slice(None))
            return singular_spectrum(X - X.mean(axis=0), float(np.abs(X).max(initial=0.0)), np.ones(self.n_objects))
        return self.decomposed(self.centred_K.copy(), self.scale, np.ones(self.n_objects))

    @cached_property
    def _around(self) -> tuple[Float, Float]:
        """K around some origin, (m, m), and what ``k(a, b)`` has more than it for every b, (m,), up to a constant."""
        if self.around is not None:
            return self.around
        if not self.kernel.linear:
            return self.K, np.zeros(self.n_objects)
        if is_sparse(self.items):
            everyone = Queries.from_labels(None, self.n_objects)
            X = shift_queries(self.items.tocsr(), everyone, np.ones(self.n_objects))
            origin = np.asarray((self.items - X).mean(axis=0)).ravel()
            return np.ascontiguousarray((X @ X.T).toarray()), np.asarray(X @ origin)
        items = np.asarray(self.items, dtype=np.float64)
        origin = items.mean(axis=0)
        X = items - origin
        return X @ X.T, X @ origin

    @cached_property
    def centred_K(self) -> Float:  # noqa: N802
        """``CKC``, (m, m): the kernel of a side that is ranked."""
        K = self._around[0]
        mean = K.mean(axis=0)
        return np.asarray(K - mean - (mean - mean.mean())[:, None])

    @cached_property
    def levels(self) -> Float:
        """``1ᵀKC / m``, (m,): what CKC has lost of the scores of all objects."""
        K, levels = self._around
        levels = K.mean(axis=0) + levels
        return np.asarray(levels - levels.mean())

    @cached_property
    def scale(self) -> float:
        """The size of the numbers that `centred_K` is a difference of."""
        return float(np.abs(self._around[0]).max(initial=0.0))

    def score_rows(self, new: Index, *, ranked: bool) -> Float:
        """Return some rows of K; of ``KC``, the same to coefficients that add up to zero, if the side is ranked."""
        return self.centred_K[new] + self.levels if ranked else self.K[new]

    def only(self, kept: Index) -> DyadicSide:
        """Return some of the objects, by their kernel."""
        part = np.ix_(kept, kept)
        around = (self._around[0][part], self._around[1][kept]) if self.kernel.linear or self.around else None
        return DyadicSide(self.K[part], Kernel("precomputed"), self.name, around)

    @cached_property
    def magnitude(self) -> float:
        """A bound of the largest eigenvalue of K: its trace or its length, whichever is known without K."""
        if self.few_columns:
            return float(self.kernel.diagonal(self.items).sum())
        return float(np.linalg.norm(self.K))

    def root_features(self, new: Index) -> Float:
        """Return features Φ of some objects, ``K = Φ Φᵀ``: linear ones as they are given, if they are few."""
        if self.few_columns:
            return dense_rows(self.items, new)
        spectrum = self.spectrum
        return np.asarray(spectrum.eigenvectors[new] * np.sqrt(np.where(spectrum.known, spectrum.eigenvalues, 0.0)))

    def in_units(self, unit: float) -> DyadicSide:
        """Return the same objects with ``unit²`` times their kernel: the same problem, rounded elsewhere."""
        if self.kernel.linear:
            items = self.items.astype(np.float64) if is_sparse(self.items) else np.asarray(self.items, dtype=np.float64)
            return DyadicSide(items * unit, self.kernel, self.name)
        return replace(self, given=self.K * unit**2)

    def linear_part(self, kept: Index) -> DyadicSide:
        """Return some of the objects, by their linear features."""
        return DyadicSide(self.items[kept], self.kernel, self.name)

    def decomposed(self, A: Float, summands: float = 0.0, null: Float | None = None) -> SideSpectrum:
        """Decompose a kernel of this side, which is overwritten; raise an error if it is indefinite.

        Shapes: A (m, m), null (m,).
        """
        scale = max(float(np.abs(A).max(initial=0.0)), summands)
        values, vectors = eigh(A, driver="evd", overwrite_a=True, check_finite=False)
        if not self.kernel.semidefinite and values[0] < -self._rounding() * len(A) * scale:
            raise InvalidInputError(
                f"the kernel of the {self.name} is indefinite: its smallest eigenvalue is {values[0]:.3g} and its "
                f"largest {values[-1]:.3g}; {ADVICE}"
            )
        # So many numbers of the size of K are added up for each entry of CKC.
        rounding = len(A) * float(np.finfo(np.float64).eps) * max(float(values[-1]), 4.0 * summands)
        if null is not None:
            # Eigenvectors of eigenvalues that rounding made of zeros are mixtures of it.
            vectors -= np.outer(null, (null @ vectors) / (null @ null))
        return SideSpectrum(np.maximum(values, 0.0), vectors, rounding)

    def _rounding(self) -> float:
        """Return how much of its largest value an eigenvalue of a semidefinite kernel may be negative, by object."""
        if not self.kernel.precomputed:
            return COMPUTED_DIGITS
        return 10 * float(np.finfo(np.float32 if self.items.dtype == np.float32 else np.float64).eps)


def singular_spectrum(X: Float, summands: float = 0.0, null: Float | None = None) -> SideSpectrum:
    """Decompose ``K = X Xᵀ`` without squaring X, which has half its digits left where K has lost an eigenvalue.

    Shapes: X (m, n_features), null (m,).

    summands: The size of the numbers that X is a difference of.
    """
    m = len(X)
    vectors, values, right = svd(X, full_matrices=True, check_finite=False)
    known = values > max(X.shape) * EPSILON * max(float(values.max(initial=0.0)), summands * np.sqrt(X.size))
    squares, loadings = np.zeros(m), np.zeros((X.shape[1], m))
    squares[: len(values)] = np.where(known, values, 0.0) ** 2
    loadings[:, : len(values)] = right[: len(values)].T * np.where(known, values, 0.0)
    if null is not None:
        vectors -= np.outer(null, (null @ vectors) / (null @ null))
    order = slice(None, None, -1)
    return SideSpectrum(squares[order], np.ascontiguousarray(vectors[:, order]), 0.0, loadings[:, order])


# Side items -----------------------------------------------------------------------------------------------------------
#
# Validation of the objects of one side; the number and names of features are stored.


def check_side(learner: BaseEstimator, X: ItemsLike, side: str, kernel: Kernel, *, reset: bool) -> Matrix:
    """Return the objects of a side as an array or sparse matrix.

    Shapes: returns (m, n_features).
    """
    carrier: BaseEstimator = type(side.capitalize(), (BaseEstimator,), {})()  # the name that messages show
    if not reset:
        carrier.n_features_in_ = getattr(learner, f"n_features_{side}_in_")
        if hasattr(learner, f"feature_names_{side}_in_"):
            carrier.feature_names_in_ = getattr(learner, f"feature_names_{side}_in_")
    formats = ("csr", "csc") if takes_sparse(kernel.metric) else False
    try:
        items = check_items(carrier, X, reset=reset, formats=formats, objects=takes_objects(kernel.metric))
        if reset and kernel.precomputed:
            check_symmetric(items)
    except ValueError as error:
        raise InvalidInputError(f"X_{side}: {error}") from None
    if reset:
        learner.__dict__.pop(f"feature_names_{side}_in_", None)
        for name, value in remembered_names(carrier, side).items():
            setattr(learner, name, value)
    return items


def remembered_names(carrier: BaseEstimator, side: str) -> dict[str, Any]:
    """Return the number and the names of features by the names that they have on the learner."""
    return {
        f"{name.removesuffix('_in_')}_{side}_in_": value
        for name, value in vars(carrier).items()
        if name in ("n_features_in_", "feature_names_in_")
    }


# Dyadic scores --------------------------------------------------------------------------------------------------------
#
# Validation of scores of dyads, given as a matrix or a list.


def check_score_matrix(Y: ArrayLike, shape: tuple[int, int]) -> tuple[Float, bool]:
    """Return scores as (m₁, m₂, outputs), NaN where unknown, and whether there is one output without an axis.

    Shapes: Y (m1, m2) or (m1, m2, outputs); returns Y (m1, m2, outputs).
    """
    _refuse_duplicate_names(Y)
    try:
        scores: Float = check_array(
            Y,
            dtype=np.float64,
            input_name="Y",
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite="allow-nan",
            ensure_min_samples=0,
        )
    except ValueError as error:
        if "could not convert" not in str(error):
            raise InvalidInputError(str(error)) from None
        raise InvalidInputError(f"Y must hold numbers, NaN where unknown: {error}") from None
    if scores.ndim not in (2, 3):
        raise InvalidInputError(f"Y must be a matrix, rows × columns or rows × columns × outputs, got {scores.shape}")
    if scores.shape[:2] != shape:
        turned = ". Y.T would fit" if scores.shape[1::-1] == shape else ""
        raise InvalidInputError(
            f"Y has {scores.shape[0]} rows and {scores.shape[1]} columns, but X_rows has {shape[0]} objects and "
            f"X_columns {shape[1]}{turned}"
        )
    if scores.ndim == 3 and scores.shape[2] == 0:
        raise InvalidInputError("Y has no outputs: its last axis has the length 0")
    return (scores[:, :, None], True) if scores.ndim == 2 else (scores, False)


def _refuse_duplicate_names(Y: ArrayLike) -> None:
    """Raise an error for a data frame two of whose rows or columns have the same name."""
    for axis, what in (("index", "rows"), ("columns", "columns")):
        names: Any = getattr(Y, axis, None)
        duplicated = getattr(names, "duplicated", None)
        if duplicated is not None and duplicated().any():
            name = names[duplicated()][0]
            raise InvalidInputError(f"Y has several {what} with the name {name!r}: each object must occur once")


def check_dyads(rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int]) -> tuple[Index, Index]:
    """Return dyads as two lists of object numbers.

    Shapes: rows, columns (l,); returns rows, columns (l,).
    """
    checked = [_object_numbers(rows, "rows", shape[0]), _object_numbers(columns, "columns", shape[1])]
    if len(checked[0]) != len(checked[1]):
        raise InvalidInputError(f"rows has {len(checked[0])} entries and columns {len(checked[1])}: one for each dyad")
    return checked[0], checked[1]


def _object_numbers(numbers: ArrayLike, name: str, n_objects: int) -> Index:
    values = np.asarray(numbers)
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must be a list with one object number for each dyad, got shape {values.shape}")
    if values.dtype.kind == "f" and np.all(np.isfinite(values) & (values == np.floor(values))):
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold object numbers (integers), got {values.dtype}")
    outside = (values < 0) | (values >= n_objects)
    if outside.any():
        first = int(np.argmax(outside))
        raise InvalidInputError(
            f"{name}[{first}] is {int(values[first])}, but X_{name} has the objects 0 to {n_objects - 1}"
        )
    return values.astype(np.int64)


def check_dyad_list(y: Any, n_dyads: int) -> tuple[Float, bool]:
    """Return the scores of listed dyads as (l, outputs), and whether there is one output without an axis."""
    try:
        scores: Float = check_array(y, dtype=np.float64, input_name="y", ensure_2d=False, ensure_min_samples=0)
    except ValueError as error:
        raise InvalidInputError(f"y must hold the score of each listed dyad: {error}") from None
    if scores.ndim not in (1, 2) or len(scores) != n_dyads:
        raise InvalidInputError(f"y has shape {scores.shape}, but there are {n_dyads} dyads: one score for each")
    if n_dyads == 0:
        raise InvalidInputError("the list of dyads is empty: nothing to learn from")
    return (scores[:, None], True) if scores.ndim == 1 else (scores, False)


def refuse_unknown_objects(rows: Index, columns: Index, shape: tuple[int, int], *, one_set: bool) -> None:
    """Raise an error for an object without a single known score: it has no part in training.

    Shapes: rows, columns (l,).
    """
    known = [np.bincount(numbers, minlength=size) > 0 for numbers, size in zip((rows, columns), shape, strict=True)]
    for name, seen in [("object", known[0] | known[1])] if one_set else zip(("row", "column"), known, strict=True):
        if not seen.all():
            more = int(np.count_nonzero(~seen)) - 1
            raise InvalidInputError(
                f"{name} {int(np.argmin(seen))} has no known score"
                + (f", nor {'has 1 other' if more == 1 else f'have {more} others'}" if more else "")
                + ": remove from the training data the objects that are only to be predicted"
            )


# Dyadic solution ------------------------------------------------------------------------------------------------------
#
# What a solver of dyads returns: dual coefficients of pairs of objects, or weights of pairs of features.


@dataclass(frozen=True)
class DyadicSolution:
    """The minimum.

    Shapes: dual (m1, m2, outputs), weights (d1, d2, outputs).
    """

    dual: Float | None = None
    weights: Float | None = None
    n_iter: int = 1

    def part(self, outputs: Index) -> DyadicSolution:
        """Return the solution of some outputs."""
        dual = None if self.dual is None else self.dual[:, :, outputs]
        weights = None if self.weights is None else self.weights[:, :, outputs]
        return DyadicSolution(dual, weights, self.n_iter)


class PreparedSolver(Protocol):
    """A problem after its decomposition, which does not depend on alpha and serves all alphas."""

    @property
    def name(self) -> str:
        """What the solver is called."""

    def solve(self, regularisation: Regularisation, start: DyadicSolution | None = None) -> DyadicSolution:
        """Find the minimum for one regularisation strength."""


# Known cells ----------------------------------------------------------------------------------------------------------
#
# The known cells of a matrix of scores: where, which score, and how often it was observed.
#
# A dyad that is observed n times with the mean score ȳ has ``Σ (y - f)² = n (ȳ - f)² + constant``, so that its
# observations are one cell with the weight n.


@dataclass(frozen=True)
class KnownCells:
    """Known cells, row by row, each of them once.

    Shapes: rows, columns (l,), y (l, outputs), count (l,).

    rows, columns: Where they are; ascending by row, then by column.
    """

    shape: tuple[int, int]
    rows: Index
    columns: Index
    y: Float
    count: Float

    @property
    def density(self) -> float:
        """The share of the cells that are known."""
        return len(self.rows) / (self.shape[0] * self.shape[1])

    @property
    def complete(self) -> bool:
        """Whether every cell is known, each as often as any other: once."""
        return len(self.rows) == self.shape[0] * self.shape[1] and bool(np.all(self.count == 1.0))

    def without(self, leaving: NDArray[np.bool_]) -> KnownCells:
        """Return the cells that are not held out, given a mask (m₁, m₂)."""
        kept = ~leaving[self.rows, self.columns]
        if not kept.any():
            raise InvalidInputError("a training fold has no known score: use more folds")
        return KnownCells(self.shape, self.rows[kept], self.columns[kept], self.y[kept], self.count[kept])

    @classmethod
    def of_list(cls, shape: tuple[int, int], rows: Index, columns: Index, y: Float) -> KnownCells:
        """Collect a list of dyads in any order, with repetitions; O(l log l) time."""
        keys = rows * shape[1] + columns
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        count = np.diff(first, append=len(keys)).astype(np.float64)
        sums = np.add.reduceat(y[order], first, axis=0) if len(first) else y
        cells = keys[first]
        return cls(shape, cells // shape[1], cells % shape[1], sums / count[:, None], count)

    @classmethod
    def of_matrix(cls, Y: Float) -> KnownCells:
        """Return the cells of a matrix (m₁, m₂, outputs) whose outputs know the same cells; NaN is unknown."""
        rows, columns = np.nonzero(~np.isnan(Y[:, :, 0]))
        return cls((Y.shape[0], Y.shape[1]), rows, columns, Y[rows, columns], np.ones(len(rows)))

    @classmethod
    def by_output(cls, Y: Float) -> Iterator[OutputCells]:
        """Return the cells of a matrix, for each set of outputs that know the same ones."""
        patterns: dict[bytes, list[int]] = {}
        for k in range(Y.shape[2]):
            patterns.setdefault(np.packbits(np.isnan(Y[:, :, k])).tobytes(), []).append(k)
        for outputs in patterns.values():
            yield np.array(outputs), cls.of_matrix(Y[:, :, outputs])


OutputCells: TypeAlias = tuple[Index, KnownCells]
"""Numbers of outputs, and the cells that they know."""


# One set --------------------------------------------------------------------------------------------------------------
#
# One set of objects: dyads (a, b) of players, and how f(a, b) and f(b, a) are related.
#
# A relation that is symmetric, ``f(a, b) = f(b, a)``, or reciprocal, ``f(a, b) = -f(b, a)``, has the kernel ``½ (K_ac
# K_bd ± K_ad K_bc)``, the projection of ``K ⊗ K`` on (skew-)symmetric functions. It commutes with ``K ⊗ K``, so the
# scores ``Y_± = (Y ± Yᵀ)/2`` have the solution of the plain problem, and ``‖f‖²`` is that of the plain problem too. A
# reciprocal f is zero at (a, a): a score of an object against itself is zero or unknown, and counts for nothing.


def symmetrised(values: Float, sign: int) -> Float:
    """Return ``(V ± Vᵀ)/2`` of a square matrix, or of one for each output; V itself if the sign is zero."""
    if sign == 0:
        return values
    return np.asarray(0.5 * (values + sign * values.swapaxes(0, 1)))


def check_relation(Y: Float, sign: int) -> Float:
    """Return scores that keep to a relation exactly, or name the first cell that does not.

    Where both (a, b) and (b, a) are known, they must be equal or opposite up to rounding. One alone stays alone.

    Shapes: Y (m, m, outputs); returns (m, m, outputs).
    """
    if sign == 0:
        return Y
    mirrored = sign * Y.swapaxes(0, 1)
    scale = float(np.nanmax(np.abs(Y), initial=0.0))
    # A matrix is (skew-)symmetric if it differs from its transpose by less than this share of its largest score.
    wrong = np.abs(Y - mirrored) > 1e-8 * scale
    if wrong.any():
        a, b, output = (int(number) for number in np.argwhere(wrong)[0])
        if a == b:
            raise InvalidInputError(
                f"Y is not reciprocal: Y[{a}, {a}] is {Y[a, a, output]:g}, but relation='reciprocal' means that an "
                "object has the score 0 against itself. Set it to 0 or NaN, or use relation='any'"
            )
        word, rule = ("symmetric", "Y[b, a] = Y[a, b]") if sign == 1 else ("reciprocal", "Y[b, a] = -Y[a, b]")
        raise InvalidInputError(
            f"Y is not {word}: Y[{a}, {b}] is {Y[a, b, output]:g} and Y[{b}, {a}] is {Y[b, a, output]:g}, but "
            f"relation={word!r} means {rule}. Make Y so, or use relation='any'"
        )
    return np.where(np.isnan(mirrored), Y, 0.5 * (Y + mirrored))


def refuse_self_dyads(rows: Index, columns: Index, y: Float) -> None:
    """Raise an error for a score other than zero of an object against itself, where the relation is reciprocal."""
    wrong = (rows == columns) & (y != 0.0).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InvalidInputError(
            f"dyad {first} is object {int(rows[first])} against itself with the score {y[first].max():g}: in a "
            "reciprocal relation f(a, a) = 0"
        )
