"""A mention: where a sentence names an entity, and which tokens do so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernelrank.relations.token import Token

__all__ = ["Mention", "covering_tokens"]

Spans = Sequence[tuple[int, int]]


class Mention(NamedTuple):
    """The name of an entity in a sentence.

    Parameters
    ----------
    id : str
    text : str
    tokens : tuple of int
        The places of its tokens in the sentence, in order: all that share a character with it. Empty where no token
        does, and then it is part of no candidate.
    type : str, default=""

    Examples
    --------
    >>> Mention("e0", "RNA polymerase", (3, 4), "protein").tokens
    (3, 4)
    """

    id: str
    text: str
    tokens: tuple[int, ...]
    type: str = ""


def covering_tokens(tokens: Sequence[Token], spans: Spans) -> tuple[int, ...]:
    """Find the tokens that share a character with any of the spans. Time O(tokens × spans).

    Parameters
    ----------
    tokens : sequence of Token
    spans : sequence of (int, int)
        From the first character up to and without the second.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> covering_tokens([Token("p53", "NN", 0, 3), Token("-", "HYPH", 3, 4), Token("MDM2", "NN", 4, 8)], [(4, 8)])
    (2,)
    """
    return tuple(
        place
        for place, token in enumerate(tokens)
        if any(token.start < end and start < token.end for start, end in spans)
    )
