"""The result of leave-pair-out: held-out pairs and their predicted differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelrank.base.arrays import Float, Index
from kernelrank.base.results import Bars, Histogram, Result
from kernelrank.errors import InvalidInputError

__all__ = ["PairHoldout", "pair_accuracy"]


@dataclass(frozen=True, eq=False, repr=False)
class PairHoldout(Result):
    """Pairs of items, each scored by the model that was trained without both.

    Parameters
    ----------
    first, second : ndarray of int64, shape (pairs,)
        The item numbers of the pairs held out.
    difference : ndarray, shape (pairs[, outputs][, alphas])
        ``f(first) - f(second)`` by the model trained without both. An axis of outputs is there if y has two
        dimensions, an axis of alphas, always the last, if alphas were given.
    truth : ndarray, shape (pairs[, outputs])
        ``y_first - y_second``.
    accuracy : float or ndarray, shape ([outputs][, alphas])
        The share of the pairs with different true scores that are in the right order; a tied prediction counts a half.
        NaN for an output whose pairs are all tied.
    n_pairs : int
        How many pairs were held out: the length of the arrays, which are empty where only the accuracy was requested.

    Examples
    --------
    >>> import numpy as np
    >>> held_out = PairHoldout.of(np.array([0, 0]), np.array([1, 2]), np.array([0.3, -0.1]), np.array([1.0, 2.0]))
    >>> held_out.accuracy, held_out.n_pairs
    (0.5, 2)
    >>> held_out
    <PairHoldout 2 pairs held out, accuracy 0.5000>
    """

    first: Index
    second: Index
    difference: Float
    truth: Float
    accuracy: float | Float
    n_pairs: int

    @classmethod
    def of(
        cls, first: Index, second: Index, difference: Float, truth: Float, *, differences: bool = True
    ) -> PairHoldout:
        """Measure the accuracy of known differences and keep both, or the accuracy only.

        Parameters
        ----------
        first, second : ndarray of int, shape (pairs,)
        difference : ndarray, shape (pairs[, outputs][, alphas])
        truth : ndarray, shape (pairs[, outputs])
        differences : bool, default=True
            Whether to keep the pairs and their differences.

        Returns
        -------
        PairHoldout
        """
        kept = len(first) if differences else 0
        accuracy = pair_accuracy(difference, truth)
        return cls(first[:kept], second[:kept], difference[:kept], truth[:kept], accuracy, len(first))

    def __str__(self) -> str:
        return f"{self.n_pairs:,} pair{'s' if self.n_pairs != 1 else ''} held out, accuracy {self._accuracy()}"

    def _accuracy(self) -> str:
        values = np.asarray(self.accuracy)
        if values.ndim == 0:
            return f"{values:.4f}"
        if np.all(np.isnan(values)):
            return "not defined"
        return f"{np.nanmin(values):.4f} to {np.nanmax(values):.4f} ({' × '.join(map(str, values.shape))} values)"

    def _facts(self) -> list[tuple[str, str]]:
        return [("pairs held out", f"{self.n_pairs:,}"), ("accuracy", self._accuracy())]

    def _chart(self) -> Bars | Histogram:
        accuracy = np.asarray(self.accuracy)
        if accuracy.ndim:
            places = [" ".join(map(str, place)) for place in np.ndindex(accuracy.shape)]
            return Bars(places, accuracy.ravel().tolist(), "accuracy of pairs, by number of output and alpha")
        self._columns()  # says what to do where the differences were not kept
        right = self.difference * np.sign(self.truth)
        label = "held-out difference of a pair: above zero in the right order"
        return Histogram(right[np.abs(self.truth) > 0], label, "pairs", 0.0, f"accuracy {accuracy:.3f}")

    def _columns(self) -> dict[str, Any]:
        if len(self.first) < self.n_pairs:
            raise InvalidInputError(
                f"Expected the differences of {self.n_pairs:,} pairs, but only their accuracy was kept: "
                "pass differences=True to leave_pair_out."
            )
        parts = {"difference": self.difference, "truth": self.truth}
        columns: dict[str, Any] = {"first": self.first, "second": self.second}
        for name, values in parts.items():
            # An axis of outputs or alphas becomes one column for each of its places.
            for place in np.ndindex(values.shape[1:]):
                columns["_".join([name, *map(str, place)])] = values[(slice(None), *place)]
        return columns


def pair_accuracy(difference: Float, truth: Float) -> float | Float:
    """Return the share of pairs in the right order, a tied prediction counting a half.

    Parameters
    ----------
    difference : ndarray, shape (pairs[, outputs][, alphas])
    truth : ndarray, shape (pairs[, outputs])
        NaN for a pair that does not count.

    Returns
    -------
    float or ndarray, shape ([outputs][, alphas])

    Notes
    -----
    O(size of `difference`) time.
    """
    sign = np.nan_to_num(np.sign(truth))
    counted = np.abs(sign).sum(axis=0)
    shape = sign.shape + (1,) * (difference.ndim - sign.ndim)
    agreement = np.sum(np.sign(difference) * sign.reshape(shape), axis=0)
    counted = counted.reshape(counted.shape + (1,) * (agreement.ndim - counted.ndim))
    share = np.full(agreement.shape, np.nan)
    np.divide(agreement, 2.0 * counted, out=share, where=counted > 0)
    return float(share + 0.5) if share.ndim == 0 else share + 0.5
