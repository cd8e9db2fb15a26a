"""Cells of tables: a mean with a 95 % interval over resampled units, or with a standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelrank.metrics.intervals import percentile_interval, resampled_means

__all__ = ["resampled_cell", "spread_cell"]


def resampled_cell(values: Any, seed: int, mean: float | None = None) -> dict[str, float]:
    """Return the mean of some units (queries, users, topics) with a 95 % interval: the units resampled 2,000 times.

    A mean that was taken otherwise, as over folds, may stand for that of the units.
    """
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    drawn = resampled_means(values, 2000, np.random.default_rng(seed))
    low, high = percentile_interval(drawn, 0.95, "")
    return {"mean": float(values.mean()) if mean is None else mean, "low": low, "high": high}


def spread_cell(values: Any) -> dict[str, float]:
    """Return the mean with the standard deviation."""
    values = np.asarray(values, dtype=float)
    return {"mean": float(values.mean()), "sd": float(values.std(ddof=1)) if len(values) > 1 else float("nan")}
