"""An HTML page, read strictly: what its tests ask about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

APART = {"td", "th", "dt", "dd", "li", "p", "div", "span", "text"}
VOID = {"meta", "br", "hr", "img", "link", "input", "source", "col", "base"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parents: tuple[Element, ...]
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def inside(self, tag: str) -> bool:
        return any(parent.tag == tag for parent in self.parents)


class HTMLPage(HTMLParser):
    """All elements of a page in their order; a tag that is not closed, or closed twice, is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.feed(text)
        self.close()
        assert not self.open, f"{self.open[-1].tag} is never closed"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"{tag} has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs}, tuple(self.open))
        self.elements.append(element)
        if tag in APART:
            self.handle_data(" ")
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"{tag} is closed and was not open"
        assert self.open[-1].tag == tag, f"{tag} is closed inside {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element.words.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def ids(self) -> list[str]:
        return [element.attributes["id"] for element in self.elements if "id" in element.attributes]

    def style(self) -> str:
        return "\n".join(element.text for element in self.all("style"))

    def themes(self) -> dict[str, dict[str, str]]:
        """The colours of the light and of the dark theme."""
        blocks = re.findall(r":root\s*\{([^}]*)\}", self.style())
        assert len(blocks) == 2, "one block of variables for each theme"
        light, dark = (dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]{6})", block)) for block in blocks)
        assert set(light) == set(dark)
        return {"light": light, "dark": dark}


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours such as #1c2127, as WCAG 2 defines it."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
