"""Every page: nothing from elsewhere, nothing that runs, and readable by everyone."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from kernelrank.errors import MissingExtraError
from kernelrank.report.writing import VARIABLES, Page, _template_reader, drawing, render
from tests.report.html_page import HTMLPage, contrast
from tests.report.pages import ATTACK, NAMES, hostile_run, large_run, page

LEAST_CONTRAST = 4.5
ADDRESSES = ("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background", "formaction", "ping")


@pytest.fixture(params=NAMES)
def read(request):
    return HTMLPage(page(request.param).html)


def test_nothing_is_asked_of_a_network(read):
    for element in read.elements:
        for name, value in element.attributes.items():
            if name in ADDRESSES:
                assert value.startswith("#"), f"{element.tag} asks for {value}"
            assert not name.startswith("xmlns")
        for address in re.findall(r"url\(([^)]*)\)", element.attributes.get("style", "")):
            assert address.strip("'\"").startswith("#")
    assert not read.all("link", "img", "iframe", "object", "embed", "script", "base", "video", "audio", "image")
    assert "@import" not in read.style()
    assert "url(" not in read.style()
    assert "://" not in read.source
    policy = [e.attributes["content"] for e in read.all("meta") if "http-equiv" in e.attributes]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_nothing_runs(read):
    for element in read.elements:
        assert not [name for name in element.attributes if name.startswith("on")]


def test_references_have_a_target(read):
    ids = read.ids()
    assert len(ids) == len(set(ids))
    for element in read.elements:
        text = " ".join(element.attributes.values())
        for target in re.findall(r"url\(#([^)]*)\)", text):
            assert target in ids
        for name in ("href", "aria-labelledby"):
            if name in element.attributes:
                assert element.attributes[name].removeprefix("#") in ids


def test_language_title_and_headings(read):
    assert [element.attributes["lang"] for element in read.all("html")] == ["en"]
    (title,) = read.all("title")
    (heading,) = read.all("h1")
    assert title.text == heading.text != ""
    levels = [int(element.tag[1]) for element in read.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert all(element.text for element in read.all("h2", "h3"))
    assert len(read.all("main")) == 1


def test_every_picture_is_told_in_words(read):
    pictures = read.all("svg")
    assert pictures or 'class="interval"' in read.source  # intervals are drawn by the style sheet, beside their numbers
    for svg in pictures:
        plot = svg.parents[-1]
        assert plot.attributes["role"] == "img"
        assert len(plot.attributes["aria-label"]) > 40
        assert re.search(r"\d", plot.attributes["aria-label"])
        assert svg.inside("figure")
    assert len(read.all("figure")) == len(pictures) == len(read.all("figcaption"))


def test_every_table_has_headers(read):
    assert read.all("table")
    for header in read.all("th"):
        assert header.attributes["scope"] in ("col", "row")
        assert header.text
    for row in read.all("tr"):
        assert any(e.tag == "th" and e.parents[-1] is row for e in read.elements)
    for region in (e for e in read.elements if e.attributes.get("role") == "region"):
        assert region.attributes["tabindex"] == "0", "what scrolls can be reached by the keyboard"
        assert region.attributes["aria-label"]


def test_colours_can_be_told_from_their_ground(read):
    for theme, colour in read.themes().items():
        for front, ground in [
            ("--ink", "--paper"),
            ("--soft", "--paper"),
            ("--first", "--paper"),
            ("--second", "--paper"),
            ("--ink", "--raised"),
            ("--soft", "--raised"),
            ("--warning-ink", "--warning"),
        ]:
            assert contrast(colour[front], colour[ground]) >= LEAST_CONTRAST, (theme, front, ground)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_pictures_take_every_colour_from_the_page(read):
    known = set(VARIABLES.values())
    for element in read.elements:
        style = element.attributes.get("style", "")
        if element.inside("svg"):
            assert "#" not in re.sub(r"url\(#[^)]*\)", "", style), style
            assert set(re.findall(r"var\([^)]*\)", style)) <= known
            assert not {"fill", "stroke"} & set(element.attributes)


def test_text_of_pictures_is_text():
    svg = HTMLPage(page("large").html)
    words = {element.text for element in svg.all("text")}
    assert {"alpha", "hold-out pairwise accuracy", "nDCG@10", "0.1", "1,000"} <= words


@pytest.mark.parametrize("name", ["hostile", "auc"])
def test_what_comes_from_the_user_is_shown_as_it_is(name):
    read = HTMLPage(page(name).html)
    assert not read.all("script", "img")
    shown = " ".join(ATTACK.split())
    assert "".join(read.all("body")[0].words).count(shown) >= (20 if name == "hostile" else 3)
    if name == "hostile":
        (title,) = read.all("title")
        assert shown in title.text
        assert shown in read.all("pre")[0].text


def test_small_enough():
    _, X, _, _ = large_run()
    assert 1900 < len(X) < 2200
    assert len(page("large").html.encode()) < 500_000


def test_the_same_input_makes_the_same_page():
    # Made anew: the page of the other tests is kept.
    assert hostile_run().html == page("hostile").html
    code = "from tests.report.pages import page; print(page('hostile').html, end='')"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, check=True)
    assert run.stdout.decode() == page("hostile").html


def test_the_settings_of_matplotlib_neither_matter_nor_change():
    import matplotlib.pyplot as plt

    plt.close("all")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path", "axes.grid": True}):
        before = dict(mpl.rcParams)
        assert hostile_run().html == page("hostile").html
        assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


def test_identifiers_of_two_pictures_differ():
    found = []
    for name in ("one", "two"):
        with drawing(name) as canvas:
            canvas.ax.plot([1, 2], [3, 4], marker="o")
            found.append(canvas.picture("alt", "caption").svg)
    one, two = (set(re.findall(r'\sid="([^"]+)"', svg)) for svg in found)
    assert one
    assert not one & two
    assert found[0].replace("one-", "two-") == found[1]


def test_saved_whole_or_not_at_all(tmp_path):
    path = tmp_path / "page.html"
    Page("<p>Größe</p>").save(path)
    assert path.read_text(encoding="utf-8") == "<p>Größe</p>"
    with pytest.raises(UnicodeEncodeError):
        Page("\ud800").save(path)
    assert path.read_text(encoding="utf-8") == "<p>Größe</p>"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert repr(Page("abc")) == "<Page of 3 bytes>"


def test_a_value_that_a_template_lacks_is_an_error():
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        render("page.html.j2", {})


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_what_is_missing_is_named(package, monkeypatch):
    _template_reader.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingExtraError, match=rf"{package} is not installed; run: pip install 'kernelrank\[report\]'"
    ):
        hostile_run()
