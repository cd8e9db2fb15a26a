"""PrefLib files: rankings with and without ties, complete or not, and weighted graphs of preferences.

Metadata stand in lines that begin with ``#``; after them a ranking is ``count: 3,1,{2,4}``, best first, with ties in
braces, and an edge of a ``.wmd`` file is ``preferred,other,weight``. A ranking of k items makes k (k - 1) / 2
preferences, which share its count as their weight: n voters weigh n, however many items each of them ranked. Items that
a ranking does not name take no part in it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelrank.data.decimals import read_decimal
from kernelrank.data.file_format import compression_suffix
from kernelrank.data.item_codes import ItemCodes
from kernelrank.data.line import shown
from kernelrank.data.text import Source, read_blocks, source_name
from kernelrank.data.votes import Preferences
from kernelrank.errors import FileFormatError

__all__ = ["is_preflib", "read_preflib"]

KINDS = ("soc", "soi", "toc", "toi", "wmd")
METADATA = re.compile(rb"# (FILE NAME|TITLE|DATA TYPE|NUMBER ALTERNATIVES|ALTERNATIVE NAME [0-9]+):")
ORDER = re.compile(r"([0-9]+) *: *(.*)")
TIER = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
INTEGER = re.compile(r"[0-9]{1,18}")


def is_preflib(source: Source, start: bytes) -> bool:
    """Return whether the suffix of a file, or its first line, is one of PrefLib's.

    Examples
    --------
    >>> is_preflib("00042-00000001.soi", b""), is_preflib("votes.txt", b"# FILE NAME: votes.soc")
    (True, True)
    """
    path = Path(source_name(source))
    suffix = path.with_suffix("").suffix if compression_suffix(path) else path.suffix
    return suffix.lower()[1:] in KINDS or METADATA.match(start.lstrip()) is not None


def read_preflib(source: Source, items: ItemCodes) -> Preferences:
    """Read a PrefLib file. Time and memory O(preferences), of which a ranking of k items has k (k - 1) / 2.

    Raises
    ------
    FileFormatError
        At the first line that cannot be read, and where the counts of the metadata are not those of the file.
    """
    reader = _Reader(source_name(source))
    for block in read_blocks(source):
        try:
            text = block.text.decode()
        except UnicodeDecodeError as error:
            line = block.first_line + block.text.count(b"\n", 0, error.start)
            raise FileFormatError("the line is not UTF-8: save the file as UTF-8 text", reader.path, line) from None
        for number, line_text in enumerate(text.split("\n"), start=block.first_line):
            if line_text.strip():
                reader.add(line_text.strip(), number)
    return reader.preferences(items)


@dataclass
class _Reader:
    """The lines read so far."""

    path: str
    metadata: dict[str, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    name_lines: dict[str, int] = field(default_factory=dict)
    pairs: list[NDArray[np.int64]] = field(default_factory=list)
    ties: list[NDArray[np.bool_]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    n_lines: int = 0
    n_voters: int = 0
    n_silent: int = 0

    def wrong(self, message: str, line: int | None = None) -> FileFormatError:
        return FileFormatError(message, self.path, line)

    def add(self, text: str, line: int) -> None:
        """Read one line that is not blank."""
        if text.startswith("#"):
            self._add_metadata(text[1:].strip(), line)
            return
        if not self.names:
            expected = "expected lines such as '# ALTERNATIVE NAME 1: tea' before it, as PrefLib writes them since 2022"
            raise self.wrong(f"{shown(text)}: no item has a name yet: {expected}", line)
        self.n_lines += 1
        if self.kind == "wmd":
            self._add_edge(text, line)
        else:
            self._add_order(text, line)

    @property
    def kind(self) -> str:
        suffix = Path(self.path.lower()).suffixes
        return self.metadata.get("DATA TYPE") or next((end[1:] for end in suffix if end[1:] in KINDS), "toi")

    def _add_metadata(self, text: str, line: int) -> None:
        key, _, value = (part.strip() for part in text.partition(":"))
        if not key.startswith("ALTERNATIVE NAME"):
            self.metadata[key] = value
            if key == "DATA TYPE" and value not in KINDS:
                raise self.wrong(f"the data type {shown(value)}: expected one of {', '.join(KINDS)}", line)
            return
        number = key.removeprefix("ALTERNATIVE NAME").strip()
        if not INTEGER.fullmatch(number) or int(number) in self.names or not value:
            raise self.wrong(f"{shown(text)}: expected a new number and a name, as in 'ALTERNATIVE NAME 1: tea'", line)
        if value in self.name_lines:
            raise self.wrong(f"two items are called {shown(value)}: give one of them another name", line)
        self.names[int(number)], self.name_lines[value] = value, line

    def _number(self, text: str, line: int) -> int:
        if not INTEGER.fullmatch(text.strip()) or int(text) not in self.names:
            known = f"expected a number of an item, {min(self.names)} to {max(self.names)}"
            raise self.wrong(f"{shown(text.strip())}: {known}", line)
        return int(text)

    def _add_edge(self, text: str, line: int) -> None:
        fields = text.split(",")
        weight = read_decimal(fields[2].strip().encode()) if len(fields) == 3 else None
        if weight is None or not 0 <= weight < np.inf:
            raise self.wrong(f"{shown(text)}: expected two items and a weight, zero or more, as in '1,2,5'", line)
        pair = [self._number(number, line) for number in fields[:2]]
        if pair[0] == pair[1]:
            raise self.wrong(f"item {pair[0]} is preferred to itself", line)
        self.pairs.append(np.array([pair]))
        self.ties.append(np.zeros(1, dtype=np.bool_))
        self.weights.append(weight)

    def _add_order(self, text: str, line: int) -> None:
        found = ORDER.fullmatch(text)
        left = TIER.sub("", found[2]).replace(" ", "") if found else "?"
        tiers = [match[1] if match[2] is None else match[2] for match in TIER.finditer(found[2] if found else "")]
        if found is None or not tiers or left != "," * (len(tiers) - 1) or len(found[1]) > 15:
            raise self.wrong(f"{shown(text)}: expected a count and a ranking, as in '2: 3,1,{{2,4}}'", line)
        count = int(found[1])
        groups = [[self._number(number, line) for number in tier.split(",")] for tier in tiers]
        order = list(itertools.chain.from_iterable(groups))
        if len(set(order)) < len(order):
            twice = next(item for item in order if order.count(item) > 1)
            raise self.wrong(f"item {twice} is ranked twice", line)
        if self.kind.startswith("s") and len(groups) < len(order):
            raise self.wrong(f"a tie, in a file of type {self.kind}: expected strict orders", line)
        if self.kind.endswith("c") and len(order) < len(self.names):
            message = f"{len(order)} of {len(self.names)} items are ranked, in a file of type {self.kind}"
            raise self.wrong(f"{message}: expected complete orders", line)
        self.n_voters += count
        tier_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        upper, lower = np.triu_indices(len(order), 1)
        if not len(upper):
            self.n_silent += 1
            return
        self.pairs.append(np.array(order)[np.column_stack([upper, lower])])
        self.ties.append(tier_of[upper] == tier_of[lower])
        self.weights.append(count / len(upper))
        self.numbers.append(self.n_lines)

    def preferences(self, items: ItemCodes) -> Preferences:
        """Return what was read, if it is as much as the metadata say."""
        is_graph = self.kind == "wmd"
        self._check_count("NUMBER ALTERNATIVES", len(self.names), "items have a name")
        self._check_count("NUMBER EDGES" if is_graph else "NUMBER UNIQUE ORDERS", self.n_lines, "lines follow")
        if not is_graph:
            self._check_count("NUMBER VOTERS", self.n_voters, "is the sum of the counts")
        if not self.pairs:
            reason = ": each ranking names a single item, so that nothing is compared" if self.n_silent else ""
            raise self.wrong(f"the file has no preferences{reason}")
        codes = np.zeros(max(self.names) + 1, dtype=np.int64)
        for number, name in self.names.items():
            codes[number] = items.code(name, self.name_lines[name], self.wrong)
        lengths = [len(pairs) for pairs in self.pairs]
        tie = np.concatenate(self.ties)
        return Preferences(
            codes[np.concatenate(self.pairs)],
            None if not tie.any() else np.where(tie, 0.0, 1.0),
            np.repeat(self.weights, lengths),
            items.names(),
            tie if tie.any() else None,
            None if is_graph else np.repeat(np.array(self.numbers, dtype=np.int64), lengths),
            notes=tuple(self._notes(tie)),
        )

    def _check_count(self, key: str, found: int, what: str) -> None:
        said = self.metadata.get(key)
        if said is not None and said != str(found):
            raise self.wrong(f"{key} says {said}, but {found} {what}: lines are missing, or the number is wrong")

    def _notes(self, tie: NDArray[np.bool_]) -> list[str]:
        n_ties = int(np.count_nonzero(tie))
        if self.kind == "wmd":
            return [f"a PrefLib file: {len(self.names):,} items, {self.n_lines:,} weighted preferences"]
        counts = f"{self.n_voters:,} rankings, {self.n_lines:,} of them different"
        notes = [
            f"a PrefLib file: {len(self.names):,} items, {counts}",
            f"the rankings made {len(tie):,} preferences{f', {n_ties:,} of them ties' if n_ties else ''}; the "
            "preferences of one ranking together weigh as much as one vote",
        ]
        if self.n_silent:
            notes.append(f"left out: {self.n_silent:,} rankings of a single item, which compare nothing")
        return notes
