"""Validates input of callers and operators: text and its length, URLs and API keys."""

from __future__ import annotations

import ipaddress
import re

from pydantic import SecretStr

from glossator.core.errors import QuestionError, SettingsError

MAX_QUESTION_LENGTH, MAX_SELECTION_LENGTH, MAX_TOP_K = 32_000, 64_000, 100

# Host, port and path only: a user name, a query or an odd character may hold a secret, or hide another host.
_URL = re.compile(
    r"(https?)://((?:[\w-]{1,63}\.)*[\w-]{1,63}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~%-]*)*", re.ASCII
)
_API_KEY = re.compile(r"[!-~]+")


def validate_text(text: str, name: str) -> str:
    """Reject NUL and lone surrogates, which models, files and databases cannot store."""
    if "\0" in text:
        raise QuestionError(f"The {name} contains a NUL character.", "Remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise QuestionError(f"The {name} is not valid Unicode text.", "Send it as UTF-8.") from None
    return text


def validate_question(question: str) -> str:
    """The question without surrounding white space."""
    question = question.strip()
    if not question:
        raise QuestionError("The question is empty.", "Enter a question.")
    return _within_limit(question, "question", MAX_QUESTION_LENGTH)


def validate_selection(selection: str) -> str:
    """The selection, unchanged."""
    if not selection.strip():
        raise QuestionError("The selection is empty.", "Select some text, or ask the whole book.")
    return _within_limit(selection, "selection", MAX_SELECTION_LENGTH)


def _within_limit(text: str, name: str, limit: int) -> str:
    if len(text) > limit:
        raise QuestionError(f"The {name} is {len(text):,} characters long.", f"The limit is {limit:,}.")
    return validate_text(text, name)


def validate_top_k(top_k: int) -> int:
    """The number of passages, within its limits."""
    if not 1 <= top_k <= MAX_TOP_K:
        raise QuestionError(f"top_k is {top_k}.", f"Use a number from 1 to {MAX_TOP_K}.")
    return top_k


def validate_url(url: str, setting: str) -> str:
    """A plain URL; errors never repeat it, as it may contain a password."""
    match = _URL.fullmatch(url)
    if not match:
        raise SettingsError(
            f"{setting} is not a plain URL.", "Use the form https://host/v1, without a user name, query or spaces."
        )
    if match[1] == "http" and not is_loopback(host_of(url)):
        raise SettingsError(f"{setting} would send the book and the API key unencrypted.", "Use https://.")
    return url.rstrip("/")


def host_of(url: str) -> str:
    """The host of a URL; empty if the URL is not plain."""
    match = _URL.fullmatch(url)
    return match[2].strip("[]") if match else ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def validate_api_key(secret: SecretStr, variable: str) -> str:
    """The API key; one that an HTTP header cannot carry is rejected here, without repeating it."""
    key = secret.get_secret_value().strip()
    if key and not _API_KEY.fullmatch(key):
        raise SettingsError(f"{variable} contains characters that an API key cannot have.", "Copy the key again.")
    return key
