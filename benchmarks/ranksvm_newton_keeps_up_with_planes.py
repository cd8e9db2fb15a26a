"""Claim: Newton takes at most 2.5 times as long as the bundle method with a Gaussian kernel on term frequencies.

Run: python benchmarks/ranksvm_newton_keeps_up_with_planes.py [--items 2000 2200 2500]

Documents of words that follow Zipf's law, in rows of length one, gamma = 1: the kernel is nearly a constant plus the
identity, and all pairs can be ordered. Conjugate gradients alone needed thousands of steps there. CPU seconds of whole
fits on one core, both methods interleaved; the time should not jump between the sizes. Measured with 2,000 documents:
0.3 times the bundle method (3.6 against 14 s) with 30 % of the topic, 1.5 to 1.8 times (1.6 against 0.9 s) with 2 %.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import report, time_interleaved
from scipy import sparse
from sklearn.preprocessing import normalize

from kernelrank.estimators import RankSVM

VOCABULARY, WORDS, TOPIC = 30_000, 80, 60


def draw(m: int, share: float) -> tuple[sparse.csr_array, np.ndarray]:
    """Return term frequencies and labels; documents of the topic take some of their words from a list of its own."""
    rng = np.random.default_rng(0)
    y = (rng.random(m) < share).astype(float)
    frequency = 1.0 / (np.arange(VOCABULARY) + 10.0)
    words = rng.choice(VOCABULARY, size=(m, WORDS), p=frequency / frequency.sum())
    own = rng.choice(rng.permutation(3_000)[:TOPIC], size=(m, WORDS))
    words = np.where((rng.random((m, WORDS)) < 0.15) & (y > 0)[:, None], own, words)
    rows = np.repeat(np.arange(m), WORDS)
    counts = sparse.coo_array((np.ones(m * WORDS), (rows, words.ravel())), shape=(m, VOCABULARY))
    return normalize(sparse.csr_array(counts)), y


def compare(m: int, share: float) -> None:
    X, y = draw(m, share)
    models = {solver: RankSVM(kernel="rbf", gamma=1.0, solver=solver) for solver in ("bundle", "newton")}
    seconds = time_interleaved(
        {name: lambda model=model: model.fit(X, y) for name, model in models.items()}, 2, threads=1
    )
    report(f"{m:,} documents, {share:.0%} of them of the topic", seconds, "bundle", 2.5)
    for name, model in models.items():
        print(f"  {name}: {model.n_iter_} steps, gap {model.gap_:.1e}, objective {model.objective_:.6g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[2_000, 2_200, 2_500])
    for size in parser.parse_args().items:
        for part in (0.3, 0.02):
            compare(size, part)
