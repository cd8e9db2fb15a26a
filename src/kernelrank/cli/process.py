"""Ctrl-C is recorded by a signal handler, because interrupted code may swallow KeyboardInterrupt or replace it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import LazyLoader
from types import FrameType, ModuleType

AGAIN_SECONDS = 1.0
"""After how long an interruption that was lost is raised again."""

_seen: list[int] = []


def watch_interruption() -> None:
    """Record SIGINT (Ctrl-C) from now on, unless it is ignored, as under `nohup`.

    Compiled code that calls back into Python may drop an exception, and so do weak references. That is why
    `KeyboardInterrupt` is raised again each second, unless it is being handled.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _show_unraisable
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, _interrupt)


def ignore_interruption() -> None:
    """Ignore Ctrl-C from now on, while the process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    # Python keeps in mind that Ctrl-C came inside an `exec`, as of a dataclass that is being defined, and would end by
    # the signal whatever the exit code; the next `exec` makes it forget.
    exec("")


def interrupted() -> bool:
    """Whether SIGINT came."""
    return bool(_seen)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    _seen.append(number)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    if not _is_handled():
        raise KeyboardInterrupt


def _show_unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Pass over an interruption that was lost: it comes again."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _is_handled() -> bool:
    """Whether the code that runs is already on its way out, such as to remove a temporary file."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


# Late imports ---------------------------------------------------------------------------------------------------------
#
# Late imports: packages that scikit-learn imports for a few functions, and that most commands never use.
#
# ``sklearn.utils.fixes`` imports the whole of ``scipy.stats`` for one function, and pandas, where it is installed, for
# none that is called without a data frame: together they take more than half of the start of a command. Whoever has
# imported the package decides for their own process; this one belongs to the command.

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
