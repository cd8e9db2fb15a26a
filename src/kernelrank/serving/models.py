"""The models that a service answers with: one file, or all model files of a folder, reloaded when they change.

A model is replaced as a whole, once its new file has been read and checked. A file that is damaged, or half written,
changes nothing: the model that was read before stays, and the log says why.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelrank.base.text import printable
from kernelrank.data import TablePreparation
from kernelrank.errors import InvalidInputError, KernelRankError
from kernelrank.persistence.model_files import load
from kernelrank.persistence.provenance import column_names, feature_names, final_step, provenance

__all__ = ["ServedModel", "ServedModels"]

SUFFIX = ".kr"
LOG = logging.getLogger("kernelrank.serving")

State = tuple[int, int, int]
"""When a file was changed, how long it is, and which file it is."""


@dataclass(eq=False)
class ServedModel:
    """A model that the service has loaded.

    Parameters
    ----------
    name : str
        The name of its file, without the suffix; what JSON or a terminal cannot show is escaped.
    model : estimator
    loaded : float
        When it was read, in seconds since 1970.
    """

    name: str
    model: Any
    loaded: float

    def __post_init__(self) -> None:
        known = provenance(self.model).get("preparation")
        self.preparation = None if known is None else TablePreparation.from_data(known)
        self.column_names = column_names(self.model)
        self.feature_names = feature_names(self.model)
        # Columns are found by name before the model sees them, which is to take arrays without a warning.
        for step in [step for _, step in getattr(self.model, "steps", [("", self.model)])]:
            vars(step).pop("feature_names_in_", None)

    @property
    def n_features(self) -> int:
        """How many columns of numbers it takes."""
        return int(self.model.n_features_in_)

    def card(self) -> dict[str, Any]:
        """Describe the model, without file paths."""
        ranker, known = final_step(self.model), provenance(self.model)
        kernel = getattr(ranker, "kernel_", None)
        prepared = self.preparation
        return {
            "name": self.name,
            "class": type(ranker).__name__,
            "kernel": None if kernel is None else kernel.name,
            "alpha": getattr(ranker, "alpha_", getattr(ranker, "alpha", None)),
            "scaled": ranker is not self.model,
            "n_features": self.n_features,
            "features": self.column_names,
            "columns": None if prepared is None else list(prepared.names),
            "n_items": known.get("items"),
            "n_queries": known.get("queries"),
            "version": known.get("version"),
            "compares": has_posterior(self.model),
            "loaded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.loaded)),
        }


def has_posterior(model: Any) -> bool:
    """Whether the ranker of a model has standard deviations and probabilities of its comparisons."""
    ranker = final_step(model)
    return hasattr(ranker, "comparison_scale_") or hasattr(ranker, "precision_factor_")


class ServedModels:
    """The models of a file or a folder, by name.

    Parameters
    ----------
    path : path
        A model file, or a folder: every file in it whose name ends with ``.kr`` is a model.

    Examples
    --------
    >>> import tempfile
    >>> from kernelrank import RankRLS, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(RankRLS().fit([[0.0], [1.0]], [0, 1]), Path(folder) / "tiny.kr")
    ...     models = ServedModels(Path(folder))
    >>> models.get(None).name
    'tiny'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failures = 0
        self._states: dict[Path, State] = {}
        self._gone: set[Path] = set()
        self._models: Mapping[str, ServedModel] = {}
        self.refresh()
        if not self._models:
            if not path.is_dir():
                self._read(path)  # which says what is wrong
            raise InvalidInputError(f"{path}: Expected at least one model file that can be read; found none.")

    def __len__(self) -> int:
        return len(self._models)

    def names(self) -> list[str]:
        """Return the names of the models, sorted."""
        return sorted(self._models)

    def get(self, name: str | None) -> ServedModel:
        """Return a model by its name, which may be omitted if there is only one."""
        models = self._models
        if name is None and len(models) == 1:
            return next(iter(models.values()))
        if name is None:
            raise InvalidInputError(f"Expected the name of a model; there are {', '.join(sorted(models))}.")
        if name not in models:
            raise KeyError(f"There is no model {name!r}; there are {', '.join(sorted(models))}.")
        return models[name]

    def refresh(self) -> list[str]:
        """Read the files that have changed, and return the names of the models that were replaced or removed.

        O(files) time where nothing has changed. Requests that are being answered keep the model that they began with.
        """
        files = sorted(self.path.glob(f"*{SUFFIX}")) if self.path.is_dir() else [self.path]
        models, changed = dict(self._models), []
        for file in files:
            state = _state(file)
            if state is None or state == self._states.get(file):
                continue
            self._states[file] = state  # a damaged file is tried again when it changes again
            name = _name(file)
            try:
                models[name] = self._read(file)
            except (KernelRankError, OSError) as error:
                self.failures += 1
                kept = "the model that was read before stays" if name in models else "there is no such model"
                LOG.error("model not read", extra={"facts": {"model": name, "error": str(error), "kept": kept}})
            else:
                changed.append(name)
                LOG.info("model read", extra={"facts": {"model": name, "bytes": state[1]}})
        changed += self._without_missing(models, set(files))
        self._models = models
        return changed

    def _without_missing(self, models: dict[str, ServedModel], files: set[Path]) -> list[str]:
        """Remove the models whose files were missing twice: a file may be missing while it is being replaced."""
        missing = set(self._states) - files
        gone, self._gone = missing & self._gone, missing
        for file in gone:
            del self._states[file]
            models.pop(_name(file), None)
            LOG.info("model removed", extra={"facts": {"model": _name(file)}})
        return [_name(file) for file in gone]

    def _read(self, file: Path) -> ServedModel:
        model = load(file)
        if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
            raise InvalidInputError(
                f"{file}: Expected a model that ranks rows of numbers, such as RankRLS; got a {type(model).__name__}."
            )
        return ServedModel(_name(file), model, time.time())


def _name(file: Path) -> str:
    return printable(file.stem)


def _state(file: Path) -> State | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
