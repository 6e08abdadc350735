"""A switch of generation: while one request opens the new one, the others are answered from the previous one."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

import glossator
from glossator.core.ports import Generation
from tides import PAGE


def test_requests_do_not_wait_while_another_opens_the_new_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "book" / "tides.md"
    page.parent.mkdir()
    page.write_text(PAGE, "utf-8")
    with glossator.open(tmp_path / "data") as serving, glossator.open(tmp_path / "data") as writing:
        writing.ingest(page.parent)
        engine = serving.engine
        first = engine.generation().manifest.generation
        page.write_text(f"{PAGE}\n\nA neap tide is a weak tide.\n", "utf-8")
        writing.ingest(page.parent)

        opening, may_open = Event(), Event()
        open_generation = engine.generations.open

        def open_slowly(fingerprint: str) -> Generation:
            opening.set()
            assert may_open.wait(10)
            return open_generation(fingerprint)

        monkeypatch.setattr(engine.generations, "open", open_slowly)
        opened: list[int] = []
        request = Thread(target=lambda: opened.append(engine.generation().manifest.generation))
        request.start()
        assert opening.wait(10)
        assert engine.generation().manifest.generation == first
        may_open.set()
        request.join(10)
        assert opened == [first + 1]
        assert engine.generation().manifest.generation == first + 1
