"""The box of an estimator in a notebook links to its page of the reference, where the site is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernelrank as kr
from kernelrank.dyads import KroneckerRankRLS
from kernelrank.relations import RelationExtractor

API = Path(__file__).parents[1] / "docs" / "api"
LISTED = set()
for page in API.glob("*.rst"):
    module = "kernelrank"
    for line in page.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"\.\. currentmodule:: (\S+)", line)
        module = found[1] if found else module
        LISTED.add(f"{module}.{line.strip()}")


@pytest.mark.parametrize(
    "estimator",
    [
        kr.RankRLS(), kr.RankRLSCV(), kr.RLSClassifier(), kr.RankSVM(), kr.BradleyTerry(), kr.Leaderboard(),
        kr.CoRankRLS(), kr.TransductiveRankRLSCV(), kr.GreedyRankRLS(), KroneckerRankRLS(), kr.MaxMarginClustering(),
        kr.NystromMap(), kr.AllPathsVectorizer(), kr.OrdinalRanker(), kr.CalibratedRanker(kr.RankRLS()),
        RelationExtractor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_the_box_links_to_a_page_of_the_reference(estimator, monkeypatch):
    monkeypatch.setenv("KERNELRANK_DOCUMENTATION", "https://docs.example/kernelrank/")
    page = re.search(r"https://docs\.example/kernelrank/api/generated/(\S+?)\.html", estimator._repr_html_())[1]
    assert page in LISTED
    monkeypatch.delenv("KERNELRANK_DOCUMENTATION")
    assert "docs.example" not in estimator._repr_html_()


def test_a_subclass_elsewhere_has_no_link(monkeypatch):
    monkeypatch.setenv("KERNELRANK_DOCUMENTATION", "https://docs.example")
    assert type("Mine", (kr.RankRLS,), {"__module__": "mine"})()._get_doc_link() == ""
