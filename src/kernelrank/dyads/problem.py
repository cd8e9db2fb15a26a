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

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.comparisons.scored import QueryWeight, pair_weight
from kernelrank.dyads.dyadic_side import DyadicSide, SideSpectrum
from kernelrank.dyads.known_cells import KnownCells, OutputCells
from kernelrank.errors import NothingToCompareError

__all__ = ["DyadicProblem", "Ranked", "Regularisation", "Relation"]

Relation: TypeAlias = Literal["symmetric", "reciprocal", "any"]
Ranked: TypeAlias = Literal["columns", "rows"]


@dataclass(frozen=True)
class Regularisation:
    """The penalty E of each pair of eigendirections.

    Parameters
    ----------
    rows, columns : float
        α₁ and α₂ of two-step learning; zero otherwise.
    both : float
        alpha, or α₁α₂.
    """

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

    def costs(self, row_values: Float, column_values: Float) -> Float:
        """Return E for eigenvalues μ₁ (r₁,) and μ₂ (r₂,), of a shape that broadcasts to (r₁, r₂)."""
        if self.constant:
            return np.full((1, 1), self.both)
        return self.rows * column_values[None, :] + self.columns * row_values[:, None] + self.both

    def divided(self, weight: float) -> Regularisation:
        """Return E divided by `weight`, for errors that count `weight` times. Not for two-step learning."""
        return Regularisation(self.rows / weight, self.columns / weight, self.both / weight)


@dataclass(frozen=True)
class DyadicProblem:
    """Two sides, the scores of their dyads, and whether these are learnt, or ranked for each object of a side.

    Parameters
    ----------
    rows, columns : DyadicSide
        The same object where rows and columns are one set.
    Y : ndarray, shape (m1, m2, outputs), or None
        The scores as a matrix, NaN where unknown; symmetric or skew-symmetric if the relation is. None for a list.
    cells : tuple of (outputs, KnownCells)
        The known cells, for each set of outputs that know the same ones; empty for complete Y.
    relation : {"symmetric", "reciprocal", "any"}, or None
        What is known of f(a, b) and f(b, a) where rows and columns are one set; None for two sets.
    ranked : {"columns", "rows"}, or None
        Which side is ranked for each object of the other side; None for regression.
    query_weight : {"pairs", "items", "queries"}, default="pairs"
        Which units have equal weight in a ranking, as in `RankRLS`.
    one_output : bool, default=True
        Whether Y was given without an axis of outputs.
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

    def centred(self, Y: Float) -> Float:
        """Return scores, (m₁, m₂), less the mean of each query; Y itself for regression."""
        if self.ranked is None:
            return Y
        return np.asarray(Y - Y.mean(axis=0 if self.ranked == "rows" else 1, keepdims=True))

    def known(self) -> NDArray[np.bool_]:
        """Return whether a cell has a score in any output, (m₁, m₂)."""
        assert self.Y is not None
        return np.asarray(~np.isnan(self.Y).all(axis=2))

    def only(self, rows: Index, columns: Index) -> DyadicProblem:
        """Return the problem of some objects; with one set of objects, rows and columns are the same ones."""
        assert self.Y is not None
        Y = self.Y[np.ix_(rows, columns)]
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
        assert self.Y is not None
        other: dict[str, Ranked] = {"rows": "columns", "columns": "rows"}
        ranked = None if self.ranked is None else other[self.ranked]
        Y = self.Y.swapaxes(0, 1)
        cells = tuple(KnownCells.by_output(Y)) if self.cells else ()
        return replace(self, rows=self.columns, columns=self.rows, Y=Y, cells=cells, ranked=ranked)

    def output_cells(self) -> tuple[OutputCells, ...]:
        """Return the known cells, those of complete Y included."""
        if self.cells or self.Y is None:
            return self.cells
        return ((np.arange(self.n_outputs), KnownCells.of_matrix(self.Y)),)
