"""What a run found, as a file: tables, settings, seed, date, versions and the kind of processor.

The file says nothing else about the machine. It holds the published figures too, so that every figure of a page is in
it, and a hash of all that it says: a file that was changed by hand is not read.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

__all__ = ["Record"]

PACKAGES = ("kernelrank", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Record:
    """One recorded result.

    Parameters
    ----------
    study : str
    date : str
    quick : bool
    seed : int
    settings : dict
    versions : dict
    skipped : list of str
        What could not be run.
    published : dict
        Figures of the papers.
    tables : dict
    """

    study: str
    date: str
    quick: bool
    seed: int
    settings: dict[str, Any]
    versions: dict[str, str]
    skipped: list[str]
    published: dict[str, Any]
    tables: dict[str, Any]

    @classmethod
    def of(
        cls,
        study: str,
        tables: dict[str, Any],
        *,
        settings: dict[str, Any],
        seed: int,
        quick: bool,
        skipped: list[str],
        published: Mapping[str, Any],
        packages: tuple[str, ...] = (),
    ) -> Record:
        """Record a result with today's date and the versions of the packages that made it."""
        versions = {"python": platform.python_version(), "processor": processor()}
        for name in (*PACKAGES, *packages):
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                versions[name] = importlib.import_module(name).__version__
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        return cls(study, date, quick, seed, plain(settings), versions, skipped, plain(published), plain(tables))

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a file, and refuse one that was changed after it was written."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        expected = fields.pop("sha256", None)
        if hash_of(fields) != expected:
            raise ValueError(f"{path} was changed by hand: run the study again.")
        return cls(**fields)

    def write(self, path: Path) -> None:
        """Write a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = {**asdict(self), "sha256": hash_of(asdict(self))}
        path.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def processor() -> str:
    """Return the kind of processor that BLAS was compiled for, on which the last digits depend."""
    kinds = {one.get("architecture") for one in threadpool_info() if one["user_api"] == "blas"}
    return " and ".join(sorted(kind for kind in kinds if kind)) or platform.machine()


def hash_of(fields: dict[str, Any]) -> str:
    """Return the SHA-256 hash of what a file says."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def plain(value: Any) -> Any:
    """Return nested dicts and lists of plain numbers, six digits each; NaN becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
