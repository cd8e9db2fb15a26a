"""A grid of numbers as people type it: 0.1,1,10 or 2^-15:2^15; and the words that stand for numbers."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["read_alphas", "read_gamma", "read_gammas", "read_grid"]

LONGEST = 1000


def read_grid(text: str, flag: str) -> list[float]:
    """Read numbers with commas between; ``low:high`` doubles from low to high, ``low:high:n`` takes n steps.

    Parameters
    ----------
    text : str
    flag : str
        The option, which errors name.

    Returns
    -------
    list of float
        In ascending order, none of them twice.

    Examples
    --------
    >>> read_grid("1:8", "--alphas"), read_grid("10^-2:1:3,5", "--alphas")
    ([1.0, 2.0, 4.0, 8.0], [0.01, 0.1, 1.0, 5.0])
    """
    from kernelrank.errors import InvalidInputError

    try:
        values = sorted({value for part in text.split(",") for value in _read_part(part.strip())})
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise InvalidInputError(
            f"{flag}: {text!r} is not a list or range of numbers ({error}). Write 0.1,1,10 or 2^-15:2^15 or 0.01:1000:6"
        ) from None
    return values


def read_alphas(text: str) -> str | list[float]:
    """Read ``--alphas``: a grid, or "auto" for one that is computed from the data.

    Examples
    --------
    >>> read_alphas("auto"), read_alphas("1,10")
    ('auto', [1.0, 10.0])
    """
    from kernelrank.errors import InvalidInputError

    if text == "auto":
        return text
    values = read_grid(text, "--alphas")
    if values[0] <= 0:
        raise InvalidInputError(f"--alphas: expected positive numbers; got {values[0]:g}")
    return values


def read_gammas(text: str | None) -> list[Any]:
    """Read ``--gammas``: a grid, with the rules "scale" and "median" among the numbers.

    Examples
    --------
    >>> read_gammas("0.1:10:3,median"), read_gammas(None)
    (['median', 0.1, 1.0, 10.0], [])
    """
    from kernelrank.kernels import GAMMA_RULES

    parts = [] if text is None else [part.strip() for part in text.split(",")]
    rules = [rule for rule in GAMMA_RULES if rule in parts]
    numbers = [part for part in parts if part not in rules]
    return [*rules, *(read_grid(",".join(numbers), "--gammas") if numbers else [])]


def read_gamma(text: str | None) -> Any:
    """Read ``--gamma``: a number, or a rule.

    Examples
    --------
    >>> read_gamma("0.5"), read_gamma("scale"), read_gamma(None)
    (0.5, 'scale', None)
    """
    from kernelrank.errors import InvalidInputError
    from kernelrank.kernels import GAMMA_RULES

    if text is None or text in GAMMA_RULES:
        return text
    try:
        return _read_number(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise InvalidInputError(f"--gamma must be a number, scale or median, got {text!r}") from None


def _read_part(part: str) -> list[float]:
    numbers = part.split(":")
    if len(numbers) == 1:
        return [_read_number(part)]
    if len(numbers) > 3:
        raise ValueError(f"{part!r} has more than two colons")
    low, high = map(_read_number, numbers[:2])
    if not 0 < low < high:
        raise ValueError(f"{part!r} must be an increasing range of positive numbers")
    steps = int(numbers[2]) if len(numbers) == 3 else round(math.log2(high / low)) + 1
    if not 2 <= steps <= LONGEST:
        raise ValueError(f"{part!r} has {steps} numbers, not 2 to {LONGEST}")
    ratio = (high / low) ** (1 / (steps - 1))
    # Numbers of a grid are read by people: 0.1, not 0.10000000000000002.
    return [low, *(float(f"{low * ratio**step:.12g}") for step in range(1, steps - 1)), high]


def _read_number(text: str) -> float:
    base, power, exponent = text.partition("^")
    value = float(base) ** float(exponent) if power else float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not finite")
    return value
