"""The service on loopback: what it answers, what it refuses, and what it survives."""

from __future__ import annotations

import contextlib
import gzip
import html
import http.client
import json
import logging
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelrank as kr
from kernelrank.errors import InvalidInputError
from kernelrank.report import explain

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'kernelrank[serve]'")
pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'kernelrank[serve]'")
pytest.importorskip("orjson", reason="orjson is not installed: pip install 'kernelrank[serve]'")

from kernelrank.serving import ServedModels, ServiceLimits, create_app
from kernelrank.serving.service import Server

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
FRAME = pd.DataFrame(X, columns=["size", "age", "price"])
Y = X @ [1.0, -2.0, 0.5]


@contextlib.contextmanager
def service(path, **options):
    """Run a service in a thread; yield how to ask it."""
    app = create_app(ServedModels(path), **options)
    server = Server.of(app, "127.0.0.1", 0)
    with contextlib.closing(server.listen()) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        address = listening.getsockname()

        def ask(method, target, body=None, kind=JSON):
            with contextlib.closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
                given = json.dumps(body) if isinstance(body, (dict, list)) else body
                connection.request(method, target, given, {"content-type": kind} if body is not None else {})
                answer = connection.getresponse()
                text = answer.read().decode()
                return answer.status, json.loads(text) if answer.headers.get_content_type() == JSON else text

        ask.address = address
        ask.app = app
        try:
            yield ask
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    kr.save(make_pipeline(StandardScaler(), kr.RankRLS()).fit(FRAME, Y), folder / "named.kr")
    kr.save(kr.RankRLS(kernel="rbf").fit(X, Y), folder / "numbered.kr")
    kr.save(kr.RankRLS().fit_pairs(X, [[0, 1], [2, 3], [5, 4], [7, 1]]), folder / "pairs.kr")
    kr.save(kr.RankRLS().fit(X, np.column_stack([Y, -Y])), folder / "outputs.kr")
    return folder


@pytest.fixture(scope="module")
def ask(folder):
    with service(folder, limits=ServiceLimits(200_000, 5.0)) as ask:
        yield ask


def ranked(ask, name, items, **more):
    status, answer = ask("POST", "/rank", {"model": name, "items": items, **more})
    assert status == 200, answer
    return answer


def test_items_are_ranked_as_the_model_ranks_them(ask, folder):
    model = kr.load(folder / "numbered.kr")
    answer = ranked(ask, "numbered", X[:5].tolist(), ids=list("abcde"))
    expected = model.predict(X[:5])
    assert answer["scores"] == expected.tolist()
    order = np.argsort(-expected)
    assert answer["order"] == [list("abcde")[item] for item in order]
    assert [answer["ranks"][item] for item in order] == [1, 2, 3, 4, 5]
    tied = ranked(ask, "numbered", [X[0].tolist(), X[0].tolist(), X[1].tolist()])
    assert sorted(tied["ranks"]) in ([1, 1, 3], [1, 2, 2])


def test_features_are_known_by_their_names(ask, folder):
    expected = kr.load(folder / "named.kr").predict(FRAME[:4]).tolist()
    rows = FRAME[:4][["price", "size", "age"]].to_dict("records")
    assert ranked(ask, "named", rows)["scores"] == pytest.approx(expected, rel=1e-12)
    assert ranked(ask, "named", X[:4].tolist())["scores"] == pytest.approx(expected, rel=1e-12)


def test_arrow_streams_and_files_are_read(ask, folder):
    expected = kr.load(folder / "named.kr").predict(FRAME[:4]).tolist()
    table = pa.Table.from_pandas(FRAME[:4][["age", "price", "size"]])
    for opened in (pa.ipc.new_stream, pa.ipc.new_file):
        sink = pa.BufferOutputStream()
        with opened(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue().to_pybytes()
        status, answer = ask("POST", "/rank?model=named", body, ARROW)
        assert status == 200
        assert answer["scores"] == pytest.approx(expected, rel=1e-12)
    status, answer = ask("POST", "/rank?model=named", body[:40], ARROW)
    assert status == 400
    assert answer["error"].startswith("Expected an Arrow stream")
    status, answer = ask("POST", "/rank?model=named&top=3", body, ARROW)
    assert status == 422


def test_several_outputs_have_ranks_each(ask):
    answer = ranked(ask, "outputs", X[:3].tolist())
    assert np.shape(answer["scores"]) == np.shape(answer["ranks"]) == (3, 2)
    assert (np.sum(answer["ranks"], axis=1) == 4).all()
    assert "order" not in answer


def test_standard_deviations_come_from_the_posterior(ask, folder):
    model = kr.load(folder / "pairs.kr")
    answer = ranked(ask, "pairs", X[:3].tolist(), standard_deviations=True)
    np.testing.assert_allclose(answer["standard_deviations"], np.sqrt(np.diagonal(model.covariance(X[:3]))))
    status, answer = ask("POST", "/rank", {"model": "named", "items": X[:2].tolist(), "standard_deviations": True})
    assert status == 422
    assert "Fit it with fit_pairs" in answer["error"]


def test_two_items_are_compared_and_explained(ask, folder):
    first, second = X[:2].tolist()
    status, answer = ask("POST", "/compare", {"model": "pairs", "first": first, "second": second})
    known = kr.load(folder / "pairs.kr").compare(X[:1], X[1:2])
    assert status == 200
    assert answer["difference"] == pytest.approx(known.difference[0])
    assert answer["probability"] == pytest.approx(known.probability[0])
    assert answer["standard_deviation"] == pytest.approx(known.std[0])
    status, answer = ask("POST", "/compare", {"model": "named", "first": first, "second": second, "top": 2})
    assert status == 200
    assert answer["probability"] is None
    found = explain(kr.load(folder / "named.kr"), FRAME[:2], k=2)
    assert answer["why"]["contributions"] == found.to_dict()["contributions"]
    assert {one["name"] for one in answer["why"]["contributions"]} <= set(FRAME.columns)


def test_a_prepared_table_takes_words_and_nulls(tmp_path, monkeypatch):
    testing = pytest.importorskip("typer.testing")
    from kernelrank.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 2},{20 + k % 7 if k % 5 else ''},{'fm'[k % 3 == 0]}\n" for k in range(20))
    (tmp_path / "cohort.csv").write_text(f"outcome,age,sex\n{rows}")
    (tmp_path / "new.csv").write_text("age,sex\n30,f\n,m\n22,x\n")
    for words in (["fit", "cohort.csv", "--target", "outcome"], ["predict", "model.kr", "new.csv", "-o", "scores.txt"]):
        assert testing.CliRunner().invoke(app, words).exit_code == 0
    items = [{"age": 30, "sex": "f"}, {"age": None, "sex": "m"}, {"age": "22", "sex": "x"}]
    with service(tmp_path / "model.kr") as ask:
        np.testing.assert_allclose(ranked(ask, "model", items)["scores"], np.loadtxt(tmp_path / "scores.txt"))
        assert ask("GET", "/model")[1]["columns"] == ["age", "sex"]
        for wrong, sentence in (
            ([[30, 1, 0]], "Expected objects with the columns 'age', 'sex'"),
            ([{"age": "old", "sex": "f"}], "Expected a number in the column 'age'; item 0 has 'old'."),
            ([{"age": [1], "sex": "f"}], "Expected words, numbers or nulls; the column 'age' has a list."),
        ):
            status, answer = ask("POST", "/rank", {"items": wrong})
            assert status == 422
            assert sentence in answer["error"]


# What is refused ------------------------------------------------------------------------------------------------------

GOOD = json.dumps(X[:2].tolist())
REFUSED = {
    "no JSON": (b"items", 400, "Expected JSON"),
    "nothing": (b"", 400, "Expected JSON"),
    "no UTF-8": (b'{"items": "\xff"}', 400, "Expected JSON"),
    "deep nesting": (b"[" * 90_000, 400, "Expected JSON"),
    "deep nesting inside": (b'{"items": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", 400, "Expected JSON"),
    "NaN": (b'{"model": "named", "items": [[NaN, 1, 2]]}', 400, "Expected JSON with finite numbers"),
    "Infinity": (b'{"model": "named", "items": [[1, -Infinity, 2]]}', 400, "Expected JSON with finite numbers"),
    "a huge number": (b'{"model": "named", "items": [[1e999, 1, 2]]}', 400, "Expected JSON with finite numbers"),
    "a huge integer": (
        b'{"model": "named", "items": [[1' + b"0" * 400 + b", 1, 2]]}",
        400,
        "Expected JSON with finite",
    ),
    "an endless integer": (b'{"model": "named", "items": [[1' + b"0" * 90_000 + b", 1, 2]]}", 400, "Expected JSON"),
    "scores that overflow": (b'{"model": "outputs", "items": [[1e308, -1e308, 1e308]]}', 422, "items whose scores"),
    "too narrow": (b'{"model": "named", "items": [[1, 2]]}', 422, "item 0 of 'items' has 2"),
    "too wide": (b'{"model": "named", "items": [[1, 2, 3], [1, 2, 3, 4]]}', 422, "item 1 of 'items' has 4"),
    "a null": (b'{"model": "named", "items": [[1, null, 3]]}', 422, "item 0 has none for the feature 'age'"),
    "words": (b'{"model": "named", "items": [[1, "2", 3]]}', 422, "Expected numbers; item 0 of 'items'"),
    "truth": (b'{"model": "named", "items": [[1, true, 3]]}', 422, "Expected numbers"),
    "no items": (b'{"model": "named", "items": []}', 422, "at least one item; got an empty list"),
    "a list": (b"[1]", 400, "Expected a JSON object; got a list"),
    "a missing name": (b'{"model": "named", "items": [{"size": 1}]}', 422, "lacks 'age', 'price'"),
    "another name": (
        b'{"model": "named", "items": [{"size": 1, "age": 2, "price": 3, "x": 4}]}',
        422,
        "item 0 of 'items' also has 'x'",
    ),
    "names without names": (b'{"model": "numbered", "items": [{"x": 1}]}', 422, "has no feature names"),
    "mixed items": (
        b'{"model": "named", "items": [[1, 2, 3], {"size": 1}]}',
        422,
        "all lists of numbers, or all objects",
    ),
    "another key": (b'{"model": "named", "rows": []}', 422, "got 'rows' as well"),
    "too few ids": (b'{"model": "named", "items": ' + GOOD.encode() + b', "ids": ["a"]}', 422, "'ids'"),
    "no such model": (b'{"model": "../named", "items": [[1, 2, 3]]}', 404, "There is no model '../named'"),
    "which model": (b'{"items": [[1, 2, 3]]}', 422, "named, numbered, outputs, pairs"),
    "a model that is no name": (b'{"model": {}, "items": [[1, 2, 3]]}', 422, "Expected 'model': a name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_with_a_sentence(case, ask):
    body, status, sentence = REFUSED[case]
    found, answer = ask("POST", "/rank", body)
    assert (found, list(answer)) == (status, ["error"])
    assert sentence in answer["error"]


def test_other_paths_methods_and_types_are_refused(ask):
    assert ask("GET", "/nothing") == (404, {"error": "There is no such path; see / for a list of paths."})
    assert ask("GET", "/rank") == (405, {"error": "The path takes another method; see / for a list of paths."})
    assert ask("POST", "/rank", "<x/>", "text/xml")[0] == 415
    assert ask("POST", "/compare", b"", ARROW)[0] == 415
    assert ask("POST", "/compare", {"model": "named", "first": [1, 2, 3]})[0] == 422
    assert ask("POST", "/compare", {"model": "named", "first": [1, 2, 3], "second": [1, 2, 3], "top": 0})[0] == 422
    assert ask("GET", "/model?model=none")[0] == 404


def test_a_long_body_is_refused_and_a_slow_one_is_given_up(ask):
    status, answer = ask("POST", "/rank", b" " * 1_000_000)
    assert (status, answer) == (413, {"error": "Expected a body of at most 200,000 bytes; got 1,000,000."})
    hasty = service(ask.app.state.service.models.path, limits=ServiceLimits(1_000, 0.2))
    with hasty as running, contextlib.closing(socket.create_connection(running.address, timeout=10)) as slow:
        slow.sendall(b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        assert b"408" in slow.recv(4096).split(b"\r\n")[0]


# What it says of itself -----------------------------------------------------------------------------------------------


def test_it_describes_itself_and_loads_nothing(ask):
    status, described = ask("GET", "/openapi.json")
    assert status == 200
    assert set(described["paths"]) == {"/rank", "/compare", "/model", "/health", "/metrics"}
    status, page = ask("GET", "/")
    assert status == 200
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    for path in described["paths"]:
        assert path in page
    cards = ask("GET", "/model")[1]["models"]
    assert [card["name"] for card in cards] == ["named", "numbered", "outputs", "pairs"]
    card = ask("GET", "/model?model=named")[1]
    assert (card["class"], card["features"], card["scaled"]) == ("RankRLS", ["size", "age", "price"], True)
    assert ask("GET", "/health") == (200, {"status": "ok", "models": ["named", "numbered", "outputs", "pairs"]})


def examples(page):
    """The requests that the page shows."""
    shown = re.findall(r"<textarea>(.*?)</textarea>", page)
    return dict(zip(("/rank", "/compare"), (json.loads(html.unescape(text)) for text in shown), strict=True))


def test_the_examples_of_the_page_fit_the_models(ask, folder, tmp_path):
    shown = examples(ask("GET", "/")[1])
    assert shown["/rank"]["model"] == "named"
    assert shown["/compare"]["model"] == "pairs"
    for path, request in shown.items():
        assert ask("POST", path, request)[0] == 200
    table = tmp_path / "table.csv"
    table.write_text("y,age,stage\n1,30,I\n0,-9,II\n1,50,I\n0,46,II\n")
    items = kr.data.read_table(table, target="y", missing_values=["-9"])
    model = kr.RankRLS().fit(items.X, items.y)
    model.provenance_ = {"preparation": items.preparation.as_data(), "feature_names": list(items.feature_names)}
    kr.save(model, tmp_path / "table.kr")
    with service(tmp_path / "table.kr") as one:
        request = examples(one("GET", "/")[1])["/rank"]
        assert request["items"] == [{"age": 46.0, "stage": "I"}, {"age": 47.0, "stage": "II"}]
        assert one("POST", "/rank", request)[0] == 200
        # A code is a missing cell here too.
        for cells in ([-9, 46.0], ["-9", None]):
            scores = one("POST", "/rank", {"items": [{"age": cell, "stage": "I"} for cell in cells]})[1]["scores"]
            assert scores[0] == scores[1]


def test_it_counts_and_logs(ask, caplog):
    with caplog.at_level(logging.INFO, logger="kernelrank.serving"):
        ranked(ask, "named", X[:2].tolist())
        text = ask("GET", "/metrics")[1]
    assert caplog.records[0].facts["path"] == "/rank"
    assert caplog.records[0].facts["status"] == 200
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(found['kernelrank_requests_total{path="/rank",status="200"}']) >= 1
    assert float(found["kernelrank_models"]) == 4
    counted = [float(value) for name, value in found.items() if name.startswith("kernelrank_request_seconds_bucket")]
    assert counted == sorted(counted)
    assert counted[-1] == float(found["kernelrank_request_seconds_count"])


# Files that change ----------------------------------------------------------------------------------------------------


def test_a_replaced_file_is_read_and_a_damaged_one_is_not(tmp_path):
    path = tmp_path / "model.kr"
    kr.save(kr.RankRLS().fit(X, Y), path)
    models = ServedModels(path)
    first = models.get(None)
    assert models.refresh() == []
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert models.refresh() == []
    assert models.get(None) is first
    assert models.failures == 1
    assert models.refresh() == []
    assert models.failures == 1
    path.unlink()
    assert models.refresh() == models.refresh() == []
    assert models.get(None) is first
    kr.save(kr.RankRLS().fit(X, -Y), path)
    assert models.refresh() == ["model"]
    np.testing.assert_allclose(models.get("model").model.coef_, -first.model.coef_)


def test_models_of_a_folder_come_and_go(tmp_path):
    kr.save(kr.RankRLS().fit(X, Y), tmp_path / "a.kr")
    (tmp_path / "damaged.kr").write_bytes(b"nothing")
    (tmp_path / "notes.txt").write_text("no model")
    models = ServedModels(tmp_path)
    assert models.names() == ["a"]
    kr.save(kr.RankRLS().fit(X, Y), tmp_path / "b.kr")
    assert models.refresh() == ["b"]
    (tmp_path / "a.kr").unlink()
    assert models.refresh() == []  # it may be on its way back
    assert models.names() == ["a", "b"]
    assert models.refresh() == ["a"]
    assert models.names() == ["b"]


def test_a_service_needs_a_model(tmp_path):
    with pytest.raises(InvalidInputError, match="Expected at least one model file that can be read; found none"):
        ServedModels(tmp_path)
    (tmp_path / "model.kr").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"model.kr: "):
        ServedModels(tmp_path / "model.kr")
    kr.save(kr.NystromMap(2).fit(X), tmp_path / "model.kr")
    with pytest.raises(InvalidInputError, match="got a NystromMap"):
        ServedModels(tmp_path / "model.kr")


def test_a_running_service_reads_new_files(tmp_path):
    path = tmp_path / "model.kr"
    kr.save(kr.RankRLS().fit(X, Y), path)
    with service(path, reload_seconds=0.02) as ask:
        before = ranked(ask, "model", X[:3].tolist())["scores"]
        kr.save(kr.RankRLS().fit(X, -Y), path)
        for _ in range(200):
            after = ranked(ask, "model", X[:3].tolist())["scores"]
            if after != before:
                break
            time.sleep(0.02)
        np.testing.assert_allclose(after, np.negative(before))


# Bodies that are larger than they look --------------------------------------------------------------------------------

SMALL = ServiceLimits(200_000, 5.0, 1_000)


def arrow_body(table, *, compression="zstd", opened=pa.ipc.new_stream, batches=None, **options):
    sink = pa.BufferOutputStream()
    with opened(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression, **options)) as writer:
        for batch in batches or [table]:
            writer.write(batch)
    return sink.getvalue().to_pybytes()


def names_of(column):
    return pa.table(dict.fromkeys(FRAME.columns, column))


def growing_dictionaries():
    words = [f"{number:0900}" for number in range(100)]
    batches = [
        pa.record_batch({"size": pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(words[: 50 + k]))})
        for k in range(50)
    ]
    return arrow_body(batches[0], batches=batches, emit_dictionary_deltas=True)


def shared_dictionary():
    column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["w" * 50_000]))
    batch = pa.record_batch({"size": column})
    return arrow_body(batch, batches=[batch] * 100)


def repeated_blocks():
    """An Arrow file whose footer lists one block again and again: only the stream inside counts."""
    return arrow_body(names_of(np.zeros(500_000)), opened=pa.ipc.new_file)


WORD = pa.DictionaryArray.from_arrays(pa.array(np.zeros(900, np.int8)), pa.array(["w" * 5_000]))
LONG = pa.array(["w" * 5_000] * 900)
VIEWS = pa.Array.from_buffers(
    pa.string_view(),
    900,
    [None, pa.py_buffer(struct.pack("<i4sii", 5_000, b"wwww", 0, 0) * 900), pa.py_buffer(b"w" * 5_000)],
)
BOMBS = {
    "zeros": lambda: arrow_body(names_of(np.zeros(900_000))),
    "zeros in lz4": lambda: arrow_body(names_of(np.zeros(900_000)), compression="lz4"),
    "zeros in a file": repeated_blocks,
    "nulls without a byte": lambda: arrow_body(names_of(pa.nulls(10**9)), compression=None),
    "bits": lambda: arrow_body(names_of(pa.array(np.zeros(300_000, bool)))),
    "rows": lambda: arrow_body(names_of(pa.array(np.zeros(1_001, np.int8)))),
    "columns": lambda: arrow_body(pa.table({f"c{k}": pa.nulls(900) for k in range(500)}), compression=None),
    "one long word": lambda: arrow_body(names_of(WORD), compression=None),
    "long words": lambda: arrow_body(names_of(LONG)),
    "views of one word": lambda: arrow_body(names_of(VIEWS), compression=None),
    "a dictionary for each batch": growing_dictionaries,
    "one dictionary for many batches": shared_dictionary,
    "many items in JSON": lambda: json.dumps({"model": "named", "items": [[1, 2, 3]] * 1_001}).encode(),
}


@pytest.mark.parametrize("case", BOMBS)
def test_limits_count_what_a_body_becomes(case, folder, monkeypatch):
    body = BOMBS[case]()
    assert len(body) < SMALL.body_bytes
    read = pa.ipc.RecordBatchStreamReader.read_all
    monkeypatch.setattr(pa.ipc.RecordBatchStreamReader, "read_all", lambda reader: pytest.fail("it was decompressed"))
    with service(folder, limits=SMALL) as ask:
        if "word" in case:  # which is known when its batch has been read
            monkeypatch.setattr(pa.ipc.RecordBatchStreamReader, "read_all", read)
        kind = JSON if "JSON" in case else ARROW
        status, answer = ask("POST", "/rank?model=named" if kind == ARROW else "/rank", body, kind)
    assert (status, list(answer)) == (413, ["error"])
    assert answer["error"].startswith("Expected at most ")


def test_types_of_arrow_that_no_model_takes(ask):
    ends = pa.array([10**9], pa.int64())
    columns = {
        "run_end_encoded": pa.RunEndEncodedArray.from_arrays(ends, pa.array([1.0])),
        "list": pa.array([[1.0] * 10]),
        "struct": pa.array([{"a": 1.0}]),
    }
    for kind, column in columns.items():
        table = pa.table([column], names=["size"])
        status, answer = ask("POST", "/rank?model=named", arrow_body(table, compression=None), ARROW)
        assert status in (413, 422)
        assert status == 413 or f"the column 'size' has the type {kind}" in answer["error"]


def test_compressed_words_are_read(tmp_path, monkeypatch):
    testing = pytest.importorskip("typer.testing")
    from kernelrank.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 2},{20 + k % 7 if k % 5 else ''},{'fm'[k % 3 == 0]}\n" for k in range(20))
    (tmp_path / "cohort.csv").write_text(f"outcome,age,sex\n{rows}")
    assert testing.CliRunner().invoke(app, ["fit", "cohort.csv", "--target", "outcome"]).exit_code == 0
    words = pa.array(["f", "m", None, "f"])
    with service(tmp_path / "model.kr") as ask:
        items = [{"age": 30 + k, "sex": word} for k, word in enumerate(words.to_pylist())]
        expected = ranked(ask, "model", items)["scores"]
        for column in (words, words.dictionary_encode(), words.cast(pa.string_view()), words.cast(pa.large_string())):
            table = pa.table({"age": [30, 31, 32, 33], "sex": column})
            for opened in (pa.ipc.new_stream, pa.ipc.new_file):
                for compression in ("lz4", "zstd", None):
                    body = arrow_body(table, compression=compression, opened=opened, batches=table.to_batches(2))
                    status, answer = ask("POST", "/rank", body, ARROW)
                    assert (status, answer["scores"]) == (200, expected)


def test_features_of_words_are_counted(tmp_path):
    from kernelrank.data.preparation import PreparedColumn, TablePreparation

    model = kr.RankRLS().fit(np.eye(300), np.arange(300.0))
    column = PreparedColumn("word", "category", levels=tuple(map(str, range(300))))
    model.provenance_ = {"preparation": TablePreparation((column,)).as_data()}
    kr.save(model, tmp_path / "model.kr")
    with service(tmp_path / "model.kr", limits=SMALL) as ask:
        assert ask("POST", "/rank", {"items": [{"word": "1"}] * 600})[0] == 200
        status, answer = ask("POST", "/rank", {"items": [{"word": "1"}] * 700})
        assert status == 413
        assert "700 items with 300 features each" in answer["error"]


def test_standard_deviations_need_no_square_matrix(folder):
    with service(folder, limits=ServiceLimits(10_000_000, 30.0)) as ask:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        answer = ranked(ask, "pairs", [[0.1, 0.2, 0.3]] * 30_000, standard_deviations=True)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(answer["standard_deviations"]) == 30_000
    assert after - before < 1_000_000  # kB; the covariance of all items has 7 GB


@pytest.mark.parametrize("seed", range(3))
def test_damaged_arrow_bodies_are_refused_with_a_sentence(ask, seed):
    rng = np.random.default_rng(seed)
    table = pa.table({**{name: X[:4, k] for k, name in enumerate(FRAME.columns)}})
    whole = [
        arrow_body(table, compression=kind, opened=opened)
        for kind in ("lz4", None)
        for opened in (pa.ipc.new_stream, pa.ipc.new_file)
    ]
    for _ in range(60):
        body = bytearray(whole[rng.integers(len(whole))])
        for place in rng.integers(len(body), size=rng.integers(1, 6)):
            body[place] = rng.integers(256)
        status, answer = ask("POST", "/rank?model=named", bytes(body[: rng.integers(1, len(body) + 1)]), ARROW)
        assert status in (200, 400, 413, 422), answer
        assert status == 200 or answer["error"].isprintable()


def test_other_encodings_and_ids_that_cannot_be_written(ask):
    with contextlib.closing(http.client.HTTPConnection(*ask.address, timeout=30)) as connection:
        connection.request("POST", "/rank", gzip.compress(b"{}"), {"content-type": JSON, "content-encoding": "gzip"})
        answer = connection.getresponse()
        assert answer.status == 415
        assert "content-encoding" in json.loads(answer.read())["error"]
    deep = b'{"model": "named", "items": [[1, 2, 3]], "ids": [' + b"[" * 500 + b"]" * 500 + b"]}"
    status, answer = ask("POST", "/rank", deep)
    assert status == 422
    assert "'ids'" in answer["error"]


def test_names_that_nobody_knows_are_found_quickly(ask):
    row = {f"c{k}": 0 for k in range(15_000)}
    status, answer = ask("POST", "/rank", {"model": "named", "items": [row]})
    assert status == 422
    assert len(answer["error"]) < 500


# Work, and who waits for it -------------------------------------------------------------------------------------------


def test_work_on_a_body_never_blocks_the_service(folder, monkeypatch):
    from kernelrank.serving import service as module

    running, held = threading.Semaphore(0), threading.Event()
    threads = []

    def slow(*arguments):
        threads.append(threading.current_thread())
        running.release()
        held.wait(20)
        return {"scores": []}

    monkeypatch.setattr(module, "ranked", slow)
    monkeypatch.setattr(module, "compared", slow)
    with service(folder, limits=ServiceLimits(10_000, 20.0)) as ask:
        body = {"model": "named", "items": [[1, 2, 3]]}
        asking = [threading.Thread(target=ask, args=("POST", path, body)) for path in ["/rank", "/compare"] * 10]
        for thread in asking:
            thread.start()
        assert running.acquire(timeout=10)
        assert ask("GET", "/health")[0] == 200  # while it works
        held.set()
        for thread in asking:
            thread.join(20)
    assert len(threads) == 20
    assert len(set(threads)) <= module.WORKERS


def answer_of(connection, most=4096):
    """Read until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(most):
            found += data
    return found


def is_cut(connection, data, pause):
    """Send for ever, or until the other side closes."""
    end = time.monotonic() + 20
    try:
        while time.monotonic() < end:
            connection.sendall(data)
            time.sleep(pause)
    except ConnectionError:
        return True
    return False


HASTY = ServiceLimits(1_000, 0.5)
SLOW = {
    "nothing": (b"", b""),
    "no end of the headers": (b"POST /rank HTTP/1.1\r\nhost: x\r\n", b""),
    "no body": (b"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{", b"HTTP/1.1 408"),
    "no end of a chunk": (
        b"POST /rank HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 408",
    ),
    "a second request without end": (b"GET /health HTTP/1.1\r\nhost: x\r\n\r\nPOST /ra", b"HTTP/1.1 200"),
    "a body that nobody reads": (b"GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{", b"HTTP/1.1 200"),
}


@pytest.mark.parametrize("case", SLOW)
def test_who_sends_nothing_is_cut(case, folder):
    sent, answered = SLOW[case]
    with service(folder, limits=HASTY) as ask, socket.create_connection(ask.address, timeout=20) as slow:
        slow.sendall(sent)
        assert answer_of(slow).startswith(answered)
        assert ask("GET", "/health")[0] == 200


@pytest.mark.parametrize("path", [b"POST /rank", b"GET /health", b"POST /nothing"])
@pytest.mark.parametrize("large", [True, False])
def test_a_body_without_end_is_cut(path, large, folder):
    chunk = b"%x\r\n%s\r\n" % (65_536, b" " * 65_536) if large else b"1\r\n \r\n"
    with service(folder, limits=HASTY) as ask, socket.create_connection(ask.address, timeout=20) as endless:
        endless.sendall(path + b" HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        assert is_cut(endless, chunk, 0.0 if large else 0.02)
        assert ask("GET", "/health")[0] == 200


def test_headers_without_end_are_cut(folder):
    with service(folder, limits=ServiceLimits(1_000, 20.0)) as ask:
        with socket.create_connection(ask.address, timeout=20) as endless:
            endless.sendall(b"GET /health HTTP/1.1\r\n")
            assert is_cut(endless, b"x: " + b"y" * 1_000 + b"\r\n", 0.0)
        assert ask("GET", "/health")[0] == 200


def test_a_connection_that_asks_again_and_again_stays(folder):
    with service(folder, limits=HASTY) as ask, contextlib.closing(http.client.HTTPConnection(*ask.address)) as kept:
        kept.connect()
        first = kept.sock
        for _ in range(8):
            kept.request("GET", "/health")
            assert kept.getresponse().read()
            time.sleep(0.2)
        assert kept.sock is first


def test_a_name_that_is_no_utf8(tmp_path):
    named = os.fsencode(tmp_path) + b"/m\xff\x1b\xe2\x80\xae.kr"
    kr.save(kr.RankRLS().fit(X, Y), tmp_path / "model.kr")
    try:
        os.rename(tmp_path / "model.kr", named)
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    kr.save(kr.RankRLS().fit(X, Y), tmp_path / "b.kr")
    name = r"m\udcff\x1b\u202e"
    with service(tmp_path) as ask:
        assert ask("GET", "/health") == (200, {"status": "ok", "models": ["b", name]})
        assert ask("GET", "/model")[1]["models"][1]["name"] == name
        assert ranked(ask, name, X[:2].tolist())["model"] == name
        assert ask("POST", "/rank", {"model": "other", "items": [[1, 2, 3]]})[0] == 404
        page = ask("GET", "/")[1]
        assert name in page
        assert "\x1b" not in page
        os.unlink(named)
        models = ask.app.state.service.models
        models.refresh()
        models.refresh()
        assert models.names() == ["b"]


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command_serves_on_loopback_and_stops_when_told(folder):
    command = [sys.executable, "-m", "kernelrank.cli", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = ""
            while not lines.endswith("}\n"):
                lines += process.stdout.readline()
                assert process.poll() is None
            address = json.loads(lines)["address"]
            assert address.startswith("http://127.0.0.1:")
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
            body = json.dumps({"model": "named", "items": X[:4].tolist()})
            connection.request("POST", "/rank", body, {"content-type": JSON})
            assert len(json.loads(connection.getresponse().read())["scores"]) == 4
            headers = f"POST /rank HTTP/1.1\r\nhost: x\r\ncontent-type: {JSON}\r\ncontent-length: {len(body)}\r\n\r\n"
            with socket.create_connection(address.removeprefix("http://").split(":"), timeout=60) as open_request:
                open_request.sendall(headers.encode() + body[:20].encode())
                time.sleep(0.5)  # so that the request has begun
                os.kill(process.pid, signal.SIGTERM)
                time.sleep(0.5)
                open_request.sendall(body[20:].encode())
                answer = answer_of(open_request)
            assert answer.startswith(b"HTTP/1.1 200")
            assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["scores"]) == 4
            connection.close()
            assert process.wait(30) == 0
        finally:
            process.kill()
        logged = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert [line["message"] for line in logged][-1] == "stopped"
    assert {line["path"] for line in logged if line["message"] == "request"} == {"/rank"}
