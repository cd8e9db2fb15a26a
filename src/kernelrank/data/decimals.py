r"""Decimals: text to the nearest float64, as Python's ``float`` reads it, without Python in the loop.

A token is a sign, up to 19 significant digits that make an integer m < 2⁶⁴, and a power of ten e. Two cases
need no big integers:

- m < 2⁵³ and \|e\| ≤ 22: m and 10^\|e\| are floats, so that one product or quotient is rounded once.
- \|e\| ≤ 60: m = a + b and 10^e = p + q (1 + δ), \|δ\| ≤ 2⁻⁵³, with floats a, b, p, q. Dekker's product gives
  ap = h + r exactly, and s = r + (aq + bp) leaves an error below 2⁻¹⁰⁰ \|h\|. When h + (s − ε) and
  h + (s + ε) round to the same float for ε = 2⁻⁹⁶ \|h\|, rounding is monotone and that float is the answer.

What is left (ties, long or extreme numbers, anything that is no number) goes to `read_decimal`, one by one.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelrank.base.compiled import compiled

__all__ = ["powers_of_ten", "read_decimal", "read_decimals"]

LARGEST_POWER = 60

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


def read_decimal(token: bytes) -> float | None:
    """Read one number, which may be infinite or NaN; None if it is not a number.

    Python's ``float`` also takes underscores and digits of other scripts: typing errors in a data file.

    Examples
    --------
    >>> read_decimal(b"-1e-3"), read_decimal(b"inf"), read_decimal(b"1_000")
    (-0.001, inf, None)
    """
    if NUMBER.fullmatch(token) or NOT_FINITE.fullmatch(token):
        return float(token)
    return None


@functools.cache
def powers_of_ten() -> NDArray[np.float64]:
    """Return p and q of the module's docstring for e from -60 to 60, shape (121, 2).

    Examples
    --------
    >>> powers_of_ten()[60 - 1].tolist()
    [0.1, -5.551115123125783e-18]
    """
    table = np.empty((2 * LARGEST_POWER + 1, 2))
    for row in range(len(table)):
        power = Fraction(10) ** (row - LARGEST_POWER)
        table[row, 0] = float(power)
        table[row, 1] = float(power - Fraction(float(power)))
    return table


@compiled
def read_decimals(
    text: NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any], powers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read each span; the second array says which values are certain, the others are for `read_decimal`."""
    values = np.zeros(len(begins))
    certain = np.zeros(len(begins), dtype=np.bool_)
    for token in range(len(begins)):
        position, end = begins[token], ends[token]
        negative = position < end and text[position] == 45
        if negative or (position < end and text[position] == 43):
            position += 1
        mantissa, power = np.uint64(0), np.int64(0)
        digits, significant, point = 0, 0, -1
        while position < end and (48 <= text[position] <= 57 or (text[position] == 46 and point < 0)):
            if text[position] == 46:
                point = digits
            else:
                mantissa = np.uint64(10) * mantissa + np.uint64(text[position] - 48)
                digits += 1
                significant += 1 if mantissa > np.uint64(0) else 0
                if significant > 19:
                    break
            position += 1
        if position + 1 < end and digits > 0 and (text[position] == 101 or text[position] == 69):
            position += 1
            downwards = text[position] == 45
            if (downwards or text[position] == 43) and position + 1 < end:
                position += 1
            while position < end and 48 <= text[position] <= 57 and power < 1000:
                power = 10 * power + np.int64(text[position] - 48)
                position += 1
            power = -power if downwards else power
        if position < end or digits == 0 or significant > 19:
            continue
        power -= digits - point if point >= 0 else 0
        high = np.float64(mantissa)
        if mantissa < np.uint64(9007199254740992) and -22 <= power <= 22:
            value = high * powers[60 + power, 0] if power >= 0 else high / powers[60 - power, 0]
        elif -60 <= power <= 60:
            p, q = powers[60 + power, 0], powers[60 + power, 1]
            low = np.float64(np.int64(mantissa - np.uint64(high)))
            value = high * p
            high_top = 134217729.0 * high - (134217729.0 * high - high)  # 2²⁷ + 1: the upper half of the bits
            p_top = 134217729.0 * p - (134217729.0 * p - p)
            high_rest, p_rest = high - high_top, p - p_top
            rest = ((high_top * p_top - value) + high_top * p_rest + high_rest * p_top) + high_rest * p_rest
            rest += high * q + low * p
            slack = value * 1.262177448353619e-29  # 2⁻⁹⁶
            if value + (rest - slack) != value + (rest + slack):
                continue
            value += rest
        else:
            continue
        values[token] = -value if negative else value
        certain[token] = True
    return values, certain
