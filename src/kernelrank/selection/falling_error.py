"""When to stop: where the held-out error stops falling, by its standard error."""

from __future__ import annotations

from kernelrank.selection.greedy_search import SelectionStep
from kernelrank.selection.held_out_state import HeldOutState

__all__ = ["FallingError"]

PATIENCE = 5
"""How many steps a search looks ahead for an error that is lower."""


class FallingError:
    """Says when the held-out error has stopped falling.

    It has when `PATIENCE` further steps did not lower it by more than the standard error of the difference.

    Parameters
    ----------
    state : type of HeldOutState
        What is held out, which says how the losses depend on each other.
    """

    def __init__(self, state: type[HeldOutState]) -> None:
        self.n_steps = 0
        self._state = state
        self._best: SelectionStep | None = None
        self._seen = 0

    def has_stopped(self, step: SelectionStep) -> bool:
        """Look at the next step."""
        self._seen += 1
        fall = None if self._best is None else self._best.losses - step.losses
        if fall is None or float(fall.sum()) > self._state.standard_error(fall):
            self._best, self.n_steps = step, self._seen
        return self._seen - self.n_steps >= PATIENCE
