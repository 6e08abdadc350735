"""Provider settings: invalid ones are rejected, keys stay secret, and doctor names the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

import scripted_book
from commands import run
from glossator.answer.llm.client import make_client
from glossator.answer.llm.providers import providers
from glossator.core.errors import SettingsError
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import wire
from llm_server import LlmServer, Reply, fails, html_page, says

data, server = scripted_book.data, scripted_book.server


@pytest.mark.parametrize(
    ("llm", "parts"),
    [
        ("openai:gpt-x", ("OPENAI_API_KEY",)),
        ("gemini:g", ("GEMINI_API_KEY",)),
        ("cohere:c", ("COHERE_API_KEY",)),
        ("mistral:m", ("GLOSSATOR_LLM", "openai:MODEL")),
        ("openai:", ("GLOSSATOR_LLM",)),
        ("https://host/v1", ("GLOSSATOR_LLM", "#MODEL")),
        ("http://example.org/v1#m", ("https",)),
        ("nonsense", ("GLOSSATOR_LLM",)),
    ],
)
def test_an_invalid_provider_setting_is_rejected_at_start(
    llm: str, parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "COHERE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError) as caught:
        wire(load_settings(data_dir=tmp_path, llm=llm))
    assert all(part in str(caught.value) for part in parts)
    monkeypatch.setenv("GLOSSATOR_LLM", llm)
    assert run("ask", "Anything?", "--data-dir", tmp_path).failed_with(2, *parts[:1])


def test_keys_appear_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = load_settings(llm="openai:gpt-x, gemini:g")
    assert "sk-secret" not in repr(settings)
    with pytest.raises(SettingsError) as caught:
        providers(settings)
    assert "sk-secret" not in str(caught.value)
    assert "sk-secret" not in repr(providers(load_settings(llm="openai:gpt-x")))


@pytest.mark.parametrize(
    ("reply", "good", "reason"),
    [
        (says("yes"), True, "responds"),
        (fails(401), False, "GLOSSATOR_LLM_API_KEY"),
        (fails(404), False, "GLOSSATOR_LLM"),
        (fails(429), False, "rate limit"),
        (fails(500), False, "HTTP 500"),
        (html_page(), False, "not a chat completion"),
    ],
    ids=["works", "401", "404", "429", "500", "web page"],
)
def test_doctor_probes_each_provider_and_names_the_remedy(
    data: Path, server: LlmServer, reply: Reply, good: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(reply)
    monkeypatch.setenv("GLOSSATOR_LLM", f"{server.url}#scripted")
    monkeypatch.setenv("GLOSSATOR_LLM_API_KEY", "sk-secret")
    outcome = run("doctor", "--live", "--data-dir", data, "--json")
    finding = next(f for f in json.loads(outcome.out) if f["topic"] == "answers")
    assert (finding["good"], reason in finding["why"]) == (good, True)
    assert "sk-secret" not in outcome.out
    assert outcome.code == (0 if good else 4)


def test_doctor_reports_an_unreachable_provider(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOSSATOR_LLM", "http://127.0.0.1:9/v1#none")
    assert "connection failed" in run("doctor", "--live", "--data-dir", data, "--json").out
    assert "doctor --live" in run("doctor", "--data-dir", data, "--json").out
    monkeypatch.setenv("GLOSSATOR_LLM", "openai:gpt-x")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in run("doctor", "--data-dir", data, "--json").out


@pytest.mark.parametrize(
    ("given", "secret"),
    [
        ({"llm": "https://u:sk-pass@host/v1#m"}, "sk-pass"),
        ({"llm": "https://host/v1?key=sk-query#m"}, "sk-query"),
        ({"llm": "https://[bad/v1#m"}, "bad"),
        ({"llm": "openai:m", "openai_api_key": "sk-x", "openai_base_url": "http://evil.example/v1"}, "evil"),
        ({"llm": "openai:m", "openai_api_key": "sk-one\nsk-two"}, "sk-one"),
        ({"llm": "https://a.example/v1#m, https://b.example/v1#n", "llm_api_key": "sk-shared"}, "sk-shared"),
    ],
    ids=["password", "query", "malformed URL", "plain http", "line break in the key", "several hosts"],
)
def test_settings_that_could_leak_a_key_are_rejected_without_repeating_it(
    given: dict[str, Any], secret: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        wire(load_settings(data_dir=tmp_path, **given))
    assert secret not in str(caught.value)


def test_openai_environment_variables_are_sent_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ORG_ID", "org-1"), ("PROJECT_ID", "proj-1"), ("CUSTOM_HEADERS", "X-Token: gate-1")):
        monkeypatch.setenv(f"OPENAI_{name}", value)
    provider = providers(load_settings(llm="https://other.example/v1#m"))[0]
    client = make_client(provider, httpx2.Timeout(1))
    assert not {"org-1", "proj-1", "gate-1"} & {str(value) for value in client.default_headers.values()}
