"""Model files as the command writes and reads them: an estimator, and where it comes from.

What a command needs besides the estimator, the names of the columns above all, stands in its fitted attribute
`provenance_`, which `kernelrank.save` keeps like any other.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelrank.cli.sources import SourceFile
from kernelrank.persistence.provenance import feature_names, final_step, provenance

if TYPE_CHECKING:
    from kernelrank.cli.large_file import LargeFile
    from kernelrank.data import Items

__all__ = ["command_line", "for_model", "is_model_file", "load_model", "save_model", "trained_on"]

REMEMBERED = ("target", "query", "id", "positive")
"""What was said of the columns of a table when a model was fitted, and holds for tables that it meets later."""

MAGIC = b"PK\x03\x04"


def command_line() -> str:
    """Return the command line as it was typed."""
    import shlex

    return shlex.join(["kernelrank", *sys.argv[1:]])


def is_model_file(path: Path) -> bool:
    """Whether a file begins as model files do."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == MAGIC


def save_model(model: Any, path: Path, items: Items | LargeFile, source: SourceFile, **facts: Any) -> None:
    """Write a model with what is known of its data, atomically."""
    from kernelrank import __version__
    from kernelrank.persistence.model_files import save

    named = {name: getattr(source, name) for name in REMEMBERED}
    if items.classes is not None:
        # In another file another class may sort last.
        named["positive"] = items.classes[1]
    model.provenance_ = {
        "file": str(items.path),
        "items": len(items),
        "queries": items.n_queries,
        "feature_names": None if items.feature_names is None else [str(name) for name in items.feature_names],
        "first_index": items.first_index,
        "preparation": None if items.preparation is None else items.preparation.as_data(),
        "training_ids": items.ids if _keeps_items(model) else None,
        "named": named,
        "command": command_line(),
        "version": __version__,
        **facts,
    }
    save(model, path)


def _keeps_items(model: Any) -> bool:
    """Whether a model is made of training items, whose names then say why it ranks as it does."""
    return hasattr(final_step(model), "dual_coef_")


def load_model(path: Path) -> Any:
    """Load a model file; raise an error if it does not hold a ranker of items."""
    from kernelrank.errors import InvalidInputError
    from kernelrank.persistence.model_files import load

    model = load(path)
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"{path}: holds a {type(model).__name__}, which does not rank")
    if not hasattr(model, "n_features_in_"):
        if hasattr(model, "n_features_rows_in_"):
            raise InvalidInputError(
                f"{path}: holds a {type(model).__name__}, which scores dyads; use kernelrank dyads predict"
            )
        raise InvalidInputError(
            f"{path}: holds a {type(model).__name__}, which does not rank rows of numbers. Use kernelrank "
            "relations extract for models of kernelrank relations train"
        )
    return model


def trained_on(model: Any, path: Path, what: str = "file") -> bool:
    """Whether a model was fitted to this very file of items, or of "preferences"."""
    file = provenance(model).get(what)
    return file is not None and path.is_file() and Path(file).is_file() and path.samefile(file)


def for_model(source: SourceFile, model: Any, *, needs_target: bool = True) -> SourceFile:
    """Read a file as a model expects it: columns by name if the model has names, else by number."""
    known, names = provenance(model), feature_names(model)
    expected = getattr(model, "n_features_in_", None)
    if source.has_no_names():
        return replace(source, n_features=expected)
    from kernelrank.data import TablePreparation

    prepared = known.get("preparation")
    preparation = source.preparation if prepared is None else TablePreparation.from_data(prepared)
    # Without a preparation nothing is learnt from the file: its medians and words are not the model's.
    source = replace(
        source,
        names=None if names is None else tuple(names),
        n_features=expected,
        preparation=preparation,
        strict=preparation is None,
    )
    said = {name: word for name, word in known.get("named", {}).items() if getattr(source, name) is None}
    if not needs_target:
        said = {name: word for name, word in said.items() if name not in ("target", "positive")}
    return replace(source, **said)
