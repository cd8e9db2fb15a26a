"""Claim: no call of the core takes more than 1.10 × what it took in an earlier checkout.

Run: ``python benchmarks/no_call_became_slower.py --before folder [--after folder] [--repeats 5] [--only word]``

The folders are checkouts; the later one is this one unless given. Each has a process of its own, and the two take turns
at every call, so that whatever else the machine does slows both. CPU seconds on one thread, the best of several rounds,
in which a short call is repeated, and the best of these is taken. A call that one of the checkouts does not support is
listed without a ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parents[1]
LIMIT = 1.10

ROUND_SECONDS = 0.1
"""How long a round should take at the least: a shorter call is repeated."""


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the calls by name; files are written to a folder."""
    import numpy as np
    from scipy import sparse

    import kernelrank as kr

    rng = np.random.default_rng(0)
    m = 2_000
    X, weight = rng.standard_normal((m, 20)), rng.uniform(0.5, 2.0, m)
    y = np.round(2.0 * X[:, 0] + rng.standard_normal(m))
    queries = {size: np.arange(m) // size for size in (3, 10, 40)}
    small, labels = slice(0, 400), (y > 0).astype(float)
    pairs = rng.integers(0, m, size=(10_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    wide = sparse.random_array((m, 5_000), density=0.005, rng=rng, format="csr")
    rbf: dict[str, Any] = {"kernel": "rbf", "gamma": 0.05}
    folds = list(np.array_split(rng.permutation(m), 10))
    table = folder / "train.csv"
    rows = [",".join(map(str, row)) for row in zip(y, queries[40], *X.T, strict=True)]
    table.write_text("\n".join(["y,query," + ",".join(f"x{j}" for j in range(20)), *rows]) + "\n", encoding="utf-8")
    model = kr.RankRLS().fit(X, y, qid=queries[40])
    few = {"X": X[small], "y": y[small]}
    alphas = 2.0 ** np.arange(-15, 16)  # given, because the automatic grid need not be the same in both checkouts
    return {
        "fit": lambda: kr.RankRLS().fit(X, y, qid=queries[40]),
        "fit, Gaussian": lambda: kr.RankRLS(**rbf).fit(X, y, qid=queries[40]),
        "fit, basis of 200": lambda: kr.RankRLS(basis=200, random_state=0, **rbf).fit(X, y, qid=queries[40]),
        "fit, sparse": lambda: kr.RankRLS().fit(wide, y, qid=queries[40]),
        "fit, a CSV file": lambda: kr.RankRLS().fit(table, "y", qid="query"),
        "fit_path, 21 alphas": lambda: kr.RankRLS().fit_path(X, y, 2.0 ** np.arange(-10, 11), qid=queries[40]),
        "fit_pairs": lambda: kr.RankRLS().fit_pairs(X, pairs),
        "fit, RankSVM": lambda: kr.RankSVM().fit(X, y, qid=queries[40]),
        "read a CSV file": lambda: kr.data.read_items(table),
        "predict": lambda: model.predict(X),
        "search, queries of 3": lambda: kr.RankRLSCV(alphas).fit(X, y, qid=queries[3]),
        "search, queries of 10": lambda: kr.RankRLSCV(alphas).fit(X, y, qid=queries[10]),
        "search, queries of 40": lambda: kr.RankRLSCV(alphas).fit(X, y, qid=queries[40]),
        "search, queries of 40, Gaussian": lambda: kr.RankRLSCV(alphas, **rbf).fit(
            X[:800], y[:800], qid=queries[40][:800]
        ),
        "search, 10 folds": lambda: kr.RankRLSCV(alphas, cv=10).fit(X, y),
        "search, RLS, each item": lambda: kr.RLSCV(alphas).fit(X, y),
        "leave_pair_out": lambda: kr.leave_pair_out(kr.RankRLS(), X, y, differences=False),
        "leave_pair_out, weights": lambda: kr.leave_pair_out(kr.RankRLS(), **few, sample_weight=weight[small]),
        "leave_pair_out, Gaussian": lambda: kr.leave_pair_out(kr.RankRLS(**rbf), X, y, differences=False),
        "leave_query_out": lambda: kr.leave_query_out(kr.RankRLS(), X, y, queries[10]),
        "holdout, 10 folds": lambda: kr.holdout(kr.RankRLS(), X, y, folds),
        "estimate_auc": lambda: kr.estimate_auc(kr.RankRLS(), X[small], labels[small]),
        "permutation_test": lambda: kr.permutation_test(
            kr.RankRLS(), X[small], labels[small], n_permutations=50, random_state=0
        ),
    }


def work() -> None:
    """Time the calls whose names come in, one a line; the answer is the CPU seconds of one call."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        known = calls(Path(folder))
        print(json.dumps(list(known)), flush=True)
        rounds: dict[str, int] = {}
        for line in sys.stdin:
            name = line.strip()
            if name not in rounds:
                try:
                    known[name]()  # compiles
                except Exception:
                    print("nan", flush=True)
                    continue
                rounds[name] = 1 + int(ROUND_SECONDS / max(_seconds(known[name]), 1e-6))
            print(min(_seconds(known[name]) for _ in range(rounds[name])), flush=True)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


class Checkout:
    """A process that imports kernelrank from one checkout."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            environment[name] = "1"
        command = [sys.executable, __file__, "--work"]
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        stream: IO[str] | None = self.process.stdout
        line = "" if stream is None else stream.readline()
        if not line:
            raise SystemExit("a checkout stopped: its error stands above")
        return line

    def seconds(self, name: str) -> float:
        """Return the CPU seconds of a call."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self._answer())


def main() -> None:
    """Compare two checkouts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, help="the earlier checkout")
    parser.add_argument("--after", type=Path, default=HERE, help="the later checkout; this one unless given")
    parser.add_argument("--repeats", type=int, default=5, help="the number of rounds")
    parser.add_argument("--only", default="", help="calls whose name has this word")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    if options.before is None:
        parser.error("give the earlier checkout: --before folder")
    checkouts = [Checkout(options.before.resolve()), Checkout(options.after.resolve())]
    print(f"{'call':<34}{'before, ms':>12}{'after, ms':>12}{'ratio':>8}")
    slower = []
    for name in checkouts[0].names:
        if options.only not in name:
            continue
        best = [float("inf")] * 2
        for _ in range(options.repeats):
            best = [min(least, checkout.seconds(name)) for least, checkout in zip(best, checkouts, strict=True)]
        if float("inf") in best:
            print(f"{name:<34}   not supported by the {'earlier' if best[1] < best[0] else 'later'} checkout")
            continue
        ratio = best[1] / best[0]
        slower += [name] if ratio > LIMIT else []
        print(f"{name:<34}{1e3 * best[0]:12.2f}{1e3 * best[1]:12.2f}{ratio:8.2f}", flush=True)
    print(f"claimed: at most {LIMIT:g} ×; slower: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
