"""``kernelrank serve``: models as an HTTP service."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import Annotated

import typer

from kernelrank.cli import options
from kernelrank.cli.answer import Answer
from kernelrank.cli.output_file import check_extra

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@app.command()
def serve(
    models: Annotated[Path, typer.Argument(help="Model file, or folder of model files.", show_default=False)],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    max_body: Annotated[float, typer.Option("--max-body", min=0.001, help="Maximum size of a request, in MB.")] = 10.0,
    max_items: Annotated[
        int, typer.Option("--max-items", min=1, help="Maximum number of items in a request.")
    ] = 100_000,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Time limit of a request, in seconds.")] = 10.0,
    reload: Annotated[
        float, typer.Option("--reload", min=0, help="How often to look for new model files, in seconds; 0: never.")
    ] = 1.0,
    as_json: options.AsJSON = False,
) -> None:
    """Rank over HTTP: POST /rank and /compare, GET /model, /health and /metrics; / describes them.

    A model file that is replaced is read again; if it is damaged, the old model stays. The log goes to standard error:
    a line of JSON for each request. After SIGTERM or Ctrl-C the service completes open requests and stops.

    kernelrank serve model.kr

    kernelrank serve models --port 8080
    """
    check_extra("serve", "starlette", "uvicorn", "orjson")
    import scipy.stats  # noqa: F401, before there are threads: two of them cannot import late

    from kernelrank.serving import ServedModels, ServiceLimits, create_app
    from kernelrank.serving.service import GracefulServer, log_as_json

    answer = Answer("serve", as_json=as_json)
    log_as_json()
    served = ServedModels(models)
    limits = ServiceLimits(int(max_body * 1e6), timeout, max_items)
    server = GracefulServer.of(create_app(served, limits=limits, reload_seconds=reload), host, port)
    with contextlib.closing(server.listen()) as listening:
        where = f"http://{host}:{listening.getsockname()[1]}"
        if host not in LOOPBACK:
            answer.note(f"{host} can be reached from other machines, and the service has no authentication")
        answer.fact("address", where)
        answer.fact("models", served.names())
        answer.line(f"Serving {', '.join(served.names())} at {where}; Ctrl-C ends it.")
        answer.show()
        # What was imported stays: collections of garbage need not look at it, neither in requests nor at the end.
        gc.collect()
        gc.freeze()
        server.run([listening])
