"""The compiled loop and NumPy give the same fingerprints, whatever holds the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.estimators import streams
from kernelrank.estimators.streams import query_fingerprints


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, np.float32])
def test_the_compiled_loop_agrees_with_numpy(form, monkeypatch):
    rng = np.random.default_rng(0)
    X = form(rng.integers(-3, 3, size=(60, 4)) / 4.0)
    X[::7] = -0.0
    y, weight = rng.normal(size=(60, 2)), rng.uniform(size=60)
    queries = Queries.from_labels(rng.integers(5, size=60), 60)
    found = []
    for limit in (0, 10**9):
        monkeypatch.setattr(streams, "COMPILED", limit)
        found.append(query_fingerprints(X, y, weight, queries))
    assert found[0] == found[1]
    assert len(set(found[0])) == 5
    X[0] = 0.0  # a zero has no sign here
    assert query_fingerprints(X, y, weight, queries) == found[0]
