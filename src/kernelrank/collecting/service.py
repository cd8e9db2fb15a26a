"""The service of a collection: routes for judges and for the owner, tokens, limits, fits in the background."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import logging
import multiprocessing
import os
import secrets
import signal
import string
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from kernelrank.collecting.collection import Collection, Judge, RefusedVoteError, clean
from kernelrank.collecting.items import MEDIA
from kernelrank.collecting.outlook import CollectedVotes, Outlook, look
from kernelrank.collecting.store import ANSWERS, FORMATS
from kernelrank.serving.models import RefusedRequestError
from kernelrank.serving.service import Handler, LimitedService, ServiceLimits

LOG = logging.getLogger("kernelrank.serving")
PAGES = Path(__file__).with_name("pages")
T = TypeVar("T")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src "
    "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers of every answer: the pages run no script but their own, load nothing from elsewhere, and tell no address."""
ASSETS = {
    kind: {f"{kind}.html": "text/html", f"{kind}.js": "text/javascript", "style.css": "text/css"}
    for kind in ("judge", "owner")
}
MOST_JUDGES = 10_000


class RateLimit:
    """So many requests a second for each key, and a burst; the keys that were used last are known."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, key: str) -> None:
        """Count a request; raise an error if it is one too many."""
        now = time.monotonic()
        left, since = self._left.pop(key, (self.burst, now))
        left = min(self.burst, left + self.rate * (now - since))
        self._left[key] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._left) > 20_000:
            self._left.popitem(last=False)
        if left < 1.0:
            raise RefusedRequestError("Expected fewer requests; wait a few seconds.", 429)


class FitProcess:
    """Fits in a process of their own, which ends with this one, however that ends."""

    def __init__(self) -> None:
        self._process: Any = None

    def fit(self, votes: CollectedVotes) -> Outlook:
        """Fit the leaderboards; in a new process if there is none."""
        if self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._ours, theirs = context.Pipe()
            self._process = context.Process(target=_serve_fits, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._ours.send(votes)
        found = self._ours.recv()
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Outlook)
        return found

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(5.0)


def _serve_fits(theirs: Connection) -> None:
    """Answer each set of votes by its fit, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(10)
    with contextlib.suppress(EOFError, OSError):
        while True:
            votes = theirs.recv()
            try:
                theirs.send(look(votes))
            except Exception as error:
                theirs.send(RuntimeError(f"{type(error).__name__}: {error}"))


class CollectionService(LimitedService):
    """What the routes do. One thread works on the collection, so that its state needs no locks."""

    def __init__(self, collection: Collection, limits: ServiceLimits) -> None:
        super().__init__(limits)
        self.collection = collection
        store = collection.store
        self.tokens = {kind: store.setting(f"{kind} token", secrets.token_urlsafe(16)) for kind in ("judge", "owner")}
        self._turn = ThreadPoolExecutor(1, "kernelrank-votes")
        self._fits = FitProcess()
        self._by_address, self._by_judge = RateLimit(200.0, 400.0), RateLimit(10.0, 40.0)
        self._new_judges = RateLimit(2.0, 100.0)
        self._fit_rows = -1
        self._items_changed: int | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002
        """Fit the leaderboards in the background while the service runs."""
        tasks = [asyncio.create_task(self._keep_fitting()), asyncio.create_task(self._keep_reading_items())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.to_thread(self._fits.close)
            self._turn.shutdown(wait=True, cancel_futures=True)

    async def in_turn(self, work: Callable[[], T]) -> T:
        """Do some work on the collection in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._turn, work)

    async def _keep_fitting(self) -> None:
        """Fit after new votes, at most half of the time."""
        pause = 0.3
        while True:
            await asyncio.sleep(pause)
            try:
                await self.in_turn(self.collection.catch_up)
                if (n_rows := self.collection.n_rows) == self._fit_rows:
                    continue
                start = time.monotonic()
                votes = await self.in_turn(self.collection.counted)
                outlook = await asyncio.to_thread(self._fits.fit, votes)
                await self.in_turn(functools.partial(self.collection.learn, outlook))
                self._fit_rows, pause = n_rows, max(0.3, time.monotonic() - start)
            except Exception:
                LOG.exception("the leaderboards could not be fitted")
                pause = 5.0

    async def _keep_reading_items(self) -> None:
        """Look for new items, of this server's file or folder and of other servers."""
        while True:
            await asyncio.sleep(5.0)
            try:
                source = self.collection.source
                changed = None if source is None else source.stat().st_mtime_ns
                before, self._items_changed = self._items_changed, changed
                is_new = before is not None and changed != before
                await self.in_turn(self.collection.add_new_items if is_new else self.collection.read_items)
            except Exception as error:
                LOG.warning("new items could not be read", extra={"facts": {"reason": str(error)}})

    # Doors

    def checked(self, kind: str, request: Request) -> str:
        """Return the address of a request; raise an error without the right token, or after too many requests."""
        address = request.client.host if request.client else ""
        self._by_address.check(address)
        if not hmac.compare_digest(request.path_params["token"].encode(), self.tokens[kind].encode()):
            raise RefusedRequestError("There is no such path.", 404)
        return address

    def judged(self, work: Callable[[Judge, dict[str, Any]], dict[str, Any]]) -> Handler:
        """Return the handler of a request of a judge: it does the work, and adds the next pairs."""

        async def answer(request: Request) -> Response:
            address = self.checked("judge", request)
            try:
                said = orjson.loads(await self.body(request))
            except orjson.JSONDecodeError:
                said = None
            if not isinstance(said, dict) or not _is_text(said.get("key"), 16, 100):
                raise RefusedVoteError("Expected a JSON object with the key of a judge.")
            held = said.get("held", [])
            if not isinstance(held, list) or len(held) > 100 or not all(map(_is_pair, held)):
                raise RefusedVoteError("Expected 'held': the pairs that the page holds.")
            self._by_judge.check(said["key"])

            def answered() -> dict[str, Any]:
                judge = self._judge(said, address)
                found = work(judge, said)
                tasks = self.collection.tasks(judge, [(first, second) for first, second in held])
                return found | {"tasks": tasks, "progress": self.collection.progress(judge)}

            return JSONResponse(await self.in_turn(answered))

        return answer

    def _judge(self, said: dict[str, Any], address: str) -> Judge:
        """Return the judge of a key, who is added if the key is new."""
        judge = self.collection.known_judge(said["key"])
        if judge is None:
            self._new_judges.check(address)
            if len(self.collection.judges) >= MOST_JUDGES:
                raise RefusedRequestError(f"Expected at most {MOST_JUDGES:,} judges.", 429)
            name = str(said["name"]) if _is_text(said.get("name"), 0, 1_000) else ""
            judge = self.collection.judge(said["key"], " ".join(clean(name, 60).split()))
        return judge

    # Judges

    def start(self, judge: Judge, said: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Begin, or begin again: who the judge is, and the questions."""
        return {"name": judge.name, "questions": list(self.collection.rules.questions)}

    def vote(self, judge: Judge, said: dict[str, Any]) -> dict[str, Any]:
        """Keep a vote; the answer is sent once it is on the disk."""
        good = _is_text(said.get("id"), 10, 100) and _is_number(said.get("question"))
        good = good and _is_pair([said.get("left"), said.get("right")]) and said.get("answer") in ANSWERS
        good = good and _is_text(said.get("comment", ""), 0, 10_000) and _is_number(said.get("milliseconds", 0))
        if not good:
            raise RefusedVoteError("Expected a vote: id, question, left, right, answer, comment, milliseconds.")
        return {"added": self.collection.vote(judge, said)}

    def undo(self, judge: Judge, said: dict[str, Any]) -> dict[str, Any]:
        """Undo a vote; the answer has the same question again."""
        if not _is_text(said.get("target"), 10, 100):
            raise RefusedVoteError("Expected 'target': the id of a vote.")
        return {"again": self.collection.undo(judge, said["target"])}

    def withdraw(self, judge: Judge, said: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Withdraw all votes of a judge."""
        self.collection.withdraw(judge)
        return {}

    async def media(self, request: Request) -> Response:
        """Return the file of an item."""
        self.checked("judge", request)
        number = request.path_params["number"]
        path = self.collection.media(int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else None
        if path is None:
            raise RefusedRequestError("There is no such item.", 404)
        sandbox = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        headers = sandbox | {"cache-control": "private, max-age=3600"}
        return FileResponse(path, media_type=MEDIA[path.suffix.lower()][1], headers=headers)

    # Owner

    async def state(self, request: Request) -> Response:
        """Return what the owner's page shows."""
        self.checked("owner", request)
        said = await self.in_turn(self.collection.overview)
        link = f"../../judge/{self.tokens['judge']}/"
        return Response(orjson.dumps(said | {"link": link}), media_type="application/json")

    async def download(self, request: Request) -> Response:
        """Return the votes as a file."""
        self.checked("owner", request)
        kind, _, suffix = request.path_params["name"].partition(".")
        if kind not in ("votes", "log") or suffix not in FORMATS:
            raise RefusedRequestError("Expected votes or log, with .csv, .jsonl or .parquet.", 404)
        content = await asyncio.to_thread(self.collection.store.export, suffix, everything=kind == "log")
        headers = {"content-disposition": f'attachment; filename="{kind}.{suffix}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)

    # Pages

    def page(self, kind: str) -> Handler:
        """Return the handler of a page and its files."""

        async def show(request: Request) -> Response:
            self.checked(kind, request)
            name = request.path_params["asset"] or f"{kind}.html"
            if name not in ASSETS[kind]:
                raise RefusedRequestError("There is no such path.", 404)
            text = (PAGES / name).read_text(encoding="utf-8")
            if name.endswith(".html"):
                title = " · ".join(self.collection.rules.questions)
                text = string.Template(text).substitute(title=escape(title))
            return Response(text, media_type=ASSETS[kind][name])

        return show


def _is_text(value: object, shortest: int, longest: int) -> bool:
    return isinstance(value, str) and shortest <= len(value) <= longest


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] != value[1]


def create_collection_app(collection: Collection, *, limits: ServiceLimits | None = None) -> Starlette:
    """Make the ASGI application of a collection.

    Parameters
    ----------
    collection : Collection
    limits : ServiceLimits, optional

    Returns
    -------
    Starlette
        Its ``state.service`` is the `CollectionService`, whose ``tokens`` are those of the two links:
        ``/judge/TOKEN/`` and ``/owner/TOKEN/``.
    """
    service = CollectionService(collection, limits or ServiceLimits(20_000, 30.0))
    handlers: dict[str, Handler] = {
        "/judge/{token}/start": service.judged(service.start),
        "/judge/{token}/vote": service.judged(service.vote),
        "/judge/{token}/undo": service.judged(service.undo),
        "/judge/{token}/withdraw": service.judged(service.withdraw),
        "/judge/{token}/media/{number}": service.media,
        "/judge/{token}/{asset:path}": service.page("judge"),
        "/owner/{token}/state": service.state,
        "/owner/{token}/download/{name}": service.download,
        "/owner/{token}/{asset:path}": service.page("owner"),
    }

    def guarded(path: str, handler: Handler) -> Handler:
        answer = service.answering(path, handler)

        async def with_headers(request: Request) -> Response:
            response = await answer(request)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return with_headers

    posted = ("start", "vote", "undo", "withdraw")
    routes = [
        Route(path, guarded(path, handler), methods=["POST" if path.endswith(posted) else "GET"])
        for path, handler in handlers.items()
    ]
    app = Starlette(routes=routes, lifespan=service.lifespan, exception_handlers={HTTPException: _not_found})
    app.state.service = service
    return app


async def _not_found(request: Request, error: Exception) -> Response:  # noqa: ARG001
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"error": "There is no such path."}, status, headers=HEADERS)
