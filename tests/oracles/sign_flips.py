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
