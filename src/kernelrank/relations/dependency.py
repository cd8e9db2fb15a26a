"""A dependency: a typed grammatical link between two tokens."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Dependency"]


class Dependency(NamedTuple):
    """A typed link from a governing token to one that depends on it.

    Parameters
    ----------
    governor, dependent : int
        The places of the two tokens in their sentence.
    type : str

    Examples
    --------
    >>> Dependency(1, 0, "nsubj").type
    'nsubj'
    """

    governor: int
    dependent: int
    type: str
