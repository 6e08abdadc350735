"""Clients for OpenAI-compatible providers, and a probe that says what is wrong with one."""

from __future__ import annotations

from typing import Any

import httpx2
import openai
from agents import OpenAIChatCompletionsModel

from glossator.answer.llm.providers import Provider

CONNECT_TIMEOUT_SECONDS = 5.0
PROBE_TIMEOUT_SECONDS = 20.0
_NO_PARAMETERS: dict[str, object] = {"type": "object", "properties": {}}
_NOT_A_COMPLETION = "the response is not a chat completion: check the address"
_REMEDIES = {
    400: "the request was rejected: check the model name in GLOSSATOR_LLM",
    401: "the API key was rejected: check {key}",
    403: "the API key was rejected: check {key}",
    404: "no such model or address: check GLOSSATOR_LLM",
    429: "rate limit or quota exceeded: check your account with the provider",
}


def make_client(provider: Provider, timeout: httpx2.Timeout) -> openai.AsyncOpenAI:
    """A client that does not retry; OpenAI's own environment variables apply to OpenAI alone."""
    client = openai.AsyncOpenAI(base_url=provider.base_url, api_key=provider.key, max_retries=0, timeout=timeout)
    if provider.name != "openai":
        client.organization = client.project = None
        client._custom_headers = {}
    return client


def make_model(provider: Provider, timeout_seconds: float) -> OpenAIChatCompletionsModel:
    """A provider's model, for the Agents SDK."""
    client = make_client(provider, httpx2.Timeout(timeout_seconds, connect=CONNECT_TIMEOUT_SECONDS))
    client.chat.completions = _Completions(client)  # type: ignore[misc]
    return OpenAIChatCompletionsModel(provider.model, client)


class _Completions(openai.resources.chat.AsyncCompletions):
    """Sends messages and tools unchanged: the client would search all of their text for files to encode."""

    async def create(self, **kwargs: Any) -> Any:
        """One call of the chat API."""
        names = ("messages", "tools")
        plain = {name: kwargs.pop(name) for name in names if not isinstance(kwargs.get(name), openai.Omit)}
        kwargs["extra_body"] = (kwargs.get("extra_body") or {}) | plain
        return await super().create(messages=[], **kwargs)


async def probe(provider: Provider) -> str:
    """What is wrong with a provider and how to fix it; empty if it answers."""
    client = make_client(provider, httpx2.Timeout(PROBE_TIMEOUT_SECONDS))
    try:
        completion = await client.chat.completions.create(
            model=provider.model,
            messages=[{"role": "user", "content": "Say yes."}],
            max_tokens=50,
            temperature=0.1,
            tools=[{"type": "function", "function": {"name": "search_book_content", "parameters": _NO_PARAMETERS}}],
        )
        return "" if getattr(completion, "choices", None) else _NOT_A_COMPLETION
    except openai.APIStatusError as error:
        remedy = _REMEDIES.get(error.status_code, f"HTTP {error.status_code}: try again later")
        return remedy.format(key=provider.key_variable or "the server")
    except openai.APITimeoutError:
        return "timed out: try again later, or use another model"
    except openai.APIConnectionError:
        return "connection failed: check the address, and that the server is running"
    except Exception:
        return _NOT_A_COMPLETION
    finally:
        await client.close()
