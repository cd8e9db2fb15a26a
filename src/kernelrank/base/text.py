"""Terminal output: control characters are escaped.

A terminal obeys escape sequences, and shows text in another order where marks of direction say so. Whatever comes from
a file or from the name of one is written with such characters escaped, as Python's `repr` writes them.
"""

from __future__ import annotations

import json
import re

OBEYED = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls of ASCII and of Latin-1, the beginnings of escape sequences among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction
    "\u2028\u2029\u206a-\u206f\ufeff\ufff9-\ufffb"  # ends of lines, and marks that nobody sees
    "\U000e0000-\U000e007f"  # tags, which nobody sees either
    "\ud800-\udfff"  # bytes of a file name that are not UTF-8
    "]"
)


def printable(text: str, *, lines: bool = False) -> str:
    r"""Escape control characters, which a terminal would execute instead of showing."""

    def escaped(found: re.Match[str]) -> str:
        character = found.group()
        return character if lines and character in "\n\t" else repr(character)[1:-1]

    return OBEYED.sub(escaped, text)


def escaped_json(text: str) -> str:
    r"""Escape control characters in JSON strings, so that a JSON parser restores them."""
    return OBEYED.sub(lambda found: found.group() if found.group() == "\n" else json.dumps(found.group())[1:-1], text)


# Pvalues --------------------------------------------------------------------------------------------------------------
#
# p-values as text, in one format on pages, in tables and in results; importing it imports nothing else.


def pvalue(value: float) -> str:
    """Write a p-value with three decimals, so that a column of them is aligned."""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def p_is(value: float) -> str:
    """Write what follows the letter p in a sentence."""
    return pvalue(value) if value < 0.001 else f"= {pvalue(value)}"
