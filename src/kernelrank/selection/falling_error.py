"""When to stop: where the held-out error stops falling, by its standard error.

A step takes the best of n columns. Where none of them helps, their falls of the error scatter around zero or below, and
the best of n normal deviates is about the quantile ``1 - 1/n``. So a fall counts if it is larger than its standard
error times that quantile.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from kernelrank.selection.search import SelectionStep
from kernelrank.selection.states import HeldOutState

__all__ = ["FallingError"]

PATIENCE = 5
"""How many steps a search looks ahead for a fall that counts."""


class FallingError:
    """Decides when the held-out error has stopped falling: after `PATIENCE` steps without a sufficient decrease.

    Parameters
    ----------
    state : type of HeldOutState
        What is held out, which says how the losses depend on each other.
    n_candidates : int
        How many columns or groups a step chooses from.
    """

    def __init__(self, state: type[HeldOutState], n_candidates: int) -> None:
        self.n_steps = 0
        self._state = state
        self._quantile = max(1.0, float(ndtri(1.0 - 1.0 / n_candidates)))
        self._before: SelectionStep | None = None
        self._seen = 0

    def has_stopped(self, step: SelectionStep) -> bool:
        """Return whether selection should stop; `n_steps` is the number of steps worth keeping, at least one."""
        self._seen += 1
        fall = np.zeros(1) if self._before is None else self._before.losses - step.losses
        if self._before is None or float(fall.sum()) > self._quantile * self._state.standard_error(fall):
            self.n_steps = self._seen
        self._before = step
        return self._seen - self.n_steps >= PATIENCE
