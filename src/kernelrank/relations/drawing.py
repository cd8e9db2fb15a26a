"""Drawing a candidate: its words in a line, its parse as arcs above them, the path between the pair in bold."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from kernelrank.relations.candidate import Candidate
from kernelrank.relations.dependency import Dependency
from kernelrank.relations.shortest_paths import distances_from, neighbours, on_shortest_paths

__all__ = ["draw_candidate"]

# Sizes in pixels. The width of a letter is a guess that holds for common fonts without measuring any.
LETTER = 8
GAP = 22
MARGIN = 20
STEP = 26
BELOW = 46

INK, FAINT, PATH, PAIR, OTHER = "#222222", "#9a9a9a", "#c0392b", "#fbd9d3", "#e8e8e8"


def draw_candidate(candidate: Candidate) -> str:
    """Draw a sentence as its candidate sees it.

    Words with their parts of speech stand in a line, dependencies are arcs above them with arrows at the dependents.
    The shortest paths between the pair are red and bold. The pair has a red ground, other mentions a grey one.

    Parameters
    ----------
    candidate : Candidate

    Returns
    -------
    str
        SVG that stands alone: no scripts, no fonts or pictures from elsewhere.

    Notes
    -----
    Time O(tokens + dependencies²): arcs are stacked so that none with a common stretch has the same height.

    Examples
    --------
    >>> from kernelrank.relations import make_corpus
    >>> draw_candidate(make_corpus(1, random_state=0).candidates[0])[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    sentence = candidate.sentence
    adjacent = neighbours(len(sentence.tokens), sentence.dependencies)
    first, second = (distances_from(mention.tokens, adjacent) for mention in candidate.mentions)
    path, links = on_shortest_paths(first, second, sentence.dependencies)
    widths = [LETTER * max(len(token.text), len(token.pos), 1) for token in sentence.tokens]
    lefts = [MARGIN]
    for width in widths:
        lefts.append(lefts[-1] + width + GAP)
    centres = [left + width / 2 for left, width in zip(lefts, widths, strict=False)]
    heights = _stack(sentence.dependencies)
    baseline = MARGIN + STEP * (max(heights, default=0) + 1)
    parts = [
        _arc(link, centres, baseline, heights[place], bold=place in links)
        for place, link in sorted(enumerate(sentence.dependencies), key=lambda pair: pair[0] in links)
    ]
    pair = {place for mention in candidate.mentions for place in mention.tokens}
    mentioned = {place for mention in sentence.mentions for place in mention.tokens}
    for place, token in enumerate(sentence.tokens):
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
    title = f"{' and '.join(candidate.names)} in {sentence.id}: {sentence.text}"
    width, height = lefts[-1] - GAP + MARGIN, baseline + BELOW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" role="img"><title>{_safe(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )


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


def _arc(link: Dependency, centres: Sequence[float], baseline: int, height: int, *, bold: bool) -> str:
    colour, width = (PATH, 2.4) if bold else (FAINT, 1.2)
    # Arcs begin and end beside the middle of a word, so that those of one word do not run into each other.
    side = 4 if link.dependent >= link.governor else -4
    start, end = centres[link.governor] + side, centres[link.dependent] - side
    top = baseline - STEP * (height + 1) + 8
    bend = min(10.0, abs(end - start) / 2) * (1 if end >= start else -1)
    line = (
        f'<path d="M{start:.1f},{baseline} L{start:.1f},{top + 8} Q{start:.1f},{top} {start + bend:.1f},{top} '
        f'L{end - bend:.1f},{top} Q{end:.1f},{top} {end:.1f},{top + 8} L{end:.1f},{baseline - 3}" fill="none" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )
    arrow = (
        f'<path d="M{end - 3.5:.1f},{baseline - 6} L{end + 3.5:.1f},{baseline - 6} L{end:.1f},{baseline} Z" '
        f'fill="{colour}"/>'
    )
    weight = ' font-weight="bold"' if bold else ""
    return line + arrow + _text((start + end) / 2, top - 3, link.type, 10, PATH if bold else INK, weight)


def _text(x: float, y: float, text: str, size: int, colour: str, weight: str) -> str:
    style = f'font-size="{size}" text-anchor="middle" fill="{colour}"{weight}'
    return f'<text x="{x:.1f}" y="{y}" {style}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Escape a text, without characters that XML cannot hold."""
    return escape("".join(letter if letter >= " " else " " for letter in text))
