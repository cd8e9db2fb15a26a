"""Ctrl-C, noted when it comes: what it interrupts may report an error of its own instead."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["ignore_interruption", "interrupted", "watch_interruption"]

_seen: list[int] = []


def watch_interruption() -> None:
    """Take note of SIGINT from now on, unless it is ignored, as it is for what `nohup` runs."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _note)


def ignore_interruption() -> None:
    """Let nothing interrupt what is left to do, which is to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def interrupted() -> bool:
    """Whether SIGINT came."""
    return bool(_seen)


def _note(number: int, frame: Any) -> None:
    _seen.append(number)
    signal.default_int_handler(number, frame)
