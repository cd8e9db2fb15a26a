"""A sentence: its text, tokens, parse and mentions."""

from __future__ import annotations

from dataclasses import dataclass

from kernelrank.errors import InvalidInputError
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.mention import Mention
from kernelrank.relations.token import Token

__all__ = ["Sentence"]


@dataclass(frozen=True, eq=False)
class Sentence:
    """A parsed sentence of a document.

    Parameters
    ----------
    id : str
    document : str
        Its document, which is never split between training and testing.
    text : str
    tokens : tuple of Token
    dependencies : tuple of Dependency
        Any directed graph over the tokens, cycles included; the same dependency listed twice counts once.
    mentions : tuple of Mention

    Examples
    --------
    >>> tokens = (Token("A", "NN", 0, 1), Token("binds", "VBZ", 2, 7), Token("B", "NN", 8, 9))
    >>> parse = (Dependency(1, 0, "nsubj"), Dependency(1, 2, "dobj"))
    >>> mentions = (Mention("e0", "A", (0,)), Mention("e1", "B", (2,)))
    >>> sentence = Sentence("s0", "d0", "A binds B", tokens, parse, mentions)
    >>> len(sentence.tokens)
    3
    """

    id: str
    document: str
    text: str
    tokens: tuple[Token, ...]
    dependencies: tuple[Dependency, ...]
    mentions: tuple[Mention, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dependencies", tuple(dict.fromkeys(self.dependencies)))
        n_tokens = len(self.tokens)
        for dependency in self.dependencies:
            if not (0 <= dependency.governor < n_tokens and 0 <= dependency.dependent < n_tokens):
                raise InvalidInputError(
                    f"sentence {self.id}: the dependency {dependency.type!r} points outside its {n_tokens} tokens"
                )
        for mention in self.mentions:
            if any(not 0 <= place < n_tokens for place in mention.tokens):
                raise InvalidInputError(
                    f"sentence {self.id}: the mention {mention.id} points outside its {n_tokens} tokens"
                )
