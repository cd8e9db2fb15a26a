"""Claim: RankSVM reaches the same objective as compiled solvers, within a thousandth, in a fraction of their time.

Run: python benchmarks/ranksvm_against_compiled_solvers.py [--svm-rank PATH] [--liblinear-ranksvm PATH] [a b c]

Three problems: a, one query of 20,000 × 50 with distinct scores; b, 100,000 × 50 in 5,000 queries of 20 with three
levels; c, sparse 20,000 × 20,000 with 50 entries a row and distinct scores. All minimise ``½ ‖w‖² + C mean hinge``; the
objective of each column is computed here from its weights. Times are CPU seconds on one core, compiled loops warm,
without reading files where a solver takes arrays. scikit-learn's LinearSVC on the differences of all pairs is the peer
that is always there, where they fit into memory. svm_rank (``svm_rank_learn``), liblinear-ranksvm (``train -s 8``) and
dlib are columns if they are found; the first two read a file, which their time includes.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import time_interleaved
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import LinearSVC

from kernelrank.base.labels import Queries
from kernelrank.estimators import RankSVM
from kernelrank.hinge import Hinge, ScoredPairs, SquaredHinge

LOSSES = {"hinge": Hinge, "squared_hinge": SquaredHinge}


@dataclass
class Problem:
    """Data, and the pairs that its objective is measured on."""

    name: str
    X: Any
    y: np.ndarray
    qid: np.ndarray

    def __post_init__(self) -> None:
        self.pairs = ScoredPairs.of_scores(self.y, Queries.from_labels(self.qid, len(self.y)))

    def alpha(self, C: float) -> float:
        """Return the weight of ‖w‖² beside the sum of hinges."""
        return self.pairs.total / (2 * C)

    def objective(self, w: np.ndarray, C: float, loss: str) -> float:
        """Return ``½ ‖w‖² + C mean loss``."""
        return float(w @ w / 2 + C * LOSSES[loss](self.pairs).at(np.asarray(self.X @ w)).value / self.pairs.total)


def draw_a() -> Problem:
    rng = np.random.default_rng(2026)
    X, w = rng.standard_normal((20_000, 50)), rng.standard_normal(50)
    return Problem("a", X, X @ w / np.linalg.norm(w) + 0.5 * rng.standard_normal(20_000), np.zeros(20_000, dtype=int))


def draw_b() -> Problem:
    rng = np.random.default_rng(2027)
    X = rng.standard_normal((100_000, 50)) + np.repeat(0.5 * rng.standard_normal((5_000, 50)), 20, axis=0)
    w = rng.standard_normal(50)
    s = X @ w / np.linalg.norm(w) + 0.7 * rng.standard_normal(100_000)
    return Problem("b", X, np.digitize(s, np.quantile(s, [0.60, 0.85])).astype(float), np.arange(100_000) // 20)


def draw_c(m: int = 20_000, n: int = 20_000, row: int = 50) -> Problem:
    rng = np.random.default_rng(2028)
    share = 1.0 / (np.arange(n) + 10.0) ** 0.9
    steps = np.cumsum(share / share.sum())
    columns, values = [], []
    for _ in range(m):
        c = np.unique(np.searchsorted(steps, rng.random(row)))
        while len(c) < row:
            c = np.unique(np.concatenate([c, np.searchsorted(steps, rng.random(row))]))
        c = np.unique(np.minimum(np.sort(rng.permutation(c)[:row]), n - 1))
        v = np.exp(0.5 * rng.standard_normal(len(c)))
        columns.append(c)
        values.append(v / np.linalg.norm(v))
    bounds = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    X = sparse.csr_array((np.concatenate(values), np.concatenate(columns), bounds), shape=(m, n))
    y = X @ rng.standard_normal(n) + 0.5 * rng.standard_normal(m)
    return Problem("c", X, y, np.zeros(m, dtype=int))


def linear_svc(problem: Problem, C: float, loss: str) -> np.ndarray:
    """Write out all pairs, half of them turned around, and classify their differences."""
    heads, tails = [], []
    for items in Queries.from_labels(problem.qid, len(problem.y)):
        y = problem.y[items]
        h, l = np.nonzero(y[:, None] > y)  # noqa: E741
        heads.append(items[h])
        tails.append(items[l])
    head, tail = np.concatenate(heads), np.concatenate(tails)
    sign = np.where(np.arange(len(head)) % 2, 1.0, -1.0)
    machine = LinearSVC(loss=loss, C=C / len(head), fit_intercept=False, dual="auto", tol=1e-2, max_iter=10_000)
    weights: np.ndarray = machine.fit(sign[:, None] * (problem.X[head] - problem.X[tail]), sign).coef_[0]
    return weights


def dlib_hinge(problem: Problem, C: float) -> np.ndarray:
    """Let dlib compare two levels at a time, each level of a query with those below it."""
    import dlib

    rows = [dlib.vector(x) for x in problem.X]
    samples = dlib.ranking_pairs()
    for items in Queries.from_labels(problem.qid, len(problem.y)):
        for level in np.unique(problem.y[items])[1:]:
            pair = dlib.ranking_pair()
            for i in items[problem.y[items] == level]:
                pair.relevant.append(rows[i])
            for i in items[problem.y[items] < level]:
                pair.nonrelevant.append(rows[i])
            samples.append(pair)
    trainer = dlib.svm_rank_trainer()
    trainer.c = C
    return np.array(trainer.train(samples).weights)


def run_program(
    command: list[str], problem: Problem, read: Callable[[str, int], np.ndarray]
) -> tuple[np.ndarray, float]:
    """Write the data, run a program on it, and return its weights and the CPU seconds it took, reading included."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "data"), Path(folder, "model")
        dump_svmlight_file(problem.X, problem.y, str(data), zero_based=False, query_id=problem.qid + 1)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, str(data), str(model)], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return read(model.read_text(), problem.X.shape[1]), seconds


def read_svm_rank(text: str, n: int) -> np.ndarray:
    w = np.zeros(n)
    for token in text.strip().splitlines()[-1].split("#")[0].split()[1:]:
        column, value = token.split(":")
        w[int(column) - 1] = float(value)
    return w


def read_liblinear(text: str, n: int) -> np.ndarray:
    return np.array(text.split("\nw")[1].split(), dtype=float)[:n]


def compare(problem: Problem, C: float, loss: str, arguments: argparse.Namespace) -> None:
    weights: dict[str, np.ndarray] = {}

    def keep(name: str, fit: Callable[[], np.ndarray]) -> Callable[[], None]:
        return lambda: weights.__setitem__(name, fit())

    def ours(solver: str) -> np.ndarray:
        model = RankSVM(problem.alpha(C), loss=loss, solver=solver).fit(problem.X, problem.y, qid=problem.qid)
        coef: np.ndarray = model.coef_
        return coef

    reference = "RankSVM().fit"
    runs = {reference: keep(reference, lambda: ours("auto"))}
    if loss == "hinge":
        runs["RankSVM(solver='bundle').fit"] = keep("RankSVM(solver='bundle').fit", lambda: ours("bundle"))
    seconds = time_interleaved(runs, 3, threads=1)
    slow: dict[str, Callable[[], None]] = {}
    if problem.name == "b" and C <= 100:  # at C = 10,000 its coordinate descent takes minutes
        slow["LinearSVC on all pairs"] = keep("LinearSVC on all pairs", lambda: linear_svc(problem, C, loss))
    if loss == "hinge" and problem.name == "b" and importlib.util.find_spec("dlib"):
        slow["dlib"] = keep("dlib", lambda: dlib_hinge(problem, C))
    for name, run in slow.items():
        seconds |= time_interleaved({name: run}, 1, threads=1)
    total, n_queries = problem.pairs.total, len(np.unique(problem.qid))
    if loss == "hinge" and arguments.svm_rank:
        command = [arguments.svm_rank, "-c", repr(C * n_queries / total), "-e", "0.001"]
        weights["svm_rank, with reading"], seconds["svm_rank, with reading"] = run_program(
            command, problem, read_svm_rank
        )
    if loss == "squared_hinge" and arguments.liblinear_ranksvm:
        name, command = (
            "liblinear-ranksvm, with reading",
            [arguments.liblinear_ranksvm, "-s", "8", "-c", repr(C / total)],
        )
        weights[name], seconds[name] = run_program(command, problem, read_liblinear)
    print(f"\n{problem.name}, C = {C:g}, {loss}, {total:.3g} pairs")
    for name, value in seconds.items():
        ratio = "reference" if name == reference else f"{value / seconds[reference]:7.2f} ×"
        print(f"  {name:<34}{value:9.3f} s  {ratio:>10}   objective {problem.objective(weights[name], C, loss):.6g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svm-rank", default=shutil.which("svm_rank_learn"))
    parser.add_argument("--liblinear-ranksvm", default=None)
    parser.add_argument("problems", nargs="*", default=["a", "b", "c"])
    chosen = parser.parse_args()
    for problem in (
        draw() for letter, draw in (("a", draw_a), ("b", draw_b), ("c", draw_c)) if letter in chosen.problems
    ):
        for cost in (100.0, 10_000.0) if problem.name != "c" else (10_000.0,):
            for kind in LOSSES:
                compare(problem, cost, kind, chosen)
