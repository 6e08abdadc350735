"""Which language models there are: one setting, `provider:model` or an address, names each; several make a chain."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import SecretStr

from glossator.core.errors import SettingsError
from glossator.core.settings import Settings

FORMS = "openai:MODEL, gemini:MODEL, cohere:MODEL, ollama:MODEL or https://host/v1#MODEL, several with commas between"
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}
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
        """What people and receipts call it."""
        return f"{self.name}:{self.model}"


def providers(settings: Settings) -> tuple[Provider, ...]:
    """The chain that the settings name, in order; empty without a language model."""
    return tuple(_provider(spec.strip(), settings) for spec in settings.llm.split(",") if spec.strip())


def _provider(spec: str, settings: Settings) -> Provider:
    if spec.startswith(("https://", "http://")):
        return _at_address(spec, settings)
    name, _, model = spec.partition(":")
    if name not in ADDRESSES or not model:
        raise SettingsError(f"GLOSSATOR_LLM names {spec!r}.", f"Write {FORMS}.")
    variable = _KEYS.get(name, "")
    key = _key(name, settings) if variable else "none"
    if not key:
        raise SettingsError(f"{variable} is not set, and GLOSSATOR_LLM names {spec!r}.", f"Set {variable} to your key.")
    address = getattr(settings, f"{name}_base_url", "") or ADDRESSES[name]
    return Provider(name, address, model, key, variable)


def _at_address(spec: str, settings: Settings) -> Provider:
    address, _, model = spec.partition("#")
    parts = urlsplit(address)
    if not model or not parts.hostname:
        raise SettingsError(f"GLOSSATOR_LLM names {address!r} without a model.", "Write https://host/v1#MODEL.")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise SettingsError(
            f"GLOSSATOR_LLM names {address!r}, which sends the book and the key in the clear.", "Use https://."
        )
    return Provider(parts.hostname, address, model, _key("llm", settings) or "none", "GLOSSATOR_LLM_API_KEY")


def _key(name: str, settings: Settings) -> str:
    secret: SecretStr = getattr(settings, f"{name}_api_key")
    return secret.get_secret_value().strip()


def is_loopback(host: str) -> bool:
    """Whether an address never leaves this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
