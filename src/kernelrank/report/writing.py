"""How numbers are written in a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, isfinite, log10
from typing import Any

from kernelrank.base.text import p_is, pvalue

__all__ = ["FILTERS", "counted", "in_column", "plural", "signed", "with_commas", "with_digits"]

PLURALS = {"query": "queries"}


def with_commas(number: float) -> str:
    """Write a whole number.

    Examples
    --------
    >>> with_commas(12345)
    '12,345'
    """
    return f"{int(number):,}"


def counted(number: float, noun: str) -> str:
    """Write a whole number with its noun.

    Examples
    --------
    >>> counted(1, "query"), counted(2000, "query"), counted(0, "item")
    ('1 query', '2,000 queries', '0 items')
    """
    return f"{with_commas(number)} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Write the plural of a noun.

    Examples
    --------
    >>> plural("query"), plural("fold")
    ('queries', 'folds')
    """
    return PLURALS.get(noun, noun + "s")


def with_digits(number: float, digits: int = 4) -> str:
    """Write a number with a few significant digits, large ones to the unit, and a true minus sign.

    Examples
    --------
    >>> with_digits(0.000123456), with_digits(-2.5), with_digits(32768.0), with_digits(12345678.9)
    ('0.0001235', '−2.5', '32,768', '1.235e+07')
    """
    if 10.0**3 <= abs(number) < 10.0**7:
        return f"{number:,.0f}".replace("-", "−")
    return f"{number:.{digits}g}".replace("-", "−")


def signed(number: float, digits: int = 3) -> str:
    """Write a number with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25)
    ('+0.25', '−0.25')
    """
    return f"{number:+.{digits}g}".replace("-", "−")


def with_decimals(number: float, decimals: int = 3) -> str:
    """Write a measured value; what is rounded to zero has no sign.

    Examples
    --------
    >>> with_decimals(0.81649), with_decimals(-0.25), with_decimals(-0.00001)
    ('0.816', '−0.250', '0.000')
    """
    return f"{number:z.{decimals}f}".replace("-", "−")


def in_column(numbers: Sequence[float], digits: int = 3, *, sign: bool = False) -> list[str]:
    """Write the numbers of a column with the same number of decimals, so that their decimal points are aligned.

    Parameters
    ----------
    numbers : sequence of float
    digits : int, default=3
        Significant digits of the largest.
    sign : bool, default=False
        Whether positive ones have a sign too.

    Examples
    --------
    >>> in_column([0.00988, -0.0067, 0.00046]), in_column([123.4, 5.0]), in_column([0.25, -1.0], sign=True)
    (['0.00988', '−0.00670', '0.00046'], ['123', '5'], ['+0.25', '−1.00'])
    >>> in_column([1.5e-9, 2e-10]), in_column([])
    (['1.50e-09', '2.00e-10'], [])
    """
    values = [float(number) for number in numbers]
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    place = floor(log10(largest)) if largest > 0 else 0
    pattern = f".{digits - 1}e" if not -6 <= place <= 9 else f",.{max(0, digits - 1 - place)}f"
    return [f"{value:{'+' if sign else ''}{pattern}}".replace("-", "−").replace("e−", "e-") for value in values]


FILTERS: dict[str, Callable[..., Any]] = {
    "commas": with_commas,
    "counted": counted,
    "digits": with_digits,
    "signed": signed,
    "column": in_column,
    "decimals": with_decimals,
    "pvalue": pvalue,
    "p_is": p_is,
}
"""What templates may write behind a bar."""
