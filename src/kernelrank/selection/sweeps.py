"""One sweep over the columns: add or remove the last feature, and compute the error with every candidate column.

Items are rows, so that the columns of a block stand side by side. Each column sees the same operations in the same
order wherever it stands: duplicates have the same error to the last bit.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kernelrank.base.arrays import Float, Index
from kernelrank.base.compiled import compiled

WIDTH = 128
"""How many columns are worked on at once, so that what belongs to them stays in the cache."""

LANES = 16
"""The same for pairs, for which more is kept of each column."""


@compiled
def column_products(U: NDArray[Any], z: Float, first: int, last: int, products: Float) -> None:
    """Store ``Σ_i z_i U_ij`` for the columns j from `first` to `last`."""
    for start in range(first, last, WIDTH):
        size = min(WIDTH, last - start)
        total = products[start : start + size]
        for j in range(size):
            total[j] = 0.0
        for i in range(len(z)):
            u, z_i = U[i, start : start + size], z[i]
            for j in range(size):
                total[j] += z_i * u[j]


@compiled
def sweep_queries(
    U: NDArray[Any],
    W: NDArray[Any],
    bounds: Index,
    first: int,
    last: int,
    tau: Float,
    h: Float,
    y: Float,
    b: Float,
    c: Float,
    d: Float,
    g: Float,
    errors: Float,
    scratch: Float,
) -> None:
    """Change U and W by the last feature, and store the error of each column over all queries held out.

    Shapes: U, W (m, n), bounds (n_queries + 1,), tau (n,), h, y, b (m,), c (outputs, m), d (n,), g (outputs, n), errors
    (n,), scratch (3, WIDTH).
    """
    outputs = len(c)
    factor, overlap, weight = scratch[0], scratch[1], scratch[2]
    for start in range(first, last, WIDTH):
        size = min(WIDTH, last - start)
        stop = start + size
        t, error = tau[start:stop], errors[start:stop]
        for j in range(size):
            error[j] = 0.0
        for q in range(len(bounds) - 1):
            for j in range(size):
                factor[j] = t[j]
                overlap[j] = d[start + j]
            for i in range(bounds[q], bounds[q + 1]):
                w, y_i = W[i, start:stop], y[i]
                for j in range(size):
                    factor[j] -= y_i * w[j]
            for i in range(bounds[q], bounds[q + 1]):
                u, w, h_i, b_i = U[i, start:stop], W[i, start:stop], h[i], b[i]
                for j in range(size):
                    u[j] -= h_i * t[j]
                for j in range(size):
                    w[j] -= b_i * factor[j]
                for j in range(size):
                    overlap[j] -= u[j] * w[j]
            for k in range(outputs):
                for j in range(size):
                    weight[j] = g[k, start + j]
                for i in range(bounds[q], bounds[q + 1]):
                    u, c_i = U[i, start:stop], c[k, i]
                    for j in range(size):
                        weight[j] -= c_i * u[j]
                for j in range(size):
                    weight[j] /= overlap[j]
                for i in range(bounds[q], bounds[q + 1]):
                    w, c_i = W[i, start:stop], c[k, i]
                    for j in range(size):
                        residual = c_i - w[j] * weight[j]
                        error[j] += residual * residual


@compiled
def sweep_items(
    U: NDArray[Any],
    first: int,
    last: int,
    tau: Float,
    h: Float,
    gamma: Float,
    weight: Float,
    e: Float,
    d: Float,
    g: Float,
    errors: Float,
    scratch: Float,
) -> None:
    """Change U by the last feature, and store the error of each column over all items held out one by one.

    Shapes: U (m, n), tau (n,), h (m,), gamma, weight (m,), e (outputs, m), d (n,), g (outputs, n), errors (n,), scratch
    (2, WIDTH).

    gamma, weight: The diagonal of Γ, and what the squared error of each item weighs.
    """
    inverse, ratio = scratch[0], scratch[1]
    for start in range(first, last, WIDTH):
        size = min(WIDTH, last - start)
        stop = start + size
        t, error = tau[start:stop], errors[start:stop]
        for j in range(size):
            error[j] = 0.0
            inverse[j] = 1.0 / d[start + j]
        for k in range(len(e)):
            for j in range(size):
                ratio[j] = g[k, start + j] / d[start + j]
            for i in range(len(h)):
                u, h_i, gamma_i, e_i, weight_i = U[i, start:stop], h[i], gamma[i], e[k, i], weight[i]
                if k == 0:
                    for j in range(size):
                        u[j] -= h_i * t[j]
                for j in range(size):
                    residual = (e_i - ratio[j] * u[j]) / (gamma_i - inverse[j] * u[j] * u[j])
                    error[j] += weight_i * residual * residual


@compiled
def sweep_pairs(
    U: NDArray[Any],
    first: int,
    last: int,
    tau: Float,
    h: Float,
    Gamma: Float,
    begin: Index,
    weight: Float,
    e: Float,
    d: Float,
    g: Float,
    errors: Float,
    block: Float,
    scratch: Float,
) -> None:
    """Change U by the last feature, and store the error of each column over all pairs held out.

    Shapes: U (m, n), tau (n,), h (m,), Gamma (m, m), begin (m,), weight (m,), e (outputs, m), d (n,), g (outputs, n),
    errors (n,), block (m, 4, LANES), scratch (2, LANES).

    weight: The squared error of the pair (i, j) weighs ``weight_i weight_j``.
    """
    m, error, partial = len(h), scratch[0], scratch[1]
    for start in range(first, last, LANES):
        size = min(LANES, last - start)
        for i in range(m):
            for j in range(size):
                U[i, start + j] -= h[i] * tau[start + j]
                u = U[i, start + j]
                block[i, 0, j], block[i, 1, j] = u, u / d[start + j]
                block[i, 2, j] = Gamma[i, i] - u * u / d[start + j]
            for j in range(size, LANES):
                block[i, 2, j] = 2.0  # no column: nothing is divided by zero
        for j in range(LANES):
            error[j] = 0.0
        for k in range(len(e)):
            for i in range(m):
                for j in range(size):
                    block[i, 3, j] = e[k, i] - block[i, 1, j] * g[k, start + j]
            for i in range(m):
                at_i = block[i]
                for j in range(LANES):
                    partial[j] = 0.0
                for p in range(begin[i], i):
                    at_p, gamma, w = block[p], Gamma[i, p], weight[p]
                    for j in range(LANES):
                        x = gamma - at_i[1, j] * at_p[0, j]
                        missed = (at_p[2, j] + x) * at_i[3, j] - (x + at_i[2, j]) * at_p[3, j]
                        difference = missed / (at_i[2, j] * at_p[2, j] - x * x)
                        partial[j] += w * difference * difference
                for j in range(LANES):
                    error[j] += weight[i] * partial[j]
        for j in range(size):
            errors[start + j] = error[j]


@compiled
def sweep_weighted_pairs(
    Z: NDArray[Any],
    first: int,
    last: int,
    Y: Float,
    values: Float,
    cross: Float,
    right: Float,
    ridge: Float,
    root: Float,
    share: float,
    weight: Float,
    target: Float,
    d: Float,
    g: Float,
    errors: Float,
    scratch: Float,
) -> None:
    """Store the error of each column over all pairs held out, where each pair has a λ' of its own.

    Shapes: Z (m, n), Y (m, k), values (k,), cross (k, n), right (outputs, k), ridge (m, m), root, weight (m,), target
    (outputs, m), d (n,), g (outputs, n), errors (n,), scratch (4, LANES).

    root, weight: Roots of the item weights; the squared error of the pair (i, p) weighs ``weight_i weight_p``.
    """
    m, k = Y.shape
    at_i, at_p, denominator, numerator = scratch[0], scratch[1], scratch[2], scratch[3]
    for start in range(first, last, LANES):
        size = min(LANES, last - start)
        for j in range(size):
            errors[start + j] = 0.0
        for output in range(len(target)):
            for i in range(m):
                for p in range(i):
                    own, other = 1.0 - share * root[i] * root[i], 1.0 - share * root[p] * root[p]
                    x, e_i, e_p = -share * root[i] * root[p], target[output, i], target[output, p]
                    for j in range(size):
                        at_i[j], at_p[j] = Z[i, start + j], Z[p, start + j]
                        denominator[j], numerator[j] = ridge[i, p] + d[start + j], g[output, start + j]
                    for a in range(k):
                        f = 1.0 / (values[a] + ridge[i, p])
                        y_i, y_p, b = f * Y[i, a], f * Y[p, a], f * right[output, a]
                        own -= y_i * Y[i, a]
                        other -= y_p * Y[p, a]
                        x -= y_i * Y[p, a]
                        e_i -= b * Y[i, a]
                        e_p -= b * Y[p, a]
                        for j in range(size):
                            c = cross[a, start + j]
                            at_i[j] -= y_i * c
                            at_p[j] -= y_p * c
                            denominator[j] -= f * c * c
                            numerator[j] -= b * c
                    for j in range(size):
                        u, v = at_i[j], at_p[j]
                        ratio = numerator[j] / denominator[j]
                        gamma_i, gamma_p = own - u * u / denominator[j], other - v * v / denominator[j]
                        gamma = x - u * v / denominator[j]
                        missed = (gamma_p / root[i] + gamma / root[p]) * (e_i - ratio * u)
                        missed -= (gamma / root[i] + gamma_i / root[p]) * (e_p - ratio * v)
                        difference = missed / (gamma_i * gamma_p - gamma * gamma)
                        errors[start + j] += weight[i] * weight[p] * difference * difference
