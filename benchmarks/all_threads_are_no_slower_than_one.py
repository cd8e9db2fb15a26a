"""Claim: with all BLAS threads, which is how people run it, no call takes much longer than with one thread.

Run: python -m benchmarks.all_threads_are_no_slower_than_one [--only basis ...]

NumPy and SciPy come with a BLAS each, and each has threads that wait actively after a product. Where the two take
turns, they take each other's cores: on two cores a fit with 300 basis items took 2.8 to 7.0 times as long with two
threads each as with one, `CoRankRLS` 2.1 to 2.9, a Gaussian fit of 2,000 items 1.6, `estimate_auc` up to 8.8. Now NumPy
has one thread while a fit or a hold-out runs (`kernelrank.base.arrays`), and the 17 calls take 0.48 to 1.07 of the time
of one thread. The column "both pools" is how it was: NumPy's threads are given back.

Wall-clock seconds, best of five; other work on the machine lengthens them, so the columns of one line are measured in
turns. Beside other work that keeps a core busy all ratios are larger: two threads then wait for each other.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter, sleep
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.base import arrays

REPEATS = 5
PAUSE = 0.05
"""Seconds in which the threads of the last call fall asleep."""


def draw(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


def calls() -> dict[str, Callable[[], Any]]:
    """Return what users call, by name."""
    tall, tall_y = draw(100_000, 200)
    long, long_y = draw(20_000, 20)
    X, y = draw(2_000, 20)
    few, few_y = draw(80, 1_000)
    classes, few_classes = (y > 0).astype(float), (few_y > 0).astype(float)
    queries = {m: np.arange(m) // 20 for m in (2_000, 20_000, 100_000)}
    pairs = kr.make_preferences(n_items=1_000, n_pairs=20_000, random_state=0)
    gaussian = partial(kr.RankRLS, kernel="gaussian")
    reduced = partial(gaussian, basis=300, random_state=0)
    co = {"qid": queries[2_000], "X_unscored": long[2_000:]}
    return {
        "linear fit, 100,000 × 200": lambda: kr.RankRLS().fit(tall, tall_y),
        "linear fit, 5,000 queries": lambda: kr.RankRLS().fit(tall, tall_y, qid=queries[100_000]),
        "Gaussian fit, 2,000 items": lambda: gaussian().fit(X, y),
        "Gaussian fit, 100 queries": lambda: gaussian().fit(X, y, qid=queries[2_000]),
        "fit with a basis of 300": lambda: reduced().fit(long, long_y),
        "fit_path, 31 alphas": lambda: gaussian().fit_path(X, y, 2.0 ** np.arange(-15, 16)),
        "fit_pairs, Gaussian": lambda: gaussian().fit_pairs(*pairs),
        "search, Gaussian, 100 queries": lambda: kr.RankRLSCV(kernel="gaussian").fit(X, y, qid=queries[2_000]),
        "search with preferences": lambda: kr.RankRLSCV(kernel="gaussian").fit_pairs(*pairs),
        "leave_pair_out, Gaussian": lambda: kr.leave_pair_out(gaussian(), X, classes),
        "leave_query_out, Gaussian": lambda: kr.leave_query_out(gaussian(), X, y, queries[2_000]),
        "estimate_auc, 80 × 1,000": lambda: kr.estimate_auc(kr.RankRLS(), few, few_classes),
        "estimate_auc of a search": lambda: kr.estimate_auc(kr.RankRLSCV(), few, few_classes),
        "RankSVM, 1,000 queries": lambda: kr.RankSVM(100.0).fit(long, long_y, qid=queries[20_000]),
        "RankSVM, Gaussian, 1,000 items": lambda: kr.RankSVM(1.0, kernel="gaussian").fit(X[:1_000], y[:1_000]),
        "GreedyRankRLS": lambda: kr.GreedyRankRLS(10).fit(long[:, :10], long_y, qid=queries[20_000]),
        "CoRankRLS": lambda: kr.CoRankRLS(basis=100).fit(long[:2_000], long_y[:2_000], **co),
    }


@contextmanager
def both_pools() -> Iterator[None]:
    """Give NumPy its threads back, as if there were one pool."""
    with patch.object(arrays, "_of_numpy", list):
        yield


def seconds(call: Callable[[], Any], n_threads: int | None) -> float:
    sleep(PAUSE)
    with threadpool_limits(n_threads):
        start = perf_counter()
        call()
        return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of calls")
    only = parser.parse_args().only
    print(f"{'':<34}{'one thread':>12}{'all threads':>13}{'ratio':>8}{'both pools':>12}")
    for name, call in calls().items():
        if not any(part in name for part in only):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            best = np.full(3, np.inf)
            for _ in range(REPEATS):
                found = [seconds(call, 1), seconds(call, None)]
                with both_pools():
                    found.append(seconds(call, None))
                best = np.minimum(best, found)
        print(f"{name:<34}{best[0]:10.3f} s{best[1]:11.3f} s{best[1] / best[0]:8.2f}{best[2] / best[0]:12.2f}")


if __name__ == "__main__":
    main()
