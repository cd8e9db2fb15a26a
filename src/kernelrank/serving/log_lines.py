"""Log records as lines of JSON."""

from __future__ import annotations

import json
import logging
import sys
import time

from kernelrank.base.text import escaped_json

__all__ = ["log_as_json"]


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
