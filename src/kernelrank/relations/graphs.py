"""The graph of a candidate: the parse of its sentence and the order of its words, seen from the pair.

Two unconnected parts [APBPGS08]_. In the *dependency graph* each token and each dependency is a vertex, with an edge
from the governor to the dependency and one from there to the dependent; what lies on a shortest undirected path between
the pair has labels and weights of its own. In the *order graph* each token is a vertex again, with an edge to the next,
and labels that tell whether it stands before, between or after the pair. Names of entities are blinded: the model shall
learn how a sentence says that two proteins interact, not which ones do.

What the article settles is as it says: every shortest path, if there are several; tags added to labels, to those of
dependencies too; every token a vertex, punctuation and words outside the parse included; texts in their own case; edges
from governor to dependent. It leaves four things open, or to its figure, and they were chosen here:

- Of a mention of several tokens all are blinded, and a path may begin at any, so that the nearest tokens have it.
- A blinded token keeps its part of speech. Read to the letter, the stand-in replaces both labels: ``keep_pos=False``.
- The pair is neither before, between nor after itself, so that it has no tag in the order graph: ``pair_tag``.
- A token of both mentions of the pair has both stand-ins.

`docs/studies/protein_interactions.md` has what the choices are worth.

Edges of the dependency graph lead away from the governor, so that no walk leads from one name of the pair to the other
unless it governs it. So `candidate_parts` has a third part beside those two, the *path graph*: the shortest paths
themselves [BM05]_, with edges that lead from the first name to the second. Which way the dependencies go is in their
labels.

Only labels and weights differ between the candidates of a sentence. So its vertices, edges, labels in every variant and
distances are laid out once, and a candidate costs copies with a few places changed.

References
----------
.. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
   protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.
.. [BM05] Bunescu and Mooney (2005). A shortest path dependency kernel for relation extraction. HLT/EMNLP, 724-731.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.kernels.labelled_graphs import LabelledGraph
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.graph_scheme import GraphScheme
from kernelrank.relations.sentence import Sentence
from kernelrank.relations.shortest_paths import distances_from, neighbours, on_shortest_paths
from kernelrank.relations.token import Token

__all__ = ["PARTS", "candidate_graph", "candidate_graphs", "candidate_parts"]

Labels = tuple[str, ...]
PARTS = ("dependencies", "path", "order")


def candidate_graph(candidate: Candidate, scheme: GraphScheme | None = None) -> LabelledGraph:
    """Make the graph of one candidate.

    Parameters
    ----------
    candidate : Candidate
    scheme : GraphScheme, optional
        Its weights and labels; those of the article unless given.

    Returns
    -------
    LabelledGraph
        Its vertices are the tokens, the dependencies and the tokens again.

    Notes
    -----
    Time and memory O(tokens + dependencies).

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> graph = candidate_graph(make_corpus(1, random_state=0).candidates[0])
    >>> graph.labels[0], graph.labels[1], graph.labels[8]
    (('PROT1_IP', 'NN_IP'), ('rarely', 'RB'), ('nsubj_IP',))
    >>> graph.labels[12:15]
    (('PROT1', 'NN'), ('rarely_M', 'RB_M'), ('outweighs_M', 'VBZ_M'))
    """
    return next(candidate_graphs([candidate], scheme))


def candidate_graphs(candidates: Iterable[Candidate], scheme: GraphScheme | None = None) -> Iterator[LabelledGraph]:
    """Make the graphs of candidates one by one; fastest if the candidates of a sentence are contiguous.

    Parameters
    ----------
    candidates : iterable of Candidate
    scheme : GraphScheme, optional
        The weights and labels; those of the article unless given.

    Yields
    ------
    LabelledGraph

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> [graph.n_vertices for graph in candidate_graphs(make_corpus(1, random_state=0).candidates)]
    [20, 20, 20]
    """
    for plan, candidate in _planned(candidates, scheme):
        yield plan.graph(candidate)


def candidate_parts(
    candidates: Iterable[Candidate], scheme: GraphScheme | None = None
) -> Iterator[tuple[LabelledGraph, ...]]:
    """Make the graphs of candidates part by part: the dependency graph, the path graph and the order graph.

    Parameters
    ----------
    candidates : iterable of Candidate
    scheme : GraphScheme, optional
        The weights and labels; those of the article unless given. Edges of the path graph have `path_weight`.

    Yields
    ------
    tuple of three LabelledGraph
        In the order of `PARTS`. The first and the last together are the graph of `candidate_graphs`. The path graph of
        a pair that the parse does not connect has no vertices.

    Notes
    -----
    Time and memory O(tokens + dependencies) for each.

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> dependencies, path, order = next(candidate_parts(make_corpus(1, random_state=0).candidates))
    >>> path.labels
    (('PROT1_IP', 'NN_IP'), ('outweighs_IP', 'VBZ_IP'), ('PROT2_IP', 'NN_IP'), ('nsubj<',), ('dobj>',))
    >>> path.sources, path.targets
    (array([0, 1, 3, 4]), array([3, 4, 1, 2]))
    """
    for plan, candidate in _planned(candidates, scheme):
        yield plan.parts(candidate)


def _planned(candidates: Iterable[Candidate], scheme: GraphScheme | None) -> Iterator[tuple[_SentencePlan, Candidate]]:
    """Yield the candidates, each with what it shares with others of its sentence."""
    chosen = GraphScheme() if scheme is None else scheme
    words = _Words(chosen)
    plan: _SentencePlan | None = None
    for candidate in candidates:
        if plan is None or plan.sentence is not candidate.sentence:
            plan = _SentencePlan(candidate.sentence, chosen, words)
        yield plan, candidate


class _Words:
    """The labels of words, of their stand-ins and of dependencies, with every tag; each made once."""

    def __init__(self, scheme: GraphScheme) -> None:
        self._scheme = scheme
        self.tags = ("", scheme.path_tag, scheme.before_tag, scheme.middle_tag, scheme.after_tag, scheme.pair_tag)
        self._of_token: dict[tuple[str, str, str], tuple[Labels, ...]] = {}
        self._of_blind: dict[tuple[Labels, str], tuple[Labels, ...]] = {}
        self._of_type: dict[str, tuple[Labels, ...]] = {}

    def token(self, token: Token) -> tuple[Labels, ...]:
        """Return the labels of a word with each tag."""
        key = token.text, token.pos, token.lemma
        found = self._of_token.get(key)
        if found is None:
            plain = {"text": self._case(token.text), "pos": token.pos, "lemma": self._case(token.lemma or token.text)}
            found = self._of_token[key] = self._tagged(plain[label] for label in self._scheme.labels)
        return found

    def blind(self, names: Labels, token: Token) -> tuple[Labels, ...]:
        """Return the labels of a token of a mention with each tag."""
        pos = token.pos if self._scheme.keep_pos and "pos" in self._scheme.labels else ""
        found = self._of_blind.get((names, pos))
        if found is None:
            found = self._of_blind[names, pos] = self._tagged((*names, pos))
        return found

    def dependency(self, kind: str) -> tuple[Labels, ...]:
        """Return the labels of a dependency with each tag."""
        found = self._of_type.get(kind)
        if found is None:
            found = self._of_type[kind] = self._tagged((kind,))
        return found

    def _case(self, text: str) -> str:
        return text.lower() if self._scheme.lowercase else text

    def _tagged(self, labels: Iterable[str]) -> tuple[Labels, ...]:
        known = [label for label in dict.fromkeys(labels) if label]
        return tuple(tuple(label + tag for label in known) for tag in self.tags)


PLAIN, PATH, BEFORE, MIDDLE, AFTER, PAIR = range(6)


@dataclass(frozen=True)
class _View:
    """A sentence seen from a pair: the labels of the vertices, the weights of all edges, and the shortest paths."""

    tokens: list[Labels]
    links: list[Labels]
    order: list[Labels]
    weights: Float
    path_tokens: list[int]
    path_links: list[int]


class _SentencePlan:
    """What the candidates of a sentence share."""

    def __init__(self, sentence: Sentence, scheme: GraphScheme, words: _Words) -> None:
        self.sentence = sentence
        self._scheme = scheme
        self._words = words
        n_tokens, n_links = len(sentence.tokens), len(sentence.dependencies)
        self._adjacent = neighbours(n_tokens, sentence.dependencies)
        self._distances: dict[int, list[int]] = {}
        mentioned = {place for mention in sentence.mentions for place in mention.tokens}
        other = (scheme.other_name,)
        labels = [
            words.blind(other, token) if place in mentioned else words.token(token)
            for place, token in enumerate(sentence.tokens)
        ]
        self._token_labels: list[list[Labels]] = [list(column) for column in zip(*labels, strict=True)]
        links = [words.dependency(kind) for _, _, kind in sentence.dependencies]
        self._link_labels: list[list[Labels]] = [[of_link[tag] for of_link in links] for tag in (PLAIN, PATH)]
        # The edges into the dependencies, those out of them, and those from word to word.
        governors = [governor for governor, _, _ in sentence.dependencies]
        dependents = [dependent for _, dependent, _ in sentence.dependencies]
        order = np.arange(n_tokens + n_links, 2 * n_tokens + n_links)
        vertices = np.arange(n_tokens, n_tokens + n_links)
        self._sources = np.concatenate([np.array(governors, dtype=np.intp), vertices, order[:-1]])
        self._targets = np.concatenate([vertices, np.array(dependents, dtype=np.intp), order[1:]])
        self._weights = np.full(len(self._sources), scheme.other_weight)
        self._weights[2 * n_links :] = scheme.order_weight

    def graph(self, candidate: Candidate) -> LabelledGraph:
        """Return the dependency graph and the order graph as one."""
        view = self._view(candidate)
        labels = tuple(view.tokens + view.links + view.order)
        return LabelledGraph(labels, self._sources, self._targets, view.weights, _name(candidate))

    def parts(self, candidate: Candidate) -> tuple[LabelledGraph, ...]:
        """Return the dependency graph, the path graph and the order graph."""
        view, name = self._view(candidate), _name(candidate)
        first = len(view.tokens) + len(view.links)
        inside, between = slice(None, 2 * len(view.links)), slice(2 * len(view.links), None)
        return (
            LabelledGraph(
                tuple(view.tokens + view.links),
                self._sources[inside],
                self._targets[inside],
                view.weights[inside],
                name,
            ),
            self._path(candidate, view, name),
            LabelledGraph(
                tuple(view.order),
                self._sources[between] - first,
                self._targets[between] - first,
                view.weights[between],
                name,
            ),
        )

    def _path(self, candidate: Candidate, view: _View, name: str) -> LabelledGraph:
        """Return the shortest paths, from the first name to the second."""
        number = {place: vertex for vertex, place in enumerate(view.path_tokens)}
        distance = self._distance(candidate.first)
        labels = [view.tokens[place] for place in view.path_tokens]
        begins, ends = [], []
        for link in view.path_links:
            governor, dependent, kind = self.sentence.dependencies[link]
            down = distance[governor] < distance[dependent]
            begins.append(number[governor if down else dependent])
            ends.append(number[dependent if down else governor])
            labels.append((kind + (self._scheme.down_tag if down else self._scheme.up_tag),))
        vertices = np.arange(len(number), len(labels))
        return LabelledGraph(
            tuple(labels),
            np.concatenate([np.array(begins, dtype=np.intp), vertices]),
            np.concatenate([vertices, np.array(ends, dtype=np.intp)]),
            np.full(2 * len(vertices), self._scheme.path_weight),
            name,
        )

    def _view(self, candidate: Candidate) -> _View:
        sentence = self.sentence
        n_links = len(sentence.dependencies)
        path, links = on_shortest_paths(
            self._distance(candidate.first), self._distance(candidate.second), sentence.dependencies
        )
        tokens = self._token_labels[PLAIN].copy()
        for place in path:
            tokens[place] = self._token_labels[PATH][place]
        dependencies = self._link_labels[PLAIN].copy()
        weights = self._weights.copy()
        for link in links:
            dependencies[link] = self._link_labels[PATH][link]
            weights[link] = weights[n_links + link] = self._scheme.path_weight
        one, other = (sentence.mentions[place].tokens for place in (candidate.first, candidate.second))
        begin, end = min(one[0], other[0]), max(one[-1], other[-1]) + 1
        order = [
            *self._token_labels[BEFORE][:begin],
            *self._token_labels[MIDDLE][begin:end],
            *self._token_labels[AFTER][end:],
        ]
        for place, names in self._pair_names(one, other):
            labels = self._words.blind(names, sentence.tokens[place])
            tokens[place] = labels[PATH if place in path else PLAIN]
            order[place] = labels[PAIR]
        return _View(tokens, dependencies, order, weights, path, links)

    def _distance(self, mention: int) -> list[int]:
        if mention not in self._distances:
            self._distances[mention] = distances_from(self.sentence.mentions[mention].tokens, self._adjacent)
        return self._distances[mention]

    def _pair_names(self, one: tuple[int, ...], other: tuple[int, ...]) -> Iterator[tuple[int, Labels]]:
        """Yield the tokens of the pair with their stand-ins; a token of both has both."""
        first, second = self._scheme.pair_names
        for place in one:
            yield place, (first, second) if place in other else (first,)
        for place in other:
            if place not in one:
                yield place, (second,)


def _name(candidate: Candidate) -> str:
    """Name a candidate in errors."""
    called = candidate.id or " and ".join(candidate.names)
    return f"{called} in sentence {candidate.sentence.id}"
