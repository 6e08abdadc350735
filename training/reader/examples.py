"""Training examples: a passage with the texts that are read against it, each with its labels."""

from __future__ import annotations

import difflib
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from tokenizers import Tokenizer

from glossator.core.text.sentences import split_sentences

MAX_PASSAGE_TOKENS, MAX_TITLE_TOKENS, MAX_TEXT_TOKENS = 288, 24, 64
MAX_CHANGED = 0.6
"""A sentence that differs from its pair in a larger share of its tokens gets no token labels."""
CONTRADICTS = {"relation": True, "detail": True, "negated": True, "outside": False, "specifics": False}
"""Kinds of false sentences that contradict the passage, or that it does not state; the other kinds may do either."""


@dataclass(frozen=True)
class Text:
    """A claim or a question, with what is known of it. None: not known."""

    ids: tuple[int, ...]
    kind: str
    supported: bool | None = None
    contradicted: bool | None = None
    answered: bool | None = None
    unsupported_tokens: tuple[bool, ...] | None = None
    pair: int | None = None
    """The index, in the same example, of the true claim that a false one differs from."""
    evidence: frozenset[int] = frozenset()
    """The sentences of the passage that answer a question."""


@dataclass(frozen=True)
class Example:
    """A passage, the token ranges of its sentences, and the texts to read against it."""

    book: str
    number: int
    ids: tuple[int, ...]
    sentences: tuple[tuple[int, int], ...]
    texts: tuple[Text, ...] = field(default=())

    @property
    def tokens(self) -> int:
        return len(self.ids) + sum(len(text.ids) for text in self.texts)


class ExampleReader:
    """Reads example files, with one tokenizer."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._start, self._end = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def written(self, path: Path) -> list[Example]:
        """A file of `training/data/written`: claims and questions about each passage."""
        return [self._written(row) for row in _rows(path)]

    def plain(self, path: Path) -> list[Example]:
        """A file of `training/data/plain`: six claims about each short source."""
        rows: dict[str, list[dict]] = {}
        for row in _rows(path):
            rows.setdefault(row["source"], []).append(row)
        return [self._plain(path.stem, n, source, claims) for n, (source, claims) in enumerate(rows.items())]

    def public(self, path: Path, without: Sequence[str]) -> list[Example]:
        """Labelled pairs of public sets, grouped by passage."""
        found: dict[tuple[str, str], list[Text]] = {}
        for row in _rows(path):
            if row["source"] not in without:
                found.setdefault((row["source"], row["passage"]), []).append(self._public(row))
        return [
            replace(self._example(source, number, "", passage), texts=tuple(texts))
            for number, ((source, passage), texts) in enumerate(found.items())
        ]

    def mutations(self, path: Path) -> dict[tuple[str, int], list[Text]]:
        """Mutated sentences of the written passages, by book and number."""
        found: dict[tuple[str, int], list[Text]] = {}
        for row in _rows(path):
            ids = self._text_ids(row["claim"])
            changed = (
                changed_tokens(ids, self._text_ids(row["sentence"])) if not row["supported"] else [False] * len(ids)
            )
            text = Text(ids, row["kind"], supported=row["supported"], unsupported_tokens=tuple(changed))
            found.setdefault((row["book"], row["number"]), []).append(text)
        return found

    def _written(self, row: dict) -> Example:
        example = self._example(row["book"], row["n"], row["title"], row["passage"])
        texts = [self._true(item["text"], item["kind"]) for item in row["true"]]
        texts += [self._false(item, texts) for item in row["false"]]
        spans = split_sentences(row["passage"])
        for item in row["answerable"]:
            at = row["passage"].find(item["evidence"])
            end = at + len(item["evidence"])
            evidence = frozenset(n for n, s in enumerate(spans) if at >= 0 and s.start < end and s.end > at)
            ids = self._text_ids(item["question"])
            texts.append(Text(ids, "answerable", answered=True, evidence=evidence))
        texts += [Text(self._text_ids(q), "unanswerable", answered=False) for q in row["unanswerable"]]
        return replace(example, texts=tuple(texts))

    def _plain(self, book: str, number: int, source: str, claims: Sequence[dict]) -> Example:
        texts: list[Text] = []
        for row in claims:
            if row["label"]:
                texts.append(self._true(row["claim"], row["kind"]))
                continue
            contradicted = {"contradicted": True, "not_stated": False}.get(row["relation"])
            text = Text(self._text_ids(row["claim"]), row["kind"], supported=False, contradicted=contradicted)
            texts.append(replace(text, pair=row["pair"]))
        texts = [self._paired(text, texts) for text in texts]
        return replace(self._example(book, number, "", source), texts=tuple(texts))

    def _public(self, row: dict) -> Text:
        ids, label = self._text_ids(row["text"]), row["label"]
        if row["task"] == "answer":
            return Text(ids, row["source"], answered=label == "answers")
        contradicted = {"contradicted": True, "not_stated": False}.get(label)
        return Text(ids, row["source"], supported=label == "supported", contradicted=contradicted)

    def _true(self, text: str, kind: str) -> Text:
        ids = self._text_ids(text)
        return Text(ids, kind, supported=True, unsupported_tokens=(False,) * len(ids))

    def _false(self, item: dict, true: Sequence[Text]) -> Text:
        text = Text(
            self._text_ids(item["text"]), item["kind"], supported=False, contradicted=CONTRADICTS.get(item["kind"])
        )
        return self._paired(replace(text, pair=item["pair"]), true)

    def _paired(self, text: Text, others: Sequence[Text]) -> Text:
        """A false text with the labels that its pair gives."""
        if text.pair is None or text.pair >= len(others) or not others[text.pair].supported:
            return replace(text, pair=None)
        changed = changed_tokens(text.ids, others[text.pair].ids)
        return replace(text, unsupported_tokens=changed if sum(changed) <= MAX_CHANGED * len(changed) else None)

    def _example(self, book: str, number: int, title: str, passage: str) -> Example:
        head = self._tokenizer.encode(title, add_special_tokens=False).ids[:MAX_TITLE_TOKENS]
        body = self._tokenizer.encode(passage, add_special_tokens=False)
        ids = [self._start, *head, self._end, *body.ids][: MAX_PASSAGE_TOKENS - 1]
        first = len(head) + 2
        starts = [start for start, _ in body.offsets][: len(ids) - first]
        ranges = []
        for span in split_sentences(passage):
            inside = [n for n, start in enumerate(starts) if span.start <= start < span.end]
            ranges.append((first + inside[0], first + inside[-1] + 1) if inside else (0, 1))
        return Example(book, number, (*ids, self._end), tuple(ranges))

    def _text_ids(self, text: str) -> tuple[int, ...]:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids[: MAX_TEXT_TOKENS - 2]
        return (self._start, *ids, self._end)


def changed_tokens(ids: Sequence[int], source: Sequence[int]) -> tuple[bool, ...]:
    """The tokens that make a text differ from its source; where something was left out, the tokens beside it."""
    changed = [False] * len(ids)
    for tag, _, _, first, last in difflib.SequenceMatcher(None, source, ids, autojunk=False).get_opcodes():
        if tag == "delete":
            first, last = max(0, first - 1), min(len(ids), first + 1)
        if tag != "equal":
            changed[first:last] = [True] * (last - first)
    return tuple(changed)


def with_extras(
    examples: Sequence[Example],
    mutations: dict[tuple[str, int], list[Text]],
    max_mutations: int,
    far: int,
    random: Random,
) -> Iterator[Example]:
    """Examples with some of their mutations, and with texts about other passages of the book as easy negatives."""
    of_book: dict[str, list[Example]] = {}
    for example in examples:
        of_book.setdefault(example.book, []).append(example)
    for example in examples:
        made = mutations.get((example.book, example.number), [])
        texts = [*example.texts, *random.sample(made, min(max_mutations, len(made)))]
        others = [other for other in random.choices(of_book[example.book], k=far) if other is not example]
        texts += [_as_negative(random.choice(other.texts)) for other in others]
        yield replace(example, texts=tuple(texts))


def _as_negative(text: Text) -> Text:
    if text.answered is not None:
        return Text(text.ids, "far", answered=False)
    return Text(text.ids, "far", supported=False, contradicted=False)


def batches(examples: Iterable[Example], max_tokens: int, random: Random) -> list[list[Example]]:
    """Examples of similar length together, up to `max_tokens` a batch, in random order."""
    found: list[list[Example]] = [[]]
    size = 0
    for example in sorted(examples, key=lambda e: len(e.ids) + random.randrange(40)):
        if found[-1] and size + example.tokens > max_tokens:
            found.append([])
            size = 0
        found[-1].append(example)
        size += example.tokens
    random.shuffle(found)
    return found


def _rows(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)
