"""The service: routes, limits, what is logged and counted. Starlette and uvicorn do the rest."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import logging
import os
import socket
import string
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from kernelrank import __version__
from kernelrank.base.text import escaped_json
from kernelrank.errors import InvalidInputError, MissingExtraError
from kernelrank.serving.models import RefusedRequestError, compared, has_posterior, ranked, read_arrow, read_json

if TYPE_CHECKING:
    from kernelrank.serving.models import ServedModel, ServedModels


try:
    import orjson
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
except ImportError:
    raise MissingExtraError("starlette", "serve") from None


try:
    import uvicorn
except ImportError:
    raise MissingExtraError("uvicorn", "serve") from None

LOG = logging.getLogger("kernelrank.serving")
ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")
WORKERS = min(4, os.cpu_count() or 1)
"""Threads that work on bodies, so that the service accepts and refuses requests meanwhile."""
DISCARDED = 8
"""A body that is too long is read up to so many times the limit, because many senders read no answer before its end."""

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class ServiceLimits:
    """Limits of one request.

    Parameters
    ----------
    body_bytes : int
        The longest body, also when it is decompressed. The features of all items are at most as many numbers.
    seconds : float
        The longest time, from the first byte of the body to the answer, and also from the beginning of a connection to
        the end of the headers.
    items : int
        The largest number of items.
    """

    body_bytes: int = 10_000_000
    seconds: float = 10.0
    items: int = 100_000


def create_app(models: ServedModels, *, limits: ServiceLimits | None = None, reload_seconds: float = 1.0) -> Starlette:
    """Make the ASGI application of a service.

    Parameters
    ----------
    models : ServedModels
    limits : ServiceLimits, optional
    reload_seconds : float, default=1.0
        How often the model files are checked for changes; 0 for never.

    Returns
    -------
    Starlette
        Its ``state.service`` is the `Service`.
    """
    service = Service(models, limits or ServiceLimits(), reload_seconds)
    handlers = {
        "/rank": service.rank,
        "/compare": service.compare,
        "/model": service.model,
        "/health": service.health,
        "/metrics": service.metrics,
        "/openapi.json": service.openapi,
        "/": service.docs,
    }
    routes = [
        Route(path, service.answering(path, handler), methods=["POST" if path in ("/rank", "/compare") else "GET"])
        for path, handler in handlers.items()
    ]
    app = Starlette(routes=routes, lifespan=service.lifespan, exception_handlers={HTTPException: _not_found})
    app.state.service = service
    return app


async def _not_found(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    words = {404: "There is no such path", 405: "The path takes another method"}
    message = f"{words.get(error.status_code, error.detail)}; see / for a list of paths."
    return JSONResponse({"error": message}, error.status_code, headers=error.headers)


class LimitedService:
    """Requests of limited size and duration, counted and logged by path."""

    def __init__(self, limits: ServiceLimits) -> None:
        self.limits = limits
        self.counts = ServiceMetrics()
        self.started = time.time()

    def answering(self, path: str, handler: Handler) -> Handler:
        """Decorate a handler with a time limit, error responses, metrics and a log line."""

        async def answer(request: Request) -> Response:
            start = time.perf_counter()
            try:
                async with asyncio.timeout(self.limits.seconds):
                    response = await handler(request)
            except TimeoutError:
                message = f"Expected a request of less than {self.limits.seconds:g} seconds."
                response = _refusal(408, message, close=True)
            except ClientDisconnect:
                response = _refusal(400, "The connection was closed before the body was complete.")
            except RefusedRequestError as error:
                response = _refusal(error.status, str(error), close=error.close)
            except (ValueError, MissingExtraError) as error:  # ours, and scikit-learn's
                response = _refusal(422, " ".join(str(error).split()))
            except Exception:
                LOG.exception("request failed", extra={"facts": {"path": path}})
                response = _refusal(500, "Internal error; the log of the service has the reason.")
            seconds = time.perf_counter() - start
            self.counts.request(path, response.status_code, seconds)
            facts = {"path": path, "status": response.status_code, "milliseconds": round(1e3 * seconds, 3)}
            LOG.info("request", extra={"facts": facts})
            return response

        return answer

    async def body(self, request: Request) -> bytes:
        """Read a body. What is too long is not kept, and not read for ever."""
        chunks, size, most = [], 0, self.limits.body_bytes
        async for chunk in request.stream():
            size += len(chunk)
            if size <= most:
                chunks.append(chunk)
            else:
                chunks.clear()
            if size > DISCARDED * most:
                break
        if size > most:
            more = " or more" if size > DISCARDED * most else ""
            message = f"Expected a body of at most {most:,} bytes; got {size:,}{more}."
            raise RefusedRequestError(message, 413, close=bool(more))
        return b"".join(chunks)


class Service(LimitedService):
    """What the routes do."""

    def __init__(self, models: ServedModels, limits: ServiceLimits, reload_seconds: float) -> None:
        super().__init__(limits)
        self.models = models
        self.reload_seconds = reload_seconds
        self._workers = ThreadPoolExecutor(WORKERS, "kernelrank")

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002
        """Check the model files for changes while the service runs."""
        LOG.info("started", extra={"facts": {"models": self.models.names(), "version": __version__}})
        task = asyncio.create_task(self._reload()) if self.reload_seconds > 0 else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
            self._workers.shutdown(wait=False, cancel_futures=True)
            LOG.info("stopped")

    async def _reload(self) -> None:
        while True:
            await asyncio.sleep(self.reload_seconds)
            try:
                await asyncio.to_thread(self.models.refresh)
            except Exception:
                LOG.exception("the model files could not be checked")

    async def _work(self, work: Callable[[], dict[str, Any]]) -> Response:
        """Read a body and answer it in a thread."""

        def written() -> bytes:
            answer = work()
            try:
                return orjson.dumps(answer)
            except orjson.JSONEncodeError as error:
                raise InvalidInputError(f"Expected 'ids' that can be written as JSON; {error}.") from None

        answer = await asyncio.get_running_loop().run_in_executor(self._workers, written)
        return Response(answer, media_type="application/json")

    def _check_items(self, served: ServedModel, content: dict[str, Any], columns: dict[str, list[Any]] | None) -> None:
        items = content.get("items") if columns is None else next(iter(columns.values()), None)
        m = len(items) if isinstance(items, list) else 0
        if m > self.limits.items:
            raise RefusedRequestError(f"Expected at most {self.limits.items:,} items; got {m:,}.", 413)
        if m * served.n_features > self.limits.body_bytes:
            raise RefusedRequestError(
                f"Expected at most {self.limits.body_bytes:,} numbers; got {m:,} items with {served.n_features:,} "
                "features each. Send fewer items at once.",
                413,
            )

    async def rank(self, request: Request) -> Response:
        """Rank the items of a query."""
        kind = _content_type(request, ARROW)
        body = await self.body(request)

        def work() -> dict[str, Any]:
            content: dict[str, Any] = _asked(request) if kind in ARROW else read_json(body)
            columns = read_arrow(body, self.limits.body_bytes, self.limits.items) if kind in ARROW else None
            served = self.models.get(_model_name(content))
            self._check_items(served, content, columns)
            answer = ranked(served, content, columns)
            self.counts.items += len(answer["scores"])
            return answer

        return await self._work(work)

    async def compare(self, request: Request) -> Response:
        """Compare two items."""
        _content_type(request)
        body = await self.body(request)

        def work() -> dict[str, Any]:
            content = read_json(body)
            return compared(self.models.get(_model_name(content)), content)

        return await self._work(work)

    async def model(self, request: Request) -> Response:
        """Return the card of a model, or those of all."""
        name = request.query_params.get("model")
        if name is None and len(self.models) > 1:
            return JSONResponse({"models": [self.models.get(name).card() for name in self.models.names()]})
        return JSONResponse(self.models.get(name).card())

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        """Return whether the service accepts requests."""
        return JSONResponse({"status": "ok", "models": self.models.names()})

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002
        """Return the metrics for Prometheus."""
        gauges = {"models": len(self.models), "model_failures": self.models.failures, "start_seconds": self.started}
        return PlainTextResponse(self.counts.text(gauges), media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:  # noqa: ARG002
        """Return the description of the service."""
        return JSONResponse(description(self.limits.body_bytes))

    async def docs(self, request: Request) -> Response:  # noqa: ARG002
        """Return the description as a page."""
        return HTMLResponse(page(description(self.limits.body_bytes), self.models))


def _refusal(status: int, message: str, *, close: bool = False) -> Response:
    return JSONResponse({"error": message}, status, headers={"connection": "close"} if close else None)


def _content_type(request: Request, others: tuple[str, ...] = ()) -> str:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in ("application/json", *others):
        expected = " or ".join(["application/json", *others])
        raise RefusedRequestError(f"Expected the content type {expected}; got another one.", 415)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RefusedRequestError(
            "Expected a body without a content-encoding; Arrow streams may have compressed buffers.", 415
        )
    return kind


def _asked(request: Request) -> dict[str, Any]:
    """Return what the address of an Arrow request asks for."""
    asked = dict(request.query_params)
    content: dict[str, Any] = {name: value for name, value in asked.items() if name != "standard_deviations"}
    content["standard_deviations"] = asked.get("standard_deviations", "false").lower() in ("1", "true")
    return content


def _model_name(content: dict[str, Any]) -> str | None:
    name = content.get("model")
    if name is not None and not isinstance(name, str):
        raise InvalidInputError("Expected 'model': a name; got something else.")
    return name


# Service metrics ------------------------------------------------------------------------------------------------------
#
# The metrics of a service, in the text format of Prometheus.

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class ServiceMetrics:
    """Requests by path and status, their durations, and the items that were ranked."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations: Counter[float] = Counter()
        self._seconds = 0.0
        self.items = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[path, status] += 1
        self._seconds += seconds
        for bound in BOUNDS:
            if seconds <= bound:
                self._durations[bound] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """Return all metrics as Prometheus text, with further values passed by the caller."""
        requests = {f'{{path="{path}",status="{status}"}}': n for (path, status), n in sorted(self._requests.items())}
        total = sum(self._requests.values())
        seconds: dict[str, float] = {f'_bucket{{le="{bound}"}}': self._durations[bound] for bound in BOUNDS}
        seconds |= {'_bucket{le="+Inf"}': total, "_sum": round(self._seconds, 6), "_count": total}
        lines = [
            *_metric("requests_total", "counter", "Requests by path and status.", requests),
            *_metric("request_seconds", "histogram", "How long requests took.", seconds),
            *_metric("items_total", "counter", "Items that were ranked.", {"": self.items}),
        ]
        for name, value in gauges.items():
            lines += _metric(name, "gauge", name.replace("_", " ").capitalize() + ".", {"": value})
        return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, what: str, values: Mapping[str, float]) -> list[str]:
    """Return the lines of a metric; `values` has what follows its name."""
    head = [f"# HELP kernelrank_{name} {what}", f"# TYPE kernelrank_{name} {kind}"]
    return [*head, *(f"kernelrank_{name}{rest} {value:.15g}" for rest, value in values.items())]


# Documentation --------------------------------------------------------------------------------------------------------
#
# The description of the service in OpenAPI, and the same as a page that loads nothing from elsewhere. Both are files
# beside this one, with places for the version and the limits.


def description(body_bytes: int) -> dict[str, Any]:
    """Return the OpenAPI description."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("openapi.json").read_text(encoding="utf-8"))
    found["info"]["version"] = __version__
    found["info"]["description"] += f" A body has at most {body_bytes:,} bytes."
    return found


def page(described: dict[str, Any], models: ServedModels) -> str:
    """Return an HTML page that documents every path, with a form to try it on the first model that can answer."""
    served = [models.get(name) for name in models.names()]
    comparing = [one for one in served if has_posterior(one.model)] or served
    examples: dict[str, Any] = {}
    for path, able in (("/rank", served), ("/compare", comparing)):
        first, second = able[0].example() if able else ({}, {})
        named = {"model": able[0].name} if len(served) > 1 else {}
        items = {"items": [first, second], "ids": ["a", "b"]} if path == "/rank" else {"first": first, "second": second}
        examples[path] = {**named, **items}
    parts = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            shown = "" if body is None else html.escape(json.dumps(examples[path], ensure_ascii=False))
            example = f"<textarea>{shown}</textarea>" if shown else ""
            schema = html.escape(json.dumps(operation, indent=2))
            parts.append(
                f"<h2><code>{method.upper()} {path}</code></h2><p>{html.escape(operation['summary'])}</p>\n"
                f'<form data-path="{path}">{example}<p><button>Send</button></p><pre></pre></form>\n'
                f"<details><summary>The answer, and the request</summary><pre>{schema}</pre></details>"
            )
    return string.Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8")).substitute(
        version=html.escape(described["info"]["version"]),
        about=html.escape(described["info"]["description"]),
        models=html.escape(", ".join(models.names())),
        parts="\n".join(parts),
    )


# Server ---------------------------------------------------------------------------------------------------------------


class Server(uvicorn.Server):
    """A uvicorn server that closes slow connections. After a signal it completes the requests that are open."""

    app: Starlette

    @classmethod
    def of(cls, app: Starlette, host: str, port: int) -> Self:
        """Make a server of an application of `create_app`."""
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            http="h11",  # which limits the size of headers
            ws="none",
            timeout_graceful_shutdown=max(1, round(app.state.service.limits.seconds)),
            server_header=False,
        )
        server = cls(config)
        server.app = app
        return server

    def listen(self) -> socket.socket:
        """Return the listening socket; as many files may be open as the system allows."""
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        host, port = self.config.host, self.config.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listening = socket.create_server((host, port), family=family, backlog=self.config.backlog)
        except OSError as error:
            raise InvalidInputError(
                f"Expected a free port; {host}:{port}: {os.strerror(error.errno or 0)}. Give another --port."
            ) from None
        # Answers are sent without delay; connections inherit it.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Run until a signal comes."""
        watch = asyncio.create_task(self._cut_slow_connections())
        try:
            await super().serve(sockets)
        finally:
            watch.cancel()

    async def _cut_slow_connections(self) -> None:
        """Close connections that wait too long for headers, or for somebody to read an answer.

        uvicorn closes connections that send nothing after an answer, and `Service` limits the time until an answer.
        """
        seconds = self.app.state.service.limits.seconds
        since: dict[Any, tuple[Any, float]] = {}
        while True:
            await asyncio.sleep(min(1.0, seconds / 4))
            now = time.perf_counter()
            connections: set[Any] = self.server_state.connections
            before, since = since, {}
            for connection in connections:
                request = connection.cycle  # None before the first one, and the former one until the next is complete
                known, start = before.get(connection, (request, now))
                since[connection] = request, start if known is request else now
                working = request is not None and not request.response_complete
                if now - since[connection][1] > (2 if working else 1) * seconds:
                    connection.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to stop; a second signal ends the service at once. The command that was told to stop has succeeded."""
        self.force_exit, self.should_exit = self.should_exit, True


# Log lines ------------------------------------------------------------------------------------------------------------
#
# Log records as lines of JSON.


class JSONLines(logging.Formatter):
    """One JSON object for each record: time, level, message, and the facts that it was logged with."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as one line of JSON."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        line = {"time": stamp, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return escaped_json(json.dumps(line, default=str))


def log_as_json() -> None:
    """Send the records of the service, and of uvicorn, to standard error as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name, level in (("kernelrank.serving", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
