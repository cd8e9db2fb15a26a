"""Module walks: which modules of kernelrank a call visits, in the order of its first visits.

Run: ``python benchmarks/module_walks.py [name ...]``, with kernelrank installed; prints JSON. Compiled loops are not
compiled here, so that they are seen, and each call is made once before it is traced: what is imported or made at the
first call of a process is no part of its way. `the_tree_is_easy_to_follow.py` counts the modules, and
``tests/test_architecture.py`` compares them with the lists in ``docs/architecture.md``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np

import kernelrank as kr

ROOT = Path(kr.__file__).parent


def walk(call: Callable[[], object]) -> list[str]:
    """Return the modules that a call visits."""
    visited: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.suffix == ".py" and path.is_relative_to(ROOT) and path.name != "__init__.py":
            visited[path.relative_to(ROOT).with_suffix("").as_posix()] = None

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    visited.pop("base/compiled", None)  # the decorator of the loops
    return list(visited)


def command(*words: object) -> None:
    """Run the command in this process, in silence."""
    from kernelrank.cli import main

    sys.argv = ["kernelrank", *map(str, words)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(errors.getvalue()) from stop


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the calls by name; the commands write to a folder."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((40, 3)), rng.integers(0, 3, 40) * 1.0, np.repeat(np.arange(8), 5)
    ill = y > 1
    winners, losers = np.array([pair for pair in rng.integers(0, 5, (200, 2)) if pair[0] != pair[1]]).T
    ranked, patients = folder / "ranked.csv", folder / "patients.csv"
    for path, names, columns in (
        (ranked, "target,qid,a,b,c", (y, qid, *X.T)),
        (patients, "ill,a,b,c", (ill.astype(int), *X.T)),
    ):
        rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
        path.write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
    return {
        "RankRLS().fit": lambda: kr.RankRLS().fit(X, y, qid=qid),
        "RankRLSCV().fit": lambda: kr.RankRLSCV().fit(X, y, qid=qid),
        "leave_pair_out": lambda: kr.leave_pair_out(kr.RankRLS(), X, y),
        "estimate_auc(RankRLSCV())": lambda: kr.estimate_auc(kr.RankRLSCV(), X, ill),
        "Leaderboard().fit().table()": lambda: kr.Leaderboard().fit(winners, losers).table(),
        "kernelrank fit FILE": lambda: command("fit", ranked, "-o", folder / "model.kr", "--alpha", 1),
        "kernelrank tune FILE --report": lambda: command(
            "tune", ranked, "-o", folder / "tuned.kr", "--report", folder / "page.html"
        ),
        "kernelrank auc FILE": lambda: command("auc", patients, "--target", "ill", "--permutations", 5),
    }


def walks(*names: str) -> dict[str, list[str]]:
    """Return the walks of some calls, or of all."""
    with tempfile.TemporaryDirectory() as folder:
        known = calls(Path(folder))
        for name in names or known:
            known[name]()
        return {name: walk(known[name]) for name in names or known}


if __name__ == "__main__":
    print(json.dumps(walks(*sys.argv[1:])))
