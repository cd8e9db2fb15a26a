"""Reduced sets with the held-out basis items removed: a constraint and a small system for each set.

In the features ``Φ = K_MR U⁻¹``, ``Uᵀ U = K_RR``, the model is ``w = (Φᵀ L Φ + λ I)⁻¹ Φᵀ M N`` and the coefficients of
the basis items are ``b = U⁻¹ w``. Train without the items of a set S, whose basis items are H. As long as L has no
entry between S and the rest,

* without the items, ``Φᵀ L Φ`` loses ``Φ_Sᵀ L_SS Φ_S`` and the right-hand side ``c = Φᵀ M N`` loses ``Φ_Sᵀ (M N)_S``;
* without the basis items, ``b_H = 0``, that is ``B_Hᵀ w = 0`` with the rows H of ``U⁻¹`` as columns of ``B_H``.

With ``P = (Φᵀ L Φ + λ I)⁻¹`` and a multiplier ν for the constraint, ``w = P (c_S + Φ_Sᵀ L_SS f - B_H ν)``, where
``f = Φ_S w`` are the held-out scores themselves. So they solve a system of size |S| + |H|:

    ``[I - F L_SS, E; Eᵀ L_SS, -N] [f; ν] = [Φ_S P c_S; -B_Hᵀ P c_S]``

with ``F = Φ_S P Φ_Sᵀ``, ``E = Φ_S P B_H`` and ``N = B_Hᵀ P B_H``. In the eigenvectors V of ``Φᵀ L Φ`` all of these are
products of short rows of ``Φ V`` and ``U⁻¹ V`` with ``1 / (μ + λ)`` between them: one more m r² product serves every
set and every λ, whereas refitting costs a training for each.

If the basis is singular, a remaining item may span the direction of a removed one, so that less is lost than ``b_H =
0`` implies: the columns of ``B_H`` are then the directions that the basis no longer spans without H
(`KernelMap.lost_directions`).

Keeping the basis items (``held_out_basis="keep"``, the approximation of [CT04]_) drops the constraint. It is slightly
cheaper, and pessimistic if λ is small: the training data do not constrain the coefficient of a held-out basis item, so
the model errs where it is tested.

.. [CT04] Cawley and Talbot (2004). Fast exact leave-one-out cross-validation of sparse least-squares support vector
   machines. Neural Networks 17(10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from kernelrank.base.arrays import Float, Index, block_rows
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons import Comparisons
from kernelrank.features import ReducedSet
from kernelrank.solvers.direct import spectrum
from kernelrank.solvers.precision import report_error, spectral_error


def leave_basis_out(
    features: ReducedSet,
    graph: Comparisons,
    sets: ItemSets,
    alphas: Float,
    *,
    keep_basis: bool = False,
    spectra: dict[Any, Any] | None = None,
) -> tuple[Float, NDArray[np.bool_]]:
    """Return the scores of each set by the model trained without its items and without its basis items.

    O(m r² + r³) time once, as training for all alphas, and m r² for ``Φ V``; then O((u + h)² r) for a set of u items
    with h basis items and each alpha.

    Shapes: alphas (n,); returns scores (total, outputs, n), returns untrusted (sets,).

    sets: L must have no entry between a set and the rest: unions of whole queries, or any sets for `ItemScores`.
    """
    if spectra is None or "basis" not in spectra:
        # The features themselves are needed below, and without some of the basis every digit of them counts.
        gram, right = features.gram(graph), features.transpose_multiply(graph.target())
        found = (right, *spectrum(gram, np.inf))
        if spectra is not None:
            spectra["basis"] = found
    else:
        found = spectra["basis"]
    right, values, vectors = found
    rotated, target = vectors.T @ right, graph.target()
    constraints = solve_triangular(features.map.U, vectors, check_finite=False)  # (r, r): rows of U⁻¹ V
    places = BasisPlaces.of(features, graph.n_items)
    scores = np.zeros((len(sets.items), target.shape[1], len(alphas)))
    untrusted = np.zeros(len(sets), dtype=bool)
    for alpha in alphas:
        w = vectors @ (rotated / (values + alpha)[:, None])
        error = spectral_error(values, rotated, float(alpha), primal=True, sums=features.coefficient_sums(graph, w))
        report_error(float(alpha), error)
    rounding = 1e4 * float(np.finfo(np.float64).eps)
    for first, last in _batches(sets, block_rows(features.map.rank)):
        start = int(sets.bounds[first])
        rows = features.rows(sets.items[start : sets.bounds[last]]) @ vectors
        for number in range(first, last):
            place = slice(int(sets.bounds[number]), int(sets.bounds[number + 1]))
            items = sets.items[place]
            Psi = rows[place.start - start : place.stop - start]
            held = places.columns(items) if not keep_basis else np.zeros(0, dtype=np.int64)
            directions = features.map.lost_directions(held, places.left(items), constraints[held])
            if directions is None:
                untrusted[number] = True
                continue
            system = _SetSystem(Psi, directions, graph.submatrix(items))
            c = rotated - Psi.T @ target[items]
            for k, alpha in enumerate(alphas):
                scores[place, :, k], reciprocal = system.solve(1.0 / (values + alpha), c)
                # A reciprocal condition number of a set's system that is always trusted. Below it, a set is trusted as
                # long as ten thousand times the rounding of training, ε (1 + μ_max / λ), is smaller still; other sets
                # are to be refitted.
                untrusted[number] |= reciprocal <= min(1e-4, rounding * (1.0 + values[-1] / alpha))
    return scores, untrusted


@dataclass(frozen=True)
class BasisPlaces:
    """The positions of items in a basis.

    Parameters
    ----------
    column_of, left_of : ndarray of int64, shape (m,)
        For each item its column in the features, and its place among the basis items that have none; or -1.
    """

    column_of: Index
    left_of: Index

    @classmethod
    def of(cls, features: ReducedSet, n_items: int) -> BasisPlaces:
        """Locate the basis items among the training items."""
        column_of, left_of = np.full((2, n_items), -1, dtype=np.int64)
        column_of[features.basis[features.map.taken]] = np.arange(features.map.rank)
        left_of[features.basis[features.map.left]] = np.arange(len(features.map.left))
        return cls(column_of, left_of)

    def columns(self, items: Index) -> Index:
        """Return the columns of those of some items that have one."""
        places = self.column_of[items]
        return places[places >= 0]

    def left(self, items: Index) -> Index:
        """Return the places of those of some items that are in the basis without a column."""
        places = self.left_of[items]
        return places[places >= 0]


def _batches(sets: ItemSets, size: int) -> list[tuple[int, int]]:
    """Cut the sets into runs of about `size` items."""
    stops = np.searchsorted(sets.bounds, np.arange(size, sets.bounds[-1] + size, size), side="right") - 1
    stops = np.unique(np.append(np.maximum(stops, 1), len(sets)))
    return list(zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True))


class _SetSystem:
    """The system of one set: rows of ``Φ_S V`` and of the constraints, and the Laplacian of the set."""

    def __init__(self, Psi: Float, constraints: Float, L: Float) -> None:
        self.size = len(Psi)
        self.rows = np.concatenate([Psi, constraints])
        self.L = L

    def solve(self, weight: Float, c: Float) -> tuple[Float, float]:
        """Return the held-out scores for ``1 / (μ + λ)``, and the reciprocal condition number of their system."""
        scaled = self.rows * weight
        products, right = scaled @ self.rows.T, scaled @ c
        u = self.size
        system = np.empty_like(products)
        system[:u, :u] = np.eye(u) - products[:u, :u] @ self.L
        system[:u, u:] = products[:u, u:]
        system[u:, :u] = products[u:, :u] @ self.L
        system[u:, u:] = -products[u:, u:]
        right[u:] *= -1.0
        # Constraints are as large as the basis is ill-conditioned; their rows and columns are made comparable.
        root = np.ones(len(system))
        root[u:] = 1.0 / np.sqrt(np.maximum(np.diagonal(products)[u:], np.finfo(np.float64).tiny))
        system *= root[:, None] * root
        norm = np.abs(system).sum(axis=0).max()
        factors, pivots, info = lapack.dgetrf(system, overwrite_a=1)
        if info != 0:
            return np.zeros((u, c.shape[1])), 0.0
        reciprocal, _ = lapack.dgecon(factors, norm)
        solution, _ = lapack.dgetrs(factors, pivots, right * root[:, None])
        return solution[:u], float(reciprocal)
