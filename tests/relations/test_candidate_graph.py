from __future__ import annotations

import numpy as np
import pytest

from kernelrank.errors import InvalidInputError
from kernelrank.estimators import AllPathsVectorizer
from kernelrank.relations import (
    Candidate,
    Dependency,
    GraphScheme,
    Mention,
    Sentence,
    Token,
    candidate_graph,
    candidate_graphs,
    candidate_parts,
)
from tests.oracles.all_paths import adjacency
from tests.oracles.relations import shortest_path_parts, steps_of_shortest_paths


def sentence_of(words, tags, links, mentions, name="s0"):
    at, tokens = 0, []
    for word, tag in zip(words, tags, strict=True):
        tokens.append(Token(word, tag, at, at + len(word)))
        at += len(word) + 1
    named = tuple(Mention(f"e{i}", "".join(words[p] for p in places), places) for i, places in enumerate(mentions))
    return Sentence(name, "d0", " ".join(words), tuple(tokens), tuple(Dependency(*link) for link in links), named)


def random_sentence(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 12))
    n_links = int(generator.integers(1, 2 * n))
    links = [(*generator.integers(0, n, 2).tolist(), f"t{i}") for i in range(n_links)]
    places = [tuple(sorted(set(generator.integers(0, n, generator.integers(1, 3)).tolist()))) for _ in range(2)]
    return sentence_of([f"w{i}" for i in range(n)], ["X"] * n, links, places)


# A sentence with three proteins, as in figure 2 of the article: the pair, and a third one beside it.
WORDS = ["P1", "binds", "P2", "unlike", "P3"]
TAGS = ["NN", "VBZ", "NN", "IN", "NN"]
LINKS = [(1, 0, "nsubj"), (1, 2, "dobj"), (1, 4, "prep_unlike")]


@pytest.fixture
def three_proteins():
    return sentence_of(WORDS, TAGS, LINKS, [(0,), (2,), (4,)])


def test_the_two_subgraphs_by_hand(three_proteins):
    graph = candidate_graph(Candidate(three_proteins, 0, 1))
    assert graph.labels == (
        ("PROT1_IP", "NN_IP"),
        ("binds_IP", "VBZ_IP"),
        ("PROT2_IP", "NN_IP"),
        ("unlike", "IN"),
        ("PROT", "NN"),
        ("nsubj_IP",),
        ("dobj_IP",),
        ("prep_unlike",),
        ("PROT1", "NN"),
        ("binds_M", "VBZ_M"),
        ("PROT2", "NN"),
        ("unlike_A", "IN_A"),
        ("PROT_A", "NN_A"),
    )
    edges = sorted(zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))
    assert edges == [
        (1, 5, 0.9),
        (1, 6, 0.9),
        (1, 7, 0.3),
        (5, 0, 0.9),
        (6, 2, 0.9),
        (7, 4, 0.3),
        (8, 9, 0.9),
        (9, 10, 0.9),
        (10, 11, 0.9),
        (11, 12, 0.9),
    ]
    assert graph.name == "P1 and P2 in sentence s0"


@pytest.mark.parametrize(("combine", "both_proteins"), [("max", 0.81), ("sum", 1.62)])
def test_the_features_by_hand(three_proteins, combine, both_proteins):
    vectorizer = AllPathsVectorizer(combine=combine)
    X = vectorizer.fit_transform([candidate_graph(Candidate(three_proteins, 0, 1))])
    found = dict(zip(vectorizer.get_feature_names_out(), X.toarray()[0].tolist(), strict=True))

    def value(first, second):
        return found.get(f"{first} -> {second}", 0.0)

    # In the dependency graph: the verb governs both proteins through dependencies on the path.
    assert value("binds_IP", "nsubj_IP") == pytest.approx(0.9)
    assert value("binds_IP", "PROT1_IP") == pytest.approx(0.9**2)
    assert value("binds_IP", "NN_IP") == pytest.approx(both_proteins)
    assert value("binds_IP", "PROT") == pytest.approx(0.3**2)
    assert value("nsubj_IP", "PROT2_IP") == 0.0
    # In the order graph: nearer is stronger, and nothing leads backwards.
    assert value("PROT1", "binds_M") == pytest.approx(0.9)
    assert value("PROT1", "PROT2") == pytest.approx(0.9**2)
    assert value("PROT1", "PROT_A") == pytest.approx(0.9**4)
    assert value("PROT2", "PROT1") == 0.0
    # From the verb's 2 labels to 8 others, from 3 dependencies to 2 each; in the order graph from PROT1 and NN to 8
    # each, from the verb's two to 6 each, from PROT2 to 4, and from the 2 labels of "unlike" to 2 each.
    assert X.nnz == 2 * 8 + 3 * 2 + 2 * 8 + 2 * 6 + 4 + 2 * 2


def test_the_other_pairs_of_a_sentence_differ_in_labels_and_weights_only(three_proteins):
    graphs = list(candidate_graphs([Candidate(three_proteins, 0, 1), Candidate(three_proteins, 1, 2)]))
    assert np.array_equal(graphs[0].sources, graphs[1].sources)
    assert graphs[1].labels[0] == ("PROT", "NN")
    assert graphs[1].labels[8] == ("PROT_B", "NN_B")
    assert graphs[1].labels[4] == ("PROT2_IP", "NN_IP")
    assert graphs[1].weights.tolist() == [0.3, 0.9, 0.9, 0.3, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]


def test_every_weight_and_label_is_a_parameter(three_proteins):
    scheme = GraphScheme(
        path_weight=0.8,
        other_weight=0.2,
        order_weight=0.5,
        path_tag="/path",
        before_tag="/b",
        middle_tag="/m",
        after_tag="/a",
        pair_tag="/pair",
        pair_names=("ONE", "TWO"),
        other_name="X",
        labels=("lemma",),
        lowercase=True,
    )
    graph = candidate_graph(Candidate(three_proteins, 0, 1), scheme)
    assert graph.labels[:5] == (("ONE/path",), ("binds/path",), ("TWO/path",), ("unlike",), ("X",))
    assert graph.labels[8:] == (("ONE/pair",), ("binds/m",), ("TWO/pair",), ("unlike/a",), ("X/a",))
    assert sorted(set(graph.weights.tolist())) == [0.2, 0.5, 0.8]
    blind = candidate_graph(Candidate(three_proteins, 0, 1), GraphScheme(keep_pos=False))
    assert blind.labels[0] == ("PROT1_IP",)
    assert blind.labels[3] == ("unlike", "IN")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path_weight": -1}, "path_weight must be a finite number of at least zero"),
        ({"order_weight": float("nan")}, "order_weight must be"),
        ({"labels": ("shape",)}, "labels must be some of text, pos, lemma"),
        ({"labels": ()}, "labels must be some of"),
        ({"pair_names": ("A",)}, "pair_names must be two names"),
        ({"colour": 1}, "the scheme has no 'colour'"),
    ],
)
def test_schemes_are_checked(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        GraphScheme.of(settings)


def test_a_mention_of_several_tokens_is_blinded_whole_and_paths_begin_at_any():
    words = ["RNA", "polymerase", "binds", "sigma", "factor"]
    links = [(1, 0, "nn"), (2, 1, "nsubj"), (4, 3, "nn"), (2, 4, "dobj")]
    sentence = sentence_of(words, ["NN"] * 5, links, [(0, 1), (3, 4)])
    labels = candidate_graph(Candidate(sentence, 0, 1)).labels
    assert labels[:5] == (
        ("PROT1", "NN"),
        ("PROT1_IP", "NN_IP"),
        ("binds_IP", "NN_IP"),
        ("PROT2", "NN"),
        ("PROT2_IP", "NN_IP"),
    )
    assert labels[9:] == (("PROT1", "NN"), ("PROT1", "NN"), ("binds_M", "NN_M"), ("PROT2", "NN"), ("PROT2", "NN"))


def test_a_token_of_both_mentions_has_both_names():
    sentence = sentence_of(["p53/MDM2", "complex"], ["NN", "NN"], [(1, 0, "nn")], [(0,), (0,)])
    labels = candidate_graph(Candidate(sentence, 0, 1)).labels
    assert labels[0] == ("PROT1_IP", "PROT2_IP", "NN_IP")
    assert labels[1] == ("complex", "NN")
    assert labels[3] == ("PROT1", "PROT2", "NN")


def test_without_a_path_nothing_is_marked():
    sentence = sentence_of(["A", "x", "B", "y"], list("abcd"), [(0, 1, "dep"), (2, 3, "dep")], [(0,), (2,)])
    graph = candidate_graph(Candidate(sentence, 0, 1))
    assert not any(label.endswith("_IP") for labels in graph.labels for label in labels)
    assert set(graph.weights[:4]) == {0.3}


def test_labels_that_are_the_same_count_once():
    sentence = sentence_of(["A", ",", "B"], ["NN", ",", "NN"], [(0, 2, "conj")], [(0,), (2,)])
    assert candidate_graph(Candidate(sentence, 0, 1)).labels[1] == (",",)


@pytest.mark.parametrize("seed", range(40))
def test_marked_vertices_and_edges_are_those_of_all_shortest_paths(seed):
    sentence = random_sentence(seed)
    n = len(sentence.tokens)
    graph = candidate_graph(Candidate(sentence, 0, 1))
    marked = {place for place, labels in enumerate(graph.labels) if any(label.endswith("_IP") for label in labels)}
    tokens, on_path = shortest_path_parts(sentence, 0, 1)
    assert marked == tokens | {n + place for place in on_path}
    A = adjacency(graph)
    for place, link in enumerate(sentence.dependencies):
        weight = 0.9 if place in on_path else 0.3
        assert A[link.governor, n + place] == pytest.approx(weight)
        assert A[n + place, link.dependent] == pytest.approx(weight)
    assert np.count_nonzero(A) == 2 * len(sentence.dependencies) + n - 1


def test_the_path_leads_from_name_to_name_by_hand(three_proteins):
    _, path, _ = next(candidate_parts([Candidate(three_proteins, 0, 1)]))
    assert path.labels == (
        ("PROT1_IP", "NN_IP"),
        ("binds_IP", "VBZ_IP"),
        ("PROT2_IP", "NN_IP"),
        ("nsubj<",),
        ("dobj>",),
    )
    edges = sorted(zip(path.sources.tolist(), path.targets.tolist(), path.weights.tolist(), strict=True))
    assert edges == [(0, 3, 0.9), (1, 4, 0.9), (3, 1, 0.9), (4, 2, 0.9)]
    assert path.name == "P1 and P2 in sentence s0"
    scheme = GraphScheme(path_weight=0.5, up_tag="/up", down_tag="/down")
    _, path, _ = next(candidate_parts([Candidate(three_proteins, 0, 1)], scheme))
    assert path.labels[3:] == (("nsubj/up",), ("dobj/down",))
    assert set(path.weights.tolist()) == {0.5}


@pytest.mark.parametrize("seed", range(40))
def test_the_parts_are_the_graph_taken_apart_and_all_shortest_paths(seed):
    sentence = random_sentence(seed)
    whole = candidate_graph(Candidate(sentence, 0, 1))
    dependencies, path, order = next(candidate_parts([Candidate(sentence, 0, 1)]))
    assert dependencies.labels + order.labels == whole.labels
    first = len(dependencies.labels)
    A = adjacency(whole)
    np.testing.assert_array_equal(adjacency(dependencies), A[:first, :first])
    np.testing.assert_array_equal(adjacency(order), A[first:, first:])
    # Every step of every path, and nothing else: from a token to a dependency that tells its direction, and on.
    tokens, links = shortest_path_parts(sentence, 0, 1)
    places = sorted(tokens)
    steps = steps_of_shortest_paths(sentence, 0, 1)
    assert {place for _, place, _ in steps} == links
    expected = np.zeros((len(tokens) + len(links),) * 2)
    labels = [whole.labels[place] for place in places]
    for number, link in enumerate(sorted(links)):
        ((begin, end),) = [(a, b) for a, place, b in steps if place == link]
        down = (begin, end) == (sentence.dependencies[link].governor, sentence.dependencies[link].dependent)
        labels.append((sentence.dependencies[link].type + (">" if down else "<"),))
        expected[places.index(begin), len(tokens) + number] = 0.9
        expected[len(tokens) + number, places.index(end)] = 0.9
    assert path.labels == tuple(labels)
    np.testing.assert_array_equal(adjacency(path), expected)


def test_names_that_the_parse_does_not_connect_have_an_empty_path():
    sentence = sentence_of(["A", "x", "B", "y"], list("abcd"), [(0, 1, "dep"), (2, 3, "dep")], [(0,), (2,)])
    _, path, _ = next(candidate_parts([Candidate(sentence, 0, 1)]))
    assert (path.n_vertices, path.n_edges) == (0, 0)


def test_a_sentence_of_300_tokens():
    n = 300
    words = [f"word{i}" for i in range(n)]
    links = [(i, i + 1, "dep") for i in range(n - 1)]
    sentence = sentence_of(words, ["NN"] * n, links, [(0,), (150, 151), (299,)])
    graphs = list(candidate_graphs([Candidate(sentence, 0, 1), Candidate(sentence, 1, 2)]))
    assert graphs[0].n_vertices == 2 * n + n - 1
    marked = [place for place in range(n) if graphs[0].labels[place][0].endswith("_IP")]
    assert marked == list(range(151))
    X = AllPathsVectorizer(normalize=True).fit_transform(graphs)
    assert np.allclose(X.multiply(X).sum(axis=1), 1.0)


def test_what_points_outside_a_sentence_is_refused():
    token = (Token("A", "NN", 0, 1),)
    with pytest.raises(InvalidInputError, match="sentence s0: the dependency 'dep' points outside its 1 tokens"):
        Sentence("s0", "d0", "A", token, (Dependency(0, 1, "dep"),), ())
    with pytest.raises(InvalidInputError, match="sentence s0: the mention e0 points outside its 1 tokens"):
        Sentence("s0", "d0", "A", token, (), (Mention("e0", "A", (3,)),))


def test_a_dependency_that_is_listed_twice_counts_once():
    sentence = sentence_of(["A", "B"], ["NN", "NN"], [(0, 1, "dep"), (0, 1, "dep"), (0, 1, "other")], [(0,), (1,)])
    assert len(sentence.dependencies) == 2
