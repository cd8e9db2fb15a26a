"""The corpora of the study, with the splits that they are tested on."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from kernelrank.relations import Corpus, Sentence


@dataclass
class Study:
    """A corpus with the splits that it is tested on."""

    name: str
    corpus: Corpus
    splits: list[dict[str, int]]

    @property
    def labels(self) -> np.ndarray:
        """Whether each candidate interacts."""
        return self.corpus.labels

    def folds(self, split: dict[str, int]) -> np.ndarray:
        """Return the fold of each candidate."""
        return np.array([split[document] for document in self.corpus.documents])


def find(folder: Path, name: str) -> Path:
    for ending in (".xml", ".xml.xz"):
        path = folder / f"{name}-learning-format{ending}"
        if path.is_file():
            return path
    raise SystemExit(f"{folder} has no {name}-learning-format.xml")


def read_split(folder: Path) -> dict[str, int]:
    lines = (folder / "aimed_10fold_documents.txt").read_text().splitlines()
    return {line.split("\t")[1]: int(line.split("\t")[0]) for line in lines if line and not line.startswith("#")}


def with_lemmas(corpus: Corpus) -> Corpus:
    """Return the corpus with a lemma at each noun, verb, adjective and adverb, if lemminflect is there."""
    try:
        from lemminflect import getLemma
    except ImportError:
        print("  no lemmas: pip install lemminflect")
        return corpus
    kinds = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}

    @functools.cache
    def lemma(text: str, kind: str | None) -> str:
        found = getLemma(text, upos=kind) if kind else ()
        return found[0] if found else text

    def lemmatised(sentence: Sentence) -> Sentence:
        tokens = [token._replace(lemma=lemma(token.text, kinds.get(token.pos[:1]))) for token in sentence.tokens]
        return replace(sentence, tokens=tuple(tokens))

    known = {id(sentence): lemmatised(sentence) for sentence in corpus.sentences}
    candidates = [replace(candidate, sentence=known[id(candidate.sentence)]) for candidate in corpus.candidates]
    return replace(corpus, sentences=tuple(known.values()), candidates=tuple(candidates))


def splits_without_chance(study: Study) -> list[tuple[str, dict[str, int]]]:
    """List ways in which somebody might have dealt documents into ten folds."""
    documents = study.corpus.documents
    as_they_come, by_name = list(dict.fromkeys(documents)), sorted(set(documents))
    n = len(by_name)
    shuffled = {
        "RandomState(0)": np.random.RandomState(0).permutation(n),
        "default_rng(0)": np.random.default_rng(0).permutation(n),
    }
    grouped = GroupKFold(10).split(documents, groups=documents)
    folded = KFold(10, shuffle=True, random_state=0).split(by_name)
    return [
        ("as they come, dealt out", {name: place % 10 for place, name in enumerate(as_they_come)}),
        ("as they come, in blocks", {name: 10 * place // n for place, name in enumerate(as_they_come)}),
        ("by name, dealt out", {name: place % 10 for place, name in enumerate(by_name)}),
        ("by name, in blocks", {name: 10 * place // n for place, name in enumerate(by_name)}),
        ("GroupKFold", {documents[item]: fold for fold, (_, test) in enumerate(grouped) for item in test}),
        ("KFold, shuffled, 0", {by_name[place]: fold for fold, (_, test) in enumerate(folded) for place in test}),
        *(
            (f"by name, {name}", {by_name[place]: number % 10 for number, place in enumerate(order)})
            for name, order in shuffled.items()
        ),
    ]
