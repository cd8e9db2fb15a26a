"""Every study is listed, says what it misses, and has a page whose figures are those of its recorded result."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from studies.__main__ import main, titles
from studies.book.data_folder import DataFolder, MissingDataError
from studies.book.page import TEMPLATES, f, interval, render, spread
from studies.book.record import Record, plain
from studies.book.sources import OHSUMED, Source
from studies.book.study import Run, Study, load

DOCS = Path(__file__).parents[1] / "docs" / "studies"
RECORDED = sorted(path.stem for path in (DOCS / "results").glob("*.json"))
BESIDE = re.compile(  # what a template may say in figures: places in papers, confidence, code, keys, addresses
    r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}|```.*?```|`[^`]*`|\[[A-Z][A-Za-z]+\d\d[a-z]?\]|https?://\S+|95 %|\bF1\b"
    r"|\b(?:Tables?|Figures?|[Ss]ections?|costs?|equations?) \(?\d[\d.]*\)?(?:(?:,| to| and) \(?\d[\d.]*\)?)*"
    r"|[A-Za-z-]+-\d+|@\d+|\((?:20|21|22)\)",  # the costs of [PTAJB09]
    re.DOTALL,
)


EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def check_page(name: str, folder: Path = DOCS) -> None:
    """Compare a page with what its recorded result makes."""
    record = Record.read(folder / "results" / f"{name}.json")
    assert record.study == name
    assert (folder / f"{name}.md").read_text(encoding="utf-8") == render(record, load(name))


def test_list(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for name, title in titles().items():
        assert title.endswith((".", "?"))
        assert f"{name}\n    {title}\n" in printed


@pytest.mark.parametrize("name", sorted(titles()))
def test_a_study_has_its_four_nouns(name):
    study = load(name)
    assert isinstance(study, Study)
    assert (TEMPLATES / f"{name}.md.j2").exists()
    for value in study.settings.values():
        assert len(value) == 2
    assert study.chosen(quick=True, given={}).keys() == study.settings.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_a_page_is_made_of_its_recorded_result(name):
    check_page(name)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_run_is_full_and_has_the_published_figures(name):
    record, study = Record.read(DOCS / "results" / f"{name}.json"), load(name)
    assert not record.quick
    assert record.settings == plain(study.chosen(quick=False, given={}))
    assert record.published == plain(study.published)
    assert {"python", "kernelrank", "numpy", "scipy", "scikit-learn"} <= record.versions.keys()


def test_every_page_has_a_recorded_result_and_is_in_the_overview():
    assert {path.stem for path in DOCS.glob("*.md")} == set(RECORDED) == set(titles())
    overview = (DOCS.parent / "book_of_studies.md").read_text(encoding="utf-8")
    assert set(re.findall(r"studies/(\w+)\.md", overview)) == set(titles())


@pytest.mark.parametrize("name", RECORDED)
def test_a_figure_that_is_edited_by_hand_is_found(name, tmp_path):
    shutil.copytree(DOCS / "results", tmp_path / "results")
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    figures = list(re.finditer(r"\d", text))
    place = figures[len(figures) // 2].start()
    edited = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    (tmp_path / f"{name}.md").write_text(edited, encoding="utf-8")
    with pytest.raises(AssertionError):
        check_page(name, tmp_path)


@pytest.mark.parametrize("name", RECORDED)
def test_a_result_that_is_edited_by_hand_is_found(name, tmp_path):
    text = (DOCS / "results" / f"{name}.json").read_text(encoding="utf-8")
    figures = list(re.finditer(r"(?<=: )\d+\.\d+", text))
    place = figures[len(figures) // 2]
    (tmp_path / "results").mkdir()
    edited = text[: place.start()] + str(float(place.group()) + 0.01) + text[place.end() :]
    (tmp_path / "results" / f"{name}.json").write_text(edited, encoding="utf-8")
    with pytest.raises(ValueError, match="changed by hand"):
        check_page(name, tmp_path)


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.j2")), ids=lambda path: path.stem)
def test_no_template_has_a_figure_of_its_own(path):
    text = path.read_text(encoding="utf-8")
    words = BESIDE.sub(" ", text)
    typed = [word for word in re.findall(r"(?<![\w.])[.]?\d[\d.,]*", words) if len(word.strip(".,")) > 1]
    assert typed == []
    for expression in EXPRESSION.findall(text):  # a decimal may only be what another is compared with
        assert re.findall(r"(?<![<>=] )(?<![%\d.])\d*\.\d+", expression) == []


@pytest.mark.parametrize("path", sorted((DOCS.parent / "guide").glob("*.md")), ids=lambda path: path.stem)
def test_rows_that_quote_a_study_have_its_figures(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        linked = re.search(r"studies/(\w+)\.md", line)
        if line.startswith("|") and linked:
            page = (DOCS / f"{linked.group(1)}.md").read_text(encoding="utf-8")
            own = [cell for cell in line.split("|") if "¹" not in cell]  # measured elsewhere, as the footnote says
            quoted = re.findall(r"\d+\.\d{2,}|\d+,\d{3}", " ".join(own))
            assert [figure for figure in quoted if figure not in page] == []


def test_missing_data_are_named_with_where_to_get_them(tmp_path, capsys):
    with pytest.raises(MissingDataError, match="no folder was given"):
        DataFolder(None)[OHSUMED]
    assert main(["run", "ohsumed", "--data", str(tmp_path), "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "Could not be run" in printed
    assert OHSUMED.where in printed
    assert not (tmp_path / "out").exists()


def test_packed_data_are_unpacked(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.txt").write_text("1")
    with tarfile.open(tmp_path / "set.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "inner", "top/inner")
    data = DataFolder(tmp_path)
    folder = data[Source("a set", ("nowhere", "set.tar.xz"), "nobody", "inner")]
    assert (folder / "a.txt").read_text() == "1"
    data.close()
    assert not folder.exists()


def test_unknown_names_settings_and_words(capsys):
    assert main(["run", "alchemy"]) == 2
    assert "Expected names out of" in capsys.readouterr().err
    assert main(["run", "ohsumed", "--set", "folds"]) == 2
    with pytest.raises(SystemExit, match="Expected a setting"):
        Study(lambda run: {}, settings={"draws": (10, 2)}).chosen(quick=True, given={"drawz": "3"})
    study = Study(lambda run: {}, settings={"draws": (10, 2), "sizes": ((1, 2), (1,)), "names": (("a",), ("b",))})
    given = {"draws": "5", "sizes": "3,4", "names": "x,y"}
    assert study.chosen(quick=False, given=given) == {"draws": 5, "sizes": (3, 4), "names": ("x", "y")}


def test_what_is_recorded_is_plain(tmp_path):
    tables = {"a": np.float64(1 / 3), "b": (np.int64(2), np.nan), 3: np.array([True])}
    record = Record.of("x", tables, settings={}, seed=1, quick=True, skipped=[], published={})
    assert record.tables == {"a": 0.333333, "b": [2, None], "3": [True]}
    record.write(tmp_path / "results" / "x.json")
    assert Record.read(tmp_path / "results" / "x.json") == record
    assert plain("word") == "word"


def test_how_figures_are_written():
    assert [f(1234.5678, 1), f(-0.25, 2), f(0.1, 1, True), f(None), f(-0.0001), f(-0.0001, 3, True)] == [
        "1,234.6", "−0.25", "+0.1", "–", "0.000", "+0.000"
    ]  # fmt: skip
    assert interval({"mean": 0.5, "low": 0.25, "high": 0.75}, 2) == "0.50 [0.25, 0.75]"
    assert interval({"mean": 0.5, "low": None}, 1) == "0.5"
    assert spread({"mean": 0.5, "sd": 0.25}, 2) == "0.50 ± 0.25"
    assert interval(None) == spread(None) == "–"


def test_a_package_that_is_not_installed_is_noted():
    run = Run(DataFolder(None), {})
    assert run.package("jinja2") is not None
    assert run.package("jinja2") is not None
    assert run.package("no_such_package") is None
    assert run.package("no_such_package") is None
    assert len(run.skipped) == len(run.packages) == 1
    assert "pip install no_such_package" in run.skipped[0]
    record = Record.of("x", {}, settings={}, seed=1, quick=True, skipped=[], published={}, packages=tuple(run.packages))
    assert record.versions["jinja2"]


def test_irrelevant_pairs_reverse_the_published_example():
    from studies.irrelevant_pairs_harm import example

    found = example()
    assert found["relevant pairs"]["weight"] < 0 < found["all pairs"]["weight"]
    assert found["relevant pairs"]["disagreement"] == 0.0
    assert found["all pairs"]["disagreement"] == 1.0


def test_unscored_data_with_folds_of_ties():
    from studies.unscored_data_helps import LEARNERS, Items, generate, repeat

    items = generate(24, independent=True)
    tied = Items(items.X, np.where(items.qid % 6 == 0, items.y, 1.0), items.qid)
    found = repeat(tied, (5, 4, 12), by_columns=True, repeats=1, seed=0)
    assert set(found["errors"]) == set(LEARNERS)
    assert all(np.isfinite(cell["mean"]) for cell in found["errors"].values())
