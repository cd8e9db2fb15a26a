"""The command learns relations from a plain table of sentences."""

from __future__ import annotations

import pytest

from kernelrank.relations import RelationExtractor, make_corpus, read_sentences


def test_the_command_learns_from_them(run, tmp_path):
    lines = ["sentence,interacts"]
    for candidate in make_corpus(40, random_state=1).candidates[::3]:
        (first, second), text = candidate.names, candidate.sentence.text
        marked = text.replace(first, f"<e1>{first}</e1>").replace(second, f"<e2>{second}</e2>")
        lines.append(f'"{marked}",{candidate.interacts}')
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    run("relations", "train", tmp_path / "a.csv", "-o", tmp_path / "model.kr")
    told = run("relations", "extract", tmp_path / "model.kr", tmp_path / "a.csv", "--json").json
    assert told["pairs"] == 40
    corpus = read_sentences(tmp_path / "a.csv")
    ranked = RelationExtractor().fit(corpus.candidates, documents=corpus.documents).rank(corpus.candidates)
    assert [row["score"] for row in told["ranking"]] == pytest.approx([one.score for one in ranked])
