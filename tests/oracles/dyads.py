"""Dyads as they are written: the Kronecker kernel of all dyads, built and solved; two-step learning by two inverses."""

from __future__ import annotations

import numpy as np


def omega(query_weight: str, n: float) -> float:
    """``ω(n)``: the Laplacian of a query with n items is ``ω (I - 11ᵀ/n)``."""
    return {"pairs": n, "items": 1.0, "queries": 2.0 / (n - 1) if n > 1 else 0.0}[query_weight]


def root(rows: np.ndarray, columns: np.ndarray, ranked: str | None, query_weight: str) -> np.ndarray:
    """C with ``CᵀC`` the Laplacian over observations; the identity for regression."""
    if ranked is None:
        return np.eye(len(rows))
    C = np.zeros((len(rows), len(rows)))
    queries = rows if ranked == "columns" else columns
    for query in np.unique(queries):
        members = np.flatnonzero(queries == query)
        n = len(members)
        C[np.ix_(members, members)] = np.sqrt(omega(query_weight, n)) * (np.eye(n) - np.ones((n, n)) / n)
    return C


def kernel_between(
    K1: np.ndarray, K2: np.ndarray, first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray], sign=0
) -> np.ndarray:
    """``k((a, b), (c, d))`` for lists of dyads, plain or (skew-)symmetrised."""
    (a, b), (c, d) = first, second
    K = K1[np.ix_(a, c)] * K2[np.ix_(b, d)]
    return K if sign == 0 else 0.5 * (K + sign * K1[np.ix_(a, d)] * K2[np.ix_(b, c)])


def kronecker_scores(
    K1: np.ndarray,
    K2: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    y: np.ndarray,
    alpha: float,
    *,
    ranked: str | None = None,
    query_weight: str = "pairs",
    sign: int = 0,
) -> np.ndarray:
    """The scores of all dyads of kernels that may hold more objects than were observed, by one dense system."""
    C = root(rows, columns, ranked, query_weight)
    K = kernel_between(K1, K2, (rows, columns), (rows, columns), sign)
    coefficients = C.T @ np.linalg.solve(C @ K @ C.T + alpha * np.eye(len(rows)), C @ y)
    every = [grid.ravel() for grid in np.indices((len(K1), len(K2)))]
    scores = kernel_between(K1, K2, (every[0], every[1]), (rows, columns), sign) @ coefficients
    return scores.reshape(len(K1), len(K2), *y.shape[1:])


def two_step_scores(
    K1: np.ndarray, K2: np.ndarray, Y: np.ndarray, alpha1: float, alpha2: float, new1=None, new2=None
) -> np.ndarray:
    """``K₁ (K₁ + α₁I)⁻¹ Y (K₂ + α₂I)⁻¹ K₂``; NaN in Y is filled by the fixed point, found by one dense system."""
    H1 = K1 @ np.linalg.inv(K1 + alpha1 * np.eye(len(K1)))
    H2 = K2 @ np.linalg.inv(K2 + alpha2 * np.eye(len(K2)))
    filled = Y.ravel().copy()
    unknown = np.isnan(filled)
    if unknown.any():
        H = np.kron(H1, H2)
        known_part = H[np.ix_(unknown, ~unknown)] @ filled[~unknown]
        filled[unknown] = np.linalg.solve(np.eye(unknown.sum()) - H[np.ix_(unknown, unknown)], known_part)
    left = np.linalg.solve(K1 + alpha1 * np.eye(len(K1)), (K1 if new1 is None else new1).T).T
    right = np.linalg.solve(K2 + alpha2 * np.eye(len(K2)), (K2 if new2 is None else new2).T).T
    return left @ filled.reshape(Y.shape) @ right.T
