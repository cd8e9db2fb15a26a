"""A uvicorn server that ends without losing a request."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import time
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from kernelrank.errors import InvalidInputError, MissingExtraError

try:
    import uvicorn
except ImportError:
    raise MissingExtraError("uvicorn", "serve") from None

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["GracefulServer"]

QUIET_SECONDS = 0.25
"""Connections that are open and have brought no request for so long are idle."""
LOOK_SECONDS = 0.02
BACKLOG = 2048


class GracefulServer(uvicorn.Server):
    """Stop in two steps, so that no request is lost.

    After a signal, the system takes no new connections; those that it has taken are accepted before the listening
    socket is closed. Answers tell clients to close their connections. When all are closed, or those left are idle,
    uvicorn closes the rest.
    """

    app: Starlette

    @classmethod
    def of(cls, app: Starlette, host: str, port: int) -> Self:
        """Make a server of an application of `create_app`."""
        limits = app.state.service.limits
        server = cls(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                backlog=BACKLOG,
                http="h11",  # which limits the size of headers
                ws="none",
                timeout_graceful_shutdown=max(1, round(limits.seconds)),
                server_header=False,
            )
        )
        server.app = app
        return server

    def listen(self) -> socket.socket:
        """Return the listening socket; as many files may be open as the system allows."""
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        family = socket.AF_INET6 if ":" in self.config.host else socket.AF_INET
        # asyncio sends without delay where it can see that the socket is of TCP.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((self.config.host, self.config.port))
        except OSError as error:
            listening.close()
            raise InvalidInputError(
                f"Expected a free port; {self.config.host}:{self.config.port}: {error.strerror}. Give another --port."
            ) from None
        listening.listen(BACKLOG)
        self._listening = listening
        return listening

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Run until a signal comes."""
        self._loop = asyncio.get_running_loop()
        watch = self._loop.create_task(self._cut_slow_connections())
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> Any:  # noqa: ARG002
        """Begin to stop; a second signal ends the service at once."""
        if self.app.state.service.stopping:
            self.force_exit = self.should_exit = True
        else:
            self.app.state.service.stopping = True
            self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._drain()))

    async def _drain(self) -> None:
        service, start = self.app.state.service, time.perf_counter()
        self._listening.listen(0)
        await asyncio.sleep(LOOK_SECONDS)
        while select.select([self._listening], [], [], 0)[0]:  # a connection that waits to be accepted
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        while self.server_state.connections:
            now = time.perf_counter()
            if now - max(start, service.last_answer) > QUIET_SECONDS or now - start > service.limits.seconds:
                break
            await asyncio.sleep(LOOK_SECONDS)
        self.should_exit = True
