"""Levels by thresholds of held-out scores are as good as those of ordered logistic regression.

`OrdinalRanker` with a linear and with a Gaussian kernel stands beside statsmodels' `OrderedModel` and mord's
`LogisticAT`, where they are installed, and beside scikit-learn's multinomial `LogisticRegressionCV`, which knows no
order. Tables with levels: the quality of wines, and the age of abalones and the prices of houses in fifths. All methods
have the same standardised columns; strengths of regularisation are chosen by folds of the training items. Everything is
measured on the other items, which chose nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.metrics import ChainAccuracy, LevelError, QuadraticWeightedKappa
from studies.book.sources import TABLES
from studies.book.study import Run, Study

FIFTHS = ("abalone", "california")
MOST_TESTED = 2000
LEAST = 1e-6
"""A probability below this counts as this in the log-loss: unregularised models may be entirely sure."""

Fitted = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray] | None]
"""From items to the probabilities of all levels, and to scores; without scores the expected level is one."""


def read(path: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns, and levels from zero; rare wines have the next level."""
    table = pd.read_csv(path).dropna()
    y = table.pop(table.columns[-1]).to_numpy(dtype=float)
    X = pd.get_dummies(table, drop_first=True).to_numpy(dtype=float)
    if name in FIFTHS:
        return X, np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y, side="left")
    return X, (np.clip(y, 4, 8) - 4).astype(np.int64)


def kernelrank(X: np.ndarray, y: np.ndarray, kernel: str) -> Fitted:
    """Fit `OrdinalRanker`."""
    model = kr.OrdinalRanker(kr.RankRLSCV(kernel=kernel)).fit(X, y)
    return model.predict_proba, model.decision_function


def statsmodels(module: Any, X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit the ordered logistic model by maximum likelihood."""
    model = module.OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=False, maxiter=500)
    coefficients = np.asarray(model.params)[: X.shape[1]]
    return lambda Z: np.asarray(model.predict(Z)), lambda Z: Z @ coefficients


def mord(module: Any, X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit the ordered logistic model with a penalty that five folds choose."""
    search = GridSearchCV(module.LogisticAT(), {"alpha": 10.0 ** np.arange(-2, 4)}, scoring="neg_mean_absolute_error")
    model = search.fit(X, y).best_estimator_
    return model.predict_proba, lambda Z: Z @ model.coef_


def multinomial(X: np.ndarray, y: np.ndarray) -> Fitted:
    """Fit multinomial logistic regression, with its penalty chosen by five folds."""
    model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000).fit(X, y)
    return model.predict_proba, None


def methods(run: Run) -> Iterator[tuple[str, Callable[[np.ndarray, np.ndarray], Fitted]]]:
    """Yield what is compared."""
    yield "OrdinalRanker, linear", lambda X, y: kernelrank(X, y, "linear")
    yield "OrdinalRanker, Gaussian", lambda X, y: kernelrank(X, y, "rbf")
    if run.package("statsmodels"):
        ordered = run.package("statsmodels.miscmodels.ordinal_model")
        run.packages.remove("statsmodels.miscmodels.ordinal_model")
        yield "statsmodels, ordered", lambda X, y: statsmodels(ordered, X, y)
    if package := run.package("mord"):
        yield "mord, ordered", lambda X, y: mord(package, X, y)
    yield "scikit-learn, multinomial", multinomial


def measured(fitted: Fitted, X: np.ndarray, y: np.ndarray, n_levels: int) -> dict[str, float]:
    """Measure the median level, the probabilities and the scores."""
    probabilities, scores = fitted
    P = probabilities(X)
    levels = np.argmax(np.cumsum(P, axis=1) >= 0.5, axis=1)
    score = P @ np.arange(n_levels) if scores is None else scores(X)
    return {
        "error": float(LevelError()(y, levels).mean),
        "kappa": float(QuadraticWeightedKappa()(y, levels).mean),
        "log_loss": float(-np.log(np.maximum(P[np.arange(len(y)), y], LEAST)).mean()),
        "chains": float(ChainAccuracy()(y, score).mean),
    }


def protocol(run: Run) -> dict[str, Any]:
    """Fit every method on each split of each table."""
    found: dict[str, Any] = {}
    for name in run["tables"]:
        X, y = read(run.data[TABLES[name]], name)
        n_levels = int(y.max()) + 1
        rows: dict[str, list[dict[str, float]]] = {}
        for split in range(run["splits"]):
            order = np.random.default_rng(run.seed + split).permutation(len(y))
            train, test = order[: run["train"]], order[run["train"] :][:MOST_TESTED]
            if len(np.unique(y[train])) < n_levels:
                continue
            scaler = StandardScaler().fit(X[train])
            for method, fit in methods(run):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fitted = fit(scaler.transform(X[train]), y[train])
                rows.setdefault(method, []).append(measured(fitted, scaler.transform(X[test]), y[test], n_levels))
        found[name] = {"rows": len(y), "columns": X.shape[1], "levels": n_levels, "methods": summary(rows)}
    return {"tables": found}


def summary(rows: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Return the mean of each measure over the splits, and its standard error."""
    return {
        method: {
            name: {
                "mean": float(np.mean([one[name] for one in values])),
                "se": float(np.std([one[name] for one in values], ddof=1) / len(values) ** 0.5),
            }
            for name in values[0]
        }
        for method, values in rows.items()
    }


STUDY = Study(
    protocol,
    data=tuple(TABLES[name] for name in ("wine-white", "abalone", "california")),
    settings={
        "tables": (("wine-white", "abalone", "california"), ("wine-white",)),
        "splits": (10, 2),
        "train": (300, 300),
    },
)
