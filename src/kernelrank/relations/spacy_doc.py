"""Sentences from spaCy documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from kernelrank.errors import InvalidInputError
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.corpus import NO_PARSE, Corpus, candidates_of
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.mention import Mention
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.token import Token

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

__all__ = ["from_spacy"]


def from_spacy(
    documents: Iterable[Doc], *, names: Iterable[str] | None = None, types: Collection[str] | None = None
) -> Corpus:
    """Take the sentences, the parses and the named entities of spaCy documents.

    Parameters
    ----------
    documents : iterable of spacy.tokens.Doc
        With sentences and a dependency parse. Their entities are the mentions: put yours into ``doc.ents`` if you have
        a better way of finding them. spaCy comes with ``pip install 'kernelrank[spacy]'``; a model for your language
        with spaCy's own command.
    names : iterable of str, optional
        The names of the documents; "0", "1" and so on unless given.
    types : set of str, optional
        The labels of the entities to use; all unless given.

    Returns
    -------
    Corpus
        Without labels.

    Notes
    -----
    Time and memory O(tokens). spaCy itself is not imported here: any object with the attributes of a `Doc` works.

    Examples
    --------
    >>> from_spacy(["a text"])
    Traceback (most recent call last):
    kernelrank.errors.InvalidInputError: expected spaCy documents; got str. Parse the texts with a spaCy pipeline first
    """
    skipped: Counter[str] = Counter()
    sentences: list[Sentence] = []
    candidates: list[Candidate] = []
    called = None if names is None else iter(names)
    for number, document in enumerate(documents):
        name = str(number) if called is None else next(called, None)
        if name is None:
            raise InvalidInputError(f"expected a name for each document; got {number} names")
        for sentence in _sentences(document, name, types):
            unusable = {}
            if not sentence.dependencies:
                unusable = dict.fromkeys((mention.id for mention in sentence.mentions), NO_PARSE)
            sentences.append(sentence)
            candidates += candidates_of(sentence, {}, unusable, skipped)
    return Corpus("spaCy", tuple(sentences), tuple(candidates), dict(skipped))


def _sentences(document: Doc, name: str, types: Collection[str] | None) -> Iterable[Sentence]:
    if not all(hasattr(document, attribute) for attribute in ("sents", "ents", "text")):
        kind = type(document).__name__
        raise InvalidInputError(f"expected spaCy documents; got {kind}. Parse the texts with a spaCy pipeline first")
    try:
        spans = list(document.sents)
    except ValueError:
        raise InvalidInputError(f"document {name} has no sentences: add a parser to your spaCy pipeline") from None
    entities = [entity for entity in document.ents if types is None or entity.label_ in types]
    for number, span in enumerate(spans):
        yield _sentence(span, f"{name}.s{number}", name, entities)


def _sentence(span: Span, name: str, document: str, entities: list[Span]) -> Sentence:
    begin = span.start_char
    words = list(span)
    tokens = tuple(
        Token(word.text, word.tag_ or word.pos_, word.idx - begin, word.idx - begin + len(word.text), word.lemma_)
        for word in words
    )
    links = tuple(
        Dependency(word.head.i - span.start, word.i - span.start, word.dep_)
        for word in words
        if word.head.i != word.i and word.dep_ and span.start <= word.head.i < span.end
    )
    inside = [entity for entity in entities if span.start <= entity.start and entity.end <= span.end]
    mentions = tuple(
        Mention(
            f"{name}.e{number}",
            entity.text,
            tuple(range(entity.start - span.start, entity.end - span.start)),
            entity.label_,
        )
        for number, entity in enumerate(inside)
    )
    return Sentence(name, document, span.text, tokens, links, mentions)
