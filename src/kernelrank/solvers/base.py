"""The interface of a solver: one expensive step independent of alpha, then a cheap one for every alpha."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kernelrank.base.arrays import Float
from kernelrank.comparisons import Comparisons
from kernelrank.features import Features

State = TypeVar("State")

Step = Callable[[int, float], bool]
"""Called after each iteration with its number and the relative residual; True asks to stop."""


@dataclass(frozen=True)
class Solution:
    """The coefficients of the feature map, with the number of iterations and the residual.

    Parameters
    ----------
    coefficients : ndarray, shape (r, outputs)
    unknowns : ndarray, shape (size, outputs)
        What the solver solved for: a warm start for the next alpha.
    n_iter : int or None
        The number of iterations; None for a direct solver.
    residual : float or None
        The largest relative residual over the outputs; None for a direct solver.
    solver : str or None
        The name of the solver that found them, if it is not the one that was called.
    """

    coefficients: Float
    unknowns: Float
    n_iter: int | None = None
    residual: float | None = None
    solver: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class FactorisedSolution(Solution):
    """A solution by a factorisation, from which the covariance of the coefficients follows.

    Shapes: factor (size, size).
    """

    factor: Float | None = None


@dataclass(frozen=True)
class Solver(ABC, Generic[State]):
    """Base class of solvers, which minimise ``‖N - Mᵀ f‖² + alpha ‖f‖²``."""

    name: str = field(init=False, default="")

    @abstractmethod
    def prepare(self, features: Features, comparisons: Comparisons) -> State:
        """Do the expensive step, which serves every alpha and every output."""

    @abstractmethod
    def solve(
        self, state: State, alpha: float, *, start: Float | None = None, step: Step | None = None, last: bool = False
    ) -> Solution:
        """Solve for one alpha.

        Parameters
        ----------
        state : object
            What `prepare` returned.
        alpha : float
        start : ndarray, shape (size, outputs), optional
            Where iterations begin: the `unknowns` of another solution.
        step : callable, optional
            Hears of each iteration.
        last : bool, default=False
            Whether the state is not needed again, so that it may be overwritten.
        """
