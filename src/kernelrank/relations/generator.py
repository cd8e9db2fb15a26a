"""Synthetic corpora, for examples and tests."""

from __future__ import annotations

import numpy as np

from kernelrank.relations.candidate import Candidate
from kernelrank.relations.corpus import Corpus
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.mention import Mention
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.token import Token

__all__ = ["make_corpus"]

BINDING = ("binds", "activates", "inhibits", "phosphorylates")
NEUTRAL = ("resembles", "precedes", "outweighs", "follows")
ADVERBS = ("strongly", "rarely", "often", "clearly", "probably")
NOISE = 0.1


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
        label = interacts != (generator.random() < NOISE)
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
