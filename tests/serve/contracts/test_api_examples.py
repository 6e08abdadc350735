"""The commands of docs/api.md: each can be pasted, in order."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

import httpx
import pytest

from paths import ROOT

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

SERVER = "http://127.0.0.1:8000"


def curl_commands() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("curl ")]


async def test_every_command_of_the_api_page_succeeds(client: httpx.AsyncClient) -> None:
    commands = curl_commands()
    assert len(commands) >= 20
    for command in commands:
        options = dict(pairwise(command))
        url = next(word for word in command if word.startswith(SERVER))
        assert not re.search(r"[{}\[\]]", url), "curl expands brackets"
        name, _, value = options.get("-H", "").partition(": ")
        response = await client.request(
            options.get("-X", "POST" if "-d" in options else "GET"),
            url.removeprefix(SERVER),
            content=options.get("-d"),
            headers={name: value} if name else {},
        )
        assert response.status_code in (200, 201, 202, 204), (command, response.text)
