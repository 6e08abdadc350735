"""Golden questions: reads them from a YAML file, asks them, and summarises the results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glossator.core.answers import Answer
from glossator.core.errors import SourceError
from glossator.core.text.plain_yaml import load_yaml
from glossator.core.types import Passage

MAX_RANK = 5
"""A section counts as found if it is among this many results."""


class SectionRef(BaseModel):
    """A section of a page, both as written in the sources."""

    model_config = ConfigDict(extra="forbid")
    page: str
    section: str


class GoldenQuestion(BaseModel):
    """One question and its expected result."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    id: str
    kind: Literal["answerable", "out_of_scope", "selection"]
    question: str
    sections: list[SectionRef] = []
    facts: list[str] = []
    near_topic: bool = False
    selection: str = ""
    source: SectionRef | None = Field(None, alias="from")
    answer_in_selection: bool = True


class GoldenFile(BaseModel):
    """A file of golden questions."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1]
    questions: list[GoldenQuestion]


@dataclass(frozen=True, slots=True)
class GoldenOutcome:
    """The result of one question; `rank` is that of the first expected section, 0 if none was found."""

    golden: GoldenQuestion
    rank: int
    abstained: bool
    facts_found: int

    @property
    def found(self) -> bool:
        """Whether an expected section is among the first results."""
        return 1 <= self.rank <= MAX_RANK

    @property
    def passed(self) -> bool:
        """Whether an answerable question was answered and its section found, or any other question was refused."""
        if self.golden.kind == "answerable":
            return self.found and not self.abstained
        return self.abstained == (self.golden.kind == "out_of_scope" or not self.golden.answer_in_selection)


@dataclass(frozen=True, slots=True)
class GoldenSummary:
    """Counts and rates over all questions."""

    questions: int
    passed: int
    section_in_top_5: float
    section_at_1: float
    answerable_abstained: float
    out_of_scope_abstained: float
    selection_right: float
    facts_in_answers: float


AskFunction = Callable[[str, str | None], Awaitable[Answer]]
SearchFunction = Callable[[str], Awaitable[tuple[Passage, ...]]]


def load_golden(path: Path) -> list[GoldenQuestion]:
    """Read and validate a file of golden questions."""
    try:
        questions = GoldenFile.model_validate(load_yaml(path.read_text("utf-8"))).questions
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror}).", "Pass a file of golden questions.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise SourceError(f"{path} is not valid YAML.", "See docs/golden.md for its form.") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise SourceError(f"{path}: {place}: {problem['msg']}.", "See docs/golden.md for its form.") from None
    return questions


async def run_golden(questions: list[GoldenQuestion], search: SearchFunction, ask: AskFunction) -> list[GoldenOutcome]:
    """Ask every question."""
    return [await _outcome(golden, search, ask) for golden in questions]


async def _outcome(golden: GoldenQuestion, search: SearchFunction, ask: AskFunction) -> GoldenOutcome:
    answer = await ask(golden.question, golden.selection or None)
    rank = 0
    if golden.kind == "answerable":
        passages = await search(golden.question)
        rank = next((rank for rank, passage in enumerate(passages, 1) if _is_expected(passage, golden)), 0)
    return GoldenOutcome(
        golden, rank, answer.abstained, sum(_normalised(fact) in _normalised(answer.text) for fact in golden.facts)
    )


def _is_expected(passage: Passage, golden: GoldenQuestion) -> bool:
    names = {_normalised(heading) for heading in passage.heading_path}
    return any(passage.document_id.endswith(ref.page) and _normalised(ref.section) in names for ref in golden.sections)


def _normalised(text: str) -> str:
    return " ".join(text.replace("`", "").casefold().split())


def summarise(outcomes: list[GoldenOutcome]) -> GoldenSummary:
    """The rates by which a build can pass or fail."""
    answerable = [o for o in outcomes if o.golden.kind == "answerable"]
    out_of_scope = [o for o in outcomes if o.golden.kind == "out_of_scope"]
    selections = [o for o in outcomes if o.golden.kind == "selection"]
    facts = sum(len(o.golden.facts) for o in answerable)
    return GoldenSummary(
        questions=len(outcomes),
        passed=sum(o.passed for o in outcomes),
        section_in_top_5=_share(o.found for o in answerable),
        section_at_1=_share(o.rank == 1 for o in answerable),
        answerable_abstained=_share(o.abstained for o in answerable),
        out_of_scope_abstained=_share(o.abstained for o in out_of_scope),
        selection_right=_share(o.passed for o in selections),
        facts_in_answers=sum(o.facts_found for o in answerable) / facts if facts else 0.0,
    )


def _share(values: Iterator[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
