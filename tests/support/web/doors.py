"""Shared by the tests of the doors: a small book about humanoid robots, clients of it, and invalid requests."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from httpx_sse import aconnect_sse

from data_dirs import book_data
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from glossator.serve.app import ServerOptions, create_app
from glossator.serve.doors.streams import StreamLimits, Streams
from llm_server import LONG_COOLDOWN_SECONDS, LlmServer, running_llm_server

Body = dict[str, Any]

BASE = "https://book.example/docs"
QUESTION = "What is the zero-moment point?"
FACT = (
    "The zero-moment point (ZMP) is the point on the ground where the total sum of inertial and gravitational forces"
    " equals zero."
)
FALSEHOOD = "The zero-moment point was invented in 1822 by a baker named Jean."
OUT_OF_SCOPE = "Who won the football match in Lisbon yesterday evening?"
SELECTION = (
    "Geysers erupt when water boils deep underground. The steam pushes a column of water 30 metres into the air. After"
    " an eruption the underground chamber fills again within 90 minutes. The minerals of the water build a cone of pale"
    " stone around the vent, which grows by 2 millimetres in a century."
)
ABOUT_SELECTION = "Why do geysers erupt?"

PAGES = {
    "module1/balance.md": f"""# Balance

A humanoid robot stands on two feet of 24 centimetres and falls easily. This chapter explains how a robot keeps upright.

## Zero-Moment Point

{FACT} Miomir Vukobratović introduced it in 1968. A robot keeps its balance as long as this point stays inside the
support polygon of its feet. Walking controllers compute the zero-moment point 200 times per second from force sensors
in the ankles. When it comes within 15 millimetres of the edge of the support polygon, the robot has to take a step or
to swing its arms. The preview controller of Kajita plans the point 1.6 seconds ahead and derives the motion of the
centre of mass from it.

## Capture Point

The capture point is the place where a robot must set its foot to come to a complete stop. It depends on the velocity
of the centre of mass and on the height of the hip, which is 0.8 metres for most humanoids.
""",
    "module1/kinematics.md": """# Kinematics

Kinematics describes motion without regard to forces. A leg of a humanoid has 6 joints.

## Forward Kinematics

Forward kinematics computes the pose of the hand from the joint angles. The result is always unique.

## Inverse Kinematics

Inverse kinematics computes the joint angles that bring the hand of a robot to a desired pose. An arm with 7 joints has
infinitely many solutions of the inverse kinematics problem. Numerical solvers of inverse kinematics converge within
12 iterations.

## Jacobian

The Jacobian is the matrix that maps joint velocities to the velocity of the hand. It loses rank at a singularity.
""",
    "module2/physical-ai.md": """# Physical AI

Physical AI involves sophisticated AI algorithms controlling complex mechanical bodies. Unlike a chatbot, physical AI
acts in the real world and feels the consequences of its actions within 10 milliseconds.

## Sensors

An inertial measurement unit reports the acceleration of the torso 1000 times per second. Depth cameras see up to 4
metres.

## Simulation

A policy is trained in simulation for 40 hours before it moves a real robot. Domain randomisation varies the friction
of the floor between 0.4 and 1.0.
""",
    "module2/actuators.md": """# Actuators

An actuator turns electrical energy into motion. A humanoid has about 28 actuators.

## Harmonic Drives

A harmonic drive is a strain wave gear that reduces the speed of a motor by a factor of 100 without backlash.

## Batteries

The battery of a humanoid stores 2.3 kilowatt hours and lasts for 5 hours of walking.
""",
}

NOT_TEXT = ["5", "5.0", "true", "[]", "{}", '["x"]', "1e400", "1" + "0" * 400]
NOT_INTEGERS = ['"5"', "5.0", "5.5", "true", "null", "[]", "{}", "1e400", "-1e400", "1" + "0" * 400, "NaN", "Infinity"]
NOT_BOOLEANS = ['"true"', '"false"', '"yes"', "1", "0", "1.0", "[]", "{}"]
INVALID_SESSION_IDS = ["user@email.com", "a b", "a/b", "a.b", "é", "tides\n", "x" * 201]
VALID_SESSION_IDS = ["user_123_conv_456", "session_abc123", "x", "A-z_0-9", "x" * 200]
OTHER_CONTENT_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonp",
]
JSON_CONTENT_TYPES = ["application/json", "application/json; charset=utf-8", "Application/JSON"]
MAX_BODY, TOO_LARGE_BODY = 1_000_000, 1_048_577
"""Sizes in bytes below and above 1 MB, whether it is counted as 1,000,000 or 1,048,576."""
_DEEP = 10_000
LONG_STREAM_TIMEOUTS = StreamLimits(first_event_seconds=600)
"""An error before the first event is a status, however busy the machine is."""


@asynccontextmanager
async def serving(
    data: Path, options: ServerOptions | None = None, **settings: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server in this process, from start to shutdown."""
    loaded = load_settings(data_dir=data, **settings)
    engine = wire(loaded, cooldown_seconds=LONG_COOLDOWN_SECONDS)
    app = create_app(loaded, engine, streams=Streams(LONG_STREAM_TIMEOUTS), options=options)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory with the book in it."""
    with book_data(PAGES, BASE) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(data: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server without a language model."""
    async with serving(data) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def dev_client(data: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server in development mode."""
    async with serving(data, dev_mode=True) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def empty_client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server without an index."""
    async with serving(tmp_path / "secret-place") as opened:
        yield opened


@pytest.fixture(scope="module")
def model() -> Iterator[LlmServer]:
    """A scripted language model."""
    with running_llm_server() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def llm_client(data: Path, model: LlmServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server whose answers the scripted language model writes."""
    async with serving(data, llm=f"{model.url}#scripted", verify_models=False, cache_answers=0) as opened:
        yield opened


def with_raw_value(body: Body, field: str, value: str) -> bytes:
    """A request body with a raw value, valid JSON or not, in one field."""
    return json.dumps(body | {field: "@"}).replace('"@"', value).encode()


def malformed(body: Body, field: str) -> dict[str, bytes]:
    """Malformed variants of a valid body, by name; `field` is its main text."""
    whole = json.dumps(body).encode()
    return {
        "empty": b"",
        "white space": b" \n",
        "an unclosed object": b"{",
        "a list": b"[]",
        "a list of objects": b"[" + whole + b"]",
        "a string": json.dumps(json.dumps(body)).encode(),
        "null": b"null",
        "a number": b"5",
        "a form": f"{field}=x".encode(),
        "trailing garbage": whole + b"x",
        "two objects": whole + whole,
        "a trailing comma": whole[:-1] + b",}",
        "single quotes": whole.replace(b'"', b"'"),
        "invalid UTF-8": whole[:-2] + b'\xff"}',
        "UTF-16": json.dumps(body).encode("utf-16"),
        "a duplicate key": f'{{"{field}": "x", '.encode() + whole[1:],
        "an unknown key": json.dumps(body | {"colour": "red"}).encode(),
        "a key in capitals": json.dumps(body | {field.upper(): "x"}).encode(),
        "a huge exponent": with_raw_value(body, field, "1e400"),
        "a huge integer": with_raw_value(body, field, "1" + "0" * 400),
        "an integer of 5000 digits": with_raw_value(body, field, "1" + "0" * 5000),
        "NaN": with_raw_value(body, field, "NaN"),
        "infinity": with_raw_value(body, field, "-Infinity"),
        "deep lists": with_raw_value(body, field, "[" * _DEEP + "]" * _DEEP),
        "deep objects": with_raw_value(body, field, '{"a":' * _DEEP + "1" + "}" * _DEEP),
        "deep lists, not closed": with_raw_value(body, field, "[" * _DEEP),
        "deep below an unknown key": with_raw_value(body, "colour", "[" * _DEEP + "]" * _DEEP),
        "only deep lists": b"[" * _DEEP + b"]" * _DEEP,
    }


async def post(
    client: httpx.AsyncClient, path: str, body: Body | bytes, content_type: str = "application/json"
) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await client.post(path, content=content, headers={"content-type": content_type})


async def post_in_pieces(client: httpx.AsyncClient, path: str, content: bytes) -> httpx.Response:
    """A chunked request, without Content-Length."""

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(content), 65_536):
            yield content[at : at + 65_536]

    return await client.post(path, content=pieces(), headers={"content-type": "application/json"})


@dataclass(frozen=True)
class StreamedAnswer:
    """The result of a stream: its event names without repetitions, their data, and the headers."""

    names: list[str]
    text: str
    deltas: list[Body]
    sources: Body
    done: Body
    headers: httpx.Headers


async def stream(client: httpx.AsyncClient, path: str, body: Body) -> StreamedAnswer:
    async with aconnect_sse(client, "POST", path, json=body) as source:
        events = [(event.event, json.loads(event.data)) async for event in source.aiter_sse()]
        headers = source.response.headers
    deltas = [data for name, data in events if name == "delta"]
    last = dict(events)
    return StreamedAnswer(
        names=[name for name, _ in groupby(name for name, _ in events)],
        text="".join(data["delta"] for data in deltas),
        deltas=deltas,
        sources=last["sources"],
        done=last["done"],
        headers=headers,
    )


async def passages(client: httpx.AsyncClient, question: str, top_k: int = 20) -> list[Body]:
    """The results of a search, best first."""
    response = await client.post("/search", json={"query": question, "top_k": top_k})
    results: list[Body] = response.json()["results"]
    return results


def page_url(url: str) -> str:
    """The URL without its fragment."""
    return url.partition("#")[0]


def is_uuid4(text: object) -> bool:
    try:
        return uuid.UUID(str(text)).version == 4
    except ValueError:
        return False


def is_timestamp(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_fraction(value: object) -> bool:
    """Whether it is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def is_milliseconds(value: object) -> bool:
    """Whether it is a number of milliseconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def leaks_nothing(text: str) -> bool:
    """Whether a message is not blank and names no internals of the server."""
    internals = ("traceback", "pydantic", "fastapi", "sqlite", "site-packages", "secret-place", "glossator.", "'loc'")
    return bool(text.strip()) and not any(word in text.lower() for word in internals)
