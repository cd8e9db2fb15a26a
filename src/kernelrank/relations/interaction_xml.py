"""Reading the unified XML format of corpora of protein interactions.

::

    <corpus source="LLL">
      <document id="d0">
        <sentence id="s0" text="KinC activates Spo0A.">
          <entity id="e0" charOffset="0-3" text="KinC" type="protein"/>
          <entity id="e1" charOffset="15-19" text="Spo0A" type="protein"/>
          <pair id="p0" e1="e0" e2="e1" interaction="True"/>
          <sentenceanalyses>
            <parses><parse parser="split_parse" tokenizer="split"><dependency t1="t_2" t2="t_1" type="nsubj"/> …
            <tokenizations><tokenization tokenizer="split"><token id="t_1" charOffset="0-3" text="KinC" POS="NN"/> …

Offsets name the first and the last character. What cannot be understood is an error that names the sentence; what is
understood and cannot be used is counted.
"""

from __future__ import annotations

import lzma
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kernelrank.data.text import DECOMPRESSORS, source_name
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.corpus import (
    NO_PARSE,
    NO_TOKEN,
    OTHER_TEXT,
    SELF_INTERACTION,
    Corpus,
    Label,
    candidates_of,
)
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.mention import Mention, covering_tokens
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.token import Token

__all__ = ["read_interaction_xml"]


def read_interaction_xml(
    source: str | os.PathLike[str] | IO[str] | IO[bytes], *, parse: str = "split_parse", tokenization: str | None = None
) -> Corpus:
    """Read sentences, mentions and pairs from the unified XML format.

    Each unordered pair of mentions is a candidate, with the label of its ``<pair>``, if it has one. Pairs of an entity
    with itself are left out and counted in ``corpus.skipped``, and so are pairs whose sentence has no such parse, whose
    mention is covered by no token, or whose text differs from the text at its offsets.

    Parameters
    ----------
    source : path or file
        Paths that end with ``.gz``, ``.xz``, ``.lzma``, ``.bz2`` or ``.zst`` are decompressed.
    parse : str, default="split_parse"
        The attribute `parser` of the parses to use.
    tokenization : str, optional
        The attribute `tokenizer` of the tokens to use; that which the parse names unless given.

    Returns
    -------
    Corpus

    Raises
    ------
    FileFormatError
        If the XML is damaged or inconsistent, or no sentence has the parse.

    Notes
    -----
    Time and memory O(size of the file).

    Examples
    --------
    >>> import io
    >>> read_interaction_xml(io.StringIO("<corpus source='A'><document id='d0'>"))
    Traceback (most recent call last):
    kernelrank.errors.FileFormatError: <stream>, line 1: the XML is damaged: no element found: line 1, column 37
    """
    path = source_name(source)
    try:
        root = _parse(source)
    except ElementTree.ParseError as error:
        raise FileFormatError(f"the XML is damaged: {error}", path, error.position[0]) from None
    except (UnicodeDecodeError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise FileFormatError(f"the XML is damaged: {error}", path) from None
    if root.tag != "corpus":
        raise FileFormatError(f"the outermost element must be <corpus>, got <{root.tag}>", path)
    return _Reader(path, parse, tokenization).corpus(root)


def _parse(source: str | os.PathLike[str] | IO[str] | IO[bytes]) -> Element:
    """Return the outermost element."""
    if not isinstance(source, (str, os.PathLike)):
        return ElementTree.parse(source).getroot()
    opener = DECOMPRESSORS.get(Path(source).suffix.lower(), open)
    with opener(source, "rb") as file:
        return ElementTree.parse(file).getroot()


class _Reader:
    """One pass over a corpus element."""

    def __init__(self, path: str, parse: str, tokenization: str | None) -> None:
        self._path = path
        self._parse = parse
        self._tokenization = tokenization
        self._skipped: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._parses: set[tuple[str, str]] = set()
        self._n_parsed = 0

    def corpus(self, root: Element) -> Corpus:
        sentences: list[Sentence] = []
        candidates: list[Candidate] = []
        for document in root.iter("document"):
            name = self._need(document, "id", "a document")
            for element in document.iter("sentence"):
                sentence, found = self._sentence(element, name)
                sentences.append(sentence)
                candidates += found
        if sentences and not self._n_parsed:
            there = ", ".join(f"{parser!r} of {tokenizer!r}" for parser, tokenizer in sorted(self._parses)) or "none"
            wanted = f"{self._parse!r}" + ("" if self._tokenization is None else f" of {self._tokenization!r}")
            raise FileFormatError(f"no sentence has the parse {wanted}; the file has: {there}", self._path)
        return Corpus(root.get("source", self._path), tuple(sentences), tuple(candidates), dict(self._skipped))

    def _sentence(self, element: Element, document: str) -> tuple[Sentence, list[Candidate]]:
        name = self._need(element, "id", f"a sentence of document {document}")
        if name in self._seen:
            raise self._error(f"the sentence {name} occurs twice")
        self._seen.add(name)
        text = self._need(element, "text", f"sentence {name}")
        parse, tokenization = self._analysis(element, name)
        tokens, place_of = self._tokens(tokenization, name, len(text))
        dependencies = self._dependencies(parse, name, place_of)
        mentions, unusable = self._mentions(element, name, text, tokens)
        if not dependencies:
            unusable = dict.fromkeys((mention.id for mention in mentions), NO_PARSE)
        try:
            sentence = Sentence(name, document, text, tokens, dependencies, mentions)
        except InvalidInputError as error:
            raise self._error(str(error)) from None
        labels = self._labels(element, name, {mention.id for mention in mentions})
        return sentence, candidates_of(sentence, labels, unusable, self._skipped)

    def _analysis(self, sentence: Element, name: str) -> tuple[Element | None, Element | None]:
        """Return the parse that was requested and its tokens; None for what is not there."""
        parses = list(sentence.iter("parse"))
        self._parses.update((parse.get("parser", ""), parse.get("tokenizer", "")) for parse in parses)
        chosen = [
            parse
            for parse in parses
            if parse.get("parser") == self._parse and self._tokenization in (None, parse.get("tokenizer"))
        ]
        if len(chosen) > 1:
            raise self._error(f"sentence {name} has the parse {self._parse!r} {len(chosen)} times")
        if not chosen:
            return None, None
        tokenizer = chosen[0].get("tokenizer")
        tokens = [found for found in sentence.iter("tokenization") if found.get("tokenizer") == tokenizer]
        if len(tokens) != 1:
            raise self._error(f"sentence {name} has the tokenization {tokenizer!r} of its parse {len(tokens)} times")
        self._n_parsed += 1
        return chosen[0], tokens[0]

    def _tokens(
        self, tokenization: Element | None, sentence: str, length: int
    ) -> tuple[tuple[Token, ...], dict[str, int]]:
        if tokenization is None:
            return (), {}
        tokens: list[Token] = []
        place_of: dict[str, int] = {}
        for element in tokenization:
            attributes = element.attrib
            try:
                name, text, pos = attributes["id"], attributes["text"], attributes["POS"]
                first, _, last = attributes["charOffset"].partition("-")
                start, end = int(first), int(last) + 1
            except (KeyError, ValueError) as error:
                raise self._error(f"sentence {sentence}: a token without a valid {_missing(error)}") from None
            if name in place_of:
                raise self._error(f"sentence {sentence}: the token {name} occurs twice")
            if not (tokens[-1].end if tokens else 0) <= start < end <= length:
                raise self._error(f"sentence {sentence}: the token {name} is out of order or outside the text")
            place_of[name] = len(tokens)
            tokens.append(Token(text, pos, start, end, attributes.get("lemma", "")))
        return tuple(tokens), place_of

    def _dependencies(self, parse: Element | None, sentence: str, place_of: dict[str, int]) -> tuple[Dependency, ...]:
        if parse is None:
            return ()
        found = []
        for element in parse:
            attributes = element.attrib
            try:
                governor, dependent = place_of[attributes["t1"]], place_of[attributes["t2"]]
                found.append(Dependency(governor, dependent, attributes["type"]))
            except KeyError as error:
                wrong = error.args[0]
                what = f"has no {wrong}" if wrong in ("t1", "t2", "type") else f"names the unknown token {wrong}"
                raise self._error(f"sentence {sentence}: a dependency {what}") from None
        return tuple(found)

    def _mentions(
        self, element: Element, sentence: str, text: str, tokens: tuple[Token, ...]
    ) -> tuple[tuple[Mention, ...], dict[str, str]]:
        """Return the mentions, and the reasons why some can be in no pair."""
        mentions: dict[str, Mention] = {}
        unusable: dict[str, str] = {}
        for entity in element.iter("entity"):
            name = self._need(entity, "id", f"sentence {sentence}: an entity")
            if name in mentions:
                raise self._error(f"sentence {sentence}: the entity {name} occurs twice")
            spans = list(self._spans(entity, name))
            called = entity.get("text", "".join(text[start:end] for start, end in spans))
            covered = covering_tokens(tokens, spans)
            mentions[name] = Mention(name, called, covered, entity.get("type", ""))
            if not covered:
                unusable[name] = NO_TOKEN
            if _letters(called) != _letters("".join(text[start:end] for start, end in spans)):
                unusable[name] = OTHER_TEXT
        return tuple(mentions.values()), unusable

    def _spans(self, entity: Element, name: str) -> Iterator[tuple[int, int]]:
        offsets = self._need(entity, "charOffset", f"the entity {name}")
        for span in offsets.split(","):
            first, _, last = span.partition("-")
            try:
                start, end = int(first), int(last) + 1
            except ValueError:
                raise self._error(f"entity {name}: expected a charOffset such as '0-3,7-9'; got {offsets!r}") from None
            if not 0 <= start < end:
                raise self._error(f"the entity {name} has the charOffset {offsets!r}, which is empty or negative")
            yield start, end

    def _labels(self, element: Element, sentence: str, known: set[str]) -> dict[frozenset[str], Label]:
        labels: dict[frozenset[str], Label] = {}
        for pair in element.iter("pair"):
            name = pair.get("id", "")
            ends = [self._need(pair, end, f"sentence {sentence}: the pair {name}") for end in ("e1", "e2")]
            unknown = [end for end in ends if end not in known]
            if unknown:
                raise self._error(f"sentence {sentence}: the pair {name} names the unknown entity {unknown[0]}")
            says = self._need(pair, "interaction", f"sentence {sentence}: the pair {name}").lower()
            if says not in ("true", "false"):
                raise self._error(f"sentence {sentence}: the pair {name} has interaction={says!r}, not True or False")
            if ends[0] == ends[1]:
                self._skipped[SELF_INTERACTION] += 1
                continue
            interacts = says == "true"
            if labels.setdefault(frozenset(ends), (interacts, name))[0] != interacts:
                raise self._error(f"sentence {sentence}: the pair {name} occurs twice, with both labels")
        return labels

    def _need(self, element: Element, attribute: str, of: str) -> str:
        value = element.get(attribute)
        if value is None:
            raise self._error(f"{of} has no {attribute}")
        return str(value)

    def _error(self, message: str) -> FileFormatError:
        return FileFormatError(message, self._path)


def _missing(error: KeyError | ValueError) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) else "charOffset"


def _letters(text: str) -> str:
    """Return a text without its blanks: a name in several parts is written with them or without."""
    return "".join(text.split())
