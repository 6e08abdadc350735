"""Log lines: text on a terminal, JSON elsewhere, or what the setting says; neither can be forged."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import re
import sys

import pytest

from glossator.core.settings import load_settings
from glossator.serve.ops.logs import JsonFormatter, TextFormatter, log_config


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "setting", "found"),
    [
        (Terminal, "auto", "text"),
        (io.StringIO, "auto", "json"),
        (Terminal, "json", "json"),
        (io.StringIO, "text", "text"),
    ],
)
def test_format_follows_the_terminal_or_the_setting(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], setting: str, found: str
) -> None:
    monkeypatch.setattr("sys.stderr", stream())
    config = log_config(load_settings(log_format=setting), quiet=False)
    assert config["handlers"]["stderr"]["formatter"] == found


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_no_message_can_forge_a_line_or_reorder_text(formatter: logging.Formatter) -> None:
    record = logging.makeLogRecord({"msg": "one\n12:00:00 info two \u202e\x1b[2J\x9b", "levelname": "INFO"})
    line = formatter.format(record)
    assert len(line.splitlines()) == 1
    assert not set("\u202e\x1b\x9b\n") & set(line)
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["message"] == record.getMessage()


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_no_exception_can_forge_a_line_or_reorder_text(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("one\n12:00:00 info two\u2028\r12:00:00 info three \u202e\x1b[2J\x9b")
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed", "levelname": "ERROR", "exc_info": sys.exc_info()})
    first, *rest = formatter.format(record).splitlines()
    assert not [line for line in rest if re.match(r"\d\d:\d\d|\{", line)]
    assert not set("\u202e\x1b\x9b") & set("".join([first, *rest]))
    if isinstance(formatter, TextFormatter):
        assert "ValueError: one" in "\n".join(rest)
