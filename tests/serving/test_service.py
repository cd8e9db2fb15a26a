"""The service on loopback: what it answers, what it refuses, and what it survives."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import re
import signal
import socket
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
from kernelrank.serving.graceful_server import GracefulServer

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
    server = GracefulServer.of(app, "127.0.0.1", 0)
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
            os.kill(process.pid, signal.SIGTERM)
            connection.request("POST", "/rank", body, {"content-type": JSON})  # on the connection that is open
            answer = connection.getresponse()
            assert answer.status == 200
            assert len(json.loads(answer.read())["scores"]) == 4
            connection.close()
            assert process.wait(30) == 0
        finally:
            process.kill()
        logged = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert [line["message"] for line in logged][-1] == "stopped"
    assert {line["path"] for line in logged if line["message"] == "request"} == {"/rank"}
