"""Estimator locks: one fit at a time on one estimator, whichever threads call it.

The locks stand beside the estimators and not inside them, for a lock can neither be copied nor saved. So clones, copies
and pickles are what they would be without one.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["estimator_lock"]

_LOCKS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()

# A thread that is fitting while its process forks does not exist in the child, which would wait for it forever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.clear)


def estimator_lock(estimator: Any) -> threading.RLock:
    """Return the lock of an estimator, which lives as long as the estimator does.

    The thread that holds it may take it again, so that a fit may call another one.

    Examples
    --------
    >>> from kernelrank import RankRLS
    >>> model = RankRLS()
    >>> estimator_lock(model) is estimator_lock(model), estimator_lock(model) is estimator_lock(RankRLS())
    (True, False)
    """
    return _LOCKS.setdefault(estimator, threading.RLock())
