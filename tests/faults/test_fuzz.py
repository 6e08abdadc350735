"""Parsers, splitters, marks, events, key files and tokens hold their promises for any input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counters import Counters
from fuzz_inputs import PIECES, sample_epub, sample_pdf
from fuzz_targets import TARGETS
from paths import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GLOSSATOR_EXAMPLES", "30"))
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=60).map(" ".join) | st.lists(
    st.sampled_from(PIECES) | st.text(max_size=3), max_size=60
).map("".join)


def damaged(sample: bytes) -> st.SearchStrategy[bytes]:
    """The sample with some of its bytes replaced, and cut."""
    edits = st.lists(st.tuples(st.integers(0, len(sample)), st.binary(max_size=8)), max_size=6)

    def apply(given: tuple[list[tuple[int, bytes]], int]) -> bytes:
        data = bytearray(sample)
        for at, piece in given[0]:
            data[at : at + len(piece)] = piece
        return bytes(data[: given[1]])

    return st.tuples(edits, st.integers(0, 2 * len(sample))).map(apply)


@pytest.mark.parametrize("name", TARGETS)
def test_any_input_is_read_or_rejected(name: str, tmp_path: Path) -> None:
    inputs = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=300)
    if name in ("EPUB", "PDF"):
        inputs |= damaged(sample_epub() if name == "EPUB" else sample_pdf(tmp_path))
    check(TARGETS[name], inputs, Counters("any input (hypothesis)"))


def check(target: Callable[[bytes], None], inputs: st.SearchStrategy[bytes], counters: Counters) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def run(data: bytes) -> None:
        counters.tried += 1
        counters.checked += 1
        target(data)

    run()
    counters.report()


def test_make_torture_finds_every_module_of_the_fuzzer() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8")
    (folders,) = re.findall(r"PYTHONPATH=(\S+) \S+ (?=tests/support/torture/fuzz.py)", recipe)
    command = [sys.executable, "-c", "import fuzz, fuzz_targets"]
    environment = os.environ | {"PYTHONPATH": folders.replace("$(CURDIR)", str(ROOT)) + f":{ROOT / 'src'}"}
    folder = ROOT / "tests" / "support" / "torture"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
