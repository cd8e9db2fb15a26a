"""
A first ranker
==============

Items come in queries: the documents found for a search, the patients of one clinic, the players
of one game. Items of one query are compared with each other and with no others. We learn to order
them, choose the one parameter that matters by exact hold-out, and look at the queries where the
ranker does worst.
"""

# %%
# Eighty queries of five to twenty-five items. Each query has its own level: a constant that is
# added to all of its scores. It changes no order, so that a ranker need not care, but a
# regression does.

import matplotlib.pyplot as plt

import kernelrank as kr
from kernelrank.report import AlphaCurveDisplay, QueryScoreDisplay

X, y, qid = kr.make_ranking(
    n_queries=80,
    n_items=(5, 25),
    n_features=15,
    noise=1.0,
    query_shift=5.0,
    qid_type="str",
    random_state=0,
)
train, test = next(kr.QueryKFold(4).split(X, y, groups=qid))
print(f"{len(train)} items to learn from, {len(test)} items of other queries to test on")

# %%
# `RankRLSCV` leaves out every query in turn, for every alpha of a grid. All of that comes from one
# decomposition, and is exactly what training again without each query would give. Alpha is the
# regularisation strength. The loss is a *sum* over pairs, so good values grow with the number of
# pairs. The grid holds powers of two times the scale of the data; it is extended if the best value
# is the first or the last.

model = kr.RankRLSCV().fit(X[train], y[train], qid=qid[train])
AlphaCurveDisplay.from_estimator(model, X[train], y[train], qid=qid[train])
plt.title("Every query held out once")

# %%
# Note the scale of the axis: the best and the worst alpha differ by a few thousandths only. There
# are sixty items for each feature here, so regularisation hardly matters. With many features, or
# with a kernel, it does.
#
# The held-out score belongs to training queries. It was used to choose alpha, so we quote the
# other queries.

print(f"held out while choosing: {model.best_score_:.3f}")
print(f"test queries:            {model.score(X[test], y[test], qid=qid[test]):.3f}")

# %%
# Both are the share of pairs in the right order, for each query and averaged: 0.5 is chance. The
# noise is as strong as the signal here, so that even the true coefficients do not reach 1. Some
# queries are far below the mean, and the display names them. A query of five items has ten pairs
# only: its value is coarse, and often low by chance.

QueryScoreDisplay.from_estimator(model, X[test], y[test], qid=qid[test], n_worst=3, random_state=0)

# %%
# How good is a regression on the same data? For it, the levels of the queries are noise.

regression = kr.RLSCV().fit(X[train], y[train])
accuracy = kr.metrics.pairwise_accuracy(y[test], regression.predict(X[test]), qid=qid[test])
print(f"regression on the same items: {accuracy:.3f}")

# %%
# Without these levels (``query_shift=0``) regression is as good: on these queries it reaches
# 0.750, and the ranker 0.744 as before. If queries have no level of their own, a regression can
# also learn from differences between queries, which the ranker ignores.
