"""The same examples every time, and which tests are quick.

A run that fails can be repeated, and one that passes means the same tomorrow.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

FOLDER = Path(__file__).parent

QUICK = (
    "comparisons/",
    "dask/test_statistics.py",
    "data/test_items.py",
    "data/test_parquet.py",
    "data/test_preferences.py",
    "data/test_ranking.py",
    "estimators/test_bad_input.py",
    "estimators/test_co_rank_rls.py",
    "estimators/test_data_forms.py",
    "estimators/test_file_fit.py",
    "estimators/test_in_scikit_learn.py",
    "estimators/test_models.py",
    "estimators/test_nystrom_map.py",
    "estimators/test_scikit_learn_checks.py",
    "estimators/test_stream.py",
    "exact_cv/test_keep_basis.py",
    "exact_cv/test_basis_removal.py",
    "features/",
    "kernels/test_kernel.py",
    "metrics/test_measures.py",
    "metrics/test_paired_tests.py",
    "model_selection/test_alpha_search.py",
    "model_selection/test_leave_out.py",
    "model_selection/test_query_k_fold.py",
    "relations/test_held_out_documents.py",
    "report/test_displays.py",
    "report/test_explanation.py",
    "solvers/test_automatic.py",
    "solvers/test_digits.py",
    "persistence/test_persistence.py",
    "base/test_queries.py",
)
"""Modules that look into every room within a minute or two, compiling included. `.ci/run` runs them on the lowest and
on the newest versions of what kernelrank stands on."""

SLOW = {
    "test_extras_come_late",
    "test_many_processes_give_the_same",
    "test_memory_does_not_grow_with_the_file",
    "test_without_extras",
}
"""Tests of these modules that start another process or read a large file: for the whole suite only."""

assert all((FOLDER / name).exists() for name in QUICK), "a module of QUICK has another name now"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only modules with quick tests for `pytest -m quick`: importing all of them takes long."""
    if config.option.markexpr != "quick" or not collection_path.name.startswith("test_"):
        return None
    return None if collection_path.relative_to(FOLDER).as_posix().startswith(QUICK) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.path.is_relative_to(FOLDER) or getattr(item, "originalname", None) in SLOW:
            continue
        if item.path.relative_to(FOLDER).as_posix().startswith(QUICK):
            item.add_marker(pytest.mark.quick)


WORKERS_COMPILED = pytest.StashKey[dict[str, float]]()
"""What the processes of `pytest -n` compiled: seconds by loop, added up."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        from kernelrank.base.compiled import compile_seconds

        session.config.workeroutput["compiled"] = dict(compile_seconds())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    found = node.config.stash.setdefault(WORKERS_COMPILED, {})
    for name, seconds in node.workeroutput.get("compiled", {}).items():
        found[name] = found.get(name, 0.0) + seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which loops were compiled, and how long that took: nothing where all came from the cache."""
    from kernelrank.base.compiled import compile_seconds

    loops = compile_seconds() | terminalreporter.config.stash.get(WORKERS_COMPILED, {})
    if loops:
        terminalreporter.section(f"compiled {len(loops)} loops in {sum(loops.values()):.1f} s")
        for name, seconds in sorted(loops.items(), key=lambda loop: -loop[1]):
            terminalreporter.write_line(f"{seconds:6.2f} s  {name}")
