"""Kernel-based learning to rank: exact, fast, at home in scikit-learn.

Everything public is imported at its first use, so that ``import kernelrank`` itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelrank import metrics
    from kernelrank.data import load_pairs, load_ranking, make_preferences, make_ranking
    from kernelrank.estimators import RLS, NystromMap, RankRLS
    from kernelrank.model_selection import QueryKFold
    from kernelrank.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "RLS",
    "NystromMap",
    "QueryKFold",
    "RankRLS",
    "load",
    "load_pairs",
    "load_ranking",
    "make_preferences",
    "make_ranking",
    "metrics",
    "save",
]

_HOMES = {
    "RLS": "estimators",
    "NystromMap": "estimators",
    "RankRLS": "estimators",
    "QueryKFold": "model_selection",
    "load": "persistence",
    "load_pairs": "data",
    "load_ranking": "data",
    "make_preferences": "data",
    "make_ranking": "data",
    "save": "persistence",
}


def __getattr__(name: str) -> Any:
    """Import a public name from the room that it lives in."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"kernelrank.{_HOMES[name]}"), name)
    if name == "metrics":
        return importlib.import_module("kernelrank.metrics")
    raise AttributeError(f"module 'kernelrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
