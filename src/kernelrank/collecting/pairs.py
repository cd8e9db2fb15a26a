"""Which pair a judge compares next.

First every item gets a minimum of votes. Then the pair is chosen whose vote tells most about the scores, ``h v`` for
the variance v of the difference and the mean curvature h of a vote by this judge (`votes/next_votes.py`). The
posterior is that of the last fit. Votes and open pairs since then count as if each had added 1/5 to the precision of
its items, so that judges who vote at the same time get different pairs.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Collection as Container
from typing import Literal

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.collecting.outlook import Outlook
from kernelrank.errors import InvalidInputError
from kernelrank.votes.next_votes import information

Design = Literal["adaptive", "random", "fixed"]
Pair = tuple[int, int]
OPEN_SECONDS = 600.0
"""A pair that was handed out and not voted on counts as open for so long."""


class PairChoice:
    """The choice of pairs, and what it remembers.

    Parameters
    ----------
    design : {"adaptive", "random", "fixed"}
    minimum : int
        The votes that every item gets before information counts.
    seed : int or None
    """

    def __init__(self, design: Design = "adaptive", *, minimum: int = 2, seed: int | None = None) -> None:
        self.design, self.minimum = design, minimum
        self.random = np.random.default_rng(seed)
        self.outlook: Outlook | None = None
        self.category = self.counts = self._known_counts = np.zeros(0, dtype=np.int64)
        self._open: dict[int, tuple[float, Pair]] = {}
        self._fixed: list[Pair] = []
        self._votes: Counter[int] = Counter()

    def set_items(self, category: Index) -> None:
        """Take the items, compared within their categories, shape (m,); those there were stay the first ones."""
        more = np.zeros(len(category) - len(self.counts), dtype=np.int64)
        self.category = category
        self.counts, self._known_counts = np.append(self.counts, more), np.append(self._known_counts, more)
        groups = (np.flatnonzero(category == group) for group in np.unique(category))
        self._groups = [group for group in groups if len(group) > 1]
        self._group_of = {int(category[group[0]]): group for group in self._groups}
        self._comparable = np.isin(category, list(self._group_of))

    def fix(self, pairs: list[Pair]) -> None:
        """Take the pairs of the fixed design, in their order."""
        if not pairs:
            raise InvalidInputError("Expected pairs for the fixed design; got none.")
        self._fixed = [(min(pair), max(pair)) for pair in pairs]

    def learn(self, outlook: Outlook) -> None:
        """Take the result of a new fit."""
        self.outlook = outlook
        self._known_counts = np.zeros(len(self.counts), dtype=np.int64)
        self._known_counts[: len(outlook.counts)] = outlook.counts

    def key(self, pair: Pair) -> int:
        """Return one number for a pair, whatever its order; the same however many items are added."""
        return (min(pair) << 32) + max(pair)

    def voted(self, pair: Pair, sign: int = 1) -> None:
        """Count a vote on a pair, or with -1 that it is undone."""
        self.counts[list(pair)] += sign
        self._votes[self.key(pair)] += sign
        self._open.pop(self.key(pair), None)

    def choose(self, seen: Container[int], scale: float = 1.0) -> Pair | None:
        """Return the next pair of a judge who has seen some pairs, and keep it open; None if there is no other pair."""
        now = time.monotonic()
        while self._open and (first := next(iter(self._open.items())))[1][0] < now:
            del self._open[first[0]]
        pair = self._fixed_pair(seen) if self.design == "fixed" else self._free_pair(seen, scale)
        if pair is not None:
            self._open.pop(self.key(pair), None)
            self._open[self.key(pair)] = (now + OPEN_SECONDS, pair)
        return pair

    def _fixed_pair(self, seen: Container[int]) -> Pair | None:
        """Return the pair with the fewest votes, the first of those in the list."""
        left = [pair for pair in self._fixed if self.key(pair) not in seen]
        return min(left, key=self._n_votes, default=None)

    def _n_votes(self, pair: Pair) -> int:
        key = self.key(pair)
        return self._votes[key] + (key in self._open)

    def _free_pair(self, seen: Container[int], scale: float) -> Pair | None:
        shown = self._shown()
        pair = self._pair_of_a_rare_item(seen, shown)
        if pair is None and self.design == "adaptive" and self.outlook is not None:
            pair = self._informative_pair(self.outlook, seen, shown, scale)
        return pair or self._random_pair(seen)

    def _shown(self) -> Index:
        """Return how often each item was voted on or is open."""
        opened = np.array([pair for _, pair in self._open.values()], dtype=np.int64)
        return np.asarray(self.counts + np.bincount(opened.ravel(), minlength=len(self.counts)))

    def _pair_of_a_rare_item(self, seen: Container[int], shown: Index) -> Pair | None:
        """Return a pair of the item with the fewest votes, with another such item where there is one."""
        rare = np.flatnonzero((shown < self.minimum) & self._comparable)
        if len(rare) == 0:
            return None
        item = int(self.random.choice(rare[shown[rare] == shown[rare].min()]))
        group = self._group_of[int(self.category[item])]
        others = self.random.permutation(group if len(group) <= 64 else self.random.choice(group, 64, replace=False))
        if self.design == "adaptive" and self.outlook is not None and len(self.outlook.scores[0]) == len(shown):
            d, own = self.outlook.scores[:, others] - self.outlook.scores[:, [item]], self.outlook.std**2
            gain = information(d, own[:, others] + own[:, [item]]).sum(axis=0)
            others = others[np.argsort(-gain, kind="stable")]
        for other in others[np.argsort(shown[others] >= self.minimum, kind="stable")].tolist():
            if other != item and self._is_free((item, other), seen):
                return item, other
        return None

    def _is_free(self, pair: Pair, seen: Container[int]) -> bool:
        key = self.key(pair)
        return key not in seen and key not in self._open

    def _gains(self, outlook: Outlook, shown: Index, scale: float) -> Float:
        """Return the information of each pair of the last fit, with what came after it, shape (k,)."""
        m = outlook.std.shape[1]
        more = np.maximum(shown - self._known_counts, 0)[:m]
        own = outlook.std**2
        after = own / (1.0 + 0.2 * more * own)
        first, second = outlook.pairs.T
        ratio = (after[:, first] + after[:, second]) / (own[:, first] + own[:, second])
        return np.asarray(information(outlook.difference, outlook.variance * ratio, scale).sum(axis=0))

    def _informative_pair(self, outlook: Outlook, seen: Container[int], shown: Index, scale: float) -> Pair | None:
        gains = self._gains(outlook, shown, scale)
        for n in (64, len(gains)):
            best = np.argpartition(-gains, n)[:n] if n < len(gains) else np.arange(len(gains))
            for first, second in outlook.pairs[best[np.argsort(-gains[best], kind="stable")]].tolist():
                if self._is_free((first, second), seen):
                    return first, second
        return None

    def _random_pair(self, seen: Container[int]) -> Pair | None:
        """Return a random pair that the judge has not seen."""
        if not self._groups:
            return None
        sizes = np.array([len(group) * (len(group) - 1.0) for group in self._groups])
        for attempt in range(100):
            group = self._groups[int(self.random.choice(len(sizes), p=sizes / sizes.sum()))]
            first, second = self.random.choice(group, 2, replace=False).tolist()
            if self.key((first, second)) not in seen and (attempt >= 50 or self._is_free((first, second), seen)):
                return first, second
        if len(self.counts) > 1_000:
            return None
        pairs = (pair for group in self._groups for pair in itertools.combinations(group.tolist(), 2))
        return next((pair for pair in pairs if self.key(pair) not in seen), None)  # of a judge who has seen almost all
