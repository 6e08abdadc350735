"""The chat on the pages of a server with keys, where reading is public."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser import ConsoleErrors, answers, ask, bound_socket, open_chat, serving
from data_dirs import book_data
from doors import BASE, PAGES, QUESTION
from glossator.serve.auth.keys import KEYS_FILE, KeyStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with book_data(PAGES, BASE) as data, bound_socket() as on:
        KeyStore(data / KEYS_FILE).create("admin", ["admin"])
        with serving(data, on, public_reading=True) as found:
            yield found


def test_reader_asks_and_continues_without_a_key(page: Page, console_errors: ConsoleErrors) -> None:
    console_errors.allow("401")  # the first request finds out that a token is needed
    open_chat(page, "/docs/module1/balance")
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text("total sum of inertial and gravitational forces")
    page.reload()  # the chat stays open
    expect(answers(page)).to_contain_text("total sum of inertial and gravitational forces")
