"""A corpus: parsed sentences, the candidate pairs in them, and what had to be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kernelrank.errors import InvalidInputError
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.sentence import Sentence

__all__ = ["NO_PARSE", "NO_TOKEN", "OTHER_TEXT", "SELF_INTERACTION", "Corpus", "Label", "candidates_of"]

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
    """List the unordered pairs of mentions of a sentence, the earlier mention first. Time O(mentions²).

    Parameters
    ----------
    sentence : Sentence
    labels : dict
        What is known of pairs of mention ids; a pair that is not in it has no label.
    unusable : dict of str to str
        The ids of mentions that may be in no pair, with the reason.
    skipped : Counter
        Where the pairs that are left out are counted, by reason.

    Returns
    -------
    list of Candidate
    """
    found = []
    for first, second in combinations(range(len(sentence.mentions)), 2):
        one, other = sentence.mentions[first], sentence.mentions[second]
        reason = unusable.get(one.id) or unusable.get(other.id)
        if reason:
            skipped[reason] += 1
            continue
        interacts, called = labels.get(frozenset((one.id, other.id)), (None, ""))
        earlier, later = (second, first) if other.tokens < one.tokens else (first, second)
        found.append(Candidate(sentence, earlier, later, interacts, called))
    return found
