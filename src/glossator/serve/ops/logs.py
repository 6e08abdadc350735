"""Log formats: JSON lines, or short text on a terminal; each line names its request."""

from __future__ import annotations

import logging
import sys
import textwrap
from datetime import UTC, datetime
from typing import Any

from glossator.core.settings import Settings
from glossator.core.text.characters import dump_json, sanitize
from glossator.core.timing import current_request_id

_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object per line; extra fields of a record are included."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := current_request_id.get():
            line["request_id"] = request_id
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return dump_json(line)


class TextFormatter(logging.Formatter):
    """A short line for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        duration = f" {record.ms} ms" if hasattr(record, "ms") else ""
        message = " ".join(sanitize(record.getMessage()).split())
        text = f"{datetime.now():%H:%M:%S} {record.levelname.lower():7} {message}{duration}"
        if not record.exc_info:
            return text
        # Indented, so that no line of an exception's message looks like a line of the log.
        return f"{text}\n{textwrap.indent(sanitize(self.formatException(record.exc_info)), '    ')}"


def log_config(settings: Settings, *, quiet: bool) -> dict[str, Any]:
    """The logging configuration of the server and of uvicorn: one format, to standard error."""
    automatic = "text" if sys.stderr.isatty() else "json"
    formatter = automatic if settings.log_format == "auto" else settings.log_format
    level = "WARNING" if quiet else "INFO"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonFormatter}, "text": {"()": TextFormatter}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": formatter, "stream": "ext://sys.stderr"}
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "glossator": {"level": level},
            "uvicorn": {"level": level},
            "uvicorn.access": {"level": "CRITICAL"},
        },
    }
