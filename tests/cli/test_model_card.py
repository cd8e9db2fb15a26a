"""``kernelrank inspect --card``: Markdown that the hub reads, with measures and limits."""

from __future__ import annotations

import re


def front_matter(text: str) -> str:
    return text.split("---\n")[1]


def test_a_card_has_data_measures_with_intervals_and_limits(run, ranking):
    run("fit", ranking / "train.txt", "--kernel", "rbf", "--basis", "10")
    run("inspect", "model.kr", "--card", "README.md", "--data", "test.txt")
    text = (ranking / "README.md").read_text()
    known = run("evaluate", "model.kr", "test.txt", "--json").json["measures"]
    assert front_matter(text).startswith("library_name: kernelrank\ntags:\n- learning-to-rank\n- RankRLS\nmodel-index:")
    for facts in known:
        assert f'type: "{facts["measure"]}"\n      value: {facts["mean"]:.4f}' in front_matter(text)
        row = f"| {facts['measure']} | {facts['mean']:.4f} | {facts['low']:.4f} to {facts['high']:.4f} |"
        assert row in text
    assert re.search(r"`train.txt`: \d+ items in 10 queries", text)
    assert "The file contains 10 training items: share it only where you may share these data." in text
    assert str(ranking) not in text


def test_a_card_without_data_says_what_it_does_not_know(run, ranking):
    run("tune", "train.txt", "-o", "model.kr")
    text = run("inspect", "model.kr", "--card", "-").out
    assert "model-index" not in text
    assert "Not measured on other data" in text
    assert "best cross-validated score of the search" in text
    assert "How well it ranks new queries is not known from this card." in text
    run("inspect", "model.kr", "--card", "card.md", "--data", "train.txt")
    assert "the measures may be optimistic" in (ranking / "card.md").read_text()
