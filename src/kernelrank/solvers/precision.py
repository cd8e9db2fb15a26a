"""Limits of double precision: overflow of the sums of a problem, and the accuracy of its solution.

**Range.** The solvers meet ``Φᵀ L Φ`` or ``C K Cᵀ`` and ``Φᵀ M N``. With the energy ``E = Σ k(x_i, x_i)``, the largest
degree d of the graph and the largest magnitude t, none of their entries is above ``2 d E`` and ``2 d t √(m E)``. These
bounds cost one pass over the features and are asked for before anything is solved: past an overflow some solvers return
NaN, others zeros, and LAPACK stops anywhere.

**Digits.** Rounding is simulated by a few random right-hand sides. A factorisation of ``A + alpha I`` rounds A by
about ``ε ρ √(a_ii a_jj)`` in entry (i, j), where ρ is the largest eigenvalue of A scaled to ones on its diagonal; a
spectrum rounds it by ε times the largest eigenvalue everywhere. So the solution x solves a system whose right-hand side
is off by g with

    ``g_i = ε ρ √a_ii ‖√diag(A) x‖ ξ_i / √s``,   ξ normal,

and is off itself by ``z = (A + alpha I)⁻¹ g``: a solution with the same factor, O(s²). What counts is not z but the
predictions: with a smooth kernel, z is large in directions that do not affect predictions. In the dual,
the differences of predictions are ``A x = b - alpha x``, and off by ``A z = g - alpha z``, both beside √a_ii; in the
primal their squares add up to ``xᵀ A x = xᵀ(b - alpha x)``, and ``zᵀ A z``. The ratio of the two, compared with sixty
digits, is the relative error of the predictions of training items, and of others like them, within a factor of a few.
Far from the training items predictions may be less exact.

Coefficients of basis items may be far larger than the predictions that they add up to: then the kernel's own rounding,
ε beside each of them, counts as well.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelrank.base.arrays import Float, Matrix, blocks, largest_value
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError, LostDigitsWarning
from kernelrank.features import Features

EPSILON = float(np.finfo(np.float64).eps)

MARGIN = 2.0
"""By how much an estimated error is made larger: estimates are seldom too small by more than that."""

SPECTRUM_GROWTH = {True: 4.0, False: 1.5}
"""A spectrum is less exact than a factorisation, in the primal above all, whose matrix has fewer errors of its own."""

TOLERATED = 1e-6
"""The relative error of predictions from which on there is a warning."""


def overflow_is_checked() -> np.errstate:
    """Return a context without warnings of overflow, for work whose results are checked."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def check_range(features: Features, graphs: Iterable[Comparisons]) -> None:
    """Raise an error for a problem whose numbers overflow.

    O(nnz) time, or one kernel for each item.
    """
    with overflow_is_checked():
        energy = features.energy()
    for graph in graphs:
        check_energy(energy, graph, features.items)


def equations_in_range(A: Float, b: Float, graph: Comparisons) -> bool:
    """Return whether normal equations, and the squares of the magnitudes, are far enough from an overflow.

    Their trace bounds the eigenvalues. Nothing has overflowed on the way to a trace of squares that is finite, so this
    is as good as `check_range` without its pass over the features.
    """
    with overflow_is_checked():
        sums = 2.0 * float(np.trace(A)) + float(np.abs(b).sum())
        magnitude = graph.largest_magnitude()
        return math.isfinite(sums) and math.isfinite(4.0 * magnitude * magnitude)


def check_energy(energy: float, graph: Comparisons, X: Matrix) -> None:
    """Raise an error for a graph on items X with a certain energy, ``Σ k(x, x)``, if their products overflow."""
    with overflow_is_checked():
        weight = float(np.max(graph.diagonal(), initial=0.0))
        magnitude = graph.largest_magnitude()
        length = math.sqrt(energy) if energy >= 0 else math.nan
        matrix, target = 2.0 * weight * energy, 2.0 * weight * magnitude * math.sqrt(graph.n_items) * length
        fits = math.isfinite(matrix) and math.isfinite(target)
        if fits and math.isfinite(4.0 * magnitude * magnitude):  # no difference is too large to be squared, either
            return
        overflow = graph.overflow()
    if overflow is not None:
        raise InvalidInputError(overflow)
    if fits:
        return
    (scores, given_scores), (weights, given_weights) = graph.given()
    # An overflow is the fault of what has overflowed already, or else of what is largest.
    largest = {weights: weight, scores: magnitude, "X": length / math.sqrt(max(1, graph.n_items))}
    culprit = max(largest, key=lambda name: largest[name] if math.isfinite(largest[name]) else math.inf)
    values = {weights: given_weights, scores: given_scores, "X": X}[culprit]
    raise _too_large(culprit, largest_value(values))


def check_finite(values: Float, name: str = "coefficients") -> None:
    """Raise an error for results that are not finite although the problem is."""
    with overflow_is_checked():
        total = values.sum()
    if not np.isfinite(total) and not np.all(np.isfinite(values)):
        raise InvalidInputError(
            f"the {name} overflow (limit 1.8e+308): y is too large or alpha too small. Divide y by a constant, "
            "or use a larger alpha"
        )


def _too_large(name: str, largest: float) -> InvalidInputError:
    """Return an error message: what is too large, and what to do."""
    size = f"values as large as {largest:.3g}" if math.isfinite(largest) else "values that are too large"
    return InvalidInputError(
        f"{name} has {size}: the sums of the fit overflow (limit 1.8e+308). Divide {name} by a constant"
    )


@dataclass(frozen=True)
class Rounding:
    """How a factorisation rounds a matrix.

    Shapes: root (s, 1).
    """

    root: Float
    growth: float
    primal: bool

    @classmethod
    def of_factor(cls, A: Float, *, primal: bool, summands: Float | None = None) -> Rounding:
        """Collect what the rounding estimate needs from a matrix that will be factorised: O(s²) time.

        Shapes: A (s, s), summands (s,).
        """
        diagonal = np.diagonal(A) if summands is None else np.maximum(np.diagonal(A), summands)
        if len(A) == 0 or diagonal.max() <= 0.0:
            return cls(np.zeros((len(A), 1)), 1.0, primal)
        # Entries of zero, or that rounding made negative, belong to items without pairs and constant columns.
        root = np.sqrt(np.maximum(diagonal, EPSILON**2 * diagonal.max()))
        # One step of the power iteration, from a column of the scaled matrix.
        first = int(np.argmax(diagonal))
        column = A[first] / (root * root[first])
        with np.errstate(over="ignore", invalid="ignore"):
            growth = float(np.linalg.norm(A @ (column / root) / root) / np.linalg.norm(column))
        return cls(root[:, None], max(growth, 1.0), primal)

    @classmethod
    def of_spectrum(cls, values: Float, *, primal: bool) -> Rounding:
        """Collect what the rounding estimate needs from eigenvalues in ascending order."""
        largest = float(values[-1]) if len(values) else 0.0
        return cls(np.full((len(values), 1), np.sqrt(largest)), SPECTRUM_GROWTH[primal], primal)

    def relative_error(
        self, solve: Callable[[Float], Float], x: Float, b: Float, alpha: float, sums: Float | float = 0.0
    ) -> float:
        """Estimate the relative error of predictions, the largest over the outputs.

        Shapes: x, b (s, outputs), sums (outputs,).
        """
        if self._largest_value <= alpha:
            return 0.0  # alpha is not small relative to A
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            sizes = EPSILON * self.growth * _lengths(self.root, x)
            rest = 4.0 * EPSILON * sums  # it enters the features, and the predictions once more
            spread = self._spread(x, b, alpha)
            bound = _largest((sizes * self._most(alpha) + rest) / spread)
            if bound <= TOLERATED:
                return bound
            g = self.root * np.random.default_rng(0).standard_normal((len(x), 4)) / np.sqrt(len(x))
            errors = sizes * np.sqrt(np.mean(self._spread(solve(g), g, alpha) ** 2)) + rest
            # Predictions that vary less than a thousandth of the scores count as if they varied so much.
            return _largest(errors / np.maximum(spread, 1e-3 * self._scores(b)))

    def _most(self, alpha: float) -> float:
        """Return the largest error that a probe can be expected to show, whatever the other eigenvalues are."""
        return self._length / math.sqrt(4.0 * alpha * len(self.root)) if self.primal else 1.0

    @cached_property
    def _largest_value(self) -> float:
        """A bound of the eigenvalues of A."""
        return self.growth * float(self.root.max(initial=0.0)) ** 2

    @cached_property
    def _length(self) -> float:
        """The length of the roots; one rounding serves many alphas."""
        return float(np.linalg.norm(self.root))

    def _spread(self, x: Float, b: Float, alpha: float) -> Float:
        """Return the size of ``A x = b - alpha x``, as predictions differ, for each column."""
        if self.primal:
            return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->j", x, b - alpha * x), 0.0)))
        return _lengths(1.0 / self.root, b, x, alpha)

    def _scores(self, b: Float) -> Float:
        """Return the size of what is to be predicted; unknown in the primal."""
        return np.zeros(b.shape[1]) if self.primal else _lengths(1.0 / self.root, b)


def _lengths(scale: Float, b: Float, x: Float | None = None, alpha: float = 0.0) -> Float:
    """Return the length of each column of ``b - alpha x``, scaled row by row; a few columns at a time, in the cache."""
    squares = np.empty(b.shape[1])
    for columns in blocks(b.shape[1], 8 * len(b)):
        part = scale * (b[:, columns] if x is None else b[:, columns] - alpha * x[:, columns])
        squares[columns] = np.einsum("ij,ij->j", part, part)
    return np.asarray(np.sqrt(squares))


def _largest(errors: Float) -> float:
    return MARGIN * float(np.fmax.reduce(errors, initial=0.0))  # NaN, zero over zero, does not count


def trusted_alpha(A: Float) -> float:
    """Return the smallest alpha at which a spectrum is as accurate as a Cholesky factorisation; mostly zero.

    Shapes: A (s, s).
    """
    diagonal = np.diagonal(A)
    positive = diagonal[diagonal > 0.0]
    # An entry that is 10,000 times the lower quartile stands far above the others.
    if len(positive) == 0 or positive.max() <= 1e4 * np.partition(positive, len(positive) // 4)[len(positive) // 4]:
        return 0.0
    return EPSILON * float(positive.max()) / 1e-9  # a spectrum will do where its rounding is this share of alpha


def spectral_error(values: Float, rotated: Float, alpha: float, *, primal: bool, sums: Float | float = 0.0) -> float:
    """Estimate the relative error of predictions from a spectrum, in the basis of its eigenvectors: O(s) time.

    values, rotated: Eigenvalues of A in ascending order, and the right-hand side.
    """
    shrink = 1.0 / (values + alpha)[:, None]
    rounding = Rounding.of_spectrum(values, primal=primal)
    return rounding.relative_error(lambda g: shrink * g, shrink * rotated, rotated, alpha, sums)


def spectral_errors(values: Float, rotated: Float, alphas: Float, *, primal: bool) -> Float:
    """Estimate the errors of many alphas; zero where a bound shows that there is nothing to report.

    The bound of `Rounding.relative_error` in products: ``b - alpha x = μ x``. O(s) time for each alpha and output.

    Shapes: alphas (n,); returns (n,).
    """
    largest, squares = float(values.max(initial=0.0)), rotated.T**2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = 1.0 / (values[:, None] + alphas)
        spread = squares @ (values[:, None] * x**2 if primal else (values[:, None] * x) ** 2 / largest)
        most = largest / (4.0 * alphas) if primal else np.ones(len(alphas))
        bounds = np.sqrt(largest * (squares @ x**2) * most / spread)
    growth = SPECTRUM_GROWTH[primal]
    certain = MARGIN * EPSILON * growth * bounds.max(axis=0, initial=0.0) <= TOLERATED
    errors = np.zeros(len(alphas))
    for number in np.flatnonzero(~certain & (growth * largest > alphas)):
        errors[number] = spectral_error(values, rotated, float(alphas[number]), primal=primal)
    return errors


_found: ContextVar[list[tuple[float, float]] | None] = ContextVar("found", default=None)
"""Errors that are told together, or None where each is told at once."""


def report_error(alpha: float, error: float, tolerated: float = TOLERATED) -> None:
    """Warn if predictions have fewer than about six digits: at once, or at the end of `one_warning`."""
    found = _found.get()
    if error <= tolerated:
        return
    if found is None:
        _warn([(alpha, error)], "predictions")
    else:
        found.append((float(alpha), error))


@contextmanager
def one_warning(what: str, *, shown: bool = True) -> Iterator[None]:
    """Collect the rounding errors that are reported inside, and give one warning at the end of the outermost block."""
    if _found.get() is not None and shown:
        yield
        return
    found: list[tuple[float, float]] = []
    token = _found.set(found)
    try:
        yield
    finally:
        _found.reset(token)
    if found and shown:
        _warn(found, what)


def _warn(found: list[tuple[float, float]], what: str) -> None:
    alphas = {alpha for alpha, _ in found}
    error = min(max(error for _, error in found), 1.0)
    which = f"alpha={max(alphas):g}" if len(alphas) == 1 else f"alphas up to {max(alphas):g}"
    warnings.warn(
        f"{what} with {which} have a relative error of about {error:.0e}: alpha is too small relative to the "
        "kernel for double precision. Use a larger alpha, or remove duplicate and nearly duplicate items or "
        "columns",
        LostDigitsWarning,
        stacklevel=3,
    )
