"""No file that git tracks contains a key in the format of a real one."""

from __future__ import annotations

import re
import subprocess

import pytest

from paths import ROOT

KEY_FORMATS = {
    "Glossator": rb"gl_[0-9a-f]{16}_[0-9a-f]{64}",
    "OpenAI": rb"sk-(?:proj-)?[A-Za-z0-9_-]{40,}",
    "Google": rb"AIza[0-9A-Za-z_-]{35}",
    "AWS": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,})",
    "Slack": rb"xox[abprs]-[0-9A-Za-z-]{20,}",
    "private key": rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}",
}
ANY_KEY = re.compile(b"|".join(KEY_FORMATS.values()))
SAMPLES = [
    b"gl_" + b"0f" * 8 + b"_" + b"a1" * 32,
    b"sk-" + b"Ab3" * 16,
    b"AIza" + b"x" * 35,
    b"AKIA" + b"Z" * 16,
    b"ghp_" + b"a" * 36,
    b"xoxb-" + b"1" * 24,
    b"-----BEGIN RSA PRIVATE" + b" KEY-----\n" + b"A" * 40,
]


def is_repeated(key: bytes) -> bool:
    """Whether a key is made of few different characters, as examples are: random ones have many."""
    return len(set(key[-16:])) <= 4


@pytest.mark.parametrize("sample", SAMPLES, ids=KEY_FORMATS)
def test_formats_are_recognised(sample: bytes) -> None:
    assert ANY_KEY.search(b"key = '" + sample + b"'")


def test_no_tracked_file_contains_a_key() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    assert len(files) > 100
    for file in files:
        if file.is_file() and file.suffix not in (".bin", ".onnx", ".png"):
            keys = [key for key in ANY_KEY.findall(file.read_bytes()) if not is_repeated(key)]
            assert keys == [], f"{file.relative_to(ROOT)} contains what looks like a key: remove it, and revoke it."
