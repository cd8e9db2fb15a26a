"""How the minimum is found: Cholesky, spectral, conjugate gradients, the automatic choice; Newton and bundle."""

from kernelrank.solvers.automatic import SOLVER_NAMES, choose_solver, get_solver
from kernelrank.solvers.base import Solution, Solver
from kernelrank.solvers.bundle import Bundle
from kernelrank.solvers.direct import Cholesky, Spectral, Spectrum
from kernelrank.solvers.iterative import ConjugateGradient, NystromConjugateGradient
from kernelrank.solvers.newton import Newton
from kernelrank.solvers.pair_problem import CertifiedSolution

__all__ = [
    "SOLVER_NAMES",
    "Bundle",
    "CertifiedSolution",
    "Cholesky",
    "ConjugateGradient",
    "Newton",
    "NystromConjugateGradient",
    "Solution",
    "Solver",
    "Spectral",
    "Spectrum",
    "choose_solver",
    "get_solver",
]
