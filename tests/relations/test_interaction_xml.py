from __future__ import annotations

import io
import lzma

import pytest

from kernelrank.errors import FileFormatError
from kernelrank.relations import read_interaction_xml
from tests.relations.corpora import SENTENCE, xml


def read(text: str, **options):
    return read_interaction_xml(io.StringIO(text), **options)


def test_a_sentence_is_read_as_it_stands():
    corpus = read(xml(SENTENCE))
    (sentence,) = corpus.sentences
    assert [token.text for token in sentence.tokens] == ["KinC", "and", "KinD", "bind", "to", "Spo0A", "here", "."]
    assert sentence.tokens[5][1:4] == ("NN", 22, 27)
    assert sentence.dependencies[1] == (0, 2, "conj_and")
    assert [(mention.id, mention.text, mention.tokens, mention.type) for mention in sentence.mentions] == [
        ("e0", "KinC", (0,), "protein"),
        ("e1", "KinD", (2,), "protein"),
        ("e2", "Spo0A", (5,), "protein"),
    ]
    assert [(c.names, c.interacts, c.id) for c in corpus.candidates] == [
        (("KinC", "KinD"), False, "p0"),
        (("KinC", "Spo0A"), True, "p1"),
        (("KinD", "Spo0A"), True, "p2"),
    ]
    assert corpus.name == "tiny"
    assert corpus.skipped == {}
    assert corpus.labels.tolist() == [False, True, True]
    assert "3 pairs (2 positive, 1 negative) in 1 documents" in repr(corpus)


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "tiny.xml.xz"
    path.write_bytes(lzma.compress(xml(SENTENCE).encode()))
    assert len(read_interaction_xml(path).candidates) == 3
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match=r"tiny\.xml\.xz: the XML is damaged"):
        read_interaction_xml(path)


def test_the_other_parse_is_used_when_asked_for():
    corpus = read(xml(SENTENCE), parse="other")
    assert corpus.candidates == ()
    assert corpus.skipped == {"pairs in sentences without the parse": 3}
    with pytest.raises(
        FileFormatError, match="no sentence has the parse 'mine'; the file has: 'other' of 'whole', 'split"
    ):
        read(xml(SENTENCE), parse="mine")
    with pytest.raises(FileFormatError, match="no sentence has the parse 'split_parse' of 'whole'"):
        read(xml(SENTENCE), tokenization="whole")


def test_a_pair_without_an_element_has_no_label():
    corpus = read(xml(SENTENCE.replace('<pair id="p0" e1="e0" e2="e1" interaction="False"/>', "")))
    assert [c.interacts for c in corpus.candidates] == [None, True, True]
    with pytest.raises(ValueError, match=r"sentence d0\.s0: no label says whether 'KinC' and 'KinD' interact"):
        _ = corpus.labels


def test_self_interactions_are_left_out_and_counted():
    corpus = read(
        xml(
            SENTENCE.replace(
                "<sentenceanalyses>", '<pair id="p9" e1="e1" e2="e1" interaction="True"/><sentenceanalyses>'
            )
        )
    )
    assert len(corpus.candidates) == 3
    assert corpus.skipped == {"pairs of an entity with itself": 1}


def test_a_sentence_without_its_parse_is_counted_and_the_others_stay():
    bare = SENTENCE.replace("d0.s0", "d0.s1").replace('parser="split_parse"', 'parser="lost"')
    corpus = read(xml(SENTENCE, bare))
    assert {c.sentence.id for c in corpus.candidates} == {"d0.s0"}
    assert corpus.skipped == {"pairs in sentences without the parse": 3}


def test_an_empty_parse_is_no_parse():
    empty = SENTENCE.replace("d0.s0", "d0.s1")
    start, end = empty.index("<dependency"), empty.rindex("</parse>")
    corpus = read(xml(SENTENCE, empty[:start] + empty[end:]))
    assert len(corpus.candidates) == 3
    assert corpus.skipped == {"pairs in sentences without the parse": 3}


def test_a_mention_that_no_token_covers_is_in_no_pair():
    text = SENTENCE.replace('charOffset="9-12" text="KinD" type', 'charOffset="8-8" text=" " type')
    corpus = read(xml(text))
    assert [c.names for c in corpus.candidates] == [("KinC", "Spo0A")]
    assert corpus.skipped == {"pairs of a mention that no token covers": 2}


def test_a_mention_whose_offsets_are_not_its_text_is_in_no_pair():
    corpus = read(xml(SENTENCE.replace('charOffset="9-12" text="KinD" type', 'charOffset="9-13" text="Kin D" type')))
    # One blank more or less is the same name; another name is not.
    assert len(corpus.candidates) == 3
    corpus = read(xml(SENTENCE.replace('charOffset="9-12" text="KinD" type', 'charOffset="14-17" text="KinD" type')))
    assert [c.names for c in corpus.candidates] == [("KinC", "Spo0A")]
    assert corpus.skipped == {"pairs of a mention whose text is not that at its offsets": 2}


def test_a_mention_of_several_parts_and_tokens():
    text = SENTENCE.replace('charOffset="0-3" text="KinC" type', 'charOffset="0-3,9-12" text="KinC KinD" type')
    (sentence,) = read(xml(text)).sentences
    assert sentence.mentions[0].tokens == (0, 2)


def test_the_earlier_mention_comes_first_whatever_the_file_says():
    entity = '<entity id="e0" charOffset="0-3" text="KinC" type="protein"/>'
    text = SENTENCE.replace(entity, "").replace("<sentenceanalyses>", entity + "<sentenceanalyses>")
    assert {c.names for c in read(xml(text)).candidates} == {
        ("KinC", "KinD"),
        ("KinC", "Spo0A"),
        ("KinD", "Spo0A"),
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</sentence>", "", "line 35: the XML is damaged: mismatched tag"),
        ('<sentence id="d0.s0"', "<sentence", "a sentence of document d0 has no id"),
        ('text="KinC and KinD bind to Spo0A here."', "", r"sentence d0\.s0 has no text"),
        (
            'charOffset="22-26" text="Spo0A" type',
            'charOffset="22" text="Spo0A" type',
            "entity e2: expected a charOffset such as '0-3,7-9'; got '22'",
        ),
        ('charOffset="22-26" text="Spo0A" type', 'charOffset="26-22" text="Spo0A" type', "which is empty or negative"),
        ('id="e1"', 'id="e0"', "the entity e0 occurs twice"),
        ('e1="e2" e2="e1"', 'e1="e2" e2="e7"', "the pair p2 names the unknown entity e7"),
        ('e1="e2" e2="e1"', 'e1="e2"', "the pair p2 has no e2"),
        ('interaction="False"', 'interaction="perhaps"', "interaction='perhaps', not True or False"),
        ('e1="e2" e2="e1"', 'e1="e1" e2="e0"', "the pair p2 occurs twice, with both labels"),
        ('t2="t7"', 't2="t70"', "a dependency names the unknown token t70"),
        ('t2="t7"', "", "a dependency has no t2"),
        ('id="t5"', 'id="t4"', "the token t4 occurs twice"),
        ('charOffset="28-31"', 'charOffset="28-310"', "the token t7 is out of order or outside the text"),
        ('charOffset="28-31"', 'charOffset="2-31"', "the token t7 is out of order or outside the text"),
        ('charOffset="28-31"', 'charOffset="x-31"', "a token without a valid charOffset"),
        ('text="here" POS="RB"', 'text="here"', "a token without a valid POS"),
        (
            '<tokenization tokenizer="split">',
            '<tokenization tokenizer="lost">',
            "the tokenization 'split' of its parse 0 times",
        ),
        (
            'parser="other" tokenizer="whole"',
            'parser="split_parse" tokenizer="split"',
            "the parse 'split_parse' 2 times",
        ),
    ],
)
def test_what_cannot_be_understood_is_named(old, new, message):
    assert SENTENCE.count(old) >= 1
    with pytest.raises(FileFormatError, match=message):
        read(xml(SENTENCE.replace(old, new)))


def test_other_roots_and_repeated_sentences_are_refused():
    with pytest.raises(FileFormatError, match="the outermost element must be <corpus>, got <html>"):
        read("<html/>")
    with pytest.raises(FileFormatError, match=r"the sentence d0\.s0 occurs twice"):
        read(xml(SENTENCE, SENTENCE))
    with pytest.raises(FileFormatError, match="the XML is damaged"):
        read(xml(SENTENCE)[:-100])
    with pytest.raises(FileFormatError, match="the XML is damaged"):
        read_interaction_xml(io.BytesIO(b"<corpus>\xff\xfe</corpus>"))
