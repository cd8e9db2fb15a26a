"""Drawing a candidate: its words in lines, its parse as arcs above them, the path between the pair in bold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from xml.sax.saxutils import escape

from kernelrank.base.text import printable
from kernelrank.errors import InvalidInputError
from kernelrank.relations.candidate import Candidate
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.shortest_paths import distances_from, neighbours, on_shortest_paths

__all__ = ["draw_candidate"]

# Sizes in pixels. The width of a letter is a guess that holds for common fonts without measuring any.
WIDTH = 1000
LETTER = 8
GAP = 22
MARGIN = 20
STEP = 26
BELOW = 46

INK, FAINT, PATH, PAIR, OTHER = "#222222", "#9a9a9a", "#c0392b", "#fbd9d3", "#e8e8e8"


def draw_candidate(candidate: Candidate, *, width: int = WIDTH) -> str:
    """Draw a sentence with its parse and the path between the two names of a candidate, as SVG.

    Words with their parts of speech stand in lines, dependencies are arcs above them with arrows at the dependents.
    The shortest paths between the pair are red and bold. The pair has a red ground, other mentions a grey one. An arc
    between words of different lines goes on at the edge of the next line, with its type on each.

    Parameters
    ----------
    candidate : Candidate
    width : int, default=1000
        Where lines are broken, in pixels. Only a word that is longer makes the drawing wider.

    Returns
    -------
    str
        A self-contained SVG: no scripts, no external fonts or pictures.

    Notes
    -----
    Time O(tokens + lines × dependencies²): arcs are stacked so that none with a common stretch has the same height.

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> draw_candidate(make_corpus(1, random_state=0).candidates[0])[:30]
    '<svg xmlns="http://www.w3.org/'
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
        ground = PAIR if place in pair else OTHER if place in mentioned else None
        if ground is not None:
            parts.append(
                f'<rect x="{lefts[place] - 6}" y="{baseline + 4}" width="{widths[place] + 12}" height="38" rx="5" '
                f'fill="{ground}"/>'
            )
        colour = PATH if place in path else INK
        weight = ' font-weight="bold"' if place in path else ""
        parts.append(_text(centres[place], baseline + 20, token.text, 14, colour, weight))
        parts.append(_text(centres[place], baseline + 36, token.pos, 11, FAINT, ""))
    return parts, baseline + BELOW


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
    colour, width = (PATH, 2.4) if bold else (FAINT, 1.2)
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
    return curve + arrow + _text(middle, top - 3, link.type, 10, PATH if bold else INK, weight)


def _text(x: float, y: float, text: str, size: int, colour: str, weight: str) -> str:
    style = f'font-size="{size}" text-anchor="middle" fill="{colour}"{weight}'
    return f'<text x="{x:.1f}" y="{y}" {style}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Escape a text; control characters, most of which XML cannot hold, are shown as Python writes them."""
    return escape(printable(text))
