from __future__ import annotations

import numpy as np
import pytest

from kernelrank.estimators import RankRLS
from tests.oracles.digits import gaussian_rank_rls
from tests.oracles.pairs import centred


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "conjugate_gradient"])
@pytest.mark.parametrize("alpha", [1e-6, 2.0**-15, 1.0, 2.0**15])
def test_duplicated_rows_agree_with_fifty_digits(solver, alpha):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((8, 3))[[0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 2, 3]]
    y = rng.standard_normal(len(X))
    qid = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 2, 2]
    expected = centred(gaussian_rank_rls(X, y, qid, alpha, 0.5), qid)
    model = RankRLS(alpha, kernel="rbf", gamma=0.5, solver=solver, tol=1e-13).fit(X, y, qid=qid)
    found = centred(model.predict(X), qid)
    limit = 1e-6 if alpha == 1e-6 else 1e-8
    assert np.abs(found - expected).max() <= limit * np.abs(expected).max()
