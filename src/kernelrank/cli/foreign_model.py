"""Linear models of other rankers as models of kernelrank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.model_file import command_line

if TYPE_CHECKING:
    from kernelrank.data import LinearModelFile

__all__ = ["model_of"]


def model_of(linear: LinearModelFile, path: Path) -> Any:
    """Return a ranker with these weights; its record says where they come from."""
    from kernelrank import __version__
    from kernelrank.estimators import RankRLS, RankSVM
    from kernelrank.kernels import Kernel

    model = RankSVM() if linear.program == "SVM-rank" else RankRLS()
    model.n_features_in_ = len(linear.weights)
    model.kernel_ = Kernel("linear")
    model.coef_ = linear.weights
    model.solver_ = f"{linear.program}: {linear.method}"
    model.n_iter_, model.n_queries_, model.n_idle_queries_, model.n_pairs_ = 1, 0, 0, 0
    model.provenance_ = {
        "file": str(path),
        "items": 0,
        "queries": None,
        "feature_names": None,
        "first_index": 1,
        "preparation": None,
        "training_ids": None,
        "named": {},
        "command": command_line(),
        "version": __version__,
    }
    return model
