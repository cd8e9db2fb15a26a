"""What the shortcuts for relations shorten: paths by listing them, hold-outs by training again."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np

from kernelrank.estimators import RLS, RankRLS
from kernelrank.relations import Sentence


def shortest_path_parts(sentence: Sentence, first: int, second: int) -> tuple[set[int], set[int]]:
    """Tokens and dependencies on any shortest undirected path between the tokens of two mentions, path by path."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(len(sentence.tokens)))
    for place, link in enumerate(sentence.dependencies):
        graph.add_edge(link.governor, link.dependent, key=place)
    paths = []
    for one in sentence.mentions[first].tokens:
        for other in sentence.mentions[second].tokens:
            if nx.has_path(graph, one, other):
                paths += list(nx.all_shortest_paths(graph, one, other))
    if not paths:
        return set(), set()
    shortest = min(map(len, paths))
    tokens, links = set(), set()
    for path in paths:
        if len(path) == shortest:
            tokens |= set(path)
            for a, b in pairwise(path):
                links |= set(graph[a][b])
    return tokens, links


def steps_of_shortest_paths(sentence: Sentence, first: int, second: int) -> set[tuple[int, int, int]]:
    """Steps on any shortest undirected path from one mention to another, path by path: from, dependency, to."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(len(sentence.tokens)))
    for place, link in enumerate(sentence.dependencies):
        graph.add_edge(link.governor, link.dependent, key=place)
    ends = [(a, b) for a in sentence.mentions[first].tokens for b in sentence.mentions[second].tokens]
    paths = [path for a, b in ends if nx.has_path(graph, a, b) for path in nx.all_shortest_paths(graph, a, b)]
    shortest = min(map(len, paths), default=0)
    return {
        (a, place, b) for path in paths if len(path) == shortest for a, b in pairwise(path) for place in graph[a][b]
    }


def train_and_score(
    K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, alpha: float, *, ranks: bool
) -> np.ndarray:
    """Fit on some items and score others; RankRLS with the constant that makes its mean error zero."""
    kind = RankRLS(alpha, kernel="precomputed", query_weight="items") if ranks else RLS(alpha, kernel="precomputed")
    inside = K[np.ix_(train, train)]
    model = kind.fit(inside, y[train])
    constant = np.mean(y[train] - model.predict(inside)) if ranks else 0.0
    return np.asarray(model.predict(K[np.ix_(test, train)]) + constant)
