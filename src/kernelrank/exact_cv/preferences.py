r"""Preferences held out: any set of them, from one decomposition for every alpha.

RankRLS on preferences is ridge regression of the magnitudes z on the differences of the features of two items: row e of
D is ``φ_h - φ_j``, and preference e has the weight ``w_e``. With ``A = DᵀWD + λI``, ``P = D A⁻¹ Dᵀ`` and the residuals
``r = z - D A⁻¹ DᵀW z`` the residuals of the model without a set E are

    ``q_E = (I - P_EE W_E)⁻¹ r_E``,

so the difference of the two items of preference e, by the model without E, is ``z_e - q_e``. For a few preferences the
entries of ``P_EE`` are products of two rows of D with ``A⁻¹``, for every λ one column of one matrix product. For more,
``(A - D_EᵀW_E D_E) x = DᵀWz - D_EᵀW_E z_E`` is solved for all λ at once (`reduced_systems`). What does not converge is
factorised: ``I - P_EE W_E``, or, where E is larger than the number of features, the sum of all other sets:
``before + after``, which are running sums from both ends. Nothing is subtracted there.

**Coordinates.** One decomposition gives features Ψ in which ``DᵀWD = diag(μ)``: ``Ψ = Φ B`` with
``ΦᵀLΦ = B diag(μ) Bᵀ`` in the primal, ``Ψ = K Cᵀ B diag(μ)^-½`` with ``C K Cᵀ = B diag(μ) Bᵀ`` and any root ``CᵀC = L``
in the dual, where directions with μ = 0 are left out. Only differences of compared items are needed of Ψ, so if C can
be inverted, ``C⁻¹ B diag(μ)^½`` suffices: one triangular system instead of two products. So ``A = diag(μ + λ)`` for
every λ. ``I - P W`` is a difference: if E alone determines a direction of the features, it has small pivots and loses
digits, and such sets are left to the caller.

Preferences whose two items are both held out are in `preference_items`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from kernelrank.base.arrays import Float, Index, blocks
from kernelrank.base.compiled import compiled
from kernelrank.base.labels import ItemSets
from kernelrank.comparisons import PreferenceGraph
from kernelrank.exact_cv.basis import BasisPlaces
from kernelrank.features import Features, ReducedSet
from kernelrank.solvers.direct import spectrum

FEW = 32
"""Sets of up to so many preferences go by the entries of P, larger ones by conjugate gradients."""


BATCH_BYTES = 2**21
"""The size of what is held out in one batch: it stays in the cache."""


SUM_BYTES = 2**28
"""The size up to which the sums ``D_EᵀW_E D_E`` of all large sets are kept at once."""

MOST_STEPS = 30
"""The largest number of steps of conjugate gradients."""


class PreferenceProblem:
    """Preferences between items, and what is held out from them.

    One decomposition, O(n³) or O(m³) time. A single preference then takes O(s) time for each alpha, s being the number
    of columns of the decomposition. A set of u preferences takes O(u² s + u³) for each alpha if u ≤ 32. A larger one
    takes O(u s) for each alpha and each of some four steps, or O(s²) if u > s, and O(u s²) once. Where a set holds most
    of what is known about a direction, it takes O(u² s) or O(s³) for each alpha.

    Shapes: values (s,), features (m, s), target (s,).
    """

    def __init__(self, features: Features, graph: PreferenceGraph) -> None:
        self.graph = graph
        columns = features.primal
        self.rotation: Float | None = None
        if columns is not None:
            A, target = columns.normal_equations(graph)
            self.values, B = spectrum(A, np.inf)
            self.features, self.target, self.rotation = columns.multiply(B), B.T @ target[:, 0], B
        else:
            A, target = features.centred_kernel(graph), graph.root_target()
            # Kernels are rounded beside their size before they were centred.
            beside = features.kernel_scale * float(graph.diagonal().max(initial=0.0))
            rounding = 100 * len(A) * float(np.finfo(np.float64).eps) * beside
            values, B = spectrum(A, max(1e-9 * float(np.trace(A)), rounding))
            # How small an eigenvalue counts as zero, beside the largest, in the dual form.
            least = 1e-15 * values.max(initial=0.0)
            if _inside_parts(graph) or least == 0.0:
                values, B = values[values > least], B[:, values > least]
            else:  # an item that is not compared has a part in every direction
                # What such an eigenvalue is raised to, beside that, where its direction is kept: its root is divided
                # by.
                values = np.maximum(values, 1e-5 * least)
            self.values, root = values, np.sqrt(values)
            self.features = _dual_features(features, graph, B, root)
            self.target = root * (B.T @ target[:, 0])

    def rows(self, preferences: Index, out: Float | None = None) -> Float:
        """Return the rows of D, shape (preferences, s); in the first rows of `out`, if it is given."""
        found = np.empty((len(preferences), len(self.values))) if out is None else out[: len(preferences)]
        _subtract_items(self.features, self.graph.pairs, preferences, found)
        return found

    def singles(self, alphas: Float) -> Float:
        """Return the difference of each preference without it, shape (l, n); NaN where digits are lost."""
        n, alphas = len(alphas), filled(alphas)
        graph, shrunk = self.graph, 1.0 / (self.values[:, None] + alphas)
        scores = self.features @ (shrunk * self.target[:, None])
        found = np.empty((graph.n_pairs, len(alphas)))
        everyone = np.arange(graph.n_pairs, dtype=np.int64)
        # The size of the rows of single preferences that are multiplied at once: the nearest cache that holds them all.
        parts = list(blocks(graph.n_pairs, 8 * len(self.values), 2**18))
        room = np.empty((parts[0].stop, len(self.values)))
        for part in parts:
            rows = self.rows(everyone[part], room)
            np.dot(np.square(rows, out=rows), shrunk, out=found[part])
            _leave_singles(graph.pairs[part], graph.magnitude[part], graph.weight[part], scores, found[part])
        if np.count_nonzero(graph.weight) == 1:
            found[graph.weight > 0] = 0.0  # nothing is left to train on
        return found[:, :n]

    def sets(self, sets: ItemSets, alphas: Float) -> Float:
        """Return the differences of the preferences of each set without all of it, shape (l, n).

        The sets have no preference in common, and every preference is in one of them.
        """
        n, alphas = len(alphas), filled(alphas)
        found = np.empty((self.graph.n_pairs, len(alphas)))
        counts = np.add.reduceat((self.graph.weight[sets.items] > 0).astype(np.int64), sets.bounds[:-1])
        alone = counts == np.count_nonzero(self.graph.weight)  # nothing is left to train on
        for number in np.flatnonzero(alone):
            found[sets.items[sets.bounds[number] : sets.bounds[number + 1]]] = 0.0
        for size in np.unique(sets.sizes[~alone & (sets.sizes <= FEW)]):
            chosen = sets.items[sets.places(np.flatnonzero(~alone & (sets.sizes == size)), size)].T
            row_bytes = 8 * size * (len(self.values) + (size + 1) * len(alphas) // 2)
            for part in blocks(chosen.shape[1], row_bytes, BATCH_BYTES):
                self._leave_few(np.ascontiguousarray(chosen[:, part]), alphas, found)
        self._leave_many(sets, np.flatnonzero(~alone & (sets.sizes > FEW)), alphas, found)
        return found[:, :n]

    def _leave_few(self, chosen: Index, alphas: Float, found: Float) -> None:
        """Hold out sets of one size, shape (u, sets)."""
        size, n_sets = chosen.shape
        graph, shrunk = self.graph, 1.0 / (self.values[:, None] + alphas)
        scores = self.features @ (shrunk * self.target[:, None])
        rows = self.rows(chosen.ravel()).reshape(size, n_sets, -1)
        products = np.empty((size * (size + 1) // 2, n_sets, len(alphas)))  # entries of P
        product = np.empty(rows.shape[1:])
        for entry, (one, other) in enumerate(zip(*np.tril_indices(size), strict=True)):
            np.dot(np.multiply(rows[one], rows[other], out=product), shrunk, out=products[entry])
        room, root = np.empty((len(products) + 2 * size, len(alphas))), np.sqrt(graph.weight)
        _leave_sets(graph.pairs, graph.magnitude, root, chosen, scores, products, room, found)

    def _leave_many(self, sets: ItemSets, numbers: Index, alphas: Float, found: Float) -> None:
        """Hold out some sets by conjugate gradients, and factorise what does not converge."""
        a = self.values[:, None] + alphas
        whole = self.target[:, None] / a
        scores, failed = self.features @ whole, []
        batches = list(self._batches(sets, numbers, len(alphas)))
        room = np.empty((max((len(some) * int(sets.sizes[some[0]]) for some in batches), default=0), len(a)))
        for some in batches:
            sizes = sets.sizes[some]
            inside = np.arange(int(sizes[0])) < sizes[:, None]
            chosen = np.full(inside.shape, -1, dtype=np.int64)
            chosen[inside] = sets.part(some)[1].items
            rows = self.rows(chosen.ravel(), room).reshape(*chosen.shape, len(a))
            x, solved = self._without(rows, chosen, a, whole, scores)
            predicted = rows @ x
            if solved.all():
                _place(predicted, chosen, found)
                continue
            for place, number in enumerate(some):
                own = chosen[place, : sizes[place]]
                if solved[place]:
                    found[own] = predicted[place, : len(own)]
                elif len(own) > len(self.values):
                    failed.append(number)
                else:
                    found[own] = self._factorised_set(own, alphas)
        if failed:
            self._leave_large(sets, np.sort(np.array(failed, dtype=np.int64)), alphas, found)

    def _batches(self, sets: ItemSets, numbers: Index, n_alphas: int) -> Iterator[Index]:
        """Yield numbers of sets of similar sizes, as many as are solved together."""
        order = numbers[np.argsort(-sets.sizes[numbers], kind="stable")]
        sizes, start = -sets.sizes[order], 0
        while start < len(order):
            largest = -int(sizes[start])
            # Sets of at least this share of the largest are solved with it, with rows of zeros to fill them up.
            similar = int(np.searchsorted(sizes, -int(0.8 * largest), side="right"))
            room = BATCH_BYTES // (8 * len(self.values) * (largest + min(largest, len(self.values)) + 5 * n_alphas))
            stop = min(similar, start + max(1, room))
            yield order[start:stop]
            start = stop

    def _without(
        self, rows: Float, chosen: Index, a: Float, whole: Float, scores: Float
    ) -> tuple[Float, NDArray[np.bool_]]:
        """Solve for all alphas without each of some sets; return x (sets, s, n) and which sets are solved.

        `chosen` (sets, u) has -1 where a set is shorter than others, and `rows` (sets, u, s) is zero there.
        """
        size, n = chosen.shape[1], a.shape[1]
        graph, flipped = self.graph, rows.transpose(0, 2, 1)
        w = graph.weight[chosen][:, :, None]
        unit = bool(np.all(w == 1.0))
        if len(a) * (size + 5 * n) <= 10 * n * size:  # the sum of outer products pays, with the usual five steps
            weighted = rows if unit else w * rows
            T = flipped @ weighted
            r = T @ whole
            r -= weighted.transpose(0, 2, 1) @ graph.magnitude[chosen][:, :, None]
            multiply: Callable[[Float, Index | slice], Float] = lambda p, some: T[some] @ p  # noqa: E731
        else:
            missed = scores[graph.pairs[chosen, 0]] - scores[graph.pairs[chosen, 1]] - graph.magnitude[chosen, None]
            r = flipped @ (missed if unit else w * missed)

            def multiply(p: Float, some: Index | slice) -> Float:
                d = rows[some] @ p
                return np.asarray(flipped[some] @ (d if unit else w[some] * d))

        x = np.broadcast_to(whole, r.shape).copy()
        return x, np.asarray(solve_reduced(multiply, a, x, r, (a * whole * whole).sum(axis=0)).all(axis=1))

    def _leave_large(self, sets: ItemSets, numbers: Index, alphas: Float, found: Float) -> None:
        """Hold out some sets by the sums of all others."""
        others = np.setdiff1d(np.arange(len(sets), dtype=np.int64), numbers)
        rest = np.zeros((len(self.values), len(self.values) + 1))
        if len(others):
            rest = self.sum(sets.part(others)[1].items)
        for one, sums in self._others(sets, numbers, rest):
            chosen = sets.items[sets.bounds[one] : sets.bounds[one + 1]]
            found[chosen] = self.rows(chosen) @ np.stack(
                [_solve_normal_equations(sums, alpha) for alpha in alphas], axis=1
            )

    def _factorised_set(self, chosen: Index, alphas: Float) -> Float:
        """Return the differences of a few preferences without them, shape (u, n); NaN where digits are lost."""
        rows, w = self.rows(chosen), self.graph.weight[chosen]
        found = np.full((len(chosen), len(alphas)), np.nan)
        for number, alpha in enumerate(alphas):
            without = SetRemoval.of(rows, w, 1.0 / (self.values + alpha))
            if without is not None:
                found[:, number] = rows @ without.model(self.target, self.graph.magnitude[chosen])
        return found

    def sum(self, chosen: Index) -> Float:
        """Return ``[DᵀWD, DᵀWz]`` of some preferences, shape (s, s + 1)."""
        total = np.zeros((len(self.values), len(self.values) + 1))
        for part in blocks(len(chosen), 8 * len(self.values), 2**22):
            preferences = chosen[part]
            rows, w = self.rows(preferences), self.graph.weight[preferences]
            weighted = w[:, None] * rows
            total[:, :-1] += weighted.T @ rows
            total[:, -1] += weighted.T @ self.graph.magnitude[preferences]
        return total

    def _others(self, sets: ItemSets, numbers: Index, rest: Float) -> Iterator[tuple[int, Float]]:
        """Yield for each of some sets the sums of all others of them and of the rest."""
        if len(numbers) > 1 and 16 * len(numbers) * rest.size > SUM_BYTES:
            halves = np.array_split(numbers, 2)
            for half, other in (halves, halves[::-1]):
                yield from self._others(sets, half, rest + self.sum(sets.part(other)[1].items))
            return
        sums = [self.sum(sets.items[sets.bounds[number] : sets.bounds[number + 1]]) for number in numbers]
        after = [np.zeros_like(rest)]
        for own in sums[:0:-1]:
            after.append(after[-1] + own)
        before = rest.copy()
        for number, own in zip(numbers, sums, strict=True):
            yield int(number), before + after.pop()
            before += own


def _inside_parts(graph: PreferenceGraph) -> bool:
    """Whether every preference, also one of weight zero, is between two items of one connected part."""
    return np.array_equal(graph.parts[graph.pairs[:, 0]], graph.parts[graph.pairs[:, 1]])


def _dual_features(features: Features, graph: PreferenceGraph, B: Float, root: Float) -> Float:
    """Return F with ``C F = B √μ``, whose differences are the rows of D.

    Inside a connected part that keeps the digits of small μ. ``K Cᵀ B / √μ`` loses them: it is used where rows of C are
    nearly dependent, and to place parts beside each other that are compared with weight zero.
    """
    undone = graph.undo_centre(B)
    # How large ``C⁻¹B`` may be beside the differences of compared items, which are at most one: three digits are lost.
    if undone is not None and np.sqrt(graph.weight.max()) * np.abs(undone).max(initial=0.0) > 1e3:
        undone = None
    part = graph.parts
    if undone is not None and _inside_parts(graph):
        return np.multiply(undone, root, out=undone)
    product: Float = features.kernel_multiply(graph.centre_transpose(np.ascontiguousarray(B))) / root
    if undone is None:
        return product
    undone *= root
    apart = np.zeros((int(part.max()) + 1, len(root)))
    np.add.at(apart, part, product - undone)
    apart /= np.bincount(part)[:, None]
    return undone + apart[part]


@compiled
def _leave_singles(pairs: Index, magnitude: Float, weight: Float, scores: Float, found: Float) -> None:
    """Turn the diagonal of P, for every alpha a column, into held-out differences, NaN where digits are lost."""
    for e in range(len(pairs)):
        h, j, z = pairs[e, 0], pairs[e, 1], magnitude[e]
        for k in range(found.shape[1]):
            pivot = 1.0 - weight[e] * found[e, k]
            q = (z - (scores[h, k] - scores[j, k])) / pivot
            found[e, k] = z - q if pivot > PIVOT else np.nan


@compiled
def _subtract_items(features: Float, pairs: Index, chosen: Index, rows: Float) -> None:
    """Write the differences of the features of two items into the rows; zero where none is chosen."""
    for e in range(len(chosen)):
        if chosen[e] < 0:
            for i in range(features.shape[1]):
                rows[e, i] = 0.0
        else:
            h, j = pairs[chosen[e], 0], pairs[chosen[e], 1]
            for i in range(features.shape[1]):
                rows[e, i] = features[h, i] - features[j, i]


@compiled
def _leave_sets(
    pairs: Index,
    magnitude: Float,
    root: Float,
    chosen: Index,
    scores: Float,
    products: Float,
    room: Float,
    found: Float,
) -> None:
    """Solve ``(I - P W) q = r`` for every set and alpha, as ``v = (I - W^½PW^½)⁻¹W^½r`` and ``q = r + P W^½ v``.

    Triangles lie row by row, entry (i, j) at ``i (i + 1) / 2 + j``; NaN where digits are lost.
    """
    size, n_sets = chosen.shape
    n = found.shape[1]
    factor, solved = room[: len(products)], room[len(products) :]  # the last rows hold r
    for b in range(n_sets):
        for i in range(size):
            own = i * (i + 1) // 2
            e = chosen[i, b]
            h, other = pairs[e, 0], pairs[e, 1]
            for k in range(n):
                solved[size + i, k] = magnitude[e] - (scores[h, k] - scores[other, k])
                solved[i, k] = root[e] * solved[size + i, k]
            for j in range(i + 1):
                before = j * (j + 1) // 2
                scale = root[e] * root[chosen[j, b]]
                for k in range(n):
                    factor[own + j, k] = (1.0 if i == j else 0.0) - scale * products[own + j, b, k]
                for t in range(j):
                    for k in range(n):
                        factor[own + j, k] -= factor[own + t, k] * factor[before + t, k]
                for k in range(n):
                    if i > j:
                        factor[own + j, k] /= factor[before + j, k]
                        solved[i, k] -= factor[own + j, k] * solved[j, k]
                    else:
                        pivot = factor[own + j, k]
                        factor[own + j, k] = np.sqrt(pivot) if pivot > PIVOT else np.nan
                        solved[i, k] /= factor[own + j, k]
        for i in range(size - 1, -1, -1):
            for j in range(i + 1, size):
                for k in range(n):
                    solved[i, k] -= factor[j * (j + 1) // 2 + i, k] * solved[j, k]
            for k in range(n):
                solved[i, k] /= factor[i * (i + 1) // 2 + i, k]
        for i in range(size):
            e = chosen[i, b]
            for k in range(n):
                found[e, k] = magnitude[e] - solved[size + i, k]
            for j in range(size):
                entry = i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i
                weight = root[chosen[j, b]]
                for k in range(n):
                    found[e, k] -= products[entry, b, k] * weight * solved[j, k]


@compiled
def _place(predicted: Float, chosen: Index, found: Float) -> None:
    """Store the differences of some sets, shape (sets, u, n), at the positions of their preferences."""
    for b in range(chosen.shape[0]):
        for i in range(chosen.shape[1]):
            e = chosen[b, i]
            if e >= 0:
                for k in range(found.shape[1]):
                    found[e, k] = predicted[b, i, k]


def filled(alphas: Float) -> Float:
    """Repeat the last alpha until vector instructions take all of them at once."""
    missing = -len(alphas) % 4 if len(alphas) > 2 else 0
    return np.concatenate([alphas, np.repeat(alphas[-1:], missing)])


def _solve_normal_equations(sums: Float, alpha: float) -> Float:
    """Solve ``(DᵀWD + λI) x = DᵀWz``."""
    A = np.asfortranarray(sums[:, :-1])
    A[np.arange(len(A)), np.arange(len(A))] += alpha
    _, x, info = lapack.dposv(A, sums[:, -1:], lower=1, overwrite_a=1)
    return np.asarray(x[:, 0]) if info == 0 else np.full(len(A), np.nan)


# Reduced systems ------------------------------------------------------------------------------------------------------
#
# Systems with a small part removed, ``(A - T) x = c - t``, for many T and many diagonal A at once.
#
# A is the diagonal matrix of all data, one for each alpha, and c its right-hand side; T and t are the parts of a set.
# The solution ``A⁻¹c`` of all data is known, and leaves the residual ``T A⁻¹c - t``. A few of many data change it by
# little: conjugate gradients with the preconditioner A need a handful of products with T, and converge as if the
# condition number were ``1 / (1 - ‖A^-½ T A^-½‖)``. Adding ``A⁻¹r`` of the last residual r multiplies the error by
# ``A⁻¹T`` once more and needs no product. A system in which T removes almost all of a direction of A is left to the
# caller.
#
# **A probe.** Along such a direction the residual may be tiny and the solution far away, so a small residual says
# little, and steps that never go there do not see it. So each system is solved for one more right-hand side, drawn at
# random, with the smallest A, which loses most. Steps towards its solution cannot miss the direction.


CONVERGED = 1e-12
"""The residual, beside the solution of all data, that is left before the last correction."""


def solve_reduced(
    multiply: Callable[[Float, Index | slice], Float],
    a: Float,
    x: Float,
    r: Float,
    size: Float,
    converged: float = CONVERGED,
) -> NDArray[np.bool_]:
    """Solve ``(diag(a_k) - T_b) x = c`` for all systems b and all columns k of a, from a first guess.

    About four steps for sets that hold a hundredth of the data: one product each, and O(b n s) time besides.

    Shapes: a (s, n), x (b, s, n), r (b, s, n), size (n,) or (b, n); returns (b, n).

    r: What it leaves of the right-hand side; it is changed.
    """
    n = a.shape[1]
    if n > 1 and np.array_equal(a[:, -1], a[:, -2]):  # a column that fills vectors up: its place is free
        solved = _solve_with_probe(multiply, a, x, r, size, converged)
        x[:, :, -1], solved[:, -1] = x[:, :, -2], solved[:, -2]
        return solved
    wider = np.concatenate([x, x[:, :, -1:]], axis=2)
    columns = [*range(n), -1]
    sizes = np.broadcast_to(size, (len(x), n))[:, columns]
    solved = _solve_with_probe(multiply, a[:, columns], wider, r[:, :, columns], sizes, converged)
    x[...] = wider[:, :, :n]
    return np.ascontiguousarray(solved[:, :n])


def _solve_with_probe(
    multiply: Callable[[Float, Index | slice], Float], a: Float, x: Float, r: Float, size: Float, converged: float
) -> NDArray[np.bool_]:
    """Solve for all columns but the last, which becomes the probe."""
    a = a.copy()
    a[:, -1] = a[:, np.argmin(a.sum(axis=0))]
    r[:, :, -1] = np.sqrt(a[:, -1]) * np.random.default_rng(0).standard_normal(len(a))
    inverse = 1.0 / a
    p = r * inverse
    rho = np.einsum("bsn,bsn->bn", r, p)
    least = np.broadcast_to(converged**2 * size, rho.shape).copy()
    # What is left of the square of a probe that has seen all directions.
    least[:, -1] = 1e-14 * rho[:, -1]
    scratch = np.empty((2, a.shape[1]))
    for _ in range(MOST_STEPS):
        active = np.flatnonzero((rho > least).any(axis=1))
        if len(active) == 0:
            break
        some = active if 2 * len(active) < len(x) else slice(None)
        kept = (x, r, p, rho)
        x_, r_, p_, rho_ = moved = tuple(array[some] for array in kept)
        _advance(a, inverse, multiply(p_, some), x_, r_, p_, rho_, least[some], scratch)
        if some is active:
            for array, part in zip(kept, moved, strict=True):
                array[some] = part
    x += r * inverse
    solved = np.asarray(rho <= least)
    return np.asarray(solved & solved[:, -1:])


@compiled
def _advance(
    a: Float,
    inverse: Float,
    product: Float,
    x: Float,
    r: Float,
    p: Float,
    rho: Float,
    least: Float,
    scratch: Float,
) -> None:
    """Take one step of conjugate gradients where more than `least` is left; NaN where a system is too far from A."""
    size, count = a.shape
    for b in range(len(x)):
        for k in range(count):
            scratch[0, k] = scratch[1, k] = 0.0
        for i in range(size):
            for k in range(count):
                v = p[b, i, k]
                scratch[0, k] += a[i, k] * v * v
                scratch[1, k] += v * product[b, i, k]
        for k in range(count):
            norm, curvature = scratch[0, k], scratch[0, k] - scratch[1, k]
            # The smallest curvature beside that of A at which conjugate gradients go on: they keep all but two digits.
            smooth = rho[b, k] / curvature if curvature >= 0.05 * norm else np.nan
            scratch[0, k] = smooth if rho[b, k] > least[b, k] else 0.0
            scratch[1, k] = 0.0
        for i in range(size):
            for k in range(count):
                step, v = scratch[0, k], p[b, i, k]
                x[b, i, k] += step * v
                r[b, i, k] -= step * (a[i, k] * v - product[b, i, k])
                scratch[1, k] += r[b, i, k] * r[b, i, k] * inverse[i, k]
        for k in range(count):
            shrunk = scratch[1, k] / rho[b, k]
            if rho[b, k] > least[b, k]:
                rho[b, k] = scratch[1, k]
            scratch[0, k] = shrunk
        for i in range(size):
            for k in range(count):
                p[b, i, k] = r[b, i, k] * inverse[i, k] + scratch[0, k] * p[b, i, k]


# Set removal ----------------------------------------------------------------------------------------------------------
#
# A problem with a diagonal matrix without a few preferences, for one alpha.
#
# In the notation of `preference_sets`: ``M = A - D_EᵀW_E D_E``, and Woodbury's formula gives
# ``M⁻¹ = A⁻¹ + A⁻¹D_EᵀW^½ (I - W^½ P_EE W^½)⁻¹ W^½D_E A⁻¹``.

PIVOT = 1e-6
"""The smallest pivot of ``I - P W`` that is trusted: what is lost beside it is the rest of double precision."""


class SetRemoval:
    """A problem without a set E, ``M = A - D_EᵀW_E D_E``, for one alpha.

    Shapes: rows (u, s), weight (u,), shrunk (s,), factor (u, u).
    """

    def __init__(self, rows: Float, weight: Float, shrunk: Float, factor: Float) -> None:
        self.shrunk, self.factor = shrunk, factor
        self.rows, self.root = rows, np.sqrt(weight)
        self.weighted = self.root[:, None] * rows

    @classmethod
    def of(cls, rows: Float, weight: Float, shrunk: Float) -> SetRemoval | None:
        """Factorise; None where digits are lost."""
        scaled = rows * np.sqrt(weight)[:, None] * np.sqrt(shrunk)
        factor, info = lapack.dpotrf(np.eye(len(rows)) - scaled @ scaled.T, lower=1, overwrite_a=1)
        if info != 0 or float(np.diagonal(factor).min(initial=1.0)) ** 2 <= PIVOT:
            return None
        return cls(rows, weight, shrunk, factor)

    def model(self, target: Float, magnitude: Float) -> Float:
        """Return the coefficients of the model without E, ``A⁻¹(DᵀWz - D_EᵀW_E q_E)``."""
        r = magnitude - self.rows @ (self.shrunk * target)
        q, _ = lapack.dpotrs(self.factor, self.root * r, lower=1)
        return np.asarray(self.shrunk * (target - self.weighted.T @ q.ravel()))

    def solve(self, V: Float) -> Float:
        """Return ``M⁻¹ V``, shape (s, k)."""
        x = self.shrunk[:, None] * V
        inner, _ = lapack.dpotrs(self.factor, self.weighted @ x, lower=1)
        return np.asarray(x + self.shrunk[:, None] * (self.weighted.T @ inner))


# Preference items -----------------------------------------------------------------------------------------------------
#
# Preferences predicted by models trained without both of their items.
#
# All preferences that involve one of the two items h and j are held out. In the coordinates of `preference_sets`, where
# ``A = diag(a)``, ``a = μ + λ``, and with ``S_i = Σ_{e touches i} w_e D_eᵀD_e`` the model solves
#
#     ``(A - T) x = c``,   ``T = S_h + S_j - w_hj δδᵀ``,   ``δ = ψ_h - ψ_j``,
#
# because preferences between the two items are counted twice, and all have the same row up to its sign. The difference
# is ``δᵀx``. All pairs of a block and all alphas are solved at once (`reduced_systems`). Systems that have not
# converged are factorised. If a pivot is small, the two items alone determine a direction of the features, and the pair
# is left to the caller.
#
# **Few preferences per item.** If an item has fewer preferences than there are features, T is not summed: the
# preferences are held out as a set (`SetRemoval`).
#
# **A basis** is used without the two items. That is the constraint ``Bᵀ x = 0`` (see `basis_removal`):
# with ``M = A - T``, ``x = M⁻¹(c - B ν)`` and ``(BᵀM⁻¹B) ν = BᵀM⁻¹c``.


CONVERGED_WITH_BASIS = 1e-15
"""The error at which systems are solved where a basis loses items: small pivots of `_orthogonal` enlarge it."""


def leave_items_out(problem: PreferenceProblem, features: Features, alphas: Float) -> Float:
    """Return the difference of each preference by a model trained without both of its items.

    O(s²) time for each two items that are compared, each alpha and each of some six steps; O(s³) where they do not
    converge. Where items have d < s/2 preferences, O(d² s + d³) for each alpha. Memory m s², or a block.

    Shapes: alphas (n,); returns (l, n).

    Returns: NaN where digits are lost.
    """
    graph, size, m = problem.graph, len(problem.values), problem.graph.n_items
    low, high = graph.pairs.min(axis=1), graph.pairs.max(axis=1)
    keys, which = np.unique(low * m + high, return_inverse=True)
    between: Float = np.bincount(which, weights=graph.weight, minlength=len(keys)).astype(np.float64)
    signed = np.where(graph.pairs[:, 0] == low, 1.0, -1.0)
    gains = graph.weight * graph.magnitude * signed
    won: Float = np.bincount(which, weights=gains, minlength=len(keys)).astype(np.float64)
    pairs = _Pairs(problem, keys // m, keys % m, between, won, _Constraints.of(problem, features))
    touching = _touching(graph.pairs, m)
    # The size up to which the sums of all items are kept.
    dense = 8 * m * size**2 <= 2**29 and size <= 2 * np.median(touching.sizes[touching.sizes > 0])
    found = pairs.by_sums(touching, filled(alphas))[:, : len(alphas)] if dense else pairs.by_sets(touching, alphas)
    compared = graph.weight > 0
    touched = np.bincount(graph.pairs[compared].ravel(), minlength=m)
    leaving = touched[pairs.first] + touched[pairs.second] - np.bincount(which[compared], minlength=len(keys))
    found[leaving == np.count_nonzero(compared)] = 0.0  # nothing is left to train on
    return np.asarray(signed[:, None] * found[which])


class _Constraints:
    """What a basis no longer spans without two of its items; nothing for features without a basis."""

    def __init__(self, features: ReducedSet, rotation: Float, n_items: int) -> None:
        self.map, self.places = features.map, BasisPlaces.of(features, n_items)
        self.inverse = solve_triangular(features.map.U, rotation, check_finite=False)  # rows of U⁻¹ B

    @classmethod
    def of(cls, problem: PreferenceProblem, features: Features) -> _Constraints | None:
        if not isinstance(features, ReducedSet) or problem.rotation is None:
            return None
        return cls(features, problem.rotation, problem.graph.n_items)

    def touches(self, items: Index) -> NDArray[np.bool_]:
        return np.asarray((self.places.column_of[items] >= 0) | (self.places.left_of[items] >= 0), dtype=np.bool_)

    def directions(self, items: Index) -> Float | None:
        """Return the directions that are lost, shape (at most 2, s); None if rounding errors hide them."""
        columns, gone = self.places.columns(items), self.places.left(items)
        return self.map.lost_directions(columns, gone, self.inverse[columns])


class _Pairs:
    """The pairs of items that are compared: first and second item, weight and won magnitude between them."""

    def __init__(
        self,
        problem: PreferenceProblem,
        first: Index,
        second: Index,
        between: Float,
        won: Float,
        constraints: _Constraints | None,
    ) -> None:
        self.problem, self.constraints = problem, constraints
        self.first, self.second, self.between, self.won = first, second, between, won

    def rows(self, part: slice) -> Float:
        """Return δ of some pairs."""
        return np.asarray(self.problem.features[self.first[part]] - self.problem.features[self.second[part]])

    def by_sums(self, touching: ItemSets, alphas: Float) -> Float:
        """Solve with the sums of all items, in blocks of pairs; return the differences, shape (pairs, n)."""
        problem, size = self.problem, len(self.problem.values)
        sums = np.stack([problem.sum(edges) for edges in touching])
        targets, sums = np.ascontiguousarray(sums[:, :, -1]), np.ascontiguousarray(sums[:, :, :-1])
        a = problem.values[:, None] + alphas  # (s, n)
        whole = problem.target[:, None] / a
        missed = targets[:, :, None] - sums @ whole  # what each item adds to the gradient
        found = np.empty((len(self.first), len(alphas)))
        # The size of the systems of pairs that are solved at once: they stay in a core's cache.
        parts = list(blocks(len(self.first), 8 * size * (size + 4 * len(alphas)), 2**21))
        longest = max(part.stop - part.start for part in parts)
        room, residuals = np.empty((longest, size, size)), np.empty((longest, size, len(alphas)))
        for part in parts:
            first, second, rows = self.first[part], self.second[part], self.rows(part)
            T, r = room[: len(first)], residuals[: len(first)]
            twice = self.won[part, None] - self.between[part, None] * (rows @ whole)
            _leaving(sums, missed, first, second, self.between[part], rows, twice, T, r)
            x = _solve_shifted_systems(T, a, whole, r, CONVERGED if self.constraints is None else CONVERGED_WITH_BASIS)
            if self.constraints is not None:
                self._constrain(part, T, a, x)
            found[part] = (rows[:, None, :] @ x)[:, 0]
        return found

    def _constrain(self, part: slice, T: Float, a: Float, x: Float) -> None:
        """Take from the solutions what the basis loses with the items of a pair."""
        assert self.constraints is not None
        items = np.column_stack([self.first[part], self.second[part]])
        for number in np.flatnonzero(self.constraints.touches(items).any(axis=1)):
            B = self.constraints.directions(items[number])
            if B is None:
                x[number] = np.nan
                continue
            own, first = np.repeat(T[number][None], len(B), axis=0), B[:, :, None] / a
            solved = _solve_shifted_systems(own, a, first, own @ first, CONVERGED_WITH_BASIS)
            for k in range(x.shape[2]):
                x[number, :, k] = _orthogonal(x[number, :, k], solved[:, :, k].T, B)

    def by_sets(self, touching: ItemSets, alphas: Float) -> Float:
        """Hold the leaving preferences out as a set, pair by pair; return the differences, shape (pairs, n)."""
        problem, graph = self.problem, self.problem.graph
        found = np.empty((len(self.first), len(alphas)))
        for number, (first, second) in enumerate(zip(self.first, self.second, strict=True)):
            ends = [touching.items[touching.bounds[item] : touching.bounds[item + 1]] for item in (first, second)]
            leaving = np.union1d(*ends)
            z, w = graph.magnitude[leaving], graph.weight[leaving]
            B: Float | None = np.zeros((0, len(problem.values)))
            if self.constraints is not None:
                B = self.constraints.directions(np.array([first, second]))
            rows, delta = problem.rows(leaving), problem.features[first] - problem.features[second]
            for k, alpha in enumerate(alphas):
                found[number, k] = np.nan
                if B is None:
                    continue
                without = SetRemoval.of(rows, w, 1.0 / (problem.values + alpha))
                if without is not None:
                    x = without.model(problem.target, z)
                    found[number, k] = delta @ _orthogonal(x, without.solve(B.T), B)
        return found


def _touching(pairs: Index, n_items: int) -> ItemSets:
    """Return the preferences that touch each item."""
    edges = np.tile(np.arange(len(pairs), dtype=np.int64), 2)
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    order = np.argsort(ends, kind="stable")
    return ItemSets(edges[order], np.searchsorted(ends[order], np.arange(n_items + 1)).astype(np.int64))


def _orthogonal(x: Float, solved: Float, B: Float) -> Float:
    """Return ``x - M⁻¹Bᵀ ν`` such that ``B x = 0``, from ``solved = M⁻¹Bᵀ``; NaN where digits are lost."""
    if len(B) == 0:
        return x
    products = B @ solved
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    factor, info = lapack.dpotrf(products * scale[:, None] * scale, lower=1)
    if info != 0 or not float(np.diagonal(factor).min()) ** 2 > PIVOT:
        return np.full_like(x, np.nan)
    nu, _ = lapack.dpotrs(factor, scale * (B @ x), lower=1)
    return np.asarray(x - solved @ (scale * nu.ravel()))


def _solve_shifted_systems(T: Float, a: Float, first: Float, r: Float, converged: float) -> Float:
    """Solve ``(diag(a_k) - T_b) x = c`` for all systems T (b, s, s) and all columns of a (s, n).

    Shapes: first (s, n) or (b, s, n), r (b, s, n); returns (b, s, n).

    Returns: NaN where digits are lost.
    """
    x, given = np.broadcast_to(first, r.shape).copy(), r.copy()
    solved = solve_reduced(lambda p, some: T[some] @ p, a, x, r, (a * first * first).sum(axis=-2), converged)
    for number, k in np.argwhere(~solved):
        start = np.broadcast_to(first, r.shape)[number, :, k]
        x[number, :, k] = start + _factorise(T[number], a[:, k], given[number, :, k])
    return x


@compiled
def _leaving(
    sums: Float,
    missed: Float,
    first: Index,
    second: Index,
    between: Float,
    rows: Float,
    twice: Float,
    T: Float,
    r: Float,
) -> None:
    """Add up what leaves with the two items of each pair, and what the model of all preferences then misses."""
    for number in range(len(first)):
        h, j = first[number], second[number]
        for i in range(rows.shape[1]):
            shared = between[number] * rows[number, i]
            for k in range(rows.shape[1]):
                T[number, i, k] = sums[h, i, k] + sums[j, i, k] - shared * rows[number, k]
            for k in range(twice.shape[1]):
                r[number, i, k] = rows[number, i] * twice[number, k] - missed[h, i, k] - missed[j, i, k]


def _factorise(T: Float, a: Float, c: Float) -> Float:
    """Solve one system; NaN where a pivot is too small to be trusted."""
    root = np.sqrt(a)
    factor, info = lapack.dpotrf(np.eye(len(a)) - T / (root[:, None] * root), lower=1)
    # The smallest pivot of ``I - A^-½ T A^-½`` that is trusted.
    if info != 0 or float(np.diagonal(factor).min(initial=1.0)) ** 2 <= 1e-4:
        return np.full(len(a), np.nan)
    x, _ = lapack.dpotrs(factor, c / root, lower=1)
    return np.asarray(x.ravel() / root)
