"""What commands print: no wrapped lines in a pipe, and no characters that change what a reader sees."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import glossator
from commands import COMMAND, quick_folder
from glossator.cli.common import print_json
from glossator.cli.main import cli
from glossator.cli.terminal import sanitized, show_answer
from glossator.core.answers import Answer, Citation, Mode
from glossator.core.settings import Settings

HOSTILE = "\u202e\u202a\u2066\u2069\u200f\u061c\u200b\ufeff\x1b[2J\x9b31m\x07\x7f\u2028\U000e0041"
LONG = "The harbour wall of the old town was built from granite blocks that weigh " + "more than two tonnes each " * 12
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "book").mkdir()
    page = (
        f"# Harbour {HOSTILE}walls\n\n{LONG.strip()}.\n\n## Old {HOSTILE}lamps\n\nThe lamps {HOSTILE}burn whale oil.\n"
    )
    (folder / "book" / "page.md").write_text(page, "utf-8")
    with glossator.open(folder / "data") as book:
        book.ingest(folder / "book")
    return folder / "data"


def output_of(data: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, [*arguments, "--data-dir", str(data)])
    assert result.exit_code in (0, 1), result.output
    return result.output


COMMANDS = [
    ("ask", "What do the lamps burn?"),
    ("ask", f"What do {HOSTILE} the lamps burn?"),
    ("search", "lamps"),
    ("search", "granite harbour wall"),
    ("sources", "list"),
    ("ask", "Who won the match?"),
]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:30])
def test_hidden_characters_are_not_printed(data: Path, command: tuple[str, ...], as_json: bool) -> None:
    output = output_of(data, *command, *(["--json"] if as_json else []))
    assert not UNSAFE.search(output), ascii(output)


def test_json_keeps_hidden_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": HOSTILE})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": HOSTILE}
    assert not UNSAFE.search(printed)
    print_json({"text": "naïve 日本 م"})
    assert "naïve 日本 م" in capsys.readouterr().out


def test_joiners_stay_where_they_are_spelling() -> None:
    assert sanitized("می\u200cخواهم\n\tx") == "می\u200cخواهم  x"


def test_lines_are_not_wrapped_in_a_pipe(data: Path) -> None:
    for command in (("ask", "What is the harbour wall built from?"), ("search", "granite harbour wall")):
        lines = output_of(data, *command).splitlines()
        assert max(len(line) for line in lines) > 200
    (row,) = [line for line in output_of(data, "doctor").splitlines() if "embeddings" in line]
    assert "dimensions" in row
    assert "works" in row


@pytest.mark.slow
def test_lines_are_wrapped_on_a_terminal(data: Path) -> None:
    output = output_on_a_terminal([*COMMAND, "ask", "What is the harbour wall built from?", "--data-dir", str(data)])
    assert "granite" in output
    assert max(len(line) for line in output.splitlines() if "granite" in line) <= 80


def output_on_a_terminal(command: list[str]) -> str:
    main, other = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "dumb"}
    with subprocess.Popen(command, stdout=other, stderr=other, stdin=other, env=environment) as process:
        os.close(other)
        output = b""
        try:
            while block := os.read(main, 65536):
                output += block
        except OSError:  # the terminal is closed
            pass
        process.wait(60)
    os.close(main)
    return output.decode()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_port_in_use_is_one_line(workers: int) -> None:
    with quick_folder() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [*COMMAND, "serve", "--port", port, "--workers", str(workers), "--data-dir", str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert (
        result.stderr
        == f"glossator: Port {port} of 127.0.0.1 is in use. Stop the other program, or choose another --port.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("host", "reason"), [("203.0.113.7", "listen"), ("no-such-host.invalid", "resolve")])
def test_invalid_address_is_one_line(host: str, reason: str) -> None:
    with quick_folder() as folder:
        command = [*COMMAND, "serve", "--host", host, "--port", "0", "--data-dir", str(folder)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert reason in result.stderr


def test_sources_are_grouped_by_the_sections_of_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    urls = ["/book/linux#setup:~:text=one", "/book/mac#setup:~:text=two", "/book/linux#setup:~:text=three"]
    cited = tuple(Citation(at, url, "Guide", "Setup", "It runs.", 0, 8, 0.9) for at, url in enumerate(urls, 1))
    show_answer(Answer("A. [1] B. [2] C. [3]", (), cited, False, Mode.FULL, 0.9, ""), Settings())
    sources = capsys.readouterr().out.split("\n\n")[1].splitlines()
    one, two, three = (f"    http://127.0.0.1:8000{url}" for url in urls)
    assert sources[:-1] == ["[1] [3] Guide › Setup", one, three, "[2] Guide › Setup", two]
