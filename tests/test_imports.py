"""Imports go one way, from what is compared and what is similar up to what people see."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelrank

PACKAGE = Path(kernelrank.__file__).parent

BASE = {"errors", "base"}
FLOORS = [
    {"comparisons", "kernels"},
    {"features"},
    {"solvers"},
    {"exact_cv", "hinge", "testing"},
    {"estimators"},
    {"votes"},
    {"model_selection"},
    {"dyads", "selection"},
    {"relations", "report", "dask", "exports"},
    {"serving", "pyterrier"},
    {"collecting"},
    {"cli"},
    {"__main__"},
]

# What a module of each room may import besides its own room.
MAY_IMPORT: dict[str, set[str]] = {name: set(BASE) for name in [*BASE, "metrics", "persistence"]}
MAY_IMPORT["errors"] = {"base"}  # messages escape what a terminal would execute
MAY_IMPORT["data"] = BASE | {"persistence"}
for height, floor in enumerate(FLOORS):
    for room in floor:
        MAY_IMPORT[room] = BASE.union(*FLOORS[:height])
for room in ("estimators", "votes", "model_selection", "dyads", "selection", "dask"):
    MAY_IMPORT[room] |= {"metrics"}
MAY_IMPORT["estimators"] |= {"data", "persistence"}  # `fit` takes the path of a file, and writes checkpoints
for room in ("relations", "report", "exports", "serving", "collecting", "cli"):
    MAY_IMPORT[room] |= {"metrics", "data", "persistence"}

# What goes up, but for `plot`, where results draw themselves by the displays of the report: names with a second path.
UPWARD = {"model_selection/__init__.py": {"selection"}}

MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def named_modules(node: ast.AST, path: Path) -> list[str]:
    """The modules of kernelrank that a statement imports, or the names that it takes from the package itself."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{path} has a relative import"
        module = node.module or ""
        names = [f"{module}.{alias.name}" for alias in node.names] if module == "kernelrank" else [module]
    else:
        return []
    return [name for name in names if name.split(".")[0] == "kernelrank"]


def outside_plots(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name == "plot"):
            yield child
            yield from outside_plots(child)


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file names in any import, late ones and those for type checkers included, but for `plot`."""
    rooms = set()
    for node in outside_plots(ast.parse(path.read_text(encoding="utf-8"))):
        rooms |= {name.split(".")[1] if "." in name else name for name in named_modules(node, path)}
    return rooms


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_go_down(module):
    room = room_of(module)
    assert room in MAY_IMPORT, f"the room {room} has no place in the order yet: give it one in {__file__}"
    upwards = imported_rooms(PACKAGE / module) - MAY_IMPORT[room] - {room, "__version__"}
    assert upwards <= UPWARD.get(module.as_posix(), set()), f"{module} imports {', '.join(sorted(upwards))}"


def test_the_order_is_seen_to_be_broken(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "def late():\n    from kernelrank.estimators.base import KernelLearner\n    import kernelrank.data\n"
    )
    assert imported_rooms(file) == {"estimators", "data"}
    file.write_text("from kernelrank import metrics, RankRLS\n")
    assert imported_rooms(file) == {"metrics", "RankRLS"}
    file.write_text("class Result:\n    def plot(self):\n        from kernelrank.report import ROCDisplay\n")
    assert imported_rooms(file) == set()


def imported_at_once(module: Path) -> set[str]:
    """The files that are imported with a file."""
    found = set()
    for node in ast.parse((PACKAGE / module).read_text(encoding="utf-8")).body:
        for name in named_modules(node, module):
            file = PACKAGE.joinpath(*name.split(".")[1:])
            found |= {
                path.relative_to(PACKAGE).as_posix()
                for path in (file.with_suffix(".py"), file / "__init__.py")
                if path.exists() and name != "kernelrank"
            }
    return found


def test_no_file_imports_itself_through_others():
    edges = {module.as_posix(): imported_at_once(module) for module in MODULES}
    done: list[str] = []

    def visit(file: str, way: list[str]) -> None:
        assert file not in way, " -> ".join([*way, file])
        if file not in done:
            for other in sorted(edges.get(file, ())):
                visit(other, [*way, file])
            done.append(file)

    for file in edges:
        visit(file, [])
    assert len(done) == len(edges)


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "joblib",
    "dask",
    "distributed",
)


def test_the_package_itself_imports_nothing_heavy():
    assert run(f"import sys, kernelrank; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_estimators_import_neither_numba_nor_plots():
    late = ("numba", "matplotlib", "polars", "sklearn.metrics", "sklearn.feature_selection", "sklearn.model_selection")
    code = f"import sys, kernelrank; kernelrank.RankRLS; print([name for name in {late} if name in sys.modules])"
    assert run(code) == "[]"


@pytest.mark.parametrize("room", ["estimators", "model_selection", "votes", "selection"])
def test_a_room_has_the_names_that_it_lists(room):
    module = importlib.import_module(f"kernelrank.{room}")
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name).__name__ == name for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module 'kernelrank.{room}' has no attribute 'nothing'"):
        _ = module.nothing


def test_importing_changes_no_configuration():
    code = """
import numpy as np, sklearn, warnings
import scipy.sparse, scipy.linalg, dask.array, distributed, sklearn.gaussian_process, sklearn.model_selection
before = sklearn.get_config(), np.geterr(), list(warnings.filters), np.get_printoptions()
import kernelrank
for name in kernelrank.__all__:
    getattr(kernelrank, name)
after = sklearn.get_config(), np.geterr(), list(warnings.filters), np.get_printoptions()
print([a == b for a, b in zip(before, after)])
"""
    assert run(code) == "[True, True, True, True]"


def test_without_dask_the_pip_line_is_what_people_see():
    code = """
import sys
sys.modules["dask"] = None
import kernelrank, kernelrank.errors
try:
    kernelrank.dask.DaskRankRLS
except kernelrank.errors.MissingExtraError as error:
    print(error)
"""
    assert run(code) == "dask is not installed; run: pip install 'kernelrank[dask]'"


def test_the_package_can_be_looked_at_without_extras():
    code = """
import sys
for extra in "dask distributed matplotlib jinja2 pyarrow openpyxl onnx uvicorn starlette orjson".split():
    sys.modules[extra] = None
import pydoc
from kernelrank import *
import kernelrank
import kernelrank.dask as cluster
kernelrank_help = pydoc.render_doc(kernelrank)
pydoc.render_doc(cluster)
try:
    cluster.DaskRankRLS
except ImportError as error:
    print(hasattr(kernelrank, "dask"), hasattr(kernelrank, "nothing"), hasattr(cluster, "nothing"), dir(cluster), error)
"""
    assert run(code) == "True False False [] dask is not installed; run: pip install 'kernelrank[dask]'"
