"""Golden questions: a YAML file of questions and where the book answers them, and a verdict on each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glossator.core.answers import Answer
from glossator.core.errors import SourceError
from glossator.core.types import Passage

DEPTH = 5


class SectionRef(BaseModel):
    """A section of a page; both as the sources write them."""

    model_config = ConfigDict(extra="forbid")
    page: str
    section: str


class Golden(BaseModel):
    """One question and what must come of it."""

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
    questions: list[Golden]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question; `rank` is that of the first right section, 0 if none was found."""

    golden: Golden
    rank: int
    abstained: bool
    facts_found: int

    @property
    def passed(self) -> bool:
        """Answerable: its section is found and it is answered. Else: it is refused."""
        if self.golden.kind == "answerable":
            return 1 <= self.rank <= DEPTH and not self.abstained
        return self.abstained == (self.golden.kind == "out_of_scope" or not self.golden.answer_in_selection)


@dataclass(frozen=True, slots=True)
class Summary:
    """Shares over all questions."""

    questions: int
    passed: int
    section_in_top_5: float
    section_at_1: float
    answerable_abstained: float
    out_of_scope_abstained: float
    selection_right: float
    facts_in_answers: float


Ask = Callable[[str, str | None], Awaitable[Answer]]
Search = Callable[[str], Awaitable[tuple[Passage, ...]]]


def load_golden(path: Path) -> list[Golden]:
    """Read and check a file of golden questions."""
    try:
        questions = GoldenFile.model_validate(yaml.safe_load(path.read_text("utf-8"))).questions
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror}).", "Give a file of golden questions.") from None
    except yaml.YAMLError:
        raise SourceError(f"{path} is not valid YAML.", "See docs/golden.md for its form.") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise SourceError(f"{path}: {place}: {problem['msg']}.", "See docs/golden.md for its form.") from None
    return questions


async def run_golden(questions: list[Golden], search: Search, ask: Ask) -> list[Outcome]:
    """Ask every question."""
    return [await _outcome(golden, search, ask) for golden in questions]


async def _outcome(golden: Golden, search: Search, ask: Ask) -> Outcome:
    answer = await ask(golden.question, golden.selection or None)
    rank = 0
    if golden.kind == "answerable":
        passages = await search(golden.question)
        rank = next((place for place, passage in enumerate(passages, 1) if _right(passage, golden)), 0)
    return Outcome(
        golden, rank, answer.abstained, sum(_squeeze(fact) in _squeeze(answer.text) for fact in golden.facts)
    )


def _right(passage: Passage, golden: Golden) -> bool:
    names = {_squeeze(heading) for heading in passage.heading_path}
    return any(passage.document_id.endswith(ref.page) and _squeeze(ref.section) in names for ref in golden.sections)


def _squeeze(text: str) -> str:
    return " ".join(text.replace("`", "").casefold().split())


def summarise(outcomes: list[Outcome]) -> Summary:
    """The shares that a build may be judged by."""
    answerable = [o for o in outcomes if o.golden.kind == "answerable"]
    beyond = [o for o in outcomes if o.golden.kind == "out_of_scope"]
    selected = [o for o in outcomes if o.golden.kind == "selection"]
    facts = sum(len(o.golden.facts) for o in answerable)
    return Summary(
        questions=len(outcomes),
        passed=sum(o.passed for o in outcomes),
        section_in_top_5=_share(1 <= o.rank <= DEPTH for o in answerable),
        section_at_1=_share(o.rank == 1 for o in answerable),
        answerable_abstained=_share(o.abstained for o in answerable),
        out_of_scope_abstained=_share(o.abstained for o in beyond),
        selection_right=_share(o.passed for o in selected),
        facts_in_answers=sum(o.facts_found for o in answerable) / facts if facts else 0.0,
    )


def _share(values: Iterator[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
