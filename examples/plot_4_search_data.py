"""
Ranking documents for search
============================

Data sets for search come as text files: a grade from 0 to 4, the query, and numbered features, in
the format of SVMlight and LETOR. We write such a file, read it back, and compare two rankers by
NDCG@10 with a paired test.
"""

# %%
# One hundred and fifty queries. Most documents are not relevant, which is usual in search and
# leaves few pairs that matter.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelrank as kr
from kernelrank.data import write_ranking

X, utility, qid = kr.make_ranking(
    n_queries=150, n_items=(10, 40), n_features=20, n_informative=8, noise=1.2, random_state=0
)
grades = np.digitize(utility, np.quantile(utility, [0.6, 0.8, 0.92, 0.98])).astype(float)

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "documents.txt"
write_ranking(path, X, grades, qid=qid)
print(path.read_text()[:150], "...")

# %%
# `read_ranking` gives a sparse matrix, the grades and the queries. The queries are split, never
# their documents.

documents = kr.read_ranking(path)
X, y, qid = documents.X, documents.y, documents.qid
train, test = next(kr.QueryKFold(3).split(X, y, groups=qid))
folder.cleanup()

# %%
# Two rankers learn from the same pairs: one with squared errors of the differences, one with the
# hinge loss, which requires a margin. Alpha is chosen on training queries only, by NDCG@10: exactly
# for RankRLS, with one split for RankSVM, which has no such shortcut.

squares = kr.RankRLSCV(scoring="ndcg@10").fit(X[train], y[train], qid=qid[train])

inner, outer = (
    train[part] for part in next(kr.QueryKFold(3).split(X[train], y[train], groups=qid[train]))
)
candidates = [
    kr.RankSVM(alpha).fit(X[inner], y[inner], qid=qid[inner]) for alpha in (10.0, 1e2, 1e3, 1e4)
]
held_out = [
    kr.metrics.ndcg(y[outer], candidate.predict(X[outer]), qid=qid[outer], k=10)
    for candidate in candidates
]
hinges = kr.RankSVM(candidates[int(np.argmax(held_out))].alpha).fit(
    X[train], y[train], qid=qid[train]
)
print(f"alpha: RankRLS {squares.alpha_:g}, RankSVM {hinges.alpha:g}")

# %%
# The label of a result states its rules: the gain, and how ties and queries without a relevant
# document are handled.

measure = kr.metrics.NDCG(k=10)
first = measure(y[test], squares.predict(X[test]), qid=qid[test])
second = measure(y[test], hinges.predict(X[test]), qid=qid[test])
for name, result in (("RankRLS", first), ("RankSVM", second)):
    print(f"{name}: {result}; {result.interval(random_state=0)}")

# %%
# The two intervals overlap, but both rankers were measured on the same easy and hard queries. The
# paired test uses the differences, query by query.

print(kr.metrics.paired_test(first, second, random_state=0))

_, ax = plt.subplots()
ax.hist(first.values - second.values, bins=15)
ax.axvline(0, color="0.4", lw=1)
ax.locator_params(axis="x", nbins=5)
ax.set(xlabel="NDCG@10 of RankRLS less that of RankSVM", ylabel="queries")

# %%
# Each dot is a query.

_, ax = plt.subplots()
ax.scatter(first.values, second.values, s=15)
ax.plot([0, 1], [0, 1], color="0.6", lw=1)
ax.set(xlabel="NDCG@10 of RankRLS", ylabel="NDCG@10 of RankSVM")
# sphinx_gallery_thumbnail_number = 2

# %%
# The same queries are hard for both. Neither loss takes into account that NDCG depends mostly on
# the top of the list: a method that optimises NDCG directly, such as boosted trees with
# LambdaMART, can do better with many data and nonlinear features. Use these two if a clear
# objective, an exact solution and exact cross-validation are more important.
