"""A study: its data, its protocol, what was published, and its pictures. Its page is a template of the same name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.book.data_folder import DataFolder
from studies.book.sources import Source

__all__ = ["Run", "Study", "load"]


@dataclass
class Run:
    """What a protocol is given.

    Parameters
    ----------
    data : DataFolder
    settings : Mapping
        The numbers of the protocol by name, full or quick.
    seed : int
    skipped : list of str
        What could not be run, and why; a protocol may add to it.
    packages : list of str
        Packages that the project does not depend on and that were used: their versions are recorded.
    """

    data: DataFolder
    settings: Mapping[str, Any]
    seed: int = 0
    skipped: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        """Return a setting."""
        return self.settings[name]

    def package(self, name: str) -> Any:
        """Import a package that the project does not depend on; None, noted, if it is not installed."""
        try:
            module = importlib.import_module(name)
        except ImportError:
            missing = f"{name} is not installed: pip install {name}"
            if missing not in self.skipped:
                self.skipped.append(missing)
            return None
        if name not in self.packages:
            self.packages.append(name)
        return module


@dataclass(frozen=True)
class Study:
    """One study.

    Parameters
    ----------
    protocol : callable
        From a `Run` to the result: tables, as nested dicts and lists of numbers and words.
    data : tuple of Source
        What it cannot do without.
    settings : Mapping
        For each number of the protocol its full and its quick value.
    published : Mapping
        Figures of the papers, with their sources beside them in the code.
    draw : callable or None
        Draws the pictures of a result into a folder.
    """

    protocol: Callable[[Run], dict[str, Any]]
    data: tuple[Source, ...] = ()
    settings: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[dict[str, Any], Path], None] | None = None

    def chosen(self, *, quick: bool, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the settings: full or quick, changed by words of the command line."""
        settings = {name: values[quick] for name, values in self.settings.items()}
        for name, words in given.items():
            if name not in settings:
                raise SystemExit(f"Expected a setting out of {', '.join(settings) or 'none'}; got {name!r}.")
            settings[name] = _like(settings[name], words)
        return settings


def _like(value: Any, words: str) -> Any:
    """Read words as a value of the same kind."""
    if isinstance(value, tuple):
        first = value[0] if value else ""
        return tuple(type(first)(word) for word in words.split(","))
    if isinstance(value, bool):
        return words.lower() in ("1", "true", "yes")
    return type(value)(words)


def load(name: str) -> Study:
    """Import a study."""
    study: Study = importlib.import_module(f"studies.{name}").STUDY
    return study
