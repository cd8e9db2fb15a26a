"""Ctrl-C is recorded by a signal handler, because interrupted code may swallow KeyboardInterrupt or replace it."""

from __future__ import annotations

import signal
import sys
from types import FrameType

__all__ = ["ignore_interruption", "interrupted", "watch_interruption"]

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
