"""The environment of a run: the parameters of the model, and the versions of Python and its packages."""

from __future__ import annotations

import os
import platform
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["parameters_of", "today", "versions"]

PACKAGES = ("kernelrank", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")
LONGEST = 120


def today() -> date:
    """Return the date of a report: today, or SOURCE_DATE_EPOCH if it is set, for reproducible pages.

    Examples
    --------
    >>> today() >= date(1970, 1, 1)
    True
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(seconds), UTC).date() if seconds.isdigit() else date.today()


def versions() -> list[tuple[str, str]]:
    """List Python and the packages that numbers depend on, with their versions.

    Examples
    --------
    >>> [name for name, _ in versions()][:2]
    ['Python', 'kernelrank']
    """
    found = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found


def parameters_of(model: BaseEstimator) -> list[tuple[str, str]]:
    """List the parameters of an estimator as they would be written; long values are cut.

    Examples
    --------
    >>> from kernelrank import RankRLS
    >>> parameters_of(RankRLS(alpha=2.0))[0]
    ('alpha', '2.0')
    """
    # The steps of a pipeline are listed by their own parameters.
    values = {name: value for name, value in model.get_params(deep=True).items() if not hasattr(value, "get_params")}
    return [(name, _written(value)) for name, value in values.items() if name not in ("steps", "memory", "verbose")]


def _written(value: object) -> str:
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) > 4:
        ends = [*value[:2], *value[-1:]]
        return "{}, {}, …, {} ({} values)".format(*(f"{end!s}" for end in ends), len(value))
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
