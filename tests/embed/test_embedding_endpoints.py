"""Settings of remote embedders: models, URLs and API keys."""

from __future__ import annotations

import pytest

from embedding_server import API_KEY, EmbeddingServer, embedder_settings, remote_embedder
from glossator.core.errors import EmbeddingModelUnavailable, SettingsError
from glossator.core.settings import load_settings
from glossator.pipeline.wiring import make_embedder


@pytest.mark.parametrize("provider", ["openai", "gemini", "cohere"])
def test_missing_api_key_is_named_in_the_error(provider: str) -> None:
    message = rf"GLOSSATOR_EMBEDDER.*{provider.upper()}_API_KEY is not set"
    with pytest.raises(EmbeddingModelUnavailable, match=message):
        make_embedder(embedder_settings(f"{provider}:model"))


@pytest.mark.parametrize(
    "key",
    ["sk-secret\nsecret", "sk-secret secret", "sk-sécret"],
    ids=["line break", "space", "letter outside ASCII"],
)
def test_malformed_api_key_is_rejected_without_repeating_it(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY contains characters") as caught:
        make_embedder(embedder_settings("openai:model", openai_api_key=key))
    assert "cret" not in str(caught.value)


def test_api_key_appears_in_no_representation(embedding_server: EmbeddingServer) -> None:
    embedder = remote_embedder(embedding_server)
    settings = embedder_settings("openai:m", openai_api_key=API_KEY)
    assert API_KEY not in "".join([repr(embedder), repr(vars(embedder)), embedder.fingerprint, repr(settings)])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-9", "GLOSSATOR_EMBEDDER is 'gpt-9'.*openai:MODEL, gemini:MODEL, cohere:MODEL or https://host/v1#MODEL"),
        ("mistral:embed", "GLOSSATOR_EMBEDDER is 'mistral:embed'.*cohere:MODEL"),
        ("openai:", "does not name a model.*openai:MODEL"),
        ("openai:a model", "does not name a model"),
        ("https://host/v1", "does not name a model.*#MODEL"),
        ("http://example.org/v1#m", "unencrypted"),
        ("http://127.0.0.1.example.org/v1#m", "unencrypted"),
        ("https://user:hunter2@host/v1#m", "not a plain URL"),
        ("http://127.0.0.1@hunter2.org/v1#m", "not a plain URL"),
        ("http://127.0.0.1\\@hunter2.org/v1#m", "not a plain URL"),
        ("https://host/v1?key=hunter2#m", "not a plain URL"),
        ("https://ho st/v1#m", "not a plain URL"),
        ("https://#m", "not a plain URL"),
    ],
)
def test_invalid_embedder_setting_is_rejected(spec: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        make_embedder(embedder_settings(spec, openai_api_key=API_KEY))
    assert "hunter2" not in str(caught.value)


def test_unencrypted_base_url_of_a_provider_is_rejected() -> None:
    settings = embedder_settings("openai:m", openai_api_key=API_KEY, openai_base_url="http://example.org/v1")
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL would send"):
        make_embedder(settings)


@pytest.mark.parametrize("host", ["localhost:1", "127.1.2.3", "[::1]:8080"])
def test_unencrypted_loopback_is_allowed(host: str) -> None:
    assert make_embedder(embedder_settings(f"http://{host}/v1#m"))


def test_keys_and_urls_come_from_environment_variables(
    embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    monkeypatch.setenv("GLOSSATOR_OPENAI_BASE_URL", f"{embedding_server.url}/v1/")
    monkeypatch.setenv("GLOSSATOR_EMBEDDER", "openai:words")
    make_embedder(load_settings()).embed_query("Who?")
    path, headers, _ = embedding_server.requests[0]
    assert (path, headers["authorization"]) == ("/v1/embeddings", f"Bearer {API_KEY}")
