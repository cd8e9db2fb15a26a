"""How the minimum is found: Cholesky, spectral, conjugate gradients, and the automatic choice."""

from kernelrank.solvers.automatic import SOLVER_NAMES, choose_solver, get_solver
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.direct import Cholesky, Spectral, Spectrum
from kernelrank.solvers.iterative import ConjugateGradient, NystromConjugateGradient

__all__ = [
    "SOLVER_NAMES",
    "Cholesky",
    "ConjugateGradient",
    "NystromConjugateGradient",
    "Solution",
    "Solver",
    "Spectral",
    "Spectrum",
    "choose_solver",
    "get_solver",
]
