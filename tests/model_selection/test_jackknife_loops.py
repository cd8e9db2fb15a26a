"""The compiled loop over triples counts as NumPy does, which the tests of `estimate_auc` compare with refits."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.compiled import CompilingPays
from kernelrank.model_selection.jackknife_loops import wins_without_each


@pytest.mark.parametrize("m", [2, 9, 60])
@pytest.mark.parametrize("n_positive", [1, "half"])
@pytest.mark.parametrize("choosing", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_both_ways_count_the_same(monkeypatch, m, n_positive, choosing, sign):
    rng = np.random.default_rng(m)
    n_positive = m // 2 if n_positive == "half" else n_positive
    A = rng.normal(size=(m, m))
    Gamma, y = A @ A.T + np.eye(m), np.where(np.arange(m) < n_positive, 1.0, -1.0)
    duplicate_of = np.where(rng.random(m) < 0.2, rng.integers(0, 3, m), -1)
    chosen = rng.integers(0, 2, (m, m, m) if choosing else (m, 0, 0)).astype(np.int16)
    found = []
    for least in (-1, 10**12):
        monkeypatch.setattr("kernelrank.model_selection.jackknife_loops.COMPILED", CompilingPays(least, least))
        found.append(wins_without_each(Gamma, Gamma @ y, y, duplicate_of, n_positive, sign, chosen, 1))
    np.testing.assert_array_equal(*found)
    assert m == 2 or found[0].max() > 0
