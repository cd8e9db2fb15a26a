"""Claim: transduction costs less than two eigendecompositions, and ten anchors little more than one.

A search over fifteen alphas and five anchors by `TransductiveRankRLSCV` is beside one fit; nothing is claimed of it.

Run: python benchmarks/transduction_costs_two_decompositions.py [--items 2000] [--rows 40000]

Half of the queries, of ten items each, are unscored. With a kernel the reference is the eigendecomposition of the
centred m × m kernel matrix, which is what training for every alpha costs; ours is a whole `fit` or `fit_path`, the
kernel, the inductive model, the cross-validation of every query, the transduction and the last training included. The
literal way trains once for every fold and unknown score; one such training is measured and multiplied.

With fewer columns than items nothing of the size of the items squared is formed. There the reference is one training
of RankRLS, beside a leave-query-out of the same items, and the peak memory is beside what one m × m array would take.
All in CPU seconds on one thread.
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import peak_megabytes, report, time_interleaved
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

import kernelrank as kr
from kernelrank.base.labels import Queries
from kernelrank.comparisons import ScoredQueries
from kernelrank.kernels import Kernel

ANCHORS = 10.0 ** np.arange(-5, 5)
PER_QUERY = 10


def make_data(n_items: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, qid = kr.make_ranking(n_items // PER_QUERY, PER_QUERY, n_features, noise=0.5, random_state=0)
    return X, np.where(qid % 2 == 1, np.nan, y), qid


def compare_kernel(n_items: int) -> None:
    X, y, qid = make_data(n_items, 20)
    graph = ScoredQueries(np.nan_to_num(y)[:, None], Queries.from_labels(qid, n_items))
    centred = graph.centre_kernel(Kernel("rbf").matrix(X))
    model = kr.TransductiveRankRLS(1.0, kernel="rbf")
    scored = qid % 2 == 0
    runs = {
        "eigendecomposition, m × m": lambda: eigh(centred, driver="evd", check_finite=False),
        "one anchor": lambda: model.fit(X, y, qid=qid),
        "ten anchors": lambda: model.fit_path(X, y, ANCHORS, qid=qid),
        "one RankRLS on the scored queries": lambda: kr.RankRLS(kernel="rbf").fit(
            X[scored], y[scored], qid=qid[scored]
        ),
    }
    seconds = time_interleaved(runs, 3, 1)
    report(f"a Gaussian kernel, m = {n_items:,}, half of them unscored", seconds, "eigendecomposition, m × m", 2.0)
    print(f"  ten anchors take {seconds['ten anchors'] / seconds['one anchor']:.2f} × one")
    trainings = n_items // PER_QUERY * (n_items // 2)
    literal = trainings * seconds["one RankRLS on the scored queries"]
    print(f"  the literal way, {trainings:,} trainings: {literal / seconds['one anchor']:,.0f} × one anchor")


def fit_linear(n_items: int, n_features: int) -> None:
    X, y, qid = make_data(n_items, n_features)
    with threadpool_limits(1):
        kr.TransductiveRankRLS(1.0).fit(X, y, qid=qid)


def compare_columns(n_items: int, n_features: int) -> None:
    megabytes = peak_megabytes(fit_linear, n_items, n_features) - peak_megabytes(make_data_only, n_items, n_features)
    X, y, qid = make_data(n_items, n_features)
    known = np.nan_to_num(y)
    model = kr.TransductiveRankRLS(1.0)
    runs = {
        "RankRLS, the spectrum for every alpha": lambda: kr.RankRLS(solver="spectral").fit(X, known, qid=qid),
        "leave-query-out": lambda: kr.leave_query_out(kr.RankRLS(), X, known, qid),
        "one anchor": lambda: model.fit(X, y, qid=qid),
        "ten anchors": lambda: model.fit_path(X, y, ANCHORS, qid=qid),
    }
    seconds = time_interleaved(runs, 3, 1)
    title = f"{n_features} columns, m = {n_items:,}, half of them unscored"
    report(title, seconds, "RankRLS, the spectrum for every alpha")
    print(f"  ten anchors take {seconds['ten anchors'] / seconds['one anchor']:.2f} × one")
    print(f"  peak memory over the data: {megabytes:,.0f} MB; one m × m array is {8e-6 * n_items**2:,.0f} MB")


def compare_search(n_items: int, n_features: int, kernel: str) -> None:
    X, y, qid = make_data(n_items, n_features)
    search = kr.TransductiveRankRLSCV(2.0 ** np.arange(-4, 11), [0.01, 0.1, 1.0, 10.0, 100.0], kernel=kernel)
    runs = {
        "one fit": lambda: kr.TransductiveRankRLS(1.0, kernel=kernel).fit(X, y, qid=qid),
        "15 alphas × 5 anchors": lambda: search.fit(X, y, qid=qid),
    }
    report(f"search, {kernel}, {n_items:,} × {n_features}", time_interleaved(runs, 3, 1), "one fit")


def make_data_only(n_items: int, n_features: int) -> None:
    make_data(n_items, n_features)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=2_000, help="with a kernel")
    parser.add_argument("--rows", type=int, default=40_000, help="with few columns")
    parser.add_argument("--columns", type=int, default=100)
    arguments = parser.parse_args()
    compare_columns(arguments.rows, arguments.columns)
    compare_kernel(arguments.items)
    compare_search(600, 20, "rbf")
    compare_search(600, 20, "linear")
    compare_search(4_000, 20, "linear")
