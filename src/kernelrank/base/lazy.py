"""Late names: public names of a package are imported at their first use.

A learner that nobody asks for may need half a second of imports. The names stand once, in the package's stub
(``__init__.pyi``), which type checkers read too: a name and the module that it is imported from.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def late_names(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, read from the stub beside its file."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = str(homes[name])
        if home == package:  # a module of the package
            return importlib.import_module(f"{package}.{name}")
        found = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, found)  # from now on it is found without this function
        return found

    return sorted(homes), find, lambda: sorted(homes)
