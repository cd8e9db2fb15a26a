r"""Scores that depend on what a vote was about: covariates of a vote, categories, and times.

A vote of the category c at the time t on the items h and j has the difference

``η = s_h - s_j + γ · z``, ``s_i = w · x_i + u_i + g_ic + h_it``,

with covariates z of the vote, features x of the items, and independent normal w, u and g; h is a process of Ornstein
and Uhlenbeck for each item, ``Cov(h_t, h_t') = σ² exp(-|t - t'| / ℓ)``, of which a random walk is the limit for a
large ℓ. Its unit of time is the span of all votes, and its size is told by the standard deviation of a change over
that span, ``δ² = 2 σ² (1 - exp(-1 / ℓ))``.

For given variances the posterior is the normal distribution of `score_estimate`. Its precision has blocks: slices, one
for each time (or each category, if there are no times), with an m × m block S_t each, of which only neighbours in time
are coupled; and a border G of all coefficients that slices share:

``A = [[G, Bᵀ], [B, S]]``, ``M = (G - Bᵀ S⁻¹ B)⁻¹``, ``Cov(s_t) = (S⁻¹)_tt + F_t M F_tᵀ``, ``F_t = P - (S⁻¹ B)_t``,

where P takes the scores of items from the shared coefficients. Elimination along the chain takes O(T m² (m + r)) time
and memory O(T m (m + r)) for T slices and r shared coefficients, so that p covariates cost a p × p complement.

Covariates may go with quality: better items may give longer answers. A prior of u that knew nothing of it would take a
part of u for an effect of z. So the part of each covariate that items explain, ``L⁺ Dᵀ n z`` with the Laplacian L of
the votes n, is a feature of the items, with a wide prior.

Variances are integrated out over a lattice of their logarithms as in `score_estimate`, with the same evidence, in which
the trace of the covariance times the precision of the prior is the number of coefficients less ``Σ w_e v_e``, with the
curvature w and the variance v of each row. Where they are known well (many items, and few shares of the prior) the
values at the peak are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack

from kernelrank.base.arrays import Float, Index
from kernelrank.votes.likelihood import DavidsonVotes, LogisticVotes, decided_probability
from kernelrank.votes.newton import LIGHT, factorise
from kernelrank.votes.score_estimate import LONGEST_STEP, SEEN, grow_lattice, prior_log_density
from kernelrank.votes.votes import Ballots, Votes

HUMAN = 1e8
"""The precision of deviations of human judges, which have none."""

MOST_VALUES = 60
"""The largest number of values of the variances that are added up."""

DRAWN_WIDER = 1.3
"""How much wider than the peak values of many variances are drawn, because the evidence falls more slowly."""

HABIT = 2.0
"""The standard deviation, in logits, of the part of scores that goes with a covariate: wider than what is seen."""


@dataclass(frozen=True, eq=False)
class Boards:
    """Scores on several boards, such as one for each category, and the effects of covariates, variances integrated out.

    Shapes: scores (b, m), covariances (b, m, m), everywhere (slices, categories, m), effects (p,), effects_covariance
    (p, p), scales (3, values), spreads (3, number of variances).

    spreads: The standard deviations of the prior and the ends of their 95 % intervals, in the order of `names`.
    worth: How many human votes each machine judge is worth, and all together; empty without them.
    """

    scores: Float
    covariances: Float
    everywhere: Float
    effects: Float
    effects_covariance: Float
    scales: Float
    names: tuple[str, ...]
    spreads: Float
    model: LogisticVotes
    worth: Float


class Wanted(NamedTuple):
    """A board: of a category (-1 for none) and a slice (None for what all have in common), or how far it is apart."""

    category: int = -1
    slice_of: int | None = None
    apart: bool = False


@dataclass(frozen=True, eq=False)
class LatentVotes:
    """Votes, with the slice and the category of each row, and what their scores are made of.

    Shapes: X (m, n), slice_of (k,), category_of (k,), times (n_slices,).

    times: Between 0 and 1, if slices are times; each row then may have a category besides.
    n_habits: How many of the last features are the parts of covariates that items explain.
    machines: The number of machine judges, if slices are human judges and these.
    scale: What the difference of the scores of each row is multiplied by.
    """

    votes: Votes
    X: Float
    n_slices: int = 0
    n_categories: int = 0
    slice_of: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    category_of: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    times: Float | None = None
    n_habits: int = 0
    machines: int = 0
    scale: Float | float = 1.0

    def scaled(self, logs: Float) -> LatentVotes:
        """Return the votes with the scales of machine judges."""
        if not self.machines:
            return self
        scales = np.exp([0.0, *logs[[name.startswith("scale") for name in self.names]]])
        return replace(self, scale=scales[self.slice_of])

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The numbers of covariates, features, items, and categories that are not slices."""
        p = 0 if self.votes.covariates is None else self.votes.covariates.shape[1]
        return p, self.X.shape[1], self.votes.n_items, self.n_categories

    @property
    def names(self) -> tuple[str, ...]:
        """The standard deviations of the prior."""
        found = ["features"] * (self.X.shape[1] > self.n_habits) + ["items"]
        if self.n_categories or (self.n_slices and self.times is None and not self.machines):
            found.append("categories")
        for judge in range(self.machines):
            found += [f"scale {judge}", f"deviation {judge}"]
        return (*found, *(("drift", "length") if self.times is not None else ()))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of an array of the scores of all boards: slices, categories, items."""
        return max(self.n_slices, 1), max(self.n_categories, 1), self.votes.n_items

    @cached_property
    def _board(self) -> Index:
        """The number of the slice and the category of each row."""
        k, n = len(self.votes.pairs), self.shape[1]
        slices = self.slice_of if self.n_slices else np.zeros(k, dtype=np.int64)
        return slices * n + self.category_of if self.n_categories else slices * n

    @cached_property
    def _rows(self) -> list[Index]:
        """The rows of each board."""
        if self.shape[:2] == (1, 1):
            return [np.arange(len(self.votes.pairs))]
        order = np.argsort(self._board, kind="stable")
        ends = np.searchsorted(self._board[order], np.arange(self.shape[0] * self.shape[1] + 1))
        return [order[start:end] for start, end in pairwise(ends)]

    def scores(self, shared: Float, local: Float) -> Float:
        """Return the scores of all boards, shape `shape`, from the coefficients."""
        p, n, m, c = self.sizes
        common = self.X @ shared[p : p + n] + shared[p + n : p + n + m]
        own = shared[p + n + m :].reshape(c, m) if c else 0.0
        return np.asarray(common + own + (local[:, None] if self.n_slices else np.zeros(self.shape)))

    def differences(self, shared: Float, local: Float) -> Float:
        """Return η of each row."""
        return self.differences_of(self.scores(shared, local), shared[: self.sizes[0]])

    def differences_of(self, scores: Float, effects: Float) -> Float:
        """Return η of each row, for the scores of all boards and the effects of covariates."""
        s = scores.reshape(-1, self.sizes[2])
        eta: Float = self.scale * (s[self._board, self.votes.head] - s[self._board, self.votes.tail])
        return eta if self.votes.covariates is None else eta + self.votes.covariates @ effects

    def sums(self, values: Float) -> Float:
        """Sum values of rows times their scale, shape (k,), for each item of each board."""
        values = self.scale * values
        m, size = self.sizes[2], int(np.prod(self.shape))
        found: Float = np.bincount(self._board * m + self.votes.head, values, size).astype(np.float64, copy=False)
        found -= np.bincount(self._board * m + self.votes.tail, values, size)
        return found.reshape(self.shape)

    def laplacians(self, weight: Float) -> Float:
        """Return ``Dᵀ diag(weight scale²) D`` of each board, shape (slices, categories, m, m)."""
        weight = self.scale**2 * weight
        m, head, tail = self.sizes[2], self.votes.head, self.votes.tail
        start = self._board * m * m
        ends = ((head, head, 1.0), (tail, tail, 1.0), (head, tail, -1.0), (tail, head, -1.0))
        found = np.zeros(int(np.prod(self.shape)) * m)
        for row, column, sign in ends:
            found += sign * np.bincount(start + row * m + column, weight, len(found))
        return found.reshape(*self.shape, m)

    def gradient(self, of_rows: Float) -> tuple[Float, Float]:
        """Return the sums by the shared and by the local coefficients, of what rows have by η."""
        items = self.sums(of_rows)
        common = items.sum(axis=(0, 1))
        own = items.sum(axis=0).ravel() if self.n_categories else np.zeros(0)
        covariates = np.zeros(0) if self.votes.covariates is None else self.votes.covariates.T @ of_rows
        return np.concatenate([covariates, self.X.T @ common, common, own]), items.sum(axis=1)[: self.n_slices]


def latent_votes(ballots: Ballots, votes: Votes, X: Float, *, habits: bool = False) -> LatentVotes:
    """Return votes that were counted with contexts, with what their scores are made of."""
    assert votes.group is not None
    n, n_habits, machines = ballots.n_categories, 0, 0 if ballots.machines is None else len(ballots.machines)
    if habits and votes.covariates is not None:
        own = _habits(votes, votes.covariates)
        X, n_habits = np.hstack([X, own]), own.shape[1]
    if ballots.times is None and not machines:
        return LatentVotes(votes, X, 0 if ballots.category is None else n, 0, votes.group, n_habits=n_habits)
    n_crossed, times, n_slices = 0 if ballots.category is None else n, None, machines + 1
    if ballots.times is not None:
        span = max(float(ballots.times[-1] - ballots.times[0]), 1e-300)
        times, n_slices = (ballots.times - ballots.times[0]) / span, len(ballots.times)
    groups = votes.group // n, votes.group % n
    return LatentVotes(votes, X, n_slices, n_crossed, *groups, times, n_habits, machines)


def wanted_boards(ballots: Ballots) -> list[Wanted]:
    """All times, or one board for all; one for each category, at present; and how far these are apart."""
    now = None if ballots.times is None else len(ballots.times) - 1
    boards = [Wanted()] if now is None else [Wanted(-1, one) for one in range(now + 1)]
    if ballots.category is None:
        return boards
    crossed = now is not None or ballots.machines is not None
    own = [Wanted(one, now) if crossed else Wanted(-1, one) for one in range(ballots.n_categories)]
    return boards + own + [Wanted(one[0], None if crossed else one[1], apart=True) for one in own]


def _habits(votes: Votes, covariates: Float) -> Float:
    """Return the parts of covariates that items explain, with a root mean square of one, shape (m, p)."""
    L = votes.laplacian(votes.total)
    L[np.diag_indices_from(L)] += 1e-6 * np.diagonal(L).mean()
    sums = np.column_stack([votes.item_sums(votes.total * column) for column in covariates.T])
    found = np.asarray(cho_solve((factorise(L), False), sums))
    return np.asarray(found / np.maximum(np.sqrt(np.mean(found**2, axis=0)), 1e-6))


@dataclass(frozen=True, eq=False)
class LatentPrior:
    """The precision of the prior: of shared coefficients, of each slice, and between neighbours.

    Shapes: shared (r,), local (T,), between (T - 1,).
    """

    shared: Float
    local: Float
    between: Float
    log_det: float

    @classmethod
    def of(cls, latent: LatentVotes, logs: Float, light: float) -> LatentPrior:
        """Return the prior for some logarithms of standard deviations, and the precision of covariates."""
        (p, n, m, c), q = latent.sizes, dict(zip(latent.names, np.exp(-2.0 * logs), strict=True))
        n -= latent.n_habits
        sizes = [light, q.get("features", 0.0) * n, 1.0 / HABIT**2, q["items"], q.get("categories", 0.0)]
        size = np.repeat(sizes, [p, n, latent.n_habits, m, m * c])
        local, between, log_det = np.zeros(0), np.zeros(0), float(np.log(size).sum())
        if latent.times is not None:
            length = float(np.exp(logs[-1]))
            stationary = 1.0 / (2.0 * q["drift"] * -np.expm1(-1.0 / length))
            phi = np.exp(-np.diff(latent.times) / length)
            noise = np.concatenate([[stationary], stationary * -np.expm1(-2.0 * np.diff(latent.times) / length)])
            local = 1.0 / noise
            local[:-1] += phi**2 / noise[1:]
            between = -phi / noise[1:]
            log_det -= m * float(np.log(noise).sum())
        elif latent.n_slices:
            own = [HUMAN, *(q[f"deviation {judge}"] for judge in range(latent.machines))]
            local = np.array(own) if latent.machines else np.full(latent.n_slices, q["categories"])
            between = np.zeros(latent.n_slices - 1)
            log_det += m * float(np.log(local).sum())
        return cls(size, local, between, log_det)

    def multiply(self, shared: Float, local: Float) -> tuple[Float, Float]:
        """Return the product with coefficients, local (T, m)."""
        product = self.local[:, None] * local
        product[:-1] += self.between[:, None] * local[1:]
        product[1:] += self.between[:, None] * local[:-1]
        return self.shared * shared, product


class LatentPrecision:
    """The precision of all coefficients, and what it says of scores; see the head of this module."""

    def __init__(self, latent: LatentVotes, weight: Float, prior: LatentPrior) -> None:
        self.latent, self.prior = latent, prior
        p, n, m, c = latent.sizes
        r, X = len(prior.shared), latent.X
        L = latent.laplacians(weight)
        z = np.zeros((*latent.shape, p))
        C = latent.votes.covariates
        for column in range(p):
            assert C is not None
            z[..., column] = latent.sums(weight * C[:, column])
        G, common = np.zeros((r, r)), L.sum(axis=(0, 1))
        features, items = slice(p, p + n), slice(p + n, p + n + m)
        if C is not None:
            G[:p, :p] = C.T @ (weight[:, None] * C)
        G[:p, items] = z.sum(axis=(0, 1)).T
        G[:p, features] = G[:p, items] @ X
        G[features, items], G[items, items] = X.T @ common, common
        G[features, features] = G[features, items] @ X
        for number in range(c):
            own, part = L[:, number].sum(axis=0), slice(p + n + m * (number + 1), p + n + m * (number + 2))
            G[:p, part], G[features, part] = z[:, number].sum(axis=0).T, X.T @ own
            G[items, part] = G[part, part] = own
        G = np.triu(G) + np.triu(G, 1).T
        G[np.diag_indices(r)] += prior.shared
        self.log_det, t = 0.0, latent.n_slices
        if t:
            L_t = L.sum(axis=1)
            B = np.concatenate([z.sum(axis=1), L_t @ X, L_t, *(L[:, number] for number in range(c))], axis=2)
            self._eliminate(L_t)
            self.Y = self._solve_chain(B)
            G -= B.reshape(t * m, r).T @ self.Y.reshape(t * m, r)
        self.M = self._inverse((G + G.T) / 2.0)

    def _inverse(self, A: Float) -> Float:
        """Return the inverse, and add to the determinant."""
        factor = factorise(A)
        self.log_det += 2.0 * float(np.log(np.diagonal(factor)).sum())
        inverse, _ = lapack.dpotri(factor, lower=0)
        return np.asarray(np.triu(inverse) + np.triu(inverse, 1).T)

    def _eliminate(self, blocks: Float) -> None:
        """Eliminate the chain from its first slice, and find the blocks of its inverse from the last."""
        t, m = blocks.shape[:2]
        self.V, b = np.empty_like(blocks), self.prior.between
        for now in range(t):
            U = blocks[now] + self.prior.local[now] * np.eye(m)
            if now and b[now - 1]:
                U -= b[now - 1] ** 2 * self.V[now - 1]
            self.V[now] = self._inverse(U)
        self.inverse = self.V.copy()
        for now in range(t - 2, -1, -1):
            if b[now]:
                self.inverse[now] += b[now] ** 2 * self.V[now] @ self.inverse[now + 1] @ self.V[now]

    def _solve_chain(self, right: Float) -> Float:
        """Return ``S⁻¹`` times right-hand sides, shape (T, m, number)."""
        b, y = self.prior.between, right.copy()
        for now in range(1, len(y)):
            y[now] -= b[now - 1] * (self.V[now - 1] @ y[now - 1])
        for now in range(len(y) - 1, -1, -1):
            if now + 1 < len(y):
                y[now] -= b[now] * y[now + 1]
            y[now] = self.V[now] @ y[now]
        return y

    def solve(self, shared: Float, local: Float) -> tuple[Float, Float]:
        """Return the solution for one right-hand side, local (T, m)."""
        if not len(local):
            return self.M @ shared, local
        alone = self._solve_chain(local[:, :, None])[:, :, 0]
        x = self.M @ (shared - np.einsum("tmr,tm->r", self.Y, local))
        return x, alone - self.Y @ x

    def board(self, number: int, slice_of: int | None = None) -> tuple[Float, Float]:
        """Return F, by which scores of a board follow from shared coefficients, and the rest of their covariance.

        number: Of the category, where it is not a slice; -1 for what all categories have in common.
        """
        p, n, m, c = self.latent.sizes
        F = np.zeros((m, len(self.prior.shared)))
        F[:, p : p + n], F[:, p + n : p + n + m] = self.latent.X, np.eye(m)
        if c and number >= 0:
            F[:, p + n + m * (number + 1) : p + n + m * (number + 2)] = np.eye(m)
        if slice_of is None:
            return F, np.zeros((m, m))
        return F - self.Y[slice_of], self.inverse[slice_of]

    def row_variances(self) -> Float:
        """Return the variance of η of each row."""
        latent = self.latent
        p, votes, found = latent.sizes[0], latent.votes, np.zeros(len(latent.votes.pairs))
        for number, rows in enumerate(latent._rows):
            if len(rows):
                now, category = divmod(number, latent.shape[1])
                F, rest = self.board(category, now if latent.n_slices else None)
                FM = F @ self.M
                S, head, tail = FM @ F.T + rest, votes.head[rows], votes.tail[rows]
                own = np.diagonal(S)
                scale = latent.scale[rows] if isinstance(latent.scale, np.ndarray) else latent.scale
                found[rows] = scale**2 * (own[head] + own[tail] - 2.0 * S[head, tail])
                if votes.covariates is not None:
                    C = votes.covariates[rows]
                    across = np.reshape(scale, (-1, 1)) * (FM[head, :p] - FM[tail, :p])
                    found[rows] += (C * (2.0 * across + C @ self.M[:p, :p])).sum(axis=1)
        return np.asarray(np.maximum(found, 0.0))


@dataclass(frozen=True, eq=False)
class _State:
    """The posterior for one value of the variances."""

    shared: Float
    local: Float
    variance: Float
    log_weight: float = 0.0


class LatentFit:
    """Votes with a model, for which posteriors are found; variances are known that follow from alpha."""

    def __init__(self, latent: LatentVotes, model: LogisticVotes, alpha: float | None) -> None:
        self.latent, self.alpha = latent, alpha
        self.light = 2.0 * (LIGHT if alpha is None else min(LIGHT, alpha))
        self.names, self.given = latent.names, latent.votes
        self.free = np.array([name not in ("items", "features") or alpha is None for name in self.names])
        self.model = model
        self.at_mode = not self.free.any()
        self.half_ties = self.at_mode and not isinstance(model, DavidsonVotes)

    def boards(self, wanted: list[Wanted]) -> Boards:
        """Return the scores of some boards."""
        usual = {"drift": 0.3, "length": 0.5, "categories": 0.3, "scale": 1.0, "deviation": 0.5}
        start = np.log([usual.get(name.split()[0], 0.7) for name in self.names])
        if self.alpha is not None:
            n = max(self.latent.sizes[1], 1)  # there are no habits
            for place, name in enumerate(self.names):
                if name in ("items", "features"):
                    start[place] = -0.5 * np.log(2.0 * self.alpha / (n if name == "features" else 1.0))
        (p, n, m, c), k = self.latent.sizes, len(self.given.pairs)
        first = _State(np.zeros(p + n + m + m * c), np.zeros((self.latent.n_slices, m)), np.zeros(k))
        first = self.posterior(start, first, refit=True)
        if self.at_mode:
            return self._add_up([start], np.ones(1), [first], wanted)
        fitted, eta = self.model, self.latent.scaled(start).differences(first.shared, first.local)
        self.model, votes = fitted.freeze(self.given, eta)
        self.latent = replace(self.latent, votes=votes)
        boards = self._add_up(*self._integrate(start, first), wanted)
        return replace(boards, model=fitted)

    def _integrate(self, start: Float, first: _State) -> tuple[list[Float], Float, list[_State]]:
        """Return values of the variances, their weights, and the posteriors."""
        states: dict[tuple[float, ...], _State] = {}
        low, high = np.log(
            [(0.05, 3.0) if name == "length" else (0.02, 20.0) for name in self.names], dtype=np.float64
        ).T[:, self.free]

        def evaluate(x: Float) -> float:
            key = tuple(x)
            if key not in states:
                near = min(states, key=lambda other: float(np.abs(np.subtract(other, x)).sum()), default=None)
                logs = start.copy()
                logs[self.free] = x
                states[key] = self.posterior(logs, first if near is None else states[near])
            return states[key].log_weight

        chosen = [start]
        for _ in range(2):  # the prior may decide so little that its variance is no matter
            own = self._certain(chosen[0], states.get(tuple(chosen[0]), first))
            if own is None:
                break
            chosen = [own]
            evaluate(own)
        else:
            return chosen, np.ones(1), [states[tuple(chosen[0])]]
        peak, deviation = climb(evaluate, start[self.free], low, high)
        chosen, proposed = [peak], np.zeros(1)
        evaluate(peak)
        if self._certain(peak, states[tuple(peak)]) is None:
            chosen, proposed = self._values(evaluate, peak, deviation, low, high)
        weight = np.array([evaluate(x) for x in chosen]) - proposed
        weight = np.exp(weight - weight.max())
        logs = np.tile(start, (len(chosen), 1))
        logs[:, self.free] = chosen
        return list(logs), weight / weight.sum(), [states[tuple(x)] for x in chosen]

    def _values(
        self, evaluate: Callable[[Float], float], peak: Float, deviation: Float, low: Float, high: Float
    ) -> tuple[list[Float], Float]:
        """Return values of the variances around their peak, and the logarithm of how densely they lie there.

        A lattice for up to three variances; draws of a normal distribution, wider than the peak, for more.
        """
        large = self.latent.n_slices * self.latent.sizes[2] ** 3 > 2e7
        if len(peak) > 3:
            half = np.random.default_rng(0).standard_normal((MOST_VALUES // (4 if large else 2), len(peak)))
            z = np.concatenate([half, -half])
            points = np.clip(peak + DRAWN_WIDER * deviation * z, low, high)
            return list(points), -0.5 * (z**2).sum(axis=1)
        longest = np.where(np.isin(self.names, ("drift", "length")), 1.2, 0.8)[self.free]
        step = np.minimum(longest, (1.2 if len(peak) == 1 else 2.0) * deviation)
        # Of large problems with several variances only neighbours of the peak.
        faded = 4.5 if len(peak) == 1 else 1.9 if large else 3.0
        chosen = grow_lattice(evaluate, peak, step, low, high, faded=faded, dropped=6.0, most=MOST_VALUES)
        return chosen, np.zeros(len(chosen))

    def _certain(self, logs: Float, state: _State) -> Float | None:
        """Return log τ of items if their prior decides less than 3 % of the scores, and nothing else is to be found."""
        if self.names != ("items",) or self.at_mode:
            return None
        precision, m = self._precision(logs, state), self.latent.sizes[2]
        own, u = np.diagonal(precision.M)[-m:], state.shared[-m:]
        if float((precision.prior.shared[-m:] * own).sum()) - 1.0 - self.latent.n_habits >= 0.03 * m:
            return None
        return np.array([0.5 * np.log((float(u @ u + own.sum()) + 0.25 * SEEN) / (m + SEEN - 2.0))])

    def _precision(self, logs: Float, state: _State, rows: NDArray[np.bool_] | None = None) -> LatentPrecision:
        """Return the precision at a posterior; that of some rows alone if they are given."""
        latent = self.latent.scaled(logs)
        votes, eta = latent.votes, latent.differences(state.shared, state.local)
        curvature = self.model.expected(votes, eta, state.variance)[1]
        if self.half_ties:  # scores are those without the worth of ties
            curvature = LogisticVotes().expected(votes, eta, state.variance)[1]
            curvature *= self.model.worth(decided_probability(eta))
        curvature = curvature if rows is None else np.where(rows, curvature, 0.0)
        return LatentPrecision(latent, curvature, LatentPrior.of(latent, logs, self.light))

    def posterior(self, logs: Float, near: _State, *, refit: bool = False) -> _State:
        """Find the posterior for some deviations, from another one; `refit` the model of ties to the scores."""
        latent, votes = self.latent.scaled(logs), self.latent.votes
        prior = LatentPrior.of(latent, logs, self.light)
        shared, local, variance = near.shared, near.local, near.variance
        passes, tolerance = (100, 1e-11) if self.at_mode else (60, 1e-3) if len(logs) == 1 else (30, 3e-3)
        for _ in range(passes):
            eta = latent.differences(shared, local)
            earlier = self.model.tie_odds
            if refit:
                self.model = self.model.fitted(votes, eta, 0.0)
            plain = LogisticVotes() if self.half_ties else self.model
            gradient, curvature = plain.expected(votes, eta, variance)
            precision = LatentPrecision(latent, curvature, prior)
            pull, push = prior.multiply(shared, local), latent.gradient(gradient)
            step = precision.solve(-push[0] - pull[0], -push[1] - pull[1])
            longest = float(np.abs(latent.differences(*step)).max())
            size = min(1.0, LONGEST_STEP / max(longest, LONGEST_STEP))
            shared, local = shared + size * step[0], local + size * step[1]
            before = variance
            if not self.at_mode:
                variance = precision.row_variances()
            changed = float((np.abs(variance - before) / (1.0 + variance)).max())
            odds = 0.0 if self.half_ties else abs(self.model.tie_odds - earlier) / (1.0 + earlier)
            if max(longest, changed, odds) <= tolerance:
                break
        if self.at_mode:
            return _State(shared, local, variance)
        loss, rest = self.model.expected_loss(votes, latent.differences(shared, local), variance)
        pull = prior.multiply(shared, local)
        evidence = prior.log_det - precision.log_det + float(curvature @ variance)
        evidence -= float(shared @ pull[0]) + float((local * pull[1]).sum())
        evidence = 0.5 * (evidence + float(rest.sum())) - float(loss.sum())
        return _State(shared, local, variance, evidence + self._log_density(logs))

    def _log_density(self, logs: Float) -> float:
        """Return the logarithm of the prior density of the free deviations, up to a constant."""
        total = 0.0
        for name, log in zip(np.array(self.names)[self.free], logs[self.free], strict=True):
            if name.startswith("scale"):
                total -= 0.5 * float(log) ** 2
            elif name != "length":
                # Features and items as in `score_estimate`; the others have a density at zero, so that they may vanish.
                total += prior_log_density(float(np.exp(log))) - (0.0 if name == "items" else 0.5 * float(log))
        return total

    def _add_up(self, logs: list[Float], weight: Float, states: list[_State], wanted: list[Wanted]) -> Boards:
        """Add the posteriors of several variances up."""
        latent, p, m = self.latent, self.latent.sizes[0], self.latent.sizes[2]
        means, effects = np.zeros((len(states), len(wanted), m)), np.zeros((len(states), p))
        covariances, inner, size = np.zeros((len(wanted), m, m)), np.zeros((p, p)), np.zeros(len(states))
        for number, (log, state) in enumerate(zip(logs, states, strict=True)):
            precision = self._precision(log, state)
            effects[number] = state.shared[:p]
            inner += weight[number] * precision.M[:p, :p]
            for place, (category, now, apart) in enumerate(wanted):
                plain, base = (precision.board(one)[0] for one in (category, -1))
                F, rest = precision.board(category, now)
                means[number, place] = (plain - base if apart else plain) @ state.shared
                if now is not None:
                    means[number, place] += state.local[now]
                F = F - base if apart else F
                S = F @ precision.M @ F.T + rest
                covariances[place] += weight[number] * S
                size[number] += float(np.trace(S)) - float(S.sum()) / m
        scores, mean = np.tensordot(weight, means, 1), weight @ effects
        for number, share in enumerate(weight):
            moved = means[number] - scores
            covariances += share * moved[:, :, None] * moved[:, None, :]
            size[number] += float(((moved - moved.mean(axis=1)[:, None]) ** 2).sum())
        average, moved = size / float(weight @ size), effects - mean
        centre = weight @ np.array(logs)
        spread = np.sqrt(np.maximum(weight @ (np.array(logs) - centre) ** 2, 0.0))
        if len(logs) == 1 and not self.at_mode:
            spread[:] = np.sqrt(0.5 / m)  # that of a variance of m values
        return Boards(
            scores,
            covariances,
            sum(share * latent.scores(one.shared, one.local) for share, one in zip(weight, states, strict=True)),
            mean,
            inner + moved.T @ (weight[:, None] * moved),
            np.stack([weight, average, average]),
            self.names,
            np.exp(centre + np.array([[0.0], [-1.96], [1.96]]) * spread),
            self.model,
            self._worth(logs, weight, states),
        )

    def _worth(self, logs: list[Float], weight: Float, states: list[_State]) -> Float:
        """Return how many votes of human judges, on pairs drawn at random, would say as much as each machine judge.

        The last one is that of all machine judges together. Both are measured by the mean variance of the scores, from
        that of human votes alone: with eigenvalues λ of the covariance, n votes of mean curvature h make it
        ``λ / (1 + λ 2 n h / (m - 1))``.
        """
        latent, m = self.latent, self.latent.sizes[2]
        if not latent.machines:
            return np.zeros(0)
        human, total = latent.slice_of == 0, self.given.total
        kinds = [human, *(human | (latent.slice_of == 1 + judge) for judge in range(latent.machines)), human | ~human]
        centre = np.eye(m) - 1.0 / m
        found = np.zeros((len(kinds), m, m))
        for log, share, state in zip(logs, weight, states, strict=True):
            for place, rows in enumerate(kinds):
                precision = self._precision(log, state, rows)
                F = precision.board(-1)[0]
                found[place] += share * (centre @ F @ precision.M @ F.T @ centre)
        eigenvalues, sizes = np.linalg.eigvalsh(found[0])[1:], np.trace(found, axis1=1, axis2=2)
        heaviest = int(np.argmax(weight))
        seen = latent.scaled(logs[heaviest])
        eta = seen.differences(states[heaviest].shared, states[heaviest].local)
        curvature = (
            self.model.expected(latent.votes, eta, states[heaviest].variance)[1][human].sum() / total[human].sum()
        )
        low, high = np.zeros(len(kinds) - 1), np.full(len(kinds) - 1, 1e12)
        for _ in range(100):
            votes = np.sqrt((low + 1.0) * (high + 1.0)) - 1.0
            size = (eigenvalues / (1.0 + np.multiply.outer(2.0 * curvature * votes / (m - 1), eigenvalues))).sum(axis=1)
            low, high = np.where(size > sizes[1:], votes, low), np.where(size > sizes[1:], high, votes)
        return low


def climb(value: Callable[[Float], float], x: Float, low: Float, high: Float) -> tuple[Float, Float]:
    """Return about where a function is largest, and by how much each coordinate may vary, by parabolas.

    Shapes: x, low, high (d,).
    """
    x, deviation, step = np.clip(x, low, high), np.full(len(x), 0.7), np.full(len(x), 0.7)
    for _ in range(8):
        longest = 0.0
        for place in range(len(x)):
            unit = np.eye(len(x))[place]
            tried = [np.clip(x + way * step[place] * unit, low, high) for way in (-1.0, 0.0, 1.0)]
            down, here, up = (value(one) for one in tried)
            curvature = (2.0 * here - up - down) / step[place] ** 2
            slope = (up - down) / (2.0 * step[place])
            move = float(np.clip(slope / curvature, -2.0, 2.0)) if curvature > 0.05 else float(np.sign(slope)) * 1.5
            deviation[place] = min(1.0, 1.0 / np.sqrt(curvature)) if curvature > 1.0 else 1.0
            tried.append(np.clip(x + move * unit, low, high))
            best = max(tried, key=value)
            longest = max(longest, abs(float((best - x)[place])) / deviation[place])
            x, step[place] = best, float(np.clip(deviation[place], 0.15, 0.7))
        if longest < 0.3:
            break
    return x, deviation
