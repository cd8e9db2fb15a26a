"""A candidate: two mentions of a sentence that may interact."""

from __future__ import annotations

from dataclasses import dataclass

from kernelrank.relations.mention import Mention
from kernelrank.relations.sentence import Sentence

__all__ = ["Candidate"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """An unordered pair of mentions in one sentence.

    Parameters
    ----------
    sentence : Sentence
    first, second : int
        The places of the two in ``sentence.mentions``; `first` is the one that begins earlier.
    interacts : bool or None, default=None
        Whether they interact; None if unknown.
    id : str, default=""
        The id of the pair in the corpus.

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> candidate = make_corpus(1, random_state=0).candidates[0]
    >>> candidate.names, candidate.document
    (('A0', 'B0'), 'd0')
    """

    sentence: Sentence
    first: int
    second: int
    interacts: bool | None = None
    id: str = ""

    @property
    def mentions(self) -> tuple[Mention, Mention]:
        """The two mentions."""
        return self.sentence.mentions[self.first], self.sentence.mentions[self.second]

    @property
    def names(self) -> tuple[str, str]:
        """The texts of the two mentions."""
        first, second = self.mentions
        return first.text, second.text

    @property
    def document(self) -> str:
        """The document of the sentence."""
        return self.sentence.document
