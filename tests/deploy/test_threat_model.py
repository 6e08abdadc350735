"""docs/security.md: every guarantee names a test that exists, and SECURITY.md leads there."""

from __future__ import annotations

import re

from paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
GUARANTEES = [
    row.strip("|").split("|")
    for row in PAGE.partition("## Guarantees")[2].partition("\n## ")[0].splitlines()
    if row.startswith("| ") and not row.startswith(("| **", "| guarantee"))
]


def test_every_guarantee_names_tests_that_exist() -> None:
    assert len(GUARANTEES) > 25
    for guarantee, tests in GUARANTEES:
        named = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert named, guarantee
        for name in named:
            assert "def test_" in (ROOT / name).read_text("utf-8"), name


def test_links_of_the_policy_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "SECURITY.md").read_text("utf-8")):
        assert (ROOT / target).exists(), target
