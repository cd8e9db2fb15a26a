r"""The problem of votes: the objective, its gradient, its Hessian, and bounds of rounding errors.

A row of votes on the items h and j, by judge k, has the linear predictor

``η = σ_k (f_h - f_j) + side (b + c_k)``, ``f = Φ w``,

and ``J = -log likelihood(η, θ) + Σ a x²`` is minimised over all unknowns ``x = (b, c or τ, θ, w)`` that a model has.
The penalty a is alpha for w, that of the judges for c and τ, and `LIGHT` for b and θ. Scales are
``σ_k = exp(τ_k - mean τ)``: their mean logarithm is zero, so that the scores keep their unit.

Without scales J is convex, and for any x it is at most ``Σ (∂J/∂x)² / (4 a)`` above its minimum, as every penalty is
strongly convex. With scales this holds for given scales.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from kernelrank.base.arrays import Float, Sparse, is_sparse, row_slices
from kernelrank.features import ColumnFeatures, Features
from kernelrank.hinge.pairs import sum_error
from kernelrank.votes.likelihood import VoteLoss, loss_errors, vote_loss
from kernelrank.votes.votes import Votes

__all__ = ["JudgeEffect", "Unknowns", "VotePoint", "VoteProblem"]

JudgeEffect: TypeAlias = Literal["side", "scale"]

LIGHT = 0.005
"""The penalty of the side bias and of θ: a normal prior with a standard deviation of 10, far wider than any effect that
is seen, so that one-sided votes have a finite minimum. It does not depend on alpha, whose size follows the features."""

STEPS = 32
"""By how many roundings scores that were kept up to date may differ from those computed anew."""


@dataclass(frozen=True)
class Unknowns:
    """The effects of a model in addition to the scores.

    Parameters
    ----------
    side_bias : bool
    judge_effect : {"side", "scale"} or None
    n_judges : int
    davidson : bool
        Whether θ is one of them.
    """

    side_bias: bool = False
    judge_effect: JudgeEffect | None = None
    n_judges: int = 0
    davidson: bool = False

    @property
    def judges(self) -> slice:
        """The positions of the effects of the judges."""
        start = int(self.side_bias)
        return slice(start, start + (self.n_judges if self.judge_effect else 0))

    @property
    def size(self) -> int:
        """How many effects there are; θ is the last one, and w follows."""
        return int(self.judges.stop) + int(self.davidson)

    def theta(self, effects: Float) -> float | None:
        """Return θ, if there is one."""
        return float(effects[-1]) if self.davidson else None

    def log_scale(self, effects: Float) -> Float:
        """Return the logarithms of the scales of the judges, whose mean is zero."""
        tau: Float = effects[self.judges]
        centred: Float = tau - tau.mean()
        return centred


@dataclass(frozen=True)
class VotePoint:
    """The problem at given scores and effects.

    Parameters
    ----------
    scale : ndarray, shape (k,), or float
        σ of each row; one without scales.
    scaled, eta : ndarray, shape (k,)
        ``σ (f_h - f_j)``, and the predictor.
    loss : VoteLoss
    items : ndarray, shape (m,)
        The gradient of the loss by the scores.
    effects : ndarray, shape (q,)
        That by the effects.
    rows : sparse matrix, shape (k, q'), or None
        The derivatives of η by the effects but θ; None if there are none.
    """

    scale: Float | float
    scaled: Float
    eta: Float
    loss: VoteLoss
    items: Float
    effects: Float
    rows: Sparse | None


class VoteProblem:
    """Features, votes and effects, ready for every alpha.

    Parameters
    ----------
    features : Features
        Φ (m × r), with its columns known.
    votes : Votes
    unknowns : Unknowns
    judge_alpha : float
        The penalty of the effects of judges.
    loss : callable, default=vote_loss
        Evaluates the loss of votes at a predictor and θ.
    """

    def __init__(
        self,
        features: Features,
        votes: Votes,
        unknowns: Unknowns,
        judge_alpha: float,
        loss: Callable[[Votes, Float, float | None], VoteLoss] = vote_loss,
    ) -> None:
        if features.columns is None:
            raise TypeError("the likelihood of votes is maximised over columns: map the kernel first")
        self.features: ColumnFeatures = features.columns
        self.votes, self.unknowns, self.judge_alpha, self.loss = votes, unknowns, judge_alpha, loss

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return self.unknowns.size + self.features.n_columns

    def penalty(self, alpha: float) -> Float:
        """Return the penalty of each unknown."""
        a = np.full(self.size, alpha)
        a[: self.unknowns.size] = LIGHT
        a[self.unknowns.judges] = self.judge_alpha
        return a

    def at(self, f: Float, effects: Float) -> VotePoint:
        """Evaluate the loss at scores f (m,) and effects (q,), O(m + k) time."""
        votes, unknowns = self.votes, self.unknowns
        d = votes.differences(f)
        scale: Float | float = 1.0
        if unknowns.judge_effect == "scale":
            scale = np.exp(unknowns.log_scale(effects))[votes.judge]
            d = scale * d
        eta = d
        if unknowns.side_bias or unknowns.judge_effect == "side":
            assert votes.side is not None
            shift = effects[0] if unknowns.side_bias else 0.0
            if unknowns.judge_effect == "side":
                shift = shift + effects[unknowns.judges][votes.judge]
            eta = d + votes.side * shift
        loss = self.loss(votes, eta, unknowns.theta(effects))
        items = votes.item_sums(scale * loss.gradient)
        rows = self._effect_rows(d)
        slope = np.zeros(unknowns.size)
        if rows is not None:
            slope[: rows.shape[1]] = self.centred(rows.T @ loss.gradient)
        if unknowns.davidson:
            slope[-1] = loss.tie_gradient
        return VotePoint(scale, d, eta, loss, items, slope, rows)

    def _effect_rows(self, d: Float) -> Sparse | None:
        """Return the derivatives of η by b and by the effects of judges, for scales not yet centred."""
        if not self.unknowns.judges.stop:
            return None
        if self.unknowns.judge_effect != "scale":
            return self._side_rows
        values = sparse.csr_array((d, self.votes.judge, np.arange(len(d) + 1)), shape=(len(d), self.unknowns.n_judges))
        return sparse.hstack([self._side_rows, values], format="csr") if self.unknowns.side_bias else values

    @cached_property
    def _side_rows(self) -> Sparse:
        votes, side = self.votes, self.votes.side
        assert side is not None
        k = len(votes.pairs)
        parts = []
        if self.unknowns.side_bias:
            parts.append(sparse.csr_array(np.reshape(side, (-1, 1))))
        if self.unknowns.judge_effect == "side":
            place = (side, votes.judge, np.arange(k + 1))
            parts.append(sparse.csr_array(place, shape=(k, self.unknowns.n_judges)))
        return parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")

    def centred(self, values: Float) -> Float:
        """Take the mean over the judges away where their effects are scales, along the first axis."""
        if self.unknowns.judge_effect == "scale":
            part = values[self.unknowns.judges]
            values = values.copy()
            values[self.unknowns.judges] = part - part.mean(axis=0)
        return values

    def gradient(self, point: VotePoint) -> Float:
        """Return the gradient of the loss by all unknowns; the penalty is left out."""
        return np.concatenate([point.effects, self.features.transpose_multiply(point.items)])

    def item_weights(self, point: VotePoint) -> Float:
        """Return the curvature by the difference of the scores of each row."""
        return point.loss.curvature * np.square(point.scale)

    def hessian(self, point: VotePoint, *, bent: bool = False) -> Float:
        """Return the Hessian of the loss, dense (p × p).

        For scales, unless `bent`, it leaves out that η is not linear in them, and is never indefinite (Gauss-Newton).
        O(m r² + k r) time for a dense Φ.
        """
        q, loss = self.unknowns.size, point.loss
        H = np.zeros((self.size, self.size))
        H[q:, q:] = self.features.gram(self.votes.graph(self.item_weights(point)))
        if point.rows is not None:
            s = point.rows.shape[1]
            weighted = sparse.diags_array(loss.curvature) @ point.rows
            square = (point.rows.T @ weighted).toarray()
            across = sparse.diags_array(point.scale * loss.curvature) @ point.rows
            if bent:
                square += np.diag(self._judge_rows.T @ (loss.gradient * point.scaled))
                across = across + sparse.diags_array(point.scale * loss.gradient) @ self._judge_rows
            H[:s, :s] = self.centred(self.centred(square).T)
            mixed = (self.votes.incidence.T @ across).T @ self.features.X
            H[:s, q:] = self.centred(mixed.toarray() if is_sparse(mixed) else mixed)
            H[q:, :s] = H[:s, q:].T
        if loss.cross is not None:
            t = q - 1
            H[t, t] = loss.tie_curvature
            H[t, q:] = H[q:, t] = self.features.transpose_multiply(self.votes.item_sums(point.scale * loss.cross))
            if point.rows is not None:
                H[t, :t] = H[:t, t] = self.centred(point.rows.T @ loss.cross)
        return H

    @cached_property
    def _judge_rows(self) -> Sparse:
        """One at the judge of each row, shape (k, q')."""
        k, judges = len(self.votes.pairs), self.unknowns.judges
        places = self.votes.judge + judges.start
        return sparse.csr_array((np.ones(k), places, np.arange(k + 1)), shape=(k, judges.stop))

    def hessian_multiply(self, point: VotePoint, v: Float, *, bent: bool = False) -> tuple[Float, Float]:
        """Return the product of the Hessian of the loss with v (p,), and Φ times its part for w, O(nnz + k) time."""
        q, loss = self.unknowns.size, point.loss
        v_scores = self.features.multiply(v[q:])
        apart = point.scale * self.votes.differences(v_scores)
        moved, turned, product = apart, 0.0, np.zeros_like(v)
        if point.rows is not None:
            effects = self.centred(v[: point.rows.shape[1]])
            moved = apart + point.rows @ effects
            if bent:
                by_judge = self._judge_rows @ effects
                turned = loss.gradient * by_judge
                again = self._judge_rows.T @ (loss.gradient * (apart + point.scaled * by_judge))
                product[: len(effects)] = self.centred(again)
        forces = loss.curvature * moved
        if loss.cross is not None:
            forces = forces + loss.cross * v[q - 1]
            product[q - 1] = float(loss.cross @ moved) + loss.tie_curvature * v[q - 1]
        product[q:] = self.features.transpose_multiply(self.votes.item_sums(point.scale * (forces + turned)))
        if point.rows is not None:
            product[: point.rows.shape[1]] += self.centred(point.rows.T @ forces)
        return product, v_scores

    def hessian_diagonal(self, point: VotePoint) -> Float:
        """Return the diagonal of the Hessian, for a preconditioner; for scales without their centring."""
        q = self.unknowns.size
        diagonal = np.zeros(self.size)
        diagonal[q:] = self.features.gram_diagonal(self.votes.graph(self.item_weights(point)))
        if point.rows is not None:
            diagonal[: point.rows.shape[1]] = point.rows.power(2).T @ point.loss.curvature
        if self.unknowns.davidson:
            diagonal[q - 1] = point.loss.tie_curvature
        return diagonal

    def rounding(self, x: Float, f: Float, point: VotePoint) -> tuple[float, Float]:
        """Bound the rounding errors of the loss, and of each entry of its gradient.

        Parameters
        ----------
        x, f : ndarray, shapes (p,), (m,)
            The unknowns, and the scores of their w as they were computed or kept up to date.
        point : VotePoint
            The loss at these.

        Returns
        -------
        (float, ndarray of shape (p,))
        """
        q, votes, loss = self.unknowns.size, self.votes, point.loss
        scale = point.scale
        largest = float(self._magnitudes @ np.abs(x[q:]))
        score_error = sum_error(self.features.longest_row + STEPS) * largest
        ends = np.abs(f)[votes.head] + np.abs(f)[votes.tail]
        error = scale * (2.0 * score_error + sum_error(8) * ends) + sum_error(8) * np.abs(point.eta)
        if point.rows is not None:
            error = error + sum_error(8) * float(np.abs(x[:q]).sum())
        value, of_rows = loss_errors(votes, loss, point.eta, self.unknowns.theta(x[:q]), error)
        g = np.abs(loss.gradient)
        terms = votes.item_totals(np.ones(len(g)))
        by_item = votes.item_totals(scale * of_rows) + sum_error(terms.max() + 8) * votes.item_totals(scale * g)
        by_item += sum_error(self._column_terms + 4) * np.abs(point.items)
        errors = np.empty(self.size)
        errors[q:] = self._absolute_transpose(by_item)
        if point.rows is not None:
            s = point.rows.shape[1]
            errors[:s] = abs(point.rows).T @ (of_rows + sum_error(len(g) + 8) * g)
        if self.unknowns.davidson:
            errors[q - 1] = float(of_rows.sum()) + sum_error(len(g) + 8) * float(votes.total.sum())
        return value, errors

    @cached_property
    def _magnitudes(self) -> Float:
        return self.features.column_magnitudes()

    @cached_property
    def _column_terms(self) -> int:
        """The largest number of terms in a product with a column of Φ."""
        X = self.features.X
        if not is_sparse(X):
            return self.features.n_items
        counts = np.diff(X.indptr) if X.format == "csc" else np.bincount(X.indices, minlength=1)
        return int(counts.max(initial=0))

    def _absolute_transpose(self, v: Float) -> Float:
        """Return ``|Φ|ᵀ v``, in blocks for a dense Φ."""
        X = self.features.X
        if is_sparse(X):
            return np.asarray(abs(X).T @ v, dtype=np.float64)
        total = np.zeros(X.shape[1])
        for rows in row_slices(X):
            total += np.abs(X[rows]).T @ v[rows]
        return total
