"""Pages in a real browser: what it asks for, what it complains of, and whether everything can be read."""

from __future__ import annotations

import re

import pytest

from tests.report.browser import PROGRAM, Browser
from tests.report.html_page import contrast
from tests.report.pages import NAMES, page

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

LEAST_CONTRAST = 4.5

# Each visible piece of text with its colour, that of the ground below it, and where it stands.
TEXTS = """
(() => {
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)' && colour !== 'transparent') return colour;
    }
    return 'none';
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest('.hidden') || !element.checkVisibility()) continue;
    const svg = element.closest('svg'), style = getComputedStyle(element), box = element.getBoundingClientRect();
    const frame = svg ? svg.getBoundingClientRect() : null;
    const beyond = svg ? [frame.left - box.left, box.right - frame.right, frame.top - box.top,
      box.bottom - frame.bottom] : [0];
    found.push({text, colour: svg ? style.fill : style.color, ground: ground(element), size: parseFloat(style.fontSize),
      cut: Math.max(...beyond),
      scale: svg ? frame.width / svg.viewBox.baseVal.width : 1});
  }
  return found;
})()
"""

# Pairs of texts in a picture that overlap.
OVERLAPS = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent.trim(), t.getBoundingClientRect()]);
  const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([_, b]) =>
    across(a, b) > 1 && down(a, b) > 3
  ).map(([other]) => [one, other]));
})
"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for number, name in enumerate(NAMES):
        page(name).save(folder / f"{number}.html")
    return {name: folder / f"{number}.html" for number, name in enumerate(NAMES)}


def as_hexadecimal(colour):
    if colour.startswith("color(srgb"):  # a mixture, with parts from 0 to 1
        assert "/" not in colour, f"what shines through is not known: {colour}"
        return "#" + "".join(f"{round(255 * float(part)):02x}" for part in re.findall(r"[\d.]+", colour)[:3])
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "dark"), [(1000, False), (1000, True), (390, True)], ids=["light", "dark", "phone"])
def test_page(browser, files, name, width, dark):
    browser.show(files[name], width=width, dark=dark)
    assert browser.asked_for() == [files[name].as_uri()]
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "the page is wider than the window"
    assert browser.evaluate("window.hit === undefined && document.scripts.length + document.images.length === 0")
    texts = browser.evaluate(TEXTS)
    assert len(texts) > 50
    assert {as_hexadecimal(text["ground"]) for text in texts} >= {"#12161b" if dark else "#ffffff"}
    for text in texts:
        ratio = contrast(as_hexadecimal(text["colour"]), as_hexadecimal(text["ground"]))
        assert ratio >= LEAST_CONTRAST, text
        assert text["cut"] <= 1, f"cut off: {text}"
        assert text["size"] * text["scale"] >= 8.5, f"too small: {text}"
    assert browser.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_table_is_wider_than_a_phone(browser, files, name):
    browser.show(files[name], width=400)
    wide = (
        "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)"
    )
    assert browser.evaluate(wide) == []


def test_on_paper(browser, files, tmp_path):
    browser.show(files["large"], dark=True)
    browser.print(tmp_path / "page.pdf")
    text = (tmp_path / "page.pdf").read_bytes()
    assert text.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b", text))
    assert 3 <= pages <= 10
    browser.ask(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    # Paper is white, whatever the screen likes.
    assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(28, 33, 39)"
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_the_checks_see_what_they_look_for(browser, files):
    browser.show(files["large"])
    before = browser.evaluate(TEXTS)
    inside = [text for text in before if text["scale"] != 1]
    assert {"alpha", "nDCG@10"} <= {text["text"] for text in inside}
    assert {"query", "nDCG@10"} <= {text["text"] for text in before if text["scale"] == 1}
    browser.evaluate("document.documentElement.style.setProperty('--ink', '#dddddd')")
    browser.evaluate("document.querySelector('svg').style.overflow = 'visible'")
    browser.evaluate("document.querySelector('svg text').setAttribute('transform', 'translate(-300 0)')")
    after = browser.evaluate(TEXTS)
    ratios = [contrast(as_hexadecimal(text["colour"]), as_hexadecimal(text["ground"])) for text in after]
    assert sum(ratio < LEAST_CONTRAST for ratio in ratios) > 50
    assert max(text["cut"] for text in after) > 100
    heap = "t.removeAttribute('transform'), t.setAttribute('x', 99), t.setAttribute('y', 99)"
    browser.evaluate(f"document.querySelectorAll('svg text').forEach(t => ({heap}))")
    assert len(browser.evaluate(OVERLAPS)) > 10
