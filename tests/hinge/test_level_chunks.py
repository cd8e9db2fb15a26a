"""Levels cut into chunks: the sums are those of the uncut sweeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelrank.base.labels import Queries
from kernelrank.hinge import pairs
from kernelrank.hinge.pairs import ScoredPairs
from kernelrank.hinge.sweeps import LevelChunks, sums_above, sums_below


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    n_levels=st.integers(1, 70),
    bits=st.integers(0, 6),
    low=st.sampled_from([-np.inf, -0.5, 0.25]),
)
def test_sums_are_those_of_uncut_sweeps(seed, sizes, n_levels, bits, low):
    rng = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    f = np.concatenate([np.sort(rng.normal(size=n)) for n in sizes])
    ranks = [np.unique(rng.integers(0, n_levels, n), return_inverse=True) for n in sizes]
    levels = np.concatenate([inverse for _, inverse in ranks]).astype(np.int32)
    counts = np.array([len(values) for values, _ in ranks])
    values = rng.integers(-5, 5, len(f))
    chunks = LevelChunks(f, levels, bounds, counts, bits=bits)
    for cut, sweep in zip(chunks.sums(values, values, low, 1.0), (sums_below, sums_above), strict=True):
        np.testing.assert_array_equal(cut, sweep(f, levels, values, bounds, counts, low, 1.0, 16))


def test_large_trees_are_cut(monkeypatch):
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=300), rng.normal(size=300)
    queries = Queries.from_labels(rng.integers(0, 2, 300), 300)
    whole = ScoredPairs.of_scores(y, queries, rng.uniform(1, 2, 300)).place(f)
    expected = whole.band(-0.5, 1.0)
    monkeypatch.setattr(pairs, "CHUNKED_BYTES", 0)
    monkeypatch.setattr(pairs, "LevelChunks", lambda *place: LevelChunks(*place, bits=4))
    for found, known in zip(whole.band(-0.5, 1.0), expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)
