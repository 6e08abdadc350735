"""What a stream looks like, and that only checked text is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doors import (
    ABOUT_SELECTION,
    FALSEHOOD,
    Body,
)
from llm_server import LlmServer, says
from streams import (
    ALL,
    ENDPOINTS,
    OTHER_SENTENCE,
    SENTENCES,
    WHOLE_ANSWERS,
    Pacer,
    StreamServer,
    as_stored,
    chat_body,
    each_endpoint,
    each_session_endpoint,
    new_id,
    paced,
    script,
    stream_answer,
    stream_server,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@each_endpoint
async def test_stream_consists_of_delta_sources_and_done_events(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    client = await stream_answer(server, model, path, new_id())
    assert client.status == 200
    assert client.headers["content-type"].partition(";")[0] == "text/event-stream"
    *deltas, sources, done = client.events
    assert len(deltas) >= len(SENTENCES)
    assert all(event.name == "delta" and event.data.keys() == {"delta"} for event in deltas)
    assert all(isinstance(event.data["delta"], str) and event.data["delta"] for event in deltas)
    assert (sources.name, sources.data.keys()) == ("sources", {"sources", "metadata"})
    assert isinstance(sources.data["sources"], list)
    assert isinstance(sources.data["metadata"], dict)
    assert (done.name, done.data) == ("done", {"done": True})


@each_endpoint
async def test_headers_forbid_proxies_to_buffer_or_transform_a_stream(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    headers = (await stream_answer(server, model, path, new_id())).headers
    assert {"no-store", "no-transform"} <= set(headers["cache-control"].split(", "))
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers
    assert "content-encoding" not in headers


@each_endpoint
async def test_event_ids_belong_to_one_stream(server: StreamServer, model: LlmServer, path: str) -> None:
    one, other = await stream_answer(server, model, path, new_id()), await stream_answer(server, model, path, new_id())
    for client in (one, other):
        bare = [event for event in client.events if not event.id]
        assert [event.data["delta"].startswith("\n\nSources:\n") for event in bare] == [True] * len(bare)
        assert len(bare) <= 1
        ids = [event.id for event in client.events if event.name == "delta" and event.id]
        assert len(set(ids)) == len(ids)
        assert len({event.id.partition(".")[0] for event in client.events if event.id}) == 1
        assert all(event.id.isascii() and event.id.isprintable() for event in client.events)
    assert not {event.id for event in one.events} & {event.id for event in other.events if event.id}


@each_endpoint
async def test_sentences_are_sent_as_soon_as_they_are_checked(
    server: StreamServer, model: LlmServer, path: str
) -> None:
    pacer = script(model)
    client = server.connect(path, ENDPOINTS[path](new_id()))
    for number, sentence in enumerate(SENTENCES, 1):
        pacer.allowed = number
        await client.until_deltas(number)
        assert sentence in client.deltas[-1]
        assert len(client.deltas) == number
    assert not client.complete
    pacer.allowed = ALL
    assert (await client.read_all()).events[-1].name == "done"


HOSTILE = (
    "Geysers erupt when water boils deep underground.\r\n\r\n"
    'event: done\rdata: {"done": true}\n\nid: 1\n\n: x\u2028\u0085y'
)


@pytest.mark.parametrize("path", ["/chat/stream", "/agent/chat", "/agent/query/session"])
async def test_hostile_text_cannot_forge_an_event(data: Path, path: str) -> None:
    bodies: dict[str, Body] = {
        "/chat/stream": {"query": ABOUT_SELECTION, "selected_text": HOSTILE},
        "/agent/chat": {"message": ABOUT_SELECTION, "context_text": HOSTILE, "session_id": new_id(), "stream": True},
        "/agent/query/session": {
            "query_text": ABOUT_SELECTION,
            "context_mode": "user_provided",
            "user_context": HOSTILE,
            "stream": True,
        },
    }
    async with stream_server(data) as server:
        client = await server.connect(path, bodies[path]).read_all()
    assert "Geysers erupt" in client.text
    assert [event.name for event in client.events] == ["delta", "sources", "done"]
    assert "\r" not in client.raw


# Only checked text is sent.


UNSUPPORTED = (
    FALSEHOOD,
    "It tastes of strawberries.",
    "Picasso painted the support polygon in 1937.",
    "Walking controllers compute the zero-moment point 9000 times per second from force sensors in the ankles.",
    "See https://evil.example/strawberries for more of it.",
    "## The strawberries of Picasso\n\n",
    "```\nimport strawberries\n```\n",
    "| Picasso | strawberries |\n|---|---|\n| 1937 | 9000 |\n",
)
INVENTED = re.compile(r"baker|1822|jean|strawberr|picasso|1937|9000|evil", re.IGNORECASE)
IDS_AND_NUMBERS = re.compile(r'": "?[0-9a-fTZ:+.-]+"?(?=[,}])|^id: .*$', re.MULTILINE)
"""Ids, numbers and timestamps, which may contain any digits by chance."""


@st.composite
def drafts(draw: st.DrawFn) -> tuple[list[str], str]:
    """Supported and unsupported text in any order and layout, cut anywhere; and the reply to a request to revise it."""
    line = st.sampled_from([*SENTENCES, OTHER_SENTENCE, *UNSUPPORTED])
    between = st.sampled_from([" ", "\n", "\n\n", "\n- ", "\n1. ", "\n> "])
    mark = st.sampled_from([" [Source 1]", " [Source 2]", " [Source 9]", "", " [1]"])
    text = "".join(draw(line) + draw(mark) + draw(between) for _ in range(draw(st.integers(1, 6))))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece], draw(st.sampled_from(["NOT FOUND", *UNSUPPORTED, OTHER_SENTENCE]))


many_examples = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def script_draft(model: LlmServer, draft: tuple[list[str], str]) -> None:
    model.script(paced(draft[0], Pacer(ALL)), says(draft[1]))


@many_examples
@given(draft=drafts())
async def test_unsupported_text_is_never_sent_and_the_stored_answer_is_the_streamed_one(
    server: StreamServer, model: LlmServer, draft: tuple[list[str], str]
) -> None:
    session = new_id()
    script_draft(model, draft)
    client = await server.connect("/chat/stream", chat_body(session)).read_all()
    assert client.events[-1].name == "done"
    assert not INVENTED.search(IDS_AND_NUMBERS.sub("", client.raw))
    assert await server.history(session) == [client.text]


@many_examples
@given(draft=drafts(), path=st.sampled_from(list(ENDPOINTS)))
async def test_stream_equals_the_whole_answer(
    server: StreamServer, model: LlmServer, draft: tuple[list[str], str], path: str
) -> None:
    script_draft(model, draft)
    client = await server.connect(path, ENDPOINTS[path](new_id())).read_all()
    endpoint, field = WHOLE_ANSWERS[path]
    script_draft(model, draft)
    body = {name: value for name, value in ENDPOINTS[path](new_id()).items() if name != "stream"}
    answer = (await server.client.post(endpoint, json=body)).json()
    assert client.text == answer[field]
    sources = client.data("sources")
    assert sources["sources"] == answer.get("sources", sources["sources"])
    sources["metadata"].get("grounding_validation", {}).pop("unsupported_claims", None)
    assert not INVENTED.search(client.text + IDS_AND_NUMBERS.sub("", json.dumps(sources)))


@each_session_endpoint
async def test_streamed_answer_is_stored_once(server: StreamServer, model: LlmServer, path: str) -> None:
    session = new_id()
    client = await stream_answer(server, model, path, session)
    assert await server.history(session) == [as_stored(client.text)]
