"""The laws that `kernelrank.testing` offers: every solver keeps them, and a wrong one does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kernelrank.solvers import Cholesky, ConjugateGradient, Spectral
from kernelrank.testing import SolverLaws

PAGE = Path(__file__).parents[1] / "docs" / "extend" / "add_a_solver.md"


class TestCholesky(SolverLaws):
    def solver(self):
        return Cholesky()


class TestSpectral(SolverLaws):
    def solver(self):
        return Spectral()


class TestConjugateGradient(SolverLaws):
    def solver(self):
        return ConjugateGradient(tol=1e-14, max_iter=5000)


class TestDocumentedSolver(SolverLaws):
    def solver(self):
        names: dict[str, object] = {}
        first = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        exec(compile(first.group(1), str(PAGE), "exec"), names)
        return names["SingularValues"]()


@dataclass(frozen=True)
class SlightlyWrong(Cholesky):
    """A solver that is wrong."""

    def solve(self, state, alpha, **options):
        solution = super().solve(state, alpha, **options)
        return replace(solution, coefficients=solution.coefficients * (1 + 1e-6))


def test_a_wrong_solver_breaks_a_law():
    class Wrong(SolverLaws):
        def solver(self):
            return SlightlyWrong()

    with pytest.raises(AssertionError):
        Wrong().test_one_preparation_serves_every_alpha(30, 4, 1)


def test_what_is_missing_is_asked_for():
    with pytest.raises(NotImplementedError):
        SolverLaws().solver()
