"""Plain tables of sentences with two marked mentions."""

from __future__ import annotations

import pytest

from kernelrank.errors import FileFormatError
from kernelrank.relations import read_sentences


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_mentions_labels_and_documents(tmp_path, mark):
    path = tmp_path / "a.csv"
    rows = [
        ["sentence", "interacts", "document"],
        ["<e1>KinC</e1> activates <e2>Spo0A-P</e2>.", "yes", "d1"],
        [f'"<e2>SigK</e2>{mark} unlike <e1>Ger E</e1>\nis not."', "0", "d1"],
        ["<e1>ComK</e1> binds <e2>RecA</e2>.", "", ""],
    ]
    path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8-sig")
    first, second, third = read_sentences(path).candidates
    assert [one.names for one in (first, second, third)] == [("KinC", "Spo0A-P"), ("SigK", "Ger E"), ("ComK", "RecA")]
    assert [one.interacts for one in (first, second, third)] == [True, False, None]
    assert [one.document for one in (first, second, third)] == ["d1", "d1", "ComK binds RecA."]
    assert [token.text for token in first.sentence.tokens] == ["KinC", "activates", "Spo0A-P", "."]
    assert [mention.tokens for mention in second.mentions] == [(0,), (2, 3) if mark == "\t" else (3, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("words\n<e1>a</e1> <e2>b</e2>\n", "line 1: expected one column sentence; the columns are words"),
        ("sentence\n<e1>a</e1> b\n", "line 2, column .sentence.: expected <e1>.* got <e1> </e1>"),
        ("sentence\n<e1>a <e2>b</e2></e1>\n", "line 2, column .sentence.: expected <e1>"),
        ("sentence\n<e1> </e1> <e2>b</e2>\n", "line 2, column .sentence.: a mention has no word"),
        ("sentence,interacts\n<e1>a</e1> <e2>b</e2>,maybe\n", "line 2, column .interacts.: expected True or False"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_sentences(tmp_path / "a.csv")


def test_columns_by_other_names(tmp_path):
    (tmp_path / "a.tsv").write_text("PMID\tText\tLabel\td\n7\t<e1>A</e1> binds <e2>B</e2>.\tyes\tx\n")
    [candidate] = read_sentences(tmp_path / "a.tsv").candidates
    assert (candidate.interacts, candidate.sentence.document) == (True, "7")
    (tmp_path / "a.tsv").write_text("sentence\ttext\na\tb\n")
    with pytest.raises(FileFormatError, match="expected one column sentence; the columns are sentence, text"):
        read_sentences(tmp_path / "a.tsv")
