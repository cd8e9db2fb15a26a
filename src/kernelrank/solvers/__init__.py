"""How the minimum is found: Cholesky, spectral, conjugate gradients, and the automatic choice."""

from kernelrank.solvers.automatic import SOLVER_NAMES, choose_solver, get_solver
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.cholesky import Cholesky
from kernelrank.solvers.conjugate_gradient import ConjugateGradient
from kernelrank.solvers.nystrom_conjugate_gradient import NystromConjugateGradient
from kernelrank.solvers.spectral import Spectral, Spectrum

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
