"""The corpora that ``kernelrank relations`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kernelrank.cli.answer import Answer
    from kernelrank.relations import Corpus

__all__ = ["CorpusOptions", "Mentions", "Pairs", "Parse", "Tokenization", "joined"]

READING = "How the corpus is read"

Parse = Annotated[
    str,
    typer.Option("--parse", help="XML: name of the parse to use.", rich_help_panel=READING),
]
Tokenization = Annotated[
    str | None,
    typer.Option(
        "--tokenization",
        help="XML: name of the tokenization to use. Default: that of the parse.",
        rich_help_panel=READING,
        show_default=False,
    ),
]
Mentions = Annotated[
    list[Path] | None,
    typer.Option(
        "--mentions",
        help="CoNLL-U: table of the mentions. Give one per file, in the same order.",
        rich_help_panel=READING,
        show_default=False,
    ),
]
Pairs = Annotated[
    list[Path] | None,
    typer.Option(
        "--pairs",
        help="CoNLL-U: table of the known pairs. Give one per file, in the same order.",
        rich_help_panel=READING,
        show_default=False,
    ),
]


class CorpusOptions:
    """How corpora are read.

    Parameters
    ----------
    parse, tokenization, mentions, pairs
        What the options say.
    """

    def __init__(
        self, parse: str, tokenization: str | None, mentions: Sequence[Path] | None, pairs: Sequence[Path] | None
    ) -> None:
        self._parse = parse
        self._tokenization = tokenization
        self._mentions = list(mentions or [])
        self._pairs = list(pairs or [])

    def read(self, paths: Sequence[Path], answer: Answer) -> list[Corpus]:
        """Read corpora, and note what was left out: CoNLL-U by its name, XML otherwise."""
        from kernelrank.errors import InvalidInputError

        tables = [path for path in paths if path.suffix in (".conllu", ".conll")]
        if len(self._mentions) != len(tables):
            raise InvalidInputError(
                f"{len(tables)} CoNLL-U files and {len(self._mentions)} --mentions: give the table of each file"
            )
        if self._pairs and len(self._pairs) != len(tables):
            raise InvalidInputError(f"{len(tables)} CoNLL-U files and {len(self._pairs)} --pairs: give one for each")
        corpora = [self._read(path, tables) for path in paths]
        for corpus, path in zip(corpora, paths, strict=True):
            for reason, count in corpus.skipped.items():
                answer.note(f"{path}: {count:,} {reason} left out")
            if not corpus.candidates:
                raise InvalidInputError(f"{path}: no sentence has two mentions that can be used")
        return corpora

    def _read(self, path: Path, tables: list[Path]) -> Corpus:
        from kernelrank.relations import read_conllu, read_interaction_xml

        if path not in tables:
            return read_interaction_xml(path, parse=self._parse, tokenization=self._tokenization)
        place = tables.index(path)
        return read_conllu(path, self._mentions[place], self._pairs[place] if self._pairs else None)


def joined(corpora: Sequence[Corpus]) -> tuple[list[Any], list[str]]:
    """Return the candidates of all corpora and their documents, each with the number of its corpus before it."""
    candidates = [candidate for corpus in corpora for candidate in corpus.candidates]
    documents = [f"{number}:{name}" for number, corpus in enumerate(corpora) for name in corpus.documents]
    return candidates, documents
