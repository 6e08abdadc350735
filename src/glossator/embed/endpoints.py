"""Remote embedding models as settings name them: `provider:model` or a URL, with an API key."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from glossator.core.errors import EmbeddingModelUnavailable, SettingsError
from glossator.core.settings import Settings
from glossator.core.validation import host_of, is_loopback, validate_api_key, validate_url

EMBEDDER_FORMS = (
    "`local` or to a folder with model.onnx and tokenizer.json, or to openai:MODEL, gemini:MODEL, cohere:MODEL"
    " or https://host/v1#MODEL"
)
_EMBEDDER = "GLOSSATOR_EMBEDDER"
DEFAULT_BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "cohere": "https://api.cohere.com",
}
_COHERE_CHAT_PATH = "/compatibility/v1"
"""COHERE_BASE_URL may be that of Cohere's language models, which ends with this path; embeddings have another."""

_MODEL = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at a URL; `key_variable` and `url_setting` name the settings that its key and its URL come from."""

    provider: str
    base_url: str
    model: str
    api_key: str = field(repr=False)
    key_variable: str
    url_setting: str

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        return is_loopback(host_of(self.base_url))

    @property
    def host(self) -> str:
        """The URL without its scheme, for messages and the fingerprint."""
        return self.base_url.partition("://")[2]


def find_endpoint(settings: Settings) -> Endpoint | None:
    """The remote model that GLOSSATOR_EMBEDDER names; None if it names a local one."""
    spec = settings.embedder.strip()
    if spec.startswith(("https://", "http://")):
        url, _, model = spec.partition("#")
        variable = "GLOSSATOR_EMBEDDER_API_KEY"
        key = validate_api_key(settings.embedder_api_key, variable)
        return Endpoint(
            "openai-compatible", validate_url(url, _EMBEDDER), _validate_model(model), key, variable, _EMBEDDER
        )
    provider, _, model = spec.partition(":")
    return _provider_endpoint(provider, model, settings) if provider in DEFAULT_BASE_URLS else None


def _provider_endpoint(provider: str, model: str, settings: Settings) -> Endpoint:
    custom_url = getattr(settings, f"{provider}_base_url").strip()
    setting = f"{provider.upper()}_BASE_URL"
    base_url = validate_url(custom_url or DEFAULT_BASE_URLS[provider], setting)
    if provider == "cohere":
        base_url = base_url.removesuffix(_COHERE_CHAT_PATH)
    variable = f"{provider.upper()}_API_KEY"
    key = validate_api_key(getattr(settings, f"{provider}_api_key"), variable)
    if not key and not custom_url:
        raise EmbeddingModelUnavailable(
            f"GLOSSATOR_EMBEDDER names a model of {provider}, but {variable} is not set.",
            f"Set {variable}, or set GLOSSATOR_EMBEDDER to `local`.",
        )
    return Endpoint(provider, base_url, _validate_model(model), key, variable, setting if custom_url else _EMBEDDER)


def _validate_model(model: str) -> str:
    if not _MODEL.fullmatch(model):
        raise SettingsError("GLOSSATOR_EMBEDDER does not name a model.", f"Set it to {EMBEDDER_FORMS}.")
    return model
