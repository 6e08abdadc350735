"""Log lines: JSON for programs, words for a terminal; each names the request it belongs to."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from glossator.serve.middleware.context import current_id

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := current_id.get():
            line["request_id"] = request_id
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class Words(logging.Formatter):
    """A short line for people."""

    def format(self, record: logging.LogRecord) -> str:
        spent = f" {record.ms} ms" if hasattr(record, "ms") else ""
        text = f"{datetime.now():%H:%M:%S} {record.levelname.lower():7} {record.getMessage()}{spent}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def log_config(*, quiet: bool) -> dict[str, Any]:
    """For uvicorn and for us: all lines in one form, to standard error."""
    form = "words" if sys.stderr.isatty() else "json"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}, "words": {"()": Words}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form, "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "glossator": {"level": "WARNING" if quiet else "INFO"},
            "uvicorn": {"level": "WARNING" if quiet else "INFO"},
            "uvicorn.access": {"level": "CRITICAL"},
        },
    }
