from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.relations import Candidate, Dependency, Mention, Sentence, Token, make_corpus
from kernelrank.relations.graphs import PATH_COLOUR, _stack, draw_candidate

SVG = "{http://www.w3.org/2000/svg}"


def drawn(candidate, **options):
    return ElementTree.fromstring(draw_candidate(candidate, **options))


def long_candidate():
    """Forty words; each depends on the one before it, and the last on the first."""
    tokens = tuple(Token(f"word{place}", "NN", 7 * place, 7 * place + 6) for place in range(40))
    links = (*(Dependency(place, place + 1, f"next{place}") for place in range(39)), Dependency(0, 39, "across"))
    mentions = (Mention("e0", "word0", (0,)), Mention("e1", "word39", (39,)))
    return Candidate(Sentence("s", "d", "long", tokens, links, mentions), 0, 1)


@pytest.mark.parametrize("width", [100, 500, 1000])
def test_a_long_sentence_is_wrapped_and_every_dependency_ends_once(width):
    candidate = long_candidate()
    picture = drawn(candidate, width=width)
    assert int(picture.get("width")) <= width < int(drawn(candidate, width=10_000).get("width"))
    texts = [element for element in picture.iter(SVG + "text") if element.text.startswith("word")]
    assert [element.text for element in texts] == [token.text for token in candidate.sentence.tokens]
    n_lines = len({element.get("y") for element in texts})
    assert n_lines > 1
    assert all(0 < float(element.get("x")) < width for element in picture.iter(SVG + "text"))
    arrows = [element for element in picture.iter(SVG + "path") if element.get("stroke") is None]
    assert len(arrows) == len(candidate.sentence.dependencies)
    # The dependency from the first to the last word is on each line, in red; neighbours break in two at line ends.
    curves = [element for element in picture.iter(SVG + "path") if element.get("stroke") is not None]
    assert sum(element.get("stroke") == PATH_COLOUR for element in curves) == n_lines
    assert len(curves) == 39 + (n_lines - 1) + n_lines


def test_a_word_longer_than_the_width_has_a_line_of_its_own():
    assert int(drawn(long_candidate(), width=1).get("width")) == 8 * len("word39") + 40
    with pytest.raises(InvalidInputError, match="at least 1 pixel"):
        draw_candidate(long_candidate(), width=0)


def test_words_tags_and_dependencies_are_there():
    candidate = make_corpus(1, random_state=0).candidates[0]
    texts = [element.text for element in drawn(candidate).iter(SVG + "text")]
    for word in candidate.sentence.text.split():
        assert word in texts
    for link in candidate.sentence.dependencies:
        assert link.type in texts


def test_the_path_is_bold_and_nothing_else_is():
    candidate = make_corpus(1, random_state=0).candidates[0]
    bold = [element.text for element in drawn(candidate).iter(SVG + "text") if element.get("font-weight") == "bold"]
    assert sorted(bold) == sorted(["A0", candidate.sentence.tokens[2].text, "B0", "nsubj", "dobj"])
    red = [element for element in drawn(candidate).iter(SVG + "path") if element.get("stroke") == PATH_COLOUR]
    assert len(red) == 2


def test_texts_are_escaped():
    tokens = (Token("<p&53>", "\x00N", 0, 6), Token("B", "N", 7, 8))
    mentions = (Mention("e0", "<p&53>", (0,)), Mention("e1", "B", (1,)))
    sentence = Sentence("s<0>", "d0", "<p&53> B", tokens, (Dependency(0, 1, '"x"'),), mentions)
    picture = drawn(Candidate(sentence, 0, 1))
    assert picture.find(SVG + "title").text == "<p&53> and B in s<0>: <p&53> B"


def test_a_word_may_depend_on_itself_and_a_sentence_have_one_word():
    sentence = Sentence(
        "s", "d", "A", (Token("A", "N", 0, 1),), (Dependency(0, 0, "x"),), (Mention("e", "A", (0,)),) * 2
    )
    assert drawn(Candidate(sentence, 0, 1)).tag == SVG + "svg"


@pytest.mark.parametrize("seed", range(10))
def test_no_two_arcs_over_a_common_stretch_have_one_height(seed):
    generator = np.random.default_rng(seed)
    links = [Dependency(*generator.integers(0, 12, 2).tolist(), "t") for _ in range(20)]
    heights = _stack(links)
    for i, one in enumerate(links):
        for j, other in enumerate(links[:i]):
            low, high = sorted(one[:2])
            if low < max(other[:2]) and min(other[:2]) < high:
                assert heights[i] != heights[j]
