"""MCP over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from glossator.pipeline.wiring import Engine
from mcp_book import (
    LIST_TOOLS,
    MOON,
    run,
    stdio_client,
    stdio_command,
    tool_error,
    use_every_tool,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_works_over_stdio(data: Path, engine: Engine, mode: str) -> None:
    async with stdio_client(data, mode) as client:
        await use_every_tool(client, engine)
        assert "empty" in await tool_error(client, "ask_book", question=" ")


NOISE = """
search = pipeline.search
async def noisy(*arguments, **named):
    print("noise"); os.write(1, b"more noise\\n"); os.system("echo noise of a child")
    return await search(*arguments, **named)
pipeline.search = noisy
"""


def exchange(command: list[str], sent: str, replies: int) -> tuple[list[str], str, str, int]:
    """The first lines of output; then, after the input is closed, the rest, the errors and the exit code."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, encoding="utf-8") as running:
        assert running.stdin
        assert running.stdout
        running.stdin.write(sent)
        running.stdin.flush()
        lines = [running.stdout.readline() for _ in range(replies)]
        rest, errors = running.communicate(timeout=60)
        return lines, rest, errors, running.returncode


async def test_only_protocol_messages_are_written_to_stdout(data: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "search_book", "arguments": {"query": MOON}}
    messages = [
        {**LIST_TOOLS, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {**LIST_TOOLS, "id": 2, "method": "tools/call", "params": call},
    ]
    sent = "".join(f"{json.dumps(message)}\n" for message in messages) + "no JSON at all\n"
    lines, rest, errors, code = await asyncio.to_thread(exchange, stdio_command(data, NOISE), sent, 2)
    replies = [json.loads(line) for line in (*lines, *rest.splitlines())]
    assert {1, 2} <= {reply.get("id") for reply in replies}
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)
    assert "noise of a child" in errors
    assert "Traceback" not in errors
    assert code == 0


async def test_process_exits_quietly_when_stdin_is_closed_at_once(data: Path) -> None:
    done = await run(stdio_command(data))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_process_exits_quietly_when_stdout_is_closed(data: Path) -> None:
    def close_stdout() -> tuple[int, str]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(stdio_command(data), **pipes, encoding="utf-8") as running:
            assert running.stdin
            assert running.stdout
            assert running.stderr
            running.stdout.close()
            running.stdin.write(f"{json.dumps(LIST_TOOLS)}\n")
            running.stdin.close()
            return running.wait(60), running.stderr.read()

    assert await asyncio.to_thread(close_stdout) == (0, "")
