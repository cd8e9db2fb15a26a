"""p-values as text, in one format on pages, in tables and in results; importing it imports nothing else."""

from __future__ import annotations

__all__ = ["p_is", "pvalue"]

LEAST_PVALUE = 0.001
"""Smaller values are written as this bound."""


def pvalue(value: float) -> str:
    """Write a p-value with three decimals, so that a column of them is aligned.

    Examples
    --------
    >>> pvalue(0.0123), pvalue(0.5), pvalue(1.0), pvalue(0.00001)
    ('0.012', '0.500', '1.000', '< 0.001')
    """
    return f"{value:.3f}" if value >= LEAST_PVALUE else f"< {LEAST_PVALUE:g}"


def p_is(value: float) -> str:
    """Write what follows the letter p in a sentence.

    Examples
    --------
    >>> p_is(0.0123), p_is(0.00001)
    ('= 0.012', '< 0.001')
    """
    return pvalue(value) if value < LEAST_PVALUE else f"= {pvalue(value)}"
