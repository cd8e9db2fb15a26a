"""The range of numbers: a problem whose sums leave double precision is refused, and what is too large is named.

The solvers meet ``Φᵀ L Φ`` or ``C K Cᵀ`` and ``Φᵀ M N``. With the energy ``E = Σ k(x_i, x_i)``, the largest degree d of
the graph and the largest magnitude t, none of their entries is above ``2 d E`` and ``2 d t √(m E)``. These bounds cost
one pass over the features and are asked for before anything is solved: past an overflow some solvers return NaN,
others zeros, and LAPACK stops anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from kernelrank.arrays import Float, Matrix, largest_value
from kernelrank.comparisons import Comparisons
from kernelrank.errors import InvalidInputError
from kernelrank.features import Features

__all__ = ["check_energy", "check_finite", "check_range", "overflow_is_checked"]


def overflow_is_checked() -> np.errstate:
    """Return a context without warnings of overflow, for work whose results are checked."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def check_range(features: Features, graphs: Iterable[Comparisons]) -> None:
    """Raise an error for a problem whose numbers overflow.

    Parameters
    ----------
    features : Features
    graphs : iterable of Comparisons

    Notes
    -----
    O(nnz) time, or one kernel for each item.

    Examples
    --------
    >>> from kernelrank.comparisons import ItemScores
    >>> from kernelrank.features import ExplicitFeatures
    >>> check_range(ExplicitFeatures(np.array([[1e200], [1.0]])), [ItemScores(np.ones((2, 1)))])
    Traceback (most recent call last):
    kernelrank.errors.InvalidInputError: X has values as large as 1e+200: ...
    """
    with overflow_is_checked():
        energy = features.energy()
    for graph in graphs:
        check_energy(energy, graph, features.items)


def check_energy(energy: float, graph: Comparisons, X: Matrix) -> None:
    """Raise an error for a graph on items X with a certain energy, ``Σ k(x, x)``, if their products overflow."""
    with overflow_is_checked():
        weight = float(np.max(graph.diagonal(), initial=0.0))
        magnitude = graph.largest_magnitude()
        length = math.sqrt(energy) if energy >= 0 else math.nan
        matrix, target = 2.0 * weight * energy, 2.0 * weight * magnitude * math.sqrt(graph.n_items) * length
        overflow = graph.overflow()
    if overflow is not None:
        raise InvalidInputError(overflow)
    if math.isfinite(matrix) and math.isfinite(target):
        return
    (scores, given_scores), (weights, given_weights) = graph.given()
    # An overflow is the fault of what has overflowed already, or else of what is largest.
    largest = {weights: weight, scores: magnitude, "X": length / math.sqrt(max(1, graph.n_items))}
    culprit = max(largest, key=lambda name: largest[name] if math.isfinite(largest[name]) else math.inf)
    values = {weights: given_weights, scores: given_scores, "X": X}[culprit]
    raise _error(culprit, largest_value(values))


def check_finite(values: Float, name: str = "coefficients") -> None:
    """Raise an error for results that are not finite although the problem is."""
    with overflow_is_checked():
        total = values.sum()
    if not np.isfinite(total) and not np.all(np.isfinite(values)):
        raise InvalidInputError(
            f"the {name} overflow (limit 1.8e+308): y is too large or alpha too small. Divide y by a constant, "
            "or use a larger alpha"
        )


def _error(name: str, largest: float) -> InvalidInputError:
    """Say what is too large, and what to do."""
    size = f"values as large as {largest:.3g}" if math.isfinite(largest) else "values that are too large"
    return InvalidInputError(
        f"{name} has {size}: the sums of the fit overflow (limit 1.8e+308). Divide {name} by a constant"
    )
