"""The shortcut rules: which hold-outs of a problem need no training.

A graph declares which sets of items have a shortcut (`kernelrank.comparisons.scored`), and at which ``λ /
κ``:

=================================  ====================================  ==========================================
graph                              sets                                  how
=================================  ====================================  ==========================================
item scores (RLS), any weights     any                                   shortcut
one query, ties included           any                                   shortcut at ``λ / κ``
several queries, ties included     any, where every item counts the      shortcut
                                   same (``query_weight="items"``)
any scored graph: ties left out,   unions of whole queries               shortcut: L is block diagonal by query
unit or relative cost, weights
reduced sets                       unions of whole queries; any for RLS  shortcut, basis items removed with the set
reduced sets, one query            pairs                                 shortcut, basis items removed with the pair
whatever else                                                            refit: the weights or the levels of a
                                                                         query that loses items change
=================================  ====================================  ==========================================

Problems that are too large to be decomposed are refitted, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kernelrank.base.arrays import Float, GramSum, Index, Matrix, blocks
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons import Comparisons
from kernelrank.comparisons.scored import ScoredComparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import ExplicitFeatures, Features, FullKernel
from kernelrank.features.kernels import KEPT_MATRIX_BYTES
from kernelrank.kernels import Kernel
from kernelrank.solvers import choose_solver
from kernelrank.solvers.automatic import DIRECT_LIMIT, EXACT
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import Rounding, report_error, spectral_errors, trusted_alpha


@dataclass(frozen=True)
class Problem:
    """A training problem to hold items out from, and the rules that say which hold-outs have a shortcut."""

    features: Features
    graph: ScoredComparisons
    keep_basis: bool = False
    spectra: dict[Any, Any] | None = None

    def decompositions(self, lams: Float, *, scores: bool, dual: bool = False) -> Iterator[tuple[Decomposition, Index]]:
        """Return the decompositions for the given λ, from the cache where they are kept."""
        kept: Decomposition | None = None if self.spectra is None else self.spectra.get((scores, dual))
        if kept is not None and np.all(lams >= kept.trusted):
            yield kept, np.arange(len(lams))
            return
        for found, numbers in decompose(self.features, self.base, lams, scores=scores, dual=dual):
            if self.spectra is not None and found.values is not None:
                self.spectra[scores, dual] = found
            yield found, numbers

    @cached_property
    def near_origin(self) -> Problem:
        """The same problem for differences of scores, with the first row subtracted from dense columns far from 0.

        The mean of a column is rounded, so that a constant one far from the origin is not zero when it is subtracted.
        """
        features = self.features
        if features.basis is not None or not isinstance(features, ExplicitFeatures) or features.sparse:
            return self
        if self.graph.queries is None or np.all(np.abs(features.X[0]) <= 4.0 * np.ptp(features.X, axis=0)):
            return self
        shifted = ExplicitFeatures(np.asarray(features.X, dtype=np.float64) - features.X[0])
        return replace(self, features=shifted, spectra=None if self.spectra is None else {})

    @cached_property
    def base(self) -> ScoredComparisons:
        """The graph that is decomposed."""
        return self.graph.shortcut_graph()

    @property
    def has_shortcut(self) -> bool:
        """Whether a decomposition gives a shortcut for some sets: not for a basis, and not if it is too large."""
        return self.features.basis is None and self.features.size <= DIRECT_LIMIT

    @property
    def any_items_may_leave(self) -> bool:
        """Whether every set of items has a shortcut: RLS, and one ranking."""
        return self.has_shortcut and self.graph.loses_any_items

    @property
    def truth(self) -> Float:
        """The scores y with ``M N = L y``, shape (m, k)."""
        return self.graph.magnitudes

    @property
    def scored(self) -> NDArray[np.bool_]:
        """The items that have a weight; an item without a score has none."""
        return np.asarray(self.graph.weight > 0, dtype=np.bool_)

    @cached_property
    def uncompared(self) -> NDArray[np.bool_]:
        """The items that are compared with no other item: weight zero, or alone or all tied in their query."""
        return self.base.uncompared_items()

    def scale(self, sets: ItemSets) -> Float:
        """Return κ for each set, by which λ is divided; NaN where there is no shortcut."""
        return self.graph.scale_without(sets) if self.has_shortcut else np.full(len(sets), np.nan)

    @cached_property
    def trace(self) -> float:
        """The trace of ``Φᵀ L Φ``, or that of ``diag(K) L``, which is no less, where a kernel is too large."""
        columns, features = self.features.primal, self.features
        if columns is not None:
            return float(columns.gram_diagonal(self.base).sum())
        if features.n_items > DIRECT_LIMIT:
            return float(self.base.diagonal() @ features.diagonal())
        return float(np.trace(features.centred_kernel(self.base)))

    def common_scale(self, n_leaving: int, *, basis: bool = False) -> float | None:
        """Return κ of all sets of a given number of items, which counts all held-out items, outer and inner.

        None where sets of one size differ in κ, or where some have no shortcut or nothing is left to compare. Pairs
        have a shortcut with a `basis`, too.
        """
        weight, items_alike = self.graph.weight, self.graph.queries is None or self.graph.query_weight == "items"
        if not (basis or self.has_shortcut) or not self.graph.loses_any_items:
            return None
        if self.uncompared.any() or n_leaving >= self.graph.n_items:
            return None
        if items_alike:
            return 1.0
        if not np.all(weight == weight[0]):
            return None
        scale = float(self.graph.scale_without(ItemSets.of([range(n_leaving)], self.graph.n_items))[0])
        return scale if scale > 0 else None

    def without(self, held: Index) -> tuple[Problem, Matrix]:
        """Return the problem of the other items, and the rows by which its model predicts those held out."""
        mask = np.ones(self.graph.n_items, dtype=bool)
        mask[held] = False
        features, rows = self.features.split(np.flatnonzero(mask), held, keep_basis=self.keep_basis)
        return Problem(features, self.graph.without(held), self.keep_basis), rows

    def with_kernel_matrix(self) -> Problem:
        """Return the same problem with its kernel computed once, for several trainings without some of the items.

        This one where the primal form is smaller, or where the matrix would be too large to keep.
        """
        features, m = self.features, self.features.n_items
        computed = isinstance(features, FullKernel) and features.kernel.precomputed
        if features.primal is not None or features.basis is not None or computed or 8 * m**2 > KEPT_MATRIX_BYTES:
            return self
        items = np.arange(m)
        return replace(self, features=FullKernel(Kernel("precomputed"), features.block(items, items)), spectra=None)

    def nothing_to_compare(self, sets: ItemSets) -> NDArray[np.bool_]:
        """Return for each set and output whether all remaining scores are tied, so that all predictions are zero.

        O(total log total) time, but for sets that touch every query and may take all but one level: O(m log m) each.
        """
        scores = self.truth
        result = np.zeros((len(sets), scores.shape[1]), dtype=bool)
        if self.graph.queries is None:
            return result
        codes, taking_part = self.graph.queries.codes, self.graph.weight > 0
        for k in range(scores.shape[1]):
            spare = _spare_items(scores[taking_part, k], codes[taking_part], self.graph.n_queries)
            # A set leaves two scores in every query that it does not touch, and in one that has more items beside those
            # with its most frequent score than the set has.
            doubtful = (sets.sizes >= spare.max()) & (sets.touched(codes, spare > 0) == np.count_nonzero(spare))
            for number in np.flatnonzero(doubtful):
                held = sets.items[sets.bounds[number] : sets.bounds[number + 1]]
                kept = taking_part.copy()
                kept[held] = False
                result[number, k] = _spare_items(scores[kept, k], codes[kept], self.graph.n_queries).max() == 0
        return result

    def differences_survive(self, n_leaving: int) -> bool:
        """Return whether different scores remain in every output, whichever items of this number are held out."""
        if self.graph.queries is None:
            return True
        codes = np.zeros(self.graph.n_items, dtype=np.int64)
        return all(int(_spare_items(column, codes, 1)[0]) > n_leaving for column in self.truth.T)


def _spare_items(scores: Float, codes: Index, n_queries: int) -> Index:
    """Return for each query how many items it has beside those with its most frequent score."""
    order = np.lexsort((scores, codes))
    y, q = scores[order], codes[order]
    new = np.ones(len(y), dtype=bool)
    new[1:] = (y[1:] != y[:-1]) | (q[1:] != q[:-1])
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(y)))
    most = np.zeros(n_queries, dtype=np.int64)
    np.maximum.at(most, q[starts], counts)
    return np.bincount(codes, minlength=n_queries) - most


# Refit ----------------------------------------------------------------------------------------------------------------
#
# Refitting: the definition of holding out, for graphs and sets that have no shortcut.


def refit_without(problem: Problem, held: Index, alphas: Float) -> Float:
    """Train on the graph induced on the other items, and predict those held out.

    Shapes: held (u,), alphas (number of alphas,); returns (u, outputs, number of alphas).
    """
    rest, rows, path = path_without(problem, held, alphas)
    scores = rest.features.predict(rows, path.reshape(len(path), -1))
    return scores.reshape(len(held), *path.shape[1:])


def path_without(problem: Problem, held: Index, alphas: Float) -> tuple[Problem, Matrix, Float]:
    """Train without some items: the problem of the others, the rows of those held out, and the coefficients.

    Shapes: held (u,), alphas (number of alphas,); returns coefficients (r, outputs, number of alphas).
    """
    rest, rows = problem.without(held)
    return rest, rows, trained_path(rest.features, rest.graph, alphas)


def trained_path(features: Features, graph: Comparisons, alphas: Float) -> Float:
    """Train for some alphas, and return the coefficients, shape (r, outputs, number of alphas)."""
    solver = choose_solver(features, graph, len(alphas), tol=EXACT)
    state = solver.prepare(features, graph)
    return np.stack([solver.solve(state, float(alpha)).coefficients for alpha in alphas], axis=2)


# Decomposition --------------------------------------------------------------------------------------------------------
#
# One decomposition, for all λ, and the factors that every hold-out identity is written in.
#
# Two forms of one problem, ``(A + λ I)⁻¹ = B diag(d) Bᵀ``:
#
# ===========  ==============  ==================  =================  ====================
# form         A               left Q (m × s)      right N (m × s)    rotated b (s × k)
# ===========  ==============  ==================  =================  ====================
# dual         ``C K Cᵀ``      ``Cᵀ B``            ``K Cᵀ B``         ``Bᵀ T``
# primal       ``Φᵀ L Φ``      ``L Φ B``           ``Φ B``            ``Bᵀ Φᵀ M N``
# ===========  ==============  ==================  =================  ====================
#
# with ``CᵀC = L`` and ``Cᵀ T = M N``. With the dual inverse ``Γ = Cᵀ(C K Cᵀ + λ I)⁻¹ C`` and ``e = Γ y``
# (the part “Dual inverse”),
#
# * dual:   ``Γ = Q diag(d) Qᵀ`` and ``e = Q diag(d) b``, sums in which nothing is subtracted;
# * primal: ``λ Γ = L - Q diag(d) Qᵀ`` and ``λ e = M N - Q diag(d) b``, by the Woodbury identity;
# * both:   ``f = N diag(d) b``.
#
# For several λ, B holds the eigenvectors of A and ``d = 1 / (μ + λ)``. For one λ a spectrum is never computed: with the
# Cholesky factor ``RᵀR = A + λ I``, ``B = R⁻¹`` and ``d = 1``, which serves the same formulas at a twentieth of the
# cost. The same is done for small λ if the rows of A differ so much in size that a spectrum would lose the digits of
# small rows.

FEW_ALPHAS = 3
"""Up to this many values of λ, as many Cholesky factorisations are cheaper than a spectrum."""


@dataclass(frozen=True)
class Decomposition:
    """The arrays of the table above for one graph.

    Shapes: values (s,), left, rotated (m, s), kernel (m, m), columns (m, s), matrix, basis, target (s, s).
    """

    features: Features
    graph: Comparisons
    primal: bool
    trace: float
    values: Float | None
    left: Float
    rotated: Float
    kernel: Float | None
    columns: Float | None
    matrix: Float
    basis: Float
    target: Float
    rounding: Rounding | None
    trusted: float = 0.0

    @cached_property
    def right(self) -> Float:
        """N, shape (m, s), made at its first use."""
        if self.columns is not None:
            return self.columns
        if self.values is not None and self.graph.is_identity:
            return self.left * self.values  # Q holds the eigenvectors of K itself
        return self.features.kernel_multiply(self.left) if self.kernel is None else self.kernel @ self.left

    def mean_right(self, items: Index) -> Float:
        """Return the mean of the rows of N over each set of items (sets, u); a full N is not made for that."""
        if self.kernel is None or "right" in self.__dict__:
            return np.asarray(self.right[items].mean(axis=1))
        means = np.empty((len(items), len(self.kernel)))
        for sets in blocks(len(items), 8 * items.shape[1] * len(self.kernel)):
            np.mean(self.kernel[items[sets]], axis=1, out=means[sets])
        return means @ self.left

    @cached_property
    def smooth(self) -> Float:
        """``Cᵀ A B`` for the dual form of one λ, shape (m, s), made at its first use."""
        return _centre_transpose(self.graph, self.matrix @ self.basis)

    @property
    def sign(self) -> float:
        """How ``Q diag(d) Qᵀ`` enters: +1 in the dual, -1 in the primal."""
        return -1.0 if self.primal else 1.0

    def shrinkage(self, lams: Float) -> Float:
        """Return ``d`` for every λ, shape (s, number of λ)."""
        if self.values is None:
            return np.ones((self.left.shape[1], len(lams)))
        shrunk: Float = 1.0 / (self.values[:, None] + lams)
        return shrunk

    def report_errors(self, alphas: Float, lams: Float) -> None:
        """Report the relative errors that rounding leaves in predictions at some λ: O(s) time each, O(s²) without μ."""
        if self.values is not None:
            errors = spectral_errors(self.values, self.rotated, lams, primal=self.primal).tolist()
        else:
            assert self.rounding is not None
            B, x = self.basis, self.basis @ self.rotated
            errors = [
                self.rounding.relative_error(lambda g: B @ (B.T @ g), x, self.target, lam) for lam in lams.tolist()
            ]
        for alpha, error in zip(alphas.tolist(), errors, strict=True):
            report_error(alpha, error)

    def dual_inverse(self, lam: float) -> DualInverse:
        """Return Γ at a λ, in the dual form."""
        d = self.shrinkage(np.array([lam]))
        return DualInverse(self.coefficients(d)[:, :, 0], left=self.left, d=d[:, 0], size=self.trace / lam)

    def smoother(self, lam: float) -> tuple[Float, Float, Float]:
        """Return Q', Q'' (m × s) and d (s,) with ``H = L - λ Γ = Q' diag(d) Q''ᵀ``, formed without that difference."""
        if self.primal:
            return self.left, self.left, self.shrinkage(np.array([lam]))[:, 0]
        if self.values is not None:
            return self.left, self.left, self.values / (self.values + lam)
        return self.smooth, self.left, np.ones(self.left.shape[1])

    def coefficients(self, d: Float) -> Float:
        """Return ``e`` (dual) or ``λ e`` (primal), shape (m, k, number of λ)."""
        scaled = d[:, None, :] * self.rotated[:, :, None]
        e = self.sign * (self.left @ scaled.reshape(len(d), -1)).reshape(len(self.left), *scaled.shape[1:])
        if self.primal:
            e += self.graph.target()[:, :, None]
        return e


def decompose(
    features: Features, graph: Comparisons, lams: Float, *, scores: bool, dual: bool = False
) -> Iterator[tuple[Decomposition, Index]]:
    """Decompose once for many λ, or once for each of a few.

    Dual: O(m³) time, three m × m arrays (two without scores). Primal: O(m n² + n³) time, two m × n arrays.

    Shapes: lams (number of λ,).
    """
    columns = None if dual else features.primal
    K: Float | None = None
    rounding = np.inf  # what is made of columns cannot be indefinite
    if columns is not None:
        A, b = columns.gram(graph), columns.transpose_multiply(graph.target())
    elif isinstance(features, FullKernel):
        K = features.kernel.matrix(features.X)
        kernel_scale = float(np.abs(np.diagonal(K)).max())
        largest = kernel_scale * float(graph.diagonal().max())
        A, b = graph.centre_kernel(K.copy() if scores else K), graph.root_target()
        # A kernel is computed to fewer digits than a sum: distances between items far from the origin lose some. One
        # that is constant in every query leaves nothing but the rounding of what was taken away.
        rounding = max(1e-9 * float(np.trace(A)), 100 * len(K) * float(np.finfo(np.float64).eps) * largest)
    else:
        A, b = features.centred_kernel(graph), graph.root_target()
    trace, trusted, primal = float(np.trace(A)), trusted_alpha(A), columns is not None
    if not primal and trusted > 0.0:
        trace = float(len(A) * np.median(np.diagonal(A)))
    summands = None if K is None else kernel_scale * graph.root_squares()
    of_factor = Rounding.of_factor(A, primal=primal, summands=summands)
    for values, B, numbers in _factors(A, lams, rounding, trusted):
        rotated = B.T @ b
        right = None if columns is None else columns.multiply(B)
        left = _centre_transpose(graph, B) if right is None else right
        if right is not None and not graph.is_identity:
            left = graph.apply(right)
        own = of_factor if values is None else None
        found = Decomposition(features, graph, primal, trace, values, left, rotated, K, right, A, B, b, own, trusted)
        yield found, numbers


def _factors(A: Float, lams: Float, rounding: float, trusted: float) -> Iterator[tuple[Float | None, Float, Index]]:
    """Yield ``μ, B`` and the numbers of the λ that they serve; A is overwritten."""
    distinct, which = np.unique(lams, return_inverse=True)
    uneven = int(np.searchsorted(distinct, trusted))  # so many λ are too small for a spectrum
    # Up to this many values of λ are factorised one by one where a spectrum would lose digits.
    if uneven > 64:
        uneven = 0
    if len(distinct) - uneven <= FEW_ALPHAS:
        uneven = len(distinct)
    # From the largest λ down: where rounding stops the factorisation at one, it stops it at the smaller ones too.
    failed = 0
    for k in range(uneven - 1, -1, -1):
        inverse = _inverse_root(A, float(distinct[k]))
        if inverse is None:
            failed = k + 1
            break
        yield None, inverse, np.flatnonzero(which == k)
    left = np.flatnonzero((which < failed) | (which >= uneven))
    if len(left):
        values, vectors = spectrum(A, rounding)
        yield values, vectors, left


def _inverse_root(A: Float, lam: float) -> Float | None:
    """Return ``R⁻¹`` with ``RᵀR = A + λ I``, or None where rounding stops the factorisation."""
    M = np.array(A, order="F")
    M[np.diag_indices_from(M)] += lam
    R, failed_at = lapack.dpotrf(M, lower=0, clean=1, overwrite_a=1)
    if failed_at > 0:
        return None
    inverse, _ = lapack.dtrtri(R, lower=0, overwrite_c=1)
    return np.asarray(inverse)


def _centre_transpose(graph: Comparisons, B: Float) -> Float:
    """Return ``Cᵀ B`` with contiguous rows, a block of columns at a time."""
    if graph.is_identity:
        return np.ascontiguousarray(B)
    left = np.empty((graph.n_items, B.shape[1]))
    # The size of a block of columns that is centred at once.
    for columns in blocks(B.shape[1], 8 * len(B), 2**24):
        left[:, columns] = graph.centre_transpose(np.ascontiguousarray(B[:, columns]))
    return left


# Dual inverse ---------------------------------------------------------------------------------------------------------
#
# The dual inverse Γ, which turns scores into dual coefficients, ``e = Γ y``, and what every hold-out does with it.
#
# RankRLS on queries (and RLS, without the intercepts) solves, with Ω the item weights and P the query indicators,
#
#     ``[K + λ Ω⁻¹, P; Pᵀ, 0] [a; b] = [y; 0]``,   ``f = K a``,
#
# and Γ, the leading block of the inverse, gives ``a = e = Γ y``. With any root ``CᵀC = L`` it is ``Γ = Cᵀ G C`` with
# ``G = (C K Cᵀ + λ I)⁻¹``.
#
# **Leaving items out.** Training without U deletes rows and columns. By the rule for the inverse of a submatrix, the
# new dual coefficients are
#
#     ``a' = e - Γ_{:U} r``   with   ``Γ_UU r = e_U``,
#
# which vanish on U, and r are the residuals of the new model on U, intercept included: ``r = y_U - f'_U - b'``.
#
# **Leaving more out.** The inverse of the problem without F is a Schur complement, which has zero rows at F:
#
#     ``Γ⁽ᶠ⁾ = Γ - Γ_:F Γ_FF⁻¹ Γ_F:``,   ``e⁽ᶠ⁾ = e - Γ_:F Γ_FF⁻¹ e_F``,
#
# and the identity above holds for it again (`DualInverse.without`). With the Cholesky factor R of ``Γ_FF`` the
# correction is ``Wᵀ W``, ``W = R⁻¹ Γ_F:``, so that a block of it costs no more than its own entries.
#
# **Which λ.** One ranking without items of the total weight ``w_U`` (inner and outer ones) has the item weights ``κ
# w_i`` with ``κ = c(W - w_U)(W - w_U)``: it is the problem with weights w at ``λ' = λ / κ`` (`Problem.scale` for sets,
# `Problem.common_scale` for a number of items). Without weights κ is ``m - u`` where every pair counts the same, 1 for
# every item, and ``2 / (m - u - 1)`` for every query.
#
# **Watched pivots.** Γ comes in two forms (the part “Decomposition”): a sum of positive terms, whose blocks
# keep their digits, and in the primal ``λ Γ = L - Q diag(d) Qᵀ``, which loses digits if a direction of the features is
# determined by U alone: the pivots of ``Γ_UU`` get as small as ``λ / (μ + λ)``. If a pivot is below `PIVOT` times its
# diagonal entry, the result is not used.

PIVOT = {True: 1e-5, False: 1e-14}
"""The smallest relative pivot that is trusted, in the primal and in the dual."""


class SmallPivotError(InvalidInputError):
    """Rounding errors are as large as a block of Γ."""


@dataclass(frozen=True)
class DualInverse:
    """Γ at one λ, as a matrix or as a product ``Q diag(d) Qᵀ``, from which items may have left.

    Shapes: coefficients (m, k), matrix (m, m), left, d (m, s), gone (items that left, m), places (m,).

    size: The trace of the problem's matrix over λ.
    """

    coefficients: Float
    matrix: Float | None = None
    left: Float | None = None
    d: Float | None = None
    gone: Float | None = None
    places: Index | None = None
    error: float = 0.0
    size: float = 1.0

    @classmethod
    def of(
        cls, features: Features, graph: ScoredComparisons, lam: float, *, above_trace: bool = True
    ) -> DualInverse | None:
        r"""Form the matrix in the place of the kernel matrix: O(m³) time, one m × m array.

        For one ranking with item weights w (total W), and for RLS, the root of the Laplacian is ``C = P S`` with
        ``S = diag(√w)`` and the projection ``P = I - √w √wᵀ / W`` (RLS: ``P = I``), so that ``Γ = S P G P S``. G has
        the eigenvector ``√w`` with eigenvalue ``1 / λ``, which P takes away again: a difference, and a large one where
        λ is small. So that direction is lifted first by c, the trace of ``C K Cᵀ``:

            ``Γ = S (C K Cᵀ + λ I + c √w √wᵀ / W)⁻¹ S - w wᵀ / (W (λ + c))``,

        where next to nothing is subtracted. Cholesky's factor and the inverse overwrite the kernel matrix: m³
        multiplications and additions in all, beside ``5/3 m³`` for a triangular inverse and its product with itself.
        """
        A = features.centred_kernel(graph)
        lift = float(np.trace(A))
        if lam > lift and not above_trace:
            return None
        rounding = Rounding.of_factor(A, primal=False, summands=features.uncentred_diagonal(graph))
        root = np.sqrt(graph.weight)
        share = 0.0
        if graph.queries is not None:
            total = float(graph.weight.sum())
            for row, weight in zip(A, lift / total * root, strict=True):
                row += weight * root
            share = 1.0 / (total * (lam + lift))
        A[np.diag_indices_from(A)] += lam
        # A is symmetric, so its transpose is the same matrix in the column order that LAPACK overwrites in place.
        factor, failed_at = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if failed_at > 0:
            return None
        target = graph.root_target()
        solution, _info = lapack.dpotrs(factor, target, lower=1)
        error = rounding.relative_error(lambda g: lapack.dpotrs(factor, g, lower=1)[0], solution, target, lam)
        inverse, _info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        matrix = _scaled_and_mirrored(inverse.T, root, share)
        return cls(root[:, None] * solution, matrix, error=error, size=lift / lam)

    def reordered(self, order: Index, left: Float | None = None) -> DualInverse:
        """Return Γ with its items in another order; `left` in that order is made unless it is given."""
        gone = None if self.gone is None else self.gone[:, order]
        if self.matrix is None:
            assert self.left is not None
            left = self.left[order] if left is None else left
            return replace(self, coefficients=self.coefficients[order], left=left, gone=gone)
        places = order if self.places is None else self.places[order]
        return replace(self, coefficients=self.coefficients[order], gone=gone, places=places)

    def rows(self, rows: slice | Index, columns: slice | Index = slice(None)) -> Float:
        """Return some rows of Γ, or the part of them in some columns; not to be written to."""
        if self.matrix is None:
            assert self.left is not None
            assert self.d is not None
            part: Float = (self.left[rows] * self.d) @ self.left[columns].T
        elif self.places is None:
            part = self.matrix[rows][:, columns]
        else:
            part = self.matrix[self.places[rows]].take(self.places[columns], axis=1)
        if self.gone is not None:
            part = part - self.gone[:, rows].T @ self.gone[:, columns]
        return part

    def block(self, items: Index | slice) -> Float:
        """Return ``Γ_UU``."""
        return self.rows(items, items)

    def entries(self, first: Index, second: Index) -> Float:
        """Return ``Γ_ij`` of pairs of items, shape (pairs,)."""
        if self.matrix is None:
            assert self.left is not None
            assert self.d is not None
            found: Float = (self.left[first] * self.left[second]) @ self.d
        else:
            places = np.arange(len(self.matrix)) if self.places is None else self.places
            found = self.matrix[places[first], places[second]]
        return found if self.gone is None else found - (self.gone[:, first] * self.gone[:, second]).sum(axis=0)

    def diagonal(self) -> Float:
        """Return the diagonal of Γ, shape (m,)."""
        if self.matrix is None and self.gone is None:
            assert self.left is not None
            assert self.d is not None
            return np.asarray((self.left**2) @ self.d)
        items = np.arange(len(self.coefficients))
        return self.entries(items, items)

    def residuals(self, items: Index) -> Float:
        """Return r with ``Γ_UU r = e_U``: the held-out residuals of these items, shape (u, k)."""
        factor = _watched_factor(self.block(items))
        return np.asarray(lapack.dpotrs(factor, self.coefficients[items], lower=1)[0])

    def without(self, items: Index | slice) -> DualInverse:
        """Return Γ of the problem without some items, by a Schur complement.

        λ stays what it is: it must be the one of all that leave. O(u² m) time, and u m numbers.
        """
        factor = _watched_factor(self.block(items))
        W, _info = lapack.dtrtrs(factor, self.rows(items), lower=1)
        shift = W.T @ lapack.dtrtrs(factor, self.coefficients[items], lower=1)[0]
        gone = W if self.gone is None else np.vstack([self.gone, W])
        return replace(self, coefficients=self.coefficients - shift, gone=gone)


def _watched_factor(block: Float) -> Float:
    """Return the Cholesky factor of a block of Γ."""
    factor, failed_at = lapack.dpotrf(block, lower=1)
    if failed_at > 0 or np.any(np.diagonal(factor) ** 2 < PIVOT[False] * np.diagonal(block)):
        raise SmallPivotError(
            f"{len(block)} items cannot be left out exactly: rounding errors are as large as the result. Use a "
            "larger alpha, or scale the features down"
        )
    return np.asarray(factor)


def _scaled_and_mirrored(G: Float, root: Float, share: float) -> Float:
    """Turn the upper half of the inverse into all of Γ, in its place."""
    for rows in blocks(len(G), 8 * len(G)):
        part, both = G[rows, rows.start :], root[rows, None] * root[rows.start :]
        part -= share * both
        part *= both
    return GramSum.onto(G.T).matrix().T
