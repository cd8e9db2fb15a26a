"""A token: a word of a sentence, as its tokeniser cut it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Token"]


class Token(NamedTuple):
    """A word with its part of speech, and the characters that it covers.

    Parameters
    ----------
    text : str
    pos : str
        Its part of speech.
    start, end : int
        The characters of the sentence that it covers: from `start` up to and without `end`.
    lemma : str, default=""
        Its dictionary form, where the reader knows it.

    Examples
    --------
    >>> Token("binds", "VBZ", 4, 9).text
    'binds'
    """

    text: str
    pos: str
    start: int
    end: int
    lemma: str = ""
