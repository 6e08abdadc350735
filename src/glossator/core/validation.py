"""What callers send: what is text, and how much of it there may be."""

from __future__ import annotations

from glossator.core.errors import QuestionError

MAX_QUESTION, MAX_SELECTION, MAX_TOP_K = 32_000, 64_000, 100


def checked_text(text: str, name: str) -> str:
    """Half a character (a lone surrogate) is no text, nor is NUL: no model, file or database can take them."""
    if "\0" in text:
        raise QuestionError(f"The {name} holds a NUL character.", "Remove it.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise QuestionError(f"The {name} is not valid Unicode text.", "Send it as UTF-8.") from None
    return text


def checked_question(question: str) -> str:
    """The question without white space around it."""
    question = question.strip()
    if not question:
        raise QuestionError("The question is empty.", "Ask something.")
    if len(question) > MAX_QUESTION:
        raise QuestionError(f"The question has {len(question):,} characters.", f"Keep it within {MAX_QUESTION:,}.")
    return checked_text(question, "question")


def checked_selection(selection: str) -> str:
    """The selection as it is."""
    if not selection.strip():
        raise QuestionError("The selection is empty.", "Select some text, or ask the whole book.")
    if len(selection) > MAX_SELECTION:
        raise QuestionError(f"The selection has {len(selection):,} characters.", f"Keep it within {MAX_SELECTION:,}.")
    return checked_text(selection, "selection")


def checked_top_k(top_k: int) -> int:
    """How many passages, within bounds."""
    if not 1 <= top_k <= MAX_TOP_K:
        raise QuestionError(f"top_k is {top_k}.", f"Give a number from 1 to {MAX_TOP_K}.")
    return top_k
