"""Reading CoNLL-U files; mentions are read from a second file.

The parses are as any parser of Universal Dependencies writes them, with ``# newdoc id``, ``# sent_id`` and ``# text``.
Mentions are a table with tabs, commas or semicolons and one heading line::

    sentence  id  start  end  type
    s0        e0  0      4    protein

where `start` and `end` count the characters of the sentence's text, from the first up to and without the last; `type`
may be left out. A mention of several parts has several lines with one id. What is known of the pairs is another table::

    sentence  first  second  interacts
    s0        e0     e1      True
"""

from __future__ import annotations

import csv
import lzma
import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kernelrank.data.text import DECOMPRESSORS, source_name
from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.relations.corpus import (
    NO_TOKEN,
    OTHER_TEXT,
    SELF_INTERACTION,
    Candidate,
    Corpus,
    Dependency,
    Label,
    Mention,
    Sentence,
    Token,
    candidates_of,
    covering_tokens,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

PathLike = str | os.PathLike[str]

ID, FORM, LEMMA, UPOS, XPOS, _, HEAD, DEPREL, DEPS, _ = range(10)


@dataclass
class _Standoff:
    """What stands apart for one sentence: the spans and types of its mentions, and the labels of its pairs."""

    spans: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    types: dict[str, str] = field(default_factory=dict)
    labels: dict[frozenset[str], Label] = field(default_factory=dict)


def read_conllu(
    parses: PathLike,
    mentions: PathLike,
    pairs: PathLike | None = None,
    *,
    dependencies: str = "basic",
    pos: str = "xpos",
) -> Corpus:
    r"""Read parsed sentences and their mentions.

    Parameters
    ----------
    parses : path
        A CoNLL-U file. Sentences before the first ``# newdoc`` are documents of their own.
    mentions : path
        A table of mentions, with tabs or commas and a heading line: sentence, id, start, end and, if known, type.
    pairs : path, optional
        A table of what is known: sentence, first, second and interacts (True or False). Pairs that are not in it have
        no label.
    dependencies : {"basic", "enhanced"}, default="basic"
        Which dependencies to use; enhanced ones of tokens that are not in the text are left out.
    pos : {"xpos", "upos"}, default="xpos"
        Which part of speech to use; the other where a token has none.

    Returns
    -------
    Corpus

    Raises
    ------
    FileFormatError
        If a line cannot be read, or refers to something that does not exist; the message has its number.

    Notes
    -----
    Time and memory O(size of the files).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> row = "{0}\t{1}\t_\tNOUN\tNN\t_\t{2}\t{3}\t_\t_\n".format
    >>> text = "# sent_id = s0\n# text = p53 Mdm2\n" + row(1, "p53", 2, "dep") + row(2, "Mdm2", 0, "root")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parses, mentions = Path(folder, "a.conllu"), Path(folder, "mentions.tsv")
    ...     _ = parses.write_text(text)
    ...     _ = mentions.write_text("sentence\tid\tstart\tend\ns0\te0\t0\t3\ns0\te1\t4\t8\n")
    ...     read_conllu(parses, mentions).candidates[0].names
    ('p53', 'Mdm2')
    """
    if dependencies not in ("basic", "enhanced"):
        raise InvalidInputError(f"dependencies must be 'basic' or 'enhanced', got {dependencies!r}")
    if pos not in ("xpos", "upos"):
        raise InvalidInputError(f"pos must be 'xpos' or 'upos', got {pos!r}")
    skipped: Counter[str] = Counter()
    standoff = _read_standoff(mentions, pairs, skipped)
    sentences: dict[str, Sentence] = {}
    candidates: list[Candidate] = []
    for block in _blocks(parses):
        if block.sentence in sentences:
            raise block.error(f"the sentence {block.sentence} occurs twice")
        about = standoff.pop(block.sentence, _Standoff())
        sentence, found = block.read(about, skipped, enhanced=dependencies == "enhanced", pos=pos)
        sentences[sentence.id] = sentence
        candidates += found
    if standoff:
        unknown = next(iter(standoff))
        raise FileFormatError(f"the sentence {unknown} is not in {os.fspath(parses)}", os.fspath(mentions))
    return Corpus(Path(parses).stem, tuple(sentences.values()), tuple(candidates), dict(skipped))


@dataclass
class _Block:
    """The lines of one sentence, with their numbers."""

    path: str
    document: str = ""
    sentence: str = ""
    text: str | None = None
    lines: list[tuple[int, list[str]]] = field(default_factory=list)

    def error(self, message: str, line: int | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line or self.lines[0][0])

    def read(
        self, about: _Standoff, skipped: Counter[str], *, enhanced: bool, pos: str
    ) -> tuple[Sentence, list[Candidate]]:
        text = self.text
        if text is None:
            raise self.error(f"the sentence {self.sentence} has no '# text ='")
        tokens, place_of = self._tokens(text, pos)
        links = tuple(self._dependencies(place_of, enhanced=enhanced))
        mentions, unusable = self._mentions(about, text, tokens)
        sentence = Sentence(self.sentence, self.document or self.sentence, text, tokens, links, mentions)
        return sentence, candidates_of(sentence, about.labels, unusable, skipped)

    def _tokens(self, text: str, pos: str) -> tuple[tuple[Token, ...], dict[str, int]]:
        """Find the words in the text; the words of one multiword token all cover what it covers."""
        tokens: list[Token] = []
        place_of: dict[str, int] = {}
        at, inside, last_inside = 0, (0, 0), 0
        for number, row in self.lines:
            name = row[ID]
            if "." in name:
                continue
            first, dash, last = name.partition("-")
            if not (first.isdigit() and (last.isdigit() or not dash)):
                raise self.error(f"{name!r} is not a token number", number)
            if int(first) > last_inside or dash:
                start = text.find(row[FORM], at)
                if start < 0 or text[at:start].strip():
                    raise self.error(f"{row[FORM]!r} does not match the text of sentence {self.sentence}", number)
                inside = start, start + len(row[FORM])
                at = inside[1]
            if dash:
                last_inside = int(last)
                continue
            tags = (row[XPOS], row[UPOS]) if pos == "xpos" else (row[UPOS], row[XPOS])
            tag = next((tag for tag in tags if tag != "_"), "")
            place_of[name] = len(tokens)
            tokens.append(Token(row[FORM], tag, *inside, "" if row[LEMMA] == "_" else row[LEMMA]))
        return tuple(tokens), place_of

    def _dependencies(self, place_of: Mapping[str, int], *, enhanced: bool) -> Iterator[Dependency]:
        for number, row in self.lines:
            if row[ID] not in place_of:
                continue
            for head, relation in self._heads(row, number, enhanced=enhanced):
                if head == "0" or "." in head:
                    continue
                if head not in place_of:
                    raise self.error(f"the head {head!r} is not a token of {self.sentence}", number)
                yield Dependency(place_of[head], place_of[row[ID]], relation)

    def _heads(self, row: list[str], number: int, *, enhanced: bool) -> Iterator[tuple[str, str]]:
        if not enhanced:
            if row[HEAD] != "_":
                yield row[HEAD], row[DEPREL]
            return
        for link in row[DEPS].split("|") if row[DEPS] != "_" else []:
            head, colon, relation = link.partition(":")
            if not colon:
                raise self.error(f"{link!r} is not an enhanced dependency", number)
            yield head, relation

    def _mentions(
        self, about: _Standoff, text: str, tokens: tuple[Token, ...]
    ) -> tuple[tuple[Mention, ...], dict[str, str]]:
        mentions: list[Mention] = []
        unusable: dict[str, str] = {}
        for name, spans in about.spans.items():
            if any(end > len(text) for _, end in spans):
                raise self.error(f"the mention {name} lies outside the text of {self.sentence}")
            called = " ".join(text[start:end] for start, end in spans)
            mentions.append(Mention(name, called, covering_tokens(tokens, spans), about.types[name]))
            if not mentions[-1].tokens:
                unusable[name] = NO_TOKEN
        return tuple(mentions), unusable


def _blocks(path: PathLike) -> Iterator[_Block]:
    """Yield the sentences of a CoNLL-U file."""
    where = os.fspath(path)
    document = ""
    block = _Block(where)
    for number, line in _lines(path):
        if not line.strip():
            if block.lines:
                yield block
            block = _Block(where, document)
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            key, value = key.strip(), value.strip()
            if key in ("newdoc", "newdoc id"):
                document = value
                block.document = value
            elif key == "sent_id":
                block.sentence = value
            elif key == "text":
                block.text = value
        else:
            row = line.split("\t")
            if len(row) != 10:
                raise FileFormatError(f"expected the 10 columns of CoNLL-U; got {len(row)}", where, number)
            if not block.sentence:
                raise FileFormatError("a sentence without '# sent_id ='", where, number)
            block.lines.append((number, row))
    if block.lines:
        yield block


def _lines(path: PathLike) -> Iterator[tuple[int, str]]:
    with open(path, encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"not UTF-8: {error}", os.fspath(path)) from None


def _table(path: PathLike, columns: tuple[str, ...], optional: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with tabs or commas, the optional column last, after checking its heading."""
    for number, line in _lines(path):
        if number == 1:
            mark = _mark_of(line)
        row = next(csv.reader([line], delimiter=mark), [])
        if number == 1:
            heading = row
            if tuple(row) not in (columns, (*columns, optional)):
                raise FileFormatError(
                    f"the heading must be {' '.join(columns)}, got {' '.join(row)}", os.fspath(path), 1
                )
        elif line.strip():
            if len(row) != len(heading):
                message = f"{len(row)} columns under a heading of {len(heading)}"
                raise FileFormatError(message, os.fspath(path), number)
            yield number, row


def _mark_of(heading: str) -> str:
    """Return what separates the columns under a heading."""
    return max("\t,;", key=heading.count)


# Marked sentences -----------------------------------------------------------------------------------------------------
#
# Sentences without a parse, each with two marked mentions: ``<e1>KinC</e1> activates <e2>Spo0A</e2>.``
#
# Each word is linked to the next one, so that the path between the two mentions has the words between them.

MARKED = re.compile(r"</?e([12])>")
COLUMNS = {
    "sentence": ("sentence", "text"),
    "interacts": ("interacts", "interaction", "label"),
    "document": ("document", "doc", "pmid"),
}
"""What the columns may be called, in small letters."""
YES_NO = {**dict.fromkeys(("true", "1", "yes"), True), **dict.fromkeys(("false", "0", "no"), False)}


def read_sentences(path: PathLike) -> Corpus:
    r"""Read a plain table of sentences with two marked mentions each; they need no parse.

    Parameters
    ----------
    path : path
        A table with commas, semicolons or tabs, in UTF-8. Column sentence (or text): text with ``<e1>…</e1>`` and
        ``<e2>…</e2>`` around the two mentions. Column interacts (interaction, label), if known: True or False, 1 or 0,
        yes or no; an empty cell is unknown. Column document (doc, pmid), optional: rows of one document are held out
        together; without it, those of one text. Other columns are not used.

    Returns
    -------
    Corpus
        Its dependencies link each word to the next one, and its words have no part of speech.

    Raises
    ------
    FileFormatError
        If a row cannot be read; the message has its line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("sentence,interacts\n<e1>KinC</e1> activates <e2>Spo0A</e2>.,yes\n")
    ...     read_sentences(path).candidates[0].names
    ('KinC', 'Spo0A')
    """
    where, sentences, candidates = os.fspath(path), [], []
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            mark = _mark_of(file.readline())
            file.seek(0)
            rows = csv.DictReader(file, delimiter=mark)
            given = rows.fieldnames or ()
            rows.fieldnames = [_role(name) for name in given]
            if rows.fieldnames.count("sentence") != 1:
                raise FileFormatError(f"expected one column sentence; the columns are {', '.join(given)}", where, 1)
            for number, row in enumerate(rows):
                candidates.append(_marked(row, f"s{number}", where, rows.line_num))
                sentences.append(candidates[-1].sentence)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"not UTF-8: {error}", where) from None
    return Corpus(Path(path).stem, tuple(sentences), tuple(candidates))


def _role(name: str) -> str:
    """Return what a column is for, by its name."""
    word = name.strip().lower()
    return next((role for role, words in COLUMNS.items() if word in words), name)


def _marked(row: Mapping[str, str | None], name: str, where: str, line: int) -> Candidate:
    """Return the pair of one row."""
    given = row["sentence"] or ""
    marks = [mark[0] for mark in MARKED.finditer(given)]
    if marks not in (["<e1>", "</e1>", "<e2>", "</e2>"], ["<e2>", "</e2>", "<e1>", "</e1>"]):
        message = f"expected <e1>…</e1> and <e2>…</e2> around two mentions; got {' '.join(marks) or 'no mark'}"
        raise FileFormatError(message, where, line, column="sentence")
    parts = MARKED.split(given)[::2]
    text, places = "".join(parts), list(accumulate(map(len, parts)))
    tokens = tuple(Token(word[0], "", *word.span()) for word in re.finditer(r"\w+(?:[-/.]\w+)*|[^\w\s]", text))
    spans = {marks[0][2]: places[:2], marks[2][2]: places[2:4]}
    mentions = tuple(
        Mention(f"e{which}", text[start:end], covering_tokens(tokens, [(start, end)]))
        for which, (start, end) in sorted(spans.items())
    )
    if not all(mention.tokens for mention in mentions):
        raise FileFormatError("a mention has no word", where, line, column="sentence")
    says = (row.get("interacts") or "").strip().lower()
    if says and says not in YES_NO:
        raise FileFormatError(f"expected True or False, got {says!r}", where, line, column="interacts")
    links = tuple(Dependency(place, place + 1, "next") for place in range(len(tokens) - 1))
    sentence = Sentence(name, row.get("document") or text, text, tokens, links, mentions)
    return candidates_of(sentence, {frozenset(("e1", "e2")): (YES_NO[says], name)} if says else {}, {}, Counter())[0]


def _read_standoff(mentions: PathLike, pairs: PathLike | None, skipped: Counter[str]) -> dict[str, _Standoff]:
    found: dict[str, _Standoff] = defaultdict(_Standoff)
    for number, (sentence, name, *offsets) in _table(mentions, ("sentence", "id", "start", "end"), "type"):
        if not (offsets[0].isdigit() and offsets[1].isdigit() and int(offsets[0]) < int(offsets[1])):
            message = f"start {offsets[0]!r} and end {offsets[1]!r} are not a span of characters"
            raise FileFormatError(message, os.fspath(mentions), number)
        found[sentence].spans[name].append((int(offsets[0]), int(offsets[1])))
        found[sentence].types[name] = offsets[2] if len(offsets) > 2 else ""
    if pairs is not None:
        _read_labels(pairs, found, skipped)
    return dict(found)


def _read_labels(pairs: PathLike, found: dict[str, _Standoff], skipped: Counter[str]) -> None:
    where = os.fspath(pairs)
    for number, (sentence, first, second, says) in _table(pairs, ("sentence", "first", "second", "interacts")):
        for end in (first, second):
            if sentence not in found or end not in found[sentence].spans:
                raise FileFormatError(f"there is no mention {end} in the sentence {sentence}", where, number)
        if says.lower() not in ("true", "false"):
            raise FileFormatError(f"interacts must be True or False, got {says!r}", where, number)
        if first == second:
            skipped[SELF_INTERACTION] += 1
            continue
        interacts = says.lower() == "true"
        known = found[sentence].labels.setdefault(
            frozenset((first, second)), (interacts, f"{sentence}.{first}.{second}")
        )
        if known[0] != interacts:
            raise FileFormatError("this pair occurs twice, with both labels", where, number)


# Interaction XML ------------------------------------------------------------------------------------------------------
#
# Reading the unified XML format of corpora of protein interactions.
#
# ::
#
#     <corpus source="LLL">
#       <document id="d0">
#         <sentence id="s0" text="KinC activates Spo0A.">
#           <entity id="e0" charOffset="0-3" text="KinC" type="protein"/>
#           <entity id="e1" charOffset="15-19" text="Spo0A" type="protein"/>
#           <pair id="p0" e1="e0" e2="e1" interaction="True"/>
#           <sentenceanalyses>
#             <parses><parse parser="split_parse" tokenizer="split"><dependency t1="t_2" t2="t_1" type="nsubj"/> …
#             <tokenizations><tokenization tokenizer="split"><token id="t_1" charOffset="0-3" text="KinC" POS="NN"/> …
#
# Offsets name the first and the last character. What cannot be understood is an error that names the sentence; what is
# understood and cannot be used is counted.


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


# SpaCy doc ------------------------------------------------------------------------------------------------------------
#
# Sentences from spaCy documents.


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
            sentences.append(sentence)
            candidates += candidates_of(sentence, {}, {}, skipped)
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
