"""Late imports: packages that scikit-learn imports for a few functions, and that most commands never use.

``sklearn.utils.fixes`` imports the whole of ``scipy.stats`` for one function, and pandas, where it is installed, for
none that is called without a data frame: together they take more than half of the start of a command. Whoever has
imported the package decides for their own process; this one belongs to the command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import ModuleType

__all__ = ["import_late"]

IMPORTER, LATE, UNNEEDED = "sklearn.utils.fixes", "scipy.stats", "pandas"


def import_late() -> None:
    """Postpone slow, rarely used imports of scikit-learn. Call this before scikit-learn is imported.

    A command that needs ``scipy.stats`` or pandas gets them as ever, when it imports them or takes something from them.
    """
    if IMPORTER not in sys.modules:
        sys.meta_path.insert(0, _Finder(IMPORTER, _LeanLoader))


class _Finder(MetaPathFinder):
    """Finds one module, as Python would, and gives it another loader."""

    def __init__(self, module: str, loader: Callable[[SourceFileLoader], Loader]) -> None:
        self.module = module
        self.loader = loader

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == self.module else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = self.loader(spec.loader)
        return spec


class _LeanLoader(SourceFileLoader):
    """Runs a module for which one package is imported at its first use, and another seems not to be installed."""

    def __init__(self, usual: SourceFileLoader) -> None:
        super().__init__(usual.name, usual.path)

    def exec_module(self, module: ModuleType) -> None:
        late = _Finder(LATE, LazyLoader)
        sys.meta_path.insert(0, late)
        hidden = UNNEEDED not in sys.modules
        if hidden:
            sys.modules[UNNEEDED] = None  # type: ignore[assignment]
        try:
            super().exec_module(module)
        finally:
            sys.meta_path.remove(late)
            if hidden:
                del sys.modules[UNNEEDED]
