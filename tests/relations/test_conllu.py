from __future__ import annotations

import pytest

from kernelrank.errors import FileFormatError
from kernelrank.relations import read_conllu
from tests.relations.corpora import CONLLU, MENTIONS, PAIRS


@pytest.fixture
def read(tmp_path):
    def reading(parses=CONLLU, mentions=MENTIONS, pairs=PAIRS, **options):
        files = [tmp_path / name for name in ("tiny.conllu", "mentions.tsv", "pairs.tsv")]
        for file, text in zip(files, (parses, mentions, pairs or ""), strict=True):
            file.write_text(text, encoding="utf-8")
        return read_conllu(files[0], files[1], files[2] if pairs else None, **options)

    return reading


def test_sentences_are_read_as_they_stand(read):
    corpus = read()
    sentence = corpus.sentences[0]
    words = ["KinC", "and", "KinD", "can", "n't", "bind", "to", "Spo0A", "."]
    assert [token.text for token in sentence.tokens] == words
    # Both words of a multiword token cover what it covers; the part of speech is the other one where there is none.
    assert sentence.tokens[3][2:4] == sentence.tokens[4][2:4] == (14, 19)
    assert (sentence.tokens[5].pos, sentence.tokens[4].lemma) == ("VERB", "not")
    assert sentence.tokens[7][2:4] == (28, 33)
    assert sentence.document == corpus.sentences[1].document == "d0"
    assert sentence.dependencies[0] == (5, 0, "nsubj")
    assert len(sentence.dependencies) == 8
    assert [(c.names, c.interacts) for c in corpus.candidates] == [
        (("KinC", "KinD"), False),
        (("KinC", "Spo0A"), True),
        (("KinD", "Spo0A"), None),
    ]
    assert corpus.name == "tiny"


def test_options(read):
    enhanced = read(dependencies="enhanced").sentences[0].dependencies
    assert (0, 2, "conj:and") in enhanced
    assert (5, 2, "nsubj") in enhanced
    assert not [link for link in enhanced if link.type == "case" and link.governor != 7]
    assert read(pos="upos").sentences[0].tokens[0].pos == "PROPN"
    assert {c.interacts for c in read(pairs=None).candidates} == {None}
    for option in ({"dependencies": "all"}, {"pos": "tag"}):
        with pytest.raises(ValueError, match="must be"):
            read(**option)


def test_what_cannot_be_used_is_counted(read):
    corpus = read(mentions=MENTIONS.replace("9\t13", "8\t9"))
    assert [c.names for c in corpus.candidates] == [("KinC", "Spo0A")]
    assert corpus.skipped == {"pairs of a mention that no token covers": 2}
    corpus = read(pairs=PAIRS + "s0\te1\te1\tTrue\n")
    assert corpus.skipped == {"pairs of an entity with itself": 1}
    unparsed = "\n".join(
        "\t".join([*row.split("\t")[:6], "_", "_", "_", "_"]) if "\t" in row else row for row in CONLLU.split("\n")
    )
    corpus = read(unparsed)
    assert corpus.candidates == ()
    assert corpus.skipped == {"pairs in sentences without the parse": 3}


def test_a_mention_of_several_parts(read):
    corpus = read(mentions=MENTIONS + "s0\te0\t9\t13\tprotein\n")
    assert corpus.sentences[0].mentions[0][1:3] == ("KinC KinD", (0, 2))


def test_sentences_without_a_document_are_their_own(read):
    assert read(CONLLU.replace("# newdoc id = d0\n", "")).sentences[0].document == "s0"


@pytest.mark.parametrize(
    ("which", "old", "new", "message"),
    [
        (0, "1\tKinC\tKinC\t", "1\tKinC\t", r"tiny\.conllu, line 4: expected the 10 columns of CoNLL-U; got 9"),
        (0, "# sent_id = s0\n", "", "line 3: a sentence without '# sent_id ='"),
        (0, "# text = KinC", "# words = KinC", "line 4: the sentence s0 has no '# text ='"),
        (0, "1\tKinC", "1\tKinX", "line 4: 'KinX' does not match the text of sentence s0"),
        (0, "2\tand", "x\tand", "line 5: 'x' is not a token number"),
        (0, "\t3\tcc\t", "\t30\tcc\t", "line 5: the head '30' is not a token of s0"),
        (0, "# sent_id = s1", "# sent_id = s0", "line 18: the sentence s0 occurs twice"),
        (1, "s0\te0", "s9\te5\t0\t1\tx\ns0\te0", r"mentions\.tsv: the sentence s9 is not in"),
        (1, "28\t33", "28\t330", "the mention e2 lies outside the text of s0"),
        (1, "28\t33", "33\t28", "line 4: start '33' and end '28' are not a span"),
        (1, "start\tend", "begin\tend", r"mentions\.tsv, line 1: the heading must be sentence id start end"),
        (1, "9\t13\tprotein", "9\t13", "line 3: 4 columns under a heading of 5"),
        (2, "e2\te0", "e7\te0", r"pairs\.tsv, line 3: there is no mention e7 in the sentence s0"),
        (2, "True", "yes", "line 3: interacts must be True or False, got 'yes'"),
        (2, "e2\te0", "e1\te0", "line 3: this pair occurs twice, with both labels"),
    ],
)
def test_what_cannot_be_understood_is_named(read, which, old, new, message):
    texts = [CONLLU, MENTIONS, PAIRS]
    assert old in texts[which]
    texts[which] = texts[which].replace(old, new, 1)
    with pytest.raises(FileFormatError, match=message):
        read(*texts)


def test_enhanced_dependencies_and_encodings_are_checked(read, tmp_path):
    with pytest.raises(FileFormatError, match="line 4: '6nsubj' is not an enhanced dependency"):
        read(CONLLU.replace("6:nsubj\t_", "6nsubj\t_"), dependencies="enhanced")
    (tmp_path / "bad.conllu").write_bytes(b"# text = \xff\n")
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_conllu(tmp_path / "bad.conllu", tmp_path / "bad.conllu")
