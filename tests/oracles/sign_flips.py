"""The p-value of a sign-flip test by writing down every choice of signs, in exact fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction


def sign_flip_pvalue(differences: list[float]) -> Fraction:
    exact = [Fraction(d) for d in differences]
    observed = abs(sum(exact))
    flips = list(itertools.product((-1, 1), repeat=len(exact)))
    extreme = sum(abs(sum(s * d for s, d in zip(signs, exact, strict=True))) >= observed for signs in flips)
    return Fraction(extreme, len(flips))


def signed_ranks(differences: list[float]) -> list[float]:
    """The ranks of the differences that are not zero, by counting, with their signs."""
    moving = [d for d in differences if d != 0]
    sizes = [abs(d) for d in moving]
    ranks = [sum(s < size for s in sizes) + (sum(s == size for s in sizes) + 1) / 2 for size in sizes]
    return [rank if d > 0 else -rank for rank, d in zip(ranks, moving, strict=True)]
