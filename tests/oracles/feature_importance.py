"""Permutation importance as it is defined: permute each query by itself, predict, measure pair by pair."""

from __future__ import annotations

import numpy as np


def pair_accuracy(y, scores, qid):
    """The share of pairs in the right order, averaged over the queries that have a pair."""
    values = []
    for query in dict.fromkeys(qid):
        items = [i for i, label in enumerate(qid) if label == query]
        wins = [
            1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
            for i in items
            for j in items
            if y[i] > y[j]
        ]
        if wins:
            values.append(np.mean(wins))
    return np.mean(values)


def all_permutations_importance(predict, X, y, qid, feature):
    """The mean fall over all permutations of queries of two items each: keep or exchange."""
    queries = [[i for i, label in enumerate(qid) if label == query] for query in dict.fromkeys(qid)]
    base, falls = pair_accuracy(y, predict(X), qid), []
    for number in range(2 ** len(queries)):
        changed = X.copy()
        for place, (first, second) in enumerate(queries):
            if number >> place & 1:
                changed[[first, second], feature] = X[[second, first], feature]
        falls.append(base - pair_accuracy(y, predict(changed), qid))
    return np.mean(falls)
