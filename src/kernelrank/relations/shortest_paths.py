"""Shortest undirected paths in a dependency graph.

A token lies on a shortest path between two mentions if and only if its distances to both add up to that between them;
a dependency does if one of its ends is as far from the first mention as the other end is from the second, less one. So
one breadth-first search for each mention serves all its pairs, and all shortest paths are found, not one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelrank.relations.dependency import Dependency

__all__ = ["UNREACHED", "distances_from", "neighbours", "on_shortest_paths"]

# Larger than any sum of two distances in a sentence.
UNREACHED = 1 << 40


def neighbours(n_tokens: int, dependencies: Iterable[Dependency]) -> list[list[int]]:
    """List the tokens that share a dependency with each token, whatever its direction. Time O(dependencies)."""
    adjacent: list[list[int]] = [[] for _ in range(n_tokens)]
    for governor, dependent, _ in dependencies:
        adjacent[governor].append(dependent)
        adjacent[dependent].append(governor)
    return adjacent


def distances_from(tokens: Iterable[int], adjacent: Sequence[Sequence[int]]) -> list[int]:
    """Return the distance of each token to the nearest of some tokens, in dependencies. Time O(dependencies).

    Examples
    --------
    >>> distances_from([0], [[1], [0, 2], [1], []])[:3]
    [0, 1, 2]
    """
    distance = [UNREACHED] * len(adjacent)
    frontier = list(tokens)
    for token in frontier:
        distance[token] = 0
    steps = 0
    while frontier:
        steps += 1
        reached = []
        for token in frontier:
            for other in adjacent[token]:
                if distance[other] == UNREACHED:
                    distance[other] = steps
                    reached.append(other)
        frontier = reached
    return distance


def on_shortest_paths(
    first: Sequence[int], second: Sequence[int], dependencies: Sequence[Dependency]
) -> tuple[list[int], list[int]]:
    """Find the tokens and the dependencies on the shortest paths between two mentions; none if there is no path.

    Time O(tokens + dependencies).

    Parameters
    ----------
    first, second : list of int
        The distances of all tokens from either mention.
    dependencies : sequence of Dependency

    Returns
    -------
    tokens, dependencies : list of int
        Their places.

    Examples
    --------
    >>> on_shortest_paths([0, 1, 2], [2, 1, 0], [Dependency(1, 0, "nsubj"), Dependency(1, 2, "dobj")])
    ([0, 1, 2], [0, 1])
    """
    sums = [a + b for a, b in zip(first, second, strict=True)]
    length = min(sums)
    if length >= UNREACHED:
        return [], []
    tokens = [place for place, total in enumerate(sums) if total == length]
    links = [
        place
        for place, (one, other, _) in enumerate(dependencies)
        if sums[one] == length
        and sums[other] == length
        and (first[one] + second[other] == length - 1 or first[other] + second[one] == length - 1)
    ]
    return tokens, links
