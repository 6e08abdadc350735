"""The verifier's version, which receipts record."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import glossator.verification
from glossator.verification.judge import Verifier
from glossator.verification.version import hash_files, verifier_version

PACKAGE = Path(glossator.verification.__file__).parent


def test_version_names_the_rules_and_the_model() -> None:
    assert Verifier().version == f"{verifier_version()}+words"


@pytest.mark.parametrize(
    "name", ["judge.py", "weights.json", "reading/lexicon/antonyms.txt", "reading/lexicon/units.toml"]
)
def test_version_follows_every_file_of_the_package(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "verification"
    shutil.copytree(PACKAGE, copy)
    before = hash_files([copy])
    assert before == hash_files([PACKAGE])
    (copy / name).write_text((copy / name).read_text("utf-8") + "\n", "utf-8")
    assert hash_files([copy]) != before


def test_compiled_files_do_not_change_the_version(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("x = 1\n", "utf-8")
    before = hash_files([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "rules.cpython-311.pyc").write_bytes(b"\0")
    assert hash_files([tmp_path]) == before
