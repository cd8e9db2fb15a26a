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

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self
from xml.sax.saxutils import escape

import numpy as np

from kernelrank.base.arrays import Float
from kernelrank.base.text import printable
from kernelrank.errors import InvalidInputError
from kernelrank.kernels.labelled_graphs import LabelledGraph
from kernelrank.relations.corpus import Candidate, Dependency, Sentence, Token

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


# Graph scheme ---------------------------------------------------------------------------------------------------------
#
# The scheme of a candidate's graph: every weight and every label that goes into it.

TOKEN_LABELS = ("text", "pos", "lemma")


@dataclass(frozen=True)
class GraphScheme:
    """What the graph of a candidate is made of [APBPGS08]_.

    Parameters
    ----------
    path_weight, other_weight : float, default=0.9 and 0.3
        The weights of edges on the shortest paths between the pair and elsewhere, in the dependency graph; the former
        also that of all edges of the path graph.
    order_weight : float, default=0.9
        The weight of edges from a word to the next, in the order graph.
    path_tag : str, default="_IP"
        The suffix of labels on the shortest paths.
    before_tag, middle_tag, after_tag : str, default="_B", "_M" and "_A"
        The suffixes of labels of the order graph: before, between and after the pair.
    pair_tag : str, default=""
        The suffix of labels of the pair itself in the order graph.
    up_tag, down_tag : str, default="<" and ">"
        The suffixes of labels of dependencies in the path graph, from a dependent to its governor and from a governor
        to its dependent.
    pair_names : tuple of two str, default=("PROT1", "PROT2")
        The words that replace the texts of the pair, in the order of the sentence.
    other_name : str, default="PROT"
        The word that replaces the texts of other mentions.
    labels : tuple of str, default=("text", "pos")
        The labels of each token: "text", "pos" and "lemma" (the text, if there is no lemma).
    keep_pos : bool, default=True
        Whether replaced tokens keep the label of their part of speech.
    lowercase : bool, default=False
        Whether texts and lemmas are taken in lower case.

    References
    ----------
    .. [APBPGS08] Airola, Pyysalo, Björne, Pahikkala, Ginter and Salakoski (2008). All-paths graph kernel for
       protein-protein interaction extraction with evaluation of cross-corpus learning. BMC Bioinformatics 9(S11), S2.

    Examples
    --------
    >>> GraphScheme(other_weight=0.2).path_weight
    0.9
    """

    path_weight: float = 0.9
    other_weight: float = 0.3
    order_weight: float = 0.9
    path_tag: str = "_IP"
    before_tag: str = "_B"
    middle_tag: str = "_M"
    after_tag: str = "_A"
    pair_tag: str = ""
    up_tag: str = "<"
    down_tag: str = ">"
    pair_names: tuple[str, str] = ("PROT1", "PROT2")
    other_name: str = "PROT"
    labels: tuple[str, ...] = ("text", "pos")
    keep_pos: bool = True
    lowercase: bool = False

    def __post_init__(self) -> None:
        for name in ("path_weight", "other_weight", "order_weight"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
                raise InvalidInputError(f"{name} must be a finite number of at least zero, got {value!r}")
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "pair_names", tuple(self.pair_names))
        unknown = [label for label in self.labels if label not in TOKEN_LABELS]
        if unknown or not self.labels:
            raise InvalidInputError(f"labels must be some of {', '.join(TOKEN_LABELS)}, got {self.labels!r}")
        if len(self.pair_names) != 2:
            raise InvalidInputError(f"pair_names must be two names, got {self.pair_names!r}")

    @classmethod
    def of(cls, settings: dict[str, Any] | None) -> Self:
        """Make a scheme from some of its settings by name; None is the default.

        Examples
        --------
        >>> GraphScheme.of({"path_weigth": 0.5})
        Traceback (most recent call last):
        kernelrank.errors.InvalidInputError: the scheme has no 'path_weigth'; it has path_weight, other_weight, ...
        """
        names = [one.name for one in fields(cls)]
        for name in settings or {}:
            if name not in names:
                raise InvalidInputError(f"the scheme has no {name!r}; it has {', '.join(names)}")
        return cls(**(settings or {}))


# Shortest paths -------------------------------------------------------------------------------------------------------
#
# Shortest undirected paths in a dependency graph.
#
# A token lies on a shortest path between two mentions if and only if its distances to both add up to that between them;
# a dependency does if one of its ends is as far from the first mention as the other end is from the second, less one.
# So one breadth-first search for each mention serves all its pairs, and all shortest paths are found, not one.

# Larger than any sum of two distances in a sentence.
UNREACHED = 1 << 40


def neighbours(n_tokens: int, dependencies: Iterable[Dependency]) -> list[list[int]]:
    """List the tokens that share a dependency with each token, whatever its direction. Time O(dependencies)."""
    adjacent: list[list[int]] = [[] for _ in range(n_tokens)]
    for governor, dependent, _ in dependencies:
        adjacent[governor].append(dependent)
        adjacent[dependent].append(governor)
    return adjacent


def distances_from(tokens: Iterable[int], adjacent: Sequence[Sequence[int]]) -> list[int]:
    """Return the distance of each token to the nearest of some tokens, in dependencies. Time O(dependencies)."""
    distance = [UNREACHED] * len(adjacent)
    frontier = list(tokens)
    for token in frontier:
        distance[token] = 0
    steps = 0
    while frontier:
        steps += 1
        reached = []
        for token in frontier:
            for other in adjacent[token]:
                if distance[other] == UNREACHED:
                    distance[other] = steps
                    reached.append(other)
        frontier = reached
    return distance


def on_shortest_paths(
    first: Sequence[int], second: Sequence[int], dependencies: Sequence[Dependency]
) -> tuple[list[int], list[int]]:
    """Find the tokens and the dependencies on the shortest paths between two mentions; none if there is no path.

    Time O(tokens + dependencies).
    """
    sums = [a + b for a, b in zip(first, second, strict=True)]
    length = min(sums)
    if length >= UNREACHED:
        return [], []
    tokens = [place for place, total in enumerate(sums) if total == length]
    links = [
        place
        for place, (one, other, _) in enumerate(dependencies)
        if sums[one] == length
        and sums[other] == length
        and (first[one] + second[other] == length - 1 or first[other] + second[one] == length - 1)
    ]
    return tokens, links


# Drawing --------------------------------------------------------------------------------------------------------------
#
# Drawing a candidate: its words in lines, its parse as arcs above them, the path between the pair in bold.

# Sizes in pixels. The width of a letter is a guess that holds for common fonts without measuring any.
LETTER = 8
GAP = 22
MARGIN = 20
STEP = 26

INK, FAINT, PATH_COLOUR, PAIR_COLOUR, OTHER = "#222222", "#9a9a9a", "#c0392b", "#fbd9d3", "#e8e8e8"


def draw_candidate(candidate: Candidate, *, width: int = 1000) -> str:
    """Draw a sentence with its parse and the path between the two names of a candidate, as SVG.

    Words with their parts of speech stand in lines, dependencies are arcs above them with arrows at the dependents.
    The shortest paths between the pair are red and bold. The pair has a red ground, other mentions a grey one. An arc
    between words of different lines goes on at the edge of the next line, with its type on each.

    Time O(tokens + lines × dependencies²): arcs are stacked so that none with a common stretch has the same height.
    """
    if width < 1:
        raise InvalidInputError(f"Expected a width of at least 1 pixel; got {width}.")
    sentence = candidate.sentence
    widths = [LETTER * max(len(token.text), len(token.pos), 1) for token in sentence.tokens]
    lines = _wrap(widths, width - 2 * MARGIN)
    right = max(sum(widths[place] + GAP for place in line) for line in lines) - GAP + 2 * MARGIN
    parts, height = [], 0
    for line in lines:
        drawn, height = _line(candidate, line, widths, height, right)
        parts += drawn
    title = f"{' and '.join(candidate.names)} in {sentence.id}: {sentence.text}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right} {height}" width="{right}" height="{height}" '
        f'font-family="sans-serif" role="img"><title>{_safe(title)}</title>'
        f'<rect width="{right}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _wrap(widths: Sequence[int], limit: int) -> list[range]:
    """Return the words of each line: as many as fit, and at least one."""
    lines, first, used = [], 0, 0
    for place, width in enumerate(widths):
        if place > first and used + width > limit:
            lines.append(range(first, place))
            first, used = place, 0
        used += width + GAP
    return [*lines, range(first, len(widths))]


def _line(candidate: Candidate, line: range, widths: Sequence[int], top: int, right: int) -> tuple[list[str], int]:
    """Return what one line of words consists of, and where the next one begins."""
    sentence = candidate.sentence
    path, bold = _path(candidate)
    before, after = line.start - 1, line.stop
    lefts, centres, left = {}, {before: 2.0, after: right - 2.0}, MARGIN
    for place in line:
        lefts[place], centres[place] = left, left + widths[place] / 2
        left += widths[place] + GAP
    # The part of a dependency over this line: ends on other lines become the edges.
    over = [
        (number, Dependency(min(max(link.governor, before), after), min(max(link.dependent, before), after), link.type))
        for number, link in enumerate(sentence.dependencies)
        if min(link.governor, link.dependent) < after and max(link.governor, link.dependent) > before
    ]
    heights = _stack([link for _, link in over])
    baseline = top + MARGIN + STEP * (max(heights, default=0) + 1)
    arcs = sorted(zip(over, heights, strict=True), key=lambda arc: arc[0][0] in bold)
    parts = [_arc(link, line, centres, baseline, height, bold=number in bold) for (number, link), height in arcs]
    pair = {place for mention in candidate.mentions for place in mention.tokens}
    mentioned = {place for mention in sentence.mentions for place in mention.tokens}
    for place in line:
        token = sentence.tokens[place]
        ground = PAIR_COLOUR if place in pair else OTHER if place in mentioned else None
        if ground is not None:
            parts.append(
                f'<rect x="{lefts[place] - 6}" y="{baseline + 4}" width="{widths[place] + 12}" height="38" rx="5" '
                f'fill="{ground}"/>'
            )
        colour = PATH_COLOUR if place in path else INK
        weight = ' font-weight="bold"' if place in path else ""
        parts.append(_text(centres[place], baseline + 20, token.text, 14, colour, weight))
        parts.append(_text(centres[place], baseline + 36, token.pos, 11, FAINT, ""))
    return parts, baseline + 46


def _path(candidate: Candidate) -> tuple[Collection[int], Collection[int]]:
    """Return the words and the dependencies on the shortest paths between the pair."""
    sentence = candidate.sentence
    adjacent = neighbours(len(sentence.tokens), sentence.dependencies)
    first, second = (distances_from(mention.tokens, adjacent) for mention in candidate.mentions)
    return on_shortest_paths(first, second, sentence.dependencies)


def _stack(links: Sequence[Dependency]) -> list[int]:
    """Return the height of each arc, short ones first: one above the highest below it that shares a stretch."""
    spans = [(min(link.governor, link.dependent), max(link.governor, link.dependent)) for link in links]
    heights = [0] * len(links)
    placed: list[int] = []
    for place in sorted(range(len(links)), key=lambda place: spans[place][1] - spans[place][0]):
        low, high = spans[place]
        taken = {heights[other] for other in placed if spans[other][0] < high and low < spans[other][1]}
        taken |= {heights[other] for other in placed if spans[other] == spans[place]}
        heights[place] = max(taken, default=-1) + 1
        placed.append(place)
    return heights


def _arc(link: Dependency, line: range, xs: Mapping[int, float], baseline: int, height: int, *, bold: bool) -> str:
    """Draw the part of a dependency over a line: down to a word of the line, straight to an edge otherwise."""
    colour, width = (PATH_COLOUR, 2.4) if bold else (FAINT, 1.2)
    # Arcs begin and end beside the middle of a word, so that those of one word do not run into each other.
    side = 4 if link.dependent >= link.governor else -4
    start = xs[link.governor] + (side if link.governor in line else 0)
    end = xs[link.dependent] - (side if link.dependent in line else 0)
    top = baseline - STEP * (height + 1) + 8
    bend = min(10.0, abs(end - start) / 2) * (1 if end >= start else -1)
    drawn, arrow = f"M{start:.1f},{top}", ""
    if link.governor in line:
        drawn = f"M{start:.1f},{baseline} L{start:.1f},{top + 8} Q{start:.1f},{top} {start + bend:.1f},{top}"
    if link.dependent in line:
        drawn += f" L{end - bend:.1f},{top} Q{end:.1f},{top} {end:.1f},{top + 8} L{end:.1f},{baseline - 3}"
        tip = f"M{end - 3.5:.1f},{baseline - 6} L{end + 3.5:.1f},{baseline - 6} L{end:.1f},{baseline} Z"
        arrow = f'<path d="{tip}" fill="{colour}"/>'
    else:
        drawn += f" L{end:.1f},{top}"
    curve = f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
    weight = ' font-weight="bold"' if bold else ""
    half = 0.4 * LETTER * len(link.type)  # the type is not cut at an edge
    middle = min(max((start + end) / 2, min(xs.values()) + half), max(xs.values()) - half)
    return curve + arrow + _text(middle, top - 3, link.type, 10, PATH_COLOUR if bold else INK, weight)


def _text(x: float, y: float, text: str, size: int, colour: str, weight: str) -> str:
    style = f'font-size="{size}" text-anchor="middle" fill="{colour}"{weight}'
    return f'<text x="{x:.1f}" y="{y}" {style}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Escape a text; control characters, most of which XML cannot hold, are shown as Python writes them."""
    return escape(printable(text))
