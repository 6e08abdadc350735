"""Preprocesses the lines of a page: evaluates conditionals and includes, with the attributes set so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from glossator.ingest.formats.includes import MAX_INCLUDE_DEPTH, IncludeReader

MAX_ATTRIBUTE_CHARACTERS = 4_096
"""A longer value of an attribute is cut: values that name other attributes could grow without end."""

MAX_INSERTED_CHARACTERS = 200_000
"""Values of attributes that are inserted into a page; beyond it, the names stay."""

_DIRECTIVE = re.compile(
    r"(?P<escape>\\?)(?P<name>include|ifdef|ifndef|ifeval|endif)::(?P<target>[^\[\]]*)\[(?P<text>.*)\][ \t]*"
)
_ENTRY = re.compile(r":(?P<unset>!?)(?P<name>\w[\w-]*)(?P<after>!?):(?:[ \t]+(?P<value>.*))?")
_TAG = re.compile(r"\b(tag|end)::([\w.-]+)\[\]")
_HEADING = re.compile(r"(=+)(?=\s)")
_COMPARISON = re.compile(r"==|!=")
_QUOTES = ('"', "'")


class Attributes(dict[str, str]):
    """The attributes of a page, with the number of characters that may still be inserted."""

    remaining_characters = MAX_INSERTED_CHARACTERS


class Preprocessor:
    """Expands the lines of one page."""

    def __init__(self, attributes: Attributes, includes: IncludeReader, find: Callable[[str], Path]) -> None:
        self._attributes = attributes
        self._includes = includes
        self._find = find
        self._skipping: list[bool] = []

    def lines(self, text: str, depth: int = 0) -> Iterator[str]:
        """The lines that count, with those of the files that they include."""
        for line in text.splitlines():
            directive = _DIRECTIVE.fullmatch(line)
            if directive and not directive["escape"]:
                yield from self._run(directive, depth)
            elif not any(self._skipping):
                self._note_attribute(line)
                yield line[1:] if directive else line.rstrip()

    def _note_attribute(self, line: str) -> None:
        entry = _ENTRY.fullmatch(line)
        if entry:
            set_attribute(self._attributes, entry)

    def _run(self, directive: re.Match[str], depth: int) -> Iterator[str]:
        name, target, text = directive["name"], directive["target"], directive["text"]
        if name == "endif":
            if self._skipping:
                self._skipping.pop()
        elif name == "include":
            if not any(self._skipping) and depth < MAX_INCLUDE_DEPTH:
                yield from self._include(target, text, depth)
        elif name != "ifeval" and text:
            if self._holds(name, target) and not any(self._skipping):
                yield text
        else:
            self._skipping.append(not self._holds(name, target or text))

    def _holds(self, name: str, condition: str) -> bool:
        if name == "ifeval":
            return _compare(replace_attributes(condition, self._attributes))
        names = re.split(r"[,+]", condition)
        present = [each.strip() in self._attributes for each in names]
        holds = all(present) if "+" in condition else any(present)
        return holds if name == "ifdef" else not holds

    def _include(self, target: str, options: str, depth: int) -> Iterator[str]:
        target = replace_attributes(target, self._attributes)
        if "://" in target:
            self._includes.missing.append(target)
            return
        lines = _selected(self._includes.read(self._find(target)).splitlines(), options)
        offset = re.search(r"leveloffset=([+-]?\d+)", options)
        for line in self.lines("\n".join(lines), depth + 1):
            yield _shifted(line, int(offset[1])) if offset else line


def set_attribute(attributes: Attributes, entry: re.Match[str]) -> None:
    """Apply an attribute entry: `:name: value`, `:name!:` or `:!name:`."""
    if entry["unset"] or entry["after"]:
        attributes.pop(entry["name"].lower(), None)
    else:
        value = replace_attributes((entry["value"] or "").strip(), attributes)
        attributes[entry["name"].lower()] = value[:MAX_ATTRIBUTE_CHARACTERS]


def attribute_entry(line: str) -> re.Match[str] | None:
    """The attribute entry that a line is."""
    return _ENTRY.fullmatch(line)


_REFERENCE = re.compile(r"(\\?)\{(\w[\w-]*)\}")


def replace_attributes(text: str, attributes: Attributes) -> str:
    """Text with the values of the attributes that it names; unknown ones stay."""

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        found = attributes.get(match[2].lower(), match[0])
        attributes.remaining_characters -= len(found)
        return found if attributes.remaining_characters > 0 else match[0]

    return _REFERENCE.sub(value, text)


def _shifted(line: str, offset: int) -> str:
    heading = _HEADING.match(line)
    return "=" * max(1, len(heading[1]) + offset) + line[heading.end() :] if heading else line


def _selected(lines: list[str], options: str) -> list[str]:
    """The lines of the tags or numbers that an include asks for, without the marks of tags."""
    tags = re.search(r"tags?=\"?([\w;,*!. -]+)\"?", options)
    numbers = re.search(r"lines=\"?([\d.;,-]+)\"?", options)
    if numbers:
        ranges = [part.partition("..") for part in re.split(r"[;,]", numbers[1]) if part.strip("-.")]
        lines = [line for first, dots, last in ranges for line in _range(lines, first, dots, last)]
    elif tags:
        lines = _tagged(lines, {tag.strip() for tag in re.split(r"[;,]", tags[1])})
    return [line for line in lines if not _TAG.search(line)]


def _range(lines: list[str], first: str, dots: str, last: str) -> list[str]:
    start = int(first) if first.isdecimal() else 1
    end = int(last) if last.isdecimal() else len(lines)
    return lines[max(start - 1, 0) : end if dots else start]


def _tagged(lines: list[str], wanted: set[str]) -> list[str]:
    selected: list[str] = []
    open_tags: list[str] = []
    for line in lines:
        tag = _TAG.search(line)
        if tag and tag[1] == "tag":
            open_tags.append(tag[2])
        elif tag and tag[2] in open_tags:
            open_tags.remove(tag[2])
        elif wanted & set(open_tags) or (wanted & {"*", "**"} and open_tags) or "**" in wanted:
            selected.append(line)
    return selected


def _compare(condition: str) -> bool:
    """Whether two values, quoted or not, are equal or differ, as the condition says."""
    found = _COMPARISON.search(condition)
    if found is None:
        return False
    left, right = _unquoted(condition[: found.start()]), _unquoted(condition[found.end() :])
    return (left == right) == (found[0] == "==")


def _unquoted(value: str) -> str:
    value = value.strip()
    value = value[1:] if value.startswith(_QUOTES) else value
    return value[:-1] if value.endswith(_QUOTES) else value
