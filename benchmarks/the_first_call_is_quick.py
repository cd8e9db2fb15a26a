"""Claim: the first call on a machine takes seconds: `RankSVM.fit` 3, hold-outs and searches 2, `score` 0.7.

Run: python benchmarks/the_first_call_is_quick.py [--items 300]

Every call is made in a fresh process with an empty compile cache: CPU seconds beyond imports, of which so much for
compiling, loop by loop, then the same in a second process, which reads the loops from disk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

CLAIMS = {
    "RankSVM().fit(X, y)": 3.0,
    "RankSVM().fit(X, y, qid=qid)": 3.0,
    "estimate_auc(RankRLS(), X, label)": 2.0,
    "estimate_auc(RankRLSCV(), X[:60], label[:60])": None,
    "leave_pair_out(RankRLS(), X, y)": 2.0,
    "leave_pair_out(RankRLS(kernel='rbf'), X, y)": 2.0,
    "permutation_test(RankRLS(), X, label, n_permutations=99)": 2.0,
    "RankRLSCV().fit(X, y)": 2.0,
    "RankRLSCV().fit(X, y, qid=qid)": 2.0,
    "RankRLS().fit(X, y).score(X, y)": 0.7,
    "RankRLS().fit(X, y, qid=qid).score(X, y, qid=qid)": 0.7,
}
"""The calls, and how many CPU seconds they may take beyond imports."""


def call(text: str, n_items: int) -> None:
    """Make one call in this process, and print what it took as JSON."""
    begin = time.process_time()
    import numba  # noqa: F401
    import numpy as np
    import scipy.linalg  # noqa: F401

    import kernelrank
    from kernelrank.compiled import compile_seconds

    names = {name: getattr(kernelrank, name) for name in kernelrank.__all__}
    imported = time.process_time()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_items, 10))
    y = X[:, 0] + rng.standard_normal(n_items)
    data = {"X": X, "y": y, "label": (y > 0).astype(float), "qid": np.arange(n_items) // 10}
    start = time.process_time()
    eval(text, names | data)
    seconds = time.process_time() - start
    print(json.dumps({"imports": imported - begin, "call": seconds, "loops": compile_seconds()}))


def in_a_process(text: str, n_items: int, cache: str) -> dict:
    command = [sys.executable, __file__, "--items", str(n_items), "--call", text]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main(n_items: int) -> None:
    print(f"CPU seconds at m = {n_items:,}, n = 10\n")
    print(f"{'':<60}{'first':>7}{'compiled':>10}{'second':>8}{'imports':>9}{'claim':>7}")
    for text, claim in CLAIMS.items():
        with tempfile.TemporaryDirectory() as cache:
            first, second = (in_a_process(text, n_items, cache) for _ in range(2))
        compiling = sum(first["loops"].values())
        limit = "" if claim is None else f"≤ {claim:g}"
        row = f"{first['call']:7.2f}{compiling:10.2f}{second['call']:8.2f}{first['imports']:9.2f}{limit:>7}"
        print(f"{text:<60}{row}{' EXCEEDED' if claim is not None and first['call'] > claim else ''}")
        for name, seconds in first["loops"].items():
            print(f"    {name:<63}{seconds:10.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--call", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.call:
        call(arguments.call, arguments.items)
    else:
        main(arguments.items)
