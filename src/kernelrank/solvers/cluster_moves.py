"""Moves between clusters: what a move costs, in O(1) or O(r), and the compiled loops that make them.

The labels of m items are a matrix Y (m × k) of zeros and ones, one column for each cluster. What they cost is what a
kernel RLS leaves of them [GPK09]_:

    ``J(Y) = min over f of Σ_c ‖y_c - f_c‖² + λ‖f_c‖² = tr(Yᵀ Q Y)``, ``Q = λ(K + λI)⁻¹``.

With ``F = Q Y``, item i that moves from cluster p to q changes J by ``2(Q_ii - F_ip + F_iq)``. Items i of p and j of q
that change places change it by the sum of their moves and ``-4 Q_ij``. For two clusters with labels of ±1,
``λ yᵀ(K + λI)⁻¹y = 2 J(Y) - 1ᵀQ1``: the same minimum, and every change twice as large.

* **Dense**: Q and F are kept. A move is tried in O(1), and made in O(m): two columns of F change.
* **Columns**: with features Φ (m × r), ``Q = I - ΨΨᵀ``, ``ΨᵀΨ = Φᵀ Φ(ΦᵀΦ + λI)⁻¹``, and ``F = Y - ΨV``, ``V = ΨᵀY``. A
  move costs ``2(ψ_iᵀv_p - ψ_iᵀv_q - ‖ψ_i‖²)``: O(r k) to try, and O(r) to make.

A cluster never falls below `least` items. Each loop is one sweep over some items and returns how many moves it made. A
move must lower J by more than `threshold`, so that rounding cannot make the search go round in circles.
"""

from __future__ import annotations

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled

__all__ = ["move_by_columns", "move_items", "swap_by_columns", "swap_items"]


@compiled
def move_items(Q: Float, F: Float, labels: Index, sizes: Index, order: Index, least: int, threshold: float) -> int:
    """Move each item to the cluster that lowers the cost most; F is ``(Q Y)ᵀ`` (k × m)."""
    moves = 0
    for i in order:
        p = labels[i]
        if sizes[p] <= least:
            continue
        q = p
        for c in range(len(sizes)):
            if c != p and (q == p or F[c, i] < F[q, i]):
                q = c
        if q == p or 2.0 * (Q[i, i] - F[p, i] + F[q, i]) >= -threshold:
            continue
        F[p] -= Q[i]
        F[q] += Q[i]
        labels[i] = q
        sizes[p] -= 1
        sizes[q] += 1
        moves += 1
    return moves


@compiled
def swap_items(Q: Float, F: Float, labels: Index, order: Index, threshold: float) -> int:
    """Swap the clusters of each item and the item that lowers the cost most; F is ``(Q Y)ᵀ`` (k × m)."""
    moves = 0
    for i in order:
        p = labels[i]
        best, other = -threshold, -1
        for j in order:
            q = labels[j]
            if q == p:
                continue
            change = 2.0 * (Q[i, i] - F[p, i] + F[q, i] + Q[j, j] - F[q, j] + F[p, j]) - 4.0 * Q[i, j]
            if change < best:
                best, other = change, j
        if other >= 0:
            q = labels[other]
            F[p] += Q[other] - Q[i]
            F[q] += Q[i] - Q[other]
            labels[i], labels[other] = q, p
            moves += 1
    return moves


@compiled
def move_by_columns(
    Psi: Float, V: Float, labels: Index, sizes: Index, order: Index, least: int, threshold: float
) -> int:
    """Move each item to the cluster that lowers the cost most; V is ``(ΨᵀY)ᵀ`` (k × r)."""
    moves = 0
    for i in order:
        p = labels[i]
        if sizes[p] <= least:
            continue
        psi = Psi[i]
        scores = np.dot(V, psi)
        q = p
        for c in range(len(sizes)):
            if c != p and (q == p or scores[c] > scores[q]):
                q = c
        if q == p or 2.0 * (scores[p] - scores[q] - np.dot(psi, psi)) >= -threshold:
            continue
        V[p] -= psi
        V[q] += psi
        labels[i] = q
        sizes[p] -= 1
        sizes[q] += 1
        moves += 1
    return moves


@compiled
def swap_by_columns(
    Psi: Float, V: Float, labels: Index, first: Index, second: Index, patience: int, threshold: float
) -> int:
    """Swap the clusters of the items of two lists, one by one, where that lowers the cost.

    The lists hold the items of two clusters, those that would gain most in front. The loop ends after `patience` pairs
    in a row that stay. V is ``(ΨᵀY)ᵀ`` (k × r).
    """
    moves, failures = 0, 0
    for place in range(min(len(first), len(second))):
        i, j = first[place], second[place]
        p, q = labels[i], labels[j]
        d = Psi[i] - Psi[j]
        if 2.0 * np.dot(d, V[p] - V[q] - d) < -threshold:
            V[p] -= d
            V[q] += d
            labels[i], labels[j] = q, p
            moves += 1
            failures = 0
        else:
            failures += 1
            if failures == patience:
                break
    return moves
