"""The description of the service in OpenAPI, and the same as a page that loads nothing from elsewhere."""

from __future__ import annotations

import html
import json
from typing import Any

from kernelrank import __version__

__all__ = ["description", "page"]

ITEM = {
    "description": "An item: a number for each feature, in the order of the model, or an object of names and values.",
    "oneOf": [
        {"type": "array", "items": {"type": ["number", "null"]}},
        {"type": "object", "additionalProperties": {"type": ["number", "string", "null"]}},
    ],
}
MODEL = {"type": "string", "description": "The name of the model; not needed if there is only one."}
NUMBERS = {"type": "array", "items": {"type": "number"}}
RANK = {
    "type": "object",
    "required": ["items"],
    "properties": {
        "model": MODEL,
        "items": {"type": "array", "minItems": 1, "items": ITEM},
        "ids": {"type": "array", "description": "The names of the items."},
        "standard_deviations": {"type": "boolean", "description": "Add those of scores (models of preferences only)."},
    },
    "example": {"items": [[0.1, 2.0], [0.4, 1.0]], "ids": ["a", "b"]},
}
RANKED = {
    "type": "object",
    "properties": {
        "model": MODEL,
        "scores": NUMBERS,
        "ranks": {"type": "array", "items": {"type": "integer"}, "description": "1 is the best; ties share a rank."},
        "order": {"type": "array", "description": "The items, best first: ids, or numbers from 0."},
        "standard_deviations": NUMBERS,
    },
}
COMPARE = {
    "type": "object",
    "required": ["first", "second"],
    "properties": {"model": MODEL, "first": ITEM, "second": ITEM, "top": {"type": "integer", "default": 10}},
    "example": {"first": [0.1, 2.0], "second": [0.4, 1.0]},
}
COMPARED = {
    "type": "object",
    "properties": {
        "model": MODEL,
        "difference": {"type": "number", "description": "The score of the first item minus that of the second."},
        "standard_deviation": {"type": ["number", "null"]},
        "probability": {"type": ["number", "null"], "description": "That the first item ranks above the second."},
        "basis": {"type": ["string", "null"], "description": "What the probability is computed from."},
        "why": {"type": "object", "description": "The contribution of each feature or training item."},
    },
}
ERROR = {"type": "object", "properties": {"error": {"type": "string", "description": "One sentence."}}}
ARROW = {"application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}}}


def description(body_bytes: int) -> dict[str, Any]:
    """Return the OpenAPI description.

    Examples
    --------
    >>> sorted(description(10)["paths"])
    ['/compare', '/health', '/metrics', '/model', '/rank']
    """
    name = {"name": "model", "in": "query", "required": False, "schema": MODEL}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kernelrank",
            "version": __version__,
            "description": f"Rank items with fitted models. A body has at most {body_bytes:,} bytes.",
        },
        "paths": {
            "/rank": {"post": _operation("Rank the items of a query.", RANKED, RANK, ARROW)},
            "/compare": {"post": _operation("Compare two items: difference, probability, why.", COMPARED, COMPARE)},
            "/model": {"get": {**_operation("Describe a model.", {"type": "object"}), "parameters": [name]}},
            "/health": {"get": _operation("Check whether the service accepts requests.", {"type": "object"})},
            "/metrics": {"get": _operation("Metrics for Prometheus.", {"type": "string"}, kind="text/plain")},
        },
    }


def _operation(
    what: str,
    answer: dict[str, Any],
    body: dict[str, Any] | None = None,
    others: dict[str, Any] | None = None,
    kind: str = "application/json",
) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": what}
    found["responses"] = {"200": {"description": "The answer.", "content": {kind: {"schema": answer}}}}
    if body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}, **(others or {})},
        }
        wrong = {"400": "Not JSON.", "404": "No such model.", "413": "Too long.", "422": "Items that do not match."}
        for status, words in wrong.items():
            content = {"application/json": {"schema": ERROR}}
            found["responses"][status] = {"description": words, "content": content}
    return found


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>kernelrank</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
code, pre, textarea {{ font: 14px/1.4 ui-monospace, monospace; }}
textarea {{ width: 100%; height: 6rem; box-sizing: border-box; }}
pre {{ overflow-x: auto; border: 1px solid #8886; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }}
pre:empty {{ display: none; }}
h2 code {{ font-size: 18px; }}
h2 {{ border-top: 1px solid #8886; padding-top: 1rem; }}
</style></head><body>
<h1>kernelrank {version}</h1>
<p>{about} Models: {models}. The same for programs: <a href="openapi.json">openapi.json</a>.</p>
{parts}
<script>
for (const form of document.forms) form.onsubmit = async (event) => {{
  event.preventDefault();
  const path = form.dataset.path, body = form.querySelector("textarea");
  const asked = body ? {{method: "POST", body: body.value, headers: {{"content-type": "application/json"}}}} : {{}};
  const answer = await fetch(path.slice(1), asked), text = await answer.text();
  form.querySelector("pre").textContent = answer.status + "\\n" + text;
}};
</script></body></html>
"""

PART = """<h2><code>{method} {path}</code></h2><p>{what}</p>
<form data-path="{path}">{body}<p><button>Send</button></p><pre></pre></form>
<details><summary>The answer, and the request</summary><pre>{schema}</pre></details>"""


def page(described: dict[str, Any], models: list[str]) -> str:
    """Return an HTML page that documents every path, with a form to try it."""
    parts = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            example = html.escape(json.dumps(body["example"])) if body else ""
            parts.append(
                PART.format(
                    method=method.upper(),
                    path=path,
                    what=html.escape(operation["summary"]),
                    body=f"<textarea>{example}</textarea>" if body else "",
                    schema=html.escape(json.dumps(operation, indent=2)),
                )
            )
    return PAGE.format(
        version=html.escape(described["info"]["version"]),
        about=html.escape(described["info"]["description"]),
        models=html.escape(", ".join(models)),
        parts="\n".join(parts),
    )
