"""One JSON object per log line. States and keys never appear unless the settings say so."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from typing import Any, TextIO

LOGGER = "thisthat.serve"
OTHERS = ("uvicorn.error", "thisthat.audit", "thisthat.store", "opentelemetry")


class JsonLines(logging.Formatter):
    """Formats a record and its fields as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON: time, level, message, then the fields of the event."""
        moment = datetime.fromtimestamp(record.created, timezone.utc)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_logging(stream: TextIO | None = None, level: str = "info") -> logging.Logger:
    """Send the server's log lines to ``stream`` (standard error).

    Warnings of uvicorn, the decision log and the trace exporter go there too, in the same form.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(LOGGER)
    logger.setLevel(level.upper())
    others = [logging.getLogger(name) for name in OTHERS]
    for each in (logger, *others):
        each.handlers = [handler]
        each.propagate = False
    for each in others:
        each.setLevel("WARNING")
    return logger


def log(message: str, level: int = logging.INFO, **fields: Any) -> None:
    """One line of the server's log."""
    logging.getLogger(LOGGER).log(level, message, extra={"fields": fields})


def log_unforeseen(request_id: str, error: Exception) -> None:
    """Log the traceback, where operators can find it by the request id."""
    logging.getLogger(LOGGER).error(
        "unforeseen error", exc_info=error, extra={"fields": {"request_id": request_id}}
    )
