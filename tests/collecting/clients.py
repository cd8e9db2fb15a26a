"""A collection on loopback, and judges who vote over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import threading

from kernelrank.collecting import Collection, CollectionRules, Item, VoteStore, create_collection_app
from kernelrank.collecting.outlook import look
from kernelrank.serving.service import Server

ITEMS = [Item(f"item {n}", "text", f"Text of item {n}") for n in range(12)]


class FitsHere:
    """Fits in this process, because a new one takes seconds to import what it needs."""

    fit = staticmethod(look)

    def close(self):
        pass


@contextlib.contextmanager
def collecting(where, items=ITEMS, source=None, *, fits=None, **rules):
    """Run a collection in a thread; yield its service, with the address."""
    with VoteStore(where) as store:
        if source is None:
            store.add_items(items)
        app = create_collection_app(Collection(store, source, CollectionRules(**{"seed": 0} | rules)))
        app.state.service._fits = fits or FitsHere()
        server = Server.of(app, "127.0.0.1", 0)
        with contextlib.closing(server.listen()) as listening:
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            thread.start()
            service = app.state.service
            service.address = listening.getsockname()
            try:
                yield service
            finally:
                server.should_exit = True
                thread.join(20)


def ask(address, method, path, body=None):
    """Return the status, the headers and the content of an answer."""
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        connection.request(method, path, text, {"content-type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        content = answer.read()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, answer.headers, json.loads(content) if is_json else content


class HTTPJudge:
    """A judge who holds the pairs that the page would hold."""

    def __init__(self, address, token, name="", key=None):
        self.address, self.path, self.key = address, f"/judge/{token}/", key or secrets.token_hex(16)
        self.tasks, self.past = [], []
        self.answer = self.said("start", name=name)

    def said(self, path, **body):
        held = [[task["left"]["number"], task["right"]["number"]] for task in self.tasks]
        status, _, answer = ask(self.address, "POST", self.path + path, {"key": self.key, "held": held, **body})
        assert status == 200, (status, answer)
        self.tasks += answer.get("tasks", [])
        return answer

    @staticmethod
    def vote_on(task, answer, **more):
        left, right = task["left"]["number"], task["right"]["number"]
        return {"id": task["id"], "question": task["question"], "left": left, "right": right, "answer": answer, **more}

    def vote(self, answer="left", **more):
        task = self.tasks.pop(0)
        self.past.append(task)
        return self.said("vote", **self.vote_on(task, answer, **more))
