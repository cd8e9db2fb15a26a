"""spaCy documents: a stand-in with the attributes that are read, and spaCy itself where it is installed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.relations import candidate_graph, from_spacy

WORDS = ["p53", "binds", "MDM2", ".", "It", "resembles", "p63", "and", "p73", "."]
HEADS = [1, 1, 1, 1, 5, 5, 5, 6, 6, 5]
DEPS = ["nsubj", "ROOT", "dobj", "punct", "nsubj", "ROOT", "dobj", "cc", "conj", "punct"]
TAGS = ["NN", "VBZ", "NN", ".", "PRP", "VBZ", "NN", "CC", "NN", "."]
ENTITIES = [(0, 1, "PROTEIN"), (2, 3, "PROTEIN"), (6, 7, "PROTEIN"), (8, 9, "GENE")]


class Span(list):
    def __init__(self, document, start, end, label=""):
        super().__init__(document.words[start:end])
        self.start, self.end, self.label_ = start, end, label
        self.start_char = self[0].idx
        self.text = document.text[self.start_char : self[-1].idx + len(self[-1].text)]


def stand_in(*, deps=DEPS):
    document = SimpleNamespace(text=" ".join(WORDS))
    document.words = [
        SimpleNamespace(text=word, tag_=tag, pos_="X", lemma_=word.lower(), dep_=dep, i=i)
        for i, (word, tag, dep) in enumerate(zip(WORDS, TAGS, deps, strict=True))
    ]
    at = 0
    for word, head in zip(document.words, HEADS, strict=True):
        word.idx, word.head = at, document.words[head]
        at += len(word.text) + 1
    document.sents = [Span(document, 0, 4), Span(document, 4, 10)]
    document.ents = [Span(document, *entity) for entity in ENTITIES]
    return document


def real():
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc

    tags = [
        f"{kind}-{label}" if kind else "O"
        for kind, label in [
            ("B", "PROTEIN"),
            ("", ""),
            ("B", "PROTEIN"),
            *[("", "")] * 3,
            ("B", "PROTEIN"),
            ("", ""),
            ("B", "GENE"),
            ("", ""),
        ]
    ]
    return Doc(
        spacy.blank("en").vocab,
        words=WORDS,
        heads=HEADS,
        deps=DEPS,
        tags=TAGS,
        lemmas=[word.lower() for word in WORDS],
        ents=tags,
    )


class Unset:
    """spaCy raises when sentences are asked for that nobody has set."""

    def __iter__(self):
        raise ValueError("[E030] Sentence boundaries unset.")


@pytest.fixture(params=[stand_in, real])
def document(request):
    return request.param()


def test_sentences_entities_and_parses(document):
    corpus = from_spacy([document], names=["abstract 1"])
    assert [c.names for c in corpus.candidates] == [("p53", "MDM2"), ("p63", "p73")]
    assert [c.document for c in corpus.candidates] == ["abstract 1"] * 2
    second = corpus.sentences[1]
    assert second.text.startswith("It resembles p63")
    assert second.tokens[2][:4] == ("p63", "NN", 13, 16)
    assert second.tokens[1].lemma == "resembles"
    assert second.dependencies == ((1, 0, "nsubj"), (1, 2, "dobj"), (2, 3, "cc"), (2, 4, "conj"), (1, 5, "punct"))
    graph = candidate_graph(corpus.candidates[1])
    assert graph.labels[2:5] == (("PROT1_IP", "NN_IP"), ("and", "CC"), ("PROT2_IP", "NN_IP"))


def test_types_choose_entities(document):
    corpus = from_spacy([document, document], types={"PROTEIN"})
    assert [(c.names, c.document) for c in corpus.candidates] == [(("p53", "MDM2"), "0"), (("p53", "MDM2"), "1")]


def test_documents_without_a_parse_are_counted():
    corpus = from_spacy([stand_in(deps=[""] * 10)])
    assert corpus.candidates == ()
    assert corpus.skipped == {"pairs in sentences without the parse": 2}


def test_documents_without_sentences_are_refused():
    unset = SimpleNamespace(text="a", ents=(), sents=Unset())
    with pytest.raises(InvalidInputError, match="document 0 has no sentences: add a parser"):
        from_spacy([unset])
    with pytest.raises(InvalidInputError, match="expected a name for each document; got 1 names"):
        from_spacy([stand_in(), stand_in()], names=["one"])
