"""Claim: a stream that forgot large queries says the accuracy of what remains, and is silent where nothing was lost.

Random streams: some queries are up to 10⁸ times larger than the others, in X, in one column or in y. They are learnt
with the others, at once or in batches, and forgotten. The relative error of the coefficients beside those of a fit to
the queries that remain is compared with what `LostDigitsWarning` says. The error said may be ten times too small at
most, and no error above 1e-8 passes without a warning or a refusal.
"""

from __future__ import annotations

import argparse
import re
import warnings

import numpy as np

from kernelrank.data import make_ranking
from kernelrank.errors import InvalidInputError, LostDigitsWarning
from kernelrank.estimators import RankRLS


def error_and_said(seed: int) -> tuple[float, float]:
    """Return the relative error of one stream, and the one that was said: 0 for silence, infinity for a refusal."""
    generator = np.random.default_rng(seed)
    X, y, qid = make_ranking(
        n_queries=int(generator.integers(5, 40)),
        n_items=(2, 25),
        n_features=int(generator.integers(2, 12)),
        random_state=seed,
    )
    X, y = np.array(X), y.astype(float)
    large = np.isin(qid, generator.choice(np.unique(qid), 2, replace=False))
    X[large, : generator.choice([1, X.shape[1]])] *= 10.0 ** generator.uniform(0, 8)
    y[large] *= generator.choice([1.0, 1.0, 1e4, 1e8])
    model = RankRLS(
        10.0 ** generator.uniform(-3, 3),
        cost=str(generator.choice(["magnitude", "unit", "relative"])),
        query_weight=str(generator.choice(["pairs", "items", "queries"])),
    )
    expected = RankRLS(**model.get_params()).fit(X[~large], y[~large], qid=qid[~large]).coef_
    for labels in np.array_split(np.unique(qid), generator.choice([1, 5])):
        part = np.isin(qid, labels)
        model.partial_fit(X[part], y[part], qid=qid[part])
    said = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LostDigitsWarning)
        try:
            model.forget(X[large], y[large], qid=qid[large])
        except InvalidInputError:
            said = np.inf
    for warning in caught:
        said = float(re.findall(r"error of (\S+)", str(warning.message))[0])
    return float(np.linalg.norm(model.coef_ - expected) / np.linalg.norm(expected)), said


def main() -> None:
    """Print how the errors said compare with the true ones, and fail where the claim does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    arguments = parser.parse_args()
    error, said = np.array([error_and_said(seed) for seed in range(arguments.streams)]).T
    warned = (said > 0) & np.isfinite(said)
    ratio = said[warned] / error[warned]
    print(f"{arguments.streams} streams: {warned.sum()} warned, {np.isinf(said).sum()} refused")
    print("error said / true error:", *(f"{100 * q:.0f} %: {np.quantile(ratio, q):.1f}" for q in (0, 0.05, 0.5, 0.95)))
    print(f"largest error in silence: {error[said == 0].max(initial=0.0):.1e}")
    assert ratio.min() > 0.1
    assert error[said == 0].max(initial=0.0) < 1e-8


if __name__ == "__main__":
    main()
