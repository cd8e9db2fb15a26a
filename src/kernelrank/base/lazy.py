"""Late names: public names of a package are imported at their first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def late_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose modules are imported one by one, as they are needed.

    A learner that nobody asks for may need half a second of imports.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = home if home.startswith("kernelrank.") else f"{package}.{home}"
        found = getattr(importlib.import_module(module), name)
        setattr(sys.modules[package], name, found)  # from now on it is found without this function
        return found

    return find, lambda: sorted(homes)
