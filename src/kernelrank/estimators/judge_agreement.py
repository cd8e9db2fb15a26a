r"""Agreement of each judge with the scores from all other judges.

Without the votes E of one judge, Newton's step from the scores of all is

``f' = f + S' D_Eᵀ g_E``, ``S' = (I - S L_E)⁻¹ S``, ``L_E = D_Eᵀ diag(h_E) D_E``,

with S the covariance of the scores for the variance of their prior, g and h the gradient and the curvature of the
judge's votes: only the items of these votes are used. For least squares this is exact, for Bradley-Terry one step of
Newton's method.

The votes of a judge like all others that are no ties go to the first item with the probabilities p of these scores. For
a judge whose logits are σ times as large, the score test of σ = 1 compares ``Σ logit(p) (won - n p)`` with its standard
deviation; a judge who votes at random, or against the others, has a small value. Its variance counts that f' is
uncertain. Votes against a large logit are rare and count much, so that the sum is skewed; its tail is that of the gamma
distribution with the same first three moments (Pearson's type III).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, logit, ndtr

from kernelrank.base.arrays import Float, Index
from kernelrank.votes.posterior import ItemPosterior
from kernelrank.votes.votes import Votes

__all__ = ["JudgeAgreement", "judge_agreement"]

FALSE_DISCOVERIES = 0.05
"""The share of flagged judges that may vote as the others do [BH95]_."""


@dataclass(frozen=True, eq=False)
class JudgeAgreement:
    """How each of j judges agrees with all others.

    Parameters
    ----------
    votes : ndarray, shape (j,)
        The weight of the votes that are no ties.
    agreement, expected : ndarray, shape (j,)
        The share of them that goes to the item that the others prefer, and what is expected of a judge like the others.
        NaN for a judge without such votes.
    pvalue : ndarray, shape (j,)
        How probable so little agreement is for a judge like the others.
    flagged : ndarray of bool, shape (j,)
        Whose votes differ: at most 5 % of these are expected to be flagged by chance [BH95]_.
    """

    votes: Float
    agreement: Float
    expected: Float
    pvalue: Float
    flagged: NDArray[np.bool_]


def judge_agreement(posterior: ItemPosterior, judged: Votes) -> JudgeAgreement:
    """Compare each judge with the scores of all others.

    Parameters
    ----------
    posterior : ItemPosterior
        Of all votes.
    judged : Votes
        The same votes, with their judges.

    Returns
    -------
    JudgeAgreement

    Notes
    -----
    O(t³) time for a judge who voted on t items. Where more than 1,000 items make covariances unknown, the scores are
    those of all votes, the judge's own included.
    """
    assert judged.judge is not None
    order = np.argsort(judged.judge, kind="stable")
    bounds = np.searchsorted(judged.judge[order], np.arange(judged.n_judges + 1))
    found = np.full((4, judged.n_judges), np.nan)
    found[0], found[3] = 0.0, 1.0
    for number in range(judged.n_judges):
        rows = order[bounds[number] : bounds[number + 1]]
        if len(rows):
            found[:, number] = _one_judge(posterior, *_own_votes(judged, rows))
    votes, agreement, expected, pvalue = found
    return JudgeAgreement(votes, agreement, expected, pvalue, _flagged(pvalue))


def _own_votes(votes: Votes, rows: Index) -> tuple[Index, Votes]:
    """Return the items of some rows, and the rows with these items numbered from zero."""
    items, codes = np.unique(votes.pairs[rows], return_inverse=True)
    counts = (votes.won[rows], votes.lost[rows], votes.tied[rows])
    return items, Votes(len(items), codes.reshape(-1, 2), *counts, None, None, 0, len(rows))


def _one_judge(posterior: ItemPosterior, items: Index, own: Votes) -> tuple[float, float, float, float]:
    """Return the number of decided votes, the agreement, what is expected, and the p-value."""
    f, model = posterior.scores[items], posterior.estimate.model
    if posterior.knows_covariances:
        S, D = posterior.given_covariance(items), own.incidence.toarray()
        g, h = model.expected(own, D @ f, _row_variances(own, S))
        S = np.linalg.solve(np.eye(len(items)) - S @ (D.T @ (h[:, None] * D)), S)
        S = (S + S.T) / 2.0
        f = f + S @ (D.T @ g)
        S = S + posterior.prior_covariance(items)
    else:
        S = posterior.std[items] ** 2  # its diagonal
    d = own.differences(f)
    p = np.clip(model.decided(model.probability(d, _row_variances(own, S))), 1e-12, 1.0 - 1e-12)
    n = own.won + own.lost
    total = float(n.sum())
    if total == 0:
        return 0.0, np.nan, np.nan, 1.0
    agreeing = np.where(d > 0, own.won, np.where(d < 0, own.lost, n / 2))
    size = logit(p)
    forces = own.item_sums(size * n * p * (1.0 - p))
    variance = float((size**2 * n * p * (1.0 - p)).sum()) + float(forces @ (S @ forces if S.ndim == 2 else S * forces))
    statistic = float((size * (own.won - n * p)).sum())
    third = float((size**3 * n * p * (1.0 - p) * (1.0 - 2.0 * p)).sum())
    pvalue = _lower_tail(statistic / np.sqrt(variance), third / variance**1.5) if variance > 0 else 1.0
    return total, float(agreeing.sum()) / total, float((n * np.maximum(p, 1.0 - p)).sum()) / total, pvalue


def _lower_tail(value: float, skewness: float) -> float:
    """Return how probable values up to `value` are for a standardised sum whose skewness is not positive."""
    if skewness > -1e-3:
        return float(ndtr(value))
    shape = 4.0 / skewness**2
    return float(gammaincc(shape, max(shape - np.sqrt(shape) * value, 0.0)))


def _row_variances(own: Votes, S: Float) -> Float:
    """Return the variances of the differences, from the covariance of the scores or its diagonal."""
    if S.ndim == 1:
        return S[own.head] + S[own.tail]
    single = np.diagonal(S)
    return np.asarray(np.maximum(single[own.head] + single[own.tail] - 2.0 * S[own.head, own.tail], 0.0))


def _flagged(pvalue: Float) -> NDArray[np.bool_]:
    """Return which p-values are discoveries at the false discovery rate [BH95]_."""
    order = np.argsort(pvalue)
    line = FALSE_DISCOVERIES * np.arange(1, len(pvalue) + 1) / len(pvalue)
    below = np.flatnonzero(pvalue[order] <= line)
    flagged = np.zeros(len(pvalue), dtype=bool)
    if len(below):
        flagged[order[: below[-1] + 1]] = True
    return flagged
