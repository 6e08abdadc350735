"""Which language models there are: one setting, `provider:model` or an address, names each; several make a chain."""

from __future__ import annotations

from dataclasses import dataclass, field

from glossator.core.addresses import checked_address, checked_key, host_of, is_loopback
from glossator.core.errors import SettingsError
from glossator.core.settings import Settings

FORMS = "openai:MODEL, gemini:MODEL, cohere:MODEL, ollama:MODEL or https://host/v1#MODEL, several with commas between"
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "ollama": "http://127.0.0.1:11434/v1",
}
NO_KEY = "none"
_ADDRESS_KEY = "GLOSSATOR_LLM_API_KEY"
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
    chain = tuple(_provider(spec.strip(), settings) for spec in settings.llm.split(",") if spec.strip())
    keyed = {host_of(p.base_url) for p in chain if p.key_variable == _ADDRESS_KEY and p.key != NO_KEY}
    if len({host for host in keyed if not is_loopback(host)}) > 1:
        raise SettingsError(
            f"GLOSSATOR_LLM names several addresses, and {_ADDRESS_KEY} would go to all of them.",
            "Name one address, or put a gateway before them.",
        )
    return chain


def _provider(spec: str, settings: Settings) -> Provider:
    if spec.startswith(("https://", "http://")):
        return _at_address(spec, settings)
    name, _, model = spec.partition(":")
    if name not in ADDRESSES or not model:
        raise SettingsError(f"GLOSSATOR_LLM names {name!r} without a model or a provider.", f"Write {FORMS}.")
    variable = _KEYS.get(name, "")
    key = checked_key(getattr(settings, f"{name}_api_key"), variable) if variable else NO_KEY
    if not key:
        raise SettingsError(f"{variable} is not set, and GLOSSATOR_LLM names {spec!r}.", f"Set {variable} to your key.")
    own = getattr(settings, f"{name}_base_url", "").strip()
    return Provider(name, checked_address(own or ADDRESSES[name], f"{name.upper()}_BASE_URL"), model, key, variable)


def _at_address(spec: str, settings: Settings) -> Provider:
    given, _, model = spec.partition("#")
    address = checked_address(given, "GLOSSATOR_LLM")
    if not model:
        raise SettingsError("GLOSSATOR_LLM names an address without a model.", "Write https://host/v1#MODEL.")
    key = checked_key(settings.llm_api_key, _ADDRESS_KEY) or NO_KEY
    return Provider(address.partition("://")[2].partition("/")[0], address, model, key, _ADDRESS_KEY)
