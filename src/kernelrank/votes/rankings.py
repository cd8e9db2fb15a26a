r"""Rankings of several items, by the model of Plackett and Luce.

A ranking is a sequence of choices: its best item is chosen among all, the next one among the rest, and so on, an item i
of the set A with the probability ``exp(f_i) / Σ_{j in A} exp(f_j)`` [Pla75]. Of two items this is the model of Bradley
and Terry. With weights w of the choices c, P the matrix of these probabilities and n_i the weight of the choices of i,
minus the logarithm of the likelihood has the value, the gradient and the Hessian

``Σ w_c log Σ_{j in A_c} exp(f_j) - n·f``, ``Pᵀ w - n``, ``diag(Pᵀ w) - Pᵀ diag(w) P``.

Items that are tied stand for all of their orders, alike: the mean of the logarithms over all orders of up to three
items, and over the cyclic orders of more, forwards and backwards. A tie of two items is then half a vote each way.
Items that a ranking does not name take no part in it, unless they are said to be below.

Scores are ``f = X w + u`` with the priors of `score_estimate`. For given variances the posterior is normal around its
mode, with the curvature there (Laplace); variances are integrated out over a lattice by its evidence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_solve, lapack

from kernelrank.base.arrays import Float, Sparse
from kernelrank.base.labels import label_vector, number_labels
from kernelrank.base.validation import check_pair_values
from kernelrank.errors import InvalidInputError, NothingToCompareError
from kernelrank.votes.newton import factorise
from kernelrank.votes.score_estimate import LONGEST_STEP, SEEN, grow_lattice, normal_mixture, prior_log_density
from kernelrank.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class NumberedRankings:
    """Rankings as tiers of item numbers, the best first, with the items below each one, and weights (rankings,)."""

    n_items: int
    tiers: list[list[list[int]]]
    below: list[list[int]]
    weight: Float

    @classmethod
    def of(
        cls, rankings: Any, weight: Any, below: Any = None, known: NDArray[Any] | None = None
    ) -> tuple[NumberedRankings, NDArray[Any]]:
        """Check rankings of labels; also return the labels of all items."""
        tiers = [[list(one) if isinstance(one, (list, set, frozenset)) else [one] for one in row] for row in rankings]
        rest: list[list[Any]] = [[] for _ in tiers] if below is None else [list(row) for row in below]
        if len(rest) != len(tiers):
            raise InvalidInputError(f"Expected a list in `below` for each of {len(tiers)} rankings; got {len(rest)}.")
        flat = [item for row, last in zip(tiers, rest, strict=True) for item in [*itertools.chain(*row), *last]]
        start = 0 if known is None else len(known)
        if not flat:
            raise NothingToCompareError("nothing to compare: rankings is empty")
        labels = np.empty(start + len(flat), dtype=object)
        labels[:start], labels[start:] = [] if known is None else known, flat
        codes, items = number_labels(label_vector(labels, "rankings"), "rankings")
        if known is not None and len(items) > start:
            raise InvalidInputError(f"Expected rankings of items of `features`; got {items[start]!r}.")
        numbers = iter(codes[start:].tolist())
        for place, (row, last) in enumerate(zip(tiers, rest, strict=True)):
            row[:] = [[next(numbers) for _ in tier] for tier in row]
            last[:] = [next(numbers) for _ in last]
            used = [*itertools.chain(*row), *last]
            if len(set(used)) < len(used):
                twice = next(one for one in used if used.count(one) > 1)
                raise InvalidInputError(
                    f"Expected each item once in a ranking; rankings[{place}] has {items[twice]!r} twice."
                )
        size = check_pair_values(weight, len(tiers), name="weight")
        items = label_vector(items.tolist(), "rankings") if known is None else known
        return cls(len(items), tiers, rest, np.ones(len(tiers)) if size is None else size), items

    @property
    def votes(self) -> Votes:
        """The pairs that rankings imply, each a vote; memory O(pairs)."""
        pairs, ties, counts = [], [], []
        for row, last, size in zip(self.tiers, self.below, self.weight.tolist(), strict=True):
            order = np.array([*itertools.chain(*row), *last], dtype=np.int64)
            tier = np.repeat(np.arange(len(row) + 1), [*map(len, row), len(last)])
            upper, lower = np.triu_indices(len(order), 1)
            kept = tier[upper] < len(row)  # items below a ranking are not compared
            upper, lower = upper[kept], lower[kept]
            pairs.append(np.column_stack([order[upper], order[lower]]))
            ties.append(tier[upper] == tier[lower])
            counts.append(np.full(len(upper), size))
        tie, weight = np.concatenate(ties), np.concatenate(counts)
        return Votes.count(self.n_items, np.concatenate(pairs), tie=tie, weight=weight)


def fit_rankings(given: NumberedRankings, X: Float, alpha: float | str) -> tuple[Float, Float, Float, Float]:
    """Return scores, their covariance, the values of the variances, and the standard deviations of the prior.

    Shapes: X (m, n); returns (m,), (m, m), (3, v), (3, 1 or 2).
    """
    problem = RankingFit(Choices.of(given), X)
    return problem.mixed() if alpha == "auto" else problem.at(float(alpha))


def _orders(tier: list[int]) -> list[Sequence[int]]:
    """Return the orders that stand for tied items."""
    if len(tier) <= 3:
        return list(itertools.permutations(tier))
    turned = [tier[place:] + tier[:place] for place in range(len(tier))]
    return [*turned, *(order[::-1] for order in turned)]


def _choices(row: list[list[int]], last: list[int]) -> Iterator[tuple[float, Sequence[int]]]:
    """Return the choices of a ranking: a share of its weight, and the items, of which the first one is chosen."""
    after = [*itertools.chain(*row), *last]
    for tier in row:
        after = after[len(tier) :]
        orders = _orders(tier)
        for order in orders:
            for place in range(len(tier)):
                if len(tier) - place + len(after) > 1:
                    yield 1.0 / len(orders), [*order[place:], *after]


@dataclass(frozen=True, eq=False)
class Choices:
    """All choices of rankings: which items each was among, its weight, and the weight of the choices of each item.

    Shapes: among (c, m), weight (c,), chosen (m,).
    """

    among: Sparse
    weight: Float
    chosen: Float

    @classmethod
    def of(cls, given: NumberedRankings) -> Choices:
        """List the choices; memory O(n²) for a ranking of n items."""
        shares, items, sizes = [], [], []
        for row, last, size in zip(given.tiers, given.below, given.weight.tolist(), strict=True):
            for share, among in _choices(row, last):
                shares.append(share * size)
                items.append(np.array(among, dtype=np.int32))
                sizes.append(len(among))
        if not items:
            raise NothingToCompareError("nothing to compare: each ranking has a single item")
        ends = np.concatenate([[0], np.cumsum(sizes)])
        columns, shares_of = np.concatenate(items), np.array(shares)
        among_all = sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(sizes), given.n_items))
        chosen = np.bincount(columns[ends[:-1]], shares_of, given.n_items).astype(np.float64, copy=False)
        return cls(among_all, shares_of, chosen)

    def loss(self, f: Float) -> float:
        """Return minus the logarithm of the likelihood."""
        top = float(f.max())
        return float(self.weight @ (np.log(self.among @ np.exp(f - top)) + top)) - float(self.chosen @ f)

    def derivatives(self, f: Float) -> tuple[Float, Float]:
        """Return the gradient and the Hessian, dense (m × m)."""
        size = np.exp(f - float(f.max()))
        P = (sparse.diags_array(1.0 / (self.among @ size)) @ self.among @ sparse.diags_array(size)).tocsr()
        expected = P.T @ self.weight
        square = (P.T @ (sparse.diags_array(self.weight) @ P)).toarray()
        return expected - self.chosen, np.diag(expected) - square


@dataclass(frozen=True, eq=False)
class RankingFit:
    """Choices between items with features X (m, n), and the posterior of their scores."""

    choices: Choices
    X: Float

    def posterior(self, q: Float, start: Float, tolerance: float) -> tuple[Float, Float, Float, float]:
        """Return the mode of the coefficients, the covariance of scores, those of coefficients, and the evidence.

        Shapes: q, start (n + m,), the precision of the prior and a first guess.
        """
        Phi = np.hstack([self.X, np.eye(len(self.X))])
        c, value = start, np.inf
        for _ in range(100):
            gradient, H = self.choices.derivatives(Phi @ c)
            factor = factorise(Phi.T @ H @ Phi + np.diag(q))
            step = np.asarray(cho_solve((factor, False), -(Phi.T @ gradient + q * c)))
            longest = float(np.ptp(Phi @ step))
            step *= min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
            value = self.choices.loss(Phi @ c) + 0.5 * float(q @ c**2)
            size = 1.0
            while self._value(Phi, c + size * step, q) > value + 1e-9 * (1.0 + abs(value)) and size > 1e-3:
                size /= 2.0
            c = c + size * step
            if longest <= tolerance:
                break
        inverse, _ = lapack.dpotri(factor, lower=0)
        S = np.triu(inverse) + np.triu(inverse, 1).T
        evidence = 0.5 * float(np.log(q).sum()) - float(np.log(np.diagonal(factor)).sum()) - self._value(Phi, c, q)
        return c, Phi @ S @ Phi.T, np.diagonal(S), evidence

    def _value(self, Phi: Float, c: Float, q: Float) -> float:
        return self.choices.loss(Phi @ c) + 0.5 * float(q @ c**2)

    def at(self, alpha: float) -> tuple[Float, Float, Float, Float]:
        """Return scores, their covariance, no values of the variances, and the standard deviations of the prior."""
        m, n = self.X.shape
        c, S, *_ = self.posterior(np.full(n + m, 2.0 * alpha), np.zeros(n + m), 1e-11)
        tau = np.full((3, 1 + (n > 0)), (2.0 * alpha) ** -0.5)
        return self.X @ c[:n] + c[n:], S, np.zeros((3, 0)), tau

    def mixed(self) -> tuple[Float, Float, Float, Float]:
        """Return scores, their covariance, the values of the variances, and the standard deviations of the prior."""
        m, n = self.X.shape
        parts = [slice(0, n), slice(n, n + m)][n == 0 :]
        sizes = np.sqrt([max(n, 1), 1])[n == 0 :]  # τ is that of the scores
        found: dict[tuple[float, ...], tuple[Float, Float, Float, float]] = {}

        def evaluate(logs: Float) -> float:
            if tuple(logs) not in found:
                near = min(found, key=lambda other: float(np.abs(np.subtract(other, logs)).sum()), default=None)
                q = np.repeat((sizes * np.exp(-logs)) ** 2, [part.stop - part.start for part in parts])
                start = np.zeros(n + m) if near is None else found[near][0]
                c, S, variances, evidence = self.posterior(q, start, 1e-5)
                prior = sum(prior_log_density(float(np.exp(log))) for log in logs) - 0.5 * float(logs[:-1].sum())
                found[tuple(logs)] = c, S, q * variances, evidence + prior
            return found[tuple(logs)][-1]

        logs = np.full(len(parts), np.log(0.7))
        for _ in range(10):  # about where the evidence is largest, as in `estimate_scores`
            evaluate(logs)
            c, _, unknown, _ = found[tuple(logs)]
            used = np.array([max(part.stop - part.start - float(unknown[part].sum()), 0.0) for part in parts])
            squares = sizes**2 * [float(c[part] @ c[part]) for part in parts] + 0.25 * SEEN
            before, logs = logs, np.clip(0.5 * np.log(squares / (used + SEEN - 2.0)), np.log(0.02), np.log(20.0))
            if np.abs(logs - before).max() < 0.05:
                break
        deviation = np.sqrt(0.5 / (used + SEEN))
        step, faded = (np.minimum(0.35, 1.2 * deviation), 4.5) if n == 0 else (np.minimum(0.8, 2.0 * deviation), 3.0)
        low, high = (np.full(len(parts), np.log(end)) for end in (0.02, 20.0))
        kept = grow_lattice(evaluate, logs, step, low, high, faded=faded, dropped=7.0)
        chosen = [found[tuple(one)] for one in kept]
        weight = np.exp(np.array([one[-1] for one in chosen]) - max(one[-1] for one in chosen))
        weight /= weight.sum()
        scores = np.array([self.X @ c[:n] + c[n:] for c, *_ in chosen])
        mean, S, scales = normal_mixture(weight, scores, np.array([one[1] for one in chosen]))
        centre = weight @ np.array(kept)
        spread = np.sqrt(weight @ (np.array(kept) - centre) ** 2)
        return mean, S, scales, np.exp(centre + np.array([[0.0], [-1.96], [1.96]]) * spread)
