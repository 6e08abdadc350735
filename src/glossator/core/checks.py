"""What is text, and what is not."""

from __future__ import annotations

from glossator.core.errors import QuestionError


def checked_text(text: str, name: str) -> str:
    """Half a character (a lone surrogate) is no text, nor is NUL: no model, file or database can take them."""
    if "\0" in text:
        raise QuestionError(f"The {name} holds a NUL character.", "Remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise QuestionError(f"The {name} is not valid Unicode text.", "Send it as UTF-8.") from None
    return text
