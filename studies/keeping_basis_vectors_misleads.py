"""Claim: an error estimate that keeps held-out items in the basis is far too high where alpha is small.

Run: python -m studies run keeping_basis_vectors_misleads [--output misleads.svg]

As in Paper III's figure 1: the mean squared error of leave-one-out on a reduced set, with the held-out basis item
removed and with it kept, over alpha, beside the error on independent items. RLS with a Gaussian kernel.
"""

from __future__ import annotations

import argparse

import numpy as np

from kernelrank import RLS, holdout

GAMMA, ITEMS, BASIS = 0.5, 400, 200
ALPHAS = 2.0 ** np.arange(-15, 11)


def draw(n_items: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_items, 5))
    return X, np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n_items)


def estimates(seed: int) -> np.ndarray:
    """Return the three errors for every alpha: removed, kept, independent."""
    X, y = draw(ITEMS, seed)
    X_new, y_new = draw(5_000, seed + 10_000)
    basis = np.arange(BASIS)
    model = RLS(kernel="rbf", gamma=GAMMA, basis=basis)
    errors = np.empty((3, len(ALPHAS)))
    for row, choice in enumerate(("remove", "keep")):
        scores = holdout(model, X, y, basis[:, None], alphas=ALPHAS, held_out_basis=choice)
        errors[row] = ((np.concatenate(scores) - y[basis][:, None]) ** 2).mean(axis=0)
    models = model.fit_path(X, y, ALPHAS)
    errors[2] = [((model.predict(X_new) - y_new) ** 2).mean() for model in models]
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--output", default=None, help="where to save a picture")
    arguments = parser.parse_args()
    removed, kept, independent = np.mean([estimates(seed) for seed in range(arguments.draws)], axis=0)
    print(f"{'alpha':>10}{'removed':>12}{'kept':>12}{'independent':>14}{'kept / independent':>22}")
    for k, alpha in enumerate(ALPHAS):
        ratio = kept[k] / independent[k]
        print(f"{f'2^{int(np.log2(alpha))}':>10}{removed[k]:12.3f}{kept[k]:12.3f}{independent[k]:14.3f}{ratio:22.2f}")
    if arguments.output:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        for values, label in ((removed, "basis item removed"), (kept, "basis item kept"), (independent, "new items")):
            axes.loglog(ALPHAS, values, base=2, label=label)
        axes.set(xlabel="alpha", ylabel="mean squared error")
        axes.legend()
        figure.savefig(arguments.output)
