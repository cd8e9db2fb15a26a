"""The service of a collection: votes once, undone, withdrawn; tokens, limits, files, and the owner's page."""

from __future__ import annotations

import io
import json
import time

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'kernelrank[collect]'")
pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'kernelrank[collect]'")
pytest.importorskip("orjson", reason="orjson is not installed: pip install 'kernelrank[collect]'")

from kernelrank.collecting import Item
from kernelrank.collecting.service import FitProcess
from kernelrank.errors import InvalidInputError
from tests.collecting.clients import ITEMS, HTTPJudge, ask, collecting


@pytest.fixture
def service(tmp_path):
    with collecting(tmp_path / "votes.db") as service:
        yield service


def judge_of(service, **options):
    return HTTPJudge(service.address, service.tokens["judge"], **options)


def owner(service, path="state", token=None):
    return ask(service.address, "GET", f"/owner/{token or service.tokens['owner']}/{path}")


def settled(service, n_votes):
    """Return the owner's state once the board has so many votes."""
    for _ in range(1_200):
        said = owner(service)[2]
        if said["boards"] and sum(board["n_votes"] for board in said["boards"]) == n_votes:
            return said
        time.sleep(0.1)
    raise AssertionError(said)


def counted(service):
    return pd.read_csv(io.BytesIO(owner(service, "download/votes.csv")[2]))


def test_a_vote_counts_once_however_often_it_is_sent(service):
    judge = judge_of(service, name="Ann")
    assert len(judge.tasks) == 3
    assert judge.vote("left", comment="because", milliseconds=1200)["added"]
    again = judge.said("vote", **judge.vote_on(judge.past[0], "right"))
    assert not again["added"]
    assert again["progress"]["votes"] == 1
    (row,) = counted(service).to_dict("records")
    shown = [ITEMS[judge.past[0][side]["number"]].name for side in ("left", "right")]
    assert [row["left"], row["right"], row["winner"], row["judge"]] == [*shown, "left", "Ann"]
    assert (row["comment"], row["milliseconds"]) == ("because", 1200)


def test_a_second_vote_on_a_pair_is_a_repeated_one(tmp_path):
    with collecting(tmp_path / "votes.db", ITEMS[:2]) as service:
        judge = judge_of(service)
        window = judge_of(service, key=judge.key)  # which is asked the same
        assert judge.tasks[0]["id"] != window.tasks[0]["id"]
        judge.vote("left")
        window.vote("tie")
        assert counted(service)["winner"].tolist() == ["left"]
        assert owner(service)[2]["judges"][0]["repeated"] == 1


def test_an_undone_vote_is_asked_again_and_a_judge_may_withdraw(service):
    judge, other = judge_of(service, name="Ann"), judge_of(service, name="Bob")
    judge.vote("left")
    other.vote("tie")
    target = judge.past[0]
    again = judge.said("undo", target=target["id"])["again"]
    assert [again[side] for side in ("left", "right")] == [target[side] for side in ("left", "right")]
    assert again["id"] != target["id"]
    assert judge.said("undo", target=target["id"])["progress"]["votes"] == 0
    assert len(counted(service)) == 1
    judge.said("vote", **judge.vote_on(again, "right"))
    assert sorted(counted(service)["winner"]) == ["right", "tie"]
    assert other.said("withdraw")["progress"]["withdrawn"]
    assert counted(service)["winner"].tolist() == ["right"]
    assert other.said("start")["tasks"] == []
    log = [json.loads(line) for line in owner(service, "download/log.jsonl")[2].splitlines()]
    assert [row["kind"] for row in log] == ["vote", "vote", "undo", "vote", "withdrawal"]
    assert [row["valid"] for row in log] == [0, 0, 0, 1, 0]


def test_judges_can_vote_only_on_what_they_were_asked(service):
    judge, other = judge_of(service), judge_of(service)
    task = judge.tasks[0]
    good = judge.vote_on(task, "left")
    turned = good | {"left": good["right"], "right": good["left"]}
    for wrong in (turned, good | {"id": "0" * 17 + "." + "0" * 32}, good | {"key": other.key}):
        status, _, answer = ask(service.address, "POST", judge.path + "vote", {"key": judge.key} | wrong)
        assert (status, "asked about" in answer["error"]) == (422, True)
    for field, value in [
        ("left", True),
        ("left", 99),
        ("left", 2**70),
        ("right", "1"),
        ("answer", "both"),
        ("question", 1),
        ("comment", 5),
        ("milliseconds", -1),
        ("id", None),
        ("id", "é" * 20),
        ("held", [[1, 1]]),
        ("held", 7),
        ("key", "short"),
    ]:
        status, _, answer = ask(service.address, "POST", judge.path + "vote", {"key": judge.key, **good, field: value})
        assert status == 422, (field, answer)
    for body in ("{", "[]", '"text"', "null", b"\xff"):
        assert ask(service.address, "POST", judge.path + "vote", body)[0] == 422
    assert ask(service.address, "POST", judge.path + "undo", {"key": other.key, "target": task["id"]})[0] == 422
    judge.vote("left")
    assert ask(service.address, "POST", judge.path + "undo", {"key": other.key, "target": task["id"]})[0] == 422
    assert len(counted(service)) == 1


def test_without_the_tokens_nothing_is_read_or_written(service):
    judge = judge_of(service)
    tokens = service.tokens
    body = {"key": judge.key}
    for path in ("", "judge.js", "style.css", "media/0"):
        for token in ("", "x", tokens["owner"], tokens["judge"][:-1]):
            assert ask(service.address, "GET", f"/judge/{token}/{path}")[0] == 404
    for path in ("start", "vote", "undo", "withdraw"):
        for token in ("x", tokens["owner"], tokens["judge"] + "x"):
            assert ask(service.address, "POST", f"/judge/{token}/{path}", body)[0] == 404
    for path in ("", "state", "owner.js", "download/votes.csv", "download/log.jsonl"):
        for token in ("x", tokens["judge"], "%00", "%C3%A9"):
            assert owner(service, path, token)[0] in (400, 404)
    for path in ("/", "/owner", "/judge", "/metrics", "/openapi.json", f"/owner/{tokens['owner']}/judge.js"):
        assert ask(service.address, "GET", path)[0] == 404
    assert ask(service.address, "GET", f"/judge/{tokens['judge']}/judge.js")[0] == 200
    assert service.collection.n_rows == 0


def test_requests_are_limited_in_size_and_rate(service):
    judge = judge_of(service)
    status, _, answer = ask(service.address, "POST", judge.path + "start", {"key": judge.key, "name": "x" * 30_000})
    assert (status, "20,000 bytes" in answer["error"]) == (413, True)
    statuses = [ask(service.address, "POST", judge.path + "start", {"key": judge.key})[0] for _ in range(80)]
    assert set(statuses) == {200, 429}
    assert judge_of(service).tasks, "another judge is served"
    long = judge_of(service)
    long.vote("left", comment="é" * 3_000)
    assert counted(service)["comment"].str.len().tolist() == [2_000]


def test_pages_load_nothing_from_elsewhere_and_show_no_code_of_others(tmp_path):
    questions = ("<script>alert(1)</script>",)
    with collecting(tmp_path / "votes.db", questions=questions) as service:
        for kind in ("judge", "owner"):
            _, headers, page = ask(service.address, "GET", f"/{kind}/{service.tokens[kind]}/")
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-content-type-options"] == "nosniff"
            assert b"<script>alert" not in page
            for asset in (page, *(owner(service, name)[2] for name in ("owner.js", "style.css"))):
                assert b"http://" not in asset.replace(b"http://www.w3.org/2000/svg", b"")
                assert b"https://" not in asset
        script = ask(service.address, "GET", f"/judge/{service.tokens['judge']}/judge.js")[2]
        assert b"innerHTML" not in script + owner(service, "owner.js")[2]


def test_files_of_the_folder_are_served_and_no_others(tmp_path):
    folder = tmp_path / "items"
    folder.mkdir()
    for name in ("a.png", "b.svg", "c.mp3"):
        (folder / name).write_bytes(name.encode())
    (tmp_path / "secret.png").write_bytes(b"secret")
    with collecting(tmp_path / "votes.db", source=folder) as service:
        service.collection.store.add_items([Item("hostile", "image", "../secret.png")])
        service.collection.read_items()
        media = f"/judge/{service.tokens['judge']}/media/"
        status, headers, content = ask(service.address, "GET", media + "1")
        assert (status, content, headers["content-type"]) == (200, b"b.svg", "image/svg+xml")
        assert "sandbox" in headers["content-security-policy"]
        for path in (
            "3",
            "4",
            "-1",
            "0/..",
            "../items/a.png",
            "..%2f..%2fsecret.png",
            "%2e%2e/secret.png",
            "1e0",
            "9" * 5_000,
        ):
            status, _, content = ask(service.address, "GET", media + path)
            assert status == 404, path
            assert b"secret" not in (content if isinstance(content, bytes) else b"")


def test_items_can_be_added_while_it_runs(tmp_path):
    source = tmp_path / "items.csv"
    source.write_text("id,text\na,A\nb,B\n")
    with collecting(tmp_path / "votes.db", source=source) as service:
        judge = judge_of(service)
        judge.vote("left")
        assert judge.tasks == []
        source.write_text("id,text\na,A\nb,B\nc,C\n")
        service.collection.add_new_items()
        judge.said("start")
        assert {task[side]["text"] for task in judge.tasks for side in ("left", "right")} == {"A", "B", "C"}


def test_the_owner_sees_the_board_and_the_collection_stops_by_a_rule(tmp_path):
    with collecting(tmp_path / "votes.db", ITEMS[:3], fits=FitProcess(), until_top=1, repeats=0.0) as service:
        judges = [judge_of(service, name=f"judge {n}") for n in range(12)]
        for judge in judges:
            while judge.tasks:
                left, right = (judge.tasks[0][side]["number"] for side in ("left", "right"))
                judge.vote("left" if left < right else "right")
        said = settled(service, 36)
        (board,) = said["boards"]
        assert board["items"] == ["item 0", "item 1", "item 2"]
        assert board["rank_low"][0] == board["rank_high"][0] == 1
        assert said["finished"] == "the first 1 are told apart"
        assert judge_of(service).answer["progress"]["finished"]
        assert judge_of(service).tasks == []
        assert [judge["votes"] for judge in said["judges"]][:12] == [3] * 12
        assert sum(sum(judge["hours"].values()) for judge in said["judges"]) == 36
        process = service._fits._process
        assert process.is_alive()
    assert not process.is_alive(), "the process of the fits ends with the service"


def test_a_collection_continues_after_a_restart(tmp_path):
    with collecting(tmp_path / "votes.db", per_judge=4) as service:
        judge = judge_of(service, name="Ann")
        judge.vote("left")
        open_task, tokens = judge.tasks[0], service.tokens
    with collecting(tmp_path / "votes.db", per_judge=4) as service:
        assert service.tokens == tokens
        again = judge_of(service, key=judge.key)
        assert again.answer["name"] == "Ann"
        assert again.said("vote", **judge.vote_on(open_task, "right"))["progress"]["votes"] == 2
        while again.tasks:
            again.vote("left")
        assert again.said("start")["progress"] | {"votes": 0} == {
            "votes": 0,
            "pairs": 4,
            "of": 4,
            "finished": False,
            "withdrawn": False,
        }
        (ann,) = service.collection.judges
        unseen = next(
            (0, other) for other in range(1, 12) if service.collection.choice.key((0, other)) not in ann.pairs
        )
        stored = service.collection._task(ann, 0, unseen, repeated=False)
        body = {"key": again.key} | again.vote_on(stored, "left")
        status, _, answer = ask(service.address, "POST", again.path + "vote", body)
        assert (status, "has compared all 4 pairs" in answer["error"]) == (422, True)
    with pytest.raises(InvalidInputError, match="expected the questions that votes were collected for"):
        collecting(tmp_path / "votes.db", questions=("Other?",)).__enter__()


def test_two_servers_of_one_database_know_the_same(tmp_path):
    with (
        collecting(tmp_path / "votes.db", ITEMS[:3], minimum=1) as one,
        collecting(tmp_path / "votes.db", ITEMS[:4], minimum=1) as other,
    ):
        judge = judge_of(other, name="Ann")
        tasks = [task for task in judge.tasks if any(task[side]["number"] == 3 for side in ("left", "right"))]
        body = {"key": judge.key, **judge.vote_on(tasks[0], "left")}  # on an item that the first server has not read
        assert ask(one.address, "POST", judge.path + "vote", body)[2]["added"]
        assert ask(one.address, "POST", judge.path + "withdraw", {"key": judge.key})[0] == 200
        answer = judge.vote("tie")  # which the second server keeps, because it has not read of the withdrawal
        assert answer["progress"] | {"pairs": 0, "of": None} == {
            "votes": 0,
            "pairs": 0,
            "of": None,
            "finished": False,
            "withdrawn": True,
        }
        assert len(counted(one)) == 0
        assert owner(other)[2]["judges"][0] | {"hours": {}, "votes": 0} == owner(other)[2]["judges"][0]


def test_repeated_pairs_tell_how_consistent_a_judge_is(tmp_path):
    with collecting(tmp_path / "votes.db", repeats=0.5) as service:
        judge = judge_of(service, name="Ann")
        for _ in range(30):
            judge.vote("left")  # whatever it is: the sides of a repeated pair are exchanged
        said = owner(service)[2]["judges"][0]
        repeated = [task for task in judge.past if task["id"].partition(".")[0].endswith("r")]
        assert (said["votes"], said["repeated"], said["same"]) == (30, len(repeated), 0)
        assert len(repeated) > 2
        assert len(counted(service)) == 30 - len(repeated)
        again = judge.said("undo", target=repeated[0]["id"])["again"]
        assert owner(service)[2]["judges"][0]["repeated"] == len(repeated) - 1
        judge.said("vote", **judge.vote_on(again, "right"))
        said = owner(service)[2]["judges"][0]
        assert (said["votes"], said["repeated"], said["same"]) == (30, len(repeated), 1)


def test_questions_and_categories(tmp_path):
    items = [Item(f"{group}{n}", "text", "", group) for group in "ab" for n in range(4)]
    with collecting(tmp_path / "votes.db", items, questions=("clearer?", "better?")) as service:
        judge = judge_of(service)
        for _ in range(12):
            first, second = judge.tasks[:2]
            assert [first["question"], second["question"]] == [0, 1]
            assert first["left"] == second["left"]
            numbers = [first[side]["number"] for side in ("left", "right")]
            assert items[numbers[0]].category == items[numbers[1]].category
            judge.vote("left")
            judge.vote("right")
            if not judge.tasks:
                break
        votes = counted(service)
        assert service.collection.choice.minimum == 2 * 2, "votes on each item, for each question"
        assert votes.groupby("question").size().tolist() == [12, 12]
        assert set(votes["category"]) == {"a", "b"}
        assert len(settled(service, 24)["boards"]) == 4
