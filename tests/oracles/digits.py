"""RankRLS in fifty digits: the kernel, the Laplacian and the solution, all in multiple precision."""

from __future__ import annotations

import mpmath
import numpy as np


def gaussian_rank_rls(X, y, qid, alpha, gamma, digits=50) -> np.ndarray:
    """Return the training scores ``K (L K + alpha I)⁻¹ L y`` with all pairs of a query, rounded at the very end."""
    with mpmath.workdps(digits):
        m = len(y)
        exact = [[mpmath.mpf(float(v)) for v in row] for row in X]
        K = mpmath.matrix(m, m)
        L = mpmath.matrix(m, m)
        for i in range(m):
            for j in range(m):
                squared = sum((a - b) ** 2 for a, b in zip(exact[i], exact[j], strict=True))
                K[i, j] = mpmath.exp(-mpmath.mpf(gamma) * squared)
                if i != j and qid[i] == qid[j]:
                    L[i, j] -= 1
                    L[i, i] += 1
        right = L * mpmath.matrix([mpmath.mpf(float(v)) for v in y])
        system = L * K
        for i in range(m):
            system[i, i] += mpmath.mpf(alpha)
        scores = K * mpmath.lu_solve(system, right)
        return np.array([float(v) for v in scores])


def gaussian_reduced_set(X, y, qid, alpha, gamma, basis, digits=60) -> np.ndarray:
    """Return the training scores ``K_MR (K_RM L K_MR + alpha K_RR)⁻¹ K_RM L y`` for a basis R without duplicates."""
    with mpmath.workdps(digits):
        m, r = len(y), len(basis)
        exact = [[mpmath.mpf(float(v)) for v in row] for row in X]
        K, L = mpmath.matrix(m, r), mpmath.matrix(m, m)
        for i in range(m):
            for j, item in enumerate(basis):
                squared = sum((a - b) ** 2 for a, b in zip(exact[i], exact[item], strict=True))
                K[i, j] = mpmath.exp(-mpmath.mpf(gamma) * squared)
            for j in range(m):
                if i != j and qid[i] == qid[j]:
                    L[i, j] -= 1
                    L[i, i] += 1
        system = K.T * (L * K)
        for i in range(r):
            for j in range(r):
                system[i, j] += mpmath.mpf(alpha) * K[int(basis[i]), j]
        right = K.T * (L * mpmath.matrix([mpmath.mpf(float(v)) for v in y]))
        return np.array([float(v) for v in K * mpmath.lu_solve(system, right)])
