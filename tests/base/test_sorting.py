"""Sorting against NumPy, on scores that are hard to tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base import compiled
from kernelrank.base.compiled import sort_queries

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 31, 33, 1024, 1025, 5000])
@pytest.mark.parametrize(
    "scores",
    [
        lambda m: RNG.standard_normal(m),
        lambda m: RNG.integers(3, size=m).astype(float),
        lambda m: np.full(m, 2.5),
        lambda m: 1e9 + RNG.standard_normal(m) * 1e-6,
        lambda m: np.append(RNG.standard_normal(m - 1), 1e15),
        lambda m: np.append(RNG.standard_normal(m - 1), -1e300),
        lambda m: RNG.uniform(-1, 1, m) * 1.7e308,
        lambda m: RNG.standard_normal(m) * 1e-310,
        lambda m: np.arange(m, 0.0, -1.0),
    ],
)
@pytest.mark.parametrize("compiled_from", [0, compiled.COMPILED])
def test_each_query_is_in_order(monkeypatch, scores, size, compiled_from):
    monkeypatch.setattr(compiled, "COMPILED", compiled_from)
    f = np.concatenate([scores(size) for _ in range(3)])
    bounds = np.array([0, size, 2 * size, 3 * size])
    order = sort_queries(f, bounds)
    for start in bounds[:-1]:
        part = order[start : start + size]
        np.testing.assert_array_equal(np.sort(part), np.arange(start, start + size))
        np.testing.assert_array_equal(f[part], np.sort(f[start : start + size]))
