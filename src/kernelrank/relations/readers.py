"""Reading CoNLL-U files; mentions are read from a second file.

The parses are as any parser of Universal Dependencies writes them, with ``# newdoc id``, ``# sent_id`` and ``# text``.
Mentions are a table with tabs and one heading line::

    sentence  id  start  end  type
    s0        e0  0      4    protein

where `start` and `end` count the characters of the sentence's text, from the first up to and without the last; `type`
may be left out. A mention of several parts has several lines with one id. What is known of the pairs is another table::

    sentence  first  second  interacts
    s0        e0     e1      True
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelrank.errors import FileFormatError, InvalidInputError
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.corpus import NO_PARSE, NO_TOKEN, SELF_INTERACTION, Corpus, Label, candidates_of
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.mention import Mention, covering_tokens
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.token import Token

__all__ = ["read_conllu"]

PathLike = str | os.PathLike[str]

N_COLUMNS = 10
ID, FORM, LEMMA, UPOS, XPOS, _, HEAD, DEPREL, DEPS, _ = range(N_COLUMNS)


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
        A table of mentions, with tabs and a heading line: sentence, id, start, end and, if known, type.
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
        if not links:
            unusable = dict.fromkeys(about.spans, NO_PARSE)
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
            if len(row) != N_COLUMNS:
                raise FileFormatError(f"expected the {N_COLUMNS} columns of CoNLL-U; got {len(row)}", where, number)
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
    """Yield the rows of a table with tabs, the optional column last, after checking its heading."""
    for number, line in _lines(path):
        row = line.split("\t")
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
