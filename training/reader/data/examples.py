"""Training examples: a passage with the texts that are read against it, each with its labels."""

from __future__ import annotations

import difflib
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from tokenizers import Tokenizer

from glossator.core.text.sentences import split_sentences
from reader.data.templates import Claim, Writer

MAX_PASSAGE_TOKENS, MAX_TITLE_TOKENS, MAX_TEXT_TOKENS = 288, 24, 64
MAX_CHANGED = 0.6
"""A sentence that differs from its pair in a larger share of its tokens gets no token labels."""
QUESTION_SHARE = 0.6
"""Of the texts about other passages: they tell a question that is off the topic from one that is near it."""
UNRELATED_KIND = "elsewhere"
"""The kind of mutation that has nothing to do with the sentence it is paired with."""
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
    """The sentences of the passage that answer a question, or that a mutated claim was made from."""


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
        self._tokenizer = self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._passages: dict[tuple[str, int], str] = {}
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

    def templates(self, count: int, seed: int) -> list[Example]:
        """Short statements from templates, with their claims."""
        return [
            self._plain("templates", number, source, [_as_plain(claim) for claim in claims])
            for number, (source, claims) in enumerate(Writer(seed).examples(count))
        ]

    def public(self, paths: Iterable[Path], without: Sequence[str]) -> list[Example]:
        """Labelled pairs of public sets, grouped by passage."""
        found: dict[tuple[str, str], list[Text]] = {}
        for row in (row for path in paths if path.exists() for row in _rows(path)):
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
            text = Text(
                ids,
                row["kind"],
                supported=row["supported"],
                unsupported_tokens=tuple(changed),
                evidence=self._source_sentences(row),
            )
            found.setdefault((row["book"], row["number"]), []).append(text)
        return found

    def _source_sentences(self, row: dict) -> frozenset[int]:
        passage = self._passages.get((row["book"], row["number"]), "")
        return frozenset() if row["kind"] == UNRELATED_KIND else _sentences_of(passage, row["sentence"])

    def _written(self, row: dict) -> Example:
        example = self._example(row["book"], row["n"], row["title"], row["passage"])
        self._passages[row["book"], row["n"]] = row["passage"]
        texts = [self._true(item["text"], item["kind"]) for item in row["true"]]
        texts += [self._false(item, texts) for item in row["false"]]
        for item in row["answerable"]:
            evidence = _sentences_of(row["passage"], item["evidence"])
            texts.append(Text(self._text_ids(item["question"]), "answerable", answered=True, evidence=evidence))
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


def _as_plain(claim: Claim) -> dict:
    relation = "contradicted" if claim.contradicted else "" if claim.supported else "not_stated"
    return {
        "claim": claim.text,
        "label": claim.supported,
        "kind": claim.kind,
        "relation": relation,
        "pair": claim.pair,
    }


def _sentences_of(passage: str, part: str) -> frozenset[int]:
    """The sentences of a passage that a part of it touches."""
    at = passage.find(part)
    spans = split_sentences(passage) if at >= 0 else ()
    return frozenset(n for n, span in enumerate(spans) if span.start < at + len(part) and span.end > at)


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
    others: int,
    random: Random,
) -> Iterator[Example]:
    """Examples with some of their mutations, and with texts about other passages of the book as negatives.

    A third of those passages are among the nearest in the book, as a search would find them, a third are any of the
    book's, and a third of any book.
    """
    of_book: dict[str, list[Example]] = {}
    for example in examples:
        of_book.setdefault(example.book, []).append(example)
    for book in of_book.values():
        for example, near in zip(book, nearest(book), strict=True):
            made = mutations.get((example.book, example.number), [])
            texts = [*example.texts, *random.sample(made, min(max_mutations, len(made)))]
            pools = (near, book, examples)
            chosen = [random.choice(pools[n % len(pools)]) for n in range(others)]
            texts += [_negative(other, random) for other in chosen if other is not example]
            yield replace(example, texts=tuple(texts))


def nearest(examples: Sequence[Example], count: int = 6) -> list[list[Example]]:
    """For each passage the others that share most of its rare tokens."""
    in_passages = Counter(token for example in examples for token in set(example.ids))
    weights = [{t: math.log(len(examples) / in_passages[t]) for t in set(e.ids)} for e in examples]
    found = []
    for n, mine in enumerate(weights):
        shared = [(sum(mine.get(t, 0) * w for t, w in theirs.items()), m) for m, theirs in enumerate(weights) if m != n]
        found.append([examples[m] for _, m in sorted(shared, reverse=True)[:count]])
    return found


def _negative(example: Example, random: Random) -> Text:
    """A question or a claim about another passage."""
    questions = [text for text in example.texts if text.answered is not None]
    claims = [text for text in example.texts if text.answered is None]
    return _as_negative(random.choice(questions if random.random() < QUESTION_SHARE else claims or questions))


def _as_negative(text: Text) -> Text:
    if text.answered is not None:
        return Text(text.ids, "far", answered=False)
    return Text(text.ids, "far", supported=False, contradicted=False)


def batches(examples: Iterable[Example], max_tokens: int, random: Random) -> list[list[Example]]:
    """Examples of similar shape together, up to `max_tokens` a batch, in random order."""
    found: list[list[Example]] = [[]]
    size = 0
    for example in sorted(examples, key=lambda e: (len(e.texts) // 4, len(e.ids) + random.randrange(40))):
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
