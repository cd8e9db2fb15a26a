"""Module walks: which modules of kernelrank a call visits, in the order of its first visits.

Run: ``python benchmarks/module_walks.py [name ...]``, with kernelrank installed; prints JSON. Compiled loops are not
compiled here, so that they are seen. `the_tree_is_easy_to_follow.py` counts the modules, and
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
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np

import kernelrank as kr

ROOT = Path(kr.__file__).parent
COMMAND = "kernelrank fit file"


def walk(call: Callable[[], object]) -> dict[str, Any]:
    """Return the modules that a call visits, and how often it goes from one to another."""
    visited: list[str] = []
    switches = {"switches": 0, "between_rooms": 0}
    last = ""

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal last
        path = Path(frame.f_code.co_filename)
        if event != "call" or not path.is_relative_to(ROOT):
            return
        module = path.relative_to(ROOT).with_suffix("").as_posix()
        if module == "base/compiled" or module.endswith("__init__"):
            return
        if module not in visited:
            visited.append(module)
        if last and module != last:
            switches["switches"] += 1
            switches["between_rooms"] += module.split("/")[0] != last.split("/")[0]
        last = module

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {"modules": len(visited), **switches, "visited": visited}


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the calls by name; the command writes to a folder."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 3, 40) * 1.0
    qid, weight = np.repeat(np.arange(8), 5), rng.integers(1, 4, 40) * 1.0
    train = folder / "train.csv"
    rows = [",".join(map(str, row)) for row in zip(y, qid, *X.T, strict=True)]
    train.write_text("\n".join(["target,qid,a,b,c", *rows]) + "\n", encoding="utf-8")

    def command() -> None:
        from kernelrank.cli import main

        sys.argv = ["kernelrank", "fit", str(train), "-o", str(folder / "model.kr"), "--alpha", "1"]
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                main()
            except SystemExit as stop:
                if stop.code:
                    raise

    return {
        "RankRLS().fit": lambda: kr.RankRLS().fit(X, y, qid=qid),
        "RankRLSCV().fit": lambda: kr.RankRLSCV().fit(X, y, qid=qid),
        "leave_pair_out": lambda: kr.leave_pair_out(kr.RankRLS(), X, y),
        "leave_pair_out with weights": lambda: kr.leave_pair_out(kr.RankRLS(), X, y, sample_weight=weight),
        COMMAND: command,
    }


def walks(*names: str) -> dict[str, dict[str, Any]]:
    """Return the walks of some calls, or of all; what they import in Python is imported before."""
    with tempfile.TemporaryDirectory() as folder:
        known = calls(Path(folder))
        for name, call in known.items():
            if name != COMMAND:
                call()
        return {name: walk(known[name]) for name in names or known}


if __name__ == "__main__":
    print(json.dumps(walks(*sys.argv[1:])))
