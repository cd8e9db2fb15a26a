"""Claim: what users wait for costs little more than the matrix products and factorisations that it is made of.

Run: python -m benchmarks.fits_cost_little_more_than_their_products [--only path ...]

Each line is CPU seconds on one thread, beside the reference in the same run:

* a reduced set of 1,000 Gaussian basis items, beside ``ZᵀZ`` of as many columns (at most 1.6; 3.9 at first): 1.32, 1.42
  and 1.47 in three runs with 20,000 items, 1.27, 1.27 and 1.37 with 100,000, on a processor with AVX2 (1.65 to 1.94
  with NumPy's exponential; 1.55 to 1.74 on one with AVX-512 before);
* a linear fit with queries, beside ``XᵀX``: 1.3 to 1.61 (at most 1.7; 2.4 before). Reading X costs a sixth of the
  product each time, so it is read once: what is wrong with its values is seen in the normal equations;
* RankSVM on wide items, beside forming their kernel and fitting that: 1.1 with 10,000 columns and 2.1 with 100,000;
* the prediction of one row by a Gaussian model, beside `KernelRidge` (at most 1.0);
* 300 outputs of a Gaussian model, beside one: 1.24 to 1.31, best of five (at most 1.3; best of three 1.27 to 1.49, as
  single runs differ by a fifth); the triangular systems alone cost 0.28;
* a path of 31 alphas, beside `eigh` of the kernel matrix (at most 0.6);
* a search over 31 alphas by leave-pair-out, beside `eigh`: 4.2 to 4.5 (5.4 before). The score of each alpha
  takes the entries of half an m × m matrix, a symmetric product, and `cv_results_` has all 31 scores: `eigh` and these
  products are the least, 3.9; on another processor it is 5.5, and the least 5.0;
* commands on a LETOR file of 16,140 rows and 25 columns, ``kernelrank fit`` within 1.5 s, and ``kernelrank --help``,
  beside the import of scikit-learn.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.linalg import blas, eigh
from sklearn.datasets import dump_svmlight_file
from sklearn.kernel_ridge import KernelRidge

from benchmarks.harness import report, time_interleaved
from kernelrank.errors import EdgeOfGridWarning
from kernelrank.estimators import RankRLS, RankSVM
from kernelrank.kernels import Kernel
from kernelrank.model_selection import RankRLSCV

GAMMA, COLUMNS = 0.05, 20
ALPHAS = 2.0 ** np.arange(-15, 16)
CALLS = 200


def draw(m: int, n: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


def reduced_set(r: int = 1_000) -> None:
    model = RankRLS(kernel="gaussian", gamma=GAMMA, basis=r, random_state=0)
    for m, repeats in ((20_000, 7), (100_000, 3)):
        X, y = draw(m)
        Z, _ = draw(m, r)
        runs = {
            "ZᵀZ": lambda Z=Z: blas.dsyrk(1.0, Z.T),
            "ZᵀZ and the kernels": lambda X=X, Z=Z: (Kernel("rbf", GAMMA).matrix(X, X[:r]), blas.dsyrk(1.0, Z.T)),
            "RankRLS(basis=1000).fit": lambda X=X, y=y: model.fit(X, y),
        }
        report(f"reduced set, {m:,} items", time_interleaved(runs, repeats, 1), "ZᵀZ", 1.6)


def queries(m: int = 100_000, n: int = 200) -> None:
    X, y = draw(m, n)
    qid = np.arange(m) // 50
    runs = {"XᵀX": lambda: blas.dsyrk(1.0, X.T), "RankRLS().fit": lambda: RankRLS().fit(X, y, qid=qid)}
    report(f"linear, {m:,} × {n}, {m // 50:,} queries", time_interleaved(runs, 5, 1), "XᵀX", 1.7)


def wide(m: int = 100) -> None:
    for n in (10_000, 100_000):
        X, y = draw(m, n)
        runs = {
            "form K and fit it precomputed": lambda X=X, y=y: RankSVM(kernel="precomputed").fit(X @ X.T, y),
            "RankSVM().fit": lambda X=X, y=y: RankSVM().fit(X, y),
        }
        report(f"hinge, {m} × {n:,}", time_interleaved(runs, 5, 1), next(iter(runs)))


def one_row(m: int = 1_000) -> None:
    X, y = draw(m)
    ridge = KernelRidge(kernel="rbf", gamma=GAMMA).fit(X, y)
    model = RankRLS(kernel="gaussian", gamma=GAMMA).fit(X, y)
    runs = {
        "KernelRidge.predict": lambda: [ridge.predict(X[:1]) for _ in range(CALLS)],
        "RankRLS.predict": lambda: [model.predict(X[:1]) for _ in range(CALLS)],
    }
    report(f"{CALLS} predictions of one row, {m:,} training items", time_interleaved(runs, 5, 1), next(iter(runs)), 1.0)


def outputs(m: int = 4_000) -> None:
    X, y = draw(m)
    Y = np.random.default_rng(1).standard_normal((m, 300))
    model = RankRLS(kernel="gaussian", gamma=GAMMA)
    runs = {"one output": lambda: model.fit(X, y), "300 outputs": lambda: model.fit(X, Y)}
    report(f"Gaussian kernel, {m:,} items", time_interleaved(runs, 5, 1), "one output", 1.3)


def path(m: int = 2_000) -> None:
    X, y = draw(m)
    K = Kernel("rbf", GAMMA).matrix(X)
    model = RankRLS(kernel="gaussian", gamma=GAMMA)
    runs = {
        "eigh": lambda: eigh(K, driver="evd"),
        "fit_path, 31 alphas": lambda: model.fit_path(X, y, ALPHAS),
        "fit_path, 5 alphas": lambda: model.fit_path(X, y, ALPHAS[10:15]),
    }
    report(f"Gaussian kernel, {m:,} items", time_interleaved(runs, 3, 1), "eigh", 0.6)


def search(m: int = 2_000) -> None:
    X, y = draw(m)
    K = Kernel("rbf", GAMMA).matrix(X)
    product, V = np.zeros((m, m), order="F"), np.linalg.qr(K)[0]
    model = RankRLSCV(ALPHAS, kernel="gaussian", gamma=GAMMA)
    runs = {
        "eigh": lambda: eigh(K, driver="evd"),
        "eigh and 31 symmetric products": lambda: (
            eigh(K, driver="evd"),
            [blas.dsyrk(1.0, V.T, trans=1, c=product, overwrite_c=1) for _ in ALPHAS],
        ),
        "RankRLSCV by leave-pair-out": lambda: model.fit(X, y),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        report(f"31 alphas, {m:,} items", time_interleaved(runs, 2, 1), "eigh")


def cpu_seconds(*command: str) -> float:
    """Run a command and return its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(m: int = 16_140, n: int = 25) -> None:
    X, y = draw(m, n)
    with TemporaryDirectory() as folder:
        file, model = Path(folder) / "train.txt", Path(folder) / "model.kr"
        dump_svmlight_file(
            X.round(6), np.digitize(y, [-1.0, 1.0]), str(file), zero_based=False, query_id=np.arange(m) // 152
        )
        commands = {
            "import sklearn.base": ("-c", "import sklearn.base"),
            "kernelrank fit": ("-m", "kernelrank.cli", "fit", str(file), "-o", str(model)),
            "kernelrank predict": ("-m", "kernelrank.cli", "predict", str(model), str(file)),
            "kernelrank evaluate": ("-m", "kernelrank.cli", "evaluate", str(model), str(file)),
            "kernelrank tune": ("-m", "kernelrank.cli", "tune", str(file), "-o", str(Path(folder) / "tuned.kr")),
            "kernelrank --help": ("-m", "kernelrank.cli", "--help"),
            "import kernelrank.RankRLS": ("-c", "import kernelrank; kernelrank.RankRLS"),
        }
        seconds = dict.fromkeys(commands, float("inf"))
        for _ in range(4):
            for name, words in commands.items():
                seconds[name] = min(seconds[name], cpu_seconds(*words))
    report(f"commands, a file of {m:,} rows", seconds, "import sklearn.base")


if __name__ == "__main__":
    parts = {part.__name__: part for part in (reduced_set, queries, wide, one_row, outputs, path, search, command)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=parts, default=list(parts))
    for name in parser.parse_args().only:
        parts[name]()
