"""A corpus: parsed sentences, the candidate pairs in them, and what had to be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError

SELF_INTERACTION = "pairs of an entity with itself"
NO_PARSE = "pairs in sentences without the parse"
NO_TOKEN = "pairs of a mention that no token covers"
OTHER_TEXT = "pairs of a mention whose text is not that at its offsets"

# Whether two mentions interact, and what the corpus calls the pair.
Label = tuple[bool, str]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Candidate pairs with their sentences.

    Parameters
    ----------
    name : str
    sentences : tuple of Sentence
    candidates : tuple of Candidate
        The candidates of one sentence are contiguous.
    skipped : dict of str to int
        How many pairs were left out, by reason.

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> corpus = make_corpus(4, random_state=0)
    >>> len(corpus.candidates), corpus.n_documents, corpus.skipped
    (12, 4, {})
    """

    name: str
    sentences: tuple[Sentence, ...]
    candidates: tuple[Candidate, ...]
    skipped: dict[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> list[str]:
        """The document of each candidate."""
        return [candidate.document for candidate in self.candidates]

    @property
    def n_documents(self) -> int:
        """The number of documents that have a candidate."""
        return len(set(self.documents))

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Whether each candidate interacts; an error if a label is missing."""
        return labels_of(self.candidates)

    @property
    def n_positive(self) -> int:
        """The number of candidates that are said to interact."""
        return sum(candidate.interacts is True for candidate in self.candidates)

    @property
    def n_negative(self) -> int:
        """The number of candidates that are said not to interact."""
        return sum(candidate.interacts is False for candidate in self.candidates)

    def __repr__(self) -> str:
        left_out = "".join(f", {count} {reason} left out" for reason, count in self.skipped.items())
        return (
            f"<Corpus {self.name}: {len(self.candidates)} pairs ({self.n_positive} positive, {self.n_negative} "
            f"negative) in {self.n_documents} documents{left_out}>"
        )


def labels_of(candidates: Iterable[Candidate]) -> NDArray[np.bool_]:
    """Return whether each candidate interacts, shape (candidates,); an error if a label is missing."""
    labels = []
    for candidate in candidates:
        if candidate.interacts is None:
            names = " and ".join(repr(name) for name in candidate.names)
            raise InvalidInputError(f"sentence {candidate.sentence.id}: no label says whether {names} interact")
        labels.append(candidate.interacts)
    return np.array(labels, dtype=bool)


def candidates_of(
    sentence: Sentence, labels: Mapping[frozenset[str], Label], unusable: Mapping[str, str], skipped: Counter[str]
) -> list[Candidate]:
    """List the unordered pairs of mentions of a sentence, the earlier mention first. Time O(mentions²)."""
    found = []
    for first, second in combinations(range(len(sentence.mentions)), 2):
        one, other = sentence.mentions[first], sentence.mentions[second]
        reason = (unusable.get(one.id) or unusable.get(other.id)) if sentence.dependencies else NO_PARSE
        if reason:
            skipped[reason] += 1
            continue
        interacts, called = labels.get(frozenset((one.id, other.id)), (None, ""))
        earlier, later = (second, first) if other.tokens < one.tokens else (first, second)
        found.append(Candidate(sentence, earlier, later, interacts, called))
    return found


# Candidate ------------------------------------------------------------------------------------------------------------
#
# A candidate: two mentions of a sentence that may interact.


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


# Mention --------------------------------------------------------------------------------------------------------------
#
# A mention: where a sentence names an entity, and which tokens do so.

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
    """Find the tokens that share a character with any of the spans. Time O(tokens × spans)."""
    return tuple(
        place
        for place, token in enumerate(tokens)
        if any(token.start < end and start < token.end for start, end in spans)
    )


# Sentence -------------------------------------------------------------------------------------------------------------
#
# A sentence: its text, tokens, parse and mentions.


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


# Token ----------------------------------------------------------------------------------------------------------------
#
# A token: a word of a sentence, as its tokeniser cut it.


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


# Dependency -----------------------------------------------------------------------------------------------------------
#
# A dependency: a typed grammatical link between two tokens.


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


# Ranked candidate -----------------------------------------------------------------------------------------------------
#
# A ranked candidate: a pair with its score and the decision.


class RankedCandidate(NamedTuple):
    """A candidate pair with its predicted score and decision."""

    candidate: Candidate
    score: float
    interacts: bool


# Generator ------------------------------------------------------------------------------------------------------------
#
# Synthetic corpora, for examples and tests.

BINDING = ("binds", "activates", "inhibits", "phosphorylates")
NEUTRAL = ("resembles", "precedes", "outweighs", "follows")
ADVERBS = ("strongly", "rarely", "often", "clearly", "probably")


def make_corpus(n_documents: int = 20, *, random_state: int | None = None) -> Corpus:
    """Make documents of one sentence: "A often binds B , unlike C ." or alike, with three candidates each.

    A and B interact if the verb expresses an interaction, with one label in ten inverted; C interacts with neither.

    Parameters
    ----------
    n_documents : int, default=20
    random_state : int, optional

    Returns
    -------
    Corpus

    Examples
    --------
    >>> corpus = make_corpus(2, random_state=0)
    >>> corpus.sentences[0].text
    'A0 rarely outweighs B0 , unlike C0 .'
    >>> [candidate.names for candidate in corpus.candidates[:3]]
    [('A0', 'B0'), ('A0', 'C0'), ('B0', 'C0')]
    """
    generator = np.random.default_rng(random_state)
    sentences = []
    candidates = []
    for number in range(n_documents):
        interacts = bool(generator.random() < 0.5)
        verb = generator.choice(BINDING if interacts else NEUTRAL)
        sentence = _sentence(number, str(verb), str(generator.choice(ADVERBS)))
        label = interacts != (generator.random() < 0.1)  # noise
        sentences.append(sentence)
        candidates += [
            Candidate(sentence, 0, 1, bool(label), f"p{number}.0"),
            Candidate(sentence, 0, 2, False, f"p{number}.1"),
            Candidate(sentence, 1, 2, False, f"p{number}.2"),
        ]
    return Corpus("made up", tuple(sentences), tuple(candidates))


def _sentence(number: int, verb: str, adverb: str) -> Sentence:
    words = [f"A{number}", adverb, verb, f"B{number}", ",", "unlike", f"C{number}", "."]
    tags = ["NN", "RB", "VBZ", "NN", ",", "IN", "NN", "."]
    starts = [0, *np.cumsum([len(word) + 1 for word in words[:-1]]).tolist()]
    tokens = tuple(
        Token(word, tag, start, start + len(word)) for word, tag, start in zip(words, tags, starts, strict=True)
    )
    links = (
        Dependency(2, 0, "nsubj"),
        Dependency(2, 1, "advmod"),
        Dependency(2, 3, "dobj"),
        Dependency(2, 6, "prep_unlike"),
    )
    mentions = tuple(Mention(f"e{place}", words[place], (place,), "protein") for place in (0, 3, 6))
    return Sentence(f"d{number}.s0", f"d{number}", " ".join(words), tokens, links, mentions)
