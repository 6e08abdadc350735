"""Language model providers, as GLOSSATOR_LLM names them: `provider:model` or a URL; several form a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from glossator.core.errors import SettingsError
from glossator.core.settings import Settings
from glossator.core.validation import host_of, is_loopback, validate_api_key, validate_url

FORMS = "openai:MODEL, gemini:MODEL, cohere:MODEL, ollama:MODEL or https://host/v1#MODEL; separate several by commas"
BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}
NO_KEY = "none"
_URL_KEY = "GLOSSATOR_LLM_API_KEY"
_KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "cohere": "COHERE_API_KEY"}


@dataclass(frozen=True, slots=True)
class Provider:
    """A language model behind an OpenAI-compatible address."""

    name: str
    base_url: str
    model: str
    key: str = field(repr=False)
    key_variable: str = ""

    @property
    def label(self) -> str:
        """Its name in messages and receipts."""
        return f"{self.name}:{self.model}"


def providers(settings: Settings) -> tuple[Provider, ...]:
    """The providers that the settings name, in order; empty without a language model."""
    chain = tuple(
        _provider(spec.strip(), settings, "GLOSSATOR_LLM") for spec in settings.llm.split(",") if spec.strip()
    )
    _require_one_host([*chain, *([judge] if (judge := judge_provider(settings)) else [])])
    return chain


def _require_one_host(named: Sequence[Provider]) -> None:
    """Refuse to send the key for a URL to several hosts."""
    keyed = {host_of(p.base_url) for p in named if p.key_variable == _URL_KEY and p.key != NO_KEY}
    if len({host for host in keyed if not is_loopback(host)}) > 1:
        raise SettingsError(
            f"GLOSSATOR_LLM and GLOSSATOR_JUDGE name several hosts, and {_URL_KEY} would be sent to all of them.",
            "Name one host, or put a gateway in front of them.",
        )


def judge_provider(settings: Settings) -> Provider | None:
    """The provider that gives a second opinion; None if none is configured."""
    return _provider(settings.judge.strip(), settings, "GLOSSATOR_JUDGE") if settings.judge.strip() else None


def _provider(spec: str, settings: Settings, variable: str) -> Provider:
    if spec.startswith(("https://", "http://")):
        return _from_url(spec, settings, variable)
    name, _, model = spec.partition(":")
    if name not in BASE_URLS or not model:
        raise SettingsError(f"Invalid provider or missing model in {variable}: {name!r}.", f"Use {FORMS}.")
    key_variable = _KEYS.get(name, "")
    key = validate_api_key(getattr(settings, f"{name}_api_key"), key_variable) if key_variable else NO_KEY
    if not key:
        raise SettingsError(
            f"{variable} names {spec!r}, but {key_variable} is not set.", f"Set {key_variable} to your API key."
        )
    base_url = validate_url(getattr(settings, f"{name}_base_url", "").strip() or BASE_URLS[name], _base_variable(name))
    return Provider(name, base_url, model, key, key_variable)


def _base_variable(name: str) -> str:
    return f"{name.upper()}_BASE_URL"


def _from_url(spec: str, settings: Settings, variable: str) -> Provider:
    url, _, model = spec.partition("#")
    base_url = validate_url(url, variable)
    if not model:
        raise SettingsError(f"{variable} names a URL without a model.", "Use https://host/v1#MODEL.")
    key = validate_api_key(settings.llm_api_key, _URL_KEY) or NO_KEY
    return Provider(base_url.partition("://")[2].partition("/")[0], base_url, model, key, _URL_KEY)
