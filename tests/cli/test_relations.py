from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from kernelrank.cli.app import app
from tests.relations.corpora import CONLLU, MENTIONS, PAIRS, SENTENCE

VERBS = {"bind": True, "follow": False}


def document(number: int, verb: str) -> str:
    """One document of the small sentence with another verb, whose pairs interact if the verb says so."""
    text = (
        SENTENCE.replace("d0.s0", f"d{number}.s0").replace(" bind to ", f" {verb} to ").replace('"bind"', f'"{verb}"')
    )
    longer = len(verb) - len("bind")
    for offset in ("14-17", "19-20", "22-26", "28-31", "32-32"):
        first, last = map(int, offset.split("-"))
        moved = f"{first + (longer if first > 14 else 0)}-{last + longer}"
        text = text.replace(f'charOffset="{offset}"', f'charOffset="{moved}"')
    for name in ("p0", "p1", "p2"):
        text = text.replace(f'"{name}"', f'"d{number}.{name}"')
    if not VERBS[verb]:
        text = text.replace('interaction="True"', 'interaction="False"')
    return f'<document id="d{number}">{text}</document>'


def corpus_text(name: str, numbers: range) -> str:
    documents = [document(n, "bind" if n % 3 else "follow") for n in numbers]
    return f'<corpus source="{name}">{"".join(documents)}</corpus>'


@pytest.fixture
def files(tmp_path):
    paths = {name: tmp_path / f"{name}.xml" for name in ("one", "two")}
    paths["one"].write_text(corpus_text("one", range(12)))
    # Another word in the second, so that no sentence is in both.
    paths["two"].write_text(corpus_text("two", range(8)).replace("here", "soon"))
    for name, text in (("tiny.conllu", CONLLU), ("mentions.tsv", MENTIONS), ("pairs.tsv", PAIRS)):
        (tmp_path / name).write_text(text)
    return paths


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["relations", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_train_extract_and_evaluate_a_model(files, tmp_path):
    model = tmp_path / "model.kr"
    told = json.loads(run("train", files["one"], "-o", model, "--alphas", "0.5,1", "--json").stdout)
    assert (told["pairs"], told["documents"]) == (36, 12)
    assert told["alpha"] in (0.5, 1.0)
    assert told["left_out"]["alpha"] == [0.5, 1.0]

    table = tmp_path / "found.csv"
    run("extract", model, files["two"], "-o", table)
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(rows) == 24
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["rank"] == "1"
    assert rows[0]["text"] == "KinC and KinD bind to Spo0A soon."
    assert {rows[0]["first"], rows[0]["second"]} <= {"KinC", "KinD", "Spo0A"}

    listed = json.loads(run("extract", model, files["two"], "--top", "3", "--format", "json").stdout)
    assert [row["score"] for row in listed] == scores[:3]
    told = json.loads(run("extract", model, files["two"], "--rule", "proportion", "--share", "0.25", "--json").stdout)
    assert told["pairs"] == 24
    assert sum(row["interacts"] for row in told["ranking"]) == told["interactions"] >= 6

    told = json.loads(run("evaluate", files["two"], "--model", model, "--json").stdout)
    measured = told["measured"]["two"]["measured"]
    low, high = measured["intervals"]["auc"]
    assert low <= measured["auc"] <= high
    assert told["measured"]["two"]["all_true"]["recall"] == 1.0


def test_extract_leaves_out_a_pair_without_a_score_and_goes_on(files, tmp_path):
    model = tmp_path / "model.kr"
    run("train", files["one"], "-o", model, "--alphas", "1")
    text = files["two"].read_text()
    round_about = "".join(
        f'<dependency t1="t{a}" t2="t{b}" type="dep{i}"/>' for i in range(4) for a, b in ((4, 6), (6, 4))
    )
    parse = '<parse parser="split_parse" tokenizer="split">'
    files["two"].write_text(text.replace(parse, parse + round_about, 1))
    result = run("extract", model, files["two"], "--json")
    told = json.loads(result.stdout)
    assert told["left_out"] + told["pairs"] == 24
    assert told["left_out"] > 0
    assert all(row["document"] != "d0" or row["pair"] == "d0.p0" for row in told["ranking"])
    (note,) = told["notes"]
    assert note.startswith(f"{told['left_out']} of 24 pairs have no score and are left out; the first: d0.p")


def test_a_model_is_a_file(files):
    answer = run("train", files["one"], "-o", "-", code=1)
    assert "cannot be written to standard output" in answer.stderr
    assert not Path("-").exists()


def test_evaluate_within_and_across_corpora(files, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    arguments = ("evaluate", files["one"], files["two"], "--cv", "4", "--alphas", "1")
    told = json.loads(run(*arguments, "--json").stdout)
    assert set(told["cross_validation"]) == {"one", "two"}
    assert told["cross_validation"]["one"]["positive"] == 16
    assert len(told["cross_validation"]["one"]["thresholds"]) == 4
    assert [(row["train"], row["test"]) for row in told["cross_corpus"]] == [("one", "two"), ("two", "one")]
    for row in told["cross_corpus"]:
        assert row["best"]["f"] >= max(
            row[rule]["f"] for rule in ("calibrated", "resampled", "training", "zero", "proportion")
        )
    for_people = run(*arguments).stdout
    assert "trained on" in for_people
    assert "all pairs interact" in for_people

    chosen = ("evaluate", files["one"], "--cv", "4", "--alphas", "1", "--features", "chosen")
    taken = json.loads(run(*chosen, "--json").stdout)["cross_validation"]["one"]["features"]
    assert len(taken) == 4
    assert f"one: {max(taken, key=taken.count)} in {max(map(taken.count, taken))} folds" in run(*chosen).stdout

    folds = tmp_path / "folds.txt"
    folds.write_text("# a comment\n" + "".join(f"{n % 3}\td{n}\n" for n in range(12)))
    told = json.loads(run("evaluate", files["one"], "--cv", folds, "--alphas", "1", "--json").stdout)
    assert len(told["cross_validation"]["one"]["alphas"]) == 3


def test_the_graphs_are_made_as_the_options_say(files, tmp_path):
    from kernelrank.persistence import load

    model = tmp_path / "model.kr"
    run("train", files["one"], "-o", model, "--alphas", "1", "--lowercase", "--order-weight", "0.5", "--combine", "sum")
    loaded = load(model)
    assert loaded.scheme == {"order_weight": 0.5, "lowercase": True}
    assert (loaded.combine, loaded.learner, loaded.features) == ("sum", "rls", "parts")
    run("train", files["one"], "-o", model, "--alphas", "1", "--features", "article")
    assert load(model).features == "article"
    told = run("train", files["one"], "-o", model, "--alphas", "1", "--features", "chosen").stdout
    assert "Features, by leave-document-out" in told
    assert load(model).features_ in told
    answer = run("train", files["one"], "-o", model, "--alphas", "1", "--features", "some", code=1)
    assert "features must be one of parts, article, chosen" in answer.stderr
    answer = run("train", files["one"], "-o", model, "--alphas", "1", "--labels", "text,stem", code=1)
    assert "labels must be some of text, pos, lemma" in answer.stderr
    assert load(model).features == "chosen"
    run("train", files["one"], "-o", model, "--alphas", "1", "--labels", "pos,lemma")
    assert load(model).scheme == {"labels": ["pos", "lemma"]}
    found = json.loads(run("extract", model, files["two"], "--json").stdout)["pairs"]
    assert found == 24


def test_conllu_is_read_with_its_tables(files, tmp_path):
    tables = ("--mentions", tmp_path / "mentions.tsv")
    picture = tmp_path / "pair.svg"
    told = json.loads(run("show", tmp_path / "tiny.conllu", *tables, "--pair", "1", "-o", picture, "--json").stdout)
    assert told["names"] == ["KinC", "Spo0A"]
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    failed = run("show", tmp_path / "tiny.conllu", code=1)
    assert "1 CoNLL-U files and 0 --mentions" in failed.stderr


def test_show_by_id_number_or_not_at_all(files):
    assert run("show", files["one"]).stdout == run("show", files["one"], "--pair", "0").stdout
    assert run("show", files["one"], "--pair", "d0.p0").stdout.startswith("<svg")
    assert (
        "there is no pair 'x': give an id such as 'd0.p0', or a number from 0 to 35"
        in run("show", files["one"], "--pair", "x", code=1).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "lost.xml"), "lost.xml: there is no such file"),
        (("train", "{one}", "--alphas", "1,x"), "--alphas: expected numbers"),
        (("train", "{one}", "--parse", "mine"), "no sentence has the parse 'mine'"),
        (("train", "{one}", "-o", "{one}"), "is also an input file"),
        (("extract", "{one}", "{two}"), "one.xml"),
        (("evaluate", "{one}", "--cv", "{two}"), "a line must be the number of a fold, a tab and a document"),
        (("show", "{one}", "--json"), "--json needs --output"),
    ],
)
def test_what_goes_wrong_is_told_in_a_line(files, arguments, message):
    failed = run(*(argument.format(**files) for argument in arguments), code=1)
    assert message in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


def test_what_was_left_out_is_noted(files):
    broken = files["one"]
    broken.write_text(broken.read_text().replace('parser="split_parse"', 'parser="lost"', 1))
    told = json.loads(run("train", broken, "-o", broken.with_suffix(".kr"), "--alphas", "1", "--json").stdout)
    assert told["pairs"] == 33
    assert any("3 pairs in sentences without the parse left out" in note for note in told["notes"])


def test_damaged_xml_writes_nothing(files, tmp_path):
    files["one"].write_text(files["one"].read_text()[:-30])
    failed = run("train", files["one"], "-o", tmp_path / "model.kr", code=1)
    assert "the XML is damaged" in failed.stderr
    assert not (tmp_path / "model.kr").exists()


def test_a_model_of_another_kind_is_refused(files, tmp_path):
    from kernelrank.estimators import RLS
    from kernelrank.persistence import save

    save(RLS().fit([[1.0], [2.0]], [1.0, 2.0]), tmp_path / "other.kr")
    failed = run("extract", tmp_path / "other.kr", files["one"], code=1)
    assert "holds a RLS, not a model of relations train" in failed.stderr
