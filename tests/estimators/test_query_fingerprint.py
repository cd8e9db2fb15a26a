"""Fingerprints are the same, whatever holds the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kernelrank.base.labels import Queries
from kernelrank.estimators.streams import query_fingerprints


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, np.float32])
def test_zeros_have_no_sign(form):
    rng = np.random.default_rng(0)
    X = form(rng.integers(-3, 3, size=(60, 4)) / 4.0)
    X[::7] = -0.0
    y, weight = rng.normal(size=(60, 2)), rng.uniform(size=60)
    queries = Queries.from_labels(rng.integers(5, size=60), 60)
    found = query_fingerprints(X, y, weight, queries)
    assert found == query_fingerprints(np.asarray(X, dtype=np.float64, order="C"), y, weight, queries)
    assert len(set(found)) == 5
    X[0] = 0.0  # a zero has no sign here
    assert query_fingerprints(X, y, weight, queries) == found
